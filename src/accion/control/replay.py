"""Controls applied to the continuous equations: where they lead."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.control.flow import flow
from accion.control.law import Law, driven
from accion.control.polynomial import between
from accion.engines.xla import kept_jit
from accion.instant.constrained import index_one
from accion.systems import System
from accion.types import Array, Configuration, Scalar, Vector

SUBSTEPS = 4  # of a step, for each degree of its controls
BATCH = 64  # steps that are compiled together


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
