"""Problems of optimal control with known optima: accion, and CasADi with IPOPT by Hermite-Simpson
collocation.

    python benchmarks/optima.py [NAMES] [--repeats 3] [--json PATH] [--strict]

The problems are the files of tests/data/control, with their ends, their optimum and its source; the
equations, which both take, are in tests/textbook/optima.py. Each starts from the straight line
between the ends or from the line that its file says, the same for both; both have as many controls.
`off` is how far the cost is from the known optimum, relative: a run that says that it succeeded is
"coarse" where it is further off than the file of the problem allows, and "WRONG" beyond 1%.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import casadi as ca
import numpy as np
from rich.console import Console
from rich.table import Table
from tests.textbook import optima
from timing import machine, progress, spread

import accion as ac

OPTIONS = {"ipopt.tol": 1e-8, "ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}


WRONG = 0.01  # relative, beyond which a cost is that of another motion


class Row(NamedTuple):
    """What a candidate made of a problem."""

    problem: str
    candidate: str
    steps: int
    cost: float
    off: float
    iterations: int
    success: bool
    setup: float
    solving: list[float]
    verdict: str


def verdict(known, cost, success):
    """In a word."""
    if not success:
        return "failed"
    if known.error(cost) <= known.data["within"]:
        return "ok"
    return "coarse" if known.error(cost) < WRONG else "WRONG"


# ---------------------------------------------------------------- accion


def by_accion(known, form, repeats):
    """One `Row`: set-up is the first call, with all that is compiled, over the others."""
    problem, times, found = form(known), [], None
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        try:
            found = optima.solve(known, problem)
        except ac.OptimizeFailed as error:
            found = error.solution
        times.append(time.perf_counter() - begun)
    assert found is not None
    name = f"accion, {'Lagrangian' if form is optima.mechanical else 'Dynamics'}"
    setup = max(times[0] - median(times[1:]), 0.0)
    return row(
        known, name, found.steps, found.cost, found.iterations, found.success, setup, times[1:]
    )


def row(known, name, steps, cost, iterations, success, setup, times):
    word = verdict(known, cost, success)
    return Row(
        known.name, name, steps, cost, known.error(cost), iterations, success, setup, times, word
    )


# ---------------------------------------------------------------- CasADi


def of_numbers(given, count, none):
    """Bounds of all of `count`, where None is none."""
    each = given if isinstance(given, list | tuple) else [given] * count
    return [none if a is None else a for a in each]


class Collocated:
    """A problem by compressed Hermite-Simpson collocation, controls at nodes and midpoints."""

    def __init__(self, known, N):
        e, data, p = known.equations, known.data, known.params
        n, r = len(e.states), len(e.controls)
        free = isinstance(data["duration"], list)
        T = ca.MX.sym("T") if free else data["duration"]
        h = T / N

        def f(t, x, u):
            return ca.vertcat(*e.rates(ca, t, ca.vertsplit(x), ca.vertsplit(u), p))

        def cost(t, x, u):
            return e.cost(ca, t, ca.vertsplit(x), ca.vertsplit(u), p)

        t, hs = ca.SX.sym("t"), ca.SX.sym("h")
        x0, x1 = ca.SX.sym("x0", n), ca.SX.sym("x1", n)
        u0, um, u1 = ca.SX.sym("u0", r), ca.SX.sym("um", r), ca.SX.sym("u1", r)
        f0, f1 = f(t, x0, u0), f(t + hs, x1, u1)
        xm = (x0 + x1) / 2 + hs / 8 * (f0 - f1)
        defect = x1 - x0 - hs / 6 * (f0 + 4 * f(t + hs / 2, xm, um) + f1)
        running = cost(t, x0, u0) + 4 * cost(t + hs / 2, xm, um) + cost(t + hs, x1, u1)
        inner = (
            []
            if e.path is None
            else [
                *e.path(ca, ca.vertsplit(x0), ca.vertsplit(u0), p),
                *e.path(ca, ca.vertsplit(xm), ca.vertsplit(um), p),
            ]
        )
        step = ca.Function(
            "step", [t, hs, x0, x1, u0, um, u1], [defect, hs / 6 * running, ca.vertcat(*inner)]
        )
        X, U, M = ca.MX.sym("X", n, N + 1), ca.MX.sym("U", r, N + 1), ca.MX.sym("M", r, N)
        times = ca.repmat(h, 1, N) * ca.DM(np.arange(N)[None])
        lengths = ca.repmat(h, 1, N) if free else ca.DM(np.full((1, N), h))
        found = step.map(N)(times, lengths, X[:, :-1], X[:, 1:], U[:, :-1], M, U[:, 1:])
        total = ca.sum2(found[1])
        last = ca.vertsplit(X[:, -1])
        if e.terminal is not None:
            total = total + e.terminal(ca, last, p)
        g, lower, upper = [ca.vec(found[0])], [0.0] * (n * N), [0.0] * (n * N)
        if inner:
            g.append(ca.vec(found[2]))
            lower += [-math.inf] * (len(inner) * N)
            upper += [0.0] * (len(inner) * N)
        if e.at_end is not None:
            conditions = e.at_end(ca, last, p)
            g += conditions
            lower += [0.0] * len(conditions)
            upper += [0.0] * len(conditions)
        unknowns = [ca.vec(X), ca.vec(U), ca.vec(M)] + ([T] if free else [])
        nlp = {"x": ca.vertcat(*unknowns), "f": total, "g": ca.vertcat(*g)}
        self.solver = ca.nlpsol("solver", "ipopt", nlp, OPTIONS | {"expand": True})
        self.arguments = {"lbg": lower, "ubg": upper} | self.bounds_and_guess(known, N, n, r, free)

    def bounds_and_guess(self, known, N, n, r, free):
        data, e = known.data, known.equations
        low, high = np.full((N + 1, n), -np.inf), np.full((N + 1, n), np.inf)
        for name, (a, b) in data.get("state_bounds", {}).items():
            i = [s.split()[0] for s in e.states].index(name)
            low[:, i], high[:, i] = a, b
        for node, given in ((0, data["start"]), (-1, data["end"])):
            for i, value in enumerate(given):
                if value is not None:
                    low[node, i] = high[node, i] = value
        least, most = data.get("control_bounds") or (None, None)
        least, most = of_numbers(least, r, -math.inf), of_numbers(most, r, math.inf)
        times = data["duration"]
        lbx = [*low.ravel(), *(least * (2 * N + 1)), *([times[0]] if free else [])]
        ubx = [*high.ravel(), *(most * (2 * N + 1)), *([times[1]] if free else [])]
        x, u = known.guess(np.linspace(0, 1, N + 1))
        _, m = known.guess((np.arange(N) + 0.5) / N)
        x0 = [*x.ravel(), *u.ravel(), *m.ravel(), *([sum(times) / 2] if free else [])]
        return {"lbx": lbx, "ubx": ubx, "x0": x0}

    def __call__(self):
        found, stats = self.solver(**self.arguments), self.solver.stats()
        return float(found["f"]), stats["iter_count"], stats["success"]


def by_casadi(known, repeats):
    """One `Row`; as many steps as accion has samples."""
    N = max(4, known.data["steps"] * known.data["order"] // 4)
    begun = time.perf_counter()
    solve = Collocated(known, N)
    setup, times, found = time.perf_counter() - begun, [], (math.nan, 0, False)
    for _ in range(repeats):
        begun = time.perf_counter()
        found = solve()
        times.append(time.perf_counter() - begun)
    return row(known, "CasADi, Hermite-Simpson", N, *found, setup, times)


# ---------------------------------------------------------------- told


def measure(names, repeats):
    """All rows."""
    found = []
    for known in progress(
        [k for k in optima.load().values() if not names or k.name in names], "problems"
    ):
        found.append(by_accion(known, optima.dynamics, repeats))
        if known.equations.lagrangian is not None:
            found.append(by_accion(known, optima.mechanical, repeats))
        found.append(by_casadi(known, repeats))
    return found


def table(rows):
    heads = (
        "problem",
        "candidate",
        "steps",
        "cost",
        "off",
        "iterations",
        "set-up, s",
        "solve, ms",
        "min..max",
        "",
    )
    out = Table(*heads, title="known optima")
    for i, r in enumerate(rows):
        ms = [1e3 * s for s in r.solving]
        last = i + 1 == len(rows) or rows[i + 1].problem != r.problem
        out.add_row(
            r.problem,
            r.candidate,
            str(r.steps),
            f"{r.cost:.8g}",
            f"{r.off:.1e}",
            str(r.iterations),
            f"{r.setup:.2f}",
            f"{median(ms):.1f}",
            spread(ms, 1),
            r.verdict,
            end_section=last,
        )
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="problems; all of them without")
    parser.add_argument("--repeats", type=int, default=3, help="times that each is solved")
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 unless accion solves all"
    )
    given = parser.parse_args()
    if given.repeats < 1:
        parser.error("--repeats must be at least 1.")
    rows = measure(given.names, given.repeats)
    Console(width=None if sys.stdout.isatty() else 200).print(table(rows))
    if given.json:
        record: dict[str, Any] = machine(("casadi", "numpy")) | {
            "rows": [r._asdict() for r in rows]
        }
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    own = [r for r in rows if r.candidate.startswith("accion")]
    return int(given.strict and any(r.verdict != "ok" for r in own))


if __name__ == "__main__":
    sys.exit(main())
