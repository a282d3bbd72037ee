"""The presymplectic system of vakonomic mechanics, in numbers (Vakonomic thesis, section 4.2)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.analysis.at_point import asked_at_point, at_point
from accion.analysis.connection import looked_at, split_of
from accion.arguments import door
from accion.checks import check_mechanical, refuse
from accion.instant.constrained import bordered, first_velocity
from accion.instant.split import Split
from accion.numerics import newton
from accion.stepping.views_vakonomic import two_form
from accion.systems import System
from accion.systems.rank import relative_rank
from accion.types import Array, Configuration, Covector, Multipliers, Scalar, Vector


@dataclass(frozen=True)
class Presymplectic:
    """What a vakonomic system has on W0 = T*Q x M, where M is the constraints in TQ, with points
    (t, q, v, p), Phi(t, q, v) = 0, and on W1, where the momenta satisfy the primary constraints,
    with points (t, q, p) where it is symplectic. Motions are i_X Omega = dH.

    Coordinates of W0 are (q, p, v_r), v_r the independent velocities; those of W1 (q, v_r, p_s). On
    a group q stands for displacements of the body and forms have the bracket's term. In letters it
    is `symbolic(system).presymplectic()`.
    """

    system: System
    split: Split

    @property
    def dependent(self) -> tuple[str, ...]:
        """The names of the dependent velocities."""
        return tuple(self.system.names[i] for i in self.split.dependent)

    @at_point
    def allowed(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        """The changes of the velocity that the constraints allow, as columns: shape (dim, dim -
        m).
        """
        n = self.system.space.dim
        if self.system.constraint is None:
            return jnp.eye(n)
        slopes, k = self.split.slopes(self.system, t, q, v), len(self.split.independent)
        return jax.vmap(self.split.joined, 1, 1)(slopes, jnp.eye(k))

    @at_point
    def multipliers(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> Multipliers:
        """lam with p_s = d(L + lam.Phi)/dv_s, shape (m,)."""
        system = self.system
        if system.constraint is None:
            return jnp.zeros(0)
        C, _ = self.split.parts(system.constraint.matrix(system, t, q, v, system.multipliers))
        left = jnp.asarray(p) - system.legendre(t, q, v)
        return newton.solve(C.T, left[jnp.asarray(self.split.dependent, int)])

    @at_point
    def H_W0(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> Scalar:
        """p.v - L at a point of W0."""
        return jnp.asarray(p) @ v - self.system.L(t, q, v)

    @at_point
    def primary(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> Array:
        """phi_a = p_a + p_s dPsi_s/dv_a - dL~/dv_a, zero on W1: shape (dim - m,) (Vakonomic thesis,
        eq 4.6).
        """
        return (jnp.asarray(p) - self.system.legendre(t, q, v)) @ self.allowed(t, q, v)

    @at_point
    def momenta(self, t: Scalar, q: Configuration, v: Vector, p_s: Covector) -> Covector:
        """All momenta of the point of W1 with coordinates (q, v_r, p_s), shape (dim,)."""
        s, r = (jnp.asarray(i, int) for i in (self.split.dependent, self.split.independent))
        X, own = self.allowed(t, q, v), self.system.legendre(t, q, v)
        held = jnp.asarray(p_s) - own[s]
        return self.split.joined(p_s, own[r] - held @ X[s])

    @at_point
    def regularity(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> Array:
        """C_ab = d2L~/dv_a dv_b - p_s d2Psi_s/dv_a dv_b, shape (dim - m, dim - m): W1 is symplectic
        where it is regular (Vakonomic thesis, Prop 4.2.3, eq 4.13).
        """
        lam = self.multipliers(t, q, v, p) if self.system.constraint is not None else None
        X = self.allowed(t, q, v)
        return X.T @ jax.hessian(self.system.L, 2)(t, q, v, lam) @ X

    @asked_at_point
    def symplectic(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> bool:
        """Whether W1 is symplectic at a point: the rank of d2(L + lam.Phi)/dv2 bordered by dPhi/dv,
        each coordinate measured by its inertia (Vakonomic thesis, eq 4.11).
        """
        lam = self.multipliers(t, q, v, p) if self.system.constraint is not None else None
        K = bordered(self.system, t, q, v, lam)
        return relative_rank(K, self.system.space.dim)[0] == len(K)

    @at_point
    def Omega_W0(self, t: Scalar, q: Configuration, v: Vector, p: Covector) -> Array:
        """dq ^ dp on changes of (q, p, v_r), shape (3 dim - m, 3 dim - m); those of v_r are its
        kernel.
        """
        n, k = self.system.space.dim, len(self.split.independent)

        def theta(nodes: Any, y: Array) -> Array:
            return (jnp.asarray(p) + y[:n])[None]

        return two_form(self.system.space, theta, [q], jnp.zeros(n + k))

    @at_point
    def Omega_W1(self, t: Scalar, q: Configuration, v: Vector, p_s: Covector) -> Array:
        """The form on changes of the coordinates (q, v_r, p_s) of W1, shape (2 dim, 2 dim)."""
        k, r = len(self.split.independent), jnp.asarray(self.split.independent, int)
        v = jnp.asarray(v)

        def theta(nodes: Any, y: Array) -> Array:
            s = v[jnp.asarray(self.split.dependent, int)]
            if self.system.constraint is not None:
                s = self.split.Psi(self.system, t, nodes[0], y[:k], s)
            own = self.split.joined(s, y[:k])
            return self.momenta(t, nodes[0], own, y[k:])[None]

        y = jnp.concatenate([v[r], jnp.asarray(p_s)])
        return two_form(self.system.space, theta, [q], y)

    @at_point
    def state(self, t: Scalar, q: Configuration, p: Covector) -> tuple[Vector, Any]:
        """(v, lam) of a point of W1, from p = d(L + lam.Phi)/dv and Phi = 0; NaN where they do not
        follow.
        """
        return first_velocity(self.system, t, q, jnp.asarray(p))

    @at_point
    def hamiltonian(self, t: Scalar, q: Configuration, p: Covector) -> Scalar:
        """H_W1(t, q, p) = p.v - L with the velocity of `state` (Vakonomic thesis, Obs 4.2.4 and Thm
        6.2.1).
        """
        v, _ = self.state(t, q, p)
        return jnp.asarray(p) @ v - self.system.L(t, q, v)

    @at_point
    def field(self, t: Scalar, q: Configuration, p: Covector) -> tuple[Vector, Covector]:
        """The Hamiltonian field on W1: (q', p') = (dH/dp, -dH/dq + F), on a group with ad*_v p in
        addition; q' is the velocity.
        """
        system, space, p = self.system, self.system.space, jnp.asarray(p)
        v, lam = self.state(t, q, p)
        slope = jax.grad(lambda e: system.L(t, space.displace(q, e), v, lam))(jnp.zeros(space.dim))
        return v, slope + space.coad(v, p) + system.F(t, q, v)


@door()
def presymplectic(system: System, dependent: Any = None) -> Presymplectic:
    """The forms, Hamiltonians and primary constraints of a vakonomic system on W0 and W1; without
    constraints those of its Lagrangian on T*Q + TQ (Skinner and Rusk).

    Arguments:
        system: vakonomic or without constraints, on any space.
        dependent: the velocities that the constraints determine, by name or number; by default
            those that they determine best.

    Reference: Vakonomic thesis, section 4.2 and Thm 6.2.1.
    """
    check_mechanical(system, "presymplectic")
    if system.constraint is None:
        return Presymplectic(system, Split((), tuple(range(system.space.dim))))
    if not system.enters_action:
        why = "constraints that act by forces make no presymplectic system"
        refuse("presymplectic", "holonomic and nonholonomic systems", why)
    system.check()
    return Presymplectic(system, split_of(system, looked_at(system, 8, 0), dependent))
