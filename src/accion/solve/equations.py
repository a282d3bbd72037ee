"""The equations of a two-point problem: what each window, each node and each end adds to them.

A window is a step, or for a system of order r any r + 1 configurations that follow each other. As
in the method of finite elements, each window adds its derivatives D_j Ld to the equations of its
nodes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.banded import Correction
from accion.assembly.charts import local_all, retract_all
from accion.assembly.elements import Family
from accion.assembly.equations import Equations
from accion.discretise import discretise
from accion.discretise.window import combine, derivatives, differencing
from accion.methods import Method
from accion.types import Array, Configuration


class Path(NamedTuple):
    """The unknowns: configurations at all nodes, and the multipliers of nodes (holonomic) or
    windows (vakonomic).

    The increments between nodes are kept besides, as in a step: from the configurations they would
    lose the digits that q has in front of them.
    """

    q: Configuration
    x: np.ndarray
    lam: np.ndarray


class Ends(NamedTuple):
    """What is given: configurations at the first and the last nodes, stacked; or one at each end
    with derivatives there, shape (r - 1, dim).
    """

    qa: Configuration
    qb: Configuration
    va: Any
    vb: Any


# ---------------------------------------------------------------- elements

# Unknowns are the displacements e of nodes, which are zero and serve to differentiate, and
# multipliers.


def displaced(space: Any, x: Array, e: Array) -> Array:
    """Increments after their nodes are displaced by `e`, to first order."""
    return jnp.stack([space.relative(x[i], e[i], e[i + 1]) for i in range(len(x))])


@dataclass(frozen=True)
class Window:
    """What a window adds to the balance at each of its nodes; and its constraint."""

    method: Method | None

    def __call__(self, args: Any, data: Any, unknowns: Array) -> tuple[Array, Array]:
        (system, h), (t, q, x) = args, data
        space, nodes = system.space, len(x) + 1
        e = unknowns[: nodes * space.dim].reshape(nodes, space.dim)
        lam = unknowns[nodes * space.dim :]
        form = discretise(system, self.method)
        G, closed = form.window(t, h, space.displace(q, e[0]), displaced(space, x, e), lam)
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
    lam: np.ndarray  # multipliers of windows or of nodes, (count, m)
    fixed: np.ndarray  # which unknowns are
    balance: np.ndarray  # equations of nodes, (steps + 1, dim)
    closed: np.ndarray  # constraints of windows or of nodes, (count, m)


@dataclass(frozen=True)
class TwoPoint:
    """A two-point problem on `steps` equal steps."""

    system: Any
    method: Method | None
    t0: float
    h: float
    steps: int
    ends: Ends

    @property
    def windows(self) -> int:
        """How many there are."""
        return self.steps + 1 - self.system.order

    @property
    def multiplied(self) -> int:
        """How many windows or nodes may have multipliers."""
        return self.windows if self.system.enters_action else self.steps + 1

    @cached_property
    def numbers(self) -> Numbers:
        """The nodes at the ends are fixed: r of them, or one where derivatives are given."""
        r, n, m, steps = (
            self.system.order,
            self.system.space.dim,
            self.system.multipliers,
            self.steps,
        )
        node = np.arange(steps + 1)
        inner = (node >= r) & (node <= steps - r)
        given = ~inner if self.ends.va is None else (node == 0) | (node == steps)
        e = np.arange((steps + 1) * n).reshape(steps + 1, n)
        lam = e.size + np.arange(self.multiplied * m).reshape(self.multiplied, m)
        multiplied = np.full(len(lam), True) if self.system.enters_action else inner
        fixed = np.concatenate([np.repeat(given, n), np.repeat(~multiplied, m)])

        def numbered(wanted: np.ndarray, width: int, first: int) -> np.ndarray:
            count = np.count_nonzero(wanted)
            found = np.full((len(wanted), width), -1)
            found[wanted] = first + np.arange(count * width).reshape(count, width)
            return found

        balance = numbered(~given, n, 0)
        return Numbers(e, lam, fixed, balance, numbered(multiplied, m, np.max(balance) + 1))

    @cached_property
    def equations(self) -> Equations:
        """The equations without numbers of a path: with them, see `at`."""
        (e, lam, fixed, balance, closed), r = self.numbers, self.system.order
        n, args = self.system.space.dim, (self.system, np.float64(self.h))
        at = np.arange(self.windows)[:, None] + np.arange(r + 1)
        # The equations of the nodes next to an end are those of the derivatives given there.
        inner = np.where(((at >= r) & (at <= self.steps - r))[..., None], balance[at], -1)
        columns, rows = e[at].reshape(len(at), -1), inner.reshape(len(at), -1)
        if self.system.enters_action:
            columns, rows = np.append(columns, lam, axis=1), np.append(rows, closed, axis=1)
        families = [Family(Window(self.method), args, None, columns, rows)]
        if self.system.holds_positions:
            columns, rows = (np.concatenate(pair, axis=1) for pair in ((e, lam), (balance, closed)))
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
        # A multiplier and its constraint come after the node that the window begins with.
        place = [
            np.repeat(np.arange(self.steps + 1.0), n),
            np.repeat(np.arange(len(lam)) + 0.5, lam.shape[1]),
        ]
        row_place = [np.nonzero(balance >= 0)[0], np.nonzero(closed >= 0)[0] + 0.5]
        return Equations(tuple(families), fixed, np.concatenate(place), np.concatenate(row_place))

    def window_data(self, path: Path) -> tuple[np.ndarray, Configuration, np.ndarray]:
        """(t, q, x): where each window begins, and its increments (windows, r, dim)."""
        count = self.windows
        q = jax.tree.map(lambda a: np.asarray(a)[:count], path.q)
        x = np.stack([path.x[i : i + count] for i in range(self.system.order)], axis=1)
        return self.times[:count], q, x

    @cached_property
    def times(self) -> np.ndarray:
        return float(self.t0) + float(self.h) * np.arange(self.steps + 1)

    def at(self, path: Path) -> tuple[Equations, np.ndarray]:
        """The equations around a path, and its unknowns."""
        t, q, x = self.window_data(path)
        data: list[Any] = [(t, q, x)]
        if self.system.holds_positions:
            data.append((self.times, path.q))
        if self.ends.va is not None:
            data += [(x[[0]], self.ends.va[None]), (x[[-1]], self.ends.vb[None])]
        unknowns = np.zeros(len(self.numbers.fixed))
        unknowns[self.numbers.lam] = path.lam
        return self.equations.with_data(data), unknowns

    def residual(self, path: Path) -> np.ndarray:
        """What is left of all equations."""
        equations, unknowns = self.at(path)
        return equations.residual(unknowns)

    def correction(self, path: Path, extent: float) -> Correction:
        """The step of Newton's method from a path, of configurations of the size `extent`."""
        equations, unknowns = self.at(path)
        return equations.correction(unknowns, extent)

    def moved(self, path: Path, dx: np.ndarray) -> Path:
        """The path after a change of the unknowns that are not fixed.

        Where increments add up they take theirs, without loss.
        """
        space, change = self.system.space, self.equations.spread(dx)
        e = change[self.numbers.e]
        q = retract_all(space, path.q, e)
        x = path.x + (e[1:] - e[:-1]) if space.flat else increments(space, q)
        return Path(q, x, path.lam + change[self.numbers.lam])

    def largest_displacement(self, dx: np.ndarray) -> float:
        """That of a node, in a change of the unknowns that are not fixed."""
        return float(np.max(np.abs(self.equations.spread(dx)[self.numbers.e])))

    def worst_time(self, path: Path) -> float:
        """When the balance of a node is off most."""
        left = np.append(np.abs(self.residual(path)), 0.0)[self.numbers.balance]
        return float(self.t0 + int(np.argmax(np.max(left, axis=1))) * self.h)

    def variations(self, path: Path) -> np.ndarray:
        """D_j Ld of all windows, shape (windows, r + 1, dim)."""
        equations, unknowns = self.at(path)
        nodes, n = self.system.order + 1, self.system.space.dim
        rows = equations.families[0].values(unknowns).rows
        return rows[:, : nodes * n].reshape(-1, nodes, n)


def increments(space: Any, q: Configuration) -> np.ndarray:
    """Those between nodes that follow each other, shape (nodes - 1, dim)."""
    before, after = (
        jax.tree.map(lambda a, s=s: np.asarray(a)[s], q) for s in (slice(None, -1), slice(1, None))
    )
    return local_all(space, before, after)
