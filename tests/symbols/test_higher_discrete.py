"""Discrete equations of windows in letters, on groups and products too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

MID = ac.Midpoint()


def turning_L(t, q, v, a, p):
    return 0.5 * jnp.sum(a**2) + 0.5 * p["c"] * jnp.sum(v**2) - q[0, 0]


def turning_F(t, q, v, a, p):
    return -0.3 * v * (1 + q[1, 1]) - 0.1 * a


GROUPS = {
    "SO(2)": ac.HigherOrderSystem(turning_L, ac.SO2(), {"c": 0.7}, force=turning_F),
    "SO(3)": ac.HigherOrderSystem(
        lambda t, q, v, a, p: 0.5 * jnp.sum(a**2) + p["c"] * v[0] * a[1],
        ac.SO3(retraction="cayley"),
        {"c": 0.7},
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_letters_of_windows_on_groups_are_the_numbers(name, rng):
    """sum_j D_j Ld at the middle of five nodes: the letters, and `euler_lagrange`."""
    system, h, n = GROUPS[name], 0.1, GROUPS[name].space.dim
    eqs = ac.symbolic(system, seconds=0.5).discrete(MID)
    xi = rng.normal(size=(4, n))
    nodes = [system.space.retract(system.space.identity(), jnp.asarray(0.3 * rng.normal(size=n)))]
    for rate in xi:
        nodes.append(system.space.retract(nodes[-1], jnp.asarray(h * rate)))
    exact = jax.jit(ac.discrete(system, MID).euler_lagrange)(0.0, h, *nodes)
    # Those at q_k: nodes from q_k-2 to q_k+2.
    values = {eqs.h: h, eqs.t: 0.2, **eqs.values}
    for i, rate in zip(range(-2, 2), xi, strict=True):
        values |= dict(zip(eqs.velocities(i), map(float, rate), strict=True))
    for i, node in zip(range(-2, 3), nodes, strict=True):
        values |= dict(zip(eqs.q(i), map(float, np.ravel(node)), strict=True))
    found = [float(sp.N(e.lhs.subs(values))) for e in eqs.equations]
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)
    assert eqs.reduced == (name == "SO(3)")
