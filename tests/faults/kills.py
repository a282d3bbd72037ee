"""Writers that die, or find the disk full, at every call that changes the disk."""

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from accion.campaign import running
from accion.campaign.program import Program
from tests.faults.accidents import Killed, accident
from tests.faults.kinds import KINDS


def calls(name: str, folder: Path, full: bool = False) -> int:
    """How many calls change the disk while a store of this kind replaces another."""
    path = folder / "counted"
    shutil.copytree(prepared(name)[0].path, path)
    with accident(folder, None, full) as counted:
        KINDS[name].write(path, 1)
    shutil.rmtree(path)
    return counted.count


class Prepared(NamedTuple):
    """A store that was written undisturbed, and what loads from it."""

    path: Path
    loaded: dict[str, Any]


@cache
def prepared(name: str) -> list[Prepared]:
    """The two stores of a kind."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for i in range(2):
        KINDS[name].write(folder / str(i), i)
    return [Prepared(folder / str(i), KINDS[name].load(folder / str(i))) for i in range(2)]


def killed(name: str, at: int, folder: Path, full: bool = False) -> str:
    """What is left where the writer of a store that replaces another ends at this call."""
    path = folder / "store"
    shutil.copytree(prepared(name)[0].path, path)
    try:
        with accident(folder, at, full):
            KINDS[name].write(path, 1)
        return "nothing happened"
    except Killed:
        pass
    except OSError as error:
        if str(path) not in str(error):
            return f"does not name the store: {error}"
    return what_is_left(name, path, full)


def what_is_left(name: str, path: Path, full: bool) -> str:
    """Which store loads after an accident; then another is written, and nothing else is there."""
    kind, (old, new) = KINDS[name], [each.loaded for each in prepared(name)]
    found = kind.load(path)
    words = "old" if found == old else "new" if found == new else "neither"
    if words == "neither" and kind.go_on is not None and part_of(found, new):
        words = "a part of the new"
    if full and beside(path):
        return f"left behind: {beside(path)}"
    (kind.go_on if kind.go_on and words != "old" else kind.write)(path, 1)
    if kind.load(path) != new:
        return "cannot be written again"
    return f"left behind: {beside(path)}" if beside(path) else words


def beside(path: Path) -> list[str]:
    return [each.name for each in path.parent.iterdir() if each != path]


def part_of(found: dict, new: dict) -> bool:
    """Whether a campaign that was interrupted has no member that is wrong."""

    def column(which: dict, key: str) -> np.ndarray:
        _, shape, plain, _ = which[key]
        if isinstance(plain, list):
            return np.array(plain, dtype=object)
        return np.frombuffer(plain[1], plain[0]).reshape(shape)

    ran = column(found, "failure") != -1
    same = [
        np.array_equal(column(found, key)[ran], column(new, key)[ran], equal_nan=False)
        if column(new, key).dtype == object
        else column(found, key)[ran].tobytes() == column(new, key)[ran].tobytes()
        for key, value in new.items()
        if not isinstance(value, str) and value[0][:1] == ("member",)
    ]
    return found.keys() == new.keys() and all(same)


@contextmanager
def traced_once() -> Iterator[None]:
    """Campaigns of the same h share their program: it knows nothing of stores, and to trace it
    takes ten times as long as everything that is tried here.
    """
    made: dict[float, Any] = {}

    def program(job: Any) -> Any:
        h = float(job.h)
        if h not in made:
            made[h] = Program(job)
        return made[h]

    with mock.patch.object(running, "Program", program):
        yield


def all_kills(name: str, folder: Path, every: int = 1, full: bool = False) -> Counter[str]:
    """How often each outcome was seen, at every call or at each so many."""
    folder.mkdir(exist_ok=True)
    seen: Counter[str] = Counter()
    # What a process that ends leaves behind does not depend on what has reached the disk.
    with mock.patch.object(os, "fsync"), traced_once():
        for at in range(0, calls(name, folder, full), every):
            own = folder / str(at)
            own.mkdir()
            seen[killed(name, at, own, full)] += 1
            shutil.rmtree(own)
    return seen
