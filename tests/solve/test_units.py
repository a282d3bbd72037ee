"""Two-point problems are the same in any units: of mass, length and time."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac

MIDPOINT, STEPS = ac.Midpoint(), 12
UNITS = [
    (2.0**-40, 2.0**40, 2.0**-40),
    (2.0**40, 2.0**-40, 2.0**40),
    (1.0, 2.0**-30, 1.0),
    (1.0, 1e9, 1.0),
    (1e-6, 1e-12, 1e-3),
]


def pendulum(t, q, v, p):
    return 0.5 * p["m"] * p["l"] ** 2 * v[0] ** 2 + p["m"] * p["g"] * p["l"] * jnp.cos(q[0])


def in_a_plane(t, q, v, p):
    bent = 0.5 * p["k"] * q[0] ** 2 * q[1] / p["l"]
    return 0.5 * p["m"] * v @ v - p["m"] * p["g"] * q[1] - bent


def bob(t, q, v, p):
    return 0.5 * p["m"] * v @ v - p["m"] * p["g"] * q[1]


def circle(t, q, p):
    return jnp.array([q @ q - p["l"] ** 2])


def spline(t, q, v, a, p):
    return 0.5 * p["m"] * (a @ a * p["tau"] ** 2 + v @ v * jnp.cos(q[0] / p["l"]))


def given(t, h, q0, q1, p):
    x = (q1 - q0)[0]
    return 0.5 * p["m"] * x**2 / h - h * p["k"] * p["l"] ** 2 * jnp.cosh(q0[0] / p["l"])


def body(t, q, xi, p):
    return 0.5 * p["m"] * (p["l"] ** 2 * xi[0] ** 2 + xi[1] ** 2 + 3 * xi[2] ** 2)


def pose(a, x, y):
    return np.array([[np.cos(a), -np.sin(a), x], [np.sin(a), np.cos(a), y], [0, 0, 1.0]])


def params(m, l, tau):
    return {"m": m, "l": l, "g": 9.81 * l / tau**2, "k": 3.0 * m / tau**2, "tau": tau}


def angle(m, l, tau):
    return ac.System(pendulum, ac.Euclidean(1), params(m, l, tau)), [0.1], [2.0], {}


def plane(m, l, tau):
    """The second coordinate starts and ends at zero."""
    return ac.System(in_a_plane, ac.Euclidean(2), params(m, l, tau)), [0.0, 0.0], [l, 0.0], {}


def up_and_down(m, l, tau):
    """The ends are the same: only the force says how far it goes."""
    return ac.System(in_a_plane, ac.Euclidean(2), params(m, l, tau)), [0.0, 0.0], [0.0, 0.0], {}


def rope(m, l, tau):
    system = ac.System(bob, ac.Euclidean(2), params(m, l, tau), holonomic=circle)
    return system, [l, 0.0], [0.0, -l], {}


def higher(m, l, tau):
    system = ac.HigherOrderSystem(spline, ac.Euclidean(1), params(m, l, tau))
    return system, [0.0], [l], {"va": [[0.0]], "vb": [[0.5 * l / tau]]}


def discrete(m, l, tau):
    return ac.DiscreteSystem(given, ac.Euclidean(1), params(m, l, tau)), [0.2 * l], [l], {}


def planar_body(m, l, tau):
    """An angle and two lengths, on a group."""
    system = ac.System(body, ac.SE2(), params(m, l, tau))
    return system, pose(0.1, 0.0, 0.0), pose(1.0, l, 0.5 * l), {}


def joined(case, units):
    """The configurations in units of the length, and the iterations."""
    m, l, tau = units
    system, qa, qb, more = case(m, l, tau)
    method = None if system.discrete_time else MIDPOINT
    traj = ac.connect(system, method, qa=qa, qb=qb, duration=tau, steps=STEPS, **more)
    q, unit = np.array(traj.q), 1.0 if case is angle else l
    if case is planar_body:
        q[:, :2, 2] /= l
        unit = 1.0
    return q / unit, int(traj.iterations[0])


@pytest.mark.parametrize("case", [angle, plane, up_and_down, rope, higher, discrete, planar_body])
def test_the_trajectory_does_not_depend_on_units(case):
    q, iterations = joined(case, (1.0, 1.0, 1.0))
    for units in UNITS:
        same, count = joined(case, units)
        assert_allclose(same, q, atol=1e-9)
        assert count == iterations


def test_an_end_is_on_its_constraint_in_any_units():
    for l in (1e-9, 1e-4, 1e12):
        joined(rope, (1.0, l, 1.0))
        system, qa, _, _ = rope(1.0, l, 1.0)
        with pytest.raises(ValueError, match="qb is off the constraint"):
            ac.connect(system, MIDPOINT, qa=qa, qb=[0.0, -1.2 * l], duration=1.0, steps=STEPS)
