"""What became of a process after `import accion`: a sentence in place of a raw error or a hang."""

import subprocess
import sys
import timeit

import jax
import jax.numpy as jnp
import pytest

import accion as ac
from accion import _config

PENDULUM = """
import os, sys, warnings
warnings.simplefilter("ignore")
import jax.numpy as jnp
import accion as ac

def L(t, q, v, params):
    return v[0] ** 2 / 2 + jnp.cos(q[0])

def run(*_):
    pendulum = ac.System(L, ac.Torus(1))
    return float(ac.simulate(pendulum, ac.Midpoint(), q0=[2.0], v0=[0.0], h=0.1, steps=3).q[-1, 0])

def told(call):
    try:
        return f"result {call()}"
    except RuntimeError as error:
        return f"RuntimeError {error}"
"""

FORK = """
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, told(run).encode())
    os._exit(0)
os.wait()
print(os.read(read, 10_000).decode())
"""

POOL = """
import multiprocessing

with multiprocessing.get_context("fork").Pool(1) as pool:
    print(told(lambda: pool.map_async(run, [0]).get(timeout=60)))
"""


def said_by(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PENDULUM + code],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("copy", [FORK, POOL], ids=["os.fork", "multiprocessing"])
def test_a_process_that_was_forked_after_jax_had_started_says_so(copy):
    assert "was forked from one in which JAX had started" in said_by("run()\n" + copy)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_process_that_was_forked_before_computes():
    assert said_by(FORK).startswith("result 1.9")


def test_float64_that_was_switched_off_is_named():
    pendulum = ac.System(lambda t, q, v, params: v[0] ** 2 / 2 + jnp.cos(q[0]), ac.Torus(1))
    start = {"q0": [2.0], "v0": [0.0], "h": 0.1, "steps": 3}
    traj = ac.simulate(pendulum, ac.Midpoint(), **start)
    point = {"qa": [0.0], "qb": [1.0], "duration": 1.0, "steps": 4}
    doors = [
        lambda: ac.simulate(pendulum, ac.Midpoint(), **start),
        lambda: ac.ensemble(pendulum, ac.Midpoint(), **start),
        lambda: ac.connect(pendulum, ac.Midpoint(), **point),
        lambda: ac.System(lambda t, q, v, params: v[0] ** 2, ac.Torus(1)),
        lambda: ac.reference(pendulum, q0=[2.0], v0=[0.0], ts=[0.0, 1.0]),
        lambda: ac.discrete(pendulum, ac.Midpoint()),
        lambda: ac.accelerations(pendulum),
        lambda: ac.analysis.regularity(pendulum),
        lambda: ac.symbolic(pendulum),
        traj.energy,
        lambda: traj.momentum(lambda q: jnp.ones(1)),
    ]
    jax.config.update("jax_enable_x64", False)
    try:
        for call in doors:
            with pytest.raises(RuntimeError, match=r"float64 was switched off.*jax_enable_x64"):
                call()
    finally:
        jax.config.update("jax_enable_x64", True)
    assert ac.simulate(pendulum, ac.Midpoint(), **start).success


def test_the_look_costs_nothing_that_anybody_notices():
    """A call of simulate takes a hundred times as long, and more."""
    assert min(timeit.repeat(_config.check_process, number=1000, repeat=5)) < 0.02
