"""Several methods on one system: what an error costs with each, and what becomes of the energy."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.analysis.inputs import step_sizes
from accion.analysis.order import Measured, check_steps, length_of
from accion.arguments import count, door, number, positive, wrong
from accion.checks import check_kind
from accion.engines.auto import by_chosen_engine
from accion.methods import Method
from accion.plot.convergence import work
from accion.plot.figures import check_axes, new_figure
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.systems import AbstractSystem
from accion.told import Drawn
from accion.types import ArrayLike, Configuration

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STATE = ("q0", "v0", "S0", "lam0", "z0")  # what a continuous trajectory starts from
MOST = 1000  # calls that are timed
LEAST = 0.005  # s of the processor, by which calls are timed
ROUNDED = 3e-12  # errors below it say nothing of the order


@dataclass(frozen=True, repr=False)
class Comparison(Drawn):
    """What `compare` measured, a row for each method and a column for each step."""

    system: str
    methods: tuple[str, ...]
    h: np.ndarray
    errors: np.ndarray  # at the end
    orders: np.ndarray  # the slopes, of those points that are above roundoff; NaN of fewer than two
    seconds: np.ndarray  # of the processor, a whole call of `simulate` that keeps the end
    energies: tuple[tuple[np.ndarray, np.ndarray], ...]  # (t, E - E(0)) with the largest step
    unit: str  # of the energy

    def __str__(self) -> str:
        width = max(map(len, self.methods))
        rows = [f"{len(self.methods)} methods on {self.system}", f"  {'':<{width}}  order"]
        rows[-1] += "".join(f"  {f'h = {h:.4g}':<20}" for h in self.h) + "energy changes by"
        for i, name in enumerate(self.methods):
            cells = "".join(
                f"  {f'{error:.1e} in {1e3 * seconds:.3g} ms' if error == error else 'failed':<20}"
                for error, seconds in zip(self.errors[i], self.seconds[i], strict=True)
            )
            change = np.max(np.abs(self.energies[i][1]))
            rows.append(f"  {name:<{width}}  {self.orders[i]:5.2f}{cells}{change:.1e}")
        return "\n".join(rows)

    def plot(self, axes: Any = None) -> "Figure":
        """Errors over processor time, and the energy over time; returns the matplotlib figure.

        Arguments: `axes`, two of matplotlib.
        """
        left, right = new_figure(1, 2, (11.0, 4.2))[1][0] if axes is None else check_axes(axes, 2)
        work(
            left,
            right,
            list(self.methods),
            self.seconds,
            self.errors,
            self.energies,
            self.unit,
        )
        left.set_title(self.system, loc="left", fontsize=10)
        right.set_title(f"h = {self.h[0]:g}", loc="left", fontsize=10)
        return left.figure


@door(t0=number, duration=positive, repeats=count)
@by_chosen_engine
def compare(
    system: AbstractSystem,
    methods: Sequence[Method],
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float = 0.0,
    duration: float,
    h: Sequence[float] | np.ndarray,
    repeats: int = 3,
    engine: str = "auto",
) -> Comparison:
    """Which method and which step: the error of each at t0 + duration, the processor time that it
    takes, and how the energy changes.

    Errors are those of `order`, as a part of the size that the motion has at the end. Times are of
    a whole call of `simulate` that keeps the end alone, the least of some calls, nothing being
    compiled in them: on a busy machine they tell factors of two, not more. Where a run fails both
    are NaN.

    Arguments:
        system, methods: what is stepped, and by which methods.
        q0, v0, S0, lam0, z0, t0: the start, as for `simulate`.
        duration: the time over which errors are measured, a multiple of each step.
        h: three steps or more.
        repeats: how many calls are timed with each step.
        engine: as for `simulate`.
    """
    check_kind(system)
    if not isinstance(methods, list | tuple) or not methods:
        wrong("methods", "a list of methods, such as [Midpoint(), Galerkin(3)]", methods)
    if repeats > MOST:
        wrong("repeats", f"at most {MOST}", repeats)
    sizes = step_sizes(h, 3)
    start = {"q0": q0, "v0": v0, "S0": S0, "lam0": lam0, "z0": z0, "t0": t0}
    check_steps(duration, sizes)
    measured = Measured(system, {k: v for k, v in start.items() if k in STATE}, t0, duration, None)
    errors, seconds, runs = [], [], []
    for method in methods:
        timed = [ended(system, method, start, duration, step, repeats) for step in sizes]
        errors.append([measured.error(run) if run.success else np.nan for run, _ in timed])
        seconds.append([least for _, least in timed])
        whole = length(method, t0, duration, sizes[0], every=True)
        runs.append(simulate(system, method, **start, **whole, throw=False))
    slopes = [slope_of(sizes, np.array(each), max(ROUNDED, 30 * measured.blur)) for each in errors]
    return Comparison(
        system.name,
        tuple(map(str, methods)),
        sizes,
        np.array(errors),
        np.array(slopes),
        np.array(seconds),
        tuple(map(change_of_energy, runs)),
        runs[0].labels["energy"].unit,
    )


def slope_of(h: np.ndarray, errors: np.ndarray, floor: float) -> float:
    """The slope of log(error) over log(h) of the errors above the floor."""
    used = errors > floor
    if np.sum(used) < 2:
        return float("nan")
    return float(np.polyfit(np.log(h[used]), np.log(errors[used]), 1)[0])


def change_of_energy(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """(t, E - E(0), less what came from outside)."""
    supplied = 0.0 if run.supplied is None else np.ravel(run.supplied)
    E = np.asarray(run.energy()) - supplied
    return np.asarray(run.t), E - E[0]


def length(method: Method, t0: float, duration: float, h: float, every: bool) -> dict[str, Any]:
    """The arguments of `simulate` that say how long a run is, and whether all of it is kept."""
    found = length_of(method, t0, duration, round(duration / h))
    if every:
        found.pop("save_every", None)
    return found | {"h": float(h)}


def ended(
    system: Any, method: Method, start: dict[str, Any], duration: float, h: float, repeats: int
) -> tuple[Trajectory, float]:
    """A run of which the end is kept, and the least processor time of a few, after two that
    compile; short ones as many times as the clock needs.
    """
    arguments = start | length(method, start["t0"], duration, h, every=False)
    run, found = simulate(system, method, **arguments, throw=False), []
    if not run.success:
        return run, np.nan
    for _ in range(repeats + 1):
        calls, began = 0, time.process_time()
        while calls == 0 or time.process_time() - began < LEAST:
            np.asarray(simulate(system, method, **arguments).p)
            calls += 1
        found.append((time.process_time() - began) / calls)
    return run, min(found[1:])
