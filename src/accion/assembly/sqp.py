"""Sequential quadratic programming with a filter, for problems whose constraints are equations.

Each iteration solves the linear system of Newton's method for the stationary point of cost +
lam.rows, and goes along it as far as either the cost or the violation becomes less and no earlier
pair of them is dominated (Waechter and Biegler 2006). Searching on the norm of the residual instead
stalls far from the solution: both must be allowed to grow on the way, not together.
"""

from typing import Any, NamedTuple

import numpy as np

LEAST_PART = 1e-8
GAIN, LOSS = 1e-5, 1e-5  # what a step must gain in violation, or in cost for each unit of violation
ARMIJO = 1e-4
UNSEEN = 1e-11  # of the cost
FIRST_SHIFT, LEAST_SHIFT, LARGEST_SHIFT = 1e-4, 1e-12, 1e12  # of the Hessian


class Found(NamedTuple):
    """Where a solver ended: unknowns, multipliers of the rows, how far off it is and why it ended,
    in words.
    """

    x: np.ndarray
    lam: np.ndarray
    program: Any  # the program whose chart x belongs to
    cost: float
    violation: float  # the largest of a row
    # the largest derivative of cost + lam.rows, relative to the size of its terms
    stationarity: float
    iterations: int
    success: bool
    message: str
    multipliers: Any = None  # of the bounds on x, (lower, upper)


class Point(NamedTuple):
    """A program looked at in one place."""

    program: Any
    x: np.ndarray
    cost: float
    rows: np.ndarray
    gradient: np.ndarray
    J: np.ndarray
    terms: np.ndarray  # the size of what adds up to the gradient
    H: Any = None  # the second derivatives of cost + lam.rows, where they were asked for

    @property
    def violation(self):
        return float(np.sum(np.abs(self.rows)))


def look(program, x, lam=None):
    """The program at x, with second derivatives for the multipliers `lam`."""
    program, x = program.recentred(x)
    cost, g, *rest = program.slopes(x) if lam is None else program.all(x, 1.0, lam)
    return Point(program, x, cost, g - program.row_lower, *rest)


def times_transposed(program, J, lam):
    """J^T lam."""
    rows, columns = program.jacobian_pattern
    return np.bincount(columns, J * lam[rows], program.n)


def stationarity(point, lam):
    """The largest entry of d(cost + lam.rows)/dx over free unknowns, against the size of the terms
    that cancel in it.
    """
    rows, columns = point.program.jacobian_pattern
    r = point.gradient + times_transposed(point.program, point.J, lam)
    size = point.terms + np.bincount(columns, np.abs(point.J * lam[rows]), point.program.n)
    free = ~point.program.fixed
    return float(
        np.max(np.abs(r[free]), initial=0.0) / (1e-300 + max(np.max(size[free], initial=0.0), 1e-8))
    )


def solve(program, x, lam=None, *, tolerance=1e-9, max_iterations=200, report=lambda *_: None):
    """The local minimum that is reached from `x`."""
    band = program.band
    start = look(program, np.where(program.fixed, program.lower, x), np.zeros(program.m))
    point = start._replace(H=None)
    if not (np.isfinite(point.cost) and np.all(np.isfinite(point.rows))):
        return ended(
            point,
            np.zeros(program.m),
            0,
            False,
            "the cost or a constraint is not finite at the first guess",
        )
    ones = np.zeros(len(program.hessian_pattern[0]))
    if lam is None and np.any(point.gradient[~program.fixed]):
        lam = first_multipliers(band, point, ones)
    elif lam is None:
        lam, point = np.zeros(program.m), start
    filter_: list[tuple[float, float]] = [(1e4 * max(1.0, point.violation), -np.inf)]
    shift, calm = 0.0, False  # calm: the last step was a full one of Newton's method
    for iteration in range(max_iterations):
        off, slope = float(np.max(np.abs(point.rows), initial=0.0)), stationarity(point, lam)
        report(iteration, point.cost, off, slope)
        if off <= tolerance and slope <= tolerance:
            return ended(*polished(band, point, lam), iteration, True, "a local minimum was found")
        step = newton_step(band, point, lam, shift, calm)
        if step is None:
            return ended(
                point,
                lam,
                iteration,
                False,
                "no step leads downhill along the constraints, which may depend on each other",
            )
        dx, new, shift, factors = step
        moved = search(point, dx, lam, new, factors, filter_, calm)
        if moved is None:
            if off <= 1e2 * tolerance and slope <= 1e2 * tolerance:
                return ended(point, lam, iteration, True, "a local minimum was found, to rounding")
            filter_.append((point.violation, point.cost))
            moved = restore(band, point, ones, filter_)
            if moved is None:
                return ended(
                    point, lam, iteration, False, "no point nearby satisfies the constraints better"
                )
            point, calm = moved, False
            lam = first_multipliers(band, point, ones)
            continue
        point, part = moved
        calm = shift == 0.0 and part == 1.0
        lam = lam + part * (new - lam)
    return ended(
        point, lam, max_iterations, False, f"no minimum was found in {max_iterations} iterations"
    )


