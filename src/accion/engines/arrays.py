"""Arrays of values."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

# An array of NumPy's whose entries are each a `Value`; its own types know of numbers only.
ValueArray: TypeAlias = Any
# An equation of a jaxpr, `jax.extend.core.JaxprEqn`, whose own types do not know of shapes.
Equation: TypeAlias = Any


def of_shape(shape: Sequence[int], items: Sequence[Any]) -> ValueArray:
    """An array of objects."""
    flat = np.empty(len(items), object)
    flat[:] = items
    return flat.reshape(shape)


def entries(arrays: Iterable[ValueArray]) -> list[Any]:
    """All entries, one after the other."""
    return [v for a in arrays for v in a.ravel().tolist()]


def unpack(values: Sequence[Any], shapes: Iterable[Sequence[int]]) -> list[ValueArray]:
    """Arrays of these shapes from their entries."""
    arrays: list[ValueArray] = []
    first = 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        arrays.append(of_shape(shape, values[first : first + size]))
        first += size
    return arrays
