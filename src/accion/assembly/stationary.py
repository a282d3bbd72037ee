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
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.types import Array

# An interior point leaves push times distance the same everywhere: where one is less than this many
# times the other, neither is zero.
CLEAR = 30.0


class Active(NamedTuple):
    """Which unknowns are held by a bound (n,), which rows hold as equations (m,); of both, which
    are near their bound and are hardly pushed to it.
    """

    unknowns: np.ndarray
    rows: np.ndarray
    weak_unknowns: np.ndarray
    weak_rows: np.ndarray


def active_at(found: Found) -> Active:
    """What is, where a solver ended."""
    program = found.program
    none = np.zeros(program.n, dtype=bool), np.zeros(program.m, dtype=bool)
    if program.equalities_only:
        return Active(none[0], ~none[1], *none)
    scaled, (size, _, cost) = program.scaled, program.scaled.scales
    x, g = found.x / size, scaled.values(found.x / size)[1]
    pushes = (side * size / cost for side in found.multipliers)
    held, weak = pressed(x, (scaled.lower, scaled.upper), pushes)
    lam = scaled.multipliers_in(found.lam)
    pushes = np.maximum(-lam, 0.0), np.maximum(lam, 0.0)
    rows, weak_rows = pressed(g, (scaled.row_lower, scaled.row_upper), pushes)
    equations = program.row_lower == program.row_upper
    free = ~program.fixed
    return Active(held & free, rows | equations, weak & free, weak_rows & ~equations)


def pressed(values: np.ndarray, bounds: Any, pushes: Any) -> tuple[np.ndarray, np.ndarray]:
    """(held, weak): what is nearer to a bound than it is pushed; where neither is clearly less."""
    held, weak = np.zeros((2, len(values)), dtype=bool)
    for bound, push in zip(bounds, pushes, strict=True):
        away = np.abs(values - bound)
        held |= push > away
        weak |= np.maximum(push, away) < CLEAR * np.minimum(push, away)
    return held, weak


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
