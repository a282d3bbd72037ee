"""Memory is asked for before it is taken."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accion.arguments import shown, whole

FAR = 2**47  # bytes that a process can address: what counts as all where nobody knows how much is
# free
LITTLE = 2**24  # bytes that nobody asks about, so that small calls cost nothing
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def free() -> int:
    """How many bytes there are for this process."""
    found = [FAR]
    for line in read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemAvailable", "SwapFree"):
            found.append(1024 * int(rest.split()[0]))
    # what is in memory and what may be swapped out
    total = [sum(found[1:])] if len(found) > 1 else installed()
    limit, used = (read(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if limit.isdigit() and used.isdigit():
        total.append(max(0, int(limit) - int(used)))
    return min([FAR, *total])


def installed() -> list[int]:
    """The memory of the machine, where the system says no more."""
    try:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):  # not on Windows
        return []


def read(path: str) -> str:
    """What a file of the system says, "" where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def in_words(size: float) -> str:
    """A number of bytes as a person writes it."""
    power = 0
    while size >= 1000 and power < len(UNITS) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.3g} {UNITS[power]}"


def check_room(size: int, what: str, advice: str) -> None:
    """Raise ValueError where there is not enough memory for `size` bytes.

    Arguments:
        size: in bytes.
        what: needs it, in words with the name of the argument.
        advice: what to do, a sentence.
    """
    if size <= LITTLE:
        return
    left = free()
    if size > left:
        raise ValueError(
            f"{what} would need {in_words(float(min(size, 10**300)))} of memory, of which"
            f" {in_words(left)} are free. {advice}"
        )


def rows(size: int, least: int = 1) -> Callable[[Any, str], int]:
    """A check for a whole number of things that take `size` bytes each."""

    def check(value: Any, name: str) -> int:
        found = whole(value, name, least)
        check_room(found * size, f"{name} = {shown(found)}", "Take fewer.")
        return found

    return check
