"""Sequential quadratic programming with a filter, for problems whose constraints are equations.

Each iteration solves the linear system of Newton's method for the stationary point of cost +
lam.rows, and goes along it as far as either the cost or the violation becomes less and no earlier
pair of them is dominated (Waechter and Biegler, On the implementation of an interior-point filter
line-search algorithm, 2006). Searching on the norm of the residual instead stalls far from the
solution: both must be allowed to grow on the way, not together.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from accion.assembly.program import Program
from accion.assembly.saddle import Saddle, SaddleFactors
from accion.assembly.scales import Scaled

LEAST_PART = 1e-8
GAIN, LOSS = 1e-5, 1e-5  # what a step must gain in violation, or in cost for each unit of violation
ARMIJO = 1e-4
UNSEEN = 1e-11  # of the cost
FIRST_SHIFT, LEAST_SHIFT, LARGEST_SHIFT = 1e-4, 1e-12, 1e12  # of the Hessian
WEAK_ROWS = 1e-10  # taken from the diagonal of the rows where they depend on each other


class Found(NamedTuple):
    """Where a solver ended: unknowns, multipliers of the rows, how far off it is and why it ended,
    in words.
    """

    x: np.ndarray
    lam: np.ndarray
    program: Program  # the program whose chart x belongs to
    cost: float
    violation: float  # the largest of a row, relative to the size of its terms
    # the largest derivative of cost + lam.rows, relative to the size of its terms
    stationarity: float
    iterations: int
    success: bool
    message: str
    multipliers: Any = None  # of the bounds on x, (lower, upper)


class Point(NamedTuple):
    """A program whose constraints are equations, in one place; measured by its sizes."""

    program: Scaled
    x: np.ndarray
    cost: float
    rows: np.ndarray  # what is left of them
    gradient: np.ndarray
    J: np.ndarray
    terms: np.ndarray  # the size of what adds up to the gradient
    H: np.ndarray | None = None  # the second derivatives of cost + lam.rows, where asked for

    @property
    def violation(self) -> float:
        """The sum of what is left of all rows."""
        return float(np.sum(np.abs(self.rows)))

    @property
    def largest_row(self) -> float:
        return float(np.max(np.abs(self.rows), initial=0.0))

    def hessian(self, lam: np.ndarray) -> np.ndarray:
        """The second derivatives of cost + lam.rows: those that are known, which are for `lam`."""
        return self.program.hessian(self.x, 1.0, lam) if self.H is None else self.H


def point_at(program: Scaled, x: np.ndarray, lam: np.ndarray | None = None) -> Point:
    """The program at x, with second derivatives for the multipliers `lam`."""
    program, x = program.recentred(x)
    if lam is None:
        found, H = program.slopes(x), None
    else:
        found, H = program.all_derivatives(x, 1.0, lam)
    return Point(program, x, found.cost, found.rows - program.row_lower, *found[2:], H)


def stationarity(point: Point, lam: np.ndarray) -> float:
    """The largest entry of d(cost + lam.rows)/dx over free unknowns, against the size of the terms
    that cancel in it.
    """
    rows, columns = point.program.sparsity.jacobian
    pulled, n = point.J * lam[rows], point.program.n
    r = point.gradient + np.bincount(columns, pulled, n)
    size = point.terms + np.bincount(columns, np.abs(pulled), n)
    free = ~point.program.fixed
    return float(
        np.max(np.abs(r[free]), initial=0.0) / (1e-300 + max(np.max(size[free], initial=0.0), 1e-8))
    )


def silent(*_: Any) -> None:
    """A report that says nothing."""


def solve(
    program: Program,
    x: np.ndarray,
    lam: np.ndarray | None = None,
    *,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    report: Callable[..., None] = silent,
) -> Found:
    """The local minimum that is reached from `x`.

    Arguments:
        program: one with equations only.
        x: the unknowns to start from, shape (n,).
        lam: multipliers of the rows to start from, shape (m,); without them, the best ones there.
        tolerance: of what is left of rows, and of the stationarity, relative to their sizes.
        max_iterations: after which it is given up.
        report: called as report(iteration, cost, largest row, stationarity, point, lam).

    Returns:
        Where it ended; `success` says whether that is a minimum.
    """
    saddle, scaled = program.sparsity.saddle, program.scaled
    x = np.where(program.fixed, program.lower, x) / scaled.scales.x
    start = point_at(scaled, x, np.zeros(program.m))
    point = start._replace(H=None)
    if not (np.isfinite(point.cost) and np.all(np.isfinite(point.rows))):
        words = "the cost or a constraint is not finite at the first guess"
        return ended(point, np.zeros(program.m), 0, False, words)
    if lam is not None:
        lam = scaled.multipliers_in(lam)
    elif np.any(point.gradient[~program.fixed]):
        lam = first_multipliers(saddle, point)
    else:
        lam, point = np.zeros(program.m), start
    filter_ = Filter([(1e4 * max(1.0, point.violation), -np.inf)])
    shift, calm = 0.0, False  # calm: the last step was a full one of Newton's method
    for iteration in range(max_iterations):
        off, slope = point.largest_row, stationarity(point, lam)
        report(iteration, point.cost * scaled.scales.cost, off, slope, point, lam)
        if off <= tolerance and slope <= tolerance:
            point, lam = polished(saddle, point, lam)
            return ended(point, lam, iteration, True, "a local minimum was found")
        step = newton_step(saddle, point, lam, shift, calm)
        if step is None:
            words = "no step leads downhill along the constraints, which may depend on each other"
            return ended(point, lam, iteration, False, words)
        shift, moved = step.shift, search(point, lam, step, filter_, calm)
        if moved is not None:
            point, part = moved
            calm = shift == 0.0 and part == 1.0
            lam = lam + part * (step.lam - lam)
            continue
        if off <= 1e2 * tolerance and slope <= 1e2 * tolerance:
            return ended(point, lam, iteration, True, "a local minimum was found, to rounding")
        filter_.add(point.violation, point.cost)
        restored = restore(saddle, point, filter_)
        if restored is None:
            words = "no point nearby satisfies the constraints better"
            return ended(point, lam, iteration, False, words)
        point, calm = restored, False
        lam = first_multipliers(saddle, point)
    words = f"no minimum was found in {max_iterations} iterations"
    return ended(point, lam, max_iterations, False, words)


def ended(point: Point, lam: np.ndarray, iterations: int, success: bool, message: str) -> Found:
    """Where a solver ended, in the units of the program."""
    scaled, slope = point.program, stationarity(point, lam)
    x, lam = point.x * scaled.scales.x, scaled.multipliers_out(lam)
    where = (scaled.program, point.cost * scaled.scales.cost, point.largest_row, slope)
    return Found(x, lam, *where, iterations, success, message)


def polished(saddle: Saddle, point: Point, lam: np.ndarray) -> tuple[Point, np.ndarray]:
    """(point, lam) after one more full step, where the rows that are left would be seen in the
    cost; as they were where it is not better.
    """
    if abs(float(lam @ point.rows)) <= UNSEEN * abs(point.cost):
        return point, lam
    factors = saddle.factor(point.hessian(lam), point.J)
    if factors is None:
        return point, lam
    dx, new = factors.solve(-point.gradient, -point.rows)
    moved = point_at(point.program, point.x + dx, new)
    better = moved.violation < point.violation and stationarity(moved, new) <= max(
        stationarity(point, lam), 1e-12
    )
    return (moved, new) if better else (point, lam)


def least_change(saddle: Saddle, point: Point, gamma: float) -> SaddleFactors | None:
    """The factors with the unit matrix for H: of the least change that satisfies the rows."""
    return saddle.factor(np.zeros(len(point.program.sparsity.hessian[0])), point.J, 1.0, gamma)


def first_multipliers(saddle: Saddle, point: Point) -> np.ndarray:
    """The multipliers that make the stationarity least in the mean; zero where they are huge."""
    factors = least_change(saddle, point, WEAK_ROWS)
    if factors is None:
        return np.zeros(saddle.m)
    lam = factors.solve(-point.gradient, np.zeros(saddle.m))[1]
    moderate = np.max(np.abs(lam), initial=0.0) < 1e6 * (1 + np.max(np.abs(point.gradient)))
    return lam if moderate else np.zeros(saddle.m)


class Step(NamedTuple):
    """A step of Newton's method: the change of the unknowns, the new multipliers, how much the
    Hessian was shifted, and the factors.
    """

    dx: np.ndarray
    lam: np.ndarray
    shift: float
    factors: SaddleFactors


def newton_step(
    saddle: Saddle, point: Point, lam: np.ndarray, last: float, calm: bool
) -> Step | None:
    """The Newton step, the Hessian shifted by as much as makes it lead to a minimum on the
    constraints; `last` is the shift of the step before. None where no shift does.
    """
    H = point.hessian(lam)
    shift, gamma = 0.0, 0.0
    while shift <= LARGEST_SHIFT:
        factors = saddle.factor(H, point.J, shift, gamma)
        if factors is None:
            gamma = WEAK_ROWS
        # a minimum has as many negative eigenvalues as rows
        elif factors.even == (saddle.m % 2 == 0):
            dx, new = factors.solve(-point.gradient, -point.rows)
            if np.all(np.isfinite(dx)) and (calm or convex(saddle, factors, point)):
                return Step(dx, new, shift, factors)
        if shift == 0.0:
            shift = max(LEAST_SHIFT, last / 3) if last else FIRST_SHIFT
        else:
            shift *= 8 if last else 100
    return None


def convex(saddle: Saddle, factors: SaddleFactors, point: Point) -> bool:
    """Whether the cost bends upwards along the constraints: (r, K^-1 r) > 0 for what Newton's step
    sees, and for two vectors taken by chance.

    An odd number of directions that bend downwards is seen by the determinant; this sees pairs of
    them, where they matter most.
    """
    r, none = np.stack([-point.gradient, *saddle.probes], axis=1), np.zeros((saddle.m, 3))
    for _ in range(2):
        t, _ = factors.solve(r, none)
        if np.any(
            np.sum(r * t, axis=0) < -1e-9 * np.linalg.norm(r, axis=0) * np.linalg.norm(t, axis=0)
        ):
            return False
        r = t
    return True


class Filter:
    """The pairs (violation, cost) that a new point must not be dominated by."""

    def __init__(self, pairs: list[tuple[float, float]]) -> None:
        self.pairs = pairs

    @property
    def largest(self) -> float:
        """The largest violation that is accepted at all."""
        return self.pairs[0][0]

    def add(self, violation: float, cost: float) -> None:
        self.pairs.append((violation, cost))

    def accepts(self, cost: float, violation: float) -> bool:
        return all(violation < (1 - GAIN) * v or cost < c - LOSS * v for v, c in self.pairs)


def search(
    point: Point, lam: np.ndarray, step: Step, filter_: Filter, calm: bool
) -> tuple[Point, float] | None:
    """(point, part): where the step leads, as much of it as the filter accepts; None where nothing
    is accepted.
    """
    slope, here = float(point.gradient @ step.dx), point.violation
    noise = 10 * np.finfo(float).eps * max(1.0, abs(point.cost))
    part = 1.0
    while part > LEAST_PART:
        # Nearly on the constraints, and downhill: then the cost decides alone.
        downhill = (
            slope < 0 and part * (-slope) ** 2.3 > here**1.1 and here <= 1e-8 * filter_.largest
        )

        def good(cost: float, off: float, downhill: bool = downhill, part: float = part) -> bool:
            if not (np.isfinite(cost) and np.isfinite(off) and filter_.accepts(cost - noise, off)):
                return False
            if downhill:
                return cost <= point.cost + ARMIJO * part * slope + noise
            return off <= (1 - GAIN) * here or cost <= point.cost - LOSS * here + noise

        trial, there = point.x + part * step.dx, lam + part * (step.lam - lam)
        for attempt in range(2):
            # After a full step the next one is mostly good too, and then its derivatives are
            # needed: they are computed at once.
            moved = point_at(point.program, trial, there) if calm and part == 1.0 else None
            cost, rows = (
                left_at(point.program, trial) if moved is None else (moved.cost, moved.rows)
            )
            off = float(np.sum(np.abs(rows)))
            if good(cost, off):
                if not downhill:
                    filter_.add((1 - GAIN) * here, point.cost - LOSS * here)
                return moved or point_at(point.program, trial, there), part
            # Along a curved constraint a full step is off by second order: correct it once.
            if attempt or part < 1.0 or not np.isfinite(off) or off < here:
                break
            trial = trial + step.factors.solve(np.zeros_like(step.dx), -rows)[0]
        part /= 2
    return None


def left_at(program: Scaled, x: np.ndarray) -> tuple[float, np.ndarray]:
    """(cost, what is left of the rows)."""
    cost, rows = program.values(x)
    return cost, rows - program.row_lower


def restore(saddle: Saddle, point: Point, filter_: Filter) -> Point | None:
    """A point with less violation that the filter accepts, by least changes; None where there is
    none nearby.
    """
    for _ in range(50):
        factors = least_change(saddle, point, 0.0) or least_change(saddle, point, WEAK_ROWS)
        if factors is None:
            return None
        dx = factors.solve(np.zeros(saddle.n), -point.rows)[0]
        moved = shortened(point, dx, 0.0, np.zeros(saddle.m))
        if moved is None:
            return None
        point = moved
        if filter_.accepts(point.cost, point.violation):
            return point
    return None


def feasible(
    program: Program, x: np.ndarray, *, tolerance: float = 1e-11, max_iterations: int = 50
) -> Found:
    """The point nearest to `x`, step by step, at which all rows are satisfied; where there are as
    many rows as free unknowns, Newton's method.

    Arguments:
        program: one with equations only.
        x: the unknowns to start from, shape (n,).
        tolerance: of the rows, relative to their size times 1 + the largest unknown over its own;
            below it goes on as far as rounding lets it.
        max_iterations: after which it is given up.

    Returns:
        Where it ended; `success` says whether the rows are satisfied there.
    """
    saddle, scaled = program.sparsity.saddle, program.scaled
    point = point_at(scaled, np.where(program.fixed, program.lower, x) / scaled.scales.x)
    lam, last, size = np.zeros(program.m), np.inf, 1.0
    for iteration in range(max_iterations):
        off = point.largest_row
        size = 1.0 + float(np.max(np.abs(point.x)))
        # as far as rounding lets it
        if (off <= tolerance * size and off >= 0.5 * last) or off == 0.0:
            return ended(point, lam, iteration, True, "the equations are satisfied")
        factors = least_change(saddle, point, 0.0)
        if factors is None:
            return ended(point, lam, iteration, False, "the equations are singular")
        if not np.isfinite(off):
            return ended(point, lam, iteration, False, "they are not finite at the guess")
        last = off
        dx = factors.solve(np.zeros(saddle.n), -point.rows)[0]
        moved = shortened(point, dx, tolerance * size)
        if moved is None:
            good = off <= tolerance * size
            return ended(point, lam, iteration, good, "no step makes them smaller")
        point = moved
    words = f"no solution was found in {max_iterations} iterations"
    return ended(point, lam, max_iterations, point.largest_row <= tolerance * size, words)


def shortened(
    point: Point, dx: np.ndarray, small: float, lam: np.ndarray | None = None
) -> Point | None:
    """Where the largest part of the step leads with which the rows do not grow; None where there is
    none. Rows below `small` are good in any case.
    """
    part = 1.0
    while part > 1e-4:
        moved = point_at(point.program, point.x + part * dx, lam)._replace(H=None)
        if np.isfinite(moved.violation) and (
            moved.violation <= (1 - 0.1 * part) * point.violation
            or np.max(np.abs(moved.rows)) <= small
        ):
            return moved
        part /= 2
    return None
