"""Sweeps over the stages of a step: each computes all of them again, side by side, from what they
were (see `collocation`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.discretise.collocation import Inertia, Instant, instant_of
from accion.discretise.thermal import Exchange
from accion.engines.abreast import abreast
from accion.methods.polynomials import stages
from accion.numerics import newton
from accion.types import Array, Configuration, Covector, Scalar


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


class Impulse(NamedTuple):
    """A stage of constant inertia computed again."""

    G: Array
    change: Array
    size: Array


class Moved(NamedTuple):
    """A stage whose velocity is computed again."""

    X: Array
    change: Array
    size: Array


@dataclass(frozen=True)
class OneVelocity:
    """The velocity of a stage from the momenta of all, on a flat space."""

    affine: bool

    def __call__(self, shared: Any, row: Any) -> Moved:
        system, t, h, q0, p, all, inertia = shared
        mu, c, b, own = row
        at, hb, space = instant_of(system), h * b, system.space
        xi = jnp.sum(mu[:, None] * all.X, axis=0)
        pi = p + jnp.sum(mu[:, None] * all.G, axis=0)
        start = jnp.zeros_like(own) if self.affine else own / hb
        u, D = found_velocity(at, inertia, t + c * h, space.retract(q0, xi), start, pi)
        X = hb * u
        return Moved(X, jnp.sum(D * (X - own) ** 2), jnp.sum(D * X**2))


def one_force(shared: Any, row: Any) -> Covector:
    """The impulse of a stage from the velocities of all, on a flat space."""
    system, t, h, q0, X = shared
    mu, c, b, own = row
    at, hb = instant_of(system), h * b
    q = system.space.retract(q0, jnp.sum(mu[:, None] * X, axis=0))
    return hb * at.body_force(t + c * h, q, own / hb)


def swept_in_turn(method: Any, inertia: Inertia, step: Any, all: Stage) -> Sweep:
    """All velocities computed again from the impulses, then these from the new velocities, on a
    flat space. An error goes from the ones to the others and back: one such sweep gains as much as
    two that compute both at once. How much they change is seen by the velocities alone.
    """
    system, t, h, q0, p = step
    at, (c, b, mu, *_) = instant_of(system), stages(method.s)
    known = constant_inertia(at, t, q0) if inertia.constant else None
    one = OneVelocity(inertia.affine)
    moved = abreast(one, (system, t, h, q0, p, all, known), (mu, c, b, all.X))
    G = abreast(one_force, (system, t, h, q0, moved.X), (mu, c, b, moved.X))
    none = jnp.zeros_like(c)
    return Sweep(Stage(moved.X, G, all.lam), none, moved.change, moved.size, none, none)


def over(a: Array, b: Array) -> Array:
    """a/b; zero where there is no inertia b."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def swept(method: Any, inertia: Inertia, step: Any, P: Any, all: Stage) -> tuple[Sweep, Any]:
    """All stages computed again from each other, and P, which is None on a flat space; `step` is
    (system, t, h, q0, p).
    """
    if inertia.in_turn:
        return swept_in_turn(method, inertia, step, all), None
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
