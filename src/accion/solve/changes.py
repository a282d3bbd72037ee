"""How the nodes of a path change with their displacements, for derivatives through `connect`."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from accion.engines.xla import kept_jit
from accion.types import Array, Configuration


@partial(kept_jit, static_argnums=(0,))
def displacements(space: Any, q: Configuration, dq: Configuration) -> Array:
    """The displacements, shape (nodes, dim), that changes `dq` of configurations are."""

    def one(q: Configuration, dq: Configuration) -> Array:
        return jax.jvp(lambda moved: space.displacement(q, moved), (q,), (dq,))[1]

    return jax.vmap(one)(q, dq)


@partial(kept_jit, static_argnums=(0,))
def path_change(space: Any, q: Configuration, x: Array, e: Array) -> tuple[Configuration, Array]:
    """The changes of the configurations and of the increments of a path whose nodes are displaced
    by `e`, shape (nodes, dim).
    """
    zero = jnp.zeros(space.dim)

    def of_node(q: Configuration, e: Array) -> Configuration:
        return jax.jvp(lambda e: space.retract(q, e), (zero,), (e,))[1]

    def of_step(x: Array, e0: Array, e1: Array) -> Array:
        return jax.jvp(lambda a, b: space.relative(x, a, b), (zero, zero), (e0, e1))[1]

    return jax.vmap(of_node)(q, e), jax.vmap(of_step)(x, e[:-1], e[1:])
