"""Systems side by side, in processes of their own: one that crashes takes no other with it.

Processes are started afresh (never forked: JAX has threads) and are few, because each takes seconds
to start and hundreds of megabytes; one that has grown is replaced by a new one.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from accion.gallery.base import Entry
from accion.report.one import Result, attempt

ALL = 3e9  # bytes that all processes together may have
FIRST = 0.3e9  # of the process that starts the others
ONE = 0.3e9  # what a system may add to what its process had before
MOST = 3  # processes by default, however many cores: the largest systems take 0.75e9 bytes each


@dataclass
class Worker:
    """A process, and the system that it runs since the time `started`."""

    process: BaseProcess
    connection: Connection
    name: str = ""
    started: float = 0.0

    def give(self, name: str) -> None:
        """Let it run the system of this name."""
        self.name, self.started = name, time.perf_counter()
        with suppress(OSError):  # where it has ended, `take` says how
            self.connection.send(name)

    def take(self) -> Result:
        """The result of the system that was given."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"was ended by {signal_name(-code)}" if code < 0 else f"ended with status {code}"
            error = f"its process {how} before it was done (the lines above may say why)"
            return Result(
                self.name, self.name, error=error, seconds=time.perf_counter() - self.started
            )

    def end(self) -> None:
        """Stop the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()
        self.process.close()


def signal_name(number: int) -> str:
    """What a signal is called."""
    names = {item.value: item.name for item in signal.Signals}
    return names.get(number, f"signal {number}")


def side_by_side(
    names: Sequence[str],
    find: Callable[[str], Entry],
    folder: Path,
    jobs: int,
    tell: Callable[[str], None],
) -> Generator[Result, None, None]:
    """Run the systems `names` in at most `jobs` processes; yield each result as it comes.

    `tell(name)` hears of those that start.
    """
    waiting = deque(names)
    workers: list[Worker] = []
    grown = (ALL - FIRST) / jobs - ONE  # from here on a process is replaced
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(start_worker(find, folder))
                give_next(workers[-1], waiting, tell)
            ready = wait([worker.connection for worker in workers])
            for worker in [worker for worker in workers if worker.connection in ready]:
                result = worker.take()
                if waiting and worker.process.exitcode is None and result.memory < grown:
                    give_next(worker, waiting, tell)
                else:
                    workers.remove(worker)
                    worker.end()
                yield result
    finally:
        for worker in workers:
            worker.end()


def give_next(worker: Worker, waiting: deque[str], tell: Callable[[str], None]) -> None:
    """Let a process run the first system that waits."""
    name = waiting.popleft()
    tell(name)
    worker.give(name)


def start_worker(find: Callable[[str], Entry], folder: Path) -> Worker:
    """A new process, which waits for the name of a system."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, find, folder), daemon=True)
    process.start()
    theirs.close()  # so that its end is seen here when the process ends
    return Worker(process, ours)


def serve(connection: Connection, find: Callable[[str], Entry], folder: Path) -> None:
    """What a process does: systems by name, until there are no more."""
    # Ctrl-C reaches all processes of a terminal; the first one ends the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        try:
            name = connection.recv()
        except EOFError:
            return
        connection.send(attempt(find, name, folder))


def end_with_parent() -> None:
    """Nobody waits for the result of a process whose parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
