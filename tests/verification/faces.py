"""The faces of control problems on SE(3), marched and solved: a rigid body that falls, with six
controls and with four, which leaves two constraints.

    python -m tests.verification.faces [--only six|four]

Of each: the way from W1 to two nodes and back; the discrete face marched from there, whose costates
go to those of W1 with h^2; and the discrete face solved by `connect` between the ends of a motion
that was marched, which it finds again. Takes minutes, of which tracing third derivatives on SE(3)
takes most. Exits with 1 where a figure misses its bound.
"""

import argparse
import sys
from typing import Any

import numpy as np

import accion as ac
from tests.control.test_faces_groups import LARGE, MIDPOINT, SHORT, bodies, face, marched
from tests.textbook.control import slope

STEPS = (16, 32)
SOLVED = 8  # steps of what is solved between two ends


def there_and_back(name: str, h: float, k: int) -> float:
    """How far the way from W1 to nodes and back ends from where it began."""
    W1, exact = face(name), marched(name)
    point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
    start = W1.to_discrete(MIDPOINT, h, *point)
    nodes = [start["q0"], *start["q1"]]
    back = W1.from_discrete(MIDPOINT, h, nodes, start.get("lam0"), t0=start["t0"])
    pairs = zip(back[1:], point[1:], strict=True)
    return max(float(np.max(np.abs(a - np.asarray(b)))) for a, b in pairs)


def run_of(name: str, steps: int) -> Any:
    """The discrete face marched from the start of the motion on W1."""
    W1, exact, h = face(name), marched(name), SHORT / steps
    start = W1.to_discrete(MIDPOINT, h, exact.t[0], exact.q[0], exact.v[0], exact.costates[0])
    return ac.simulate(bodies()[name].discrete(MIDPOINT), **start, h=h, steps=steps - 2)


def error(name: str, run: Any, steps: int) -> float:
    """Of its costates at three quarters of the time."""
    found, exact = face(name).read(run), marched(name)
    return float(np.max(np.abs(found.costates[round(0.75 * steps)] - exact.costates[12])))


def solved(name: str, run: Any) -> float:
    """How far `connect` between the ends of a run, begun from its first nodes on a straight way,
    is from it.
    """
    q, h = np.asarray(run.q), float(run.h)
    ends = {"qa": q[:2], "qb": q[SOLVED - 1 : SOLVED + 1], "t0": float(run.t[0])}
    problem = bodies()[name].discrete(MIDPOINT)
    found = ac.connect(problem, **ends, duration=SOLVED * h, steps=SOLVED)
    return float(np.max(np.abs(np.asarray(found.q) - q[: SOLVED + 1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="the problem whose name has this word")
    only, missed = parser.parse_args().only, 0
    for name in LARGE:
        if only not in name:
            continue
        runs = [run_of(name, steps) for steps in STEPS]
        errors = [error(name, run, steps) for run, steps in zip(runs, STEPS, strict=True)]
        figures = {
            "there and back": (there_and_back(name, SHORT / STEPS[0], 8), 0.0, 1e-9),
            "order of the costates, marched": (slope(STEPS, errors), 2.0, 0.25),
            "solved beside marched": (solved(name, runs[0]), 0.0, 1e-9),
        }
        for words, (found, wanted, bound) in figures.items():
            good = abs(found - wanted) <= bound
            missed += not good
            print(
                f"{name}: {words}: {found:.3g} ({wanted:g} within {bound:g})"
                f" {'PASS' if good else 'FAIL'}",
                flush=True,
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
