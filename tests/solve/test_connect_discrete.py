"""Two-point problems of systems that are given in discrete time: those of a method, by hand; and
methods that have none.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.methods import GeneralizedAlpha
from tests.discretise.test_inner_points import Parabola

MIDPOINT = ac.Midpoint()


def pendulum(t, q, v, params):
    return 0.5 * v @ v + 9.81 * jnp.cos(q[0]) * (1 + 0.1 * t)


def friction(t, q, v, params):
    return -0.4 * v


def midpoint_pendulum(t, h, q0, q1, params):
    return h * pendulum(t + h / 2, (q0 + q1) / 2, (q1 - q0) / h, params)


def midpoint_friction(t, h, q0, q1, params):
    half = h / 2 * friction(t + h / 2, (q0 + q1) / 2, (q1 - q0) / h, params)
    return half, half


def test_a_pendulum_is_that_of_the_midpoint_rule():
    ends = {"qa": [0.3], "qb": [1.1], "t0": 0.5, "duration": 1.0, "steps": 24}
    ours = ac.connect(
        ac.DiscreteSystem(midpoint_pendulum, ac.Euclidean(1), work=midpoint_friction), **ends
    )
    theirs = ac.connect(ac.System(pendulum, ac.Euclidean(1), force=friction), MIDPOINT, **ends)
    assert_allclose(ours.q, theirs.q, atol=1e-13)
    assert_allclose(ours.p, theirs.p, atol=1e-12)
    assert_allclose(ours.t, theirs.t)
    assert ours.lam is None
    assert ours.method is None


def test_it_is_where_a_simulation_leads():
    system = ac.DiscreteSystem(midpoint_pendulum, ac.Euclidean(1), work=midpoint_friction)
    run = ac.simulate(system, q0=[0.2], q1=[0.27], h=0.05, steps=10)
    found = ac.connect(system, qa=run.q[0], qb=run.q[-1], duration=0.5, steps=10)
    assert_allclose(found.q, run.q, atol=1e-12)
    assert_allclose(found.p, run.p, atol=1e-11)


def second_difference(t, h, q0, q1, q2, params):
    """A cubic spline."""
    return 0.5 * jnp.sum((q2 - 2 * q1 + q0) ** 2) / h**3


def test_of_order_two_a_cubic_spline():
    system = ac.DiscreteSystem(second_difference, ac.Euclidean(1), order=2)
    t = np.linspace(0, 2, 41)
    exact = (0.3 + t - 0.7 * t**2 + 0.25 * t**3)[:, None]
    found = ac.connect(system, qa=exact[:2], qb=exact[-2:], duration=2.0, steps=40)
    assert_allclose(found.q, exact, atol=1e-12)
    run = ac.simulate(system, q0=exact[0], q1=exact[1:4], h=0.05, steps=38)
    assert_allclose(found.q[:39], run.q, atol=1e-9)
    assert_allclose(found.p[:39], run.p, atol=1e-6)
    with pytest.raises(ValueError, match="in discrete time: it has no velocities at its ends"):
        ac.connect(system, qa=[0.0], qb=[1.0], va=[[0.0]], vb=[[0.0]], duration=2.0, steps=40)


def plane(t, q, v, params):
    return 0.5 * (v[0] ** 2 + v[1] ** 2)


def curl(t, q, v, params):
    """Heisenberg's constraint."""
    return jnp.array([v[2] - q[0] * v[1] + q[1] * v[0]])


def midpoint_plane(t, h, q0, q1, params):
    return h * plane(t, (q0 + q1) / 2, (q1 - q0) / h, params)


def midpoint_curl(t, h, q0, q1, params):
    return curl(t, (q0 + q1) / 2, (q1 - q0) / h, params)


def test_a_constraint_in_the_action():
    ends = {"qa": [0.1, 0.2, 0.3], "qb": [0.7, 0.5, 0.6], "duration": 2.0, "steps": 12}
    ours = ac.connect(
        ac.DiscreteSystem(midpoint_plane, ac.Euclidean(3), constraint=midpoint_curl), **ends
    )
    theirs = ac.connect(ac.System(plane, ac.Euclidean(3), vakonomic=curl), MIDPOINT, **ends)
    assert_allclose(ours.q, theirs.q, atol=1e-12)
    assert ours.lam is not None
    assert theirs.lam is not None
    # The multiplier of a step is at the row that it leads to; it is constant.
    assert np.all(np.isnan(ours.lam[0]))
    assert_allclose(ours.lam[1:], theirs.lam[1:], rtol=1e-9)


def test_methods_without_such_a_lagrangian_are_named():
    system = ac.System(pendulum, ac.Euclidean(1))
    ends = {"qa": [0.3], "qb": [1.1], "duration": 1.0, "steps": 8}
    with pytest.raises(ValueError, match=r"GeneralizedAlpha is not variational.*try Midpoint"):
        ac.connect(system, GeneralizedAlpha(0.8), **ends)
    problem = ac.ControlProblem(
        system, cost, actuated=[0], start=([0], [0]), end=([1], [0]), duration=1.0
    )
    with pytest.raises(ValueError, match=r"vakonomic formulation does not support Parabola"):
        ac.optimize(problem, Parabola(), 8, formulation="vakonomic")


def test_inner_points_are_found_from_the_ends():
    """A parabola by two Gauss points, as it is written in tests, is `Galerkin(2)`."""
    system = ac.System(pendulum, ac.Euclidean(1))
    ends = {"qa": [0.3], "qb": [1.1], "duration": 1.0, "steps": 8}
    ours, theirs = (ac.connect(system, m, **ends) for m in (Parabola(), ac.Galerkin(2)))
    assert_allclose(ours.q, theirs.q, atol=1e-13)
    assert_allclose(ours.p, theirs.p, atol=1e-12)


def cost(t, q, v, u, params):
    return 0.5 * u @ u


def one_sided(t, h, q0, q1, params):
    return 0.5 * ((q1 - q0)[0] + 0.1 * (q1 - q0)[1]) ** 2 / h


def test_a_singular_discrete_lagrangian_is_said_to_be():
    system = ac.DiscreteSystem(one_sided, ac.Euclidean(2), name="one-sided")
    with pytest.raises(ValueError, match="D1 D2 Ld has rank 1 of 2 between qa and qb"):
        ac.connect(system, qa=[0.0, 0.0], qb=[1.0, 0.7], duration=1.0, steps=10)
