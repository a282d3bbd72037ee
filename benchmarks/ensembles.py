"""What a step of a member of an ensemble costs: double pendulums one after the other, side by side
on one core, and on all cores.

    python benchmarks/ensembles.py [--members 1024] [--steps 1000] [--repeats 5] [--json PATH]
    [--strict]

Every candidate has its turn in each round, so that a slow spell of the machine falls on all of
them. Medians over the rounds are given, and of the time that processors worked, all cores together,
the least: other work on the machine makes the first longer. Only the end of a run is kept.
Compilation is not counted.
"""

import argparse
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import heyoka
import numba
import numpy as np
from chain import GRAVITY, H, start, system
from limit import limit_of_many
from rich.console import Console
from rich.table import Table
from taylor import lagrangian_chain
from timing import SPAN, machine, progress, spread, timed, verdict

import accion as ac

LINKS = 2
APART = 1e-2  # spread of the angles that the pendulums start from
ALONE, ONE_CORE, ALL_CORES = "one after the other", "ensemble, one core", "ensemble, all cores"
FEW = 16  # members, of those that are run one after the other
BATCHES = "heyoka, tolerance {:g}, in batches, one core"
TOLERANCES = 1e-3, 1e-6
FURTHER = 2e-3  # from the true motion, at most, where ends are compared
TARGET = 0.1  # us for a step and member on one core


@contextmanager
def one_core():
    """This thread, and those that it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def starts(members):
    """The angles of all members, shape (members, 2)."""
    apart = APART * np.random.default_rng(1).normal(size=(members, LINKS))
    return start(LINKS)[0] + apart


def in_batches(q0, steps, tolerance):
    """The function () -> end of heyoka's Taylor series, as many members at once as the processor
    has lanes.
    """
    width = heyoka.recommended_simd_size()
    moving = heyoka.taylor_adaptive_batch(
        lagrangian_chain(LINKS, GRAVITY), np.zeros((2 * LINKS, width)), tol=tolerance
    )
    assert len(q0) % width == 0, f"members must be a multiple of {width}"

    def run():
        ends = np.empty_like(q0)
        for k in range(0, len(q0), width):
            moving.set_time(0.0)
            moving.state[:LINKS] = q0[k : k + width].T
            moving.state[LINKS:] = 0.0
            moving.propagate_until(H * steps)
            ends[k : k + width] = moving.state[:LINKS].T
        return ends

    return run


def candidates(members, steps):
    """(name, steps of all members together, the function () -> end) of each."""
    chain, q0 = system(LINKS), starts(members)
    run = {"v0": np.zeros(LINKS), "h": H, "steps": steps, "save_every": steps}
    few, last = min(FEW, members), limit_of_many()

    def alone():
        return [ac.simulate(chain, ac.Midpoint(), q0=q, **run).q[-1] for q in q0[:few]]

    def together(engine="native"):
        return ac.ensemble(chain, ac.Midpoint(), q0=q0, **run, engine=engine).q[:, -1]

    def on_one_core():
        with one_core():
            return together()

    def by_numba(threads):
        numba.set_num_threads(threads)
        return last(q0, steps)

    most = numba.config.NUMBA_NUM_THREADS
    return [
        (ALONE, few * steps, alone),
        (ONE_CORE, members * steps, on_one_core),
        (ALL_CORES, members * steps, together),
        ("ensemble by XLA", members * steps, lambda: together("xla")),
        ("generated scalars, numba, one core", members * steps, lambda: by_numba(1)),
        ("generated scalars, numba, all cores", members * steps, lambda: by_numba(most)),
        *(
            (BATCHES.format(each), members * steps, in_batches(q0, steps, each))
            for each in TOLERANCES
        ),
    ]


def check(found):
    """Members are to the bit what they are alone, and by other code to rounding, where they have
    not parted: the pendulums are chaotic. The true motion is another, by the error of the midpoint
    rule.
    """
    ends = {name: np.asarray(run()) for name, _, run in progress(found, "compiling")}
    few = len(ends[ALONE])
    for name in (ONE_CORE, ALL_CORES):
        np.testing.assert_array_equal(ends[name][:few], ends[ALONE])
    true = [BATCHES.format(each) for each in TOLERANCES]
    for name, end in ends.items():
        off = FURTHER if name in true else 1e-6
        np.testing.assert_allclose(end[:few], ends[ALONE], atol=off)


def sample(run, steps):
    """(us, us of processors) for each of the `steps` steps of all members, the means over one
    round.
    """
    total, runs, seconds, worked = 0.0, 0, timed(run), time.process_time()
    while total < SPAN:
        total += seconds()
        runs += 1
    return tuple(t / (runs * steps) * 1e6 for t in (total, time.process_time() - worked))


def measure(members, steps, repeats):
    """The times of `sample` in each round, by candidate."""
    check(candidates(members, min(steps, 200)))
    found = candidates(members, steps)
    for _, _, run in progress(found, "warming up"):
        run()
    rounds = [
        [sample(run, count) for _, count, run in found]
        for _ in progress(range(repeats), "measuring")
    ]
    return {
        name: list(times)
        for (name, _, _), times in zip(found, zip(*rounds, strict=True), strict=True)
    }


def table(times, members, steps):
    mine = median(wall for wall, _ in times[ONE_CORE])
    out = Table(
        "candidate",
        "us/step/member",
        "min..max",
        "/ one core",
        "us of processors",
        title=f"{members} double pendulums, {steps} steps, h = {H}",
    )
    for name, each in times.items():
        walls, worked = zip(*each, strict=True)
        middle = median(walls)
        out.add_row(
            name,
            f"{middle:.3f}",
            spread(walls, 3),
            f"{middle / mine:.2f}",
            f"{min(worked):.3f}",
        )
    return out


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1024, help="of the ensemble")
    parser.add_argument("--steps", type=int, default=1000, help="of each member")
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds, of which the median is taken"
    )
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args()


def main():
    given = arguments()
    times = measure(given.members, given.steps, given.repeats)
    console = Console(width=None if sys.stdout.isatty() else 120)
    mine = min(worked for _, worked in times[ONE_CORE])
    console.print(table(times, given.members, given.steps))
    console.print(verdict("a step and member on one core, us of a processor", mine, TARGET))
    if given.json:
        record = machine(("accion", "jax", "numba", "numpy", "heyoka")) | {"times": times}
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    return int(given.strict and mine > TARGET)


if __name__ == "__main__":
    sys.exit(main())
