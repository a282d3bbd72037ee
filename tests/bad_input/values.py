"""Values that no argument was meant to have: of every type, every shape and every size."""

import datetime
import decimal
import fractions
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Maker = Callable[[], Any]


def masked() -> Any:
    return np.ma.masked_array([1.0, 2.0], mask=[False, True])


def ragged() -> Any:
    return [[1.0], [1.0, 2.0]]


def itself() -> Any:
    own: list[Any] = []
    own.append(own)
    return own


class Stubborn:
    """An object that answers every question with an error."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


# What is no real number, whatever stands in it: to be refused wherever real numbers are asked for.
NOT_REAL: dict[str, Maker] = {
    "text": lambda: "abc",
    "empty text": lambda: "",
    "text of a number": lambda: "1.0",
    "bytes": lambda: b"1",
    "complex": lambda: 1j,
    "complex 1": lambda: 1 + 0j,
    "complex array": lambda: np.array([1.0 + 0j, 2.0]),
    "JAX complex": lambda: jnp.array([1.0 + 1j, 2.0]),
    "masked array": masked,
    "masked number": lambda: np.ma.masked,
    "date": lambda: datetime.date(2026, 1, 1),
    "time of NumPy": lambda: np.datetime64("2026-01-01"),
    "times": lambda: np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[s]"),
    "spans": lambda: np.array([1, 2], dtype="timedelta64[s]"),
    "span": lambda: datetime.timedelta(seconds=1),
    "texts": lambda: np.array(["1.0", "2.0"]),
    "list of texts": lambda: ["1.0", "2.0"],
    "objects": lambda: np.array([1.0, None], dtype=object),
    "objects that are numbers": lambda: np.array([1.0, 2.0], dtype=object),
    "list with None": lambda: [1.0, None],
    "decimal": lambda: decimal.Decimal("1.5"),
    "fractions": lambda: [fractions.Fraction(1, 2), fractions.Fraction(1, 3)],
    "records": lambda: np.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
    "object": lambda: object(),
    "stubborn": Stubborn,
    "a class": lambda: float,
    "a function": lambda: len,
    "set": lambda: {1.0, 2.0},
    "dictionary": lambda: {"a": 1.0},
    "empty dictionary": dict,
    "iterator": lambda: iter([1.0, 2.0]),
    "key of JAX": lambda: jax.random.key(0),
    "path": lambda: pathlib.Path("abc"),
    "ragged": ragged,
    "list of itself": itself,
}

# What is real, and may be good or bad.
REAL: dict[str, Maker] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "7": lambda: 7,
    "1.5": lambda: 1.5,
    "-2.5": lambda: -2.5,
    "10^30": lambda: 10**30,
    "-10^30": lambda: -(10**30),
    "2^63": lambda: 2**63,
    "2^64 + 1": lambda: 2**64 + 1,
    "3e9": lambda: 3_000_000_000,
    "10^400": lambda: 10**400,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e300": lambda: 1e300,
    "1e-320": lambda: 1e-320,
    "0.0": lambda: 0.0,
    "float32": lambda: np.float32(0.5),
    "int8": lambda: np.int8(3),
    "uint64": lambda: np.uint64(2**64 - 1),
    "empty list": list,
    "empty tuple": tuple,
    "empty array": lambda: np.zeros(0),
    "no columns": lambda: np.zeros((3, 0)),
    "three axes": lambda: np.ones((1, 1, 1)),
    "one of two": lambda: np.ones(1),
    "vector": lambda: np.array([0.3, 0.4]),
    "tuple": lambda: (0.3, 0.4),
    "long": lambda: np.ones(1000),
    "matrix": lambda: np.eye(3),
    "NaN in a vector": lambda: np.array([np.nan, 0.0]),
    "inf in a vector": lambda: np.array([0.0, np.inf]),
    "huge vector": lambda: np.array([1e300, -1e300]),
    "booleans": lambda: np.array([True, False]),
    "int8 vector": lambda: np.array([100, 100], dtype=np.int8),
    "large integers": lambda: np.array([2**62, 2**62]),
    "list of 10^30": lambda: [10**30, 10**30],
    "float16": lambda: np.array([1.0, 2.0], dtype=np.float16),
    "float32 of JAX": lambda: jnp.array([1.0, 2.0], dtype=jnp.float32),
    "range": lambda: range(2),
    "pair of texts": lambda: ("q", "v"),
    "pair of None": lambda: (None, None),
    "pair of functions": lambda: (len, len),
    "other folder": lambda: "/nowhere/at/all",
    "a device": lambda: "/dev/null",
    "NUL": lambda: "a\0b",
    "long name": lambda: "x" * 5000,
}

EVERYTHING = REAL | NOT_REAL


def altered(good: Any) -> dict[str, Maker]:
    """Values made of a good one, an array or a number: nearly right."""
    if isinstance(good, bool) or not isinstance(good, int | float | np.ndarray | jax.Array):
        return {}
    array = np.asarray(good, dtype=float)
    first = np.zeros(array.shape, bool)
    first[(0,) * array.ndim] = True
    return {
        "its first NaN": lambda: np.where(first, np.nan, array),
        "its first inf": lambda: np.where(first, np.inf, array),
        "its first 1e300": lambda: np.where(first, 1e300, array),
        "its negative": lambda: -array,
        "times 1e200": lambda: array * 1e200,
        "times 0": lambda: array * 0,
        "one axis more": lambda: array[None],
        "two of it": lambda: np.stack([array, array]),
        "flat": array.ravel,
        "without its last": lambda: array[..., :-1] if array.ndim else np.zeros(0),
        "as a list": array.tolist,
        "of float32": lambda: array.astype(np.float32),
        "of JAX": lambda: jnp.asarray(array),
    }


def altered_not_real(good: Any) -> dict[str, Maker]:
    """The same, of kinds that are no real numbers."""
    if isinstance(good, bool) or not isinstance(good, int | float | np.ndarray | jax.Array):
        return {}
    array = np.asarray(good, dtype=float)
    return {
        "its texts": lambda: array.astype(str),
        "as a text": lambda: str(array.tolist()),
        "as complex": lambda: array + 0j,
        "as a complex list": lambda: (array + 0j).tolist(),
        "masked": lambda: np.ma.masked_array(array, mask=array == array.flat[0]),
        "masked nowhere": lambda: np.ma.masked_array(array),
        "as objects": lambda: array.astype(object),
        "as dates": lambda: array.astype("datetime64[s]"),
    }
