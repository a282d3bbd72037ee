"""The pullback for Lagrangians of any order: a window of r + 1 configurations instead of the two
ends of a step (Vakonomic thesis, section 8.3).

A window is given by its first configuration and by the forward differences (x_1, x_2 - x_1, x_3 - 2
x_2 + x_1, ...) of its r increments: derivatives up to the highest keep all their digits that way.
The velocity along it is the polynomial of degree r - 1 whose mean over step i is x_i/h; the others
are its derivatives. A method samples the middle interval of the window, at c = (r - 1)/2 + c_i
steps after its first node; for r = 1 this is the pullback of a step. Derivatives D_j are by
displacements e_0, ..., e_r of the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import comb, floor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.base import Blocks, Discretisation, Variation, discretise
from accion.methods import Method, Sample
from accion.numerics import newton
from accion.spaces import Space
from accion.systems import HigherOrderSystem
from accion.types import Configuration, Scalar, Vector


@lru_cache(maxsize=256)
def weights(count: int, c: Any) -> Any:
    """W with h^(s+1) v^(s)(c) = sum_i W[s, i] d_i, shape (count, count): derivatives of the
    velocity at c from the differences of `count` increments.

    The position is sum_i binomial(c, i + 1) d_i. W is upper triangular: a derivative takes no
    difference lower than its own.
    """
    W = np.zeros((count, count))
    for i in range(count):
        p = np.poly1d([1.0])
        for j in range(i + 1):
            p = p * np.poly1d([1.0, -j]) / (j + 1)
        for s in range(i + 1):
            W[s, i] = p.deriv(s + 1)(c)
    return W


@lru_cache(maxsize=64)
def summation(count: int) -> Any:
    """S with x = S d, from forward differences to increments, shape (count, count)."""
    return np.array([[float(comb(i, j)) for j in range(count)] for i in range(count)])


@lru_cache(maxsize=64)
def differencing(count: int) -> Any:
    """Its inverse, d = D x."""
    return np.array(
        [
            [(-1.0) ** (i - j) * comb(i, j) if j <= i else 0.0 for j in range(count)]
            for i in range(count)
        ]
    )


def combine(weights: Any, rows: Any) -> Any:
    """The products of a small matrix of numbers with `rows`, without terms that are zero."""
    return jnp.stack(
        [
            sum(w * row for w, row in zip(line, rows, strict=True) if w != 0)
            + jnp.zeros_like(rows[0])
            for line in weights
        ]
    )


def differences(space: Space, nodes: Sequence[Configuration]) -> Any:
    """The forward differences of the increments between configurations, shape (len(nodes) - 1,
    dim).
    """
    x = jnp.stack([space.local(a, b) for a, b in pairwise(nodes)])
    return combine(differencing(len(x)), x)


def derivatives(d: Any, c: Any, h: Scalar) -> Any:
    """v, a, ...

    at c steps after the first node, from the differences `d` of increments, shape like d.
    """
    count = len(d)
    scale = jnp.stack([1 / h ** (s + 1) for s in range(count)])
    return combine(weights(count, float(c)), d) * scale[:, None]


def configuration(space: Space, q: Configuration, x: Vector, y: Any, e: Any, c: Any) -> Any:
    """The configuration at c steps after the node q, where increments `x` follow; with the nodes
    displaced by `e` these are `y`.
    """
    j = min(floor(c), len(x))
    for i in range(j):
        q = space.retract(q, x[i])
    q = q if e is None else space.displace(q, e[j])
    return q if c == j else space.retract(q, (c - j) * y[j])


def samples(
    space: Space, method: Any, t: Scalar, h: Scalar, q: Configuration, d: Any, e: Any = None
) -> list[Sample]:
    """The samples (w_i, t_i, q_i, (v_i, a_i, ...)) of the window from `q` with differences `d`,
    shape (r, dim).

    Its nodes are displaced by `e`, shape (r + 1, dim), where given.
    """
    r = len(d)
    x = y = combine(summation(r), d)
    if e is not None:
        y = jnp.stack([space.relative(x[i], e[i], e[i + 1]) for i in range(r)])
        # In the value y = x, and nothing is lost: the differences are as accurate as they were.
        d = d + combine(differencing(r), y - x)
    found = []
    for w, c in method.nodes:
        c = (r - 1) / 2 + c
        found.append(
            Sample(w, t + c * h, configuration(space, q, x, y, e, c), derivatives(d, c, h))
        )
    return found


def nodes_of(space: Space, q: Configuration, d: Any) -> Any:
    """The configurations of a window from its first one and the differences of its increments."""
    nodes = [q]
    for x in combine(summation(len(d)), d):
        nodes.append(space.retract(nodes[-1], x))
    return nodes


def window_sizes(Ld: Any, d: Any, J: Any, P: Any = None) -> Any:
    """The size of the highest difference that matters: sqrt(|Ld| / |J|), which is h^r q^(r), or
    that of the momenta `P` of the first configuration; and that of an increment.
    """
    stiffness = jnp.diagonal(J)[: d.shape[1]]
    own = jnp.sqrt(newton.own_size(jnp.abs(Ld), stiffness))
    if P is not None:
        own = own + newton.own_size(jnp.abs(P), stiffness)
    return own, jnp.abs(d[0])


@dataclass(frozen=True)
class Window(Discretisation):
    """A window of a `HigherOrderSystem`."""

    system: HigherOrderSystem
    method: Method

    @property
    def blocks(self) -> Blocks:
        return Blocks(x=self.system.space.dim, lam=self.system.multipliers)

    def samples(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any = None
    ) -> list[Sample]:
        """Where the window looks at the system."""
        return samples(self.system.space, self.method, t, h, z, x, e)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        """Ld with the configurations displaced by `e`, shape (r + 1, dim)."""
        return h * sum(s.w * self.system.L(s.t, s.q, s.v, lam) for s in self.samples(t, h, z, x, e))

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        return self.displaced_action(t, h, z, x, None, lam)

    def between(self, nodes: Sequence[Configuration]) -> Any:
        return nodes[0], differences(self.system.space, nodes)

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        G = self.derivatives(t, h, z, x, lam)
        if self.system.force is not None:
            G = G + self.forces(t, h, z, x)
        return Variation(G[0], jnp.zeros(0), G[1:])

    def forces(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        """The discrete forces at the configurations of the window, shape (r + 1, dim): the virtual
        work h sum_i w_i F(t_i, q_i, v_i, a_i, ...).dq_i of the samples, the same pullback as that
        of the action.
        """
        space, here = self.system.space, self.samples(t, h, z, x)
        pushes = [s.w * self.system.F(s.t, s.q, s.v) for s in here]

        def work(e: Any) -> Any:
            moved = self.samples(t, h, z, x, e)
            pairs = zip(pushes, here, moved, strict=True)
            return h * sum(F @ space.displacement(s.q, m.q) for F, s, m in pairs)

        return jax.grad(work)(jnp.zeros((len(x) + 1, space.dim)))

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        """The discrete constraint sum_i w_i Phi(t_i, q_i, v_i, a_i, ...), shape (m,)."""
        return sum(s.w * self.system.Phi(s.t, s.q, s.v) for s in self.samples(t, h, z, x))

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        return 0.0

    def inner_reaction(
        self, t: Scalar, h: Scalar, z: Configuration, x: Any, inner: Any, lam: Any
    ) -> Any:
        return 0.0

    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, J: Any, inner: Any = None
    ) -> Any:
        return window_sizes(self.action(t, h, z, x), x, J)

    def from_increments(self, x: Vector) -> Any:
        return combine(differencing(len(x)), x)


@discretise.register
def _(system: HigherOrderSystem, method: Any) -> Window:
    if method.on_levels:
        raise ValueError(
            f"{type(method).__name__} has no windows of r + 1 configurations, which this asks for:"
            f" it steps {system.kind} from (q, ..., q^(r-1)) to the next; try Midpoint(), or"
            " first_order(system)."
        )
    return Window(system, method)
