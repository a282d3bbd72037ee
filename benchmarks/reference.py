"""What a reference trajectory costs, the first with what has to be compiled and the next, and how
far it is from the truth: by `reference`, by its explicit method, by diffrax and by heyoka.

`python benchmarks/reference.py` prints a table (ten minutes). Each row is measured in a process of
its own, which has imported all and computed something else before; times of the processor, which
other work on the machine changes less than those of the clock.
"""

import json
import subprocess
import sys
import time

import diffrax
import heyoka as hy
import jax
import numpy as np
from problems import PROBLEMS

import accion as ac
from accion.gallery import ENTRIES
from accion.instant import continuous

KEYS = ("kepler", "kepler_0.9", "henon_heiles", "chain_2", "chain_5", "heavy_top", "andrews")
TOLERANCE = 1e-12
NEXT = 5  # calls after the first, of which the median is shown
LONGEST = 600  # s, for all calls of one row


def by_accion(problem):
    def run():
        given = {"q0": problem.q0, "v0": problem.v0, "ts": [0.0, problem.duration]}
        return ac.reference(problem.system, **given, rtol=TOLERANCE, atol=TOLERANCE)[0]

    return run


def explicitly(problem):
    """By SciPy's DOP853 on the compiled right-hand side."""

    def refuse(*args):
        raise LookupError

    continuous.Marching = refuse
    return by_accion(problem)


def by_diffrax(problem):
    """Solver and all in one compiled function; the right-hand side is written by hand, but for
    constraints.
    """

    @jax.jit
    def end(y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: problem.jax(y)),
            diffrax.Dopri8(),
            0.0,
            problem.duration,
            None,
            y,
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=1_000_000,
            adjoint=diffrax.ForwardMode(),
        ).ys

    return lambda: problem.states(np.asarray(end(problem.y0)))[0]


def by_heyoka(problem):
    """Taylor series to rounding; what is compiled is kept, as accion keeps it."""
    hy.llvm_state.set_diskcache_enabled(False)
    made = []

    def run():
        if not made:
            made.append(
                hy.taylor_adaptive(problem.taylor(), problem.y0, compact_mode=problem.large)
            )
        made[0].time = 0.0
        made[0].state[:] = problem.y0
        made[0].propagate_until(problem.duration)
        return problem.states(made[0].state[None].copy())[0]

    return run


CANDIDATES = {
    "reference": by_accion,
    "DOP853": explicitly,
    "diffrax, Dopri8": by_diffrax,
    "heyoka": by_heyoka,
}


def spent(run):
    began = time.process_time()
    q = run()
    return time.process_time() - began, q


def measure(key, name):
    """{first, next, error} of one candidate."""
    warm = ENTRIES["pendulum"]
    ac.reference(warm.system, **warm.start, ts=[0.0, 1.0])
    problem = next(p for p in PROBLEMS if p.key == key)
    run = CANDIDATES[name](problem)
    first, q = spent(run)
    rest = [spent(run)[0] for _ in range(NEXT)]
    return {"first": first, "next": float(np.median(rest)), "error": problem.error(q)}


def row(problem, name):
    """A line of the table, from a process of its own."""
    command = [sys.executable, __file__, problem.key, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
    except subprocess.TimeoutExpired:
        return f"| {problem.title} | {name} | longer than {LONGEST} s | | |"
    found = json.loads(done.stdout.splitlines()[-1])
    return (
        f"| {problem.title} | {name} | {found['first']:.2f} s | {1e3 * found['next']:.1f} ms |"
        f" {found['error']:.1e} |"
    )


def main():
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    print("| motion | by | first | next | error of the end |")
    print("| --- | --- | --- | --- | --- |")
    for problem in PROBLEMS:
        if problem.key in KEYS:
            for name in CANDIDATES:
                print(row(problem, name), flush=True)


if __name__ == "__main__":
    main()
