"""Laws of feedback as functions that JAX traces, and the force that they are in a system."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from accion.control.polynomial import between
from accion.control.states import Places, State, apart
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Held:
    """The law about an equilibrium."""

    q: Configuration
    v: Array
    u: Array
    K: Array
    within: tuple[Array, Array]
    space: Any = field(metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        z = apart(self.space, (self.q, self.v), (q, v))
        return jnp.clip(self.u - self.K @ z, *self.within)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Following:
    """The law along a solution: between its nodes q* goes along the cubic of their configurations
    and velocities; after the end that of `after`.
    """

    t: Array
    q: Configuration
    v: Array
    u: Array
    K: Array
    within: tuple[Array, Array]
    after: Held | None
    space: Any = field(metadata={"static": True})
    places: Places = field(metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        count = len(self.t) - 1
        k = jnp.clip(jnp.searchsorted(self.t, t, side="right") - 1, 0, count - 1)
        h = self.t[k + 1] - self.t[k]
        part = (t - self.t[k]) / h
        K = self.K[k] + part * (self.K[k + 1] - self.K[k])
        z = apart(self.space, self.followed(k, h, part), (q, v))
        u = jnp.clip(between(self.places, self.u[k], part) - K @ z, *self.within)
        end = jnp.nan if self.after is None else self.after(t, q, v)
        slack = 1e-9 * h
        u = jnp.where(t > self.t[-1] + slack, end, u)
        return jnp.where(t < self.t[0] - slack, jnp.nan, u)

    def followed(self, k: Array, h: Array, s: Array) -> State:
        """(q*, v*) at the part s of a step."""
        space = self.space
        q0, q1 = (jax.tree.map(lambda a, i=i: a[k + i], self.q) for i in (0, 1))
        x = space.local(q0, q1)
        d0, d1 = h * self.v[k], h * space.rate(x, self.v[k + 1])
        way = s * (d0 + s * (3 * x - 2 * d0 - d1 + s * (d0 + d1 - 2 * x)))
        rate = d0 + s * (2 * (3 * x - 2 * d0 - d1) + 3 * s * (d0 + d1 - 2 * x))
        return space.retract(q0, way), space.velocity(way, rate / h)


@dataclass(frozen=True)
class ClosedLoop:
    """The force of a system with that of its controls added to it."""

    force: Function | None
    law: Function
    feedback: Held | Following

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Covector:
        pushed = self.law(t, q, v, self.feedback(t, q, v), params)
        return pushed if self.force is None else pushed + self.force(t, q, v, params)
