"""The inverse Legendre transform: the equations dL/dv = p, as Newton's method sees them."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.numerics import newton
from accion.types import Configuration, Covector, Scalar, Vector


@dataclass(frozen=True)
class InverseLegendre(newton.Equations):
    """dL/dv(t, q, v) - p = 0, unknown is v; the arguments are (system, t, q, p, lam)."""

    multipliers: int = 0

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, q, p, lam = args
        return system.legendre(t, q, unknowns, lam) - p

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        """The size of a velocity that matters: that of the momenta, which may cancel, over the
        inertia.
        """
        system, t, q, p, lam = args
        n = len(p)
        terms = jnp.abs(p) + jnp.abs(system.legendre(t, q, jnp.zeros(n), lam))
        return newton.own_size(terms, jnp.diagonal(J)[:n]), jnp.zeros(n)


def velocity(
    system: Any, t: Scalar, q: Configuration, p: Covector, guess: Any, lam: Any = None
) -> Vector:
    """v with dL/dv(t, q, v) = p, from a guess. NaN where none was found."""
    v, _, converged = newton.root(InverseLegendre(), guess, (system, t, q, p, lam))
    return jnp.where(converged, v, jnp.nan)
