"""The discrete objects of a system under a method, as functions of the ends of a step."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door
from accion.checks import check_kind, check_method
from accion.discretise import discretise
from accion.instant.constrained import first_velocity, node
from accion.methods import Method
from accion.numerics.repeated import repeated
from accion.stepping.at_step import at_step
from accion.stepping.rows import Row, Shorter
from accion.stepping.variational import increments
from accion.stepping.views_vakonomic import StepForms, given_multipliers
from accion.stepping.windows import next_window
from accion.systems import AbstractSystem, DiscreteSystem, System
from accion.types import Array, Configuration, Covector, Scalar


class StepObjects(StepForms):
    """The discrete Lagrangian of a system of order one, and what follows from it; functions of (t,
    h, q0, q1).

    Derivatives are in local coordinates (on a flat space the ordinary gradient), shape (dim,). On a
    time-dependent system the step that starts at `t` has its own discrete Lagrangian; there is one
    for each step (Marsden and West 2001, part 1; Colombo-Gamonal, section 3).
    """

    system: Any
    method: Any

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    @abstractmethod
    def solved(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any, lam: Any
    ) -> Any:
        """The increment and the multipliers of the step from (q, p), from guesses of both."""

    @abstractmethod
    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any = None
    ) -> Any:
        """(q, p) -> (q1, p1): one step on the cotangent bundle, NaN where it has no solution.
        `guess` is one of the increment.

        Under a constraint p1 is the momentum whose velocity satisfies it.
        """

    def one(self, lam: Any) -> Any:
        """The multipliers of one step of a vakonomic system, which must be given; None for
        others.
        """
        return given_multipliers(self.system, lam, 1)[0] if self.system.enters_action else None

    @at_step
    def Ld(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Scalar:
        """h sum_i w_i L(t_i, q_i, v_i); with `lam`, of L + lam.Phi, and so for D1, D2 and D12."""
        return self.form.action(t, h, *self.form.between([q0, q1]), lam)

    @at_step
    def Ld_hat(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, q2: Configuration
    ) -> Scalar:
        """Ld(t, h, q0, q1) + Ld(t + h, h, q1, q2), the discrete Lagrangian of second order
        (Colombo-Eyrea, section 3).

        Its derivative by the middle configuration is `euler_lagrange` of a system without force.
        """
        return self.Ld(t, h, q0, q1) + self.Ld(t + h, h, q1, q2)

    @at_step
    def Phi(self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration) -> Array:
        """What is left of the discrete constraint of the step, shape (m,)."""
        return self.form.closure(t, h, *self.form.between([q0, q1]))

    @at_step
    def D1(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Covector:
        """The derivative of Ld by q0."""
        return self.form.derivatives(t, h, *self.form.between([q0, q1]), lam)[0]

    @at_step
    def D2(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Covector:
        """The derivative of Ld by q1."""
        return self.form.derivatives(t, h, *self.form.between([q0, q1]), lam)[1]

    @at_step
    def D12(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """The mixed derivative, D12[i, j] by the i-th coordinate of q0 and the j-th of q1, shape
        (dim, dim).
        """
        step = self.form.between([q0, q1])
        zero = jnp.zeros(self.system.space.dim)

        def D1(e1: Any) -> Covector:
            def moved(e0: Any) -> Any:
                return self.form.displaced_action(t, h, *step, jnp.stack([e0, e1]), lam)

            return jax.grad(moved)(zero)

        return jax.jacfwd(D1)(zero)

    @at_step
    def energy(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Scalar:
        """The discrete energy -dLd/dh at fixed ends; of Ld = h L(q, (q1 - q0)/h) it is p.v - L."""
        step = self.form.between([q0, q1])
        return -jax.grad(lambda h: self.form.action(t, h, *step, lam))(jnp.asarray(h, float))

    @at_step
    def balance(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Any:
        """(D1 Ld + Fd^-, D2 Ld + Fd^+)."""
        found = self.form.variation(t, h, *self.form.between([q0, q1]), lam)
        return found.start, jnp.reshape(found.end, found.start.shape)

    @at_step
    def force_minus(self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration) -> Covector:
        """Fd^-: the work of the force on a displacement of q0."""
        return self.balance(t, h, q0, q1)[0] - self.D1(t, h, q0, q1)

    @at_step
    def force_plus(self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration) -> Covector:
        """Fd^+: the work of the force on a displacement of q1."""
        return self.balance(t, h, q0, q1)[1] - self.D2(t, h, q0, q1)

    @at_step
    def legendre_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> tuple[Configuration, Covector]:
        """(q0, p0) with p0 = -D1 Ld - Fd^-; a vakonomic system needs `lam`, the multipliers of the
        step.
        """
        return q0, -self.balance(t, h, q0, q1, self.one(lam))[0]

    @at_step
    def legendre_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> tuple[Configuration, Covector]:
        """(q1, p1) with p1 = D2 Ld + Fd^+; a vakonomic system needs `lam`."""
        return q1, self.balance(t, h, q0, q1, self.one(lam))[1]

    @at_step
    def euler_lagrange(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
        lam: Any = None,
    ) -> Covector:
        """D2 Ld(q0, q1) + Fd^+(q0, q1) + D1 Ld(q1, q2) + Fd^-(q1, q2), zero on a trajectory; `t` is
        the time of q0 (Marsden and West 2001, part 3; Bonich, eq 2.4).

        A vakonomic system needs `lam`, the multipliers of both steps, shape (2, m).
        """
        before, after = given_multipliers(self.system, lam, 2)
        return (
            self.legendre_plus(t, h, q0, q1, before)[1]
            - self.legendre_minus(t + h, h, q1, q2, after)[1]
        )

    @at_step
    def multipliers(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, q2: Configuration
    ) -> Array:
        """lam_k at q1, from the discrete equations D2 Ld + Fd^+ + D1 Ld + Fd^- + h A^T lam = 0
        (Bonich, Thm 2.31; Vakonomic thesis, Thm 8.2.1).

        For a vakonomic system those of the two steps, shape (2, m), from `euler_lagrange`, which is
        linear in them; NaN where it does not determine them.
        """
        system, space = self.system, self.system.space
        if system.enters_action:
            zero = jnp.zeros((2, system.multipliers))

            def left(lam: Any) -> Any:
                return self.euler_lagrange(t, h, q0, q1, q2, lam)

            slope = jax.jacfwd(left)(zero).reshape(system.space.dim, -1)
            lam, _, rank, _ = jnp.linalg.lstsq(slope, -left(zero))
            return jnp.where(rank == zero.size, lam, jnp.nan).reshape(zero.shape)
        v = (space.local(q0, q1) + space.local(q1, q2)) / (2 * h)
        zero = jnp.zeros(system.multipliers)
        force = jax.jacfwd(lambda lam: self.form.reaction(t + h, h, q1, v, lam))(zero)
        return jnp.linalg.lstsq(force, -self.euler_lagrange(t, h, q0, q1, q2))[0]

    @at_step
    def flow(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Any:
        """(q0, q1) -> (q1, q2): one step of the discrete Euler-Lagrange equations; `t` is the time
        of q0 (Colombo-Gamonal, eq 12).

        For a vakonomic system the state has `lam` besides, the multipliers of the step; then ((q1,
        q2), multipliers of the next) is returned.
        """
        x = self.system.space.local(q0, q1)
        _, p = self.legendre_plus(t, h, q0, q1, lam)
        first = (
            jnp.zeros(self.system.multipliers) if not self.system.enters_action else self.one(lam)
        )
        x, after = self.solved(t + h, h, q1, p, x, first)
        pair = q1, self.system.space.retract(q1, x)
        return pair if not self.system.enters_action else (pair, after)


@dataclass(frozen=True)
class Discrete(StepObjects):
    """The discrete objects of a `System` under a method."""

    system: System
    method: Method

    @at_step
    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any = None
    ) -> Any:
        system = self.system
        lam = jnp.zeros(system.multipliers)
        by_stages = system.enters_action and self.method.inner_points > 0
        if guess is None or by_stages:
            v, found = first_velocity(system, t, q, p)
            guess, lam = h * v, found if system.enters_action else lam
        if by_stages:  # its multipliers are those of the stages
            row = Shorter(self.method)(system, t, h, Row(q, guess / h, p, lam))
            return row.z, row.p
        if self.method.composed is None:
            x, lam = self.solved(t, h, q, p, guess, lam)
            q, p = system.space.retract(q, x), self.form.variation(t, h, q, x, lam).end
        else:
            q, p, x = self.composed_flow(t, h, q, p, guess, lam)
        return q, p if system.constraint is None else node(system, t + h, q, p, x / h)[1]

    def composed_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any, lam: Any
    ) -> Any:
        """(q, p) after all inner steps, and the last increment over its part."""
        method, parts = self.method.composed
        inner, parts = Discrete(self.system, method), np.array(parts)

        def step(state: Any, row: Any) -> Any:
            (q, p, guess, lam), (part, since) = state, row
            own = (t + since * h, part * h)
            x, lam = inner.solved(*own, q, p, part * guess, lam)
            p = inner.form.variation(*own, q, x, lam).end
            return self.system.space.retract(q, x), p, x / part, lam

        return repeated(step, (q, p, guess, lam), (parts, np.cumsum(parts) - parts))[:3]

    def solved(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any, lam: Any
    ) -> Any:
        unknowns = jnp.concatenate([guess, lam])
        found, _, good, *_ = increments(self.system, self.method, t, h, q, p, unknowns)
        found = jnp.where(good, found, jnp.nan)
        # Of several multipliers in a step, that of its start.
        lam = self.form.blocks.multipliers(found)[: self.system.multipliers]
        return self.form.blocks.increment(found), lam


@dataclass(frozen=True)
class DiscreteGiven(StepObjects):
    """The discrete objects of a `DiscreteSystem` of order one: those that were given."""

    system: DiscreteSystem
    method: None = None

    @at_step
    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any = None
    ) -> Any:
        system = self.system
        guess = jnp.zeros(system.space.dim) if guess is None else guess
        x, lam = self.solved(t, h, q, p, guess, jnp.zeros(system.multipliers))
        return system.space.retract(q, x), self.form.variation(t, h, q, x[None], lam).end[0]

    def solved(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any, lam: Any
    ) -> Any:
        n, unknowns = self.system.space.dim, jnp.concatenate([guess, lam])
        found, _, good = next_window(
            self.system, None, t, h, q, p[None], jnp.zeros((0, n)), unknowns
        )
        return jnp.split(jnp.where(good, found, jnp.nan), [n])


@singledispatch
def discrete_objects(system: AbstractSystem, method: Method | None) -> Any:
    """What `discrete` returns; each kind of system registers its own."""
    raise ValueError(f"{type(system).__name__} has no discrete objects.")


@discrete_objects.register
def _(system: System, method: Any) -> Discrete:
    return Discrete(system, method)


@door()
def discrete(system: AbstractSystem, method: Method | None = None) -> Any:
    """The discrete Lagrangian, its derivatives, forces, Legendre transforms and flows, as functions
    of (t, h, q0, q1).

    Of a thermal system they are functions of (t, h, q0, q1, S0, S1), see `DiscreteThermal`; of a
    contact system of (t, h, q0, q1, z0, z1), see `DiscreteContact`; of a system of order r of r + 1
    or 2r configurations, see `DiscreteWindows`. A system that is given in discrete time needs no
    method.
    """
    check_kind(system)
    check_method(system, method)
    system.check()
    return discrete_objects(system, method)
