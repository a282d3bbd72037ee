"""Where a report lies: nothing of the user's is touched, and a report stands at any moment, the old
one or the new one.

    report/accion-report     says that the folder is one of ours
    report/index.html        the page, with the pictures of the latest run
    report/run-DATE-TIME/    a run: its pictures, in a folder for each system, and the same page

A run writes into a folder of its own. Its page is moved over report/index.html as a whole, after
each system; earlier runs are removed when all systems have ended, file by file, and only files that
have the names we give.
"""

import os
import re
from collections.abc import Callable, Container
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

MARKER = "accion-report"
RUN = re.compile(r"run-\d{8}-\d{6}-\d{6}")
OWN = re.compile(r"index\.html|\w+/(figure\.png|card\.png|\d+-\d+\.svg)")  # what is ours in a run


class Folder:
    """The report in `path`, with a new run in it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        check_folder(self.path)
        self.path.mkdir(exist_ok=True)
        (self.path / MARKER).touch()
        self.run = self.path / f"run-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
        self.run.mkdir()

    @property
    def earlier(self) -> list[Path]:
        """The runs before this one, the latest first."""
        runs = (
            path
            for path in self.path.iterdir()
            if RUN.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        )
        return sorted((path for path in runs if path < self.run), reverse=True)

    def write(self, page: Callable[[str, str], str]) -> None:
        """Put the page in place, twice; `page` is a function of the ways to the folders of the
        pictures and of the report.
        """
        move_in(page("", "../"), self.run / "index.html")
        move_in(page(f"{self.run.name}/", ""), self.path / "index.html")

    def keep_only(self, names: Container[str]) -> None:
        """Remove what is ours of systems that are not in `names`: their processes were stopped."""
        for folder in [
            path for path in self.run.iterdir() if path.is_dir() and path.name not in names
        ]:
            remove_own(self.run, folder)

    def finish(self) -> None:
        """Remove earlier runs."""
        for run in self.earlier:
            remove_own(run, run)

    def drop(self) -> None:
        """Remove this run, which has nothing to show."""
        remove_own(self.run, self.run)


def check_folder(out: Path) -> None:
    """Look whether a report may be written there.

    Raises: FileExistsError, FileNotFoundError where it may not.
    """
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise FileExistsError(
            f"{out} holds other files; choose an empty or new folder for the report."
        )
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; choose a folder for the report.")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"the folder {out.parent} does not exist; create it first.")


def move_in(text: str, path: Path) -> None:
    """Write `text` to the file at `path`, which holds the old or the new text at any moment."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def remove_own(run: Path, part: Path) -> None:
    """Remove the files of ours in `part` of the folder `run`, and the folders that are then
    empty.
    """
    for path in sorted(part.rglob("*"), reverse=True):  # what is in a folder comes before it
        if path.is_symlink() or not path.is_dir():
            if OWN.fullmatch(path.relative_to(run).as_posix()):
                path.unlink()
        else:
            remove_empty(path)
    remove_empty(part)


def remove_empty(folder: Path) -> None:
    """Remove a folder, unless there is something in it."""
    with suppress(OSError):  # somebody put something there
        folder.rmdir()
