"""Memory does not grow with systems: equal ones share their programs, others drop the oldest."""

import gc
from pathlib import Path
from weakref import WeakSet

import jax.numpy as jnp
import pytest

import accion as ac
from accion.engines import auto, xla

MB = 2**20
STATUS = Path("/proc/self/statm")


def used() -> int:
    """What the process has of memory, in bytes."""
    gc.collect()
    return int(STATUS.read_text().split()[1]) * 4096


def run(k: float, engine: str) -> None:
    """A new system, with functions that are new to Python, and what is asked of it."""
    system = ac.System(
        lambda t, q, v, p: 0.5 * v[0] ** 2 + k * jnp.cos(q[0]),
        ac.Torus(1),
        force=lambda t, q, v, p: -0.1 * k * v,
    )
    ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.2], h=0.1, steps=3, engine=engine).energy()


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_fifty_equal_systems_take_no_more_than_one(engine):
    for _ in range(5):
        run(1.75, engine)
    before, programs = used(), len(auto.programs)
    for _ in range(50):
        run(1.75, engine)
    assert len(auto.programs) == programs
    assert used() - before < 20 * MB  # 6.5 MB for each, it was


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc")
def test_many_systems_take_what_the_kept_ones_take(monkeypatch):
    """Forty in place of two hundred, which take minutes to compile and no more memory."""
    monkeypatch.setattr(auto, "PROGRAMS", 8)
    monkeypatch.setattr(xla, "PROGRAMS", 4)
    for i in range(10):
        run(2.0 + i / 1024, "native")
    before = used()
    for i in range(40):
        run(3.0 + i / 1024, "native")
    assert len(auto.programs) <= 8
    assert used() - before < 50 * MB


def test_all_functions_together_keep_so_many_programs_of_xla(monkeypatch):
    """Those that were used longest ago go first, and those of a function that is gone with it."""
    monkeypatch.setattr(xla, "ALIVE", WeakSet())
    monkeypatch.setattr(xla, "ALL", 4)
    first, second = (xla.kept_jit(lambda x, n: n, static_argnums=(1,)) for _ in range(2))
    for n in range(3):
        assert first(0.0, n) == n
    first(0.0, 0)
    for n in range(3):
        assert second(0.0, n) == n
    numbers = [[dict(key[2])[1] for key in each.programs] for each in (first, second)]
    assert numbers == [[0], [0, 1, 2]]
    del first
    assert second(0.0, 3) == 3
    assert len(second.programs) == 4
