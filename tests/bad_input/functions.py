"""Functions that are not what was asked for: of another arity, with other results, that raise."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np


class Own(Exception):
    """An error of the user's own."""


def raising(error: Exception) -> Callable[..., Any]:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    return broken


def returning(value: Any) -> Callable[..., Any]:
    def constant(*_: Any, **__: Any) -> Any:
        return value

    return constant


def endless(*_: Any) -> Any:
    return endless()


def generating(*_: Any) -> Any:
    yield 1.0


def changed(good: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """What a good function returns, changed."""

    def other(*arguments: Any) -> Any:
        return change(good(*arguments))

    return other


def branching(*arguments: Any) -> Any:
    return 1.0 if arguments[1][0] > 0 else 0.0


def of_numpy(*arguments: Any) -> Any:
    return np.sum(np.sin(np.asarray(arguments[1])))


def indexing(*arguments: Any) -> Any:
    return arguments[1][17]


def bad_functions(good: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """Makers of functions that take the place of a good one."""
    return {
        "no arguments": lambda: lambda: 0.0,
        "one argument": lambda: lambda x: x,
        "nine arguments": lambda: lambda a, b, c, d, e, f, g, h, i: a,
        "keywords only": lambda: lambda *, a=1: a,
        "a class": lambda: Own,
        "a type": lambda: float,
        "its result": lambda: 1.0,
        "returns None": lambda: returning(None),
        "returns a text": lambda: returning("abc"),
        "returns a list": lambda: returning([1.0, 2.0, 3.0]),
        "returns a dictionary": lambda: returning({"a": 1.0}),
        "returns an int": lambda: returning(1),
        "returns a boolean": lambda: returning(True),
        "returns complex": lambda: returning(1j),
        "returns NaN": lambda: returning(jnp.nan),
        "returns nothing": lambda: returning(jnp.zeros(0)),
        "returns a matrix": lambda: returning(jnp.eye(5)),
        "returns an object": lambda: returning(object()),
        "returns a function": lambda: returning(len),
        "its result, complex": lambda: changed(good, lambda x: x + 1j),
        "its result, NaN": lambda: changed(good, lambda x: x * jnp.nan),
        "its result, an axis more": lambda: changed(good, lambda x: jnp.asarray(x)[None]),
        "its result, whole": lambda: changed(good, lambda x: jnp.asarray(x).astype(int)),
        "its result, float32": lambda: changed(good, lambda x: jnp.asarray(x).astype(jnp.float32)),
        "its result, a pair": lambda: changed(good, lambda x: (x, x)),
        "raises its own": lambda: raising(Own("broken on purpose")),
        "raises ValueError": lambda: raising(ValueError("broken on purpose")),
        "raises KeyError": lambda: raising(KeyError("m")),
        "raises nothing to say": lambda: raising(RuntimeError()),
        "raises StopIteration": lambda: raising(StopIteration()),
        "divides by zero": lambda: lambda *_: 1 / 0,
        "endless": lambda: endless,
        "generator": lambda: generating,
        "branches": lambda: branching,
        "of NumPy": lambda: of_numpy,
        "out of range": lambda: indexing,
    }
