"""Campaigns: 100,000 pendulums of which one in a hundred fails, on the threads of this machine;
weak scaling on one and two Dask workers.

    python benchmarks/campaign.py [members] [--alone]

With --alone only the engines are compared, on the threads of this machine.

A member is 200 steps of the midpoint rule; what is kept is its end, the extrema of its energy, and
when it first hangs straight down. Every hundredth has no mass, or a gravity that is not a number,
or one that overflows. Weak scaling: as many members for each worker, so that the time would stay
the same on idle cores; workers compile once, before the clock starts. Beside other load the time of
the processor says more: it should be the same for each member.
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

import accion as ac
from accion.campaign.program import chunk_of
from accion.checks import Start
from accion.gallery import ENTRIES
from accion.stepping import scheme_of

H, STEPS, FEW = 0.01, 200, 2000
EACH = 100_000  # members for each worker
REPEATS = 3
ENGINES = ("native", "xla")


def lagrangian(t, q, v, params):
    return params["m"] * (0.5 * v[0] ** 2 + params["gravity"] * jnp.cos(q[0]))


SYSTEM = ac.System(
    lagrangian,
    ac.Torus(1),
    {"m": 1.0, "gravity": 9.81},
    coordinates=("theta [rad]",),
    name="pendulum",
)
REDUCTIONS = [
    ac.campaign.final(),
    ac.campaign.extrema("energy", "E"),
    ac.campaign.event(lambda t, q, v: q[0], "down"),
]


def plan(members, bad):
    """Random angles; with `bad` every hundredth member is made to fail, in one of three ways."""
    rng = np.random.default_rng(20261115)
    columns = {
        "q0[0]": rng.uniform(-3, 3, members),
        "params.m": np.ones(members),
        "params.gravity": np.full(members, 9.81),
    }
    if bad:
        columns["params.m"][0::300] = 0.0
        columns["params.gravity"][100::300] = np.nan
        columns["params.gravity"][200::300] = columns["params.m"][200::300] = 1e200
    return ac.campaign.table(columns, v0=[0.0])


def timed(members, bad=False, client=None, engine="auto"):
    """Seconds of a campaign into a new store, those of the processor in all workers, and its
    result.
    """

    def spent():
        return (
            time.process_time() if client is None else sum(client.run(time.process_time).values())
        )

    with tempfile.TemporaryDirectory() as folder:
        begun, spent_before = time.perf_counter(), spent()
        found = ac.campaign.run(
            SYSTEM,
            ac.Midpoint(),
            plan(members, bad),
            h=H,
            steps=STEPS,
            store=Path(folder, "store"),
            reductions=REDUCTIONS,
            progress=False,
            client=client,
            engine=engine,
        )
        return (
            time.perf_counter() - begun,
            spent() - spent_before,
            found[["success", "failure"]].load(),
        )


def scaling(workers):
    """Seconds of EACH members for each of `workers` processes of one thread, and those of the
    processors.
    """
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        timed(8 * FEW * workers, client=client)  # compiled by every worker
        return [timed(EACH * workers, client=client)[:2] for _ in range(REPEATS)]


def side_by_side(system, method, q0, members=1024):
    """us for a step of `members` runs, one after the other (`lax.map`, as a campaign does) and side
    by side (`vmap`), shortest of REPEATS.
    """
    start = Start(
        np.linspace(0.5, 1.0, members)[:, None] * np.ones_like(q0), np.zeros((members, len(q0)))
    )

    def one(start):
        scheme = scheme_of(system, method)
        state, step = scheme.begin(jnp.zeros(()), jnp.array(H), start)[0], scheme.step
        return jax.lax.fori_loop(0, STEPS, lambda k, state: step(state, k * H, H)[0], state).q

    found = []
    for run in (jax.jit(lambda start: jax.lax.map(one, start)), jax.jit(jax.vmap(one))):
        jax.block_until_ready(run(start))
        times = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            jax.block_until_ready(run(start))
            times.append(time.perf_counter() - begun)
        found.append(1e6 * min(times) / (members * STEPS))
    return found


def compare_loops(console):
    double = ENTRIES["double_pendulum"]
    quartic = ac.mechanical(1.0, lambda t, q, params: jnp.sum(q**4) / 4, 2)
    cases = {
        "pendulum, Midpoint": (SYSTEM, ac.Midpoint(), np.ones(1)),
        "double pendulum, Midpoint": (double.system, ac.Midpoint(), np.ones(2)),
        "quartic, Trapezoid (explicit)": (quartic, ac.Trapezoid(), np.ones(2)),
    }
    table = Table(
        "1024 members",
        "one after the other [us/step]",
        "side by side [us/step]",
        "ratio",
        title="how members of a chunk are run",
    )
    for name, case in cases.items():
        after, beside = side_by_side(*case)
        table.add_row(name, f"{after:.3f}", f"{beside:.3f}", f"{beside / after:.1f}")
    console.print(table)


def compare_engines(console, members):
    """Both engines in turns, so that other load is beside both."""
    firsts = {engine: timed(FEW, engine=engine)[0] for engine in ENGINES}
    runs = {engine: [] for engine in ENGINES}
    for _ in range(REPEATS):
        for engine in ENGINES:
            runs[engine].append(timed(members, bad=True, engine=engine))
    table = Table(
        "threads of this machine",
        *ENGINES,
        title=(
            f"{members} pendulums, {STEPS} steps each, chunks of {chunk_of(members, STEPS)}, every"
            " hundredth made to fail"
        ),
    )
    best = {engine: min(runs[engine], key=lambda run: run[0]) for engine in ENGINES}

    def row(words, value):
        table.add_row(words, *[value(engine) for engine in ENGINES])

    row(
        f"time after compilation (shortest and longest of {REPEATS})",
        lambda e: f"{best[e][0]:.2f}..{max(run[0] for run in runs[e]):.2f} s",
    )
    row(
        "time of the processor for a thousand members",
        lambda e: f"{min(run[1] for run in runs[e]) / members * 1e6:.1f} ms",
    )
    row(f"the first {FEW} members, nearly all compilation", lambda e: f"{firsts[e]:.2f} s")
    row("members in a second", lambda e: f"{members / best[e][0]:.0f}")
    row("steps in a second", lambda e: f"{members * STEPS / best[e][0]:.3g}")
    row(
        "failed: bad start, no convergence, not finite",
        lambda e: ", ".join(map(str, np.bincount(best[e][2]["failure"].values, minlength=4)[1:])),
    )
    console.print(table)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"largest memory of the process: {memory:.0f} MiB")


def main():
    asked = [word for word in sys.argv[1:] if word != "--alone"]
    members = int(asked[0]) if asked else 100_000
    console = Console(width=120)
    console.print(
        f"{os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}: figures below were measured"
        " beside that other load"
    )
    compare_engines(console, members)
    if "--alone" in sys.argv:
        return
    compare_loops(console)
    columns = (
        "workers",
        "members",
        "time (shortest..longest of 3)",
        "members in a second",
        "efficiency",
        "processor, for 1000 members",
    )
    table = Table(*columns, title="weak scaling on a local Dask cluster")
    times = {workers: scaling(workers) for workers in (1, 2)}
    for workers, runs in times.items():
        count, (wall, spent) = EACH * workers, map(sorted, zip(*runs, strict=True))
        efficiency = min(run[0] for run in times[1]) / wall[0]
        row = (
            workers,
            count,
            f"{wall[0]:.2f}..{wall[-1]:.2f} s",
            f"{count / wall[0]:.0f}",
            f"{efficiency:.2f}",
            f"{spent[0] / count * 1e6:.1f} ms",
        )
        table.add_row(*map(str, row))
    console.print(table)


if __name__ == "__main__":
    main()
