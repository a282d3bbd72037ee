"""Where an operation of a traced function comes from: the user's own line."""

from pathlib import Path

import jax

# Where a frame of a traceback is not the user's own.
LIBRARIES = (str(Path(jax.__file__).parent), str(Path(__file__).parents[1]))


def user_frame(eqn):
    """The frame of the user's function that an operation comes from, None inside a function that
    JAX had compiled before.
    """
    traceback = eqn.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not frame.file_name.startswith(LIBRARIES):
            return frame
    return None


def place(eqn):
    """The line of the user's function that an operation comes from, in words."""
    frame = user_frame(eqn)
    return (
        None
        if frame is None
        else f"line {frame.line_num} of {frame.file_name}, in {frame.function_name}"
    )
