"""Zarr stores: the one place where folders of results are written, replaced and read.

A store is written beside its path and moved there, so that the path holds all of it or is left as
it was (`folders.replacing`), by one writer at a time (`lock.locked`). An attribute says what it
holds and in which format; a manifest has a checksum of each of its files (`manifest`).
"""

import json
import platform
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accion.errors import NoChecksums
from accion.results.codecs import check_codecs
from accion.results.folders import check_ending, is_cut_off, recover, replacing
from accion.results.lock import HELD, cannot_write, locked, real
from accion.results.manifest import BASE, Damaged, Files, all_files, seal
from accion.results.writing import Written

if TYPE_CHECKING:
    import xarray as xr

ZARR_FORMAT = 2
ATTRIBUTES = ".zattrs"
CHECKSUMS = {"checksums": "sha256"}  # an attribute: the store has a manifest
COPY = "Take a copy of it, or make it anew."


@dataclass(frozen=True)
class Format:
    """What a store holds.

    Arguments:
        what: in words, "a saved trajectory".
        key: the attribute that a store of this format has.
        number: its value, raised when an older accion could not read the store; lower ones are
            read still.
        otherwise: how to write the same in another format, a sentence.
        before: an attribute that stores of the first format have, where they had no number.
        repair: what to do about a store that is damaged, a sentence.
    """

    what: str
    key: str
    number: int
    otherwise: str
    before: str | None = None
    repair: str = COPY

    def check(self, attributes: dict[str, Any], path: Path) -> None:
        """Raise ValueError unless a store with these attributes can be read."""
        found = attributes.get(self.key)
        if not isinstance(found, int) or not 1 <= found <= self.number:
            raise ValueError(
                f"{path} is not {self.what} that this accion can read (format {found}, expected"
                f" {self.number})."
            )


class Blank(NamedTuple):
    """An array of a store that is laid out before its values are known."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]  # each is a file of its own
    dtype: np.dtype
    fill: Any  # what it reads as where nothing was written; None where there is no such value
    attrs: dict[str, Any]


def versions(packages: Iterable[str]) -> str:
    """The versions of Python and of `packages`, as JSON."""
    return json.dumps(
        {"python": platform.python_version()} | {name: version(name) for name in packages}
    )


def now() -> str:
    """The time at which a store is made."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def as_text(words: Iterable[str]) -> np.ndarray:
    """Words as an array of objects: text of a fixed width has no settled form in Zarr."""
    return np.array(list(words), dtype=object)


# ---------------------------------------------------------------- writing


def write(dataset: "xr.Dataset", path: str | Path, form: Format, overwrite: bool = False) -> None:
    """Write a Dataset as a Zarr store, whole or not at all.

    Arguments:
        dataset: what is written; the attribute `form.key` is added to it.
        path: a folder that does not exist yet, without an ending or with .zarr.
        form: what it is.
        overwrite: whether a store of the same form that is there is replaced.

    Raises:
        FileExistsError: where something is there that must not be replaced.
        FileNotFoundError: where the folder around it does not exist.
        OSError: where it cannot be written.
    """
    words = {
        name: (variable.dims, as_text(variable.values), variable.attrs)
        for name, variable in dataset.coords.items()
        if variable.dtype.kind == "U"
    }
    check_place(path, form)
    with locked(path, form.what), replaced(path, form, overwrite) as new:
        marks = {form.key: form.number} | CHECKSUMS
        marked = dataset.assign_coords(words).assign_attrs(marks)
        marked.to_zarr(files_in(new), mode="w", zarr_format=ZARR_FORMAT, consolidated=True)


def lay_out(
    path: str | Path,
    form: Format,
    blanks: dict[str, Blank],
    words: dict[str, tuple[Iterable[str], dict[str, Any]]],
    attrs: dict[str, Any],
    overwrite: bool = False,
) -> None:
    """Write a store of empty arrays, to be filled through `opened`; whole or not at all.

    Only for whoever has the lock of `path`.

    Arguments:
        path, form, overwrite: as for `write`.
        blanks: its arrays, by name.
        words: names along an axis, with their attributes, by that axis.
        attrs: its attributes; `identity` is that of what is filled in.
    """
    import zarr

    with replaced(path, form, overwrite, attrs["identity"]) as new:
        attrs, files = attrs | CHECKSUMS, files_in(new)
        group: Any = zarr.create_group(files, zarr_format=ZARR_FORMAT, attributes=attrs)
        for name, blank in blanks.items():
            create_array(group, name, blank)
        for name, (texts, own) in words.items():
            texts = as_text(texts)
            create_array(
                group, name, Blank((name,), texts.shape, texts.shape, texts.dtype, None, own)
            )
            group[name][:] = texts
        zarr.consolidate_metadata(files)


def files_in(folder: Path) -> Any:
    """A new folder that Zarr writes to."""
    from zarr.storage import MemoryStore

    return MemoryStore(Written(folder))


