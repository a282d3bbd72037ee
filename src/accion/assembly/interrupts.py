"""Ctrl-C while a library runs that calls Python back and does not look at its errors."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

INTERRUPTED = "it was interrupted"  # the message of a solver that Ctrl-C ended


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed."""

    asked: bool = False


@contextmanager
def noted() -> Iterator[Interrupt]:
    """Ctrl-C is noted in the block, and not raised there: an error that a library does not look at
    would come out anywhere, as something else.

    In other threads than the first, and where Ctrl-C has another meaning, nothing changes.
    """
    found = Interrupt()
    first = threading.current_thread() is threading.main_thread()
    if not first or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield found
        return

    def note(*_: object) -> None:
        found.asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
