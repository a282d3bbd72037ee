"""What draws two agents to their distance: functions of z = q_i - q_j and the distance d that is
wanted.
"""

import jax.numpy as jnp

from accion.arguments import door, reals
from accion.types import Array, Scalar


@door(z=reals, d=reals)
def quartic(z: Array, d: Scalar) -> Array:
    """V = (|z|^2 - d^2)^2 / 4 (Colombo-Gamonal, eq 36), whose force is -(|z|^2 - d^2) z."""
    return 0.25 * (jnp.sum(z * z) - d**2) ** 2


@door(z=reals, d=reals)
def spring(z: Array, d: Scalar) -> Array:
    """V = (|z| - d)^2 / 2, the linear spring; not smooth where two agents meet."""
    return 0.5 * (jnp.sqrt(jnp.sum(z * z)) - d) ** 2
