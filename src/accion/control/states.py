"""States (q, v) of a controlled system and small changes z = (e, w) of them, shape (2 dim,): q is
moved by the increment e, in the frame of the body on a group, and v by w.
"""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from accion.control.flow import flow
from accion.control.polynomial import between
from accion.control.problem import ControlProblem
from accion.instant.constrained import index_one
from accion.spaces import Space
from accion.systems import System
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector

SUBSTEPS = 4  # of a step, each of order 8

State = tuple[Configuration, Vector]
Places = tuple[float, ...]


def moved(space: Space, state: State, z: Array) -> State:
    """The state that is changed by z."""
    q, v = state
    return space.retract(q, z[: space.dim]), v + z[space.dim :]


def apart(space: Space, state: State, other: State) -> Array:
    """The change z that leads from a state to another one."""
    return jnp.concatenate([space.local(state[0], other[0]), other[1] - state[1]])


def law_of(problem: ControlProblem) -> Function:
    """What the controls of a problem do: f(t, q, v, u, params), shape (dim,)."""
    return problem.law


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Push:
    """The force of a system with that of the controls u added to it."""

    force: Any
    law: Function = field(metadata={"static": True})
    u: Array

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Covector:
        pushed = self.law(t, q, v, self.u, params)
        return pushed if self.force is None else pushed + self.force(t, q, v, params)


def acceleration(
    law: Function, system: System, t: Scalar, q: Configuration, v: Vector, u: Array
) -> Vector:
    """a(t, q, v, u), shape (dim,)."""
    return index_one(system.altered(force=Push(system.force, law, u)), t, q, v, None)[0]


def advanced(
    law: Function,
    places: Places,
    system: System,
    t: Scalar,
    h: Scalar,
    state: State,
    u: Array,
    within: tuple[Array, Array],
) -> State:
    """The state after h, to order 8: controls go along the polynomial through their values u, shape
    (places, controls), at these fractions of the step, and are cut off at the bounds `within`.
    """
    space = system.space

    def rates(now: Scalar, y: Any) -> Any:
        part = jnp.where(h > 0, (now - t) / jnp.where(h > 0, h, 1.0), 0.0)
        own = jnp.clip(between(places, u, part), *within)
        return space.tangent(*y), acceleration(law, system, now, y[0], y[1], own)

    return flow(rates, t, state, h, SUBSTEPS)


@dataclass(frozen=True)
class Acceleration:
    """a(t, q, v, u), shape (dim,)."""

    law: Function

    def __call__(self, system: System, t: Scalar, q: Configuration, v: Vector, u: Array) -> Vector:
        return acceleration(self.law, system, t, q, v, u)


@dataclass(frozen=True)
class Slopes:
    """(A, B, c) at a point (t, q, v, u): z' = A z + B du about the motion through it with its
    velocity, and what the constraints change by z, shape (constraints, 2 dim).

        e' = w - [v, e],    w' = da/dq e + da/dv w + da/du du
    """

    law: Function

    def __call__(
        self, system: System, t: Scalar, q: Configuration, v: Vector, u: Array
    ) -> tuple[Array, Array, Array]:
        space, n = system.space, system.space.dim

        def a(e: Vector, w: Vector, u: Array) -> Vector:
            return acceleration(self.law, system, t, space.displace(q, e), v + w, u)

        zero = jnp.zeros(n)
        by_e, by_w, by_u = jax.jacfwd(a, (0, 1, 2))(zero, zero, u)
        turn = jax.jacfwd(lambda e: -space.ad(v, e))(zero)
        A = jnp.block([[turn, jnp.eye(n)], [by_e, by_w]])
        held = jax.jacfwd(lambda z: constraints(system, t, q, v, z))(jnp.zeros(2 * n))
        return A, jnp.concatenate([jnp.zeros_like(by_u), by_u]), held


@dataclass(frozen=True)
class StepSlopes:
    """(Phi, Gamma) of a step of length h: z_{k+1} = Phi z_k + Gamma du about the motion of the step
    from (q, v), du being constant on it.
    """

    law: Function
    places: Places

    def __call__(
        self, system: System, t: Scalar, h: Scalar, q: Configuration, v: Vector, u: Array
    ) -> tuple[Array, Array]:
        n, space, count = system.space.dim, system.space, u.shape[1]
        free = jnp.full(count, -jnp.inf), jnp.full(count, jnp.inf)

        def after(z: Array, du: Array) -> State:
            start = moved(space, (q, v), z)
            return advanced(self.law, self.places, system, t, h, start, u + du, free)

        none = jnp.zeros(2 * n), jnp.zeros(count)
        q1, v1 = jax.lax.stop_gradient(after(*none))

        def change(z: Array, du: Array) -> Array:
            q, v = after(z, du)
            return jnp.concatenate([space.displacement(q1, q), v - v1])

        return jax.jacfwd(change, (0, 1))(*none)


def constraints(system: System, t: Scalar, q: Configuration, v: Vector, z: Array) -> Array:
    """What is zero on the states that the constraints allow, near (q, v)."""
    q, v = moved(system.space, (q, v), z)
    held = [part for part in system.kinds_of_constraint if part.holds_positions]
    found = [part.value(system, t, q, v) for part in held]
    if system.constraint is not None:
        found.append(system.constraint.on_velocities(system, t, q, v))
    return jnp.concatenate([jnp.zeros(0), *found])
