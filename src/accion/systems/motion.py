"""How points move that are functions of time and configuration."""

from typing import Any

import jax
import jax.numpy as jnp

from accion.arguments import finite
from accion.errors import in_function
from accion.spaces import Space
from accion.types import Configuration, Function, Params, Scalar, Vector


def displaced(f: Function, space: Space | None, q: Configuration, params: Params) -> Any:
    """The function (t, eta) -> f(t, retract(q, eta), params): `f` in local coordinates, so that
    derivatives exist on every space.
    """
    return lambda t, eta: f(t, q + eta if space is None else space.retract(q, eta), params)


def motion(
    f: Function, space: Space | None, t: Scalar, q: Configuration, v: Vector, params: Params
) -> Any:
    """(f, df/dt + df/dq v), a function of (t, q, params) and its rate along the motion (Romero, eq
    2); `space` None means a vector q.
    """
    t = jnp.asarray(t, float)
    return jax.jvp(displaced(f, space, q, params), (t, jnp.zeros_like(v)), (jnp.ones_like(t), v))


def floating(x: Any) -> Any:
    """`x` as an array of floating point numbers; complex ones and those of 32 bits stay, for
    `System.check` to find.
    """
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)


def check_numbers(name: str, value: Any, words: Any) -> Any:
    """`value` as float64 array if it consists of finite numbers; a function of params is left as it
    is.
    """
    if callable(value):
        return value
    return jnp.asarray(finite(value, name, f"{words}, or a function of params"))


def read(name: str, value: Any, params: Params, shapes: Any, words: Any) -> Any:
    """The numbers `value`, or value(params), with one of the `shapes`."""
    with in_function(name):
        numbers = floating(value(params) if callable(value) else value)
    if numbers.shape not in shapes:
        raise ValueError(f"{name} must be {words}; got shape {numbers.shape}.")
    return numbers
