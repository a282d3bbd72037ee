"""The sizes of a control problem on a mesh, by which a solver measures: taken from its ends, its
duration and its guess, so that it is solved alike in any units.

A row and the cost are as large as the terms that add up in them, and as what motions of the size of
the problem's change in them (`instant.sizes`).
"""

from functools import singledispatch
from typing import Any

import jax
import numpy as np

from accion.assembly.charts import local_all
from accion.assembly.elements import Curvature, Family
from accion.assembly.program import Program
from accion.assembly.scales import Scales, power_of_two
from accion.control.guess import Guess
from accion.control.law import Slope
from accion.control.layout import Layout
from accion.control.problem import ControlProblem
from accion.instant.sizes import NODES, Sizes, largest, quotient, sizes_of
from accion.numerics.batches import at_times
from accion.systems import Dynamics
from accion.types import Array, Configuration, Scalar, Vector


def sizes_of_guess(problem: ControlProblem, guess: Guess) -> Sizes:
    """The sizes of a problem, from its ends and a guess."""
    q, space = guess.q, problem.system.space
    before, after = (
        jax.tree.map(lambda a, s=s: np.asarray(a)[s], q) for s in (slice(-1), slice(1, None))
    )
    v = local_all(space, before, after) * (guess.steps / guess.duration)
    v = np.concatenate([v[:1], v])
    if problem.boundary == "velocities":
        v[[0, -1]] = [end.v for end in problem.ends]
    t = problem.t0 + guess.duration * np.linspace(0, 1, len(v))
    return control_sizes(problem, sizes_along(problem.system, problem, t, q, v))


def control_sizes(problem: ControlProblem, sizes: Sizes) -> Sizes:
    """The sizes, of controls that are no forces B(t, q) u as large as they may be: work says less
    of those.
    """
    if problem.B is not None:
        return sizes
    half = middles(problem)[1]
    known = np.isfinite(half) & (half > 0)
    return sizes._replace(u=np.where(known, half, np.where(sizes.u > 0, sizes.u, 1.0)))


def rates_and_slopes(system: Dynamics, t: Scalar, x: Vector, u: Vector) -> tuple[Array, Array]:
    """f and df/du."""
    return system.rates(t, x, u), jax.jacfwd(system.rates, 2)(t, x, u)


@singledispatch
def sizes_along(
    system: Any, problem: ControlProblem, t: np.ndarray, q: Configuration, v: np.ndarray
) -> Sizes:
    """The sizes of a motion with velocities `v`, shape (nodes, dim)."""
    return sizes_of(system, t, q, v, Slope(problem.law, middles(problem)[0]))


@sizes_along.register
def _(
    system: Dynamics, problem: ControlProblem, t: np.ndarray, q: np.ndarray, v: np.ndarray
) -> Sizes:
    """States are as large as they change, or would at their rates; controls as large as changes
    the rates by so much.
    """
    T, some = float(t[-1] - t[0]), np.unique(np.linspace(0, len(t) - 1, NODES).astype(int))
    u = np.tile(middles(problem)[0], (len(some), 1))
    f, slopes = (largest(a) for a in at_times(rates_and_slopes, False, system, t[some], q[some], u))
    reach, there = largest(q - q[:1]), largest(q)
    size = np.where(reach > 0, reach, np.where(f > 0, T * f, there))
    size = np.where(size > 0, size, 1.0)
    pull = np.max(T * slopes / size[:, None], axis=0)
    return Sizes(size, size, T, 1.0, quotient(1.0, pull), np.zeros(0))


def middles(problem: ControlProblem) -> tuple[tuple[float, ...], np.ndarray]:
    """Controls in the middle of their bounds, at 1 where they have none, and half of the width of
    the bounds.
    """
    lower, upper = problem.u_bounds
    known = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(known, (np.where(known, lower, 0) + np.where(known, upper, 0)) / 2, 1.0)
    return tuple(middle.tolist()), (upper - lower) / 2


# A quarter of the sizes, and of the cost its square, takes the fewest iterations.
PART = 0.25


