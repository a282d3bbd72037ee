"""Between the nodes of a motion of order r and the derivatives and momenta at an instant."""

from dataclasses import dataclass
from functools import lru_cache, partial
from math import comb, factorial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.window import combine, derivatives, summation
from accion.instant.ostrogradsky import HighestDerivative, carried_back
from accion.numerics import newton
from accion.spaces import Space
from accion.types import Array, Configuration, Covector, Scalar


@lru_cache(maxsize=64)
def monomials(rows: Any, columns: Any) -> Any:
    """A with d_l = sum_s A[l, s] h^(s+1) q^(s+1): the differences of increments from the
    derivatives at the first node, by Taylor's series.
    """
    A = np.zeros((rows, columns))
    for s in range(columns):
        x = np.diff(np.arange(rows + 1.0) ** (s + 1)) / factorial(s + 1)
        for l in range(rows):
            A[l, s] = np.diff(x, l)[0] if l <= s else 0.0
    return A


def spread(space: Space, jets: Array, h: Scalar, delta: Any) -> Any:
    """Displacements of the r nodes at (j - (r-1)/2) h from an instant where q, v, a, ... change by
    the rows of `delta`, shape (r, dim).

    A displacement eta(t) of the body changes its velocity by eta' + [v, eta]; on flat spaces this
    is Taylor's series.
    """
    r = len(delta)
    eta = [delta[0]]
    for s in range(r - 1):
        eta.append(
            delta[s + 1] - sum(comb(s, i) * space.ad(jets[i], eta[s - i]) for i in range(s + 1))
        )
    times = [(j - (r - 1) / 2) * h for j in range(r)]
    return jnp.stack([sum(tau**s / factorial(s) * eta[s] for s in range(r)) for tau in times])


def to_nodes(space: Space, jets: Array, h: Scalar, p: Covector) -> Any:
    """P_1, ..., P_r with sum_j P_j.eta_j = sum_s p_s.delta_s: momenta of the nodes from those of
    Jacobi and Ostrogradsky at the middle of them.
    """
    M = jax.jacfwd(partial(spread, space, jets, h))(jnp.zeros_like(p)).reshape(p.size, p.size)
    return newton.solve(M.T, p.ravel()).reshape(p.shape)


def from_nodes(space: Space, jets: Array, h: Scalar, P: Any) -> Any:
    """Its inverse."""
    return jax.vjp(partial(spread, space, jets, h), jnp.zeros_like(P))[1](P)[0]


class Nodal(NamedTuple):
    """What the discrete motion itself has at each row of a trajectory: r nodes and their momenta.

    They begin at the row; near the end of a two-point problem they are the last r.
    """

    P: Any  # their momenta, the components of Theta^+, shape (rows, r, dim)
    d: Any  # differences of the increments between them, shape (rows, r - 1, dim)
    ahead: Any  # how many steps the row is after the first of them, shape (rows,)


@dataclass(frozen=True)
class ThetaPlus:
    """Theta^+(X) = sum_j P_j.X(q_j) over the r nodes of a row: what the discrete motion keeps
    exactly where X is a symmetry (Vakonomic thesis, section 8.4).
    """

    X: Any

    def __call__(self, system: Any, t: Scalar, first: Configuration, P: Any, d: Any) -> Any:
        nodes = [first]
        for x in combine(summation(system.order - 1), d) if system.order > 1 else ():
            nodes.append(system.space.retract(nodes[-1], x))
        return sum(jnp.sum(p * self.X(q)) for p, q in zip(P, nodes, strict=True))


@dataclass(frozen=True)
class MomentumMap:
    """Theta^+(X) of the nodes of a row, at the row itself.

    It belongs to the middle of the nodes. From there to the row, tau earlier, it goes by its own
    rate, which for a symmetry is zero: so for every field the value is that of the row to second
    order in h.
    """

    X: Any

    def __call__(
        self,
        system: Any,
        t: Scalar,
        q: Configuration,
        first: Any,
        jets: Array,
        lam: Any,
        P: Any,
        d: Any,
        ahead: Any,
        h: Scalar,
    ) -> Any:
        theta, middle = ThetaPlus(self.X)(system, t, first, P, d), (system.order - 1) / 2
        return theta - (middle - ahead) * h * system.momentum_map_rate(self.X, t, q, jets, lam)


def at_node(
    system: Any, t: Scalar, q: Configuration, P: Any, d: Any, top: Any, h: Scalar, ahead: Any
) -> Any:
    """(p, jets, lam) at a node: the momenta of Jacobi and Ostrogradsky, (q', ..., q^(r)) and the
    multipliers, all to second order in h.

    From r nodes with their momenta `P`, differences of increments `d` and a guess `top` of the next
    one; the node is `ahead` steps after the first of them. In the middle of the nodes derivatives
    up to q^(r-1) are those of the polynomial through them; from there to the node they go by
    Taylor's series and momenta by their equations of motion; q^(r) and lam are by the inverse
    Legendre transform, p_{r-1} = d(L + lam.Phi)/dq^(r) and Phi = 0.
    """
    r, n = system.order, system.space.dim
    tau = ((r - 1) / 2 - ahead) * h
    jets = derivatives(d, (r - 1) / 2, h) if r > 1 else d
    p = from_nodes(system.space, jets, h, P)
    guess = jnp.concatenate([top / h**r, jnp.zeros(system.multipliers)])
    equations, args = HighestDerivative(system.multipliers), (system, t, q, p, jets, tau)
    found, _, converged = newton.root(equations, guess, args)
    found = jnp.where(converged, found, jnp.nan)
    full, p = carried_back(system, t, q, p, jets, tau, found)
    return p, full, found[n:]
