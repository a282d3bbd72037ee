"""The memory of a process that runs many tests.

JAX keeps every program that XLA compiled, those of single operations on arrays of each shape too:
a megabyte each, and three of the 65,530 pieces that Linux lets a process have of its memory. After
a thousand tests a worker would have gigabytes, and be killed.
"""

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

import jax

LIMIT = 2.5 * 2**30  # bytes, beyond which JAX's programs are dropped
STATUS = Path("/proc/self/statm")


class Memory:
    """What this process may have before its programs are dropped."""

    limit = LIMIT


def used() -> int:
    """What the process has of memory, in bytes; zero where the system does not say."""
    return int(STATUS.read_text().split()[1]) * 4096 if STATUS.exists() else 0


def keep_small() -> None:
    """Drop what JAX has compiled where the process has grown large. What is wanted again is loaded
    from the cache on disk.
    """
    if used() <= Memory.limit:
        return
    drop()
    # Where something else is large, not after every test.
    Memory.limit = max(LIMIT, used() + LIMIT / 4)


def drop() -> None:
    """Drop what JAX has compiled, and give its memory back to the system."""
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        with suppress(AttributeError):  # a C library without it
            ctypes.CDLL(None).malloc_trim(0)