def ended(point, lam, iterations, success, message):
    off = float(np.max(np.abs(point.rows), initial=0.0))
    return Found(
        point.x,
        lam,
        point.program,
        point.cost,
        off,
        stationarity(point, lam),
        iterations,
        success,
        message,
    )


def polished(band, point, lam):
    """(point, lam) after one more full step, where the rows that are left would be seen in the
    cost; as they were where it is not better.
    """
    if abs(float(lam @ point.rows)) <= UNSEEN * abs(point.cost):
        return point, lam
    factors = band.factor(
        point.program.hessian(point.x, 1.0, lam) if point.H is None else point.H, point.J
    )
    if factors is None:
        return point, lam
    dx, new = factors.solve(-point.gradient, -point.rows)
    moved = look(point.program, point.x + dx, new)
    better = moved.violation < point.violation and stationarity(moved, new) <= max(
        stationarity(point, lam), 1e-12
    )
    return (moved, new) if better else (point, lam)


def first_multipliers(band, point, ones):
    """The multipliers that make the stationarity least in the mean."""
    factors = band.factor(ones, point.J, 1.0, 1e-10)
    lam = factors.solve(-point.gradient, np.zeros(band.m))[1]
    return (
        lam
        if np.max(np.abs(lam), initial=0.0) < 1e6 * (1 + np.max(np.abs(point.gradient)))
        else np.zeros(band.m)
    )


def newton_step(band, point, lam, last, calm):
    """(dx, lam, shift, factors): the Newton step, the Hessian shifted by as much as makes it lead
    to a minimum on the constraints.
    """
    program = point.program
    H = program.hessian(point.x, 1.0, lam) if point.H is None else point.H
    shift, gamma = 0.0, 0.0
    while shift <= LARGEST_SHIFT:
        factors = band.factor(H, point.J, shift, gamma)
        if factors is None:
            gamma = 1e-10
        # a minimum has as many negative eigenvalues as rows
        elif factors.even == (band.m % 2 == 0):
            dx, new = factors.solve(-point.gradient, -point.rows)
            if np.all(np.isfinite(dx)) and (calm or convex(band, factors, point)):
                return dx, new, shift, factors
        if shift == 0.0:
            shift = max(LEAST_SHIFT, last / 3) if last else FIRST_SHIFT
        else:
            shift *= 8 if last else 100
    return None


def convex(band, factors, point):
    """Whether the cost bends upwards along the constraints: (r, K^-1 r) > 0 for what Newton's step
    sees, and for two vectors taken by chance.

    An odd number of directions that bend downwards is seen by the determinant; this sees pairs of
    them, where they matter most.
    """
    r, none = np.stack([-point.gradient, *band.probes], axis=1), np.zeros((band.m, 3))
    for _ in range(2):
        t, _ = factors.solve(r, none)
        if np.any(
            np.sum(r * t, axis=0) < -1e-9 * np.linalg.norm(r, axis=0) * np.linalg.norm(t, axis=0)
        ):
            return False
        r = t
    return True


def acceptable(cost, violation, filter_):
    return all(violation < (1 - GAIN) * v or cost < c - LOSS * v for v, c in filter_)


