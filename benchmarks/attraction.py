"""Regions of attraction: 3,000 runs of six agents against NumPy, a million runs, and formations of
many agents.

    python benchmarks/attraction.py [--repeats 7] [--loop 100] [--runs 1000000] [--agents 1000
    10000] [--json PATH] [--strict]
"""

import argparse
import json
import resource
import sys
import time
from statistics import median

import jax
import numpy as np
from timing import machine, progress, spread, verdict

import accion as ac
from accion.formation import Formation, attraction, shapes
from accion.formation.attraction import Survey, run_all
from accion.formation.settling import Rule

KAPPA, H, STEPS, RADIUS, REACH = 13.0, 0.014, 357, 5.0, 15.0
EDGES, SHAPE = shapes.hexagon(RADIUS)
FORMATION = Formation.from_shape(EDGES, SHAPE, KAPPA)
TAILS, HEADS = np.array(EDGES).T
E = np.exp(KAPPA * H)
HAT, LOW, BAR = (2 + E + 1 / E) / (1 + E), (1 + 1 / E) / (1 + E), 2 * H**2 / (1 + E)


def starts(grid):
    x, y = (a.ravel() for a in np.meshgrid(*grid, indexing="ij"))
    q = np.repeat(SHAPE.reshape(1, -1), len(x), axis=0)
    q[:, 0], q[:, 1] = x, y
    return q


def first_step(q, gradient):
    """From rest with matched momenta: q_1 = q_0 - h^2 grad V / (1 + e^{kappa h})."""
    return q - BAR / 2 * gradient(q)


def numpy_loop(rows):
    """The scheme (41), one run after another."""
    squared = FORMATION.distances[:, None] ** 2

    def gradient(q):
        z = q[TAILS] - q[HEADS]
        pull = (np.sum(z * z, axis=1, keepdims=True) - squared) * z
        out = np.zeros_like(q)
        np.add.at(out, TAILS, pull)
        np.subtract.at(out, HEADS, pull)
        return out

    ends = []
    for row in rows:
        before = row.reshape(6, 2)
        now = first_step(before, gradient)
        for _ in range(STEPS - 1):
            before, now = now, HAT * now - LOW * before - BAR * gradient(now)
        ends.append(now.ravel())
    return np.array(ends)


def numpy_together(rows):
    """The scheme (41), all runs at once, the runs on the last axis."""
    squared, B = FORMATION.distances[:, None, None] ** 2, FORMATION.graph.incidence()

    def gradient(q):
        z = q[TAILS] - q[HEADS]
        pull = (np.sum(z * z, axis=1, keepdims=True) - squared) * z
        return (B @ pull.reshape(9, -1)).reshape(q.shape)

    before = rows.T.reshape(6, 2, -1).copy()
    now = first_step(before, gradient)
    for _ in range(STEPS - 1):
        before, now = now, HAT * now - LOW * before - BAR * gradient(now)
    return now.reshape(12, -1).T


