"""What is frozen when a system is built: its functions and the numbers of its params."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from accion.arguments import WHOLE, as_array, is_exact, shown, wrong
from accion.systems.owned import copied
from accion.systems.traced import TracedFunction, number, traced
from accion.systems.tree import is_number
from accion.types import Params

# Examples of the arguments that a text such as "t, q, v, params" names.
Examples = Callable[[str], tuple[Any, ...]]

DEEPEST = 100  # levels of params


@singledispatch
def freeze(f: Any, name: str, arguments: str, examples: Examples) -> Any:
    """The function `f`, which the user knows as `name`, traced at examples of its `arguments`.

    A function that is known in parts, such as mass and potential, registers how they are frozen.
    Without params, one that asks for them stays as it is until they are given.
    """
    if f is None:
        return None
    example = examples(arguments)
    try:
        return traced(name, f, example, f"({arguments})")
    except ValueError as error:
        if example[-1] is not None or not asks_for_params(f, example):
            raise
        return Untraced(f, error)


@freeze.register
def _(f: TracedFunction, name: str, arguments: str, examples: Examples) -> Any:
    if f.fits(examples(arguments)):
        return f
    return freeze(f.source, name, arguments, examples)


class Untraced:
    """A function that cannot be traced before more is known: params, or how many entropies there
    are; with the error that says so.
    """

    def __init__(self, source: Callable[..., Any], error: ValueError) -> None:
        self.source, self.error = source, error

    def __call__(self, *arguments: Any) -> Any:
        return self.source(*arguments)

    @property
    def out(self) -> Any:
        raise self.error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untraced) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)


@freeze.register
def _(f: Untraced, name: str, arguments: str, examples: Examples) -> Any:
    return freeze(f.source, name, arguments, examples)


class NotGiven:
    """In place of params that were not given: whatever is asked of it is taken down."""

    asked = False

    def ask(self, *_: Any) -> Any:
        self.asked = True
        raise TypeError("params were not given")

    __getattr__ = __getitem__ = __iter__ = __len__ = __call__ = __bool__ = __float__ = ask
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = ask
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __array__ = __contains__ = ask


def asks_for_params(f: Callable[..., Any], examples: tuple[Any, ...]) -> bool:
    """Whether `f` looks at its params."""
    params = NotGiven()
    try:
        jax.eval_shape(lambda *before: f(*before, params), *examples[:-1])
    except Exception:
        return params.asked
    return params.asked


# ---------------------------------------------------------------- params


def frozen_params(params: Params, name: str) -> Params:
    """`params` with its numbers as float64, arrays as copies; texts, switches and functions as
    they are.
    """
    if is_too_deep(params):
        wrong(
            f"the params of {name}", "a tree of finite depth, which is not part of itself", params
        )
    return jax.tree.map(lambda leaf: frozen_number(leaf, name) if is_number(leaf) else leaf, params)


def is_too_deep(tree: Any, depth: int = DEEPEST) -> bool:
    """Whether lists, tuples and dictionaries are in each other deeper than anybody means them to
    be, as one that holds itself is.
    """
    parts = tree.values() if isinstance(tree, dict) else tree
    if not isinstance(tree, dict | list | tuple):
        return False
    return depth == 0 or any(is_too_deep(part, depth - 1) for part in parts)


def frozen_number(leaf: Any, name: str) -> Any:
    if isinstance(leaf, float) or (isinstance(leaf, int) and abs(leaf) <= WHOLE):
        return float(leaf)
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return number(leaf.shape)
    array = as_array(leaf)
    kind = None if array is None else array.dtype.kind
    if isinstance(leaf, int) or (kind in ("i", "u") and not is_exact(array)):
        raise ValueError(
            f"the params of {name} become real numbers of 64 bits, which hold whole numbers up to"
            f" 2^53; got {shown(leaf)}."
        )
    if kind not in ("f", "i", "u"):
        real = "real numbers" if kind == "c" else "numbers"
        raise ValueError(
            f"the params of {name} must be {real}, texts, switches or functions; got {shown(leaf)}."
        )
    if isinstance(array, Tracer):
        return array.astype(float)
    if isinstance(array, jax.Array) and array.dtype == np.float64:
        return array
    found = copied(np.asarray(array, dtype=float))
    return found if np.ndim(leaf) else float(found)
