"""A step of a contact system: its two ends are (q, z) on Q x R.

    z1 = z0 + Ld(q0, q1, z0, z1),        Ld = h sum_i w_i L(t_i, q_i, v_i, z_i)

Its differential (1 - D4 Ld) dz1 = (1 + D3 Ld) dz0 + D1 Ld dq0 + D2 Ld dq1 says by which momenta

    p0 = -D1 Ld / (1 + D3 Ld),        p1 = D2 Ld / (1 - D4 Ld)

the step keeps the contact form up to a factor, dz1 - p1 dq1 = sigma (dz0 - p0 dq0) with sigma = (1
+ D3 Ld) / (1 - D4 Ld); equal momenta of neighbouring steps are the discrete Herglotz equations
(Vermeeren, Bravetti and Seri 2019). Forces are added to D1 Ld and D2 Ld by the pullback.
"""  # fmt: skip

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.discretise.base import Variation, discretise
from accion.discretise.extended import SampledOnWhole
from accion.systems import ContactSystem
from accion.types import Array, Configuration, Scalar, Vector


@dataclass(frozen=True)
class ContactStep(SampledOnWhole):
    """What a method makes of a contact system."""

    system: ContactSystem
    method: Any

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        """Minus the momentum before the step, and that after it."""
        n = self.system.space.dim
        minus, plus = self.whole_variation(t, h, z, x)
        return Variation(minus[:n] / (1 + minus[n]), jnp.zeros(0), plus[:n] / (1 - plus[n]))

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        """(z1 - z0 - Ld) / h, an energy, shape (1,)."""
        n = self.system.space.dim
        return (x[n:] - self.action(t, h, z, x)) / h

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        return 0.0

    def factors(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Array:
        """1 + D3 Ld and 1 - D4 Ld, whose quotient is sigma: both are positive in a step that is
        not too long for dL/dz.
        """
        n = self.system.space.dim
        minus, plus = self.whole_variation(t, h, z, x)
        return jnp.stack([1 + minus[n], 1 - plus[n]])

    def size_beside(self, h: Scalar, Ld: Scalar, slopes: Array) -> Array:
        """The action of the step itself."""
        return Ld / (jnp.abs(h) * slopes)


@discretise.register
def _(system: ContactSystem, method: Any) -> ContactStep:
    return ContactStep(system, method)
