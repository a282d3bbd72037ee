"""Accidents: a process that dies, or a disk that is full, at any write to the disk.

Every call that changes the disk is counted. From the one with a given number on nothing is changed
any more: of a write half is done, the rest fails, and so does everything that would clean up. What
is on the disk then is what a process leaves behind that is killed there.
"""

import errno
import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

MOVES = ("rename", "replace", "unlink", "remove", "rmdir", "mkdir", "link", "write")
NEEDS_ROOM = ("mkdir", "link", "write", "open")  # the others work on a full disk


class Killed(BaseException):
    """The end of a process."""


class Accident:
    """The call with the number `at` is the last one, and done by half where it is a write; None for
    no accident.

    Arguments:
        folder: only what happens inside it counts.
        full: whether the disk is full from then on, instead of the process being dead.
        killed: whether the system kills the process there.
    """

    def __init__(self, folder: Path, at: int | None, full: bool = False, killed: bool = False):
        self.folder, self.at, self.full, self.killed = str(folder), at, full, killed
        self.count, self.lock = 0, threading.Lock()

    def happens(self, name: str) -> tuple[bool, bool]:
        """Whether a call of this name fails, and whether it is the first one that does."""
        if self.full and name not in NEEDS_ROOM:
            return False, False
        with self.lock:
            self.count += 1
            return self.at is not None and self.count > self.at, self.count - 1 == self.at

    def error(self) -> BaseException:
        if self.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if self.full else Killed()

    def patched(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            inside = isinstance(args[0], int) or str(args[0]).startswith(self.folder)
            # rmtree names files by the folder that it has open.
            if (inside or more.get("dir_fd") is not None) and self.happens(name)[0]:
                raise self.error()
            return work(*args, **more)

        return wrapped

    def opened(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
            if not set(mode) & set("wxa+") or not str(file).startswith(self.folder):
                return work(file, mode, *args, **more)
            if self.happens("open")[0]:
                raise self.error()
            return Written(work(file, mode, *args, **more), self)

        return wrapped


class Written:
    """An open file that can be cut off in the middle of a write."""

    def __init__(self, file: Any, accident: Accident):
        self.file, self.accident = file, accident

    def write(self, content: Any) -> int:
        fails, first = self.accident.happens("write")
        if not fails:
            return self.file.write(content)
        if first:
            content = bytes(content)
            self.file.write(content[: len(content) // 2])
            self.file.flush()
        raise self.accident.error()

    def __enter__(self) -> "Written":
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@contextmanager
def accident(
    folder: Path, at: int | None, full: bool = False, killed: bool = False
) -> Iterator[Accident]:
    """For the length of the block, an accident at the call number `at`."""
    found = Accident(folder, at, full, killed)
    with (
        mock.patch.multiple(os, **{name: found.patched(name, getattr(os, name)) for name in MOVES}),
        mock.patch.object(io, "open", found.opened(io.open)),
    ):
        yield found
