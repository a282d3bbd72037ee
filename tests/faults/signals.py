"""Processes that the system kills in the middle of a write.

The accidents of `kills` happen inside this process, thousands of them in minutes; these show that
what a process leaves that is really killed is the same. As a program, `python -m
tests.faults.signals NAME AT STORE` writes a store and is killed at its call number AT.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np

from tests.faults.accidents import accident
from tests.faults.kills import calls, prepared, what_is_left
from tests.faults.kinds import KINDS


def by_signal(name: str, folder: Path, count: int) -> Counter[str]:
    """How often each outcome was seen, at so many calls that change the disk."""
    seen: Counter[str] = Counter()
    for at in np.linspace(0, calls(name, folder) - 1, count).astype(int).tolist():
        own = folder / str(at)
        own.mkdir()
        path = own / "store"
        shutil.copytree(prepared(name)[0].path, path)
        ended = subprocess.run(
            [sys.executable, "-m", "tests.faults.signals", name, str(at), path],
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )
        killed = ended.returncode == -signal.SIGKILL
        seen[what_is_left(name, path, False) if killed else f"not killed: {ended.stderr}"] += 1
        shutil.rmtree(own)
    return seen


def main(name: str, at: int, path: Path) -> None:
    with mock.patch.object(os, "fsync"), accident(path.parent, at, killed=True):
        KINDS[name].write(path, 1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
