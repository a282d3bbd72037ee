"""What a user passes, looked at where it comes in: each kind of argument has one check.

A check takes a value and the name of its argument and returns what the function works with: real
numbers as copies in float64, a path as a `Path`. What is wrong is a ValueError with the argument's
name. A public function says what it takes:

    @door(t0=number, steps=count)
    def simulate(system, *, t0=0.0, steps): ...

An argument whose default is None may be None.
"""

import inspect
import math
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion import _config

Check = Callable[[Any, str], Any]
P = ParamSpec("P")
T = TypeVar("T")

WHOLE = 2**53  # beyond it a real number of 64 bits does not hold every whole one
LONG = 200  # letters of a value that an error shows
LONGEST_NAME = 255  # bytes of the name of a file, on every system in use


def door(**kinds: Check) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: the arguments of a public function go through their checks, and the process is
    one in which JAX works.
    """

    def decorate(f: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(f).parameters
        names = tuple(parameters)
        optional = {name for name, each in parameters.items() if each.default is None}
        assert kinds.keys() <= parameters.keys(), f"{f.__name__} has no such arguments"

        def checked(name: str, value: Any) -> Any:
            kind = kinds.get(name)
            if kind is None or (value is None and name in optional):
                return value
            return kind(value, name)

        call: Any = f
        any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())

        @wraps(f)
        def through(*args: P.args, **kwargs: P.kwargs) -> T:
            _config.check_process()
            if not any_name and not kwargs.keys() <= parameters.keys():
                unknown_argument(f.__name__, kwargs, names)
            given: Any = [checked(n, v) for n, v in zip(names, args, strict=False)]
            named: Any = {n: checked(n, v) for n, v in kwargs.items()}
            return call(*given, *args[len(given) :], **named)

        return through

    return decorate


# What other programs call an argument, and what it is called here.
SAID = {
    "duration": ("h", "a run is as long as steps * h; pass both"),
    "step": ("h", "the length of a step is h, their number steps"),
    "dt": ("h", "the length of a step is h"),
    "timestep": ("h", "the length of a step is h"),
    "n": ("steps", "the number of steps is steps"),
    "n_steps": ("steps", "the number of steps is steps"),
    "num_steps": ("steps", "the number of steps is steps"),
    "N": ("steps", "the number of steps is steps"),
    "q": ("q0", "the configuration at the start is q0"),
    "x0": ("q0", "the configuration at the start is q0"),
    "v": ("v0", "the velocity at the start is v0"),
    "p": ("p0", "the momentum at the start is p0"),
    "t": ("t0", "the time at the start is t0"),
    "T": ("duration", "the time from one end to the other is duration"),
    "parameters": ("params", "parameters are params"),
}


def unknown_argument(function: str, given: Iterable[str], names: tuple[str, ...]) -> NoReturn:
    """Raise TypeError for the first argument that a function does not have, with the one that may
    have been meant.
    """
    name = next(each for each in given if each not in names)
    meant, words = SAID.get(name, ("", ""))
    close = get_close_matches(name, names, n=1)
    if meant in names:
        hint = f"{words[0].upper()}{words[1:]}."
    elif close:
        hint = f"Did you mean {close[0]}?"
    else:
        hint = f"It has {', '.join(each for each in names if each != 'self')}."
    raise TypeError(f"{function} has no argument {name!r}. {hint}")


def shown(value: Any) -> str:
    """A value in an error: as Python writes it, cut where it is long."""
    try:
        words = repr(value)
    except Exception:  # whatever an object of the user does when it is asked for its words
        words = f"a {type(value).__name__}"
    return words if len(words) <= LONG else f"{words[:LONG]}..."


def wrong(name: str, words: str, value: Any, error: BaseException | None = None) -> NoReturn:
    """Raise the ValueError of an argument that is not what it should be."""
    raise ValueError(f"{name} must be {words}; got {shown(value)}.") from error


# ---------------------------------------------------------------- real numbers


def reals(value: Any, name: str, words: str = "an array of real numbers") -> Any:
    """`value` as real numbers of 64 bits that nobody else can change; what JAX is tracing, and its
    arrays, stay its own.

    Refused are complex numbers, texts, dates, switches, objects, masked arrays, and whole numbers
    that a real number of 64 bits does not hold. Infinity and NaN are numbers: see `finite`.
    """
    if isinstance(value, float):
        return np.array(value)
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value.copy()
    array = as_array(value)
    kind = "" if array is None else array.dtype.kind
    if kind == "c":
        wrong(name, f"{words}, which are not complex", value)
    if kind not in tuple("fiu"):
        wrong(name, words, value)
    if isinstance(array, Tracer | jax.Array):
        return array if array.dtype == np.float64 else array.astype(float)
    if kind in "iu" and not is_exact(array):
        wrong(name, f"{words}, whole ones up to 2^53, which 64 bits hold", value)
    return np.array(array, dtype=float)


def as_array(value: Any) -> Any:
    """`value` as an array, or None where it is none."""
    if isinstance(value, Tracer | jax.Array):
        return None if jnp.issubdtype(value.dtype, jax.dtypes.extended) else value
    nested = leaves(value) if isinstance(value, list | tuple) else [value]
    if nested is None or any(isinstance(leaf, np.ma.MaskedArray) for leaf in nested):
        return None
    try:
        known = any(isinstance(leaf, Tracer | jax.Array) for leaf in nested)
        return jnp.asarray(value) if known else np.asarray(value)
    except Exception:  # whatever an object of the user does when it is asked for numbers
        return None


def leaves(value: Any, depth: int = 32) -> list[Any] | None:
    """What is in nested lists and tuples; None where they are deeper than an array can be."""
    if depth == 0:
        return None
    found: list[Any] = []
    for part in value:
        if isinstance(part, list | tuple):
            inner = leaves(part, depth - 1)
            if inner is None:
                return None
            found += inner
        else:
            found.append(part)
    return found


def is_exact(whole: Any) -> bool:
    """Whether whole numbers are the same as real numbers of 64 bits; True where they are traced."""
    return isinstance(whole, Tracer) or bool(np.all(np.abs(np.asarray(whole, float)) <= WHOLE))


def is_finite(array: Any) -> bool:
    """Whether all are finite; True where they are traced."""
    return isinstance(array, Tracer) or bool(np.isfinite(array).all())


def finite(value: Any, name: str, words: str = "an array of real numbers") -> Any:
    """`reals` that are finite."""
    array = reals(value, name, words)
    if not is_finite(array):
        raise ValueError(f"{name} must be finite; got {shown(np.asarray(array))}.")
    return array


def number(value: Any, name: str) -> Any:
    """A finite number, as a float where it is known."""
    if type(value) is float and math.isfinite(value):
        return value
    array = reals(value, name, "a finite number")
    if np.ndim(array):
        wrong(name, "a finite number, a single one", value)
    if isinstance(array, Tracer):
        return array
    if not is_finite(array):
        wrong(name, "a finite number", value)
    return float(array)


def lengths(h: Any) -> str:
    """The step of a run in words: "0.1", or "0.01 to 0.1" of steps of unequal lengths."""
    least, most = float(np.min(h)), float(np.max(h))
    return f"{most:g}" if least == most else f"{least:g} to {most:g}"


def positive(value: Any, name: str) -> Any:
    """A number above zero."""
    found = number(value, name)
    if not isinstance(found, Tracer) and not found > 0:
        wrong(name, "a positive number", value)
    return found


def not_negative(value: Any, name: str) -> Any:
    """A number that is not below zero."""
    found = number(value, name)
    if not isinstance(found, Tracer) and not found >= 0:
        wrong(name, "a number >= 0", value)
    return found


def vector(value: Any, name: str) -> Any:
    """Finite numbers in a row."""
    array = finite(value, name, "a list of real numbers")
    if np.ndim(array) != 1:
        wrong(name, "a list of real numbers, of one axis", value)
    return array


def whole(value: Any, name: str, least: int = 1) -> int:
    """A whole number of any kind, `least` or more, as an int of Python."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    hint = ""
    if isinstance(value, float) and value >= least and value.is_integer():
        hint = f" Write {int(value)}, without a point."
    raise ValueError(f"{name} must be a whole number >= {least}; got {shown(value)}.{hint}")


