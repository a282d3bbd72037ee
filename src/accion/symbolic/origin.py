"""Where the operations of a traced function come from: the user's own lines, or JAX."""

from dataclasses import dataclass, replace
from pathlib import Path

import jax
from jax.extend.core import ClosedJaxpr

# Where a frame of a traceback is not the user's own.
LIBRARIES = (str(Path(jax.__file__).parent), str(Path(__file__).parents[1]))


@dataclass(frozen=True)
class Unknown:
    """What could not be translated; an error only if the result needs it."""

    primitive: str
    where: str | None
    reason: str


def place(eqn):
    """The line of the user's function that an operation comes from, None inside a function that JAX had compiled before."""
    traceback = eqn.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not frame.file_name.startswith(LIBRARIES):
            return f"line {frame.line_num} of {frame.file_name}, in {frame.function_name}"
    return None


def located(value, eqn):
    """`value`; what is unknown without a line gets that of the call it was in."""
    return replace(value, where=place(eqn)) if isinstance(value, Unknown) and value.where is None else value


def is_of_jax(closed):
    """Whether a compiled function is one of JAX's own, and not the user's of the same name."""
    info = getattr(closed.jaxpr if isinstance(closed, ClosedJaxpr) else closed, "debug_info", None)
    return info is not None and info.func_src_info.split(" at ")[-1].startswith(LIBRARIES[0])


def is_used_by_jax(eqn, name):
    """Whether the function `name` of JAX, which an operation stands for, was called by another one of JAX."""
    frames = list(eqn.source_info.traceback.frames) if eqn.source_info.traceback is not None else []
    callers = [frames[i + 1] for i, frame in enumerate(frames[:-1]) if frame.function_name == name]
    return bool(callers) and callers[0].file_name.startswith(LIBRARIES[0])
