"""Arrays: NumPy or JAX, whichever knows the numbers; rows one after the other."""

from functools import cache
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def module_of(tree: Any) -> ModuleType:
    """`jax.numpy` where something in `tree` is traced, NumPy elsewhere: it compiles nothing."""
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))
    return jnp if traced else np


def for_good(numbers: Any) -> np.ndarray:
    """An array of NumPy that nobody writes into: quicker to look at than one of JAX's."""
    array = np.asarray(numbers)
    array.setflags(write=False)
    return array


@cache
def unit_matrix(n: int) -> np.ndarray:
    """The unit matrix of this size, made once."""
    return for_good(np.eye(n))


def determinant(matrix: np.ndarray) -> float:
    """The determinant, of small ones without a library: that takes longer to call."""
    if len(matrix) == 2:
        (a, b), (c, d) = matrix.tolist()
        return a * d - b * c
    if len(matrix) == 3:
        (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
        return a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return float(np.linalg.det(matrix))


NARROW = 8  # numbers in a row


def with_head(head: Any, rows: Any, axis: int, own: Any = np) -> Any:
    """`head` and then `rows`, along an axis of these, in a memory of their own; by the module
    `own`, NumPy or JAX's.

    Rows may be parts of longer ones. NumPy copies such row by row; where they are narrow it takes a
    fifth of the time to copy column by column.
    """
    before = (slice(None),) * axis
    if own is not np:
        return own.concatenate([own.asarray(head)[(*before, None)], rows], axis=axis)
    rows = np.asarray(rows)
    found = np.empty(
        (*rows.shape[:axis], rows.shape[axis] + 1, *rows.shape[axis + 1 :]), rows.dtype
    )
    found[(*before, 0)] = head
    after = (*before, slice(1, None))
    if rows.ndim == axis + 2 and rows.shape[-1] <= NARROW:
        for i in range(rows.shape[-1]):
            found[(*after, i)] = rows[..., i]
    else:
        found[after] = rows
    return found
