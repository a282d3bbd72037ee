"""Plans for each second of a receding horizon, against CasADi with IPOPT, each plan from the last.

The swing-up of `control.py`: the pole of a cart is swung up and held against a push, planning again
after each step. Both solve the same equations (forced discrete Euler-Lagrange, midpoint rule), from
the same states, with the last plan and its multipliers moved on by a step; the candidates take
turns. What is built and compiled before the first plan is not counted.

    python benchmarks/receding.py            all meshes, a few seconds
    python benchmarks/receding.py --help     choose meshes and moves
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

# Before casadi is loaded: see control.py.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import casadi as ca
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import machine, ratio, spread, verdict

import accion as ac
from accion.control.receding import Plans
from accion.control.run import Plant, plant_of
from control import END, OPTIONS, PROBLEM, T, lagrangian

TOLERANCE = 1e-8
WARM = {
    "ipopt.warm_start_init_point": "yes",
    "ipopt.mu_init": 1e-5,
    "ipopt.warm_start_bound_push": 1e-9,
    "ipopt.warm_start_mult_bound_push": 1e-9,
    "ipopt.tol": TOLERANCE,
}


class Row(NamedTuple):
    candidate: str
    steps: int
    seconds: list[float]
    iterations: list[int]
    costs: list[float]


def casadi_planner(N, first):
    """The function (q, v) -> (cost, iterations, first control), from the last plan."""
    h = T / N
    q0, q1, u = ca.SX.sym("q0", 2), ca.SX.sym("q1", 2), ca.SX.sym("u")
    Ld, pushed = h * lagrangian((q0 + q1) / 2, (q1 - q0) / h), ca.vertcat(h / 2 * u, 0)
    step = ca.Function(
        "step", [q0, q1, u], [ca.gradient(Ld, q0) + pushed, ca.gradient(Ld, q1) + pushed]
    )
    at, speed = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    momentum = ca.Function("p", [at, speed], [ca.gradient(lagrangian(at, speed), speed)])

    w, given = ca.MX.sym("w", 3 * N - 2), ca.MX.sym("given", 4)  # u_0, q_1, u_1, ... u_{N-1}
    inner = ca.reshape(w[1:], 3, N - 1)
    q, controls = inner[:2, :], ca.horzcat(w[0], inner[2, :])
    left, right = step.map(N)(ca.horzcat(given[:2], q), ca.horzcat(q, END), controls)
    start = left[:, 0] + momentum(given[:2], given[2:])
    balance = ca.horzcat(start, right[:, :-1] + left[:, 1:], right[:, -1])
    program = {"x": w, "p": given, "f": h / 2 * ca.sumsqr(controls), "g": ca.vec(balance)}
    solver: Any = ca.nlpsol("solver", "ipopt", program, OPTIONS | WARM | {"expand": True})
    u0, q0 = np.asarray(first.u)[:, 0], np.asarray(first.q)
    last = {
        "x": np.concatenate([u0[:1], np.column_stack([q0[1:-1], u0[1:]]).ravel()]),
        "lam": np.zeros(2 * (N + 1)),
    }

    def moved_on():
        u, nodes = last["x"][::3], last["x"][1:].reshape(-1, 3)[:, :2]
        u, nodes = np.append(u[1:], u[-1]), np.concatenate([nodes[1:], [END]])
        x = np.concatenate([u[:1], np.column_stack([nodes, u[1:]]).ravel()])
        return x, np.concatenate([last["lam"][2:], last["lam"][-2:]])

    def plan(q, v):
        x, lam = moved_on()
        found = solver(x0=x, lam_g0=lam, p=np.concatenate([q, v]), lbg=0, ubg=0)
        stats = solver.stats()
        if not stats["success"]:
            raise RuntimeError(f"IPOPT: {stats['return_status']}.")
        last["x"], last["lam"] = (np.asarray(found[name]).ravel() for name in ("x", "lam_g"))
        return float(found["f"]), stats["iter_count"], last["x"][0]

    return plan


def accion_planner(N, first):
    """The same by `Plans`, the room of `receding_horizon`."""
    plans = Plans(first, 1, TOLERANCE, None)

    def plan(q, v):
        plans.go_on(0.0, (q, v))
        found = plans.found
        return found.cost, found.iterations, float(found.x[plans.layout.u[0, 0, 0]])

    return plan


CANDIDATES = {"accion": accion_planner, "CasADi + IPOPT": casadi_planner}


def measure(N, moves):
    """One `Row` for each candidate: both plan at each state, that of accion is carried out."""
    first = ac.optimize(PROBLEM, ac.Midpoint(), N)
    plans = {name: candidate(N, first) for name, candidate in CANDIDATES.items()}
    plant, h = Plant(PROBLEM, plant_of(PROBLEM, None, disturbance), (0.5,)), T / N
    state, t = tuple(np.asarray(a) for a in (PROBLEM.ends[0].q, PROBLEM.ends[0].v)), 0.0
    u = first.u[0]
    rows = {name: Row(name, N, [], [], []) for name in CANDIDATES}
    for move in range(moves):
        state, t = plant.after(t, h, state, np.atleast_2d(u)), t + h
        order = list(plans) if move % 2 else list(plans)[::-1]
        for name in order:
            begun = time.perf_counter()
            cost, iterations, control = plans[name](*state)
            rows[name].seconds.append(time.perf_counter() - begun)
            rows[name].iterations.append(iterations)
            rows[name].costs.append(cost)
            if name == "accion":
                u = control
    ours, theirs = (np.array(rows[name].costs) for name in CANDIDATES)
    if not np.allclose(ours, theirs, rtol=1e-5, atol=1e-7):
        raise RuntimeError("the plans of the candidates are not the same.")
    return list(rows.values())


def disturbance(t, q, v, params):
    """A push that the plans do not know of."""
    return jnp.stack([0.0 * t, 0.05 * jnp.sin(3 * t)])


def table(rows):
    heads = ("steps", "candidate", "plan, ms", "min..max", "plans per second", "iterations")
    out = Table(*heads, title="receding horizon: swing-up of a cart-pole, held against a push")
    for row in rows:
        ms = [1e3 * s for s in row.seconds]
        out.add_row(
            str(row.steps),
            row.candidate,
            f"{median(ms):.2f}",
            spread(ms, 2),
            f"{1 / median(row.seconds):.0f}",
            f"{np.mean(row.iterations):.1f}",
        )
    return out


def verdicts(rows):
    """(what, measured, target): accion plans in no more time than CasADi with IPOPT."""
    by = {(row.steps, row.candidate): row.seconds for row in rows}
    return [
        (
            f"time of a plan, accion / CasADi + IPOPT, {N} steps",
            ratio(by[N, "accion"], by[N, "CasADi + IPOPT"]),
            1.0,
        )
        for N in sorted({row.steps for row in rows})
    ]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, nargs="+", default=[25, 50, 100, 200])
    parser.add_argument("--moves", type=int, default=100, help="plans of each mesh")
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if min(given.steps) < 4 or given.moves < 1:
        parser.error("--steps must be at least 4, --moves at least 1.")
    return given


def main():
    given = arguments()
    rows = [row for N in given.steps for row in measure(N, given.moves)]
    found = verdicts(rows)
    console = Console(width=None if sys.stdout.isatty() else 160)
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
