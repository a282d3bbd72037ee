"""What a traced function does, as a short name: equal for equal operations on equal constants.

Two functions that were traced to the same operations, on the same shapes and types and with the
same numbers, have the same content, whoever wrote them and wherever. So compiled programs can be
kept by it.
"""

import hashlib
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from jax.extend.core import Literal

from accion.jaxprs import is_jaxpr, parameters, parts

# Rules of derivatives are functions of Python, new in each trace: what they do is seen in the
# derivatives.
RULES = ("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "out_trees")
PLAIN = (type(None), bool, int, float, complex, str, bytes, type, np.dtype, Enum)


class Content(NamedTuple):
    """The content of a function: a digest, the same in every process, and what has no digest,
    compared as Python compares it.
    """

    digest: str
    rest: "tuple[Opaque, ...]"


class Opaque:
    """Something without a digest: compared by value where Python can, else the thing itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Opaque):
            return NotImplemented
        if self.value is other.value or not isinstance(self.value, Hashable):
            return self.value is other.value
        return type(self.value) is type(other.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def content_of(*jaxprs: Any) -> Content:
    """The content of traced functions."""
    reader = Reader()
    for jaxpr in jaxprs:
        reader.read(jaxpr)
    return Content(reader.digest.hexdigest(), tuple(reader.rest))


class Reader:
    """Reads traced functions into a digest."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.rest: list[Opaque] = []

    def write(self, *words: Any) -> None:
        self.digest.update("\x1f".join(map(str, words)).encode())
        self.digest.update(b"\x1e")

    def read(self, value: Any) -> None:
        """Anything that an operation has as a parameter."""
        if is_jaxpr(value):
            jaxpr, consts = parts(value)
            self.write("constants", len(consts))
            self.read_all(consts)
            self.jaxpr(jaxpr)
        elif isinstance(value, PLAIN):
            self.write(type(value).__name__, repr(value))
        elif isinstance(value, dict):
            self.write("dict", len(value), *map(repr, value))
            self.read_all(value.values())
        elif isinstance(value, tuple | list):
            self.write(type(value).__name__, len(value))
            self.read_all(value)
        elif is_array(value):
            self.array(np.asarray(value))
        else:
            found = next((i for i, known in enumerate(self.rest) if known.value is value), None)
            self.write("rest", len(self.rest) if found is None else found)
            if found is None:
                self.rest.append(Opaque(value))

    def read_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.read(value)

    def array(self, a: np.ndarray) -> None:
        self.write("array", a.dtype, a.shape)
        self.digest.update(np.ascontiguousarray(a).tobytes())

    def jaxpr(self, jaxpr: Any) -> None:
        """The operations, with variables by the order in which they appear."""
        numbers: dict[Any, int] = {}

        def atom(a: Any) -> str:
            if isinstance(a, Literal):
                value = np.asarray(a.val)
                return f"{kind(a.aval)}={value.dtype}:{value.tobytes().hex()}"
            return f"{numbers.setdefault(a, len(numbers))}:{kind(a.aval)}"

        self.write("inputs", *map(atom, (*jaxpr.constvars, *jaxpr.invars)))
        for eqn in jaxpr.eqns:
            self.write(eqn.primitive.name, *map(atom, eqn.invars), "->", *map(atom, eqn.outvars))
            for name, value in sorted(parameters(eqn).items()):
                if name not in RULES:
                    self.write(name)
                    self.read(value)
        self.write("outputs", *map(atom, jaxpr.outvars))


def kind(aval: Any) -> str:
    """The type of a value: entries, shape, and whether they give way to other types."""
    shape, weak = getattr(aval, "shape", ""), getattr(aval, "weak_type", "")
    return f"{getattr(aval, 'dtype', aval)}{shape}{weak}"


def is_array(value: Any) -> bool:
    """Whether it is an array of numbers that NumPy knows."""
    return isinstance(getattr(value, "dtype", None), np.dtype) and bool(
        np.issubdtype(value.dtype, np.number) or np.issubdtype(value.dtype, np.bool_)
    )
