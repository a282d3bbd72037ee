"""Ctrl-C, pressed by a test."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

SOON = 1.0  # seconds within which everything stops


def call_and_wait(call: Callable[[], Any], thread: threading.Thread) -> None:
    """Where the call ends before Ctrl-C, it comes here."""
    call()
    thread.join()


def interrupted(
    call: Callable[[], Any], after: float = 1.0, when: threading.Event | None = None
) -> KeyboardInterrupt:
    """What `call()` raises where Ctrl-C is pressed so many seconds after it began, or `when` that
    is set, and it stops soon.
    """
    pressed: list[float] = []

    def press() -> None:
        if when is None:
            time.sleep(after)
        else:
            when.wait()
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            call_and_wait(call, thread)
        took = time.monotonic() - pressed[0]
    finally:
        signal.signal(signal.SIGINT, before)
    assert took < SOON, f"it went on for {took:.1f} s"
    return caught.value