def search(point, dx, lam, new, factors, filter_, calm):
    """(point, part): where the step leads, as much of it as the filter accepts; None where nothing
    is accepted.
    """
    slope, here = float(point.gradient @ dx), point.violation
    noise = 10 * np.finfo(float).eps * max(1.0, abs(point.cost))
    part = 1.0
    while part > LEAST_PART:
        # Nearly on the constraints, and downhill: then the cost decides alone.
        downhill = slope < 0 and part * (-slope) ** 2.3 > here**1.1 and here <= 1e-8 * filter_[0][0]

        def good(cost, off, downhill=downhill, part=part):
            if not (
                np.isfinite(cost) and np.isfinite(off) and acceptable(cost - noise, off, filter_)
            ):
                return False
            if downhill:
                return cost <= point.cost + ARMIJO * part * slope + noise
            return off <= (1 - GAIN) * here or cost <= point.cost - LOSS * here + noise

        trial, there = point.x + part * dx, lam + part * (new - lam)
        for attempt in range(2):
            # After a full step the next one is mostly good too, and then its derivatives are
            # needed: they are computed at once.
            moved = look(point.program, trial, there) if calm and part == 1.0 else None
            cost, g = (
                point.program.values(trial)
                if moved is None
                else (moved.cost, moved.rows + point.program.row_lower)
            )
            rows = g - point.program.row_lower
            off = float(np.sum(np.abs(rows)))
            if good(cost, off):
                if not downhill:
                    filter_.append(((1 - GAIN) * here, point.cost - LOSS * here))
                return moved or look(point.program, trial, there), part
            # Along a curved constraint a full step is off by second order: correct it once.
            if attempt or part < 1.0 or not np.isfinite(off) or off < here:
                break
            trial = trial + factors.solve(np.zeros_like(dx), -rows)[0]
        part /= 2
    return None


def restore(band, point, ones, filter_):
    """A point with less violation that the filter accepts, by least changes; None where there is
    none nearby.
    """
    for _ in range(50):
        factors = band.factor(ones, point.J, 1.0, 0.0) or band.factor(ones, point.J, 1.0, 1e-10)
        if factors is None:
            return None
        moved = shorter(
            point, factors.solve(np.zeros(band.n), -point.rows)[0], 0.0, np.zeros(band.m)
        )
        if moved is None:
            return None
        point = moved
        if acceptable(point.cost, point.violation, filter_):
            return point
    return None


def feasible(program, x, *, tolerance=1e-11, max_iterations=50):
    """The point nearest to `x`, step by step, at which all rows are satisfied; where there are as
    many rows as free unknowns, Newton's method.
    """
    band = program.band
    point = look(program, np.where(program.fixed, program.lower, x))
    none = np.zeros(len(program.hessian_pattern[0]))
    lam, last, size = np.zeros(program.m), np.inf, 1.0
    for iteration in range(max_iterations):
        off = float(np.max(np.abs(point.rows), initial=0.0))
        size = 1.0 + float(np.max(np.abs(point.x)))
        # as far as rounding lets it
        if (off <= tolerance * size and off >= 0.5 * last) or off == 0.0:
            return ended(point, lam, iteration, True, "the equations are satisfied")
        factors = band.factor(none, point.J, 1.0)
        if factors is None or not np.isfinite(off):
            return ended(
                point,
                lam,
                iteration,
                False,
                (
                    "the equations are singular"
                    if factors is None
                    else "they are not finite at the guess"
                ),
            )
        last = off
        moved = shorter(point, factors.solve(np.zeros(band.n), -point.rows)[0], tolerance * size)
        if moved is None:
            return ended(
                point, lam, iteration, off <= tolerance * size, "no step makes them smaller"
            )
        point = moved
    off = float(np.max(np.abs(point.rows), initial=0.0))
    return ended(
        point,
        lam,
        max_iterations,
        off <= tolerance * size,
        f"no solution was found in {max_iterations} iterations",
    )


def shorter(point, dx, small, lam=None):
    """Where the largest part of the step leads with which the rows do not grow; None where there is
    none.
    """
    part = 1.0
    while part > 1e-4:
        moved = look(point.program, point.x + part * dx, lam)._replace(H=None)
        if np.isfinite(moved.violation) and (
            moved.violation <= (1 - 0.1 * part) * point.violation
            or np.max(np.abs(moved.rows)) <= small
        ):
            return moved
        part /= 2
    return None
