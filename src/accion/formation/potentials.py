"""What draws two agents to their distance: functions of z = q_i - q_j and the distance d that is
wanted.
"""

from typing import Any

import jax.numpy as jnp

from accion.arguments import door, reals
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, Scalar


@door(z=reals, d=reals)
def quartic(z: Array, d: Scalar) -> Array:
    """V = (|z|^2 - d^2)^2 / 4 (Colombo-Gamonal, eq 36), whose force is -(|z|^2 - d^2) z."""
    return 0.25 * (jnp.sum(z * z) - d**2) ** 2


@door(z=reals, d=reals)
def spring(z: Array, d: Scalar) -> Array:
    """V = (|z| - d)^2 / 2, the linear spring; not smooth where two agents meet."""
    return 0.5 * (jnp.sqrt(jnp.sum(z * z)) - d) ** 2


def check_potential(potential: Any, dimension: int) -> Any:
    """The potential of an edge, (36) where it is None.

    Raises: ValueError where it is no function of (z, d) that returns a scalar.
    """
    if potential is None:
        return quartic
    check_function("potential", potential, "z, d")
    z, d = jnp.zeros(dimension), jnp.ones(())
    found = evaluate("potential", potential, z, d, takes="(z, d) of one edge")
    check_returns("potential", found, (), "a scalar")
    return potential
