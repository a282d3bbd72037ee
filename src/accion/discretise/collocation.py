"""A step by polynomials, as collocation at its Gauss points.

The polynomials of degree s that make the action by s Gauss points stationary are those that satisfy
the equations of motion at these points (Hairer, Lubich and Wanner 2006, Thm VI.6.4). With chart
coordinates xi around the start of the step, q = retract(q0, xi), momenta pi = dL/dxi' and impulses
G_i = h b_i (dL/dxi + F) at the stage i,

    xi_i = sum_j mu_ij X_j,    pi_i = P - sum_j (1 - mu_ij) G_j,    X_i = h b_i xi'_i

where xi'_i is the rate with which dL/dxi' is pi_i, and P is the momentum of the chart at the end of
the step. The chart moves with the start of the step: by W_i = h b_i times the derivative of L and
the work of F at the stage by a displacement of q0 the balance of momentum there is

    p0 + sum_i W_i = dtau(-x)^-T P

with the increment x of the step; on a flat space P is p0 + sum_i G_i. A chart that stays, in which
P would be that everywhere, gives a step of the same order that is not symplectic. Multipliers in
the action, and rates of entropies, are found at each stage from equations of their own.

A sweep works in the frame of the body, where inertia often is a constant: with the velocity
v = dtau(xi) xi' and the derivative f of L and F by a displacement of the stage

    dL/dv = dtau(xi)^-T pi,    G = h b (dtau(xi)^T f - d/dxi (pi . dtau(xi)^-1 v)),
    W = h b dtau(-xi)^-T dtau(xi)^T f.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.numerics.dependence import depends
from accion.systems import AbstractSystem, System, ThermalSystem
from accion.types import Array, Configuration, Covector, Scalar, Vector


@dataclass(frozen=True)
class Instant:
    """A system at a stage, in chart coordinates; u are the rates of what is moved, then the
    multipliers.
    """

    whole: Any  # the system on all that a step moves
    n: int  # momenta
    moved: int  # coordinates that a step moves, entropies among them
    lam: int  # multipliers in the action
    closure: Callable[..., Array] | None  # (t, q, v, lam) -> as many rows as u has besides n

    def split(self, u: Array) -> tuple[Vector, Any]:
        return u[: self.moved], u[self.moved :] if self.lam else None

    def L(self, t: Scalar, q0: Configuration, xi: Vector, u: Array) -> Scalar:
        """The Lagrangian."""
        rate, lam = self.split(u)
        space = self.whole.space
        return self.whole.L(t, space.retract(q0, xi), space.velocity(xi, rate), lam)

    def momentum(self, t: Scalar, q0: Configuration, xi: Vector, u: Array) -> Array:
        """dL/dxi', and what the closure says: as many rows as u has."""
        p = jax.grad(self.L, 3)(t, q0, xi, u)[: self.n]
        if self.closure is None:
            return p
        (rate, lam), space = self.split(u), self.whole.space
        rows = self.closure(t, space.retract(q0, xi), space.velocity(xi, rate), lam)
        return jnp.concatenate([p, rows])

    def force(self, t: Scalar, q0: Configuration, xi: Vector, u: Array) -> Covector:
        """dL/dxi + F: the rate of the momentum."""
        found = jax.grad(self.L, 2)(t, q0, xi, u)
        if self.whole.force is not None:
            (rate, _), space = self.split(u), self.whole.space
            v, back = jax.vjp(lambda rate: space.velocity(xi, rate), rate)
            found = found + back(self.whole.F(t, space.retract(q0, xi), v))[0]
        return found[: self.n]

    def by_start(self, t: Scalar, q0: Configuration, xi: Vector, u: Array) -> Covector:
        """The derivative of L, and the work of F, by a displacement of q0 while xi and its rate
        stay as they are.
        """
        (rate, lam), space, zero = self.split(u), self.whole.space, jnp.zeros_like(xi)
        v = space.velocity(xi, rate)

        def moved(e: Vector) -> Configuration:
            return space.retract(space.displace(q0, e), xi)

        found = jax.grad(lambda e: self.whole.L(t, moved(e), v, lam))(zero)
        if self.whole.force is not None:
            q = moved(zero)
            back = jax.vjp(lambda e: space.displacement(q, moved(e)), zero)[1]
            found = found + back(self.whole.F(t, q, v))[0]
        return found[: self.n]

    # ---------------- in the frame of the body

    def widened(self, covector: Covector) -> Covector:
        """A covector of the momenta as one of all that is moved."""
        return jnp.zeros(self.moved).at[: self.n].set(covector)

    def body_momentum(self, t: Scalar, q: Configuration, u: Array) -> Array:
        """dL/dv, and what the closure says; u are the velocity, then the multipliers."""
        v, lam = self.split(u)
        p = jax.grad(self.whole.L, 2)(t, q, v, lam)[: self.n]
        return p if self.closure is None else jnp.concatenate([p, self.closure(t, q, v, lam)])

    def body_force(self, t: Scalar, q: Configuration, u: Array) -> Covector:
        """The derivative of L by a displacement of q, and F; of all that is moved."""
        v, lam = self.split(u)
        space = self.whole.space
        found = jax.grad(lambda e: self.whole.L(t, space.displace(q, e), v, lam))(jnp.zeros_like(v))
        return found if self.whole.force is None else found + self.whole.F(t, q, v)

    def to_body(self, xi: Vector, pi: Covector) -> Covector:
        """dL/dv of a stage, from dL/dxi'."""
        space = self.whole.space
        return jax.vjp(lambda v: space.rate(xi, v), xi)[1](self.widened(pi))[0][: self.n]

    def forces(self, xi: Vector, v: Vector, pi: Covector, f: Covector) -> tuple[Covector, Covector]:
        """(dL/dxi + F, what a displacement of the start of the step gives), of a stage with the
        momentum dL/dxi' = pi and the force f in the frame of the body.
        """
        space, n = self.whole.space, self.n
        if space.flat:
            return f[:n], jnp.zeros(0)
        whole = self.widened(pi)
        chart = jax.vjp(lambda rate: space.velocity(xi, rate), v)[1](f)[0]
        turned = jax.grad(lambda xi: jnp.sum(whole * space.rate(xi, v)))(xi)
        start = jax.vjp(lambda v: space.rate(-xi, v), v)[1](chart)[0]
        return (chart - turned)[:n], start[:n]

    def end_momentum(self, x: Vector, balance: Covector) -> Covector:
        """P of a step, dtau(-x)^T (p0 + sum_i W_i)."""
        back = jax.vjp(lambda rate: self.whole.space.velocity(-x, rate), x)[1]
        return back(self.widened(balance))[0][: self.n]


