"""Optimal control of systems on groups, with constraints, with parameters, with costs of states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import accion as ac
from tests.textbook import control as book
from tests.textbook.control import slope

MIDPOINT = ac.Midpoint()


@pytest.mark.slow
def test_a_satellite_turns_about_a_principal_axis():
    """theta = theta_f (3 s^2 - 2 s^3) with torque I theta'' and cost 6 I^2 theta_f^2 / T^3; on a
    mesh to order 2.
    """
    angle, T, I = 1.2, 2.0, book.INERTIA[1]

    def turn(a):
        return np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])

    problem = ac.ControlProblem(
        book.satellite(),
        book.half_square,
        actuated=[0, 1, 2],
        start=(np.eye(3), np.zeros(3)),
        end=(turn(angle), np.zeros(3)),
        duration=T,
    )
    s = {N: ac.optimize(problem, MIDPOINT, N) for N in (8, 16)}
    exact = 6 * I**2 * angle**2 / T**3
    assert_allclose(slope((8, 16), [s[N].cost - exact for N in s]), 2, atol=0.2)
    x = s[16].t / T
    path = np.stack([turn(a) for a in angle * (3 * x**2 - 2 * x**3)])
    assert np.abs(s[16].q - path).max() < 0.01
    assert_allclose(s[16].q[-1], turn(angle), atol=1e-12)
    assert_allclose(s[16].u[:, [0, 2]], 0, atol=1e-9)
    assert_allclose(s[16].multipliers[0, 1], -6 * I * angle / T**2, rtol=0.02)


@pytest.mark.slow
def test_a_pendulum_on_a_circle_is_one_in_an_angle():
    """The same torque by a tangential force on the bob: costs differ by the discretisation only."""
    cost = {"cost": book.half_square, "duration": 1.0}
    rope = ac.ControlProblem(
        book.bob_system,
        actuation=book.tangent,
        start=([0, -1], [0, 0]),
        end=([1, 0], [0, 0]),
        **cost,
    )
    angle = ac.ControlProblem(
        book.angle_system, actuated=[0], start=([0], [0]), end=([np.pi / 2], [0]), **cost
    )
    found = {N: (ac.optimize(rope, MIDPOINT, N), ac.optimize(angle, MIDPOINT, N)) for N in (16, 32)}
    for a, b in found.values():
        assert_allclose(a.cost, b.cost, rtol=1e-4)
        assert_allclose(np.sum(a.q**2, axis=1), 1, atol=1e-9)
    errors = [np.abs(a.q - np.hstack([np.sin(b.q), -np.cos(b.q)])).max() for a, b in found.values()]
    assert_allclose(slope((16, 32), errors), 2, atol=0.3)
    # The rope pulls with lam = -(v^2 + g cos theta) / 2 for phi = q.q - 1.
    a, b = found[32]
    pull = -(np.asarray(b.v)[:, 0] ** 2 + 9.81 * np.cos(b.q[:, 0])) / 2
    assert a.lam is not None
    assert_allclose(a.lam[:, 0], pull, atol=0.015)


@pytest.mark.slow
def test_a_skate_is_parked_sideways():
    problem = ac.ControlProblem(
        book.skate_system,
        book.half_square,
        actuation=book.thrust_and_turn,
        start=([0, 0, 0], [0, 0, 0]),
        end=([0, 1, 0], [0, 0, 0]),
        duration=2.0,
    )
    s = ac.optimize(problem, MIDPOINT, 16, starts=4, seed=1)
    d, a = np.diff(s.q, axis=0), (s.q[1:, 2] + s.q[:-1, 2]) / 2
    assert_allclose(d[:, 0] * np.sin(a) - d[:, 1] * np.cos(a), 0, atol=1e-9)
    assert_allclose(s.q[[0, -1]], [[0, 0, 0], [0, 1, 0]], atol=1e-12)
    assert np.abs(a).max() > 0.3


def test_parameters_are_those_of_the_system():
    heavy = book.block(system=book.block_system.with_params({"m": 3.0}))
    a, b = (ac.optimize(problem, MIDPOINT, 32) for problem in (book.block(), heavy))
    assert_allclose(b.cost, 9 * a.cost, rtol=1e-10)
    weighted = [
        ac.optimize(
            book.block(
                cost=book.weighted, system=book.block_system.with_params({"m": 1.0, "w": w})
            ),
            MIDPOINT,
            32,
        ).cost
        for w in (1, 5)
    ]
    assert_allclose(weighted, [a.cost, 5 * a.cost], rtol=1e-10)


def test_cost_of_states_by_quadrature():
    """The discrete cost is the midpoint rule along the path, and the continuous one is near it."""
    s = ac.optimize(book.block(cost=book.mixed, end=([1.0], [0.5])), MIDPOINT, 64)
    q, v, u, t = (s.q[1:, 0] + s.q[:-1, 0]) / 2, np.diff(s.q[:, 0]) * 64, s.u[:, 0], s.t_u
    assert_allclose(s.cost, np.sum((0.5 * u**2 + np.sin(t) * q**2 + q * v) / 64), rtol=1e-12)
    path = np.polynomial.Polynomial.fit(s.t, s.q[:, 0], 9)

    def along(t):
        return 0.5 * path.deriv(2)(t) ** 2 + np.sin(t) * path(t) ** 2 + path(t) * path.deriv()(t)

    assert_allclose(s.cost, quad(along, 0, 1)[0], rtol=2e-3)
