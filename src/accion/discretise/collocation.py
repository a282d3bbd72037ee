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
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.discretise.thermal import Exchange
from accion.engines.abreast import abreast
from accion.methods.polynomials import stages
from accion.numerics import newton
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

    def end_momentum(self, x: Vector, balance: Covector) -> Covector:
        """P of a step, dtau(-x)^T (p0 + sum_i W_i)."""
        whole = jnp.zeros_like(x).at[: self.n].set(balance)
        back = jax.vjp(lambda rate: self.whole.space.velocity(-x, rate), x)[1]
        return back(whole)[0][: self.n]


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
    """How the momenta depend on the rates."""

    affine: bool  # one step of Newton's method finds the rates, from anywhere
    constant: bool  # the same everywhere and always: impulses alone tell where the stages are


def inertia_of(system: Any) -> Inertia:
    at = instant_of(system)
    q, xi = at.whole.space.identity(), jnp.zeros(at.moved)
    t, u = jnp.zeros(()), jnp.zeros(at.moved + at.lam)
    affine = not depends(jax.jacfwd(at.momentum, 3), t, q, xi, u)
    if not affine or at.closure is not None or not at.whole.space.flat:
        return Inertia(affine, False)
    return Inertia(
        affine, not depends(lambda point: at.momentum(point[0], point[1], xi, u), (t, q))
    )


# ---------------------------------------------------------------- the stages of a step


class Stage(NamedTuple):
    """What is unknown of a stage, or, with one row for each, of all."""

    X: Array  # h b_i times the rates of what is moved
    G: Array  # h b_i times those of the momenta
    lam: Array


class Sweep(NamedTuple):
    """A stage computed again: what it is now, and how much it has changed."""

    stage: Stage
    W: Array  # what it adds to the balance at the start; empty on a flat space
    change: Array  # of velocities and impulses, as an energy
    size: Array  # what that is compared with
    entropy_change: Array  # of entropies, as an energy
    entropy_size: Array


@dataclass(frozen=True)
class OneStage:
    """One stage from all of them: the function that runs for all stages side by side."""

    affine: bool

    def __call__(self, shared: Any, row: Any) -> Sweep:
        system, t, h, q0, pi0, all = shared
        mu, c, b, own = row
        at, hb, t = instant_of(system), h * b, t + c * h
        n, moved = at.n, at.moved
        xi = jnp.sum(mu[:, None] * all.X, axis=0)
        pi = pi0 + jnp.sum(mu[:, None] * all.G, axis=0)
        before = jnp.concatenate([own.X / hb, own.lam])
        u = jnp.zeros_like(before) if self.affine else before

        def momentum(u: Array) -> tuple[Array, Array]:
            r = at.momentum(t, q0, xi, u)
            return r, r

        J, r = jax.jacfwd(momentum, has_aux=True)(u)
        u = u + newton.solve(J, jnp.concatenate([pi - r[:n], -r[n:]]))
        force = at.force(t, q0, xi, u)
        M = jnp.abs(jnp.diagonal(J))
        du, dF = u - before, h * force - own.G / b

        def energy(rate: Array, impulse: Array) -> Array:
            """Of velocities, and of what impulses would give."""
            return jnp.sum(M[:n] * rate[:n] ** 2 + over(impulse**2, M[:n]))

        def heat(rate: Array) -> Array:
            return jnp.sum(jnp.abs(M[n:moved] * rate[n:moved]))

        stage = Stage(hb * u[:moved], hb * force, u[moved:])
        flat = at.whole.space.flat
        W = jnp.zeros(0) if flat else hb * at.by_start(t, q0, xi, u)
        return Sweep(stage, W, energy(du, dF), energy(u, h * force), heat(du), heat(u))


