"""Folders that are there whole or not at all, also where one takes the place of another."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from accion.results.lock import aside, let_go, real

NEW, OLD = "new", "old"
FOLDERS_OPEN = os.open in os.supports_dir_fd  # not on Windows
ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]*")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Write to the path that is given out; at the end of the block it takes the place of `path`,
    and what was there is removed.

    The new folder is made in one of its own beside `path`, whose name nobody can guess:

        write   .accion-NAME-xxxxxxxx/new     (NAME is a hash of the name: that may be long)
        move    NAME to .accion-NAME-xxxxxxxx/old
        move    .accion-NAME-xxxxxxxx/new to NAME
        remove  .accion-NAME-xxxxxxxx

    An exception in the block or later leaves the old folder or the new one, whole. A process that
    is killed between the two moves leaves both aside; `recover`, which whoever reads or writes
    `path` calls first, then puts the new one in place. Two must not replace one folder at once:
    see `lock.locked`.
    """
    path = real(path)
    beside = Path(tempfile.mkdtemp(prefix=f"{aside(path)}-", dir=path.parent))
    new, old = beside / NEW, beside / OLD
    try:
        yield new
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(new, path)
        sync(path.parent)
    except BaseException:  # an interrupt too: the old folder goes back
        if old.exists() and not os.path.lexists(path):
            os.rename(old, path)
        raise
    finally:
        # Never where the only whole folders are.
        if os.path.lexists(path) or not old.exists():
            remove(beside)


def left_aside(path: Path) -> list[Path]:
    """The folders beside `path` of replacements that were cut off, the last one first. A link is
    none of them, whoever put it there.
    """
    found = [
        each
        for each in path.parent.glob(f"{aside(path)}-*")
        if each.is_dir() and not each.is_symlink()
    ]
    return sorted(found, key=os.path.getmtime, reverse=True)


def is_cut_off(path: str | Path) -> bool:
    """Whether a replacement of `path` ended between its two moves: `recover` finishes it."""
    path = real(path)
    return not os.path.lexists(path) and any(
        (each / NEW).exists() and (each / OLD).exists() for each in left_aside(path)
    )


def recover(path: str | Path) -> None:
    """Finish a replacement of `path` that was cut off between its two moves: both folders are
    whole, and the new one is put in place. What others left beside it is removed.

    Only for whoever has the lock of `path`.
    """
    path = real(path)
    for beside in left_aside(path):
        new, old = beside / NEW, beside / OLD
        if not os.path.lexists(path) and new.exists() and old.exists():
            try:
                os.rename(new, path)
            except OSError as error:
                words = (
                    f"writing {path} was cut off; the new folder is whole at {new}, the one before"
                    f" at {old}"
                )
                raise OSError(
                    f"{words}. It cannot be put in place ({error}): move it there by hand."
                ) from error
        remove(beside)


def remove(beside: Path) -> None:
    """Remove what was left aside, unless somebody still reads it."""
    with let_go(beside / OLD) as free:
        if free:
            shutil.rmtree(beside, ignore_errors=True)


def remove_finished(path: Path) -> None:
    """Remove what replacements of `path` left aside because somebody read it. Nothing is missed in
    it: the new folder is in place.
    """
    for beside in left_aside(real(path)):
        if (beside / OLD).exists() and not (beside / NEW).exists():
            remove(beside)


def sync(path: Path) -> None:
    """See that a file, or the list of files of a folder, is on the disk."""
    if not FOLDERS_OPEN and path.is_dir():
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check_ending(path: str | Path, otherwise: str) -> None:
    """Raise ValueError where the name of a Zarr store ends like that of a file; `otherwise` says
    how to write one.
    """
    ending = Path(path).suffix
    if ENDING.fullmatch(ending) and ending != ".zarr":
        words = (
            "what is written is a Zarr store, a folder: its name must end in .zarr or have no"
            f" ending; got {str(path)!r}"
        )
        raise ValueError(f"{words}. {otherwise}")
