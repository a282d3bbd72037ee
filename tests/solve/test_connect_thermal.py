"""Two ends of thermal systems: q at both, S at one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.stepping.thermal_cases import GIVEN, without_trajectory

GAS = ac.ThermalSystem(
    lambda t, q, v, S, p: 0.5 * v @ v - p["k"] * (1 + 0.3 * S) * q[0] ** 4 - jnp.exp(S),
    ac.Euclidean(1),
    {"k": 0.5},
    friction=lambda t, q, v, S, p: -0.4 * (1 + q[0] ** 2) * v,
)
RUN = {"duration": 1.2, "steps": 12}
START = {"q0": [0.3], "v0": [0.8], "S0": 0.1, "h": 0.1, "steps": 12}


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.EnergyConsistent(ac.Midpoint())], ids=str)
def test_a_run_is_found_from_its_ends(method):
    run = ac.simulate(GAS, method, **START)
    ends = {"qa": run.q[0], "qb": run.q[-1]}
    found = ac.connect(GAS, method, **ends, **RUN, S0=0.1)
    assert_allclose(found.q, run.q, rtol=1e-11)
    assert_allclose(found.S, run.S, rtol=1e-11)
    back = ac.connect(GAS, method, **ends, **RUN, Sb=run.S[-1])
    assert_allclose(back.S, run.S, rtol=1e-11)
    assert_allclose(back.p, run.p, rtol=1e-10)


def test_it_satisfies_the_discrete_equations():
    found = ac.connect(GAS, ac.Midpoint(), qa=[0.0], qb=[0.5], S0=0.0, duration=1.0, steps=8)
    d, k, h = ac.discrete(GAS, ac.Midpoint()), 4, 1.0 / 8
    q, S = found.q[k - 1 : k + 2], found.S[k - 1 : k + 2]
    assert np.max(np.abs(d.euler_lagrange(0.0, h, *q, *S))) < 1e-12
    assert abs(d.rho(0.0, h, *q[:2], *S[:2])) < 1e-12
    assert_allclose(found.q[-1], [0.5], rtol=1e-12)


def test_a_system_given_in_discrete_time():
    system = without_trajectory(-1.0)
    run = ac.simulate(system, **GIVEN, steps=2)
    found = ac.connect(system, qa=run.q[0], qb=run.q[2], S0=0.0, duration=2.0, steps=2, guess=run)
    assert_allclose(found.q, run.q, rtol=1e-10)


def test_what_cannot_be_connected():
    ends = {"qa": [0.0], "qb": [0.5], **RUN}
    with pytest.raises(ValueError, match=r"needs its entropy at one end: .* got none"):
        ac.connect(GAS, ac.Midpoint(), **ends)
    with pytest.raises(ValueError, match="got both"):
        ac.connect(GAS, ac.Midpoint(), **ends, S0=0.0, Sb=1.0)
    bare = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1))
    with pytest.raises(ValueError, match="S0 and Sb belong to thermal systems"):
        ac.connect(bare, ac.Midpoint(), **ends, S0=0.0)
    rod = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S),
        ac.Euclidean(2),
        holonomic=lambda t, q, p: (q @ q - 1)[None],
    )
    with pytest.raises(ValueError, match="connect does not support thermal systems under"):
        ac.connect(rod, ac.Midpoint(), qa=[1.0, 0.0], qb=[0.0, 1.0], **RUN, S0=0.0)
    with pytest.raises(TypeError, match="derivatives go through simulate"):
        jax.jit(lambda q: ac.connect(GAS, ac.Midpoint(), **(ends | {"qb": q}), S0=0.0).q)(
            jnp.array([0.5])
        )
    with pytest.raises(ac.ConnectFailed, match="no trajectory between qa and qb was found"):
        # Less entropy at the end than friction makes on the way.
        ac.connect(GAS, ac.Midpoint(), **ends, Sb=-50.0)