def over(a: Array, b: Array) -> Array:
    """a/b; zero where there is no inertia b."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def swept(method: Any, affine: bool, step: Any, P: Any, all: Stage) -> tuple[Sweep, Any]:
    """All stages computed again from each other, and P, which is None on a flat space; `step` is
    (system, t, h, q0, p).
    """
    system, t, h, q0, p = step
    c, b, mu, *_ = stages(method.s)
    pi0 = p if P is None else P - jnp.sum(all.G, axis=0)
    found = abreast(OneStage(affine), (system, t, h, q0, pi0, all), (mu, c, b, all))
    if P is None:
        return found, None
    x = jnp.sum(found.stage.X, axis=0)
    return found, instant_of(system).end_momentum(x, p + jnp.sum(found.W, axis=0))


def mass(at: Instant, q0: Configuration) -> tuple[Array, Array]:
    """(M, m) of momenta M v + m that are the same everywhere and always."""
    still, t = jnp.zeros(at.moved), jnp.zeros(())
    return jax.jacfwd(at.momentum, 3)(t, q0, still, still), at.momentum(t, q0, still, still)


class Impulse(NamedTuple):
    """A stage of constant inertia computed again."""

    G: Array
    change: Array
    size: Array


def one_impulse(shared: Any, row: Any) -> Impulse:
    """The impulse of a stage from those of all, where the inertia is constant."""
    system, t, h, q0, p, G = shared
    mu, twice, c, b, own = row
    at = instant_of(system)
    M, m = mass(at, q0)
    xi = h * newton.solve(M, c * (p - m) + jnp.sum(twice[:, None] * G, axis=0))
    v = newton.solve(M, p - m + jnp.sum(mu[:, None] * G, axis=0))
    force = at.force(t + c * h, q0, xi, v)
    D = jnp.abs(jnp.diagonal(M))

    def energy(impulse: Array) -> Array:
        return jnp.sum(over(impulse**2, D))

    return Impulse(h * b * force, energy(h * force - own / b), energy(p) + energy(h * force))


def swept_impulses(method: Any, step: Any, G: Array) -> Impulse:
    """All impulses computed again from each other."""
    c, b, mu, twice, _ = stages(method.s)
    return abreast(one_impulse, (*step, G), (mu, twice, c, b, G))


def increment_of(method: Any, step: Any, G: Array) -> Array:
    """The increment of a step from its impulses, where the inertia is constant."""
    system, _, h, q0, p = step
    M, m = mass(instant_of(system), q0)
    late = 1 - stages(method.s).c
    return h * newton.solve(M, p - m + jnp.sum(late[:, None] * G, axis=0))


def of_impulses(method: Any, step: Any, G: Array) -> Stage:
    """All stages from their impulses, where the inertia is constant."""
    system, _, h, q0, p = step
    _, b, mu, *_ = stages(method.s)
    M, m = mass(instant_of(system), q0)

    def one(mu: Any, b: Any) -> Array:
        return h * b * newton.solve(M, p - m + jnp.sum(mu[:, None] * G, axis=0))

    return Stage(jax.vmap(one)(mu, b), G, jnp.zeros((len(G), 0)))


def combined(rows: Any, values: Array) -> Array:
    """The product of a matrix of numbers with one row of values for each stage."""
    return abreast(one_combination, values, rows)


def one_combination(values: Array, row: Array) -> Array:
    return jnp.sum(row[:, None] * values, axis=0)


@dataclass(frozen=True)
class OneExchange:
    """What the functions of this name say of a stage, times h b_i."""

    names: tuple[str, ...]

    def __call__(self, shared: Any, row: Any) -> tuple[Any, ...]:
        system, t, h, z0, X = shared
        mu, c, b, own = row
        n, space = system.space.dim, system.step_space
        xi = jnp.sum(mu[:, None] * X, axis=0)
        z, w = space.retract(z0, xi), space.velocity(xi, own / (h * b))
        return tuple(h * b * getattr(system, name)(t + c * h, z, w[:n]) for name in self.names)


def exchanged(system: Any, method: Any, t: Scalar, h: Scalar, z0: Configuration, X: Array) -> Any:
    """What the stages of a step of a thermal system exchange."""
    c, b, mu, *_ = stages(method.s)
    names = ("supply", "heating", "dissipation", "friction_size", "temperature")
    found = abreast(OneExchange(names), (system, t, h, z0, X), (mu, c, b, X))
    return Exchange(*(jnp.sum(a, axis=0) for a in found))


def quotient(a: Array, b: Array) -> Array:
    """That of two sums; of nothing by nothing, zero."""
    a, b = jnp.sum(a), jnp.sum(b)
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), a)


def relative(found: Sweep) -> Array:
    """How much the stages have changed, in parts of their sizes."""
    motion = jnp.sqrt(quotient(found.change, found.size))
    return jnp.maximum(motion, quotient(found.entropy_change, found.entropy_size))
