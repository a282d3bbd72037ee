"""How long a step may be: `suggest_step`."""

import warnings
from math import ceil, isfinite, log2
from typing import Any

import numpy as np

from accion.analysis.inputs import row
from accion.arguments import door, number, positive
from accion.checks import LONGEST, SHORTEST, check_system, refuse
from accion.engines.auto import by_chosen_engine
from accion.errors import SecondLawViolated, StepFailed, StepTooLarge
from accion.instant.continuous import roots_of_inertia
from accion.methods import Method
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.systems import AbstractSystem
from accion.types import ArrayLike, Configuration, Params

FIRST, MOST = 16, 2**22  # steps of the first trial run, and of the longest
ROWS = 16  # of a trial run, from which the size of the motion is taken
NEAR = 0.3  # how far a measured order may be from the method's
LARGE = 0.1  # of the size of the motion: two runs that differ by more say nothing
ROUNDED = 1e-12  # two runs that differ by less say nothing either


class StepSize(float):
    """A length of a step, a number; `steps` are those that it takes, `error` the estimated error of
    the configuration at the end as a part of the size of the motion, `order` that of the estimate.
    """

    steps: int
    error: float
    order: float

    def __repr__(self) -> str:
        return (
            f"StepSize({float(self):.6g}, steps={self.steps}, error={self.error:.2g},"
            f" order={self.order:.3g})"
        )


def step_size(duration: float, steps: int, error: float, order: float) -> StepSize:
    """The length of so many steps, with what is known of it."""
    found = StepSize(duration / steps)
    found.steps, found.error, found.order = steps, error, order
    return found


@door(t0=number, duration=positive, tolerance=positive)
@by_chosen_engine
def suggest_step(
    system: AbstractSystem,
    method: Method,
    q0: Configuration,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    tolerance: float = 1e-6,
    *,
    p0: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float = 0.0,
    params: Params = None,
    engine: str = "auto",
) -> StepSize:
    """A length h of steps that divides the duration, such that the configuration after it is off by
    about `tolerance` times the size of the motion.

    Runs of N, 2N, 4N, ... steps over the whole duration are made, until their differences d shrink
    as the order k of the method says; then the error of 2N steps is d/(2^k - 1) (Richardson), and
    that of others as h^k. So the trial runs cost a part of the run that is asked for, unless that
    is short. The size of the motion is how far it goes from q0; coordinates of different units are
    compared by their inertias.

    Arguments:
        system, method: what is stepped.
        q0, v0, p0, S0, lam0, z0, t0, params, engine: as for `simulate`.
        duration: the time after which the error is meant.
        tolerance: the error, as a part of the size of the motion.

    Returns:
        A number h with `h.steps`, and `h.error`, the estimated error:

            h = accion.suggest_step(system, method, q0, v0, duration, 1e-6)
            accion.simulate(system, method, q0=q0, v0=v0, h=h, steps=h.steps)

    Raises:
        ValueError: where no step was found: the motion is chaotic over so long a time, fails, or
            the tolerance is below rounding.
    """
    system = check_system(system, method, params, S0)
    if system.discrete_time:
        refuse("suggest_step", system.kind, "they have no continuous motion to be near to")
    if method.own_lengths:
        raise ValueError(
            f"suggest_step does not support {method!r}, whose h is no length in time; try its"
            " method alone, or several h with until=."
        )
    if not SHORTEST * MOST <= duration <= LONGEST:
        raise ValueError(
            f"duration must be between {SHORTEST * MOST:.2g} and {LONGEST:g}, so that the squares"
            f" of its steps are numbers; got {duration:.6g}. Choose another unit of time."
        )
    start: dict[str, Any] = {"q0": q0, "v0": v0, "p0": p0, "S0": S0, "lam0": lam0, "z0": z0}
    start["t0"] = t0
    steps, runs = FIRST, list[Any]([None, None])
    differences = [np.inf, np.inf]
    while steps <= MOST:
        runs = [runs[-1], trial(system, method, start, duration, steps)]
        differences = [differences[-1], apart(*runs)]
        order = measured(*differences)
        expected = order if method.order is None else method.order
        near = isfinite(order) and expected > 0.5 and abs(order - expected) < NEAR
        if (near and differences[-1] < LARGE) or differences[-1] < ROUNDED:
            return chosen(duration, steps, differences[-1], float(expected), tolerance)
        steps *= 2
    raise ValueError(
        f"no step was found with which {method!r} has its order on this motion: with {MOST} and"
        f" {MOST // 2} steps its ends differ by {differences[-1]:.3g} of its size. Is it chaotic,"
        " or not smooth? Take a shorter duration, or another q0 or v0."
    )


def chosen(
    duration: float, steps: int, difference: float, order: float, tolerance: float
) -> StepSize:
    """The step for a tolerance, where runs of so many and half as many steps differ by
    `difference`.
    """
    error = max(difference, ROUNDED) / (2**order - 1)
    if tolerance < ROUNDED:
        raise ValueError(
            f"tolerance must be at least {ROUNDED:g}, which rounding lets be seen; got"
            f" {tolerance:.3g}."
        )
    count = max(1, ceil(steps * (error / tolerance) ** (1 / order) * (1 - 1e-9)))
    return step_size(duration, count, error * (steps / count) ** order, order)


def trial(
    system: Any, method: Method, start: dict[str, Any], duration: float, steps: int
) -> Trajectory | None:
    """A run of so many steps, None where it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepTooLarge)
        warnings.simplefilter("ignore", SecondLawViolated)
        try:
            return simulate(
                system, method, **start, h=duration / steps, steps=steps, save_every=steps // ROWS
            )
        except StepFailed:
            return None


def apart(coarse: Trajectory | None, fine: Trajectory | None) -> float:
    """How far two runs end from each other, as a part of how far the second goes."""
    if coarse is None or fine is None:
        return float("inf")
    space, system = fine.system.space, fine.system
    z, first, last = fine.points, row(fine.q, 0), row(fine.q, -1)
    rates = fine.v if fine.jets is None else fine.jets
    mass = roots_of_inertia(system, np.float64(fine.t[0]), row(z, 0), rates[0])

    def size(x: Any) -> float:
        return float(np.linalg.norm(np.asarray(mass) * np.asarray(x)))

    way = max(size(space.difference(first, row(fine.q, i))) for i in range(1, len(fine)))
    off = size(space.difference(row(coarse.q, -1), last))
    return off / way if way > 0 else float(off > 0)


def measured(before: float, after: float) -> float:
    """The order that two differences show, NaN where they show none."""
    if not (isfinite(before) and isfinite(after) and before > 0 and after > 0):
        return float("nan")
    return log2(before / after)