def at_least(least: int) -> Check:
    """A check for a whole number that is not below `least`."""
    return lambda value, name: whole(value, name, least)


count = at_least(1)
SEED = 2**128  # a seed of NumPy's generators may be longer; nobody needs it


def seed(value: Any, name: str) -> int:
    """A whole number that begins a sequence of random ones."""
    found = whole(value, name, 0)
    if found >= SEED:
        wrong(name, "a whole number below 2^128", value)
    return found


# ---------------------------------------------------------------- words


def switch(value: Any, name: str) -> bool:
    """True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    wrong(name, "True or False", value)


def text(value: Any, name: str) -> str:
    """A text."""
    if isinstance(value, str):
        return value
    wrong(name, "a text", value)


def one_of(*known: Any) -> Check:
    """A check for one of several texts."""

    def check(value: Any, name: str) -> Any:
        if any(type(value) is type(each) and value == each for each in known):
            return value
        wrong(name, f"one of {', '.join(map(repr, known))}", value)

    return check


def path(value: Any, name: str) -> Path:
    """Where a file or a folder is."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        wrong(name, "a path, a text or a pathlib.Path", value)
    given = os.fspath(value)
    if not given or "\0" in given:
        wrong(name, "the path of a file or a folder", value)
    found = Path(given)
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in found.parts):
        wrong(name, f"a path of names of at most {LONGEST_NAME} bytes", value)
    return found


def instance(kind: Any, words: str) -> Check:
    """A check for an object of a class."""

    def check(value: Any, name: str) -> Any:
        if isinstance(value, kind):
            return value
        wrong(name, words, value)

    return check
