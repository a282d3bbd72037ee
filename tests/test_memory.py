"""A process that runs many tests stays small."""

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac
from tests import memory
from tests.helpers import PENDULUM


def test_a_large_process_drops_what_jax_compiled(monkeypatch):
    run = {"q0": [1.0], "v0": [0.0], "h": 0.1, "steps": 3}
    before = ac.simulate(PENDULUM, ac.Midpoint(), **run).q
    for n in range(1, 11):
        jnp.cos(np.ones(n))
    programs = jax.devices()[0].client.live_executables
    monkeypatch.setattr(memory.Memory, "limit", 2**60)
    memory.keep_small()
    assert len(programs()) >= 10
    monkeypatch.setattr(memory.Memory, "limit", 0)
    memory.keep_small()
    assert len(programs()) < 10
    assert memory.Memory.limit >= memory.LIMIT
    np.testing.assert_array_equal(ac.simulate(PENDULUM, ac.Midpoint(), **run).q, before)
