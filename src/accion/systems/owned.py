"""Traced functions that hold nothing of anybody else: their constants are copies.

What JAX keeps of an array of NumPy is the array itself, so that what is written into it later
changes the function.
"""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import Literal

from accion.jaxprs import is_jaxpr, parts, with_constants
from accion.systems.content import is_array
from accion.systems.origin import functions_in, is_of_jax, operations


def copied(value: Any) -> Any:
    """A constant that nobody else can change; what is traced, or unknown to NumPy, as it is."""
    if isinstance(value, Tracer) or not is_array(value):
        return value
    array = np.array(value)
    array.flags.writeable = False
    return array


def owned(value: Any) -> Any:
    """A jaxpr, or what holds some, with copies of the constants in the functions inside it; the
    same object where there are none.
    """
    if is_jaxpr(value):
        return value if is_library(value) else owned_jaxpr(value)
    if isinstance(value, tuple | list):
        parts = [owned(part) for part in value]
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return (
            type(value)(*parts) if isinstance(value, tuple) and named(value) else type(value)(parts)
        )
    return value


def owned_jaxpr(function: Any) -> Any:
    jaxpr, consts = parts(function)
    own = with_parts(jaxpr, eqns=list(map(operation, jaxpr.eqns)), outvars=atoms(jaxpr.outvars))
    if own is jaxpr and not consts:
        return function
    return with_constants(function, own, [copied(c) for c in consts])


def is_library(jaxpr: Any) -> bool:
    """Whether a function and all that it holds are of JAX: then no constant is the user's."""
    return is_of_jax(jaxpr) and all(
        is_of_jax(inner) for eqn in operations(jaxpr) for inner in functions_in(eqn)
    )


def operation(eqn: Any) -> Any:
    params = {name: owned(value) for name, value in eqn.params.items()}
    same = all(value is eqn.params[name] for name, value in params.items())
    return with_parts(eqn, invars=atoms(eqn.invars), params=eqn.params if same else params)


def with_parts(whole: Any, **parts: Any) -> Any:
    """A jaxpr or an operation with other parts; itself where they are its own."""
    changed = {
        name: new
        for name, new in parts.items()
        if len(new) != len(old := getattr(whole, name)) or not is_same(new, old)
    }
    return whole.replace(**changed) if changed else whole


def is_same(new: Any, old: Any) -> bool:
    if isinstance(new, dict):
        return new is old
    return all(a is b for a, b in zip(new, old, strict=True))


def atoms(values: Any) -> list[Any]:
    return list(map(atom, values))


def atom(value: Any) -> Any:
    """A variable, or a number in place of one that has no memory of its own."""
    if not isinstance(value, Literal) or not isinstance(value.val, np.ndarray):
        return value
    known: Any = value
    number = known.val.item() if known.aval.weak_type else np.asarray(known.val)[()]
    return Literal(number, known.aval)


def named(value: tuple[Any, ...]) -> bool:
    return getattr(value, "_fields", None) is not None


def is_float(value: Any) -> bool:
    """Whether it is real floating point numbers, traced or not."""
    if isinstance(value, float):
        return True
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(jax.numpy.issubdtype(dtype, np.floating))
