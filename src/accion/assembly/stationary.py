"""The stationary point of cost + lam.rows as equations, so that it has derivatives by what the
program depends on (`assembly.implicit`).

    d(cost + lam.rows)/dx = 0    of the unknowns that are free
    rows = their bound           of the rows that hold as equations

Bounds and inequalities that push (Karush, Kuhn and Tucker) count as equations, the others are left
out: near the solution the same ones do, unless one holds without a push.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.equations import Equations
from accion.assembly.implicit import one_solved
from accion.assembly.program import Program, Summed
from accion.assembly.sqp import Found
from accion.types import Array

ROUNDS = 20  # in which bounds and inequalities are sorted
STILL = 1e-9  # of its size: a step of Newton's method that is none
BARE = 1e-8  # of its size: a push, and a distance from a bound, that are none
# An interior point leaves push times distance the same everywhere: where one is less than this many
# times the other, it does not say which is zero.
CLEAR = 30.0


class Active(NamedTuple):
    """Which unknowns are held by a bound (n,), which rows hold as equations (m,); of both, which
    are near their bound and are hardly pushed to it.
    """

    unknowns: np.ndarray
    rows: np.ndarray
    weak_unknowns: np.ndarray
    weak_rows: np.ndarray

    def same(self, other: "Active") -> bool:
        """Whether the same hold."""
        pairs = ((self.unknowns, other.unknowns), (self.rows, other.rows))
        return all(np.array_equal(a, b) for a, b in pairs)


class Stationary(NamedTuple):
    """A point that satisfies the conditions, and what holds there; whether that could be told."""

    x: np.ndarray
    lam: np.ndarray
    cost: float
    active: Active
    told: bool


class Sides(NamedTuple):
    """Pushes to lower and upper bounds and distances from them, as parts of their sizes; of
    unknowns or of rows.
    """

    pushes: tuple[np.ndarray, np.ndarray]
    aways: tuple[np.ndarray, np.ndarray]

    @property
    def held(self) -> np.ndarray:
        """What is pushed more than it is away."""
        return np.any([push > away for push, away in zip(*self, strict=True)], axis=0)

    @property
    def bare(self) -> np.ndarray:
        """What is neither."""
        pairs = zip(*self, strict=True)
        return np.any([np.maximum(push, np.abs(away)) < BARE for push, away in pairs], axis=0)

    @property
    def unclear(self) -> np.ndarray:
        """What is a little of both."""
        pairs = [(push, np.abs(away)) for push, away in zip(*self, strict=True)]
        return np.any([np.maximum(*pair) < CLEAR * np.minimum(*pair) for pair in pairs], axis=0)


def sides_at(program: Program, x: np.ndarray, lam: np.ndarray, pushes: Any) -> tuple[Sides, Sides]:
    """Those of unknowns, of which `pushes` are the multipliers, and of rows."""
    size, rows, cost = program.scaled.scales
    g, lam = program.values(x)[1], program.scaled.multipliers_in(lam)
    of_x = tuple(push * size / cost for push in pushes)
    away = (x - program.lower) / size, (program.upper - x) / size
    row_away = (g - program.row_lower) / rows, (program.row_upper - g) / rows
    return (
        Sides((of_x[0], of_x[1]), away),
        Sides((np.maximum(-lam, 0.0), np.maximum(lam, 0.0)), row_away),
    )


def active_of(program: Program, sides: tuple[Sides, Sides], weak: Any) -> Active:
    """What holds, and what does `weak`ly, of unknowns that are not fixed and of rows."""
    free, equations = ~program.fixed, program.row_lower == program.row_upper
    x, rows = sides
    return Active(x.held & free, rows.held | equations, weak(x) & free, weak(rows) & ~equations)


def stationary_of(found: Found) -> Stationary:
    """The point next to where a solver ended, by Newton's method on the conditions, in which after
    each step bounds and inequalities are sorted again: an interior point is a little off, and does
    not tell apart what is hardly pushed. Where that has no end, where the solver ended.
    """
    program, x, lam = found.program, found.x, found.lam
    if program.equalities_only:
        none = np.zeros(program.n, dtype=bool), np.zeros(program.m, dtype=bool)
        return Stationary(x, lam, found.cost, Active(none[0], ~none[1], *none), True)
    first = active_of(program, sides_at(program, x, lam, found.multipliers), lambda s: s.unclear)
    active, size = first, program.scaled.scales.x
    for _ in range(ROUNDS):
        x = np.where(active.unknowns, nearest(x, program.lower, program.upper), x)
        lam = np.where(active.rows, lam, 0.0)
        dx, dlam = newton_step(program, active, x, lam)
        x, lam = x + dx, lam + dlam
        if not np.all(np.isfinite(x)):
            break
        at = program.slopes(x)
        slope = pulled(program, at, lam)
        sides = sides_at(program, x, lam, (slope, -slope))
        new = active_of(program, sides, lambda s: s.bare)
        if new.same(active) and np.max(np.abs(dx / size), initial=0.0) < STILL:
            return Stationary(x, lam, at.cost, new, True)
        active = new
    return Stationary(found.x, found.lam, found.cost, first, False)


def nearest(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The bounds that are."""
    return np.where(values - lower < upper - values, lower, upper)


