"""A minimum under constraints that is a sum of small elements, with exact sparse derivatives.

    minimise   sum of the costs of all elements
    such that  lower <= x <= upper,    row_lower <= sum of their rows <= row_upper

Each element sees a few entries of x and adds to a few rows. All elements of a family are one
function, traced once, whatever their number: derivatives are those of a function of a few
variables, put in their places.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.band import Band
from accion.engines.auto import small_map
from accion.spaces import Euclidean, Torus

retract_all = jax.jit(lambda space, base, e: jax.vmap(space.retract)(base, e), static_argnums=0)
# of the pieces that elements are evaluated in: few, so that problems of all lengths share what is
# compiled
SIZES = (1, 64, 256)


@lru_cache(maxsize=256)
def compiled(f, frame):
    """(values, slopes, all) of elements f: functions of ((numbers of args,), (data, x)), the last
    of ((numbers, weight), (data, x, lam)), the second argument with an axis of elements.

    values: (cost, rows); slopes: those and their derivatives (nv,), (nr, nv); all: those and the
    second derivatives of weight cost + lam.rows.
    """

    def element(numbers, data, x):
        return f(jax.tree.unflatten(frame, numbers), data, x)

    def slopes(numbers, data, x):
        def twice(x):
            out = element(numbers, data, x)
            return out, out

        (Dcost, Drows), (cost, rows) = jax.jacfwd(twice, has_aux=True)(x)
        return cost, rows, Dcost, Drows

    def everything(numbers, data, x, weight, lam):
        def lagrangian(x):
            cost, rows = element(numbers, data, x)
            return weight * cost + lam @ rows

        # Column by column in a loop: a third of the operations to compile, and faster than all
        # columns at once.
        bend = jax.lax.map(lambda e: jax.jvp(jax.grad(lagrangian), (x,), (e,))[1], jnp.eye(len(x)))
        return *slopes(numbers, data, x), bend

    return (
        small_map(lambda fixed, row: element(*fixed, *row)),
        small_map(lambda fixed, row: slopes(*fixed, *row)),
        small_map(lambda fixed, row: everything(fixed[0], row[0], row[1], fixed[1], row[2])),
    )


VALUES, SLOPES, ALL = range(3)


@dataclass(frozen=True)
class Family:
    """Elements f(args, data_k, x[columns_k]) -> (cost, rows): `columns` (K, nv) and `rows` (K, nr)
    say where they belong, -1 nowhere.

    `f` is compared by value and compiled in; `args` (one for all) and `data` (with leading axis K)
    are pytrees of numbers. Elements between `nodes` (K, w) of a path see (configurations of `base`
    there, data_k): unknowns are displacements from them.
    """

    f: Callable[..., Any]
    args: Any
    data: Any
    columns: np.ndarray
    rows: np.ndarray
    nodes: Any = None
    base: Any = None

    def data_at(self, i):
        """What the elements `i` are given besides unknowns."""
        own = jax.tree.map(lambda a: np.asarray(a)[i], self.data)
        return (
            own
            if self.nodes is None
            else (tuple(jax.tree.map(lambda a, k=k: a[k], self.base) for k in self.nodes[i].T), own)
        )

    @cached_property
    def pieces(self):
        """For some elements at a time, the last repeated to fill the last piece: their columns,
        rows and data; and the numbers of `args`.
        """
        count = len(self.columns)
        size = next((size for size in SIZES if count <= size), SIZES[-1])
        chosen = [
            np.minimum(np.arange(first, first + size), count - 1) for first in range(0, count, size)
        ]
        data = [jax.device_put(self.data_at(i)) for i in chosen]
        numbers, frame = jax.tree.flatten(self.args)
        parts = [(self.columns[i], self.rows[i], d) for i, d in zip(chosen, data, strict=True)]
        return compiled(self.f, frame), jax.device_put(numbers), parts

    def evaluate(self, what, x, weight=1.0, lam=None):
        """VALUES, SLOPES or ALL of the elements, as arrays with leading axis K."""
        functions, numbers, parts = self.pieces
        fixed = (numbers,) if lam is None else (numbers, np.float64(weight))
        wide = None if lam is None else np.append(lam, 0.0)
        found = [
            functions[what](fixed, (data, x[columns], *(() if wide is None else (wide[rows],))))
            for columns, rows, data in parts
        ]
        if len(found) == 1:
            return [np.asarray(a)[: len(self.columns)] for a in found[0]]
        return [
            np.concatenate([np.asarray(a) for a in pieces])[: len(self.columns)]
            for pieces in zip(*found, strict=True)
        ]


class Chart(NamedTuple):
    """Unknowns that are displacements of the nodes of a path on a space: their numbers `e`, shape
    (nodes, dim).
    """

    space: Any
    e: np.ndarray

    @property
    def curved(self):
        """Whether it is good near its base only: on a flat space the base is the origin, for
        good.
        """
        return not self.space.flat


@dataclass(frozen=True)
class Program:
    """The problem. `place` and `row_place` order unknowns and rows in time, so that neighbours are
    near each other in a matrix; `row_label(j)` names a row, with its time; `chart` says which
    unknowns are displacements.
    """

    families: tuple[Family, ...]
    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    place: np.ndarray
    row_place: np.ndarray
    row_label: Callable[[int], str]
    chart: Any = None

    @property
    def n(self):
        return len(self.lower)

    @property
    def m(self):
        return len(self.row_lower)

    @cached_property
    def fixed(self):
        return self.lower == self.upper

    @property
    def equalities_only(self):
        free = ~self.fixed
        bounded = np.isfinite(self.lower[free]).any() or np.isfinite(self.upper[free]).any()
        return not bounded and np.array_equal(self.row_lower, self.row_upper)

    def with_families(self, families):
        """The same problem with other data; what is known of its pattern is kept."""
        moved = replace(self, families=families)
        moved.__dict__.update(
            {
                name: self.__dict__[name]
                for name in ("jacobian_pattern", "hessian_pattern", "fixed", "still", "band")
                if name in self.__dict__
            }
        )
        return moved

    @property
    def base(self):
        """The configurations that displacements are measured from."""
        return self.families[0].base

    def configurations(self, x):
        """The configurations at the nodes."""
        space, e = self.chart
        return (
            x[e]
            if isinstance(space, Euclidean | Torus)
            else jax.tree.map(np.asarray, retract_all(space, self.base, x[e]))
        )

    def recentred(self, x):
        """(program, x): the same point, on a curved space with its nodes as the base of the
        charts.
        """
        if self.chart is None or not self.chart.curved:
            return self, x
        base, moved = self.configurations(x), x.copy()
        moved[self.chart.e] = 0.0
        return self.with_families(tuple(replace(F, base=base) for F in self.families)), moved

    @cached_property
    def still(self):
        """Which families see fixed unknowns only: their derivatives do not matter."""
        return tuple(bool(np.all(self.fixed[F.columns])) for F in self.families)

    @property
    def moving(self):
        return [F for F, still in zip(self.families, self.still, strict=True) if not still]

    @cached_property
    def constant(self):
        """(cost, rows) of the families that see fixed unknowns only."""
        cost, g = 0.0, np.zeros(self.m)
        for F, still in zip(self.families, self.still, strict=True):
            if still:
                c, rows = F.evaluate(VALUES, np.where(self.fixed, self.lower, 0.0))
                cost += float(np.sum(c))
                g += self.added(F, rows)
        return cost, g

    @cached_property
    def band(self):
        """Where the entries of its linear systems are."""
        return Band(self)

    @cached_property
    def jacobian_pattern(self):
        """(row, column) of each derivative of a row, in the order in which `slopes` gives them."""
        pairs = [
            (
                np.repeat(F.rows, F.columns.shape[1], axis=1).ravel(),
                np.tile(F.columns, (1, F.rows.shape[1])).ravel(),
            )
            for F in self.moving
        ]
        rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return rows[rows >= 0], columns[rows >= 0]

    @cached_property
    def hessian_pattern(self):
        """(row, column) of each second derivative, all of them, in the order in which `all` gives
        them.
        """
        pairs = []
        for F in self.moving:
            n = F.columns.shape[1]
            pairs.append(
                (np.repeat(F.columns, n, axis=1).ravel(), np.tile(F.columns, (1, n)).ravel())
            )
        return tuple(np.concatenate(part) for part in zip(*pairs, strict=True))

    def added(self, family, rows):
        """The rows of the elements of a family, added up where they belong."""
        wanted = family.rows >= 0
        return np.bincount(family.rows[wanted], rows[wanted], self.m)

    def values(self, x):
        """(cost, rows) of the whole."""
        cost, g = self.constant
        for F in self.moving:
            c, rows = F.evaluate(VALUES, x)
            cost = cost + float(np.sum(c))
            g = g + self.added(F, rows)
        return cost, g

    def slopes(self, x):
        """(cost, rows, gradient of the cost, derivatives of the rows as entries of
        `jacobian_pattern`, size of the terms of the gradient).
        """
        return self.total([F.evaluate(SLOPES, x) for F in self.moving])

    def total(self, parts):
        (cost, g), gradient, terms, entries = self.constant, np.zeros(self.n), np.zeros(self.n), []
        for F, (c, rows, Dc, Drows) in zip(self.moving, parts, strict=True):
            cost = cost + float(np.sum(c))
            g = g + self.added(F, rows)
            gradient += np.bincount(F.columns.ravel(), Dc.ravel(), self.n)
            terms += np.bincount(F.columns.ravel(), np.abs(Dc.ravel()), self.n)
            entries.append(Drows[F.rows >= 0].ravel())
        return cost, g, gradient, np.concatenate(entries), terms

    def all(self, x, weight, lam):
        """What `slopes` gives, and the second derivatives of weight * cost + lam.rows as entries of
        `hessian_pattern`.
        """
        parts = [F.evaluate(ALL, x, weight, lam) for F in self.moving]
        return *self.total([part[:4] for part in parts]), np.concatenate(
            [part[4].ravel() for part in parts]
        )

    def hessian(self, x, weight, lam):
        """The second derivatives of weight * cost + lam.rows, as entries of `hessian_pattern`."""
        return self.all(x, weight, lam)[5]
