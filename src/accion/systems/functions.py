"""What a user's function returns, looked at before it is used."""

from typing import Any

import jax
import jax.numpy as jnp

from accion.systems.indices import check_indices
from accion.systems.mistakes import not_evaluable
from accion.types import Configuration, Function


def evaluate(name: str, f: Function, *arguments: Configuration, takes: str) -> Any:
    """What `f` returns, in shape and type; an error in the user's function is raised as one that
    says what to look for, and what it `takes`. Constant indices are looked at too.
    """
    try:
        traced, out = jax.make_jaxpr(f, return_shape=True)(*arguments)
    except Exception as error:
        not_evaluable(name, error, takes)
    check_indices(name, traced)
    return out


def returned(f: Any) -> Any:
    """What a function of a system returns, in shape and type: known since it was traced."""
    return f.out


def check_returns(name: str, out: Any, shape: Any, words: Any) -> Any:
    """`out` if it has the `shape` (None: any vector) and is real."""
    if not isinstance(out, jax.ShapeDtypeStruct) or (
        out.shape != shape if shape is not None else len(out.shape) != 1 or out.shape[0] < 1
    ):
        raise ValueError(f"{name} must return {words}; it returned {describe(out)}.")
    if out.dtype != jnp.float64:
        raise ValueError(
            f"{name} must return real numbers of 64 bits; it returned {out.dtype}. Are there params"
            " of another type?"
        )
    return out


def describe(out: Any) -> Any:
    return (
        f"an array of shape {out.shape}"
        if isinstance(out, jax.ShapeDtypeStruct)
        else f"a {type(out).__name__}"
    )
