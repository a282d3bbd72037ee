"""Several writers of one store: threads that save and load, processes that run campaigns."""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from tests.faults.kills import prepared
from tests.faults.kinds import KINDS, run_campaign


def savers(rounds: int, folder: Path) -> Counter[str]:
    """Two threads that replace a trajectory by two others, and one that loads it meanwhile."""
    kind, (one, other) = KINDS["a trajectory"], prepared("a trajectory")
    path, seen, failed = folder / "store", Counter(), []
    kind.write(path, 0)

    def write(which: int) -> None:
        try:
            for _ in range(rounds):
                kind.write(path, which)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = kind.load(path)
        seen["whole" if found in (one.loaded, other.loaded) else "mixed"] += 1
    seen["writes that failed"] += len(failed)
    seen["left behind"] += len([each for each in folder.iterdir() if each != path])
    return seen


def processes(path: Path, first: int, second: int, overwrite: bool) -> tuple[list[int], list[str]]:
    """Two processes that run a campaign in one store at the same time: how they ended, and what
    they said.
    """
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writers", path, str(which), str(int(over))],
            stderr=subprocess.PIPE,
            text=True,
        )
        for which, over in ((first, overwrite), (second, overwrite))
    ]
    said = [run.communicate(timeout=300)[1] for run in runs]
    return [run.returncode for run in runs], said


def campaigns(rounds: int, folder: Path) -> Counter[str]:
    """Two processes that begin one campaign, or two that replace each other's."""
    kind, seen = KINDS["a campaign"], Counter()
    wanted = [each.loaded for each in prepared("a campaign")]
    for k in range(rounds):
        codes, _ = processes(folder / f"same{k}", 0, 0, False)
        right = codes == [0, 0] and kind.load(folder / f"same{k}") == wanted[0]
        seen["the same twice: both succeed" if right else "failed"] += 1
        codes, said = processes(folder / f"other{k}", 0, 1, True)
        refused = [words for code, words in zip(codes, said, strict=True) if code]
        right = kind.load(folder / f"other{k}") in wanted
        right = right and all("is being written: a campaign" in words for words in refused)
        seen["two: one whole" if right else "mixed"] += 1
    return seen


if __name__ == "__main__":
    run_campaign(Path(sys.argv[1]), int(sys.argv[2]), overwrite=sys.argv[3] == "1")
