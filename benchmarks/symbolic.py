"""What the equations of pendulum chains cost: `accion.symbolic` beside SymPy's own LagrangesMethod.

    python benchmarks/symbolic.py [--links 2 3 5] [--order 4] [--repeats 3] [--json PATH] [--strict]

Both start from the same chain: n masses m_i on n rods l_i, in angles, all parameters symbols.
accion is given the JAX function that it simulates; LagrangesMethod the Lagrangian in SymPy, as its
manual has it. Times are of fresh processes' second call (SymPy and JAX warm, SymPy's cache
cleared). `terms` counts the operations in the equations: LagrangesMethod does not simplify, so its
time with sympy.trigsimp, for equations as a person would write them, stands beside it (2 and 3
links; at 5 it takes minutes).

Then what the modified Hamiltonian of the midpoint rule costs in letters, up to `--order`: the
processor time of a first call, with the Legendre transform, and how far its series is from the
modified Hamiltonian in numbers with steps h and h/2: the difference must fall with the first order
that is left out.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp
from rich.console import Console
from rich.table import Table
from sympy.core.cache import clear_cache
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
from timing import machine, progress, spread, verdict

import accion as ac
from accion.gallery import double_pendulum, henon_heiles, kepler, pendulum

TARGETS = {2: 1.0, 5: 20.0}  # s
SIMPLIFIED = 3  # links up to which SymPy's result is simplified, too


def positions(q, params):
    return jnp.stack(
        [jnp.cumsum(params["l"] * jnp.sin(q)), -jnp.cumsum(params["l"] * jnp.cos(q))], axis=1
    )


def lagrangian(t, q, v, params):
    r, u = jax.jvp(lambda q: positions(q, params), (q,), (v,))
    return 0.5 * jnp.sum(params["m"] * jnp.sum(u**2, axis=1)) - params["g"] * jnp.sum(
        params["m"] * r[:, 1]
    )


def ours(n):
    params = {"l": jnp.ones(n), "m": jnp.ones(n), "g": 9.81}
    system = ac.System(
        lagrangian, ac.Torus(n), params, coordinates=tuple(f"theta_{i + 1}" for i in range(n))
    )
    eqs = ac.symbolic(system, seconds=60)
    return [e.lhs for e in eqs.equations]


def sympys(n, simplify=False):
    q = dynamicsymbols(f"theta_1:{n + 1}")
    m, l, g = sp.symbols(f"m_1:{n + 1}"), sp.symbols(f"l_1:{n + 1}"), sp.Symbol("g")
    t = dynamicsymbols._t
    x, y, L = sp.Integer(0), sp.Integer(0), sp.Integer(0)
    for i in range(n):
        x, y = x + l[i] * sp.sin(q[i]), y - l[i] * sp.cos(q[i])
        L += m[i] * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - g * m[i] * y
    equations = LagrangesMethod(L, q).form_lagranges_equations()
    return [sp.trigsimp(sp.expand(e)) if simplify else e for e in equations]


def top():
    """A heavy top on SO(3) with three different inertias."""
    params = {"I": jnp.array([1.0, 1.3, 0.5]), "gravity": 2.0}
    return ac.System(
        lambda t, R, xi, params: 0.5 * xi @ (params["I"] * xi) - params["gravity"] * R[2, 2],
        ac.SO3(),
        params,
        name="heavy top",
    )


TURNED = ac.SO3().retract(jnp.eye(3), jnp.array([0.3, 0.2, -0.5]))
MODIFIED = {  # system, (q0, v0), h
    "pendulum": (pendulum.system, ([0.7], [0.3]), 0.1),
    "Henon-Heiles": (henon_heiles.system, ([0.3, 0.2], [0.4, 0.3]), 0.1),
    "Kepler": (kepler.system, ([0.7, 0.9], [0.9, 0.3]), 0.05),
    "double pendulum": (double_pendulum.system, ([0.7, 0.9], [0.9, 0.3]), 0.02),
    "heavy top on SO(3)": (top(), (TURNED, [0.9, 0.3, 0.7]), 0.08),
}
SECONDS = 10.0  # for each


def modified(order):
    """{name: (seconds of the processor, operations of each term, order of what is left)}."""
    found = {}
    for name, (system, (q0, v0), h) in progress(MODIFIED.items(), "modified"):
        clear_cache()
        begun = time.process_time()
        eqs = ac.symbolic(system)
        terms = eqs.modified(ac.Midpoint(), order).inner_hamiltonian_terms
        seconds, x, off = time.process_time() - begun, eqs.variables, []
        letters = [s for part in x.parts for s in np.ravel(part)]
        f = sp.lambdify([x.t, *letters, *x.p, *x.numbers], terms, cse=True)
        numbers = ac.analysis.modified_hamiltonian(system, ac.Midpoint(), order + 12)
        side = order // 2 + 6  # neighbours that the numbers need
        for k in (1, 2):  # at the same time
            traj = ac.simulate(system, ac.Midpoint(), q0=q0, v0=v0, h=h / k, steps=side * (k + 1))
            i = side * k
            z = [*np.ravel(traj.q[i]), *np.asarray(traj.p[i]), *map(float, x.numbers.values())]
            series = sum(c * (h / k) ** j for j, c in enumerate(f(float(traj.t[i]), *z)))
            off.append(abs(np.asarray(numbers.along(traj))[i - side] - series))
        found[name] = seconds, [sp.count_ops(term) for term in terms], np.log2(off[0] / off[1])
    return found


def modified_table(order, console):
    """Print it; the verdicts."""
    table = Table("modified Hamiltonian", "s", "operations of H, H_2, ...", "order of what is left")
    lines = []
    for name, (seconds, sizes, left) in modified(order).items():
        sizes = ", ".join(map(str, sizes[::2]))
        table.add_row(name, f"{seconds:.2f}", sizes, f"{left:.2f}")
        lines.append(verdict(f"{name} to order {order}, s of the processor", seconds, SECONDS))
        what = f"{name}: order of what is left, off {order + 2} by"
        lines.append(verdict(what, abs(left - order - 2), 0.5))
    console.print(table)
    return lines


def measure(links, repeats):
    """{(n, name): (seconds of each repeat, operations)}, the candidates taking turns."""
    found: dict[Any, Any] = {}
    for n in links:
        candidates = {"accion": ours, "LagrangesMethod": sympys}
        if n <= SIMPLIFIED:
            candidates["LagrangesMethod + trigsimp"] = lambda n: sympys(n, True)
        ours(2)
        for _ in progress(range(repeats), f"{n} links"):
            for name, f in candidates.items():
                clear_cache()
                begun = time.perf_counter()
                equations = f(n)
                found.setdefault((n, name), ([], sum(map(sp.count_ops, equations))))[0].append(
                    time.perf_counter() - begun
                )
    return found


def same(n):
    """The largest difference of the two sets of equations at a point."""
    a, b = ours(n), sympys(n)
    t = sp.Symbol("t")
    q = [sp.Function(f"theta_{i + 1}")(t) for i in range(n)]
    table = {
        x.diff(t, k) if k else x: sp.Rational(7 * i + 3 * k + 1, 11)
        for i, x in enumerate(q)
        for k in (2, 1, 0)
    }
    symbols = sorted({s for e in b for s in e.free_symbols} - {t}, key=str)
    values = {s: sp.Rational(i + 2, 7) for i, s in enumerate(symbols)}
    return max(
        abs(float((x - y).xreplace(table).xreplace(values))) for x, y in zip(a, b, strict=True)
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--order", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    arguments = parser.parse_args()
    found = measure(arguments.links, arguments.repeats)
    table = Table("links", "candidate", "s", "min..max", "/ accion", "operations")
    for (n, name), (times, size) in found.items():
        base = median(found[n, "accion"][0])
        table.add_row(
            str(n),
            name,
            f"{median(times):.2f}",
            spread(times),
            f"{median(times) / base:.2f}",
            str(size),
        )
    console = Console()
    console.print(table)
    difference = max(same(n) for n in arguments.links)
    lines = [
        verdict("largest difference of the two sets of equations at a point", difference, 1e-10)
    ]
    lines += [
        verdict(f"equations of {n} links, s", median(found[n, "accion"][0]), TARGETS[n])
        for n in arguments.links
        if n in TARGETS
    ]
    lines += modified_table(arguments.order, console)
    console.print("\n".join(lines), highlight=False)
    if arguments.json:
        rows = [
            {"links": n, "candidate": name, "seconds": times, "operations": size}
            for (n, name), (times, size) in found.items()
        ]
        arguments.json.write_text(json.dumps(machine(("jax", "sympy")) | {"rows": rows}, indent=1))
    if arguments.strict and any(line.startswith("MISS") for line in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
