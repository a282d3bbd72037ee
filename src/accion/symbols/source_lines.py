"""Where the operations of a traced function come from: the user's own lines, or JAX."""

from dataclasses import dataclass, replace
from typing import Any

from jax.extend.core import JaxprEqn

from accion.systems.origin import LIBRARIES, is_of_jax as is_of_jax, place as place


@dataclass(frozen=True)
class Unknown:
    """What could not be translated; an error only if the result needs it."""

    primitive: str
    where: str | None
    reason: str


def located(value: Any, eqn: JaxprEqn) -> Any:
    """`value`; what is unknown without a line gets that of the call it was in."""
    if isinstance(value, Unknown) and value.where is None:
        return replace(value, where=place(eqn))
    return value


def is_used_by_jax(eqn: JaxprEqn, name: str) -> bool:
    """Whether the function `name` of JAX, which an operation stands for, was called by another one
    of JAX.
    """
    frames = list(eqn.source_info.traceback.frames) if eqn.source_info.traceback is not None else []
    callers = [frames[i + 1] for i, frame in enumerate(frames[:-1]) if frame.function_name == name]
    return bool(callers) and callers[0].file_name.startswith(LIBRARIES[0])