def create_array(group: Any, name: str, blank: Blank) -> None:
    group.create_array(
        name,
        shape=blank.shape,
        chunks=tuple(max(1, n) for n in blank.chunks),
        dtype=str if blank.dtype.hasobject else blank.dtype,
        fill_value=blank.fill,
        attributes={"_ARRAY_DIMENSIONS": list(blank.dims)} | blank.attrs,
    )


def check_place(path: str | Path, form: Format) -> None:
    """Raise where no store can be written to `path`, whatever is there."""
    check_ending(path, form.otherwise)
    folder = real(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: the folder {folder} does not exist; create it first."
        )


@contextmanager
def replaced(path: str | Path, form: Format, overwrite: bool, identity: str = "") -> Iterator[Path]:
    """Gives out the path to write to; at the end of the block it takes the place of `path`."""
    path = Path(path)
    recover(path)
    if path.exists():
        attributes_or_raise(path, form)
        if not overwrite:
            raise FileExistsError(
                f"{path} exists; choose another path, or pass overwrite=True to replace it."
            )
    try:
        with replacing(path) as new:
            yield new
            seal(new, BASE, all_files(new), identity)
    except OSError as error:
        raise cannot_write(path, error) from error


# ---------------------------------------------------------------- reading


def attributes(path: str | Path, form: Format) -> dict[str, Any] | None:
    """The attributes of the store of this form at `path`; None where there is none."""
    file = Path(path) / ATTRIBUTES
    return parsed(file.read_bytes(), form) if file.is_file() else None


def parsed(text: bytes, form: Format) -> dict[str, Any] | None:
    """The attributes in `text`; None where they are not those of a store of this form."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if form.key not in found and form.before in found:
        found[form.key] = 1
    return found if form.key in found else None


def attributes_or_raise(path: str | Path, form: Format) -> dict[str, Any]:
    """The attributes of the store of this form that is at `path`, where one is to be written.

    Raises:
        FileExistsError: where something else is there.
    """
    found = attributes(path, form)
    if found is None:
        raise FileExistsError(
            f"{path} exists and is not {form.what}; it is not replaced. Choose another path."
        )
    return found


def read(path: str | Path, form: Format) -> "xr.Dataset":
    """The store at `path` as a Dataset in memory.

    Raises:
        FileNotFoundError: where nothing is there.
        ValueError: where what is there is not of this form, or damaged.
    """
    files = files_of(path, form)
    try:
        files.check()
        return dataset_of(files, form).load()
    finally:
        files.close()


def files_of(path: str | Path, form: Format) -> Files:
    """The files of the store of this form at `path`, but those of parts that were added later; none
    of them runs code when it is decoded.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is not {form.what}.")
    files = opened_files(path, form)
    found = parsed(files.read(ATTRIBUTES), form) if ATTRIBUTES in files else None
    if found is None:
        raise ValueError(f"{path} is not {form.what}.")
    form.check(found, path)
    if files.is_old:
        if CHECKSUMS.keys() <= found.keys():
            raise files.damaged(HELD, "is missing")
        warnings.warn(
            f"{path} was written by an older accion, without checksums: damage to it is not"
            " noticed. Write it again to have them.",
            NoChecksums,
            stacklevel=3,
        )
    check_codecs(files)
    return files


def opened_files(path: Path, form: Format) -> Files:
    """The files at `path`, also where it is being replaced, or that was cut off."""
    while True:
        if is_cut_off(path):
            with locked(path, form.what):
                recover(path)
        try:
            return Files(path, form.repair)
        except FileNotFoundError as error:
            if not path.exists() and not is_cut_off(path):
                raise FileNotFoundError(f"{path} does not exist.") from error


def dataset_of(files: Files, form: Format) -> "xr.Dataset":
    """The Dataset in these files, which reads what is asked for where the files are held."""
    import xarray as xr
    from zarr.storage import MemoryStore

    held: Any = files
    source: Any = MemoryStore(held, read_only=True)
    try:
        dataset = xr.open_dataset(
            source, engine="zarr", chunks=None, consolidated=True, zarr_format=ZARR_FORMAT
        )
        words = {
            name: (variable.dims, np.array(variable.values.tolist(), dtype=str), variable.attrs)
            for name, variable in dataset.coords.items()
            if variable.dtype.kind in "OT"
        }
        dataset = dataset.assign_coords(words)
        return dataset if files.held else dataset.load()
    except Damaged:
        raise
    except Exception as error:
        raise ValueError(
            f"{files.path} is not {form.what}: it cannot be read ({error})."
        ) from error


def opened(path: str | Path, mode: str) -> Any:
    """The Zarr group at `path`, whose arrays are written by their names and places."""
    import zarr

    return zarr.open_group(path, mode=mode, use_consolidated=True)  # pyright: ignore
