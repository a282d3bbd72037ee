"""Between the derivatives of a motion of order r and its momenta at an instant: the Legendre
transform of Jacobi and Ostrogradsky, backwards.
"""

from dataclasses import dataclass
from math import factorial
from typing import Any

import jax.numpy as jnp

from accion.numerics import newton
from accion.types import Array, Configuration, Covector, Scalar


def advanced(jets: Array, tau: Scalar) -> Any:
    """The derivatives at a time `tau` later, by Taylor's series."""
    return jnp.stack(
        [
            sum(tau**k / factorial(k) * jets[s + k] for k in range(len(jets) - s))
            for s in range(len(jets))
        ]
    )


@dataclass(frozen=True)
class HighestDerivative(newton.Equations):
    """p_{r-1} = d(L + lam.Phi)/dq^(r) and Phi = 0 at a node; unknown are q^(r) and lam, the
    arguments (system, t, q, p, jets, tau).
    """

    multipliers: int

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, q, p, jets, tau = args
        n, r = system.space.dim, system.order
        full, moved = carried_back(system, t, q, p, jets, tau, unknowns)
        slope = system.slopes(t, q, full, unknowns[None, n:])[r]
        return jnp.concatenate([slope - moved[-1], system.Phi(t, q, full)])

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        system, _, _, p, _, _ = args
        n = system.space.dim
        at_zero = jnp.abs(self.residual(jnp.zeros_like(unknowns), args)[:n])
        own = newton.own_size(jnp.abs(p[-1]) + at_zero, jnp.diagonal(J)[:n])
        size = jnp.abs(unknowns[:n])
        return own + size, size + 1.0


def carried_back(
    system: Any, t: Scalar, q: Configuration, p: Covector, jets: Array, tau: Scalar, unknowns: Any
) -> Any:
    """(q', ..., q^(r)) and the momenta at t, from those at t + tau and q^(r), the first of the
    unknowns.
    """
    n = system.space.dim
    full = advanced(jnp.concatenate([jets, unknowns[None, :n]]), -tau)
    return full, p - tau * system.momentum_rates(t, q, full, p, unknowns[n:])


def from_momenta(
    system: Any, t: Scalar, q: Configuration, low: Array, p: Covector
) -> tuple[Array, Array]:
    """((q', ..., q^(2r-1)), (lam, ..., lam^(r-1))) of the motion with the momenta p_0, ...,
    p_{r-1}, from `low` = (q', ..., q^(r-1)); NaN where there is none.

    q^(r) and lam are found by p_{r-1} = d(L + lam.Phi)/dq^(r) and Phi = 0; then from one momentum
    after the other q^(r+k) and lam^(k), in which p_{r-1-k} and d^k Phi/dt^k are linear, with the
    matrix of regularity.
    """
    r, n, m = system.order, system.space.dim, system.multipliers
    equations, args = HighestDerivative(m), (system, t, q, p, low, 0.0)
    found, _, converged = newton.root(equations, jnp.zeros(n + m), args)
    found = jnp.where(converged, found, jnp.nan)
    jets = jnp.zeros((2 * r - 1, n)).at[: r - 1].set(low).at[r - 1].set(found[:n])
    lams = jnp.zeros((r, m)).at[0].set(found[n:])
    K = system.regularity(t, q, jets, lams[0])
    for k in range(1, r):
        # With zeros for what is looked for: what is left of the equations, which are linear in it.
        right = (-1) ** k * (p - system.momenta(t, q, jets, lams))[r - 1 - k]
        if m:
            held = system.constraint_rates(t, q, jets[: r + k], k)[-1]
            right = jnp.concatenate([right, -held])
        more = newton.solve(K, right)
        jets, lams = jets.at[r - 1 + k].set(more[:n]), lams.at[k].set(more[n:])
    return jets, lams
