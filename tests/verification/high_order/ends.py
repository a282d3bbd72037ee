"""Where those motions end, to more than twenty digits.

    python -m tests.verification.high_order.ends [NAMES]

By extrapolation (Gragg 1965, Bulirsch and Stoer 1966) with numbers of 34 digits, twice, with steps
of different lengths: what both agree on to 1e-24 is written to tests/data/motions.json. No method
of accion is an extrapolation.
"""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from tests.verification.high_order.equations import EQUATIONS, State
from tests.verification.high_order.motions import DURATION, MOTIONS, Motion

PATH = Path(__file__).parents[2] / "data" / "motions.json"
DIGITS = 24
COLUMNS = 14  # of the table of extrapolation: the order is twice that


def midpoints(f: Callable[[State], State], z: State, h: Any, count: int) -> State:
    """Gragg's method: so many steps of two steps' length each, whose error has even powers of h."""
    h = h / count
    before, now = z, [a + h * d for a, d in zip(z, f(z), strict=True)]
    for _ in range(count - 1):
        after = [a + 2 * h * d for a, d in zip(before, f(now), strict=True)]
        before, now = now, after
    slope = f(now)
    return [(a + b + h * d) / 2 for a, b, d in zip(before, now, slope, strict=True)]


def extrapolated(f: Callable[[State], State], z: State, h: Any) -> State:
    """One step of length h: the limit of ever more midpoints, by Neville's table in h^2."""
    counts = [2 * (k + 1) for k in range(COLUMNS)]
    table = [midpoints(f, z, h, count) for count in counts]
    for column in range(1, COLUMNS):
        ratios = [(mpf(counts[i + column]) / counts[i]) ** 2 - 1 for i in range(COLUMNS - column)]
        table = [
            [b + (b - a) / ratio for a, b in zip(one, other, strict=True)]
            for (one, other), ratio in zip(pairwise(table), ratios, strict=True)
        ]
    return table[0]


def end(name: str, steps: int) -> State:
    f, z, h = EQUATIONS[name], start_of(MOTIONS[name]), mpf(DURATION) / steps
    for _ in range(steps):
        z = extrapolated(f, z, h)
    return z


def start_of(motion: Motion) -> State:
    """The numbers of a start as they are, each a sum of powers of two: a place on a group as its
    rotation, then its position.
    """
    q = np.asarray(motion.start["q0"])
    if q.shape == (4, 4):
        q = np.concatenate([q[:3, :3].ravel(), q[:3, 3]])
    parts = [q.ravel(), np.ravel(motion.start["v0"]), np.ravel(motion.start.get("S0", []))]
    return [mpf(float(x)) for x in np.concatenate(parts)]


def known(name: str, what: str = "end") -> np.ndarray:
    """The end of a motion (or its start), as it is kept, rounded once: (q, v) or (q, v, S)."""
    return np.array(kept(name, what), float)


def kept(name: str, what: str = "end") -> State:
    """The same with all its digits."""
    return [mpf(text) for text in json.loads(PATH.read_text())[name][what]]


def main() -> None:
    mpmath.mp.dps = 34
    found = json.loads(PATH.read_text())
    for name in sys.argv[1:] or MOTIONS:
        steps = round(6 * DURATION)
        one, other = end(name, steps), end(name, steps * 5 // 4)
        apart = max(abs(a - b) for a, b in zip(one, other, strict=True))
        print(f"{name}: {mpmath.nstr(apart, 3)} apart", flush=True)
        assert apart < mpf(10) ** -DIGITS, "not known well enough: more steps"
        found[name] = {
            "duration": DURATION,
            "start": [mpmath.nstr(x, DIGITS) for x in start_of(MOTIONS[name])],
            "end": [mpmath.nstr(x, DIGITS) for x in other],
        }
    PATH.write_text(json.dumps(found, indent=1) + "\n")
    print(f"written: {PATH}")


if __name__ == "__main__":
    main()
