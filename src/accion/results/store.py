"""Zarr stores: the one place where folders of results are written, replaced and read.

A store is written beside its path and moved there, so that the path holds all of it or is left as
it was (`folders.replacing`). An attribute says what it holds and in which format.
"""

import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accion.results.folders import check_ending, recover, replacing

if TYPE_CHECKING:
    import xarray as xr

ZARR_FORMAT = 2


@dataclass(frozen=True)
class Format:
    """What a store holds.

    Arguments:
        what: in words, "a saved trajectory".
        key: the attribute that a store of this format has.
        number: its value, raised when an older accion could not read the store.
        otherwise: how to write the same in another format, a sentence.
        before: an attribute that stores of the first format have, where they had no number.
    """

    what: str
    key: str
    number: int
    otherwise: str
    before: str | None = None

    def check(self, attributes: dict[str, Any], path: Path) -> None:
        """Raise ValueError unless a store with these attributes can be read."""
        found = attributes.get(self.key)
        if found != self.number:
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
    with replaced(path, form, overwrite) as new:
        marked = dataset.assign_coords(words).assign_attrs({form.key: form.number})
        marked.to_zarr(new, mode="w", zarr_format=ZARR_FORMAT, consolidated=True)


def lay_out(
    path: str | Path,
    form: Format,
    blanks: dict[str, Blank],
    words: dict[str, tuple[Iterable[str], dict[str, Any]]],
    attrs: dict[str, Any],
    overwrite: bool = False,
) -> None:
    """Write a store of empty arrays, to be filled through `opened`; whole or not at all.

    Arguments:
        path, form, overwrite: as for `write`.
        blanks: its arrays, by name.
        words: names along an axis, with their attributes, by that axis.
        attrs: its attributes.
    """
    import zarr

    with replaced(path, form, overwrite) as new:
        group: Any = zarr.create_group(new, zarr_format=ZARR_FORMAT, attributes=attrs)
        for name, blank in blanks.items():
            create_array(group, name, blank)
        for name, (texts, own) in words.items():
            texts = as_text(texts)
            create_array(
                group, name, Blank((name,), texts.shape, texts.shape, texts.dtype, None, own)
            )
            group[name][:] = texts
        zarr.consolidate_metadata(new)


def create_array(group: Any, name: str, blank: Blank) -> None:
    group.create_array(
        name,
        shape=blank.shape,
        chunks=tuple(max(1, n) for n in blank.chunks),
        dtype=str if blank.dtype.hasobject else blank.dtype,
        fill_value=blank.fill,
        attributes={"_ARRAY_DIMENSIONS": list(blank.dims)} | blank.attrs,
    )


@contextmanager
def replaced(path: str | Path, form: Format, overwrite: bool) -> Iterator[Path]:
    """Gives out the path to write to; at the end of the block it takes the place of `path`."""
    path = Path(path)
    check_ending(path, form.otherwise)
    recover(path)
    if path.exists():
        attributes_or_raise(path, form)
        if not overwrite:
            raise FileExistsError(
                f"{path} exists; choose another path, or pass overwrite=True to replace it."
            )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")
    try:
        with replacing(path) as new:
            yield new
    except OSError as error:
        raise OSError(
            f"cannot write to {path} ({error}); choose a folder that you may write to."
        ) from error


# ---------------------------------------------------------------- reading


def attributes(path: str | Path, form: Format) -> dict[str, Any] | None:
    """The attributes of the store of this form at `path`; None where there is none."""
    file = Path(path) / ".zattrs"
    try:
        found = json.loads(file.read_text()) if file.is_file() else {}
    except ValueError:
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
    """The store at `path` as a Dataset that reads what is asked for.

    Raises:
        FileNotFoundError: where nothing is there.
        ValueError: where what is there is not of this form.
    """
    import xarray as xr

    path = Path(path)
    recover(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    found = attributes(path, form)
    if found is None:
        raise ValueError(f"{path} is not {form.what}.")
    form.check(found, path)
    try:
        dataset = xr.open_dataset(path, engine="zarr", chunks=None)
    except Exception as error:
        raise ValueError(f"{path} is not {form.what}: it cannot be read ({error}).") from error
    words = {
        name: (variable.dims, np.array(variable.values.tolist(), dtype=str), variable.attrs)
        for name, variable in dataset.coords.items()
        if variable.dtype.kind in "OT"
    }
    return dataset.assign_coords(words)


def opened(path: str | Path, mode: str) -> Any:
    """The Zarr group at `path`, whose arrays are written by their names and places."""
    import zarr

    return zarr.open_group(path, mode=mode, use_consolidated=True)  # pyright: ignore