def measure(calls, repeats):
    """Wall and processor seconds of each call, which take turns."""
    found = {name: [] for name in calls}
    for _ in progress(range(repeats), "runs"):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            found[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return found


def memory():
    """The most that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def three_thousand(args):
    grid = [np.linspace(-REACH, REACH, 60), np.linspace(-REACH, REACH, 50)]
    rows = starts(grid)

    def only(engine, space=None):
        survey = Survey(
            FORMATION, SHAPE, (0,), grid, H, STEPS, ac.Trapezoid(), Rule(), engine=engine
        )
        return run_all(survey, rows, space)

    calls = {
        "accion, attraction()": lambda: attraction(FORMATION, 0, grid, h=H, steps=STEPS),
        "accion, the runs and their classes, native": lambda: only("native"),
        "accion, the same by XLA": lambda: only("xla"),
        "accion, native, with compensated summation": lambda: only("native", ac.Euclidean(12)),
        "NumPy, all runs at once, no classes": lambda: numpy_together(rows),
        f"NumPy, run after run, {args.loop} of them": lambda: numpy_loop(
            rows[:: len(rows) // args.loop][: args.loop]
        ),
    }
    begun = time.perf_counter()
    ds = attraction(FORMATION, 0, grid, h=H, steps=STEPS)
    first = time.perf_counter() - begun
    only("xla"), only("native", ac.Euclidean(12))  # compiled
    ends = numpy_together(rows)
    np.testing.assert_allclose(ends[:30], numpy_loop(rows[:30]), atol=1e-8)
    there = np.array([FORMATION.classify(q) in ("same", "mirrored") for q in ends])
    odd = int(np.sum(there & (ds.outcome.values.ravel() != 0))) + int(
        np.sum(~there & (ds.outcome.values.ravel() == 0))
    )
    found = measure(calls, args.repeats)
    scale = {name: 3000 / args.loop if "after" in name else 1.0 for name in calls}
    print(
        f"3,000 runs, 6 agents, 9 edges, {STEPS} steps of {H} s; {args.repeats} rounds; the first"
        f" call of attraction takes {first:.1f} s.\n"
    )
    print("| candidate | s for 3,000 runs | min..max | processor s |\n| --- | --- | --- | --- |")
    for name, times in found.items():
        walls, cpus = ([scale[name] * t for t in column] for column in zip(*times, strict=True))
        print(f"| {name} | {median(walls):.3f} | {spread(walls, 3)} | {median(cpus):.3f} |")
    print(
        "\nOutcomes of 3,000 runs that differ from those of NumPy's last positions (which know no"
        f" speeds): {odd}"
    )
    wall, rival = (
        median(t for t, _ in found[name])
        for name in ("accion, attraction()", "NumPy, all runs at once, no classes")
    )
    return found, [
        verdict("attraction, 3,000 runs, s", wall, 0.3),
        verdict("attraction, over NumPy on all runs at once", wall / rival, 1.0),
        verdict("runs whose outcome differs", odd, 15),
    ]


def a_million(args):
    side = round(args.runs**0.5)
    axis = np.linspace(-REACH, REACH, side)
    before, begun, cpu = memory(), time.perf_counter(), time.process_time()
    ds = attraction(FORMATION, 0, [axis, axis], h=H, steps=STEPS, progress=True)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    shares = np.bincount(ds.outcome.values.ravel(), minlength=4) / ds.outcome.size
    print(
        f"\n{side**2:,} runs: {seconds:.1f} s, {side**2 / seconds:,.0f} runs/s"
        f" ({side**2 * STEPS / seconds:.3g} steps/s), processor {cpu:.1f} s, ",
        end="",
    )
    print(
        f"memory {memory():.0f} MB ({before:.0f} before); congruent {shares[0]:.1%}, other shapes"
        f" {shares[1]:.1%} ({ds.sizes['number']} of them)"
    )
    return {"runs": side**2, "seconds": seconds, "processor": cpu, "memory": memory()}


def many_agents(args):
    print(
        "\n| agents | edges | s to grow the graph | s to compile | ms/step | ns/step/edge |"
        " processor ns | error |\n" + "| --- " * 8 + "|"
    )
    found = []
    for n in args.agents:
        begun = time.perf_counter()
        edges, shape = shapes.henneberg(n, 3, seed=0)
        grown = time.perf_counter() - begun
        f = Formation.from_shape(edges, shape, 3.0)
        q0 = (shape + 0.05 * np.random.default_rng(0).normal(size=shape.shape)).ravel()

        def run(f=f, q0=q0):
            return ac.simulate(
                f.system(), ac.Trapezoid(), q0=q0, v0=0 * q0, h=0.005, steps=200, save_every=200
            )

        begun = time.perf_counter()
        jax.block_until_ready(run().q)
        compiling = time.perf_counter() - begun
        times = measure({"": lambda run=run: jax.block_until_ready(run().q)}, 3)[""]
        wall, cpu = (median(column) / 200 for column in zip(*times, strict=True))
        m = f.graph.m
        error = np.sqrt(
            np.mean(f.errors(np.asarray(run().q[-1])) ** 2) / np.mean(f.errors(q0) ** 2)
        )
        print(
            f"| {n} | {m} | {grown:.2f} | {compiling:.1f} | {1e3 * wall:.2f} | {1e9 * wall / m:.0f}"
            f" | {1e9 * cpu / m:.0f} | {error:.2f} |",
            flush=True,
        )
        found.append({"agents": n, "edges": m, "seconds": wall, "processor": cpu})
    print(
        f"\nmemory {memory():.0f} MB; `error` is the mean distance error after 1 s over that at the"
        " start"
    )
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--loop",
        type=int,
        default=100,
        help="runs of the NumPy loop, whose time is scaled to 3,000",
    )
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--agents", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--json")
    parser.add_argument("--strict", action="store_true")
    args = parser.parse_args()
    small, verdicts = three_thousand(args)
    agents = many_agents(args)
    large = a_million(args) if args.runs else None
    print("\n" + "\n".join(f"    {line}" for line in verdicts))
    if args.json:
        record = machine(["jax", "numpy"]) | {"small": small, "large": large, "agents": agents}
        with open(args.json, "w") as file:
            json.dump(record, file, indent=1)
    return int(args.strict and any(line.startswith("MISS") for line in verdicts))


if __name__ == "__main__":
    sys.exit(main())
