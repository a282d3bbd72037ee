"""What constraints cost: pendulum chains on rods (Cartesian, holonomic) beside the same chains in
angles, and Andrews' mechanism.

    python benchmarks/constraints.py [--links 2 5 10] [--steps 20000] [--repeats 7] [--json PATH]
    [--strict]

Rods and angles take turns in each round; medians over the rounds are compared. That both compute
the same motion is measured, too.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import chain
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import first_calls, machine, progress, ratio, sample, spread, timed, verdict

import accion as ac
from accion.gallery import andrews

FORMS = {"angles": chain.simulation, "rods": chain.rods_simulation}
SHORT = 200  # steps of a run whose compilation is timed
COMPARED = 0.5  # s, over which both forms must be the same motion; later chains are chaotic
COMPARED_H = (chain.H / 2, chain.H / 4, chain.H / 8)
COMPARED_TIMES = 25  # in every run, so that the loop is compiled once
ANDREWS_STEPS = (1_200, 2_400, 4_800, 12_000, 24_000, 48_000)
ANDREWS_ERROR = 1e-6


class Row(NamedTuple):
    links: int
    form: str
    unknowns: int
    iterations: float  # of Newton's method, the mean over the steps
    every: list[float]  # us for each step, every step kept
    last: list[float]  # us for each step, only the last kept
    compiling: list[float]  # s


class Agreement(NamedTuple):
    links: int
    h: list[float]
    differences: list[float]  # m, the largest of any position of any mass

    @property
    def orders(self):
        return np.log2(np.divide(self.differences[:-1], self.differences[1:])).tolist()


class Squeeze(NamedTuple):
    steps: int
    error: float  # rad, the largest of any angle at the end
    iterations: int  # the most in any step
    seconds: list[float]


def measure_chains(links, steps, repeats):
    """One `Row` for each length and form, all of them in every round."""
    cases = [(n, form) for n in links for form in FORMS]
    compiling = first_calls([FORMS[form](n, SHORT) for n, form in cases], min(3, repeats))
    runs: list[Any] = [
        (FORMS[form](n, steps), FORMS[form](n, steps, save_every=steps)) for n, form in cases
    ]
    iterations = [float(np.mean(every().iterations[1:])) for every, _ in runs]
    for _, last in runs:
        last()
    rounds = [
        [[sample(timed(run), steps) for run in pair] for pair in runs]
        for _ in progress(range(repeats), "chains")
    ]
    times = np.array(rounds).transpose(1, 2, 0).tolist()
    return [
        Row(n, form, unknowns(n, form), i, *t, c)
        for (n, form), i, t, c in zip(cases, iterations, times, compiling, strict=True)
    ]


def unknowns(n, form):
    """Of the equations of a step: the increment and the multipliers."""
    return n if form == "angles" else 3 * n


def agreement(n):
    """How far the positions of the two forms are from each other, for three step sizes, at the same
    times.
    """
    differences = []
    for h in COMPARED_H:
        steps = round(COMPARED / h)
        angles, rods = (run(n, steps, steps // COMPARED_TIMES, h)() for run in FORMS.values())
        differences.append(
            float(np.max(np.abs(chain.cartesian(np.asarray(angles.q)) - np.asarray(rods.q))))
        )
    return Agreement(n, list(COMPARED_H), differences)


def squeeze(steps):
    """The function () -> Trajectory of Andrews' mechanism to its end, only the end kept."""
    h = andrews.DURATION / steps
    return lambda: ac.simulate(
        andrews.system,
        ac.Midpoint(),
        q0=andrews.Q0,
        v0=np.zeros(7),
        h=h,
        steps=steps,
        save_every=steps,
    )


def measure_andrews(repeats):
    """A `Squeeze` for each number of steps, and the seconds of compilation, which all of them
    share.
    """
    (compiling,) = first_calls([squeeze(ANDREWS_STEPS[0])], min(3, repeats))
    ends = [squeeze(n)() for n in ANDREWS_STEPS]
    rounds = [
        [timed(squeeze(n))() for n in ANDREWS_STEPS]
        for _ in progress(range(repeats), "Andrews' mechanism")
    ]
    rows = []
    for n, end, times in zip(ANDREWS_STEPS, ends, zip(*rounds, strict=True), strict=True):
        rows.append(
            Squeeze(
                n,
                float(np.max(np.abs(end.q[-1] - andrews.END))),
                int(end.iterations[-1]),
                list(times),
            )
        )
    return rows, compiling


