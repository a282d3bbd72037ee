"""Paths on a space whose nodes are moved by displacements, all at once."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from accion.engines.xla import kept_jit
from accion.spaces import Euclidean, Torus
from accion.types import Configuration


class Chart(NamedTuple):
    """Unknowns that are displacements of the nodes of a path on a space: their numbers `e`, shape
    (nodes, dim).
    """

    space: Any
    e: np.ndarray

    @property
    def curved(self) -> bool:
        """Whether it is good near its base only: on a flat space the base is the origin, for
        good.
        """
        return not self.space.flat


def is_vector(space: Any) -> bool:
    """Whether configurations are vectors that displacements are added to, any number of them at
    once: nothing has to be compiled.
    """
    return isinstance(space, Euclidean | Torus)


def retract_all(space: Any, q: Configuration, e: np.ndarray) -> Configuration:
    """retract(q_k, e_k) for all k: configurations with an axis of nodes in front."""
    found = space.retract(q, e) if is_vector(space) else retract_each(space, q, e)
    return jax.tree.map(np.asarray, found)


def local_all(space: Any, q0: Configuration, q1: Configuration) -> np.ndarray:
    """local(q0_k, q1_k) for all k, shape (nodes, dim)."""
    return np.asarray(space.local(q0, q1) if is_vector(space) else local_each(space, q0, q1))


@partial(kept_jit, static_argnums=(0,))
def retract_each(space: Any, q: Configuration, e: jax.Array) -> Configuration:
    return jax.vmap(space.retract)(q, e)


@partial(kept_jit, static_argnums=(0,))
def local_each(space: Any, q0: Configuration, q1: Configuration) -> jax.Array:
    return jax.vmap(space.local)(q0, q1)
