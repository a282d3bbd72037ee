"""A minimum under constraints that is a sum of small elements, with exact sparse derivatives.

    minimise  sum of the costs of all elements,   lower <= x <= upper,   row_lower <= sum of their rows <= row_upper

Each element sees a few entries of x and adds to a few rows. All elements of a family are one function, traced once, whatever their
number: derivatives are those of a function of a few variables, put in their places.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

AT_ONCE = 128  # elements; families of all sizes share what is compiled


@dataclass(frozen=True)
class Family:
    """Elements f(args, data_k, x[columns_k]) -> (cost, rows): `columns` (K, nv) and `rows` (K, nr) say where they belong, -1 nowhere.

    `f` is compared by value and compiled in; `args` (one for all) and `data` (with leading axis K) are pytrees of numbers.
    """

    f: Callable[..., Any]
    args: Any
    data: Any
    columns: np.ndarray
    rows: np.ndarray


@partial(jax.jit, static_argnums=0)
def values(f, args, data, x):
    """(cost, rows) of some elements."""
    return jax.vmap(lambda d, x: f(args, d, x))(data, x)


@partial(jax.jit, static_argnums=0)
def slopes(f, args, data, x):
    """(cost, rows) and their derivatives, shapes (K, nv) and (K, nr, nv)."""

    def both(d, x):
        out = f(args, d, x)
        return out, out

    def one(d, x):
        return jax.jacfwd(lambda x: both(d, x), has_aux=True)(x)

    (Dcost, Drows), (cost, rows) = jax.vmap(one)(data, x)
    return cost, rows, Dcost, Drows


@partial(jax.jit, static_argnums=0)
def curvatures(f, args, data, x, weight, lam):
    """The second derivatives of weight * cost + lam.rows, shape (K, nv, nv)."""

    def lagrangian(x, d, lam):
        cost, rows = f(args, d, x)
        return weight * cost + lam @ rows

    return jax.vmap(jax.hessian(lagrangian))(x, data, lam)


def in_pieces(compute, family, x, *more):
    """`compute(f, args, data, x, *more)` some elements at a time; `more` are scalars, or arrays with the axis of the elements."""
    count = len(family.columns)
    size = min(AT_ONCE, 2 ** (count - 1).bit_length())
    parts = []
    for first in range(0, count, size):
        chosen = np.minimum(np.arange(first, first + size), count - 1)
        pick = lambda a: np.asarray(a)[chosen] if np.ndim(a) else a  # noqa: B023, E731
        parts.append(compute(family.f, family.args, *jax.tree.map(pick, (family.data, x, *more))))
    joined = [np.concatenate([np.asarray(p) for p in pieces])[:count] for pieces in zip(*map(jax.tree.leaves, parts), strict=True)]
    return jax.tree.unflatten(jax.tree.structure(parts[0]), joined)


@dataclass(frozen=True)
class Program:
    """The problem. `place` and `row_place` order unknowns and rows in time, so that neighbours are near each other in a matrix;
    `label(i)` and `row_label(j)` name them, with their time. `recentre(program, x)` moves the origin of the chart to x."""

    families: tuple[Family, ...]
    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    place: np.ndarray
    row_place: np.ndarray
    label: Callable[[int], str]
    row_label: Callable[[int], str]
    recentre: Callable[..., Any] | None = None
    known: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n(self):
        return len(self.lower)

    @property
    def m(self):
        return len(self.row_lower)

    @property
    def fixed(self):
        return self.lower == self.upper

    @property
    def equalities_only(self):
        free = ~self.fixed
        bounded = np.isfinite(self.lower[free]).any() or np.isfinite(self.upper[free]).any()
        return not bounded and np.array_equal(self.row_lower, self.row_upper)

    def with_families(self, families):
        """The same problem with other data; what is known of its pattern is kept."""
        return replace(self, families=families)

    @cached_property
    def jacobian_pattern(self):
        """(row, column) of each derivative of a row, in the order in which `jacobian` gives them."""
        pairs = [(np.repeat(F.rows, F.columns.shape[1], axis=1).ravel(), np.tile(F.columns, (1, F.rows.shape[1])).ravel()) for F in self.families]
        rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return rows[rows >= 0], columns[rows >= 0]

    @cached_property
    def hessian_pattern(self):
        """(row, column) of each second derivative, all of them, in the order in which `hessian` gives them."""
        nv = [F.columns.shape[1] for F in self.families]
        pairs = [
            (np.repeat(F.columns, n, axis=1).ravel(), np.tile(F.columns, (1, n)).ravel()) for F, n in zip(self.families, nv, strict=True)
        ]
        return tuple(np.concatenate(part) for part in zip(*pairs, strict=True))

    def values(self, x):
        """(cost, rows) of the whole."""
        cost, g = 0.0, np.zeros(self.m)
        for F in self.families:
            c, rows = in_pieces(values, F, x[F.columns])
            cost += float(np.sum(c))
            g += self.added(F, rows)
        return cost, g

    def added(self, family, rows):
        """The rows of the elements of a family, added up where they belong."""
        wanted = family.rows >= 0
        return np.bincount(family.rows[wanted], rows[wanted], self.m)

    def slopes(self, x):
        """(cost, rows, gradient of the cost, derivatives of the rows as entries of `jacobian_pattern`)."""
        cost, g, gradient, entries = 0.0, np.zeros(self.m), np.zeros(self.n), []
        for F in self.families:
            c, rows, Dc, Drows = in_pieces(slopes, F, x[F.columns])
            cost += float(np.sum(c))
            g += self.added(F, rows)
            gradient += np.bincount(F.columns.ravel(), Dc.ravel(), self.n)
            entries.append(Drows[F.rows >= 0].ravel())
        return cost, g, gradient, np.concatenate(entries)

    def hessian(self, x, weight, lam):
        """The second derivatives of weight * cost + lam.rows, as entries of `hessian_pattern`."""
        found = [in_pieces(curvatures, F, x[F.columns], np.float64(weight), np.append(lam, 0.0)[F.rows]) for F in self.families]
        return np.concatenate([H.ravel() for H in found])
