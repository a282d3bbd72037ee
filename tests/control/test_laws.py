"""Optimal control: controls that are no forces B(t, q) u, and more of them than forces."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq

import accion as ac
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()
HEIGHT, T = 0.3, 1.0
FUEL = ([0.0], [0.0]), ([0.25], [0.0]), 2.0


def thrust(t, q, v, u, p):
    """Of constant size, in the direction u."""
    return 2.0 * jnp.stack([jnp.cos(u[0]), jnp.sin(u[0])])


def slowest(t, q, v, p):
    return -v[0]


def nothing(t, q, v, u, p):
    return 0.0 * u[0]


def brake(t, q, v, u, p):
    return -u * v


def burnt(t, q, v, u, p):
    return u[0] + u[1]


def opposed(t, q, p):
    return jnp.array([[1.0, -1.0]])


@pytest.fixture(scope="module")
def steered():
    """The largest velocity along x at a given height, by a thrust of given size."""
    problem = ac.ControlProblem(
        book.plane_system,
        nothing,
        control_force=thrust,
        controls=["angle [rad]"],
        terminal=slowest,
        start=([0, 0], [0, 0]),
        end=([None, HEIGHT], [None, 0]),
        duration=T,
    )
    q = np.linspace([0, 0], [1, HEIGHT], 25)
    return ac.optimize(problem, MIDPOINT, 24, guess=(q, np.linspace([0.8], [-0.8], 24)))


def linear_tangent():
    """(tan of the first angle, velocity): tan(angle) = s (1 - 2t/T) (Bryson and Ho, section 2.4),
    with s from the height.
    """

    def height(s):
        return quad(lambda t: (T - t) * 2.0 * np.sin(np.arctan(s * (1 - 2 * t / T))), 0, T)[0]

    s = brentq(lambda s: height(s) - HEIGHT, 0.1, 50)
    return s, quad(lambda t: 2.0 * np.cos(np.arctan(s * (1 - 2 * t / T))), 0, T)[0]


def test_a_thrust_that_is_steered_has_a_linear_tangent(steered):
    s, velocity = linear_tangent()
    assert_allclose(np.tan(steered.u[:, 0]), s * (1 - 2 * steered.t_u / T), atol=0.01)
    assert_allclose(-steered.cost, velocity, rtol=2e-3)
    assert_allclose(-steered.richardson()[0], velocity, rtol=1e-5)
    assert steered.replay_miss < 1e-2


def test_its_necessary_conditions_are_solved(steered):
    """H bends in the control by its force alone, not by the cost."""
    found = steered.extremal()
    s, velocity = linear_tangent()
    assert_allclose(-found.cost, velocity, rtol=1e-9)
    assert_allclose(np.tan(found.u[:, 0]), s * (1 - 2 * found.t / T), atol=1e-7)
    assert found.minimal
    assert found.drift < 1e-9


def test_a_control_that_multiplies_the_velocity():
    """v' = -u v from 1 to 1/e in one second costs least with u = 1."""
    problem = ac.ControlProblem(
        book.block_system,
        book.half_square,
        control_force=brake,
        controls=["u [kg/s]"],
        start=([0.0], [1.0]),
        end=([None], [np.exp(-1.0)]),
        duration=1.0,
    )
    s = ac.optimize(
        problem, ac.Galerkin(2), 4, guess=(np.linspace([0.0], [0.6], 5), np.ones((4, 1)))
    )
    assert_allclose(s.u, 1.0, atol=1e-3)
    assert_allclose(s.cost, 0.5, rtol=5e-5)


def test_opposing_thrusters_burn_least_fuel():
    """More controls than forces: each pushes one way. From rest to rest over d in T, with thrust
    below a: full, nothing, full, 2 a t with t = (T - (T^2 - 4 d/a)^(1/2))/2.
    """
    start, end, duration = FUEL
    problem = ac.ControlProblem(
        book.block_system,
        burnt,
        actuation=opposed,
        control_bounds=(0, 1),
        controls=["right [N]", "left [N]"],
        start=start,
        end=end,
        duration=duration,
    )
    s = ac.optimize(problem, MIDPOINT, 40)
    burn = (duration - np.sqrt(duration**2 - 4 * end[0][0])) / 2
    assert_allclose(s.cost, 2 * burn, rtol=5e-3)
    assert np.all(np.min(s.u, axis=1) < 1e-6)
    assert_allclose(s.u[s.t_u < burn - 0.05, 0], 1.0, atol=1e-6)
    assert_allclose(s.u[(s.t_u > burn + 0.05) & (s.t_u < duration - burn - 0.05)], 0.0, atol=1e-6)
