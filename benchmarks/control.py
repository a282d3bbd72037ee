"""Swing-up of a cart-pole with the least force: CasADi with IPOPT, in accion's discretisation and
by Hermite-Simpson collocation.

    python benchmarks/control.py [--steps 50 100 200 2000] [--repeats 9] [--builds 3] [--json PATH]
    [--strict]

L = 1/2 (M + m) x'^2 + m l cos(theta) x' theta' + 1/2 m l^2 theta'^2 - m g l cos(theta), a force u
on x, cost 1/2 int u^2, from hanging at rest (theta = pi) to standing at rest (theta = 0), both at x
= 0, in 2 s. All start from the straight line in q with u = 0.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

# Before casadi is loaded: a second thread of its BLAS makes these small blocks no faster and keeps
# a core busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import casadi as ca
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from timing import machine, progress, ratio, spread, verdict

import accion as ac
from accion.assembly import sqp
from accion.control import direct
from accion.control.guess import Guess
from accion.control.optimization import first_unknowns

M, m, l, GRAVITY, T = 1.0, 0.3, 0.5, 9.81, 2.0
START, END = np.array([0.0, math.pi]), np.zeros(2)
# Of the continuous problem, by indirect shooting to 1e-12; the control at times 0, 0.25, ... 2.
COST = 33.3771271303983760
CONTROLS = np.array(
    [
        3.9865621903133412,
        6.127901752500047,
        -3.750893602709167,
        -15.099793405087398,
        2.074118152320704,
        3.591308048413769,
        2.6604521389319755,
        1.4272622903009684,
        -3.98656219031307,
    ]
)
# a local one; what comes nearer to it than to COST is not a solution of this problem
NEXT_OPTIMUM = 111.3
TARGET_STEPS = 200
OPTIONS = {"ipopt.tol": 1e-8, "ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}


class Found(NamedTuple):
    """What a candidate found: the control on each step, one value (constant) or several, of a
    polynomial through `nodes` within [0, 1].
    """

    u: np.ndarray
    cost: float
    iterations: int
    converged: bool
    nodes: tuple[float, ...] = (0.0, 0.5, 1.0)


class Row(NamedTuple):
    candidate: str
    steps: int
    building: list[float]
    solving: list[float]
    processor: list[float]
    iterations: int
    cost: float
    control_error: float
    replay_error: float


def straight(t):
    """The guess (q, v, u) at times t: from one end to the other at constant speed, no force."""
    s = np.asarray(t)[:, None] / T
    return START + s * (END - START), np.tile((END - START) / T, (len(s), 1)), np.zeros(len(s))


def lagrangian(q, v):
    c = ca.cos(q[1])
    return (
        (M + m) * v[0] ** 2 / 2
        + m * l * c * v[0] * v[1]
        + m * l**2 * v[1] ** 2 / 2
        - m * GRAVITY * l * c
    )


def field(y, u, sin, cos):
    """(x', theta', x'', theta'') of the continuous equations."""
    s, c = sin(y[1]), cos(y[1])
    a = (u + m * l * s * y[3] ** 2 - m * GRAVITY * s * c) / (M + m - m * c**2)
    return y[2], y[3], a, (GRAVITY * s - c * a) / l


def casadi_variational(N, guess, expand=True):
    """The function () -> Found in accion's discretisation: Ld = h L(midpoint), u constant on each
    step, forced discrete Euler-Lagrange equations.

    One SX function of a step, mapped over the steps; `expand` writes the map out in SX, which takes
    longer to build and less to solve.
    """
    h = T / N
    q0, q1, u = ca.SX.sym("q0", 2), ca.SX.sym("q1", 2), ca.SX.sym("u")
    Ld, push = h * lagrangian((q0 + q1) / 2, (q1 - q0) / h), ca.vertcat(h / 2 * u, 0)
    step = ca.Function(
        "step", [q0, q1, u], [ca.gradient(Ld, q0) + push, ca.gradient(Ld, q1) + push]
    )

    w = ca.MX.sym("w", 3 * N - 2)  # u_0, q_1, u_1, q_2, ... u_{N-1}
    inner = ca.reshape(w[1:], 3, N - 1)
    q, controls = inner[:2, :], ca.horzcat(w[0], inner[2, :])
    left, right = step.map(N)(ca.horzcat(START, q), ca.horzcat(q, END), controls)
    # At rest p = dL/dv = 0 at both ends.
    balance = ca.horzcat(left[:, 0], right[:, :-1] + left[:, 1:], right[:, -1])
    solver = ca.nlpsol(
        "solver",
        "ipopt",
        {"x": w, "f": h / 2 * ca.sumsqr(controls), "g": ca.vec(balance)},
        OPTIONS | {"expand": expand},
    )

    q_guess, u_guess = guess(h * np.arange(N + 1))[0], guess(h * (np.arange(N) + 0.5))[2]
    first = np.concatenate([u_guess[:1], np.column_stack([q_guess[1:-1], u_guess[1:]]).ravel()])

    def solve():
        found = solver(x0=first, lbg=0, ubg=0)
        stats, w = solver.stats(), np.asarray(found["x"]).ravel()
        return Found(w[::3, None], float(found["f"]), stats["iter_count"], stats["success"])

    return solve


def casadi_variational_mapped(N, guess):
    """The same without writing the map out."""
    return casadi_variational(N, guess, expand=False)


def casadi_hermite_simpson(N, guess):
    """The function () -> Found by compressed Hermite-Simpson collocation of (q, v), controls at the
    nodes and at the midpoints; written out in SX.
    """
    h = T / N
    y0, y1, u = ca.SX.sym("y0", 4), ca.SX.sym("y1", 4), ca.SX.sym("u", 3)

    def f(y, u):
        return ca.vertcat(*field(y, u, ca.sin, ca.cos))

    f0, f1 = f(y0, u[0]), f(y1, u[2])
    defect = y1 - y0 - h / 6 * (f0 + 4 * f((y0 + y1) / 2 + h / 8 * (f0 - f1), u[1]) + f1)
    step = ca.Function(
        "step", [y0, y1, u], [defect, h / 12 * (u[0] ** 2 + 4 * u[1] ** 2 + u[2] ** 2)]
    )

    w = ca.MX.sym("w", 6 * N - 3)  # u_0, u_{1/2}, y_1, u_1, u_{3/2}, y_2, ... u_N
    inner = ca.reshape(w[2:-1], 6, N - 1)
    y = inner[:4, :]
    nodes, middles = ca.horzcat(w[0], inner[4, :], w[-1]), ca.horzcat(w[1], inner[5, :])
    ends = (np.concatenate([q, np.zeros(2)]) for q in (START, END))
    defects, costs = step.map(N)(
        ca.horzcat(next(ends), y),
        ca.horzcat(y, next(ends)),
        ca.vertcat(nodes[:-1], middles, nodes[1:]),
    )
    solver = ca.nlpsol(
        "solver",
        "ipopt",
        {"x": w, "f": ca.sum2(costs), "g": ca.vec(defects)},
        OPTIONS | {"expand": True},
    )

    q_guess, v_guess, u_guess = guess(h * np.arange(N + 1))
    u_middle = guess(h * (np.arange(N) + 0.5))[2]
    rows = np.column_stack([q_guess[1:-1], v_guess[1:-1], u_guess[1:-1], u_middle[1:]])
    first = np.concatenate([[u_guess[0], u_middle[0]], rows.ravel(), u_guess[-1:]])

    def solve():
        found = solver(x0=first, lbg=0, ubg=0)
        stats, w = solver.stats(), np.asarray(found["x"]).ravel()
        inner = w[2:-1].reshape(-1, 6)
        nodes, middles = (
            np.concatenate([w[:1], inner[:, 4], w[-1:]]),
            np.concatenate([w[1:2], inner[:, 5]]),
        )
        return Found(
            np.column_stack([nodes[:-1], middles, nodes[1:]]),
            float(found["f"]),
            stats["iter_count"],
            stats["success"],
        )

    return solve


# (steps, guess) -> (() -> Found): the first call builds, and compiles, all that can be built before
# the problem is solved; the second solves it.
def cart_pole(t, q, v, params):
    c = jnp.cos(q[1])
    return (
        (M + m) * v[0] ** 2 / 2
        + m * l * c * v[0] * v[1]
        + m * l**2 * v[1] ** 2 / 2
        - m * GRAVITY * l * c
    )


def half_square(t, q, v, u, params):
    return u @ u / 2


PROBLEM = ac.ControlProblem(
    ac.System(cart_pole, ac.Euclidean(2), coordinates=("x [m]", "theta [rad]"), name="cart-pole"),
    half_square,
    actuated=["x"],
    start=(START, np.zeros(2)),
    end=(END, np.zeros(2)),
    duration=T,
)


def accion_direct(N, guess):
    """The function () -> Found by the direct formulation of `accion.optimize`: set up and compiled
    first, as the others are.
    """
    q, u = guess(np.linspace(0, T, N + 1))[0], np.zeros((N, 1))
    program, layout, _ = direct.transcribe(PROBLEM, ac.Midpoint(), N, q)
    x = first_unknowns(layout, ac.Midpoint(), Guess(q, u, T))

    def solve():
        found = sqp.solve(program, x)
        return Found(np.concatenate(found.x[layout.u]), found.cost, found.iterations, found.success)

    solve()
    return solve


def accion_whole(N, guess):
    """The function () -> Found by `accion.optimize` as a user calls it, set-up included each
    time.
    """
    q, u = guess(np.linspace(0, T, N + 1))[0], np.zeros((N, 1))

    def solve():
        found = ac.optimize(PROBLEM, ac.Midpoint(), N, guess=(q, u))
        return Found(found.u, found.cost, found.iterations, found.success)

    solve()
    return solve


HIGH_ORDER = "accion, Galerkin"
STAGES = (2, 3, 4)


def accion_galerkin(s):
    """The candidate that `accion.optimize` is with Galerkin(s), set-up included each time, on
    `steps / s` steps: as many nodes in all as the others have steps.
    """

    def candidate(N, guess):
        steps = max(4, N // s)
        q, u = guess(np.linspace(0, T, steps + 1))[0], np.zeros((steps, 1))
        nodes = tuple((np.polynomial.legendre.leggauss(s)[0] + 1) / 2)

        def solve():
            found = ac.optimize(PROBLEM, ac.Galerkin(s), steps, guess=(q, u))
            rows = np.asarray(found.u).reshape(steps, -1)
            return Found(rows, found.cost, found.iterations, found.success, nodes)

        solve()
        return solve

    return candidate


ACCION, HERMITE_SIMPSON = "accion", "CasADi, Hermite-Simpson"
SAME_DISCRETISATION = ("CasADi, variational, expanded", "CasADi, variational, mapped")
CANDIDATES: dict[str, Callable[[int, Callable], Callable[[], Found]]] = {
    ACCION: accion_direct,
    "accion, set-up in each solve": accion_whole,
    **{f"{HIGH_ORDER}({s}), steps/{s}": accion_galerkin(s) for s in STAGES},
    SAME_DISCRETISATION[0]: casadi_variational,
    SAME_DISCRETISATION[1]: casadi_variational_mapped,
    HERMITE_SIMPSON: casadi_hermite_simpson,
}


def control_error(found):
    """The largest error at the times of CONTROLS; constant controls stand for the middles of their
    steps, with a spline through them.
    """
    u = found.u
    N, t = len(u), np.linspace(0, T, len(CONTROLS))
    if u.shape[1] == 1:
        at = CubicSpline(T / N * (np.arange(N) + 0.5), u[:, 0])(t)
    else:
        k = np.minimum((t / T * N).astype(int), N - 1)
        at = polynomial(u[k].T, t / T * N - k, found.nodes)
    return float(np.max(np.abs(at - CONTROLS)))


def polynomial(u, s, nodes):
    """Through the values u at `nodes`, at s."""
    return sum(
        value * math.prod((s - b) / (a - b) for b in nodes if b != a)
        for value, a in zip(u, nodes, strict=True)
    )


def replay_error(found):
    """How far from END at rest the continuous equations arrive with the control as it is
    parametrised.
    """
    h, y = T / len(found.u), np.concatenate([START, np.zeros(2)])
    for row in found.u:
        # A step at a time: the control is not smooth across nodes.
        force = (
            (lambda t, row=row: row[0])
            if len(row) == 1
            else (lambda t, row=row: polynomial(row, t / h, found.nodes))
        )
        y = solve_ivp(
            lambda t, y, force=force: field(y, force(t), math.sin, math.cos),
            (0, h),
            y,
            method="DOP853",
            rtol=1e-11,
            atol=1e-13,
        ).y[:, -1]
    return float(np.max(np.abs(y - np.concatenate([END, np.zeros(2)]))))


def check(name, N, found):
    if not found.converged or abs(found.cost - COST) > abs(found.cost - NEXT_OPTIMUM):
        raise RuntimeError(
            f"{name}, {N} steps, ends with cost {found.cost:.6g} (converged: {found.converged}),"
            f" not near {COST:.6g}; give another guess."
        )


def measure(N, repeats, builds):
    """One `Row` for each candidate; they take turns in each round."""
    building, solves = {name: [] for name in CANDIDATES}, {}
    for _ in range(builds):
        for name, candidate in CANDIDATES.items():
            begun = time.perf_counter()
            solves[name] = candidate(N, straight)
            building[name].append(time.perf_counter() - begun)
    found = {name: solve() for name, solve in solves.items()}
    times: dict[str, Any] = {name: [] for name in CANDIDATES}
    for _ in progress(range(repeats), f"{N} steps"):
        for name, solve in solves.items():
            wall, cpu = time.perf_counter(), time.process_time()
            solve()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    rows = []
    for name, f in found.items():
        check(name, N, f)
        walls, cpus = (list(column) for column in zip(*times[name], strict=True))
        rows.append(
            Row(
                name,
                N,
                building[name],
                walls,
                cpus,
                f.iterations,
                f.cost,
                control_error(f),
                replay_error(f),
            )
        )
    return rows


def table(rows):
    heads = (
        "steps",
        "candidate",
        "set-up, s",
        "min..max",
        "solve, ms",
        "best",
        "min..max",
        "processor, ms",
        "iterations",
        "cost - exact",
    )
    out = Table(
        *heads, "control error", "replay error", title="swing-up of a cart-pole, least force"
    )
    for i, row in enumerate(rows):
        ms, cpu = [1e3 * s for s in row.solving], [1e3 * s for s in row.processor]
        times = (
            f"{median(row.building):.3f}",
            spread(row.building, 3),
            f"{median(ms):.1f}",
            f"{min(ms):.1f}",
            spread(ms, 1),
            f"{median(cpu):.1f}",
        )
        errors = (f"{row.cost - COST:.2e}", f"{row.control_error:.2e}", f"{row.replay_error:.2e}")
        last = i + 1 == len(rows) or rows[i + 1].steps != row.steps
        out.add_row(
            str(row.steps), row.candidate, *times, str(row.iterations), *errors, end_section=last
        )
    return out


def verdicts(rows):
    """(what, measured, target): accion takes no longer than CasADi with IPOPT, in the faster of its
    forms, on the same equations, and no longer than Hermite-Simpson at equal replay error.
    """
    solving = {(row.steps, row.candidate): row.solving for row in rows}
    found = []
    for N in sorted(
        {row.steps for row in rows if row.steps >= TARGET_STEPS and (row.steps, ACCION) in solving}
    ):
        peer = min((solving[N, name] for name in SAME_DISCRETISATION), key=median)
        found.append(
            (
                f"solve time, accion / CasADi + IPOPT, same discretisation, {N} steps",
                ratio(solving[N, ACCION], peer),
                1.0,
            )
        )
    return found + at_equal_error(rows)


def at_equal_error(rows):
    """(what, measured, target): the least time, set-up included, in which a run of accion replays
    as well as each of Hermite-Simpson, over that one's own without its set-up.
    """
    found = []
    for row in rows:
        if row.candidate == HERMITE_SIMPSON:
            times = [
                median(r.solving)
                for r in rows
                if r.candidate.startswith(("accion, set-up", HIGH_ORDER))
                and r.replay_error <= row.replay_error
            ]
            words = f"accion with set-up / Hermite-Simpson without, replay {row.replay_error:.1e}"
            found.append((words, min(times, default=math.inf) / median(row.solving), 1.0))
    return found


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, nargs="+", default=[50, 100, 200, 2000])
    parser.add_argument(
        "--repeats", type=int, default=9, help="rounds in which every candidate solves once"
    )
    parser.add_argument(
        "--builds", type=int, default=3, help="times that every candidate is set up"
    )
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if min(given.steps) < 4 or given.repeats < 1 or given.builds < 1:
        parser.error("--steps must be at least 4, --repeats and --builds at least 1.")
    return given


def main():
    given = arguments()
    rows = [row for N in given.steps for row in measure(N, given.repeats, given.builds)]
    found = verdicts(rows)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table(rows))
    for what, value, target in found:
        console.print(verdict(what, value, target))
    if given.json:
        targets = [
            {"what": what, "measured": value, "target": target, "pass": value <= target}
            for what, value, target in found
        ]
        record = machine(("casadi", "numpy", "scipy")) | {
            "rows": [row._asdict() for row in rows],
            "targets": targets,
        }
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    return int(given.strict and any(not value <= target for _, value, target in found))


if __name__ == "__main__":
    sys.exit(main())
