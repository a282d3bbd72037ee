"""Folders that are there whole or not at all, also where one takes the place of another."""

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEW, OLD = "new", "old"
ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]*")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Write to the path that is given out; at the end of the block it takes the place of `path`,
    and what was there is removed.

    The new folder is made in one of its own beside `path`, whose name nobody can guess:

        write   .NAME.xxxxxxxx/new
        move    NAME to .NAME.xxxxxxxx/old
        move    .NAME.xxxxxxxx/new to NAME
        remove  .NAME.xxxxxxxx

    An exception in the block or later leaves the old folder or the new one, whole. A process that
    is killed between the two moves leaves both aside; `recover`, which whoever reads or writes
    `path` calls first, then puts the new one in place.
    """
    path = real(path)
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    new, old = beside / NEW, beside / OLD
    try:
        yield new
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(new, path)
    except BaseException:  # an interrupt too: the old folder goes back
        if old.exists() and not os.path.lexists(path):
            os.rename(old, path)
        raise
    finally:
        # Never where the only whole folders are.
        if os.path.lexists(path) or not old.exists():
            shutil.rmtree(beside, ignore_errors=True)


def recover(path: str | Path) -> None:
    """Finish a replacement of `path` that was cut off between its two moves: both folders are
    whole, and the new one is put in place.
    """
    path = real(path)
    if os.path.lexists(path):
        return
    for new in sorted(
        path.parent.glob(f".{glob.escape(path.name)}.*/{NEW}"), key=os.path.getmtime, reverse=True
    ):
        if (new.parent / OLD).exists():
            try:
                os.rename(new, path)
            except OSError as error:
                words = (
                    f"writing {path} was cut off; the new folder is whole at {new}, the one before"
                    f" at {new.parent / OLD}"
                )
                raise OSError(
                    f"{words}. It cannot be put in place ({error}): move it there by hand."
                ) from error
            shutil.rmtree(new.parent, ignore_errors=True)
            return


def real(path: str | Path) -> Path:
    """Where `path` is: a link stays a link, to another folder."""
    return Path(os.path.realpath(path))


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
