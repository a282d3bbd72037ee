"""What short runs of high order cost, of which the end is kept: us of the processor for a whole
call, the least of the rounds.

    python benchmarks/short_runs.py [--rounds 15]

To compare two versions, run it in both checkouts by turns.
"""

import argparse
import math
import time
from functools import partial

import chain
import numpy as np

import accion as ac
from accion.gallery import heavy_top, kepler

SPAN = 0.01  # s, filled by as many calls as it takes


def orbit(e):
    return np.array([1 - e, 0.0]), np.array([0.0, math.sqrt((1 + e) / (1 - e))])


def hanging(n):
    return np.full(n, 0.8), np.zeros(n)


TOP = heavy_top.R0, heavy_top.W0
PERIODS = 20 * math.pi
# system, its name, start, duration, stages, steps
RUNS = (
    (kepler.system, "Kepler, e = 0.5", orbit(0.5), PERIODS, 8, 40),
    (kepler.system, "Kepler, e = 0.5", orbit(0.5), PERIODS, 8, 60),
    (kepler.system, "Kepler, e = 0.9", orbit(0.9), PERIODS, 12, 150),
    (chain.system(2), "double pendulum", hanging(2), 100.0, 4, 400),
    (chain.system(2), "double pendulum", hanging(2), 100.0, 8, 250),
    (chain.system(5), "five links", hanging(5), 100.0, 4, 1000),
    (heavy_top.system, "heavy top", TOP, 1.0, 4, 95),
    (heavy_top.system, "heavy top", TOP, 1.0, 6, 79),
)


def least(run, rounds):
    """us of a call, the least of the rounds."""
    found = math.inf
    run()
    for _ in range(rounds):
        calls, begun = 0, time.process_time()
        while time.process_time() - begun < SPAN:
            run()
            calls += 1
        found = min(found, (time.process_time() - begun) / calls)
    return 1e6 * found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for system, name, (q0, v0), duration, s, steps in RUNS:
        more = {"q0": q0, "v0": v0, "h": duration / steps, "steps": steps, "save_every": steps}
        method = ac.Galerkin(s)
        us = least(partial(ac.simulate, system, method, **more), rounds)
        print(f"{name}, Galerkin({s}), {steps} steps: {us:.0f} us", flush=True)


if __name__ == "__main__":
    main()