def scaled_program(
    program: Program, layout: Layout, guess: Guess, x: np.ndarray, inner_places: np.ndarray
) -> Program:
    """The program with its sizes, seen from the first unknowns `x`; inner points stand at these
    places of the steps.
    """
    motions = natural_motions(layout, sizes_of_guess(layout.problem, guess), inner_places)
    parts = [F.curvature(x, 1.0, np.zeros(program.m)) for F in program.moving]
    rows, cost = np.zeros(program.m), abs(program.constant[0])
    equation = np.append(program.row_lower == program.row_upper, False)
    for F, found in zip(program.moving, parts, strict=True):
        wanted, size = F.rows >= 0, row_sizes(F, found, motions, equation)
        np.maximum.at(rows, F.rows[wanted], np.broadcast_to(size, F.rows.shape)[wanted])
        cost += cost_size(F, found, motions)
    unknowns = PART * np.max(np.abs(motions), axis=1)
    cost = float(power_of_two(PART**2 * cost))
    return program.with_scales(Scales(power_of_two(unknowns), alike(program, rows), cost))


def natural_motions(layout: Layout, sizes: Sizes, inner_places: np.ndarray) -> np.ndarray:
    """Changes of the unknowns of the size that they have, the columns of a matrix (n, motions):
    each coordinate is moved, moved evenly and accelerated; controls, multipliers and the duration
    are as large as they are.
    """
    s, (first, last) = layout.mesh, layout.spans
    inner = first[:, None] + (last - first)[:, None] * inner_places
    speeds = ((0.0, 0.0), (1.0, 1.0), (0.0, 2.0))  # of 1, s and s^2 at the ends
    found = []
    for j, (q, v) in enumerate(zip(sizes.q, sizes.v, strict=True)):
        for power, ends in enumerate(speeds):
            motion = np.zeros(layout.size)
            motion[layout.e[:, j]] = q * s**power
            motion[layout.inner[:, :, j]] = q * (inner**power - s[:-1, None] ** power)
            if layout.v.size:
                motion[layout.v[:, j]] = v * np.array(ends)
            found.append(motion)
    # The last multiplier is an impulse.
    for numbers, size in (
        (np.concatenate(layout.u), sizes.u),
        (layout.lam[:-1], sizes.lam),
        (np.concatenate(layout.inner_lam), sizes.lam),
        (layout.lam[-1:], sizes.lam * sizes.T),
        (layout.v, sizes.v),
        (layout.T[:, None], np.array([sizes.T])),
    ):
        for j in range(numbers.shape[1] if numbers.size else 0):
            motion = np.zeros(layout.size)
            motion[numbers[:, j]] = size[j]
            found.append(motion)
    return np.stack(found, axis=1)


def row_sizes(F: Family, found: Curvature, motions: np.ndarray, equation: np.ndarray) -> np.ndarray:
    """The sizes of what a family adds to rows, shape (nr,): for an equation the term itself, and
    how much the natural motions change it. All elements of a family are alike.
    """
    moved = largest(np.einsum("krv,kvm->krm", found.Drows, motions[F.columns]), axis=(0, 2))
    size = np.maximum(moved, largest(np.where(equation[F.rows], found.rows, 0.0)))
    return np.where(size > 0, size, largest(found.rows))


def alike(program: Program, rows: np.ndarray) -> np.ndarray:
    """The sizes of rows, the same for all that are of one kind: rows to which elements add the same
    component of their function.
    """
    rows, before = power_of_two(rows), np.zeros_like(rows)
    while not np.array_equal(rows, before):
        before = rows.copy()
        for F in program.moving:
            for numbers in F.rows.T:
                own = numbers[numbers >= 0]
                rows[own] = np.max(rows[own], initial=0.0)
    return rows


def cost_size(F: Family, found: Curvature, motions: np.ndarray) -> float:
    """The size of the cost of a family: its terms, and how much the natural motions change them."""
    D = motions[F.columns]
    first = largest(np.einsum("kv,kvm->km", found.Dcost, D), axis=1)
    second = largest(np.einsum("kvm,kvw,kwm->km", D, found.H, D), axis=1)
    return float(np.sum(largest(found.cost[:, None], axis=1) + first + second / 2))
