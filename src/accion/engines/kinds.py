"""Kinds of numbers."""

from typing import Any

import numpy as np

from accion.engines.errors import Unsupported

FLOAT, INTEGER, BOOLEAN = "f", "i", "b"


def kind_of(dtype: Any) -> str:
    """The kind of numbers of a type of NumPy's."""
    dtype = np.dtype(dtype)
    if dtype == np.float64:
        return FLOAT
    if dtype == np.bool_:
        return BOOLEAN
    if dtype in (np.int32, np.int64):
        return INTEGER
    raise Unsupported(f"numbers of type {dtype}")
