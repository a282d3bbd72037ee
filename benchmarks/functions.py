"""What a function of one number costs: the native engine's own arithmetic, and the C library.

Numbers of an array one after the other, in a loop of native code; ns for each, of processor time,
the least of many rounds and of several processes. Then the step of a double pendulum and the time
of its first call, with both. The library's sin and cos are reached by one call more than need be.

    python benchmarks/functions.py
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from chain import simulation

from accion.engines import llvm, operations
from accion.engines.functions import OWN
from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT, INTEGER
from accion.engines.machine import Machine

COUNT, ROUNDS, STEPS = 2000, 50, 20_000
NUMBERS = np.random.default_rng(0).uniform(0.1, 6.0, COUNT)
NOTHING = np.empty((COUNT, 2))


def results(graph, op, x):
    """The values of a function, or of sin and cos."""
    return [graph.unary(name, x) for name in (("sin", "cos") if op == "sincos" else (op,))]


def loop(op):
    """The program that computes a function of each number of an array."""
    g = Graph()
    count, one = g.argument("count"), g.constant(1, INTEGER)

    def turn(values):
        i = values[0]
        for k, y in enumerate(results(g, op, g.load("inputs", i, FLOAT))):
            slot = g.binary("mul", i, g.constant(2, INTEGER))
            g.store("outputs", g.binary("add", slot, g.constant(k, INTEGER)), y)
        return [g.binary("add", i, one)]

    g.loop([g.constant(0, INTEGER)], lambda v: g.compare("lt", v[0], count), turn)
    text = llvm.program(g, ("inputs", "outputs"), ("count",))[0]
    return Machine(text, 2, 1)


def least(run, rounds):
    """The processor time of one call, the least of several."""
    times = []
    for _ in range(rounds):
        begun = time.thread_time()
        run()
        times.append(time.thread_time() - begun)
    return min(times)


def cost(op):
    """ns for each number."""
    code = loop(op)
    args = NUMBERS.ctypes.data, NOTHING.ctypes.data, COUNT
    return least(lambda: code.run(*args), ROUNDS) / COUNT * 1e9


def step():
    """(us for a step, s for the first call of a run) of a double pendulum."""
    run = simulation(2, STEPS, STEPS)
    begun = time.process_time()
    run()
    first = time.process_time() - begun
    return least(run, ROUNDS // 2) / STEPS * 1e6, first


def by_library():
    """From here on the C library computes all functions."""
    llvm.has_fma, operations.OWN = lambda: False, {"sincos": OWN["sincos"]}


def measured(library):
    """The row of times of a process of its own: programs are kept, and so are functions."""
    args = [sys.executable, __file__, "--once", *(["--library"] if library else [])]
    return json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="one row, as JSON")
    parser.add_argument("--library", action="store_true", help="by the C library")
    parser.add_argument("--repeats", type=int, default=4)
    args = parser.parse_args()
    if args.once:
        if args.library:
            by_library()
        print(json.dumps([*map(cost, OWN), *step()]))
        return
    rows = [(measured(False), measured(True)) for _ in range(args.repeats)]
    names = [*[f"{op}, ns" for op in OWN], "step of a double pendulum, us", "its first call, s"]
    print("| | own | C library |\n| --- | --- | --- |")
    for k, name in enumerate(names):
        own, library = (min(row[j][k] for row in rows) for j in (0, 1))
        print(f"| {name} | {own:.3g} | {library:.3g} |")


if __name__ == "__main__":
    main()
