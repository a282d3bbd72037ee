"""Functions of Python that a compiled program calls back (`jax.pure_callback` and its kin): which
they are, and what they raised.
"""

import functools
import logging
import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import jax
import numpy as np

from accion.systems.content import Opaque
from accion.systems.origin import operations

PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Callbacks(tuple[Opaque, ...]):
    """The functions that a program calls back, compared as Python compares them; a Program's code
    has only their number.
    """

    @property
    def text(self) -> str:
        """What they do, the same in every process: their code, and the numbers that they use."""
        return "\n".join(word for each in self for word in words_of(each.value, set()))


def callbacks_of(jaxpr: Any) -> Callbacks:
    """Those of a traced program."""
    found = [
        eqn.params["callback"] for eqn in operations(jaxpr) if "callback" in eqn.primitive.name
    ]
    return Callbacks(map(Opaque, found))


def words_of(value: Any, seen: set[int]) -> Iterator[str]:
    """What a value of Python is, in texts that do not depend on where it lies in memory."""
    if isinstance(value, PLAIN):
        yield repr(value)
        return
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        yield f"{array.dtype}{array.shape}{array.tobytes().hex()}"
        return
    yield type(value).__qualname__
    if id(value) in seen:
        return
    seen.add(id(value))
    for part in parts_of(value):
        yield from words_of(part, seen)


def parts_of(value: Any) -> list[Any]:
    """What a value is made of."""
    if isinstance(value, types.CodeType):
        return [value.co_code, *value.co_names, *value.co_consts]
    if isinstance(value, types.FunctionType):
        named = [value.__globals__.get(name) for name in value.__code__.co_names]
        used = [a for a in named if isinstance(a, (*PLAIN, np.ndarray, types.FunctionType))]
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, *cells, *used]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, types.ModuleType | type):
        return [value.__name__]
    if is_dataclass(value):  # JAX's own, around the user's function, has no __dict__
        return [getattr(value, field.name) for field in fields(value)]
    return list(getattr(value, "__dict__", {}).values())


@contextmanager
def unsaid() -> Iterator[None]:
    """JAX says nothing of an error in a function that is called back: its words are kept with the
    member.
    """
    logger = logging.getLogger("jax._src.callback")

    def other(record: logging.LogRecord) -> bool:
        return "callback failed" not in record.getMessage()

    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def raised_words(error: Exception) -> str | None:
    """The error of a function that was called back, as "ValueError: ..."; None where XLA's error
    is another one.
    """
    text = str(error)
    if "callback" not in text.partition("\n")[0].lower():
        return None
    found = re.findall(r"^(?!INTERNAL)[\w.]+(?:: .+)?$", text, re.MULTILINE)
    return found[-1] if found else text.strip().splitlines()[-1]
