"""Simulate the gallery, compare it with the references, write the page."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from accion import gallery
from accion.gallery.base import Entry
from accion.report.folder import Folder
from accion.report.one import Result, attempt
from accion.report.page import page
from accion.report.workers import MOST, side_by_side

# Those that take longest start first, so that no process is left alone with one at the end.
LONGEST = (
    "quadrotor",
    "cart_pole",
    "acrobot",
    "satellite_attitude",
    "two_link_arm",
    "adiabatic_piston",
    "rolling_disk_se2",
    "splines",
)


class Tell(Protocol):
    """What hears of each system that starts, and with its result of each that has ended."""

    def __call__(self, name: str, result: Result | None = None) -> None: ...


def tell_nobody(name: str, result: Result | None = None) -> None:
    """For those who do not want to hear of it."""


def reproduce(
    names: Sequence[str],
    out: str | Path,
    *,
    jobs: int | None = None,
    find: Callable[[str], Entry] = gallery.find,
    tell: Tell = tell_nobody,
) -> list[Result]:
    """Run the systems `names`, write `out`/index.html and its pictures, and return a `Result` for
    each.

    With `jobs` they run in so many processes, and `find` (name -> `Entry`) must then be a function
    that another process can import; else here, one after the other. A system that fails is a result
    too. The page is written after each system, and an interruption leaves one that shows what is
    done. A folder that holds other files and no report is an error; files of others in a report are
    left alone, and the earlier report is removed when all systems have ended.

    `tell(name)` hears of each system that starts, `tell(name, result)` of each that has ended.

    Raises: FileExistsError, FileNotFoundError where `out` cannot be the folder of a report.
    """
    folder = Folder(out)
    results: dict[str, Result] = {}

    def write_page(state: str) -> None:
        done = [results[name] for name in names if name in results]
        before = [
            f"{run.name}/index.html" for run in folder.earlier if (run / "index.html").is_file()
        ]
        folder.write(
            lambda pictures, root: page(
                done, pictures, state, root + before[0] if state and before else ""
            )
        )

    try:
        with closing(in_turn(names, find, folder.run, jobs, tell)) as running:
            for result in running:
                results[result.name] = result
                write_page(
                    f"{len(results)} of {len(names)} systems so far"
                    if len(results) < len(names)
                    else ""
                )
                tell(result.name, result)
    except KeyboardInterrupt:
        folder.keep_only(results)
        if results:
            write_page(f"interrupted: {len(results)} of {len(names)} systems had ended")
        else:
            folder.drop()
        raise
    folder.finish()
    return [results[name] for name in names]


def in_turn(
    names: Sequence[str],
    find: Callable[[str], Entry],
    folder: Path,
    jobs: int | None,
    tell: Tell,
) -> Generator[Result, None, None]:
    """Results as they come: from processes, or from here."""
    if jobs is not None:
        first = [name for name in LONGEST if name in names]
        yield from side_by_side(
            [*first, *(name for name in names if name not in first)], find, folder, jobs, tell
        )
        return
    for name in names:
        tell(name)
        yield attempt(find, name, folder)


def default_jobs() -> int:
    """As many processes as cores, as far as they fit in memory."""
    if sys.platform == "linux":  # where a process may be given some of them only
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)
