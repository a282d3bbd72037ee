"""One chunk of a Zarr array as a file, with the bytes that Zarr would write.

Zarr hands each chunk from thread to thread, which takes ten times as long as to compress it: where
chunks are many and small that is most of what a campaign costs.
"""

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from accion.results.manifest import checksum


def encoded(array: Any, values: np.ndarray) -> bytes | None:
    """The file of a chunk of a Zarr array of format 2, cut along its first axis only, that begins
    with `values`; None where it would read the same without one.
    """
    form = array.metadata
    nothing = blank(values.dtype) if form.fill_value is None else form.fill_value
    chunk = np.full(form.chunks, nothing, values.dtype)
    chunk[: len(values)] = values
    if np.all(chunk != chunk) if nothing != nothing else np.all(chunk == nothing):
        return None
    content: Any = chunk
    for each in form.filters or ():
        content = each.encode(content)
    return bytes(content if form.compressor is None else form.compressor.encode(content))


def blank(dtype: np.dtype) -> Any:
    """What Zarr reads where there is neither a file nor a fill value."""
    return "" if dtype.hasobject else np.zeros((), dtype)[()]


def write(file: Path, array: Any, values: np.ndarray) -> str | None:
    """Write the chunk of an array that begins with `values` as this file, whole or not at all; or
    remove it where it would read the same without one. Returns its checksum, None where it is not
    there.
    """
    content = encoded(array, values)
    if content is None:
        file.unlink(missing_ok=True)
        return None
    partial = file.with_name(f"{file.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as opened:
            opened.write(content)
        os.replace(partial, file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return checksum(content)
