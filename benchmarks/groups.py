"""What a step on a Lie group costs, and what it gives: the heavy top by accion's methods, beside
diffrax on unit quaternions.

    python benchmarks/groups.py [--repeats 5] [--json PATH] [--strict]

All candidates take turns in each round; medians over the rounds are compared.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jax
import numpy as np
import quaternions
import top
from quaternions import SOLVERS
from rich.console import Console
from rich.table import Table
from timing import machine, progress, ratio, sample, spread, timed, verdict
from top import (
    ALPHA,
    ALPHA_CAYLEY,
    ALPHA_ONE,
    HIGH,
    MIDPOINT,
    MIDPOINT_CAYLEY,
    SAVES,
    TRAPEZOID,
)

from accion.gallery.heavy_top import exact_height
from accion.spaces import SO3

STEPPED = [MIDPOINT, MIDPOINT_CAYLEY, TRAPEZOID, ALPHA, *HIGH, *top.IN_SPACE]
TIMED_STEPS = 4000  # in 1 s
COMPILED = 2  # times
TARGETS = (1e-2, 1e-4, 1e-6)  # m, of the centre of mass at 1 s
MATCHED = [MIDPOINT, MIDPOINT_CAYLEY, ALPHA, ALPHA_CAYLEY]
COMPARED = [MIDPOINT, MIDPOINT_CAYLEY, ALPHA_CAYLEY, ALPHA, ALPHA_ONE]
COMPARED_STEPS = (500, 1000, 2000, 4000, 8000)  # in 1 s
COMPARED_LONG = 10.0  # s, over which the energy is looked at for each of them
LONG = 100.0  # s
MS = 1000  # `sample` divides by a number of steps and gives us: of a thousand, ms for the whole


class Step(NamedTuple):
    case: Any
    iterations: int  # of Newton's method, the most in any step
    us: list[float]
    first: list[float]  # s, the first call


class Match(NamedTuple):
    target: float
    name: str
    setting: str
    steps: int
    error: float
    ms: list[float]


class Kept(NamedTuple):
    name: str
    setting: str
    energy: tuple[float, float]  # the largest relative errors in the first and in the last half
    vertical: float
    group: float  # how far off the group
    height: float  # m, the largest error
    seconds: float


class Compared(NamedTuple):
    case: Any
    steps: int
    error: float  # m, of the centre of mass at 1 s
    energy: float
    vertical: float
    us: list[float]


# ---------------------------------------------------------------- what a step costs


def measure_steps(repeats):
    runs = [top.motion(case, TIMED_STEPS) for case in STEPPED]
    firsts = []
    for _ in range(COMPILED):
        jax.clear_caches()
        firsts.append([timed(run)() for run in progress(runs, "compiling")])
    iterations = [int(np.max(run().iterations)) for run in runs]
    rounds = [
        [sample(timed(run), TIMED_STEPS) for run in runs] for _ in progress(range(repeats), "steps")
    ]
    times = zip(*rounds, strict=True), zip(*firsts, strict=True)
    return [
        Step(case, i, list(us), list(first))
        for case, i, us, first in zip(STEPPED, iterations, *times, strict=True)
    ]


# ---------------------------------------------------------------- at equal error


def steps_for(case, target):
    """The least number of steps in 1 s, a multiple of SAVES, with which the error is at most
    `target`.
    """

    def error(steps):
        return top.centre_error(top.attitude(top.motion(case, steps)())[0][-1])

    # order 2
    steps = SAVES * math.ceil(TIMED_STEPS * math.sqrt(error(TIMED_STEPS) / target) / SAVES)
    while error(steps) > target:
        steps += SAVES * math.ceil(steps / SAVES / 100)
    return steps, error(steps)


def setting_for(solver, target):
    """The loosest setting that has, like all that are tighter, at most the error `target`."""
    best = None
    for setting in solver.settings[::-1]:
        q, w, steps = quaternions.motion(solver, setting)()
        error = top.centre_error(quaternions.attitude(q, w)[0][-1])
        if not error <= target:
            break
        best = setting, int(steps), error
    return best


def matches(target):
    """Pairs of a `Match` without times and the function that is timed."""
    found = []
    for case in MATCHED:
        steps, error = steps_for(case, target)
        found.append(
            (
                Match(target, f"accion {case.name}", f"h = {1e3 / steps:.3g} ms", steps, error, []),
                top.motion(case, steps),
            )
        )
    for case in HIGH:
        if (best := top.fastest(case, target)) is not None:
            steps, error = best
            words = f"h = {1e3 / steps:.3g} ms"
            row = Match(target, f"accion {case.name}", words, steps, error, [])
            found.append((row, top.motion(case, steps, saves=1)))
    for solver in SOLVERS:
        setting, steps, error = setting_for(solver, target)
        name = f"diffrax {solver.name}{'' if solver.adaptive else ', fixed step'}"
        found.append(
            (
                Match(target, name, solver.words(setting), steps, error, []),
                quaternions.motion(solver, setting),
            )
        )
    return found


def measure_matches(repeats):
    found = [pair for target in progress(TARGETS, "equal errors") for pair in matches(target)]
    for _ in progress(range(repeats), "equal errors, timed"):
        for match, run in found:
            match.ms.append(sample(timed(run), MS))
    return [match for match, _ in found]


def measure_call(repeats):
    """ms of a call of simulate for SAVES steps, the least that is compared."""
    run = top.motion(MIDPOINT, SAVES, SAVES / TIMED_STEPS)
    run()
    return [sample(timed(run), MS) for _ in range(repeats)]


# ---------------------------------------------------------------- what is kept


def kept(name, setting, R, w, group, seconds):
    E, half = top.change(top.energy(R, w)), len(R) // 2
    ts = np.linspace(0, LONG, len(R))
    height = float(np.max(np.abs((R @ top.X)[:, 2] - exact_height(ts))))
    pz = float(np.max(top.change(top.vertical(R, w))))
    return Kept(
        name,
        setting,
        (float(np.max(E[:half])), float(np.max(E[half:]))),
        pz,
        group,
        height,
        seconds,
    )


def kept_by_accion(case, target):
    find = top.fastest if case in HIGH else steps_for
    steps = round(LONG * find(case, target)[0])
    run = top.motion(case, steps, LONG)
    R, w = top.attitude(run())
    group = float(np.max(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3))))
    return kept(
        f"accion {case.name}", f"h = {1e3 * LONG / steps:.3g} ms", R, w, group, timed(run)()
    )


def kept_by_diffrax(solver, target):
    setting = setting_for(solver, target)[0]
    run = quaternions.motion(solver, setting, SAVES, LONG)
    q, w, _ = run()
    group = float(np.max(np.abs(np.linalg.norm(q, axis=1) - 1)))
    name = f"diffrax {solver.name}{'' if solver.adaptive else ', fixed step'}"
    return kept(name, solver.words(setting), *quaternions.attitude(q, w), group, timed(run)())


def measure_kept():
    loose, tight = TARGETS[0], TARGETS[-1]
    cases = progress([*MATCHED, ALPHA_ONE], "100 s, accion")
    high = [(case, target) for target in (loose, tight) for case in HIGH]
    jobs = [(solver, target) for target in (loose, tight) for solver in SOLVERS]
    return (
        [kept_by_accion(case, loose) for case in cases]
        + [kept_by_accion(*job) for job in progress(high, "100 s, high order")]
        + [kept_by_diffrax(*job) for job in progress(jobs, "100 s, diffrax")]
    )


# ---------------- the midpoint rule and generalized alpha


def measure_compared(repeats):
    pairs = [(case, steps) for case in COMPARED for steps in COMPARED_STEPS]
    runs = [top.motion(*pair) for pair in pairs]
    ends = [top.centre_error(top.attitude(run())[0][-1]) for run in runs]
    changes = []
    for case, steps in progress(pairs, "energies"):
        R, w = top.attitude(top.motion(case, round(COMPARED_LONG * steps), COMPARED_LONG)())
        changes.append(
            [float(np.max(top.change(values(R, w)))) for values in (top.energy, top.vertical)]
        )
    rounds = [
        [sample(timed(run), steps) for run, (_, steps) in zip(runs, pairs, strict=True)]
        for _ in progress(range(min(3, repeats)), "errors")
    ]
    times = zip(*rounds, strict=True)
    return [
        Compared(*pair, end, *change, list(us))
        for pair, end, change, us in zip(pairs, ends, changes, times, strict=True)
    ]


# ---------------------------------------------------------------- what is shown


def step_table(rows):
    heads = (
        "space",
        "method, retraction",
        "iterations",
        "us/step",
        "min..max",
        "/ first",
        "first call, s",
        "min..max",
    )
    out = Table(*heads, title=f"a step of the heavy top, h = {1e3 / TIMED_STEPS} ms")
    for row in rows:
        cells = [
            row.case.space,
            row.case.name,
            str(row.iterations),
            f"{median(row.us):.2f}",
            spread(row.us),
            f"{ratio(row.us, rows[0].us):.2f}",
        ]
        out.add_row(*cells, f"{median(row.first):.1f}", spread(row.first, 1))
    return out


def match_table(rows):
    heads = (
        "error, m",
        "candidate",
        "setting",
        "steps",
        "error reached",
        "ms for 1 s",
        "min..max",
        "/ first",
    )
    out = Table(*heads, title="at equal error of the centre of mass at 1 s")
    firsts: dict[float, Match] = {}
    for row in rows:
        first = firsts.setdefault(row.target, row)
        cells = [
            f"{row.target:g}",
            row.name,
            row.setting,
            str(row.steps),
            f"{row.error:.1e}",
            f"{median(row.ms):.3g}",
        ]
        out.add_row(
            *cells, f"{min(row.ms):.3g}..{max(row.ms):.3g}", f"{ratio(row.ms, first.ms):.2g}"
        )
    return out


def kept_table(rows):
    heads = (
        "candidate",
        "setting",
        "energy, first half",
        "last half",
        "momentum about the vertical",
        "off the group",
        "height, m",
        "s",
    )
    out = Table(*heads, title=f"what is kept over {LONG:g} s: largest changes, relative")
    for row in rows:
        changes = (*row.energy, row.vertical, row.group, row.height)
        out.add_row(
            row.name, row.setting, *(f"{change:.1e}" for change in changes), f"{row.seconds:.2g}"
        )
    return out


def compared_table(rows):
    heads = (
        "method, retraction",
        "h, ms",
        "error at 1 s, m",
        "order",
        "energy, 10 s",
        "momentum about the vertical",
        "us/step",
        "min..max",
    )
    out = Table(*heads, title="the midpoint rule and generalized alpha")
    before = None
    for row in rows:
        order = (
            f"{math.log2(before.error / row.error):.2f}"
            if before is not None and before.case == row.case
            else ""
        )
        cells = [
            row.case.name,
            f"{1e3 / row.steps:g}",
            f"{row.error:.2e}",
            order,
            f"{row.energy:.1e}",
            f"{row.vertical:.1e}",
        ]
        out.add_row(*cells, f"{median(row.us):.2f}", spread(row.us))
        before = row
    return out


def at_equal_error(matches):
    """(what, measured, target): the fastest of accion over the fastest of diffrax."""
    found = []
    for target in TARGETS:
        ours, theirs = (
            min(median(row.ms) for row in matches if row.target == target and who in row.name)
            for who in ("accion", "diffrax")
        )
        found.append((f"time, accion / diffrax, {target:g} m", ours / theirs, 1.0))
    return found


def verdicts(matches, keeps, compared):
    """(what, measured, target) for each target: time at equal error, what the theory promises of
    every variational run, and order 2 of every method that has it.
    """
    found = at_equal_error(matches)
    found += [
        (f"momentum about the vertical, {row.name}, 100 s", row.vertical, 1e-11)
        for row in keeps
        if "accion Midpoint" in row.name
    ]
    found += [
        (
            f"energy error, last half over first, {row.name}, off 1 by",
            abs(row.energy[1] / row.energy[0] - 1),
            0.1,
        )
        for row in keeps[:2]
    ]
    for case in COMPARED:
        coarse, fine = [row.error for row in compared if row.case == case][-2:]
        found.append((f"order of {case.name}, off 2 by", abs(2 - math.log2(coarse / fine)), 0.05))
    return found


def save(path, steps, found, keeps, compared, call, targets):
    def plain(row):
        return {
            key: value.name if isinstance(value, top.Case) else value
            for key, value in row._asdict().items()
        }

    record = machine(("accion", "jax", "jaxlib", "diffrax", "numpy")) | {
        "steps": [plain(row) | {"space": row.case.space} for row in steps],
        "equal_error": [plain(row) for row in found],
        "kept": [plain(row) for row in keeps],
        "compared": [plain(row) for row in compared],
        "call_ms": call,
        "targets": [
            {"what": what, "measured": value, "target": target, "pass": value <= target}
            for what, value, target in targets
        ],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds, of which the median is taken"
    )
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if given.repeats < 1:
        parser.error("--repeats must be at least 1.")
    return given


def measure_batch(repeats, count=1_000_000):
    """us for each of `count` rotations at once: exp, then its inverse."""
    group = SO3()
    x = np.random.default_rng(0).normal(size=(count, 3))
    exp, log = jax.jit(jax.vmap(group.tau)), jax.jit(jax.vmap(group.tau_inverse))
    g = exp(x)
    runs = [timed(lambda: exp(x)), timed(lambda: log(g))]
    [run() for run in runs]
    return [[sample(run, count) for _ in range(repeats)] for run in runs]


def main():
    given = arguments()
    for words in top.LEFT_OUT:
        print(words)
    steps = measure_steps(given.repeats)
    found, compared, keeps = (
        measure_matches(given.repeats),
        measure_compared(given.repeats),
        measure_kept(),
    )
    call = measure_call(given.repeats)
    targets = verdicts(found, keeps, compared)
    console = Console(width=None if sys.stdout.isatty() else 200)
    for table in (
        step_table(steps),
        match_table(found),
        kept_table(keeps),
        compared_table(compared),
    ):
        console.print(table)
    console.print(
        f"a call of simulate for {SAVES} steps takes {median(call):.1f} ms ({spread(call, 1)}); the"
        " times above contain it"
    )
    exp, log = measure_batch(given.repeats)
    console.print(
        f"a million rotations at once: exp {median(exp):.2f} us each ({spread(exp)}), its inverse"
        f" {median(log):.2f} us ({spread(log)})"
    )
    for what, value, target in targets:
        console.print(verdict(what, value, target))
    if given.json:
        save(given.json, steps, found, keeps, compared, call, targets)
    return int(given.strict and any(not value <= target for _, value, target in targets))


if __name__ == "__main__":
    sys.exit(main())
