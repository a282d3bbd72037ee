"""The codecs of a store, looked at before anything is decoded: some that Zarr knows run code that
is in the file (`pickle`).
"""

import json
from collections.abc import Iterator
from typing import Any

from accion.results.manifest import Files

KNOWN = ("blosc", "gzip", "lz4", "vlen-utf8", "zlib", "zstd")


def check_codecs(files: Files) -> None:
    """Raise ValueError where an array of a store was encoded by a codec that accion never used."""
    for name in files:
        if name.rsplit("/", 1)[-1] not in (".zarray", ".zmetadata"):
            continue
        try:
            found = json.loads(files.read(name))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{files.path} cannot be read: its file {name} ({error}).") from error
        for codec in codecs_of(found):
            if codec not in KNOWN:
                raise ValueError(
                    f"{files.path} is not read: its file {name} asks for the codec {codec!r}, which"
                    f" accion never writes and which may run code. Known are {', '.join(KNOWN)}."
                )


def codecs_of(found: Any) -> Iterator[Any]:
    """The names of the codecs in the metadata of one array, or of all of them."""
    if not isinstance(found, dict):
        return
    entries = found.get("metadata", {}) if "metadata" in found else {"": found}
    for entry in entries.values() if isinstance(entries, dict) else ():
        if isinstance(entry, dict):
            for codec in (entry.get("compressor"), *(entry.get("filters") or ())):
                if codec is not None:
                    yield codec.get("id") if isinstance(codec, dict) else codec
