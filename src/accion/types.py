"""The words of the public signatures.

Arrays are those of JAX; where one is asked for, whatever `jnp.asarray` takes serves as well.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.typing

Array: TypeAlias = jax.Array
# What becomes an array: one of JAX or of NumPy, a number, a list of them.
ArrayLike: TypeAlias = jax.typing.ArrayLike | Sequence[Any]
# A number, or a traced one.
Scalar: TypeAlias = jax.Array | float
# A point of a space: an array, of a group a matrix, on a `Product` a tuple of them.
Configuration: TypeAlias = Any
# A velocity or an increment, shape (dim,): on a group that of the body.
Vector: TypeAlias = jax.Array
# A momentum or a force, shape (dim,).
Covector: TypeAlias = jax.Array
# The multipliers of constraints, shape (m,).
Multipliers: TypeAlias = jax.Array
# The user's own pytree: its numbers become float64, the rest passes through.
Params: TypeAlias = Any
# A function of the user: the Lagrangian, a force, a constraint, all with params last.
Function: TypeAlias = Callable[..., Any]