def chain_table(rows):
    title = f"a step of the pendulum chain, in angles and on rods, h = {chain.H}"
    heads = (
        "links",
        "form",
        "unknowns",
        "iterations",
        "us/step",
        "min..max",
        "/ angles",
        "us/step, last kept",
        "min..max",
        "/ angles",
    )
    out = Table(*heads, "compiling, s", "min..max", "/ angles", title=title)
    angles = {row.links: row for row in rows if row.form == "angles"}
    for row in rows:
        cells = [str(row.links), row.form, str(row.unknowns), f"{row.iterations:.2f}"]
        for times, others in zip(row[4:], angles[row.links][4:], strict=True):
            cells += [f"{median(times):.2f}", spread(times), f"{ratio(times, others):.2f}"]
        out.add_row(*cells)
    return out


def agreement_table(rows):
    out = Table(
        "links",
        *(f"h = {h:g}" for h in rows[0].h),
        "order",
        title=f"largest distance between the two forms within {COMPARED} s, m",
    )
    for row in rows:
        out.add_row(
            str(row.links),
            *(f"{d:.2e}" for d in row.differences),
            ", ".join(f"{order:.2f}" for order in row.orders),
        )
    return out


def andrews_table(rows):
    heads = ("steps", "largest error, rad", "order", "most iterations", "s", "min..max", "us/step")
    out = Table(
        *heads,
        title=(
            f"Andrews' mechanism to t = {andrews.DURATION} s, Midpoint, against the angles of the"
            " literature"
        ),
    )
    before = None
    for row in rows:
        order = (
            ""
            if before is None
            else f"{np.log(before.error / row.error) / np.log(row.steps / before.steps):.3f}"
        )
        cost = median(row.seconds)
        cells = (
            f"{row.error:.2e}",
            order,
            str(row.iterations),
            f"{cost:.3f}",
            spread(row.seconds, 3),
            f"{cost / row.steps * 1e6:.1f}",
        )
        out.add_row(str(row.steps), *cells)
        before = row
    return out


def verdicts(agreements, squeezes):
    """(what, measured, target) for each target: both forms compute one motion, and the problem of
    the literature is solved.
    """
    found = [
        (
            f"order with which rods and angles come together, {a.links} links, off 2 by",
            abs(2 - a.orders[-1]),
            0.1,
        )
        for a in agreements
    ]
    return [
        *found,
        ("error of Andrews' mechanism, rad", min(row.error for row in squeezes), ANDREWS_ERROR),
    ]


def save(path, rows, agreements, squeezes, compiling, steps, found):
    record = machine(("accion", "jax", "jaxlib", "numpy")) | {
        "steps": steps,
        "chains": [row._asdict() for row in rows],
        "agreement": [a._asdict() | {"orders": a.orders} for a in agreements],
        "andrews": [row._asdict() for row in squeezes],
        "andrews_compiling_s": compiling,
        "targets": [
            {"what": what, "measured": value, "target": target, "pass": value <= target}
            for what, value, target in found
        ],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def show(console, rows, agreements, squeezes, compiling, found):
    for table in (chain_table(rows), agreement_table(agreements), andrews_table(squeezes)):
        console.print(table)
    console.print(
        f"compiling Andrews' mechanism: {median(compiling):.2f} s ({spread(compiling)}), once for"
        " all numbers of steps"
    )
    for what, value, target in found:
        console.print(verdict(what, value, target))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--links", type=int, nargs="+", default=[2, 5, 10], help="lengths of the chains"
    )
    parser.add_argument("--steps", type=int, default=20_000, help="of each run of a chain")
    parser.add_argument(
        "--repeats", type=int, default=7, help="rounds, of which the median is taken"
    )
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if min(given.links) < 1 or given.repeats < 1 or given.steps < 1:
        parser.error("--links, --steps and --repeats must be at least 1.")
    return given


def main():
    given = arguments()
    rows = measure_chains(given.links, given.steps, given.repeats)
    agreements = [agreement(n) for n in progress(given.links, "agreement")]
    squeezes, compiling = measure_andrews(given.repeats)
    found = verdicts(agreements, squeezes)
    show(
        Console(width=None if sys.stdout.isatty() else 200),
        rows,
        agreements,
        squeezes,
        compiling,
        found,
    )
    if given.json:
        save(given.json, rows, agreements, squeezes, compiling, given.steps, found)
    return int(given.strict and any(not value <= target for _, value, target in found))


if __name__ == "__main__":
    sys.exit(main())
