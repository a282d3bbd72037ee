"""A controlled motion in time: controls, held for a step, act on the continuous equations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import shown
from accion.control.picture import control_panel, picture, state_panels
from accion.control.problem import ControlProblem
from accion.control.states import Places, advanced, law_of
from accion.engines.auto import callable_of
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.spaces import check_vector
from accion.systems import System
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.told import Drawn
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Run(Drawn):
    """A controlled motion, integrated to order 8.

    t, q, v:   times, configurations and velocities where the law was asked
    u:         the controls between them, (steps, controls); in the middle of each step where they
               change on it
    off:       by how much it is off what it was to follow at those times, (times, 2 dim): q by an
               increment, in the frame of the body on a group, and v
    """

    problem: ControlProblem
    t: np.ndarray
    q: Configuration
    v: np.ndarray
    u: np.ndarray
    off: np.ndarray

    def __str__(self) -> str:
        n = self.v.shape[1]
        names = self.problem.system.names
        far = ", ".join(f"{a} {x:.2g}" for a, x in zip(names, self.off[-1, :n], strict=True))
        return (
            f"{self.problem.name}, {len(self.u)} steps from {self.t[0]:g} to {self.t[-1]:g}: at the"
            f" end off by {far}"
        )

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion as a `Trajectory`."""
        system = self.problem.system
        p = at_times(Momentum(), False, system, self.t, self.q, self.v)
        return Trajectory(
            t=jnp.asarray(self.t),
            q=jax.tree.map(jnp.asarray, self.q),
            p=jnp.asarray(p),
            h=jnp.diff(jnp.asarray(self.t)),
            system=system,
            controlled=True,
            guess=jnp.asarray(self.v),
            success=jnp.array(bool(np.all(np.isfinite(self.v)))),
            steps_completed=jnp.array(len(self.u)),
            iterations=jnp.zeros(len(self.t), int),
        )

    def plot(self, axes: Any = None) -> "Figure":
        """Coordinates, velocities and controls over time; returns the matplotlib figure."""
        panels = state_panels(self.problem, self.t, self.q, self.v)
        panels.append(control_panel(self.problem, self.t[:-1], self.u, self.t))
        return picture(panels, str(self.problem.name), axes)

    def animate(
        self,
        positions: Callable[..., Any] | None = None,
        path: str | Path | None = None,
        *,
        fps: int = 30,
        seconds: float | None = None,
    ) -> Any:
        """The motion as an animation; see `Trajectory.animate`."""
        return self.trajectory.animate(positions, path, fps=fps, seconds=seconds)


@dataclass(frozen=True)
class Momentum:
    """dL/dv."""

    def __call__(self, system: System, t: Scalar, q: Configuration, v: Vector) -> Covector:
        return system.legendre(t, q, v)


# ---------------------------------------------------------------- what the controls act on


@dataclass(frozen=True)
class Disturbed:
    """A force with a disturbance added to it."""

    force: Function | None
    disturbance: Function

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Covector:
        more = self.disturbance(t, q, v, params)
        return more if self.force is None else more + self.force(t, q, v, params)


def plant_of(problem: ControlProblem, other: Any, disturbance: Any) -> System:
    """The system that controls act on: that of the problem or another one on the same space, with a
    disturbance.
    """
    system = problem.system
    if other is not None:
        if not isinstance(other, System) or other.space != system.space:
            raise ValueError(
                f"system must be a System on {system.space}, as that of the problem, such as one"
                f" with other params; got {shown(other)}."
            )
        system = other
    if disturbance is None:
        return system
    check_function("disturbance", disturbance, "t, q, v, params")
    n, takes = system.space.dim, "(t, q, v, params)"
    point = jnp.zeros(()), system.space.identity(), jnp.zeros(n)
    found = evaluate(
        "disturbance", lambda s, *at: disturbance(*at, s.params), system, *point, takes=takes
    )
    check_returns("disturbance", found, (n,), f"a covector of shape ({n},)")
    return replace(system, force=Disturbed(system.force, disturbance))


def start_of(problem: ControlProblem, state: Any, q0: Any, v0: Any) -> Any:
    """(q, v) to start from: what the user gave, and for what he did not `state`."""
    space = problem.system.space
    q = state[0] if q0 is None else space.check(q0, "q0")
    v = state[1] if v0 is None else check_vector(v0, space.dim, "v0")
    return jax.tree.map(lambda a: np.asarray(a, dtype=float), (q, v))


@dataclass(frozen=True)
class Advance:
    """The state after a step of length h."""

    law: Function
    places: Places

    def __call__(
        self,
        system: System,
        t: Scalar,
        h: Scalar,
        q: Configuration,
        v: Vector,
        u: Array,
        within: tuple[Array, Array],
    ) -> Any:
        q, v = advanced(self.law, self.places, system, t, h, (q, v), u, within)
        return (q if system.space.flat else system.space.project(q)), v


class Plant(NamedTuple):
    """A system under controls, one step after the other."""

    problem: ControlProblem
    system: System
    places: Places

    def after(self, t: float, h: float, state: Any, u: np.ndarray) -> Any:
        """The state after h; controls go along the polynomial through u, shape (places, controls),
        within their bounds.
        """
        f, number = Advance(law_of(self.problem), self.places), np.float64
        args = (self.system, number(t), number(h), *state, u, self.problem.u_bounds)
        found = callable_of(f, f, *args)(*args)
        return jax.tree.map(np.asarray, found)
