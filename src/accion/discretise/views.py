"""The discrete objects of a system under a method, as functions of the ends of a step."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from accion.checks import check_kind, check_method
from accion.discretise.pullback import action, gradient, variation, work
from accion.discretise.views_higher import DiscreteHigher, given_multipliers, two_form
from accion.instant.constrained import first_velocity, matrix, node
from accion.methods import Method
from accion.stepping.thermal import discretised
from accion.stepping.variational import increments
from accion.systems import DiscreteThermalSystem, HigherOrderSystem, System, ThermalSystem


@dataclass(frozen=True)
class Discrete:
    """The discrete Lagrangian of `system` under `method`, and what follows from it; functions of
    (t, h, q0, q1).

    Derivatives are in local coordinates (on a flat space the ordinary gradient), shape (dim,). On a
    time-dependent system the step that starts at `t` has its own discrete Lagrangian; there is one
    for each step (002 section 3).
    """

    system: System
    method: Method

    def step(self, q0, q1):
        return q0, self.system.space.local(q0, q1)

    def one(self, lam):
        """The multipliers of one step of a vakonomic system, which must be given; None for
        others.
        """
        return None if self.system.vakonomic is None else given_multipliers(self.system, lam, 1)[0]

    def Ld(self, t, h, q0, q1, lam=None):
        """h sum_i w_i L(t_i, q_i, v_i); with `lam`, of L + lam.Phi, and so for D1, D2 and D12."""
        zero = jnp.zeros(self.system.space.dim)
        return action(self.system, self.method, t, h, *self.step(q0, q1), zero, zero, lam)

    def Ld_hat(self, t, h, q0, q1, q2):
        """Ld(t, h, q0, q1) + Ld(t + h, h, q1, q2), the discrete Lagrangian of second order (000
        section 3).

        Its derivative by the middle configuration is `euler_lagrange` of a system without force.
        """
        return self.Ld(t, h, q0, q1) + self.Ld(t + h, h, q1, q2)

    def Phi(self, t, h, q0, q1):
        """What is left of the discrete constraint of the step, shape (m,)."""
        system, (q0, x) = self.system, self.step(q0, q1)
        if system.constraint is None:
            return jnp.zeros(0)
        return system.constraint.closure(
            system, self.method.samples(system.space, t, h, q0, x), t + h, q1
        )

    def D1(self, t, h, q0, q1, lam=None):
        return gradient(action, self.system, self.method, t, h, *self.step(q0, q1), lam)[0]

    def D2(self, t, h, q0, q1, lam=None):
        return gradient(action, self.system, self.method, t, h, *self.step(q0, q1), lam)[1]

    def D12(self, t, h, q0, q1, lam=None):
        """The mixed derivative, D12[i, j] by the i-th coordinate of q0 and the j-th of q1, shape
        (dim, dim).
        """
        q0, x = self.step(q0, q1)
        zero = jnp.zeros_like(x)
        f = partial(action, self.system, self.method, t, h, q0, x, lam=lam)
        return jax.jacfwd(lambda e1: jax.grad(f)(zero, e1))(zero)

    def force_minus(self, t, h, q0, q1):
        """Fd^-: the work of the force on a displacement of q0."""
        return gradient(work, self.system, self.method, t, h, *self.step(q0, q1))[0]

    def force_plus(self, t, h, q0, q1):
        """Fd^+: the work of the force on a displacement of q1."""
        return gradient(work, self.system, self.method, t, h, *self.step(q0, q1))[1]

    def legendre_minus(self, t, h, q0, q1, lam=None):
        """(q0, p0) with p0 = -D1 Ld - Fd^-; a vakonomic system needs `lam`, the multipliers of the
        step.
        """
        return q0, -variation(self.system, self.method, t, h, *self.step(q0, q1), self.one(lam))[0]

    def legendre_plus(self, t, h, q0, q1, lam=None):
        """(q1, p1) with p1 = D2 Ld + Fd^+; a vakonomic system needs `lam`."""
        return q1, variation(self.system, self.method, t, h, *self.step(q0, q1), self.one(lam))[1]

    def euler_lagrange(self, t, h, q0, q1, q2, lam=None):
        """D2 Ld(q0, q1) + Fd^+(q0, q1) + D1 Ld(q1, q2) + Fd^-(q1, q2), zero on a trajectory; `t` is
        the time of q0 (001 eq 2.4).

        A vakonomic system needs `lam`, the multipliers of both steps, shape (2, m).
        """
        before, after = given_multipliers(self.system, lam, 2)
        return (
            self.legendre_plus(t, h, q0, q1, before)[1]
            - self.legendre_minus(t + h, h, q1, q2, after)[1]
        )

    def multipliers(self, t, h, q0, q1, q2):
        """lam_k at q1, from the discrete equations D2 Ld + Fd^+ + D1 Ld + Fd^- + h A^T lam = 0 (001
        Thm 2.31, 004 Thm 8.2.1).

        For a vakonomic system those of the two steps, shape (2, m), from `euler_lagrange`, which is
        linear in them; NaN where it does not determine them.
        """
        system, space = self.system, self.system.space
        if system.vakonomic is not None:
            zero = jnp.zeros((2, system.multipliers))

            def left(lam):
                return self.euler_lagrange(t, h, q0, q1, q2, lam)

            slope = jax.jacfwd(left)(zero).reshape(system.space.dim, -1)
            lam, _, rank, _ = jnp.linalg.lstsq(slope, -left(zero))
            return jnp.where(rank == zero.size, lam, jnp.nan).reshape(zero.shape)
        v = (space.local(q0, q1) + space.local(q1, q2)) / (2 * h)
        A = matrix(system, t + h, q1, v)
        return jnp.linalg.lstsq(h * A.T, -self.euler_lagrange(t, h, q0, q1, q2))[0]

    def omega(self, t, h, q0, q1, lam=None):
        """The discrete Poincare-Cartan 2-form -d(D2 Ld dq1) on pairs (q0, q1), shape (2 dim, 2
        dim), kept by `flow` where there is no force.

        For a vakonomic system on (q0, q1, lam), `lam` being the multipliers of the step, shape (2
        dim + m, 2 dim + m); see `DiscreteHigher.omega`.
        """
        lam = given_multipliers(self.system, lam, 1)

        def theta(nodes, lam):
            last = self.D2(t, h, nodes[0], nodes[1], self.one(lam))
            return jnp.stack([jnp.zeros_like(last), last])

        return two_form(self.system.space, theta, [q0, q1], lam)

    def hamiltonian_flow(self, t, h, q, p, guess=None):
        """(q, p) -> (q1, p1): one step on the cotangent bundle, NaN where it has no solution.
        `guess` is one of the increment.

        Under a constraint p1 is the momentum whose velocity satisfies it.
        """
        system = self.system
        lam = jnp.zeros(system.multipliers)
        if guess is None:
            v, found = first_velocity(system, t, q, p)
            guess, lam = h * v, lam if system.vakonomic is None else found
        x, lam = self.solved(t, h, q, p, guess, lam)
        q1, p1 = system.space.retract(q, x), variation(system, self.method, t, h, q, x, lam)[1]
        return q1, p1 if system.constraint is None else node(system, t + h, q1, p1, x / h)[1]

    def solved(self, t, h, q, p, guess, lam):
        """The increment and the multipliers of the step from (q, p), from guesses of both."""
        found, _, converged = increments(self.system, self.method)(
            t, h, q, p, guess, jnp.concatenate([guess, lam])
        )
        return jnp.split(jnp.where(converged, found, jnp.nan), [self.system.space.dim])

    def flow(self, t, h, q0, q1, lam=None) -> Any:
        """(q0, q1) -> (q1, q2): one step of the discrete Euler-Lagrange equations; `t` is the time
        of q0 (002 eq 12).

        For a vakonomic system the state has `lam` besides, the multipliers of the step; then ((q1,
        q2), multipliers of the next) is returned.
        """
        _, x = self.step(q0, q1)
        _, p = self.legendre_plus(t, h, q0, q1, lam)
        first = (
            jnp.zeros(self.system.multipliers) if self.system.vakonomic is None else self.one(lam)
        )
        x, after = self.solved(t + h, h, q1, p, x, first)
        pair = q1, self.system.space.retract(q1, x)
        return pair if self.system.vakonomic is None else (pair, after)


@dataclass(frozen=True)
class DiscreteThermal:
    """The discrete thermomechanical system (001 Def 3.12) of `system` under `method`; functions of
    (t, h, q0, q1, S0, S1).

    D1 and D2 are derivatives by the configurations, D3 and D4 by the entropies.
    """

    system: ThermalSystem | DiscreteThermalSystem
    method: Method | None

    @property
    def pieces(self):
        return discretised(self.system, self.method)

    def step(self, q0, q1, S0, S1):
        """(z0, x): the start of the step and its increment."""
        z0, z1 = (self.system.together(q, jnp.asarray(S, float)) for q, S in ((q0, S0), (q1, S1)))
        return z0, self.system.step_space.local(z0, z1)

    def of_action(self, t, h, q0, q1, S0, S1):
        """(D1 Ld, D3 Ld) and (D2 Ld, D4 Ld), each joined in one vector."""
        z0, x = self.step(q0, q1, S0, S1)
        return self.pieces.gradient(t, h, z0, x)

    def Ld(self, t, h, q0, q1, S0, S1):
        """h sum_i w_i L(t_i, q_i, v_i, S_i) (001 eq 3.17)."""
        return self.pieces.action(t, h, *self.step(q0, q1, S0, S1))

    def D1(self, t, h, q0, q1, S0, S1):
        return self.of_action(t, h, q0, q1, S0, S1)[0][: self.system.space.dim]

    def D2(self, t, h, q0, q1, S0, S1):
        return self.of_action(t, h, q0, q1, S0, S1)[1][: self.system.space.dim]

    def D3(self, t, h, q0, q1, S0, S1):
        return self.system.frame.shown(
            self.of_action(t, h, q0, q1, S0, S1)[0][self.system.space.dim :]
        )

    def D4(self, t, h, q0, q1, S0, S1):
        return self.system.frame.shown(
            self.of_action(t, h, q0, q1, S0, S1)[1][self.system.space.dim :]
        )

    def both(self, t, h, q0, q1, S0, S1):
        """(D1 Ld + Fd^-, D2 Ld + Fd^+)."""
        minus, plus = self.pieces.variation(t, h, *self.step(q0, q1, S0, S1))
        return minus[: self.system.space.dim], plus[: self.system.space.dim]

    def force_minus(self, t, h, q0, q1, S0, S1):
        """Fd^-: the work of friction and external force on a displacement of q0 (001 eq 3.18)."""
        return self.both(t, h, q0, q1, S0, S1)[0] - self.D1(t, h, q0, q1, S0, S1)

    def force_plus(self, t, h, q0, q1, S0, S1):
        """Fd^+: their work on a displacement of q1."""
        return self.both(t, h, q0, q1, S0, S1)[1] - self.D2(t, h, q0, q1, S0, S1)

    def rho(self, t, h, q0, q1, S0, S1):
        """The discrete entropy balance sum_i w_i (dL/dS S' - F_fr.v + P_H), zero on a trajectory
        (001 eq 3.19).
        """
        return self.system.frame.shown(self.pieces.rho(t, h, *self.step(q0, q1, S0, S1)))

    def legendre_minus(self, t, h, q0, q1, S0, S1):
        """(q0, p0) with p0 = -D1 Ld - Fd^- (001 eq 3.13)."""
        return q0, -self.both(t, h, q0, q1, S0, S1)[0]

    def legendre_plus(self, t, h, q0, q1, S0, S1):
        """(q1, p1) with p1 = D2 Ld + Fd^+ (001 eq 3.13)."""
        return q1, self.both(t, h, q0, q1, S0, S1)[1]

    def euler_lagrange(self, t, h, q0, q1, q2, S0, S1, S2):
        """What is left of the momentum balance at q1 (001 eq 3.10), zero on a trajectory; `t` is
        the time of q0.
        """
        return (
            self.legendre_plus(t, h, q0, q1, S0, S1)[1]
            - self.legendre_minus(t + h, h, q1, q2, S1, S2)[1]
        )

    def matrices(self, t, h, q0, q1, S0, S1):
        """The two matrices of 001 Def 3.25, each of shape (dim + m, dim + m).

        The derivatives of (p of legendre_minus, rho) by the end of the step, and of (p of
        legendre_plus, rho) by its start.
        """
        z0, x = self.step(q0, q1, S0, S1)
        n, space = self.system.space.dim, self.system.step_space

        def pair(i, e0, e1):
            z, y = (
                space.retract(z0, e0),
                space.local(space.retract(z0, e0), space.retract(space.retract(z0, x), e1)),
            )
            p = self.pieces.variation(t, h, z, y)[i][:n]
            return jnp.concatenate([-p if i == 0 else p, self.pieces.rho(t, h, z, y)])

        zero = jnp.zeros_like(x)
        return jax.jacfwd(lambda e: pair(0, zero, e))(zero), jax.jacfwd(lambda e: pair(1, e, zero))(
            zero
        )


def discrete(system, method) -> Any:
    """The discrete Lagrangian, its derivatives, forces, Legendre transforms and flows, as functions
    of (t, h, q0, q1).

    Of a thermal system they are functions of (t, h, q0, q1, S0, S1), see `DiscreteThermal`; of a
    system of order r of r + 1 or 2r configurations, see `DiscreteHigher`.
    """
    check_kind(system)
    check_method(system, method)
    system.check()
    if isinstance(system, HigherOrderSystem):
        return DiscreteHigher(system, method)
    return (
        Discrete(system, method) if isinstance(system, System) else DiscreteThermal(system, method)
    )
