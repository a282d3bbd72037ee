"""Controls applied to the continuous equations: where they lead."""

from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.control.flow import flow
from accion.control.law import Law, driven
from accion.control.polynomial import between
from accion.engines.xla import kept_jit
from accion.instant.constrained import index_one
from accion.systems import Dynamics, System
from accion.types import Array, Configuration, Scalar, Vector

SUBSTEPS = 4  # of a step, for each degree of its controls
BATCH = 64  # steps that are compiled together


@singledispatch
def replay_of(system: Any, problem: Any, motion: Any) -> tuple[Configuration, Any]:
    """(q, v) at the nodes of a `Solution`, by the continuous equations under its controls."""
    q0 = jax.tree.map(lambda a: jnp.asarray(a)[0], motion.q)
    v0, pieces = jnp.asarray(motion.v)[0], motion.control_pieces()
    return replayed(problem.law, system, q0, v0, motion.t, *pieces)


@replay_of.register
def _(system: Dynamics, problem: Any, motion: Any) -> tuple[Configuration, Any]:
    """States only: rates follow from them."""
    places, u = motion.control_pieces()
    x = moved(places, system, jnp.asarray(motion.q)[0], motion.t[:-1], np.diff(motion.t), u)
    return jnp.concatenate([jnp.asarray(motion.q)[:1], x]), motion.v


@partial(kept_jit, static_argnums=(0,))
def moved(places: tuple[float, ...], system: Dynamics, x0: Vector, t: Any, h: Any, u: Any) -> Array:
    """The states after each step, of order 8."""
    substeps = SUBSTEPS * max(1, len(places) - 1)

    def step(x: Vector, data: Any) -> tuple[Vector, Vector]:
        t, h, values = data

        def rates(now: Scalar, x: Vector) -> Vector:
            return system.rates(now, x, between(places, values, (now - t) / h))

        x = flow(rates, t, x, h, substeps)
        return x, x

    return jax.lax.scan(step, x0, (t, h, u))[1]


@singledispatch
def missed_by_steps(system: Any, problem: Any, motion: Any) -> tuple[np.ndarray, np.ndarray]:
    """(of q, of v), each (steps, dim): what each step of a `Solution` lacks of the continuous
    motion from the node where it starts, under its controls.
    """
    before, after = (
        jax.tree.map(lambda a, part=part: jnp.asarray(a)[part], (motion.q, motion.v))
        for part in (slice(None, -1), slice(1, None))
    )
    places, u = motion.control_pieces()
    data = (motion.t[:-1], np.diff(motion.t), u)
    q, v = each_alone(problem.law, places, system, before, data)
    off = jax.vmap(system.space.local)(after[0], q)
    return np.asarray(off), np.asarray(v - after[1])


@missed_by_steps.register
def _(system: Dynamics, problem: Any, motion: Any) -> tuple[np.ndarray, np.ndarray]:
    (places, u), x = motion.control_pieces(), jnp.asarray(motion.q)
    found = states_alone(places, system, x[:-1], motion.t[:-1], np.diff(motion.t), u)
    off = np.asarray(found - x[1:])
    return off, np.zeros_like(off)


@partial(kept_jit, static_argnums=(0, 1))
def each_alone(law: Law, places: tuple[float, ...], system: System, states: Any, data: Any) -> Any:
    """(q, v) after each of some steps, from the state before it."""

    def one(state: Any, data: Any) -> Any:
        alone = jax.tree.map(lambda a: jnp.asarray(a)[None], data)
        return replayed_batch(law, places, system, state, alone)[0]

    return jax.vmap(one)(states, data)


@partial(kept_jit, static_argnums=(0,))
def states_alone(
    places: tuple[float, ...], system: Dynamics, x: Array, t: Any, h: Any, u: Any
) -> Array:
    """The states after each of some steps, from that before it."""

    def one(x: Vector, t: Array, h: Array, u: Array) -> Array:
        return moved(places, system, x, t[None], h[None], u[None])[0]

    return jax.vmap(one)(x, t, h, u)


def replayed(
    law: Law,
    system: System,
    q0: Configuration,
    v0: Vector,
    t: np.ndarray,
    places: tuple[float, ...],
    u: np.ndarray,
) -> tuple[Configuration, Array]:
    """(q, v) at the times `t` with controls that go on each step along the polynomial through their
    values u, shape (steps, places, controls), integrated to order 8.

    Some steps at a time, the last of them filled up with steps of no length: so meshes of all
    lengths share what is compiled.
    """
    state, found = (q0, v0), [jax.tree.map(lambda a: np.asarray(a)[None], (q0, v0))]
    for first in range(0, len(t) - 1, BATCH):
        steps = np.minimum(np.arange(first, first + BATCH), len(t) - 2)
        h = np.where(np.arange(first, first + BATCH) < len(t) - 1, np.diff(t)[steps], 0.0)
        state, after = replayed_batch(law, places, system, state, (t[steps], h, u[steps]))
        found.append(jax.tree.map(np.asarray, after))
    return jax.tree.map(lambda *a: jnp.asarray(np.concatenate(a)[: len(t)]), *found)


@partial(kept_jit, static_argnums=(0, 1))
def replayed_batch(
    law: Law, places: tuple[float, ...], system: System, state: Any, data: Any
) -> tuple[Any, Any]:
    """The state after the last of some steps, (t, h, u), from `state`; and after each of them."""
    space, substeps = system.space, SUBSTEPS * max(1, len(places) - 1)

    def step(state: Any, data: Any) -> tuple[Any, Any]:
        t, h, values = data

        def rates(now: Scalar, y: Any) -> Any:
            q, v = y
            part = jnp.where(h > 0, (now - t) / jnp.where(h > 0, h, 1.0), 0.0)
            u = between(places, values, part)
            a = index_one(driven(system, law, u), now, q, v, None)[0]
            return space.tangent(q, v), a

        q, v = flow(rates, t, state, h, substeps)
        state = (q if space.flat else space.project(q), v)
        return state, state

    return jax.lax.scan(step, state, data)
