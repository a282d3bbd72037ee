"""Long work shows how far it is and how long it will take, and returns to Python several times a
second, so that Ctrl-C ends it.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager

SLICE = 0.2  # seconds that compiled code may run before it returns to Python


def fitting(amount: int, seconds: float) -> int:
    """How much work fills the time that compiled code may run, where `amount` of it took so many
    seconds; not many times more at once.
    """
    return max(1, min(16 * amount, int(amount * SLICE / max(seconds, 1e-9)), 2**40))


def cores() -> int:
    """How many cores this process may use."""
    # Not every system knows of processes that are kept to some of them.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextmanager
def threads(count: int) -> Iterator[tuple[ThreadPoolExecutor, Callable[[], None]]]:
    """A pool of so many threads, and a function that their work calls several times a second: where
    the block ends early, by an interrupt too, it ends their work.
    """
    stopped = threading.Event()

    def go_on() -> None:
        if stopped.is_set():
            raise CancelledError

    pool = ThreadPoolExecutor(count)
    try:
        yield pool, go_on
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


@contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[..., None]]:
    """A bar for `total` units of work; yields the function (amount, now) that adds to what is done
    and says what is next.
    """
    from rich import progress  # takes long to import

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn())
    ends = (progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    with progress.Progress(*columns, *ends) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount, now=what: bar.update(task, advance=amount, description=now)
