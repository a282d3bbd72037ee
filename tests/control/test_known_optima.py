"""Optimal control: problems whose optima are known from elsewhere, by the files of
tests/data/control; `benchmarks/optima.py` solves all of them beside CasADi.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.textbook import optima

KNOWN = optima.load()
# Those that take long to compile are left to the benchmark.
CHEAP = [name for name in KNOWN if name not in ("satellite_turn", "acrobot", "cart_pole")]
MECHANICAL = ["block_effort", "block_time", "cart_pole"]


def test_every_file_says_where_its_optimum_is_from():
    for known in KNOWN.values():
        data = known.data
        assert data["problem"]
        assert data["source"]
        assert 0 < data["within"] <= 5e-3
        assert len(data["start"]) == len(data["end"]) == len(known.equations.states)
    assert set(KNOWN) == set(optima.EQUATIONS)


@pytest.mark.parametrize("name", CHEAP)
def test_the_known_optimum_is_found(name):
    found = optima.solve(KNOWN[name])
    assert found.success
    assert KNOWN[name].error(found.cost) < KNOWN[name].data["within"]
    assert found.replay_miss < 2e-3
    for worst in found.path_worst.values():
        assert worst.value < 1e-5


@pytest.mark.parametrize("name", MECHANICAL)
def test_it_is_found_from_the_lagrangian_too(name):
    found = optima.solve(KNOWN[name], optima.mechanical(KNOWN[name]))
    assert KNOWN[name].error(found.cost) < KNOWN[name].data["within"]


@pytest.mark.parametrize("name", ["cart_pole", "acrobot"])
def test_lagrangians_and_rates_are_of_one_motion(name):
    known, rng = KNOWN[name], np.random.default_rng(1)
    accelerations = ac.accelerations(optima.mechanical(known).system)
    for x in rng.normal(size=(3, 4)):
        rates = known.equations.rates(jnp, 0.0, x, [0.0], known.params)
        assert_allclose(accelerations(0.0, x[:2], x[2:]), rates[2:], rtol=1e-10)


def test_the_robot_fires_one_thruster_of_a_pair_at_most():
    found = optima.solve(KNOWN["free_flying_robot"])
    assert np.max(np.minimum(found.u[:, 0], found.u[:, 1])) < 1e-4
