"""A contact system at one instant: its rates."""

from typing import Any

import jax.numpy as jnp

from accion.engines.auto import small_jit
from accion.instant.constrained import inertia_and_force
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import check_inertia
from accion.numerics import newton
from accion.systems import ContactSystem, Start
from accion.types import Configuration, Scalar, Vector


def contact_rates(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """(a, z') of a contact system: z' = L, and a from d/dt dL/dv - dL/dq = dL/dz dL/dv + F with z
    moving.
    """
    n, L = system.space.dim, system.L(t, z, v)
    H, force = inertia_and_force(system.whole, t, z, jnp.append(v, L))
    push = system.growth(t, z, v) * system.legendre(t, z, v)
    return newton.solve(H[:n, :n], force[:n] + push), L


solved = small_jit(contact_rates)
hessian_at = small_jit(lambda system, t, z, v: system.hessian(t, z, v))


class ContactEquations(ContinuousEquations):
    """d/dt dL/dv - dL/dq = dL/dz dL/dv + F with z' = L."""

    def accelerations(self, system: Any) -> Any:
        def function(t: Scalar, q: Configuration, v: Vector, z: Any) -> Any:
            system.check()
            given = ("q0", q, "q"), ("v0", v, "v"), ("z0", z, "z")
            q, v, z = (system.check_part(*part) for part in given)
            return solved(system, jnp.asarray(t, dtype=float), system.point(q, z), v)

        return function

    def check_start(self, system: Any, t: Scalar, z: Configuration, start: Start) -> Any:
        check_inertia(system, hessian_at(system, t, z, start.v0))

    def rates(self, system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
        q, v, lam = unflat(y, z, system.space.dim)
        a, L = contact_rates(system, t, q, v)
        change = flat(system.step_space.tangent(q, jnp.append(v, L)), a, lam)
        # As NaN a step control does not see an error, where a trial step leads out of the domain.
        return jnp.where(jnp.isfinite(change), change, OUTSIDE)

    def inertia(self, system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
        return system.hessian(t, z, v)

    def is_projected(self, system: Any) -> Any:
        return False

    def obstacle(self, system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
        return ""

    def result(self, system: Any, q: Configuration, v: Vector, lam: Any, S: Any) -> Any:
        return q, v, S


@continuous.register
def _(system: ContactSystem) -> ContinuousEquations:
    return ContactEquations()
