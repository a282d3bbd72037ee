"""For which engine a function is being traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

BY_ENTRIES: ContextVar[bool] = ContextVar("BY_ENTRIES", default=False)


@contextmanager
def entry_by_entry() -> Iterator[None]:
    """Inside it functions are traced for an engine that takes arrays apart by itself, entry by
    entry: what is done for XLA to that end may be left out.
    """
    token = BY_ENTRIES.set(True)
    try:
        yield
    finally:
        BY_ENTRIES.reset(token)
