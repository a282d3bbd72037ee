"""What a step costs: accion's midpoint step of pendulum chains beside the alternatives, and beside
the practical limit.

    python benchmarks/step_cost.py [--links 2 5 10] [--steps 20000] [--repeats 7] [--json PATH]
    [--strict]

Every candidate has its turn in each round, so that a slow spell of the machine falls on all of
them; medians over the rounds are compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from chain import simulation
from limit import limit
from rich.console import Console
from rich.table import Table
from rivals import energy_error, loosest_dop853, optimistix_newton
from timing import machine, progress, sample, spread, timed, verdict
from worker import DIFFRAX_SHARE

WORKER = Path(__file__).with_name("worker.py")
DEFAULT_LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1024"
ACCION, OPTIMISTIX, LIMIT = "accion", "optimistix Newton", "generated scalars, numba"
BY_DEFAULT = ", default limit"
# steps, over which trajectories must agree; later they part, because the chains are chaotic
COMPARED = 200

OPTIMISTIX_SHARE = 0.35
LIMIT_FACTOR = 1.3
ONE_CALL, CALLS = 0.3, 50  # ms of the processor for one step, and how many calls of a round
TREP = {2: 21.0, 5: 108.0, 10: 469.0}  # us for a step of trep's C core, measured on such a machine
TREP_SHARE = 0.1
FIRST_RESULT, FIRST_STEPS = 3.0, 1000


class Candidate(NamedTuple):
    links: int
    name: str
    steps: int
    seconds: Callable[[], float]  # of one run
    note: str


class Row(NamedTuple):
    links: int
    name: str
    steps: int
    note: str
    times: list[float]  # us for each step

    @property
    def median(self):
        return median(self.times)


def check_agreement(name, q, expected, tolerance):
    """Raise RuntimeError unless `q` and `expected`, one row for each step, agree over the first
    steps.
    """
    difference = float(np.max(np.abs(np.asarray(q)[:COMPARED] - np.asarray(expected)[:COMPARED])))
    if not difference <= tolerance:
        raise RuntimeError(
            f"{name} and accion differ by {difference:.3g} within {COMPARED} steps; at most"
            f" {tolerance:g} was expected."
        )


def start_worker(steps, links):
    """A process in which XLA has its default loop limit; it compiles while this one does."""
    command = [sys.executable, WORKER, "serve", str(steps), *map(str, links)]
    return subprocess.Popen(
        command,
        env=os.environ | {"XLA_FLAGS": DEFAULT_LOOPS},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def reply(worker):
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(
            "the process with XLA's default loop limit ended early; its own error is above."
        )
    return json.loads(line)


def ask(worker, name, n):
    """The function () -> seconds of one run of a candidate in the `worker`."""

    def seconds():
        worker.stdin.write(f"{name} {n}\n")
        worker.stdin.flush()
        return reply(worker)

    return seconds


def candidates_here(n, steps):
    """The candidates of this process, compiled and checked against accion's trajectory."""
    run = simulation(n, steps)
    trajectory = run()
    error = energy_error(np.asarray(trajectory.q), np.asarray(trajectory.v))
    iterations = float(np.mean(trajectory.iterations[1:]))
    found = [
        Candidate(
            n, ACCION, steps, timed(run), f"{iterations:.2f} iterations, energy error {error:.1e}"
        )
    ]

    newton = optimistix_newton(n, steps)
    q, iterations = newton()
    check_agreement(OPTIMISTIX, q, trajectory.q[1:], 1e-9)
    found.append(
        Candidate(
            n, OPTIMISTIX, steps, timed(newton), f"{float(np.mean(iterations)):.2f} iterations"
        )
    )

    dop853, rtol = loosest_dop853(n, steps, error)
    note = f"rtol {rtol:.0e}, energy error {energy_error(*dop853()):.1e}"
    found.append(Candidate(n, "scipy DOP853", steps, timed(dop853), note))
    if n == 2:
        march = limit()
        check_agreement(LIMIT, march(steps)[0], trajectory.q, 1e-10)
        found.append(Candidate(n, LIMIT, steps, timed(lambda: march(steps)), "the practical limit"))
    return found


def candidates_there(worker, n, steps, error):
    """The candidates of the `worker`; `error` is the energy error of diffrax."""
    if not np.isfinite(error):
        raise RuntimeError(f"diffrax did not solve the chain of {n} links.")
    few = steps // DIFFRAX_SHARE
    note = f"order 3; energy error {error:.1e} over {few} steps"
    return [
        Candidate(
            n, ACCION + BY_DEFAULT, steps, ask(worker, "accion", n), "same equations and code"
        ),
        Candidate(
            n, OPTIMISTIX + BY_DEFAULT, steps, ask(worker, "optimistix", n), "same equations"
        ),
        Candidate(n, "diffrax Kvaerno3" + BY_DEFAULT, few, ask(worker, "diffrax", n), note),
    ]


