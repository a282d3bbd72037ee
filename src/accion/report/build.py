"""Simulate the gallery, compare it with the references, write the page."""

import os
from contextlib import closing

from accion import gallery
from accion.report.folder import Folder
from accion.report.one import attempt
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


def reproduce(names, out, *, jobs=None, find=gallery.find, tell=lambda name, result=None: None):
    """Run the systems `names`, write `out`/index.html and its pictures, and return a `Result` for
    each.

    With `jobs` they run in so many processes, and `find` (name -> `Entry`) must then be a function
    that another process can import; else here, one after the other. A system that fails is a result
    too. The page is written after each system, and an interruption leaves one that shows what is
    done. A folder that holds other files and no report is an error; files of others in a report are
    left alone, and the earlier report is removed when all systems have ended.

    `tell(name)` hears of each system that starts, `tell(name, result)` of each that has ended.
    """
    folder, results = Folder(out), {}

    def show(state):
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
                show(
                    f"{len(results)} of {len(names)} systems so far"
                    if len(results) < len(names)
                    else ""
                )
                tell(result.name, result)
    except KeyboardInterrupt:
        folder.keep_only(results)
        if results:
            show(f"interrupted: {len(results)} of {len(names)} systems had ended")
        else:
            folder.drop()
        raise
    folder.finish()
    return [results[name] for name in names]


def in_turn(names, find, folder, jobs, tell):
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


def default_jobs():
    """As many processes as cores, as far as they fit in memory."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores, MOST)
