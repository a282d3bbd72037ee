"""How long a short program waits for its first results, by engine: with nothing kept, and when it
is run again.

A top on SO(3) is simulated for 1000 steps and its energy is read, in a new process each time, the
cache of compiled programs in a folder of its own. Counted is the processor time of the whole
process, with its imports; the bits of the results are compared.

    python benchmarks/first_call.py
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import hashlib
import sys
import time
import jax
import jax.numpy as jnp
import accion as ac

imported = time.process_time()
def L(t, R, xi, params):
    return 0.5 * xi @ (params["I"] * xi) - params["m"] * params["gravity"] * params["l"] * R[2, 2]

params = {"I": jnp.array([1.0, 1.0, 0.5]), "m": 1.0, "l": 1.0, "gravity": 9.81}
top = ac.System(L, ac.SO3(), params, name="top")
R0 = jnp.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [0.0, 0.8, 0.6]])
start = dict(q0=R0, v0=[0.1, 0.0, 20.0])
traj = ac.simulate(top, ac.Midpoint(), **start, h=0.005, steps=1000, engine=sys.argv[1])
bits = b"".join(jax.device_get(x).tobytes() for x in (traj.q, traj.v, traj.p, traj.energy()))
print(imported, time.process_time(), hashlib.sha256(bits).hexdigest())
"""


def once(cache, engine):
    """Seconds of the processor (imports, all), of the clock, and the fingerprint of the results."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "ACCION_"))
    }
    begin = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, engine]
    done = subprocess.run(
        command,
        env=environment | {"ACCION_CACHE": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or done.stderr:
        sys.exit(f"the program said:\n{done.stderr}")
    imported, total, bits = done.stdout.split()
    return float(imported), float(total), time.perf_counter() - begin, bits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=3, help="second runs that are measured; the median counts"
    )
    repeats = parser.parse_args().repeats
    print("| engine, run | processor [s] | of it imports | clock [s] |\n| --- | --- | --- | --- |")
    said = []
    for engine in ("xla", "native"):
        with tempfile.TemporaryDirectory() as folder:
            first = once(folder, engine)
            again = sorted(once(folder, engine) for _ in range(repeats))
        second = again[len(again) // 2]
        for name, row in (("first", first), ("second", second)):
            print(f"| {engine}, {name} | {row[1]:.2f} | {row[0]:.2f} | {row[2]:.2f} |")
        same = "are the same" if {r[3] for r in again} == {first[3]} else "DIFFER"
        said.append(f"{engine}: {first[1] / second[1]:.2f} times faster; bits {same}")
    print("\n" + "\n".join(said))


if __name__ == "__main__":
    main()
