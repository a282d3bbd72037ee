"""Arrays of values."""

import numpy as np


def of_shape(shape, items):
    """An array of objects."""
    flat = np.empty(len(items), object)
    flat[:] = items
    return flat.reshape(shape)


def entries(arrays):
    """All entries, one after the other."""
    return [v for a in arrays for v in a.ravel().tolist()]


def unpack(values, shapes):
    """Arrays of these shapes from their entries."""
    arrays, first = [], 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        arrays.append(of_shape(shape, values[first : first + size]))
        first += size
    return arrays
