"""The measured order of convergence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import row, step_sizes, steps_in
from accion.arguments import door, number, positive, reals, wrong
from accion.checks import a_function, check_kind, check_method
from accion.engines.auto import by_chosen_engine, small_jit
from accion.errors import in_function
from accion.instant.continuous import reference, roots_of_inertia
from accion.methods import Method
from accion.plot.convergence import orders
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.systems import AbstractSystem
from accion.told import Drawn
from accion.types import ArrayLike, Configuration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-13  # of each step of the continuous trajectory


@dataclass(frozen=True, repr=False)
class Order(Drawn):
    """The slope of log(error) over log(h), with the data it was fitted to (points near the roundoff
    plateau cut off).
    """

    slope: float
    h: np.ndarray
    errors: np.ndarray
    used: np.ndarray

    def __float__(self) -> float:
        return self.slope

    def __str__(self) -> str:
        rows = [f"order {self.slope:.3f}"]
        for h, error, used in zip(self.h, self.errors, self.used, strict=True):
            remark = "" if used else "  (roundoff, not used)"
            rows.append(f"  h = {h:<10.4g} error = {error:.3e}{remark}")
        return "\n".join(rows)

    def plot(self, axes: Any = None) -> "Figure":
        """The errors over the step, both logarithmic; returns the matplotlib figure."""
        used = np.where(self.used, self.errors, np.nan)
        lines = {f"order {self.slope:.2f}": used}
        if not np.all(self.used):
            lines["at roundoff, not used"] = np.where(self.used, np.nan, self.errors)
        return orders(self.h, lines, "error at the end, as a part of the size", axes)


@door(t0=number, duration=positive, q1=a_function("h"))
@by_chosen_engine
def order(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float = 0.0,
    duration: float,
    h: Sequence[float] | np.ndarray,
    exact: Any = None,
    q1: Callable[[float], Any] | None = None,
    engine: str = "auto",
) -> Order:
    """The order of `method` on `system`, from errors at t0 + duration for each step in `h`.

    The error is the largest of those of q and v, of a thermal system of q, v and S, of a contact
    system of q, v and z, of one of order r of q, q', ..., q^(r), of a vakonomic one also of lam; of
    a system that is given in discrete time of q and p, or q, p and S. Each is a part of the size of
    what it is an error of, with coordinates compared by their inertias, so that it does not depend
    on units. It is measured against `exact` or else against the continuous trajectory, integrated
    with tolerances of 1e-13 for each of its steps. Errors within a factor 30 of the smallest one
    that roundoff, or the estimated error of that trajectory, lets be seen are not used.

    Arguments:
        system, method: what is stepped; `method` is None for a system given in discrete time.
        q0, v0, p0, S0, lam0, z0, t0: the start, as for `simulate`.
        duration: the time over which errors are measured, a multiple of each step.
        h: three steps or more.
        exact: what the errors are of, at the end. A system that is given in discrete time has no
            continuous trajectory, and needs it.
        q1: `q1(h)`, where given, starts the runs from q0 and q1(h) in place of v0 or p0.
        engine: as for `simulate`.
    """
    check_kind(system)
    check_method(system, method)
    sizes = step_sizes(h, 3)
    steps = check_steps(duration, sizes)
    start: dict[str, Any] = {"q0": q0, "v0": v0, "S0": S0, "lam0": lam0, "z0": z0}
    if exact is not None:
        exact = check_exact(system, exact)
    measured = Measured(system, start, t0, duration, exact)
    if q1 is not None:
        start |= {"v0": None} if system.discrete_time else {"v0": None, "lam0": None}
    errors = [
        measured.error(
            simulate(
                system,
                method,
                **(start if q1 is None else start | {"q1": called(q1, step)}),
                p0=p0,
                t0=t0,
                h=float(step),
                **length_of(method, t0, duration, int(count)),
            )
        )
        for step, count in zip(sizes, steps, strict=True)
    ]
    return fitted(sizes, np.array(errors), 1e-13, measured.blur)


class Measured:
    """What errors at the end of a motion are measured against: `exact`, or else the continuous
    trajectory.
    """

    def __init__(
        self, system: AbstractSystem, start: dict[str, Any], t0: float, duration: float, exact: Any
    ) -> None:
        other: Any = exact
        if exact is None:
            exact, other = (continuous_end(system, start, t0, duration, k) for k in (1, 10))
        self.exact = exact
        self.norm = Norm(system, t0, start["q0"], duration, exact)
        self.blur = self.norm.distance(other, exact)  # how well it is known itself

    def error(self, run: Trajectory) -> float:
        """How far from it a run ends."""
        return self.norm.distance(end_of(run), self.exact)


def check_steps(duration: float, sizes: np.ndarray) -> Any:
    """How many steps of each size the duration has."""
    steps = steps_in(duration, sizes, 1)
    if np.any(np.abs(steps * sizes - duration) > 1e-9 * duration):
        raise ValueError(f"each step must divide the duration {duration:g}; got {sizes}.")
    return steps


def length_of(method: Method | None, t0: float, duration: float, count: int) -> dict[str, Any]:
    """How long a run is, as `simulate` takes it: some steps, or where these have lengths of their
    own up to the end.
    """
    if method is not None and method.own_lengths:
        return {"until": t0 + duration}
    return {"steps": count, "save_every": count}


def called(q1: Callable[[float], Any], step: float) -> Any:
    """q1(h), the second configuration."""
    with in_function("q1"):
        return q1(float(step))


def check_exact(system: AbstractSystem, exact: Any) -> list[Any]:
    """What the errors are of: a configuration, velocities or momenta, and what else there is."""
    if not isinstance(exact, list | tuple) or len(exact) < 2:
        wrong("exact", "what a run should end with, such as (q, v)", exact)
    place, *rest = exact
    return [system.space.check(place, "exact[0]"), *(jnp.asarray(reals(x, "exact")) for x in rest)]


def continuous_end(
    system: AbstractSystem, start: Any, t0: float, duration: float, coarser: float
) -> list[Any]:
    """Where the continuous trajectory ends, with tolerances so much coarser."""
    if system.discrete_time:
        raise ValueError(
            f"order does not support {system.kind} without `exact`: they have no continuous motion"
            " to be compared with."
        )
    ends, tolerance = jnp.array([t0, t0 + duration]), coarser * TOLERANCE
    return [
        row(part, -1)
        for part in reference(system, **start, ts=ends, rtol=tolerance, atol=tolerance)
    ]


def end_of(run: Trajectory) -> list[Any]:
    """What a run ends with, as `reference` gives it: q, velocities (or momenta) and the rest."""
    system, q, jets = run.system, row(run.q, -1), run.jets
    rates = run.p if system.discrete_time else run.v if jets is None else jets
    rest = next((a for a in (run.S, run.z, run.lam) if a is not None), None)
    return [q, rates[-1], *([] if rest is None else [rest[-1]])]


class Norm:
    """How far two ends of a motion are apart, as a part of their size: the largest of those of q,
    of each derivative, and of what is beside them, in the metric of the masses.
    """

    def __init__(self, system: Any, t0: float, q0: Any, duration: float, exact: list[Any]) -> None:
        """The sizes of the `exact` end; of q also of where the motion comes from, and of the way
        that its velocity leads in a hundredth of the time.
        """
        self.space, self.local = system.space, small_jit(system.space.local)
        self.order = 1 if system.discrete_time else system.order
        self.mass, places = self.units(system, t0, exact), [self.space.check(q0, "q0"), exact[0]]
        rates = self.rates(exact)
        ways = [self.local(*places)]
        if not system.discrete_time:
            ways.append(0.01 * duration * rates[0])
        q = np.stack([*map(self.space.magnitude, places), *ways])
        self.count = system.frame.m if system.beside else system.multipliers
        rest = [float(np.max(np.abs(part))) for part in self.beside(exact)]
        # A velocity may be zero at the end: it is compared with that of the way, too.
        first = max(self.size(rates[0]), self.size(ways[0]) / duration)
        self.sizes = [self.size(q), first, *map(self.size, rates[1:]), *rest]

    def units(self, system: Any, t: float, exact: list[Any]) -> np.ndarray:
        """Roots of inertias; of a system given in discrete time nothing is known."""
        if system.discrete_time:
            return np.ones(system.space.dim)
        z = system.point(exact[0], exact[2] if system.beside else None)
        return np.asarray(roots_of_inertia(system, np.float64(t), z, exact[1]))

    def rates(self, end: list[Any]) -> np.ndarray:
        """Velocities and, of order r, the derivatives up to r, shape (r, dim)."""
        return np.asarray(end[1]).reshape(-1, self.space.dim)[: self.order]

    def beside(self, end: list[Any]) -> list[np.ndarray]:
        """Entropies, or multipliers without their derivatives."""
        return [np.ravel(part)[: self.count] for part in end[2:]]

    def size(self, vectors: Any) -> float:
        """The largest component."""
        return float(np.max(np.abs(vectors) * self.mass))

    def distance(self, end: list[Any], exact: list[Any]) -> float:
        """That of two ends."""
        parts = [self.size(self.local(exact[0], end[0]))]
        parts += [self.size(d) for d in self.rates(end) - self.rates(exact)]
        # Multipliers of a constraint force, which a run has, are not part of a state.
        both = zip(self.beside(end), self.beside(exact), strict=False)
        parts += [float(np.max(np.abs(a - b))) for a, b in both]
        pairs = zip(parts, self.sizes, strict=True)
        return max(part / size if size > 0 else float(part > 0) for part, size in pairs)


def fitted(h: np.ndarray, errors: np.ndarray, roundoff: float, blur: float) -> Order:
    """The slope through the errors that are well above what cannot be seen."""
    seen = max(roundoff, blur)
    used = errors > 30 * seen
    if np.sum(used) < 3:
        estimate = f"the error of the continuous trajectory, about {blur:.1e}"
        what = "roundoff" if seen > blur else estimate
        raise ValueError(
            f"fewer than three errors are well above {what}: {errors}. Take larger steps."
        )
    slope = np.polyfit(np.log(h[used]), np.log(errors[used]), 1)[0]
    return Order(float(slope), h, errors, used)
