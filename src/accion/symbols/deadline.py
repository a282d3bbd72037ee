"""A limit of time for work that cannot be asked to stop: SymPy's."""

import ctypes
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN = 0.5  # seconds after which a deadline that did not arrive is sent again


class OutOfTime(BaseException):
    """Raised inside SymPy when its time is up.

    A BaseException, so that no handler in SymPy takes it for its own.
    """


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in this thread after `seconds`, wherever it is in Python code.

    An exception that strikes where Python ignores it (in a finaliser) is lost, so it is sent again
    until the block is left; the garbage collector, whose callbacks are such places, waits
    meanwhile.
    """
    collecting = gc.isenabled()
    gc.disable()
    thread, lock, done = threading.get_ident(), threading.Lock(), threading.Event()
    state = {"fired": False}

    def watch() -> None:
        wait = min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    state["fired"] = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(OutOfTime)
                    )
            wait = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        try:
            with lock:
                done.set()
        finally:
            # Where it strikes between these lines, nothing must be left that strikes again.
            done.set()
            if state["fired"]:
                wait_for_arrival()
            if collecting:
                gc.enable()


def wait_for_arrival() -> None:
    """Let an exception that was sent and has not arrived strike here and not later."""
    try:
        for _ in range(1000):
            time.sleep(0)
    except OutOfTime:
        pass
