"""How long a short program waits for its first results, by engine: with nothing kept, and when it
is run again.

A top on SO(3) is simulated for 1000 steps and its energy is read, in a new process each time, the
cache of compiled programs in a folder of its own. Counted is the processor time of the whole
process, with its imports; the bits of the results are compared. Then the first results of systems
of four kinds, and the first `audit` of the top, without a cache, from the end of the import.
Python's own bytecode is there, as after an installation.

    python benchmarks/first_call.py
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from timing import verdict

BEGIN = """
import hashlib
import sys
import time
import jax
import jax.numpy as jnp
import accion as ac

imported = time.process_time()
"""
END = """
traj = ac.simulate(system, ac.Midpoint(), **start, steps=1000, engine=sys.argv[1])
bits = b"".join(jax.device_get(x).tobytes() for x in (traj.q, traj.v, traj.p, traj.energy()))
print(imported, time.process_time(), hashlib.sha256(bits).hexdigest())
"""
AUDIT = """
start["v0"] = [0.1, 0.0, 5.0]
card = ac.analysis.audit(system, ac.Midpoint(), **start, engine=sys.argv[1])
print(imported, time.process_time(), hashlib.sha256(str(card).encode()).hexdigest())
"""
SYSTEMS = {
    "pendulum": """
def L(t, q, v, params):
    return 0.5 * v[0] ** 2 + 9.81 * jnp.cos(q[0])

system = ac.System(L, ac.Torus(1))
start = dict(q0=[1.0], v0=[0.0], h=0.01)
""",
    "top on SO(3)": """
def L(t, R, xi, params):
    return 0.5 * xi @ (params["I"] * xi) - params["m"] * params["gravity"] * params["l"] * R[2, 2]

params = {"I": jnp.array([1.0, 1.0, 0.5]), "m": 1.0, "l": 1.0, "gravity": 9.81}
system = ac.System(L, ac.SO3(), params, name="top")
R0 = jnp.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [0.0, 0.8, 0.6]])
start = dict(q0=R0, v0=[0.1, 0.0, 20.0], h=0.005)
""",
    "body on SE(3)": """
def L(t, g, xi, params):
    turning, falling = 0.5 * xi[:3] @ (params["I"] * xi[:3]), 0.5 * xi[3:] @ xi[3:]
    return turning + falling - 9.81 * (g[2, 3] + 0.1 * g[2, 2])

system = ac.System(L, ac.SE3(), {"I": jnp.array([1.0, 1.0, 0.5])})
start = dict(q0=jnp.eye(4), v0=[0.1, 0.0, 5.0, 1.0, 0.0, 0.0], h=0.005)
""",
    "spring with friction that heats it": """
def L(t, q, v, S, params):
    return 0.5 * v[0] ** 2 - 0.5 * q[0] ** 2 - jnp.exp(S)

def friction(t, q, v, S, params):
    return -0.2 * v

system = ac.ThermalSystem(L, ac.Euclidean(1), friction=friction)
start = dict(q0=[1.0], v0=[0.0], S0=0.1, h=0.01)
""",
}
TOP = "top on SO(3)"
# s of a processor from the import to the results, and of the import itself
LONGEST = dict(zip(SYSTEMS, (0.7, 1.5, 3.0, 1.0), strict=True))
IMPORT = 1.0
LONGEST_AUDIT = 10.0


def once(cache, engine, name=TOP, end=END):
    """Seconds of the processor (imports, all), of the clock, and the fingerprint of the results."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "ACCION_")) and name != "PYTHONDONTWRITEBYTECODE"
    }
    begin = time.perf_counter()
    command = [sys.executable, "-c", BEGIN + SYSTEMS[name] + end, engine]
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
    print("\n" + "\n".join(said) + "\n")
    first_results(repeats)


def first_results(repeats):
    """What systems of all kinds wait for, with nothing kept; the least of some processes."""
    rows = {name: [once("0", "auto", name) for _ in range(repeats)] for name in SYSTEMS}
    audits = [once("0", "auto", end=AUDIT) for _ in range(repeats)]
    imports = min(row[0] for each in rows.values() for row in each)
    print("| first result after import | processor [s] | min..max |\n| --- | --- | --- |")
    for name, each in rows.items():
        waited = [row[1] - row[0] for row in each]
        print(f"| {name} | {min(waited):.2f} | {min(waited):.2f}..{max(waited):.2f} |")
    waited = [row[1] - row[0] for row in audits]
    print(f"| audit of the {TOP} | {min(waited):.2f} | {min(waited):.2f}..{max(waited):.2f} |")
    print(f"\n    {verdict('import accion, s', imports, IMPORT)}")
    print(f"    {verdict(f'audit of the {TOP}, s', min(waited), LONGEST_AUDIT)}")
    for name, each in rows.items():
        waited = min(row[1] - row[0] for row in each)
        print(f"    {verdict(f'{name}, s', waited, LONGEST[name])}")


if __name__ == "__main__":
    main()