@singledispatch
def instant_of(system: AbstractSystem) -> Instant:
    """The equations of a system at a stage; each kind registers its own."""
    raise ValueError(f"{type(system).__name__} has no rates to collocate.")


@instant_of.register
def _(system: System) -> Instant:
    n = system.space.dim
    if not system.enters_action:
        return Instant(system, n, n, 0, None)
    constraint: Any = system.constraint

    def closure(t: Scalar, q: Configuration, v: Vector, lam: Any) -> Array:
        return constraint.value(system, t, q, v)

    return Instant(system, n, n, system.multipliers, closure)


@instant_of.register
def _(system: ThermalSystem) -> Instant:
    n = system.space.dim
    return Instant(system.whole, n, n + system.frame.m, 0, lambda t, z, w, lam: system.rho(t, z, w))


class Inertia(NamedTuple):
    """How the momenta of the body depend on the velocities."""

    affine: bool  # one step of Newton's method finds the velocities, from anywhere
    constant: bool  # by a matrix that is the same everywhere and always
    alone: bool  # and impulses alone tell where the stages are
    in_turn: bool  # velocities and impulses are computed again in turn, not both at once


def inertia_of(system: Any) -> Inertia:
    at = instant_of(system)
    q, t, u = at.whole.space.identity(), jnp.zeros(()), jnp.zeros(at.moved + at.lam)
    M = jax.jacfwd(at.body_momentum, 2)
    affine = not depends(M, t, q, u)
    flat = at.whole.space.flat
    if not affine or at.closure is not None:
        return Inertia(affine, False, False, flat and at.closure is None)
    constant = not depends(lambda point: M(point[0], point[1], u), (t, q))
    same = not depends(lambda point: at.body_momentum(point[0], point[1], u), (t, q))
    return Inertia(affine, constant, same and constant and flat, flat)
