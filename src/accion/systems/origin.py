"""Where an operation of a traced function comes from: the user's own line."""

from pathlib import Path
from typing import Any

import jax

from accion.jaxprs import is_jaxpr, parts

# Where a frame of a traceback is not the user's own.
LIBRARIES = (str(Path(jax.__file__).parent), str(Path(__file__).parents[1]))


def user_frame(eqn: Any) -> Any:
    """The frame of the user's function that an operation comes from, None inside a function that
    JAX had compiled before.
    """
    traceback = eqn.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not frame.file_name.startswith(LIBRARIES):
            return frame
    return None


def place(eqn: Any) -> str | None:
    """The line of the user's function that an operation comes from, in words."""
    frame = user_frame(eqn)
    return (
        None
        if frame is None
        else f"line {frame.line_num} of {frame.file_name}, in {frame.function_name}"
    )


def is_of_jax(closed: Any) -> Any:
    """Whether a compiled function is one of JAX's own, and not the user's of the same name."""
    info = getattr(parts(closed)[0], "debug_info", None)
    return info is not None and info.func_src_info.split(" at ")[-1].startswith(LIBRARIES[0])


def functions_in(eqn: Any) -> Any:
    """The traced functions that an operation holds."""
    return [found for value in eqn.params.values() for found in jaxprs(value)]


def jaxprs(value: Any) -> Any:
    if is_jaxpr(value):
        return [value]
    return (
        [found for part in value for found in jaxprs(part)]
        if isinstance(value, tuple | list)
        else []
    )


def operations(jaxpr: Any) -> Any:
    """All operations of a traced function, those of the functions inside it too."""
    for eqn in parts(jaxpr)[0].eqns:
        yield eqn
        for inner in functions_in(eqn):
            yield from operations(inner)
