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


def inertia_of(system: Any) -> Inertia:
    at = instant_of(system)
    q, t, u = at.whole.space.identity(), jnp.zeros(()), jnp.zeros(at.moved + at.lam)
    M = jax.jacfwd(at.body_momentum, 2)
    affine = not depends(M, t, q, u)
    if not affine or at.closure is not None:
        return Inertia(affine, False, False)
    constant = not depends(lambda point: M(point[0], point[1], u), (t, q))
    same = not depends(lambda point: at.body_momentum(point[0], point[1], u), (t, q))
    return Inertia(affine, constant, same and constant and at.whole.space.flat)


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
    change: Array  # of velocities and impulses, as an energy times (h b_i)^2
    size: Array  # what that is compared with
    entropy_change: Array  # of entropies, as an energy times h b_i
    entropy_size: Array


@dataclass(frozen=True)
class OneStage:
    """One stage from all of them: the function that runs for all stages side by side."""

    affine: bool

    def __call__(self, shared: Any, row: Any) -> Sweep:
        system, t, h, q0, pi0, all, inertia = shared
        mu, c, b, own = row
        at, hb, t = instant_of(system), h * b, t + c * h
        n, moved, space = at.n, at.moved, at.whole.space
        xi = jnp.sum(mu[:, None] * all.X, axis=0)
        pi = pi0 + jnp.sum(mu[:, None] * all.G, axis=0)
        q, start = space.retract(q0, xi), jnp.zeros(moved + at.lam)
        if not self.affine:
            start = jnp.concatenate([space.velocity(xi, own.X / hb), own.lam])
        u, D = found_velocity(at, inertia, t, q, start, at.to_body(xi, pi))
        rate = space.rate(xi, u[:moved])
        force, at_start = at.forces(xi, u[:moved], pi, at.body_force(t, q, u))
        stage, inverse = Stage(hb * rate, hb * force, u[moved:]), over(jnp.ones(n), D[:n])

        def energy(X: Array, G: Array) -> Array:
            """Of velocities, and of what impulses would give, times (h b)^2."""
            return jnp.sum(D[:n] * X[:n] ** 2 + h**2 * inverse * G**2)

        def heat(X: Array) -> Array:
            return jnp.sum(jnp.abs(D[n:moved] * X[n:moved]))

        X, G = stage.X, stage.G
        changed = X - own.X
        sizes = energy(changed, G - own.G), energy(X, G), heat(changed), heat(X)
        return Sweep(stage, hb * at_start, *sizes)


def found_velocity(
    at: Instant, inertia: Any, t: Scalar, q: Configuration, u: Array, p: Covector
) -> tuple[Array, Array]:
    """The velocity and the multipliers that have the momentum `p`, by one step of Newton's method
    from u, and the sizes of the inertias; `inertia` is (M^-1, diag M) where M is a constant.
    """

    def momentum(u: Array) -> tuple[Array, Array]:
        r = at.body_momentum(t, q, u)
        return r, r

    if inertia is not None:
        inverse, D = inertia
        return u + jnp.sum(inverse * (p - momentum(u)[0]), axis=1), D
    J, r = jax.jacfwd(momentum, has_aux=True)(u)
    found = u + newton.solve(J, jnp.concatenate([p - r[: at.n], -r[at.n :]]))
    return found, jnp.abs(jnp.diagonal(J))


def constant_inertia(at: Instant, t: Scalar, q: Configuration) -> tuple[Array, Array]:
    """(M^-1, diag M) of a constant inertia."""
    M = jax.jacfwd(at.body_momentum, 2)(t, q, jnp.zeros(at.moved))
    columns = [newton.solve(M, e) for e in jnp.eye(at.n)]
    return jnp.stack(columns, axis=1), jnp.abs(jnp.diagonal(M))


def over(a: Array, b: Array) -> Array:
    """a/b; zero where there is no inertia b."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def swept(method: Any, inertia: Inertia, step: Any, P: Any, all: Stage) -> tuple[Sweep, Any]:
    """All stages computed again from each other, and P, which is None on a flat space; `step` is
    (system, t, h, q0, p).
    """
    system, t, h, q0, p = step
    at, (c, b, mu, *_) = instant_of(system), stages(method.s)
    pi0 = p if P is None else P - jnp.sum(all.G, axis=0)
    known = constant_inertia(at, t, q0) if inertia.constant else None
    found = abreast(OneStage(inertia.affine), (system, t, h, q0, pi0, all, known), (mu, c, b, all))
    if P is None:
        return found, None
    x = jnp.sum(found.stage.X, axis=0)
    return found, at.end_momentum(x, p + jnp.sum(found.W, axis=0))


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
