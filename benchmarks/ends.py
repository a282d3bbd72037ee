"""Where the systems of work_precision.py end, to more digits than a double has: ends.json.

    python benchmarks/ends.py

computes them again (five minutes): Taylor series by heyoka in numbers of 40 and of 50 digits
(mppp, MPFR), each with the tolerance of its own rounding. What the two have in common is kept. The
double pendulum and the heavy top are compared with what was computed otherwise. Kepler's motion
needs none of this.
"""

import json
import math
import time
from pathlib import Path

import heyoka as hy
import numpy as np

PATH = Path(__file__).with_name("ends.json")
BITS = (136, 169)  # 40 and 50 digits
HOW = (
    "Taylor series by heyoka, from the start in doubles: in numbers of 136 and of 169 bits (MPFR),"
    " each to its own rounding; `agree` is the largest difference of the two at the end."
)


def ends():
    """The ends of all systems, by their keys."""
    rows = json.loads(PATH.read_text())["ends"]
    return {key: np.array(row["q"], dtype=float) for key, row in rows.items()}


def propagated(pairs, y0, duration, bits):
    """The entries of y at the end, as text."""
    y = [hy.real(float(entry), bits) for entry in y0]
    integrator = hy.taylor_adaptive(pairs, y, fp_type=hy.real, prec=bits, compact_mode=True)
    outcome = integrator.propagate_until(hy.real(duration, bits))[0]
    if outcome != hy.taylor_outcome.time_limit:
        raise RuntimeError(f"heyoka ends with {outcome} before t = {duration}.")
    return [str(entry) for entry in integrator.state]


def end(pairs, y0, duration, n):
    """A row of ends.json: the first n entries."""
    import mpmath as mp

    mp.mp.dps = 60
    coarse, fine = (propagated(pairs, y0, duration, bits)[:n] for bits in BITS)
    apart = max(abs(mp.mpf(a) - mp.mpf(b)) for a, b in zip(coarse, fine, strict=True))
    digits = max(1, math.floor(-mp.log10(apart + mp.mpf(10) ** -50)))
    return {
        "q": [mp.nstr(mp.mpf(entry), min(digits, 30)) for entry in fine],
        "duration": duration,
        "agree": mp.nstr(apart, 2),
    }


def main():
    from problems import PROBLEMS

    found = {}
    for problem in PROBLEMS:
        if problem.key.startswith("kepler"):
            continue
        begun = time.process_time()
        # A top's attitude is four numbers of seven, positions are the first half of the others.
        n = 4 if problem.key == "heavy_top" else len(problem.y0) // 2
        found[problem.key] = end(problem.taylor(), problem.y0, problem.duration, n)
        took = time.process_time() - begun
        print(f"{problem.key}: the two agree to {found[problem.key]['agree']}, {took:.0f} s")
        PATH.write_text(json.dumps({"how": HOW, "ends": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
