"""How the energy error of a long run grows: by the truncation of a method, or by rounding alone.

    python benchmarks/long_run.py [--steps 1e6] [--method Galerkin(8)] [--system kepler] [--h H]
    [--starts 4] [--json PATH] [--strict]

With steps so short that truncation is below rounding, the energy of a symmetric method goes like a
random walk: |E/E(0) - 1| grows like eps sqrt(n) after n steps (Brouwer's law), slope 1/2 on a
log-log scale, where each rounding is unbiased; a bias shows as slope 1. The energy is looked at 400
times, from a few starts that differ in the last digits. The slope is that of the root of the mean
square of E(n + m) - E(n) against m, over all n and all starts: at one n there are as many values as
starts, at one m a hundred times more. A bias is looked for in all increments from look to look:
their mean over what chance makes of it. 10^8 steps take `--steps 1e8`.
"""

import argparse
import json
import math
import re
import sys
import time
from pathlib import Path

import numpy as np
from problems import PROBLEMS
from rich.console import Console
from rich.table import Table
from timing import machine, verdict

import accion as ac

EPS = float(np.finfo(float).eps)
LOOKS = 400
SLOPE = (0.5, 0.1)  # of a random walk, and how far off it may be
LONGEST = 64  # looks, over which the energy's changes are averaged
CHANCE = 3.0  # of a mean, in units of its standard error
SYSTEMS = {problem.key: problem for problem in PROBLEMS}
# Lengths of steps with which Galerkin(8) is below rounding. None is a whole part of a period: near
# such a resonance of step and motion energy is not lost, but it swings slowly, with the root of the
# truncation as its amplitude.
STEPS = {"kepler": 2 * math.pi / 40.618, "henon_heiles": 0.5, "chain_2": 0.05}
STEPS["solar_system"] = 200.0
FALLBACK = "Trapezoid"  # whose truncation is seen, where there is no method of high order


def method_of(words):
    """A method by its name and numbers: Galerkin(8), Composition(Trapezoid, 8), Midpoint."""
    name, *numbers = re.findall(r"\w+", words)
    found = getattr(ac, name, None)
    if found is None:
        return None
    given = [int(n) if n.isdigit() else method_of(n) for n in numbers]
    return found(*given)


def starts(problem, count):
    """`count` velocities that differ in their last digits; from rest, positions."""
    rng = np.random.default_rng(0)
    q, v = (np.asarray(x, dtype=float) for x in (problem.q0, problem.v0))
    for i in range(count):
        shift = 1e-9 * i * rng.normal(size=v.shape)
        yield (q, v + shift) if v.any() else (q + shift, v)


def energy_walk(problem, method, h, steps, q, v):
    """(n, relative energy error) at LOOKS times, and s of the processor."""
    every = max(1, steps // LOOKS)
    begun = time.process_time()
    traj = ac.simulate(
        problem.system,
        method,
        q0=q,
        v0=v,
        h=h,
        steps=every * (steps // every),
        save_every=every,
    )
    E = np.asarray(traj.energy())
    seconds = time.process_time() - begun
    return every * np.arange(len(E)), E / E[0] - 1, seconds


def changes(n, walks):
    """(m, root of the mean square of E(n + m) - E(n) over all n and starts), m doubling."""
    lags = 2 ** np.arange(int(math.log2(min(LONGEST, len(n) // 4))) + 1)
    return n[0] * lags, [math.sqrt(np.mean((walks[:, k:] - walks[:, :-k]) ** 2)) for k in lags]


def bias(walks):
    """The mean of the changes from look to look, in units of its standard error."""
    steps = np.diff(walks, axis=1)
    return float(np.mean(steps) / np.std(steps) * math.sqrt(steps.size))


def measure(problem, method, h, steps, count):
    """(n, root of the mean square of the error over the starts, errors of each, us/step)."""
    walks, seconds = [], []
    for q, v in starts(problem, count):
        n, error, spent = energy_walk(problem, method, h, steps, q, v)
        walks.append(error)
        seconds.append(spent)
    walks = np.array(walks)
    return n[1:], np.sqrt(np.mean(walks**2, axis=0))[1:], walks[:, 1:], min(seconds) / steps * 1e6


def table(n, error):
    out = Table("steps", "energy error", "eps sqrt(n)", "ratio", title="root of the mean square")
    decades = 10 ** np.arange(math.ceil(math.log10(n[0])), math.floor(math.log10(n[-1])) + 1)
    for k in sorted({*(int(np.argmin(np.abs(n - d))) for d in decades), len(n) - 1}):
        expected = EPS * math.sqrt(n[k])
        out.add_row(
            f"{n[k]:.1e}", f"{error[k]:.1e}", f"{expected:.1e}", f"{error[k] / expected:.2g}"
        )
    return out


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--method", default="Galerkin(8)")
    parser.add_argument("--system", choices=STEPS, default="kepler")
    parser.add_argument("--h", type=float, help="the length of a step")
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if given.steps < LOOKS or given.starts < 1:
        parser.error(f"--steps must be at least {LOOKS}, --starts at least 1.")
    return given


def main():
    given = arguments()
    console = Console(width=None if sys.stdout.isatty() else 120)
    method = method_of(given.method)
    if method is None:
        console.print(f"accion has no {given.method}: {FALLBACK} instead", markup=False)
        method = method_of(FALLBACK)
    problem, h = SYSTEMS[given.system], given.h or STEPS[given.system]
    n, error, walks, us = measure(problem, method, h, round(given.steps), given.starts)
    console.print(f"{given.system}, {method}, h = {h:.4g}: {us:.3f} us/step", markup=False)
    console.print(table(n, error))
    lags, sizes = changes(n, walks)
    fitted = float(np.polyfit(np.log(lags), np.log(sizes), 1)[0])
    level = float(error[-1] / (EPS * math.sqrt(n[-1])))
    found = [
        (f"slope of the energy's changes, off {SLOPE[0]:g} by", abs(fitted - SLOPE[0]), SLOPE[1]),
        ("their mean, in units of its standard error", abs(bias(walks)), CHANCE),
        ("energy error at the end / eps sqrt(n)", level, 1.0),
    ]
    console.print(f"slope from {lags[0]:.2g} to {lags[-1]:.2g} steps: {fitted:.2f}")
    for row in found:
        console.print(verdict(*row), markup=False)
    if given.json:
        record = machine(("accion", "jax", "numpy")) | {
            "system": given.system,
            "method": str(method),
            "h": h,
            "n": n.tolist(),
            "errors": walks.tolist(),
            "slope": fitted,
            "us": us,
        }
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    return int(given.strict and any(not value <= target for _, value, target in found))


if __name__ == "__main__":
    sys.exit(main())
