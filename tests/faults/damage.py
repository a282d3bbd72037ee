"""Files of stores that are damaged: deleted, cut short, one bit of them turned, taken from another
store. What loads then is right, or refused by the name of the file; a campaign computes it again.
"""

import itertools
import shutil
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from tests.faults.kinds import KINDS

HOW = ("deleted", "cut short", "one bit turned", "of another store")


def damage(file: Path, how: str, other: Path, rng: np.random.Generator) -> bool:
    """Damage a file in this way; whether that changed it."""
    content = file.read_bytes()
    if how == "deleted":
        file.unlink()
        return True
    if how == "of another store":
        new = other.read_bytes() if other.is_file() else b""
    elif how == "cut short":
        new = content[: int(rng.integers(0, max(1, len(content))))]
    else:
        turned = bytearray(content)
        if turned:
            turned[int(rng.integers(len(turned)))] ^= 1 << int(rng.integers(8))
        new = bytes(turned)
    file.write_bytes(new)
    return new != content


def outcome(name: str, path: Path, file: str, right: dict) -> str:
    """What loading a damaged store does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = KINDS[name].load(path)
    except (ValueError, OSError) as error:
        return "refused, named" if file in str(error) else "refused"
    except Warning:
        return "loaded, with a warning"
    except Exception as error:
        return f"raw error {type(error).__name__}"
    return "right" if found == right else "wrong"


def damaged(
    name: str, count: int, folder: Path, seed: int = 1, again: bool = False
) -> Counter[str]:
    """How often each outcome was seen, in so many damaged copies of a store of this kind: of
    loading it, or of running it again.
    """
    rng, kind = np.random.default_rng(seed), KINDS[name]
    whole, other, path = (folder / word for word in ("whole", "other", "copy"))
    for i, each in enumerate((whole, other)):
        kind.write(each, i)
    right = kind.load(whole)
    files = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file())
    seen: Counter[str] = Counter()
    for k in itertools.count():
        shutil.copytree(whole, path)
        # Every file in turn; then the next way of damaging it.
        file, how = files[k % len(files)], HOW[(k // len(files) + k) % len(HOW)]
        if damage(path / file, how, other / file, rng):
            own = repaired(name, path, right) if again else outcome(name, path, str(file), right)
            seen[own] += 1
        shutil.rmtree(path)
        if seen.total() == count:
            return seen
    raise AssertionError


def repaired(name: str, path: Path, right: dict) -> str:
    """What going on with a damaged store does."""
    go_on = KINDS[name].go_on
    assert go_on is not None
    try:
        go_on(path, 0)
    except (ValueError, OSError) as error:
        return f"not gone on with: {error}"
    return "computed again" if KINDS[name].load(path) == right else "wrong afterwards"
