"""Runs in a process of its own: JAX reads its options once, and a first result can be had once.

`worker.py serve STEPS LINKS...` compiles the JAX candidates, prints the energy error of diffrax for
each chain, then answers each line "candidate links" with the seconds of one run. `worker.py first
STEPS` prints the seconds of importing accion and those from there to a first result.
"""

import importlib
import json
import sys
import time

# diffrax is slow, and its time for a step does not depend on how many there are.
DIFFRAX_SHARE = 20


def serve(steps, links):
    import jax
    import numpy as np
    from chain import simulation
    from rivals import diffrax_kvaerno3, energy_error, optimistix_newton

    runs, errors = {}, {}
    for n in links:
        runs["accion", n] = simulation(n, steps)
        runs["optimistix", n] = optimistix_newton(n, steps)
        runs["diffrax", n] = diffrax_kvaerno3(n, steps // DIFFRAX_SHARE)
        for name in ("accion", "optimistix"):
            jax.block_until_ready(runs[name, n]())
        errors[n] = energy_error(*map(np.asarray, runs["diffrax", n]()))
    print(json.dumps(errors), flush=True)
    for line in sys.stdin:
        name, n = line.split()
        begun = time.perf_counter()
        jax.block_until_ready(runs[name, int(n)]())
        print(time.perf_counter() - begun, flush=True)


def first(steps):
    begun = time.perf_counter()
    importlib.import_module("accion")
    imported = time.perf_counter()
    from chain import simulation

    simulation(2, steps)()
    print(imported - begun, time.perf_counter() - imported)


if __name__ == "__main__":
    command, steps, *links = sys.argv[1:]
    if command == "serve":
        serve(int(steps), [int(n) for n in links])
    else:
        first(int(steps))
