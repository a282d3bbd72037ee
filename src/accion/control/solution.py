"""What an optimisation found, and how good it is."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import door, path as path_of, reals, switch
from accion.control import pontryagin
from accion.control.datasets import dataset_of
from accion.control.details import Details, Rows
from accion.control.guess import Guess, Sampled, resampled
from accion.control.mesh import Steps, a_mesh, equal
from accion.control.path_constraints import Motion, Worst
from accion.control.picture import panels_of, picture
from accion.control.polynomial import pieces as through_pieces
from accion.control.problem import ControlProblem
from accion.control.reached import bounded, bounds_words, worst_of_bounds
from accion.control.replay import replay_of
from accion.control.scaling import sizes_along
from accion.control.shooting import Nodes
from accion.errors import ReplayMisses
from accion.memory import rows
from accion.methods import Method
from accion.results import storage
from accion.results.trajectory import Trajectory
from accion.told import html
from accion.types import Array, ArrayLike, Configuration, Multipliers, Params

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MUCH = 0.5  # of the size of the motion, by which a replay may miss the end
RESOLVED = 1e-6  # of its size: a motion this small is one of the solver's tolerance


@dataclass(frozen=True)
class Solution:
    """A local optimum of a `ControlProblem` on a mesh.

    t, q, v, p:    times, configurations, velocities and momenta at the nodes
    u:             the controls at the times `t_u`: the middles of the steps, on each of which the
                   control is constant; with `Galerkin(s)` its points, through which controls go as
                   polynomials; the nodes, with formulation="vakonomic"
    inner:         increments of the inner points of the steps, where a method has some
    cost:          of the discrete problem; `richardson` gives a better value and its error
    costates:      (times, 2, dim): (p0, p1) of (q, v), minus the derivatives of the least cost that
                   is left (Vakonomic thesis, chapter 7)
    multipliers:   of the momentum balances, (times, dim); `lam` the constraint forces
    iterations, success, message:
                   of the solver, in words; `violation` and `stationarity` say how far off the
                   equations are, as part of their terms
    replay_error:  by how much the continuous equations miss the end with these controls;
                   `replay_miss`, as part of the size of the motion
    path_worst:    the largest value of each path constraint along the whole motion, between samples
                   too, and when
    bounds_worst:  by how much each control is beyond its bounds, and when: polynomials of
                   `Galerkin` leave them between their points
    optima:        with several starts, all distinct local optima that were found, best first
    """

    problem: ControlProblem
    method: Method
    formulation: str
    t: np.ndarray
    q: Configuration
    t_u: np.ndarray
    u: np.ndarray
    inner: np.ndarray = field(repr=False)
    cost: float
    duration: float
    iterations: int
    success: bool
    message: str
    violation: float
    stationarity: float
    solver: str
    details: Details = field(repr=False)
    # What made it and makes others on other meshes: `optimize`.
    optimizer: Callable[..., "Solution"] = field(repr=False)
    optima: "tuple[Solution, ...]" = field(default=(), repr=False)

    def __repr__(self) -> str:
        return (
            f"Solution({self.problem.name}, {self.method}, {self.formulation}, {self.steps} steps:"
            f" cost {self.cost:.10g}, {self.message} in {self.iterations} iterations of"
            f" {self.solver}; {self.checked()})"
        )

    def _repr_html_(self) -> str:
        return html(repr(self), self.plot())

    def checked(self) -> str:
        """What the replay, the path constraints and the bounds of the controls say of the solution,
        in words; `ReplayMisses` where the replay misses the end by much, `BoundsBroken` where
        controls are far beyond their bounds.
        """
        words = [
            f"with these controls the continuous equations miss the end by {self.replay_error:.2g}"
        ]
        if self.problem.path:
            name, worst = max(self.path_worst.items(), key=lambda pair: pair[1])
            words.append(
                f"between nodes too {name} is at most {worst.value:.2g}, at t = {worst.t:.4g}"
            )
        if self.success and not self.replay_miss <= MUCH:
            warnings.warn(
                f"with the controls of {self.steps} steps the continuous equations of"
                f" {self.problem.system.name} miss the end by {self.replay_error:.3g},"
                f" {self.replay_miss:.0%} of the size of the motion: these controls do not lead"
                " there. Use more steps (accion.control.refine(solution)); a motion that is too"
                " unstable for any mesh needs a feedback besides.",
                ReplayMisses,
                stacklevel=3,
            )
        return "; ".join(words + bounds_words(self))

    @property
    def steps(self) -> int:
        """The number of steps of the mesh."""
        return len(self.t) - 1

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion as a `Trajectory`."""
        return self.details.trajectory(self)

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Those of the momentum balances, shape (times, dim)."""
        return self.details.multipliers(self)

    @cached_property
    def costates(self) -> np.ndarray:
        """(p0, p1) of (q, v), shape (times, 2, dim)."""
        return self.details.costates(self)

    def cost_gradient(self) -> Params:
        """The derivatives of the least cost by the params of the system, a pytree like them: those
        of cost + lam.rows at the solution, which itself need not be differentiated (the envelope
        theorem).
        """
        return self.details.cost_gradient(self)

    @property
    def p(self) -> Array:
        """The momenta at the nodes, shape (times, dim)."""
        return self.trajectory.p

    @property
    def v(self) -> Array:
        """The velocities at the nodes, of a `Dynamics` the rates, shape (times, dim)."""
        return self.details.rates(self)

    @property
    def x(self) -> Configuration:
        """The states of a `Dynamics`: its q."""
        return self.q

    @door(t=reals)
    def at(self, t: ArrayLike) -> Rows:
        """(q, v) at times `t` between the nodes, of a `Dynamics` states and rates."""
        return self.details.rows(self, np.atleast_1d(np.asarray(t, dtype=float)))

    @property
    def lam(self) -> Multipliers | None:
        """The constraint forces at the nodes, None where there is no constraint."""
        return self.trajectory.lam

    @property
    def mesh(self) -> np.ndarray:
        """The places of the nodes, from 0 to 1."""
        return (self.t - self.t[0]) / (self.t[-1] - self.t[0])

    @door(steps=a_mesh)
    def resample(self, steps: Steps, places: Sequence[float] = (0.5,)) -> Guess:
        """The solution on a mesh of `steps` steps, or with its nodes at these places from 0 to 1,
        as a guess; with its controls at `places`,
        fractions of the steps.
        """
        motion = Sampled(self.t, self.q, self.t_u, self.u, self.duration)
        return resampled(self.problem.system.space, motion, steps, self.problem.t0, places)

    def on_mesh(self, steps: Steps, **settings: Any) -> "Solution":
        """The optimum that is reached from this one on a mesh of `steps` steps; `settings` are
        those of `optimize`.
        """
        same = {"formulation": self.formulation, "solver": self.solver}
        return self.optimizer(self.problem, self.method, steps, guess=self, **same, **settings)

    @property
    def cost_order(self) -> int:
        """The order of the cost in h: that of the method, of problems about the rates of controls
        at most 2, that of their differences.
        """
        own = self.method.order or 1
        rates = {"rate_cost", "rate_bounds"} & set(self.problem.besides)
        return min(own, 2) if rates else own

    def richardson(self) -> tuple[float, float]:
        """(cost, error): the cost extrapolated to h = 0 from this mesh and one of half the steps,
        and an estimate of the error of `cost`.
        """
        if self.steps % 2 or self.steps < 8:
            raise ValueError(
                f"half of {self.steps} steps is no mesh: an even number, 8 or more, is needed."
            )
        coarse = self.on_mesh(self.mesh[::2] if not equal(self.mesh) else self.steps // 2)
        correction = (self.cost - coarse.cost) / (2**self.cost_order - 1)
        return self.cost + correction, abs(correction)

    def with_optima(self, optima: "list[Solution]") -> "Solution":
        """The same solution, knowing all that were found."""
        return replace(self, optima=tuple(optima))

    # ------------------------------------------------------------ controls and where they lead

    @door(t=reals)
    def control(self, t: ArrayLike) -> np.ndarray:
        """The controls at times `t`, shape (len(t), controls): on each step constant, or a
        polynomial (`Galerkin`), or between nodes piecewise linear (formulation="vakonomic").
        """
        t = np.atleast_1d(np.asarray(t, dtype=float))
        if self.formulation == "vakonomic":
            return np.stack([np.interp(t, self.t_u, column) for column in self.u.T], axis=1)
        places, u = self.control_pieces()
        return through_pieces(places, u, self.t, t)

    def control_pieces(self) -> tuple[tuple[float, ...], np.ndarray]:
        """(places, u): the controls go on each step along the polynomial through their values u,
        shape (steps, places, controls), at these fractions of it.
        """
        if self.formulation == "vakonomic":
            u = self.control(self.t)
            return (0.0, 1.0), np.stack([u[:-1], u[1:]], axis=1)
        places = self.method.control_places
        return places, self.u.reshape(self.steps, len(places), -1)

    @cached_property
    def replay(self) -> tuple[Configuration, Array]:
        """(q, v) at the nodes when the controls are applied to the continuous equations, integrated
        to order 8 from the start.
        """
        return replay_of(self.problem.system, self.problem, self)

    @cached_property
    def missed(self) -> tuple[np.ndarray, np.ndarray]:
        """(of q, of v): by how much the replay misses the end of the discrete solution, component
        by component.
        """
        q, v = self.replay
        of_q = np.asarray(self.problem.system.space.local(at_node(self.q, -1), at_node(q, -1)))
        return np.abs(of_q), np.abs(np.asarray(v)[-1] - np.asarray(self.v)[-1])

    @property
    def replay_error(self) -> float:
        """By how much the replay misses the end of the discrete solution: the largest component of
        q and of v.
        """
        return float(max(map(np.max, self.missed)))

    @property
    def replay_miss(self) -> float:
        """The same as part of the size of the motion: of q against the largest displacement from
        the start, of v against the largest velocity.

        It falls as h^order where the mesh resolves the motion. At 1 the replay ends as far from the
        end as the motion itself reaches: the discrete and the continuous motion have nothing to do
        with each other any more. A printed solution warns above 1/2.
        """
        start, space = at_node(self.q, 0), self.problem.system.space
        x = jax.vmap(lambda q: space.local(start, q))(jax.tree.map(jnp.asarray, self.q))
        units = sizes_along(self.problem.system, self.problem, self.t, self.q, np.asarray(self.v))
        # Coordinates may have different units: they compare by their energies.
        return float(
            max(
                np.max(miss / unit) / (np.max(np.abs(np.asarray(moved)) / unit) + RESOLVED)
                for miss, moved, unit in zip(
                    self.missed,
                    (x, self.v),
                    (units.share, units.share / units.T),
                    strict=True,
                )
            )
        )

    @cached_property
    def path_worst(self) -> dict[str, Worst]:
        """{name: (value, t)}: the largest value of each path constraint along the whole motion, <=
        0 where it holds, and when it is reached.
        """
        u = self.control_pieces()[1]
        return Motion(self.problem, self.method, self.t, self.q, u, self.inner).worst()

    @cached_property
    def bounds_worst(self) -> dict[str, Worst]:
        """{control: (value, t)}: by how much each control with bounds is beyond them where it is
        most, between the points of `Galerkin` too, <= 0 where they hold, and when.
        """
        return worst_of_bounds(self)

    # ------------------------------------------------------------ the necessary conditions

    @door(intervals=rows(1000))
    def extremal(self, intervals: int | None = None) -> pontryagin.Extremal:
        """The solution of Pontryagin's conditions near this one, by multiple shooting: costates,
        Hamiltonian, residuals, an accurate cost.

        Arguments:
            intervals: of the shooting; as many as steps where they are 64 to 256.

        Raises:
            ValueError: where bounds are reached, or path constraints given.
            OptimizeFailed: where the conditions are not solved from here.
        """
        problem = self.problem
        if problem.system.inputs:
            raise ValueError("Pontryagin's conditions are not solved for a Dynamics yet.")
        if intervals is not None:
            intervals = checks.whole(intervals, "intervals")
        if problem.path or problem.boundary != "velocities":
            raise ValueError(
                "Pontryagin's conditions are solved for problems with velocities at the ends and"
                " without path constraints."
            )
        if problem.besides:
            raise ValueError(
                f"Pontryagin's conditions are not solved for {', '.join(problem.besides)} yet."
            )
        for words, values, bounds in bounded(self):
            small = 1e-6 * np.max(np.abs(values), axis=0)
            if any(np.any(np.isclose(values, side, atol=small)) for side in bounds):
                raise ValueError(
                    f"{words} are on their bounds: the smooth form of Pontryagin's conditions does"
                    " not hold there."
                )
        count = intervals or max(pontryagin.INTERVALS, min(self.steps, 256))
        sparse, t = self.resample(count), pontryagin.times_of(problem, self.duration, count)

        def interpolated(a: ArrayLike) -> np.ndarray:
            columns = np.asarray(a).reshape(len(self.t), -1).T
            return np.stack([np.interp(t, self.t, column) for column in columns], axis=1)

        p0, p1 = np.moveaxis(interpolated(self.costates).reshape(count + 1, 2, -1), 1, 0)
        nodes = Nodes(sparse.q, interpolated(self.v), p0, p1, sparse.u, self.duration)
        return pontryagin.extremal(problem, nodes)

    # ------------------------------------------------------------ shown and saved

    def plot(self, axes: Any = None) -> "Figure":
        """Coordinates, velocities and controls over time, with their bounds; returns the matplotlib
        figure, whose title says where the continuous motion misses the end by much.
        """
        title = f"{self.problem.name}: cost {self.cost:.6g}"
        if not self.replay_miss <= MUCH:
            title += f"\nthe continuous motion misses the end by {self.replay_miss:.0%} of its size"
        return picture(panels_of(self), title, axes)

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

    def to_xarray(self) -> "xr.Dataset":
        """An xarray.Dataset: the trajectory, of a `Dynamics` states and rates, with controls,
        costates and multipliers.
        """
        return dataset_of(self, self.details.dataset(self))

    @door(path=path_of, overwrite=switch)
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a Zarr store, whole or not at all; `accion.control.load(path, problem)` reads it,
        `accion.load` its trajectory.
        """
        if self.problem.system.inputs:
            raise ValueError(
                "a solution about a Dynamics is no trajectory, which this writes; its data are"
                " written by solution.to_xarray().to_zarr(path)."
            )
        storage.write(self.to_xarray(), path, overwrite)


def at_node(q: Configuration, k: int) -> Configuration:
    """The configuration at a node of a path."""
    return jax.tree.map(lambda a: jnp.asarray(a)[k], q)
