"""Newton's method on the path of a two-point problem: all windows at once."""

from typing import Any

import numpy as np

from accion.assembly.banded import Correction
from accion.assembly.equations import Measure
from accion.engines.auto import small_map
from accion.errors import ConnectFailed
from accion.solve.equations import Path, TwoPoint
from accion.solve.joined import check_regular, regularity
from accion.systems.rank import relative_rank

ITERATIONS = 100
HALVINGS = 12
# Where rounding moves a solution by more than this part of its size, it is asked whether the system
# is regular at all.
LOOSE = 1e-3


def newton(problem: TwoPoint, path: Path) -> tuple[Path, int]:
    """The path that solves all equations, and how many iterations it took."""
    how, last = f"in {ITERATIONS} iterations", np.inf
    for i in range(ITERATIONS):
        linear, measure = problem.linearised(path)
        error, step = off(linear.residual, measure), problem.correction(linear, measure)
        if step.x is None:
            part, relative = 0.0, np.inf
            how = (
                f"after {i} iterations, where Newton's matrix is singular (too symmetric a guess,"
                " or conjugate ends)"
            )
        else:
            path, part, change = improved(problem, path, step, error, measure)
            relative = problem.largest_displacement(change, measure)
        # What no longer shrinks is rounding, where rounding sways the path as much.
        small = relative < 1e-9 or (0.5 * last <= relative <= min(step.sway, LOOSE))
        # Where the step leads nowhere the path may solve the equations all the same: the ends may
        # allow many such paths.
        if (part == 1.0 and small) or (part == 0.0 and step.solved):
            if step.x is None or step.sway > LOOSE:
                check_determined(problem, path)
            return path, i + 1
        last = relative
        if part == 0.0:
            break
    check_determined(problem, path)
    _, measure = problem.linearised(path)
    t, left = problem.worst_time(path, measure), problem.residual(path)
    raise ConnectFailed(
        f"no trajectory between qa and qb was found {how}; the equations are off by"
        f" {np.max(np.abs(left)):.3g}, {off(left, measure):.3g} of their terms, most at t ="
        f" {t:.4g}. Pass a better guess= (a solution with a shorter duration or fewer steps), or"
        " check that one exists.",
        residual=float(np.max(np.abs(left))),
        t=t,
    )


def off(residual: np.ndarray, measure: Measure) -> float:
    """How far a path is from solving the equations, in parts of their terms."""
    return float(np.max(np.abs(residual) / measure.rows, initial=0.0))


def improved(
    problem: TwoPoint, path: Path, step: Correction, error: float, measure: Measure
) -> tuple[Path, float, np.ndarray]:
    """What `damped` returns, and the change: that of the step or, where it does not help, without
    its weakest directions if that does.

    Where solutions form a family, as geodesics between the poles of a sphere do, Newton's steps
    wander along it.
    """
    change = step.without(0)
    new, left, part = damped(problem, path, change, error, measure)
    if part < 1.0 or left > 0.5 * error:
        for k in range(1, step.directions + 1):
            less = step.without(k)
            other = problem.moved(path, less)
            if off(problem.residual(other), measure) < 0.1 * min(left, error):
                return other, 1.0, less
    return new, part, change


def damped(
    problem: TwoPoint, path: Path, change: np.ndarray, error: float, measure: Measure
) -> tuple[Path, float, float]:
    """The path after as much of the step as does not make the residual much larger; its residual
    and the part taken, 0 if none was good.
    """
    part = 1.0
    for _ in range(HALVINGS):
        new = problem.moved(path, part * change)
        left = off(problem.residual(new), measure)
        # Far from a solution a full step may pass through larger residuals; near it, rounding lets
        # them grow a little.
        if np.isfinite(left) and left <= max(2.0 * error, 1e-9):
            return new, left, part
        part /= 2
    return path, error, 0.0


@small_map
def regularities(args: Any, data: Any) -> Any:
    """`regularity` of a window, in the order that elements have their arguments."""
    (system, h), (t, q, x, lam) = args, data
    return regularity(system, h, t, q, x, lam if system.enters_action else None)


def check_determined(problem: TwoPoint, path: Path) -> None:
    """Raise ValueError where the system is regular nowhere on the path: its ends then do not
    determine it.
    """
    system, windows = problem.system, problem.window_data(path)
    lam = problem.multipliers(path) if system.enters_action else np.zeros((problem.windows, 0))
    K = np.asarray(regularities((system, np.float64(problem.h)), (*windows, lam)))
    finite = K[np.all(np.isfinite(K), axis=(1, 2))]
    if len(finite) and all(relative_rank(each, system.space.dim)[0] < len(each) for each in finite):
        check_regular(system, finite[len(finite) // 2])
