"""The equations of a two-point problem: what each window, each node and each end adds to them.

A window is a step, or for a system of order r any r + 1 configurations that follow each other. As
in the method of finite elements, each window adds its derivatives D_j Ld to the equations of its
nodes.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.banded import Correction
from accion.assembly.charts import local_all, retract_all
from accion.assembly.elements import Family
from accion.assembly.equations import Equations, Linear, Measure
from accion.assembly.scales import power_of_two
from accion.discretise import discretise
from accion.discretise.window import combine, derivatives, differencing
from accion.instant.sizes import STILL, largest, quotient
from accion.methods import Method
from accion.numerics.arrays import module_of
from accion.systems.start import is_traced
from accion.types import Array, Configuration


class Path(NamedTuple):
    """The unknowns: configurations at all nodes, and the multipliers of nodes (holonomic), or what
    windows have of their own (vakonomic): their inner points, and then their multipliers.

    The increments between nodes are kept besides, as in a step: from the configurations they would
    lose the digits that q has in front of them.
    """

    q: Configuration
    x: np.ndarray
    own: np.ndarray


class Ends(NamedTuple):
    """What is given: configurations at the first and the last nodes, stacked; or one at each end
    with derivatives there, shape (r - 1, dim).
    """

    qa: Configuration
    qb: Configuration
    va: Any
    vb: Any


# ---------------------------------------------------------------- elements

# Unknowns are the displacements e of nodes, which are zero and serve to differentiate, and what
# nodes or windows have of their own.


def displaced(space: Any, x: Array, e: Array) -> Array:
    """Increments after their nodes are displaced by `e`, to first order."""
    return jnp.stack([space.relative(x[i], e[i], e[i + 1]) for i in range(len(x))])


@dataclass(frozen=True)
class Window:
    """What a window adds to the balance at each of its nodes; and its own equations."""

    method: Method | None

    def __call__(self, args: Any, data: Any, unknowns: Array) -> tuple[Array, Array]:
        (system, h), (t, q, x) = args, data
        space, nodes = system.space, len(x) + 1
        e = unknowns[: nodes * space.dim].reshape(nodes, space.dim)
        own = unknowns[nodes * space.dim :]
        form = discretise(system, self.method)
        G, closed = form.window(t, h, space.displace(q, e[0]), displaced(space, x, e), own)
        return jnp.zeros(()), jnp.concatenate([G.ravel(), closed])


@dataclass(frozen=True)
class Node:
    """The force of a holonomic constraint on a node, and the constraint there."""

    def __call__(self, args: Any, data: Any, unknowns: Array) -> tuple[Array, Array]:
        (system, h), (t, q) = args, data
        n, constraint = system.space.dim, system.constraint
        q, lam = system.space.retract(q, unknowns[:n]), unknowns[n:]
        force = h * constraint.reaction(system, t, q, None, lam)
        return jnp.zeros(()), jnp.concatenate([force, constraint.value(system, t, q, None)])


@dataclass(frozen=True)
class Edge:
    """At an end with given derivatives: q', ..., q^(r-1) of the first or the last window less
    them.
    """

    last: bool

    def __call__(self, args: Any, data: Any, unknowns: Array) -> tuple[Array, Array]:
        (system, h), (x, v) = args, data
        r = len(x)
        moved = displaced(system.space, x, unknowns.reshape(r + 1, system.space.dim))
        differences = combine(differencing(r), moved)
        found = derivatives(differences, float(r if self.last else 0), h)[:-1]
        return jnp.zeros(()), (found - v).ravel()


# ---------------------------------------------------------------- the problem


class Numbers(NamedTuple):
    """Where everything is among the unknowns and the equations; -1 where one is not."""

    e: np.ndarray  # displacements of nodes, (steps + 1, dim)
    own: np.ndarray  # what windows or nodes have besides, (count, width)
    fixed: np.ndarray  # which unknowns are
    balance: np.ndarray  # equations of nodes, (steps + 1, dim)
    closed: np.ndarray  # equations of that, (count, width)


@dataclass(frozen=True)
class TwoPoint:
    """A two-point problem on `steps` equal steps."""

    system: Any
    method: Method | None
    t0: Any
    h: Any
    steps: int
    ends: Ends

    def module(self, path: Path) -> ModuleType:
        """What its arrays are of: NumPy's, or JAX's where derivatives are taken."""
        return module_of((self.system, self.t0, self.h, path))

    @property
    def windows(self) -> int:
        """How many there are."""
        return self.steps + 1 - self.system.order

    @property
    def owners(self) -> int:
        """How many windows or nodes may have unknowns of their own."""
        return self.windows if self.system.enters_action else self.steps + 1

    @property
    def width(self) -> int:
        """How many each of them has."""
        if not self.system.enters_action:
            return self.system.multipliers
        return discretise(self.system, self.method).own

    def multipliers(self, path: Path) -> Any:
        """Of each window or node, shape (owners, m): the mean where a window has several."""
        own, m = path.own, self.system.multipliers
        if not (self.system.enters_action and m):
            return own
        inner = discretise(self.system, self.method).blocks.inner
        return own[:, inner:].reshape(len(own), -1, m).mean(axis=1)

    @cached_property
    def numbers(self) -> Numbers:
        """The nodes at the ends are fixed: r of them, or one where derivatives are given."""
        r, n, m, steps = self.system.order, self.system.space.dim, self.width, self.steps
        node = np.arange(steps + 1)
        inner = (node >= r) & (node <= steps - r)
        given = ~inner if self.ends.va is None else (node == 0) | (node == steps)
        e = np.arange((steps + 1) * n).reshape(steps + 1, n)
        own = e.size + np.arange(self.owners * m).reshape(self.owners, m)
        owning = np.full(len(own), True) if self.system.enters_action else inner
        fixed = np.concatenate([np.repeat(given, n), np.repeat(~owning, m)])

        def numbered(wanted: np.ndarray, width: int, first: int) -> np.ndarray:
            count = np.count_nonzero(wanted)
            found = np.full((len(wanted), width), -1)
            found[wanted] = first + np.arange(count * width).reshape(count, width)
            return found

        balance = numbered(~given, n, 0)
        return Numbers(e, own, fixed, balance, numbered(owning, m, np.max(balance) + 1))

    @cached_property
    def equations(self) -> Equations:
        """The equations without numbers of a path: with them, see `at`."""
        (e, own, fixed, balance, closed), r = self.numbers, self.system.order
        n = self.system.space.dim
        args = (self.system, self.h if is_traced(self.h) else np.float64(self.h))
        at = np.arange(self.windows)[:, None] + np.arange(r + 1)
        # The equations of the nodes next to an end are those of the derivatives given there.
        inner = np.where(((at >= r) & (at <= self.steps - r))[..., None], balance[at], -1)
        columns, rows = e[at].reshape(len(at), -1), inner.reshape(len(at), -1)
        if self.system.enters_action:
            columns, rows = np.append(columns, own, axis=1), np.append(rows, closed, axis=1)
        families = [Family(Window(self.method), args, None, columns, rows)]
        if self.system.holds_positions:
            columns, rows = (np.concatenate(pair, axis=1) for pair in ((e, own), (balance, closed)))
            families.append(Family(Node(), args, None, columns, rows))
        if self.ends.va is not None:
            next_to = (
                (False, at[0], 1 + np.arange(r - 1)),
                (True, at[-1], self.steps - 1 - np.arange(r - 1)),
            )
            families += [
                Family(
                    Edge(last), args, None, e[nodes].reshape(1, -1), balance[where].reshape(1, -1)
                )
                for last, nodes, where in next_to
            ]
        # What a window has of its own comes after the node that it begins with.
        place = [
            np.repeat(np.arange(self.steps + 1.0), n),
            np.repeat(np.arange(len(own)) + 0.5, own.shape[1]),
        ]
        row_place = [np.nonzero(balance >= 0)[0], np.nonzero(closed >= 0)[0] + 0.5]
        return Equations(tuple(families), fixed, np.concatenate(place), np.concatenate(row_place))

    def window_data(self, path: Path) -> tuple[np.ndarray, Configuration, np.ndarray]:
        """(t, q, x): where each window begins, and its increments (windows, r, dim)."""
        count, own = self.windows, self.module(path)
        q = jax.tree.map(lambda a: own.asarray(a)[:count], path.q)
        x = own.stack([path.x[i : i + count] for i in range(self.system.order)], axis=1)
        return self.times[:count], q, x

    @cached_property
    def times(self) -> np.ndarray:
        return self.t0 + self.h * np.arange(self.steps + 1)

    def at(self, path: Path) -> tuple[Equations, np.ndarray]:
        """The equations around a path, and its unknowns."""
        t, q, x = self.window_data(path)
        data: list[Any] = [(t, q, x)]
        if self.system.holds_positions:
            data.append((self.times, path.q))
        if self.ends.va is not None:
            data += [(x[:1], self.ends.va[None]), (x[-1:], self.ends.vb[None])]
        still, own = np.zeros(self.numbers.e.size), self.module(path)
        unknowns = own.concatenate([still, own.ravel(path.own)])  # as they are numbered
        return self.equations.with_data(data), unknowns

    def residual(self, path: Path) -> np.ndarray:
        """What is left of all equations."""
        equations, unknowns = self.at(path)
        return equations.residual(unknowns)

    def linearised(self, path: Path) -> tuple[Linear, Measure]:
        """The equations around a path, and the sizes that they are measured by."""
        equations, unknowns = self.at(path)
        linear = equations.linearised(unknowns)
        return linear, self.measure(path, linear)

    def correction(self, linear: Linear, measure: Measure) -> Correction:
        """The step of Newton's method."""
        return self.equations.correction(linear, measure)

    @cached_property
    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """(of unknowns, of equations): the numbers of their kinds. First come the coordinates and
        their balances, then what windows or nodes have of their own, then what is given at the
        ends.
        """
        (e, own, fixed, balance, closed), r = self.numbers, self.system.order
        n, m = self.system.space.dim, self.width
        unknowns = np.zeros(len(fixed), dtype=int)
        unknowns[e], unknowns[own] = np.arange(n), n + np.arange(m)
        rows = np.zeros(len(self.equations.row_place) + 1, dtype=int)
        rows[closed] = n + np.arange(m)
        for k, numbers in enumerate(balance):
            rows[numbers] = np.arange(n)
            if not r <= k <= self.steps - r:  # the derivatives that are given next to an end
                rows[numbers] += n + m + n * min(k, self.steps - k)
        return unknowns, rows[:-1]

    def measure(self, path: Path, linear: Linear) -> Measure:
        """The sizes of a path's unknowns and equations.

        A coordinate is as large as what it moves; one that stands still, as its share D s^2 of the
        others, D the second derivative of the discrete action; where nothing moves, as what is left
        of the equations would move it. A multiplier is as large as what its force balances.
        """
        kinds, row_kinds = self.kinds
        n, D = self.system.space.dim, self.equations.blocks(linear, kinds, row_kinds)
        own, left = np.diagonal(D)[:n], np.zeros(len(D))
        np.maximum.at(left, row_kinds, np.abs(linear.residual))
        origin, far = self.displacements(path)
        reach = origin if np.any(origin) else self.steps**2 * quotient(left[:n], own)
        share = np.sqrt(quotient(np.max(own * reach**2), own))
        size = np.where(reach > STILL * share, reach, share)
        size = np.where(size > 0, size, np.max(size))
        rows = np.max(D[:, :n] * power_of_two(size), axis=1)
        forces = np.max(quotient(D[:n, n:], rows[:n, None]), axis=0, initial=0.0)
        sizes = power_of_two(np.append(size, quotient(1.0, forces)))
        beside = np.append(far, np.max(np.abs(path.own), axis=0, initial=0.0)) + sizes
        return Measure(sizes[kinds], power_of_two(rows)[row_kinds], beside[kinds])

    def displacements(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """How far the nodes of a path are from the first one, and from the origin: the largest of
        each coordinate.
        """
        space, count = self.system.space, self.steps + 1
        origins = (jax.tree.map(lambda a: np.asarray(a)[0], path.q), space.identity())
        repeated = (
            jax.tree.map(lambda a: np.broadcast_to(a, (count, *np.shape(a))), q) for q in origins
        )
        first, origin = (largest(local_all(space, q, path.q)) for q in repeated)
        return first, origin

    def moved(self, path: Path, dx: np.ndarray) -> Path:
        """The path after a change of the unknowns that are not fixed.

        Where increments add up they take theirs, without loss.
        """
        space, change = self.system.space, self.equations.spread(dx)
        e = change[self.numbers.e]
        q = retract_all(space, path.q, e)
        x = path.x + (e[1:] - e[:-1]) if space.flat else increments(space, q)
        return Path(q, x, path.own + change[self.numbers.own])

    def largest_displacement(self, dx: np.ndarray, measure: Measure) -> float:
        """That of a node over its size, in a change of the unknowns that are not fixed."""
        parts = self.equations.spread(dx) / measure.unknowns
        return float(np.max(np.abs(parts[self.numbers.e])))

    def worst_time(self, path: Path, measure: Measure) -> float:
        """When the balance of a node is off most."""
        left = np.append(np.abs(self.residual(path)) / measure.rows, 0.0)[self.numbers.balance]
        return float(self.t0 + int(np.argmax(np.max(left, axis=1))) * self.h)

    def variations(self, path: Path) -> Any:
        """D_j Ld of all windows, shape (windows, r + 1, dim)."""
        equations, unknowns = self.at(path)
        nodes, n, windows = self.system.order + 1, self.system.space.dim, equations.families[0]
        traced = self.module(path) is jnp
        rows = windows.traced_rows(unknowns) if traced else windows.values(unknowns).rows
        return rows[:, : nodes * n].reshape(-1, nodes, n)


def increments(space: Any, q: Configuration) -> np.ndarray:
    """Those between nodes that follow each other, shape (nodes - 1, dim)."""
    before, after = (
        jax.tree.map(lambda a, s=s: np.asarray(a)[s], q) for s in (slice(None, -1), slice(1, None))
    )
    return local_all(space, before, after)