def pulled(program: Program, at: Summed, lam: np.ndarray) -> np.ndarray:
    """d(cost + lam.rows)/dx, shape (n,)."""
    rows, columns = program.sparsity.jacobian
    return at.gradient + np.bincount(columns, at.J * lam[rows], program.n)


def newton_step(
    program: Program, active: Active, x: np.ndarray, lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """That of the conditions; NaN where they do not determine it."""
    equations, at = conditions(program, active), program.slopes(x)
    asked = ~equations.fixed[:-1]
    bound = nearest(at.rows, program.row_lower, program.row_upper)
    left = np.concatenate([pulled(program, at, lam), at.rows - bound])[asked]
    entries = entries_at(program, equations, x, lam)
    step = np.zeros(program.n + program.m)
    step[asked] = one_solved(equations.sparsity.square, equations.places, False, entries, -left)
    return step[: program.n], step[program.n :]


@dataclass(frozen=True)
class Pulled:
    """(d(cost + lam.rows)/dx, rows) of an element `f` of `count` unknowns x, of (x, lam)."""

    f: Callable[..., Any]
    count: int

    def __call__(self, args: Any, data: Any, z: Array) -> tuple[Array, Array]:
        lam = z[self.count :]

        def lagrangian(x: Array) -> tuple[Array, Array]:
            cost, rows = self.f(args, data, x)
            return cost + lam @ rows, rows

        slope, rows = jax.grad(lagrangian, has_aux=True)(z[: self.count])
        return jnp.zeros(()), jnp.concatenate([slope, rows])


def conditions(program: Program, active: Active) -> Equations:
    """The equations of (x, lam, 0), shape (n + m + 1,); multipliers of rows that do not hold as
    equations are fixed.
    """
    n, m = program.n, program.m
    held = program.fixed | active.unknowns
    asked = np.concatenate([~held, active.rows])
    numbers = np.append(np.where(asked, np.cumsum(asked) - 1, -1), -1)  # the last of no row
    families = []
    for F in program.families:
        rows = np.where(F.rows < 0, n + m, n + F.rows)
        columns = np.concatenate([F.columns, rows], axis=1)
        f = Pulled(F.f, F.columns.shape[1])
        families.append(Family(f, F.args, F.own_data, columns, numbers[columns]))
    place = np.concatenate([program.place, program.row_place])
    return Equations(tuple(families), np.append(~asked, True), np.append(place, 0.0), place[asked])


def unknowns_of(x: Any, lam: Any, active: Active) -> Array:
    """(x, lam, 0) as `conditions` takes them."""
    return jnp.concatenate([x, jnp.where(active.rows, lam, 0.0), jnp.zeros(1)])


def entries_at(program: Program, equations: Equations, x: np.ndarray, lam: np.ndarray) -> Any:
    """The derivatives of the conditions of `program` as `implicit.traced_entries` gives them, from
    what its solver has compiled.
    """
    found = []
    parts = zip(program.families, equations.families, equations.sparsity.constant, strict=True)
    for F, own, constant in parts:
        if constant:
            continue
        at, count = F.curvature(x, 1.0, lam), F.columns.shape[1]
        D = np.zeros((*own.columns.shape, own.columns.shape[1]))
        D[:, :count, :count], D[:, count:, :count] = at.H, at.Drows
        D[:, :count, count:] = at.Drows.transpose(0, 2, 1)
        found.append(D[own.rows >= 0].ravel())
    _, columns = equations.sparsity.jacobian
    return np.concatenate(found)[~equations.fixed[columns]]
