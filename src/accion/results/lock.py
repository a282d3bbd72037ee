"""Who writes a folder, and who reads it: locks that the operating system takes away with a process.

A writer holds a file beside the folder, because the folder itself is moved. It says who holds it:
a host, a process, and the identity of what is written. A reader shares a file inside the folder,
so that the folder is not removed while something is still read from it.
"""

import errno
import json
import os
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from accion.errors import NotLocked, StoreBusy

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

HELD = ".accion/store"  # the file of a store that its readers share
PAUSE = 0.05  # seconds between two looks at a lock that another holds
SOON = 10.0  # seconds after which somebody who waits is told why
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
FAR = 1 << 30  # on Windows a locked byte cannot be read: one beyond the words


def real(path: str | Path) -> Path:
    """Where `path` is: a link stays a link, to another folder."""
    return Path(os.path.realpath(path))


def aside(path: Path) -> str:
    """How the names of what stands beside `path` for a while begin; short, for any name."""
    return f".accion-{sha256(os.fsencode(path.name)).hexdigest()[:16]}"


def cannot_write(path: Path, error: OSError) -> OSError:
    """An error that says what to do about one of the operating system."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    words = "make room there" if full else "choose a folder that you may write to"
    return OSError(f"cannot write to {path} ({error}); {words}.")


class Holder(NamedTuple):
    """Who holds a lock."""

    host: str
    process: int
    what: str  # in words, "a campaign"
    identity: str  # of a campaign; "" of what is written once and soon done

    def __str__(self) -> str:
        own = f" ({self.identity})" if self.identity else ""
        return f"{self.what}{own} by process {self.process} on {self.host}"


@contextmanager
def locked(path: str | Path, what: str, identity: str = "", alone: bool = False) -> Iterator[None]:
    """For the length of the block nobody else writes the folder at `path`.

    Waits for a writer that is soon done and for one of the same identity. Another campaign under
    way is not waited for.

    Arguments:
        path: of the folder, which need not exist.
        what: is written, in words.
        identity: of the campaign that is written, "" for anything else.
        alone: whether a campaign under way is not waited for even where it is the same one.

    Raises:
        OSError: where another campaign is being written there, or no lock can be made.
    """
    path = real(path)
    file = path.parent / f"{aside(path)}.lock"
    holder = Holder(socket.gethostname(), os.getpid(), what, identity)
    try:
        lock = taken(file, path, holder, alone)
    except OSError as error:
        if error.errno is None:  # that another holds it
            raise
        raise cannot_write(path, error) from error
    try:
        yield
    finally:
        # Removed while it is held: who waits for this file finds that it is gone, and looks again.
        # Windows removes no open file, and keeps it.
        try:
            with suppress(FileNotFoundError, PermissionError):
                os.unlink(file)
        finally:
            os.close(lock)


def taken(file: Path, path: Path, mine: Holder, alone: bool) -> int:
    """The open and locked file that says that `mine` holds it."""
    began, said = time.monotonic(), False
    while True:
        # Never through a link that somebody put there.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        lock = os.open(file, flags, 0o666)
        try:
            if try_lock_or_say(lock, path):
                if is_at(lock, file):
                    write_holder(lock, file, mine)
                    return lock
                os.close(lock)
                continue
            other = holder_of(lock)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        if other and other.identity and (alone or other.identity != mine.identity):
            raise OSError(
                f"{path} is being written: {other}. Wait until it is done, or choose another path."
            )
        if time.monotonic() - began > SOON and not said:
            said = True
            warnings.warn(
                f"{path} is being written: {other}. Waiting for it.", StoreBusy, stacklevel=4
            )
        time.sleep(PAUSE)


def try_lock(lock: int, shared: bool = False) -> bool:
    """Lock an open file unless another holds it; whether that was so.

    Raises:
        OSError: where the file system has no locks, among others.
    """
    try:
        if fcntl is None:
            import msvcrt

            os.lseek(lock, FAR, os.SEEK_SET)
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # pyright: ignore
        else:
            fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        raise
    return True


def try_lock_or_say(lock: int, path: Path) -> bool:
    """`try_lock`; that a file system has no locks is a warning."""
    try:
        return try_lock(lock)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        words = f"the file system of {path} has no locks ({error}): see to it yourself that"
        warnings.warn(f"{words} only one process writes there.", NotLocked, stacklevel=2)
        return True


def is_at(lock: int, file: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(file))
    except FileNotFoundError:
        return False


def write_holder(lock: int, file: Path, holder: Holder) -> None:
    """Say who holds a lock. Where that cannot be written, nobody does."""
    os.lseek(lock, 0, os.SEEK_SET)
    try:
        os.ftruncate(lock, 0)
        os.write(lock, json.dumps(holder).encode())
    except OSError:
        os.unlink(file)
        raise


def holder_of(lock: int) -> Holder | None:
    """Who holds a lock; None where that is not written yet."""
    os.lseek(lock, 0, os.SEEK_SET)
    try:
        found: Any = json.loads(os.read(lock, 4096))
        return Holder(*found)
    except (ValueError, TypeError):
        return None


# ---------------------------------------------------------------- readers


def hold(store: int) -> int | None:
    """The file of a store that its readers share, open and locked, so that the store is not removed
    until it is closed; None where it cannot be: it is being removed, has no such file, or there are
    no locks.

    Arguments:
        store: the open folder.
    """
    try:
        shared = os.open(HELD, os.O_RDONLY, dir_fd=store)
    except OSError:
        return None
    try:
        if try_lock(shared, shared=True):
            return shared
    except OSError as error:
        if error.errno not in NO_LOCKS:
            os.close(shared)
            raise
    os.close(shared)
    return None


@contextmanager
def let_go(folder: Path) -> Iterator[bool]:
    """Whether nobody reads the store in `folder`; for the length of the block nobody begins to."""
    try:
        # Windows removes no open file; no folder is held there.
        shared = None if fcntl is None else os.open(folder / HELD, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        shared = None
    except OSError:  # it is somebody else's
        yield False
        return
    if shared is None:
        yield True
        return
    try:
        yield is_free(shared)
    finally:
        os.close(shared)


def is_free(shared: int) -> bool:
    """Whether nobody else has locked the open file; nobody can have where there are no locks."""
    try:
        return try_lock(shared)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return True