def measure(links, steps, repeats):
    """One `Row` for each candidate, and the fixed cost of a call of `simulate` in ms by number of
    links.
    """
    with start_worker(steps, links) as worker:
        here = {n: candidates_here(n, steps) for n in progress(links, "compiling")}
        single = {n: simulation(n, 1) for n in links}
        for call in single.values():
            call()
        errors = reply(worker)
        candidates = [
            c for n in links for c in here[n] + candidates_there(worker, n, steps, errors[str(n)])
        ]
        rounds, calls = [], []
        for _ in progress(range(repeats), "measuring"):
            rounds.append([sample(c.seconds, c.steps) for c in candidates])
            calls.append([one_call(call) for call in single.values()])
        worker.stdin.close()
    rows = [
        Row(c.links, c.name, c.steps, c.note, list(times))
        for c, times in zip(candidates, zip(*rounds, strict=True), strict=True)
    ]
    return rows, dict(zip(links, map(median, zip(*calls, strict=True)), strict=True))


def one_call(call):
    """ms of the processor for one call, the median of some that follow each other."""
    times = []
    for _ in range(CALLS):
        begun = time.process_time()
        call()
        times.append((time.process_time() - begun) * 1e3)
    return median(times)


def first_results(repeats):
    """(import, first result): the seconds of each, lists with one entry for each fresh process."""
    command = [sys.executable, WORKER, "first", str(FIRST_STEPS)]
    outputs = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for _ in progress(range(repeats), "first result")
    ]
    return [
        list(times) for times in zip(*(map(float, out.split()) for out in outputs), strict=True)
    ]


def verdicts(rows, calls, first):
    """(what, measured, target) for each target that the chosen links allow."""
    times = {(row.links, row.name): row.median for row in rows}
    found = []
    if (2, ACCION) in times:
        mine = times[2, ACCION]
        rival = min(times[2, OPTIMISTIX], times[2, OPTIMISTIX + BY_DEFAULT])
        found.append(
            ("accion / optimistix (the faster of its two), 2 links", mine / rival, OPTIMISTIX_SHARE)
        )
        found.append(
            ("accion / the practical limit, 2 links", mine / times[2, LIMIT], LIMIT_FACTOR)
        )
        found.append(("a call for one step, 2 links, ms of the processor", calls[2], ONE_CALL))
    for n, trep in TREP.items():
        if (n, ACCION) in times:
            found.append(
                (
                    f"accion, {n} links, us (a tenth of trep's C core)",
                    times[n, ACCION],
                    TREP_SHARE * trep,
                )
            )
    found.append(
        (f"first result after import, 2 links, {FIRST_STEPS} steps, s", median(first), FIRST_RESULT)
    )
    return found


def table(rows):
    mine = {row.links: row.median for row in rows if row.name == ACCION}
    out = Table(
        "links",
        "candidate",
        "us/step",
        "min..max",
        "/ accion",
        "note",
        title="a step of the pendulum chain, h = 0.01",
    )
    for row in sorted(rows, key=lambda row: (row.links, row.median)):
        ratio = f"{row.median / mine[row.links]:.2f}"
        out.add_row(
            str(row.links),
            row.name,
            f"{row.median:.2f}",
            spread(row.times),
            ratio,
            row.note,
            style="bold" if row.name == ACCION else None,
        )
    return out


def show(console, rows, calls, imports, first, found):
    console.print(table(rows))
    fixed = ", ".join(f"{ms:.2f} ({n} links)" for n, ms in calls.items())
    console.print(
        f"A call of simulate for one step takes, in ms of the processor: {fixed}. The times of"
        " accion above contain it."
    )
    for what, times in (("import accion", imports), ("from there to the first result", first)):
        console.print(f"{what}: {median(times):.2f} s ({spread(times)})")
    for what, value, target in found:
        console.print(verdict(what, value, target))


def save(path, rows, calls, imports, first, found, steps):
    packages = (
        "accion",
        "jax",
        "jaxlib",
        "optimistix",
        "diffrax",
        "scipy",
        "numba",
        "sympy",
        "numpy",
    )
    record = machine(packages) | {
        "steps": steps,
        "rows": [row._asdict() | {"median": row.median} for row in rows],
        "call_ms": calls,
        "import_s": imports,
        "first_result_s": first,
        "targets": [
            {"what": what, "measured": value, "target": target, "pass": value <= target}
            for what, value, target in found
        ],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--links", type=int, nargs="+", default=[2, 5, 10], help="lengths of the chains"
    )
    parser.add_argument("--steps", type=int, default=20_000, help="of each run")
    parser.add_argument(
        "--repeats", type=int, default=7, help="rounds, of which the median is taken"
    )
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if min(given.links) < 1 or given.repeats < 1:
        parser.error("--links and --repeats must be at least 1.")
    if given.steps < COMPARED:
        parser.error(f"--steps must be at least {COMPARED}, over which trajectories are compared.")
    return given


def main():
    given = arguments()
    rows, calls = measure(given.links, given.steps, given.repeats)
    imports, first = first_results(3)
    found = verdicts(rows, calls, first)
    show(Console(width=None if sys.stdout.isatty() else 150), rows, calls, imports, first, found)
    if given.json:
        save(given.json, rows, calls, imports, first, found, given.steps)
    return int(given.strict and any(value > target for _, value, target in found))


if __name__ == "__main__":
    sys.exit(main())
