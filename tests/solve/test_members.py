"""Every member of an ensemble is looked at as `simulate` looks at one run."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac

PENDULUM = ac.System(
    lambda t, q, v, m: 0.5 * m * v @ v - 9.81 * m * q[1],
    ac.Euclidean(2),
    1.0,
    holonomic=lambda t, q, m: jnp.array([q @ q - 1.0]),
    name="pendulum on a rod",
)
FREE = ac.System(lambda t, q, v, m: 0.5 * m * v @ v - 0.5 * q @ q, ac.Euclidean(2), 1.0)
MECHANICAL = ac.mechanical(lambda m: m, lambda t, q, m: 0.5 * q @ q, 2, params=1.0)
TOP = ac.System(lambda t, g, w, params: 0.5 * w @ w, ac.SO3())
HOT = ac.ThermalSystem(
    lambda t, q, v, S, a: 0.5 * v @ v - a * jnp.exp(S),
    ac.Euclidean(1),
    1.0,
    friction=lambda t, q, v, S, a: -v,
)
EYE, RIGHT, UP = np.eye(3), [1.0, 0.0], [0.0, 1.0]

CASES = {
    "off the constraint": (PENDULUM, {"q0": [RIGHT, [0.0, 1.2]], "v0": [UP, [0.0, 0.0]]}, "q0"),
    "velocity off it": (PENDULUM, {"q0": [RIGHT, UP], "v0": [UP, UP]}, "v0"),
    "momentum off it": (PENDULUM, {"q0": [RIGHT, UP], "p0": [UP, UP]}, "p0"),
    "no mass, held": (PENDULUM, {"q0": RIGHT, "v0": UP, "params": [1.0, 0.0]}, "not regular"),
    "no mass": (FREE, {"q0": RIGHT, "v0": UP, "params": [1.0, 0.0]}, "singular"),
    "no mass, known": (MECHANICAL, {"q0": RIGHT, "v0": UP, "params": [1.0, 0.0]}, "mass"),
    "not in the group": (TOP, {"q0": [EYE, 2 * EYE], "v0": [0.0, 1.0, 0.0]}, "is not in SO3"),
    "a turn of 8 rad": (TOP, {"q0": EYE, "v0": [[0.0, 1.0, 0.0], [0.0, 800.0, 0.0]]}, "8 rad"),
    "below zero": (
        HOT,
        {"q0": [1.0], "v0": [1.0], "S0": 0.0, "params": [1.0, -1.0]},
        "temperature",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_member_that_cannot_start_is_named(case):
    system, start, words = CASES[case]
    start = {name: np.array(value) for name, value in start.items()}
    with pytest.raises(ValueError, match=f"member 1: .*{words}"):
        ac.ensemble(system, ac.Midpoint(), h=0.01, steps=3, **start)
    one = {
        name: value[1] if np.ndim(value) > ndim(system, name) else value
        for name, value in start.items()
    }
    with pytest.raises(ValueError, match=words):
        ac.simulate(system, ac.Midpoint(), h=0.01, steps=3, **one)


def ndim(system, name):
    if name in ("params", "S0"):
        return 0
    return np.ndim(system.space.identity()) if name == "q0" else 1


def test_members_that_can_start_do():
    found = ac.ensemble(PENDULUM, ac.Midpoint(), q0=[RIGHT, UP], v0=[UP, RIGHT], h=0.01, steps=3)
    assert np.all(found.success)
