"""Whether a step is its own adjoint: of a method on a space, by its samples."""

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.methods.adjoint import Adjoint
from accion.methods.base import Method
from accion.methods.energy_consistent import EnergyConsistent
from accion.spaces import Space

H = 0.37
CLOSE = 1e-9
FOUND: dict[Any, bool] = {}  # what was seen of methods on spaces


@singledispatch
def asymmetry(method: Method, system: Any) -> str:
    """Why a step of `system` by `method` is not its own adjoint, in words; "" where it is."""
    if is_symmetric(method, system.step_space):
        return ""
    return (
        f"a step of it on {system.space} is not: looked at from its end, it takes other samples"
        " (a retraction such as 'cayley' has no middle)"
    )


@asymmetry.register
def _(method: EnergyConsistent, system: Any) -> str:
    if system.frame.m > 1:
        return "it shares energy among several bodies by their heat capacities at a step's start"
    return asymmetry(method.method, system)


def is_symmetric(method: Method, space: Space) -> bool:
    """Whether the samples of a step and those of its adjoint are the same."""
    if space.flat and method.nodes is not None:
        return same_nodes(method.nodes)
    if (method, space) not in FOUND:
        # Numbers are looked at, also where all this is called while JAX traces.
        with jax.ensure_compile_time_eval():
            FOUND[method, space] = same_samples(method, space)
    return FOUND[method, space]


def same_nodes(nodes: Any) -> bool:
    """Whether the (w, c) are those of the (w, 1 - c)."""
    return sorted(nodes) == sorted((w, 1 - c) for w, c in nodes)


def same_samples(method: Method, space: Space) -> bool:
    """Whether a step of no special increment, and the same from its end, take the same samples."""

    @small_jit
    def both(q0: Any, x: Any) -> Any:
        back = space.retract(space.retract(q0, x), -x)
        own, other = (
            [(s.w, s.t, s.q, s.v) for s in each.samples(space, 0.0, H, q0, x)]
            for each in (method, Adjoint(method))
        )
        return jax.tree.map(jnp.asarray, ((q0, back), own, other))

    x = 0.2 + 0.15 * np.cos(np.arange(space.dim))
    q0 = jax.tree.map(np.asarray, space.retract(space.identity(), jnp.asarray(-1.3 * x)))
    ends, own, other = jax.tree.map(np.asarray, both(q0, x))
    return near(*ends) and all(any(near(a, b) for b in other) for a in own)


def near(a: Any, b: Any) -> bool:
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.max(np.abs(x - y), initial=0.0) < CLOSE for x, y in leaves)
