"""The geometry of time-dependent systems in numbers: the cosymplectic structure (dt, Omega_H) on
(t, q, p), the Liouville field and the vertical endomorphism on (t, q, v), and the discrete flow on
(t, q, mu, p), which is symplectic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.analysis.inputs import check_free
from accion.analysis.modified import modified_hamiltonian
from accion.analysis.phase import structure_constants
from accion.arguments import door, number
from accion.checks import check_kind, check_mechanical, check_method, refuse
from accion.methods import Method
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, System
from accion.types import Array, Configuration, Covector, Scalar, Vector


@dataclass(frozen=True)
class CosymplecticStructure:
    """The objects of a time-dependent system (Colombo-Gamonal, sections 2 and 4), in displacements
    of q, on a group those of the body. Arrays on (t, q, p) and on (t, q, v) have 2 dim + 1 entries
    along each axis, those of time first.

    `hamiltonian(t, q, p)` is H, and `field(t, q, p)` gives (q', p') of Hamilton's equations; where
    a method was given both are the modified ones, whose motion goes through the steps.
    """

    system: System
    hamiltonian: Callable[..., Scalar]
    field: Callable[..., tuple[Vector, Covector]]

    def eta(self, t: Scalar, q: Configuration, p: Covector) -> Array:
        """The one-form dt on (t, q, p)."""
        return jnp.zeros(2 * self.system.space.dim + 1).at[0].set(1.0)

    def poincare_cartan(self, t: Scalar, q: Configuration, p: Covector) -> Array:
        """The one-form p dq - H dt on (t, q, p)."""
        H = jnp.reshape(self.hamiltonian(t, q, p), (1,))
        return jnp.concatenate([-H, jnp.asarray(p), jnp.zeros(len(p))])

    def Omega_H(self, t: Scalar, q: Configuration, p: Covector) -> Array:
        """The matrix of the two-form -d(p dq - H dt) = dq ^ dp + dH ^ dt on (t, q, p); on a group
        with p.[e_i, e_j] on displacements in addition.
        """
        space, n = self.system.space, self.system.space.dim
        t, p = jnp.asarray(number(t, "t")), jnp.asarray(p)
        zero = jnp.zeros(n)
        dH = jax.grad(lambda e, p: self.hamiltonian(t, space.displace(q, e), p), (0, 1))(zero, p)
        dH = jnp.concatenate(dH)
        brackets = jnp.asarray(structure_constants(space)) @ p
        one = jnp.eye(n)
        J = jnp.block([[brackets, one], [-one, jnp.zeros((n, n))]])
        corner = jnp.zeros((1, 1))
        return jnp.block([[corner, -dH[None]], [dH[:, None], J]])

    def E_H(self, t: Scalar, q: Configuration, p: Covector) -> Array:
        """The evolution field (1, q', p') on (t, q, p), from the equations of motion: with it
        i_E Omega_H = 0 and i_E eta = 1 (eq 22; of a method, to the order of H, eq 34).
        """
        return jnp.concatenate([jnp.ones(1), *self.field(t, q, jnp.asarray(p))])

    def energy(self, t: Scalar, q: Configuration, v: Vector) -> Scalar:
        """E_L = Delta L - L, which is p.v - L."""
        return self.system.energy(t, q, v)

    def liouville(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        """The Liouville field Delta = v d/dv on (t, q, v)."""
        return jnp.concatenate([jnp.zeros(1 + len(v)), jnp.asarray(v)])

    def vertical_endomorphism(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        """The matrix of S on (t, q, v): a change of q becomes the same change of v, S(d/dq) =
        d/dv.
        """
        n = self.system.space.dim
        return jnp.zeros((2 * n + 1, 2 * n + 1)).at[n + 1 :, 1 : n + 1].set(jnp.eye(n))


@door()
def cosymplectic(
    system: System, method: Method | None = None, *, h: float | None = None, order: int = 4
) -> CosymplecticStructure:
    """The cosymplectic structure of a system, or with `method` and `h` that of its modified
    Hamiltonian, truncated with an error O(h^order).

    Arguments:
        system: without forces and constraints, on any space.
        method, h: whose modified Hamiltonian, and for which step; both or none.
        order: that of its truncation, an even number.

    Reference: Colombo-Gamonal, sections 2, 4 (eq 22 to 24) and 5 (eq 34).
    """
    check_mechanical(system, "cosymplectic")
    check_free(system, "cosymplectic", "their motion is not that of a Hamiltonian on (t, q, p)")
    if system.enters_action:
        refuse("cosymplectic", "vakonomic systems", "their multipliers are no function of (t, q)")
    if (method is None) != (h is None):
        raise ValueError("give both `method` and `h`, for the modified Hamiltonian, or none.")
    system.check()
    space, zero = system.space, jnp.zeros(system.space.dim)
    if method is not None:
        bar, step = modified_hamiltonian(system, method, order), number(h, "h")
        return CosymplecticStructure(
            system, lambda t, q, p: bar(t, step, q, p), lambda t, q, p: bar.field(t, step, q, p)
        )

    def hamiltonian(t: Scalar, q: Configuration, p: Covector) -> Scalar:
        v = system.velocity(t, q, p, zero)
        return p @ v - system.L(t, q, v)

    def field(t: Scalar, q: Configuration, p: Covector) -> tuple[Vector, Covector]:
        v = system.velocity(t, q, p, zero)
        slope = jax.grad(lambda e: system.L(t, space.displace(q, e), v))(zero)
        return v, slope + space.coad(v, p)

    return CosymplecticStructure(system, hamiltonian, field)


class Extended(NamedTuple):
    """A point of the extended phase space after a step, and the multiplier of t_(k+1) = t_k + h."""

    t: Scalar
    q: Configuration
    mu: Scalar
    p: Covector
    lam: Scalar


@door()
def extended_flow(system: AbstractSystem, method: Method | None = None) -> Callable[..., Extended]:
    """The discrete flow on (t, q, mu, p), symplectic there whatever L does with time: a function
    (t, h, q, mu, p) -> `Extended`.

        p_k = -D1 Ld,    mu_k     = -dLd/dt_k + lam_k,
        p_k+1 = D2 Ld,   mu_(k+1) = dLd/dt_(k+1) + lam_k,    t_(k+1) = t_k + h

    with Ld as a function of both times. So mu changes by the derivative of Ld by time at a fixed
    step, and lam = mu_k + dLd/dt + E_d with the discrete energy E_d = -dLd/dh.

    Arguments:
        system: of order one without entropies, forces and constraints.
        method: one with one discrete Lagrangian for a step; None for a system that is given in
            discrete time.

    Reference: Colombo-Gamonal, section 5, the equations above (32).
    """
    check_kind(system)
    if system.beside or system.order > 1:
        refuse("extended_flow", system.kind, "their states are not (q, p)")
    check_free(system, "extended_flow", "their discrete flow is not symplectic")
    if system.enters_action:
        refuse("extended_flow", "vakonomic systems", "their states have multipliers")
    check_method(system, method)
    if method is not None and method.composed is not None:
        refuse(
            "extended_flow", f"{method}", "a composed step has no Ld of its two ends in a formula"
        )
    d = discrete(system, method)

    def flow(
        t: Scalar, h: Scalar, q: Configuration, mu: Scalar, p: Covector, guess: Any = None
    ) -> Extended:
        t, h, p = jnp.asarray(t, float), jnp.asarray(h, float), jnp.asarray(p, float)
        q1, p1 = d.hamiltonian_flow(t, h, q, p, guess)
        by_t, by_h = jax.grad(lambda t, h: d.Ld(t, h, q, q1), (0, 1))(t, h)
        return Extended(t + h, q1, mu + by_t, p1, mu + by_t - by_h)

    return flow
