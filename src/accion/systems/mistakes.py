"""A mistake inside a function of the user, told with its line and what to do about it."""

import linecache
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import jax
import numpy as np

from accion.errors import GIVEN
from accion.systems.origin import LIBRARIES

NOT_THE_USERS = (*LIBRARIES, str(Path(np.__file__).parent))
# How deep params are named: body.wheel.m
LEVELS = 3

USE_JNP = (
    "Write it with jax.numpy, jnp.cos(x) for np.cos(x) or math.cos(x): numpy, math, float() and"
    " int() take numbers only, and here letters stand for numbers."
)
USE_WHERE = (
    "Choose by jnp.where(condition, a, b), not by `if`, `and`, `or`, `while`, min() or max(): the"
    " function is read once, for all numbers."
)
KEEP_OUT = (
    "A number of params that counts or indexes must be kept out of params: params become real"
    " numbers, which may change from run to run."
)
# What JAX and NumPy say of a number that should count or index.
AS_INDEX = ("Shapes must be", "scalar index", "Indexer must have integer")
NOT_GIVEN = "params were not given: pass params={...} where the system is made."


def not_evaluable(name: str, error: Exception, takes: str) -> NoReturn:
    """Raise an error in the user's function as one that says where it is and what to do.

    Arguments:
        name: what the user knows the function by.
        error: what was raised while it was called.
        takes: its arguments, "(t, q, v, params)".
    """
    notes = [note for note in getattr(error, "__notes__", []) if note.endswith(GIVEN)]
    first = " ".join([*str(error).splitlines()[:1], *notes])
    frame = user_frame(error)
    words = [
        f"{name} could not be evaluated ({type(error).__name__}: {first}){place_of(frame)}.",
        remedy(error, params_of(frame)),
        f"Its arguments are {takes}.",
    ]
    raise ValueError(" ".join(filter(None, words))) from error


def user_frame(error: BaseException) -> tuple[FrameType, int] | None:
    """The innermost frame of the error that is not in a library, with its line."""
    found, traceback = None, error.__traceback__
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(NOT_THE_USERS):
            found = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def place_of(found: tuple[FrameType, int] | None) -> str:
    """The line of a frame in words, with its text where its file can be read."""
    if found is None:
        return ""
    frame, number = found
    code = frame.f_code
    text = linecache.getline(code.co_filename, number).strip()
    where = f": line {number} of {code.co_filename}, in {code.co_name}"
    return where + (f", `{text}`" if text else "")


def params_of(found: tuple[FrameType, int] | None) -> Any:
    """What the last argument of a frame's function is: params, as functions are written here."""
    if found is None:
        return None
    frame, code = found[0], found[0].f_code
    last = code.co_varnames[: code.co_argcount][-1:]
    return frame.f_locals.get(last[0]) if last else None


def remedy(error: BaseException, params: Any) -> str:
    """What to do about the one mistake that was made; "" where nothing is known of it."""
    match error:
        case KeyError() if isinstance(params, dict):
            return missing(error.args[0] if error.args else None, params)
        case jax.errors.TracerArrayConversionError():
            return USE_JNP
        case jax.errors.TracerBoolConversionError() | jax.errors.NonConcreteBooleanIndexError():
            return USE_WHERE
        case jax.errors.TracerIntegerConversionError():
            return KEEP_OUT
        case jax.errors.ConcretizationTypeError():
            return KEEP_OUT if "`int`" in str(error) else USE_JNP
        case TypeError() if "NoneType" in str(error) and params is None:
            return NOT_GIVEN
        case TypeError() if any(words in str(error) for words in AS_INDEX):
            return KEEP_OUT
    return ""


def missing(key: Any, params: dict[Any, Any]) -> str:
    """The names that params have, and the one that may have been meant."""
    names = list(named(params))
    close = get_close_matches(str(key), [name.split(".")[-1] for name in names], n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    return f"params has no {key!r}; it has {', '.join(names) or 'nothing'}.{meant}"


def named(params: dict[Any, Any], before: str = "", levels: int = LEVELS) -> Iterator[str]:
    """The names of params, those inside others as body.m."""
    for key, value in params.items():
        if isinstance(value, dict) and levels > 1:
            yield from named(value, f"{before}{key}.", levels - 1)
        else:
            yield f"{before}{key}"
