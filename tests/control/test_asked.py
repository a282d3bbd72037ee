"""Optimal control: what may be asked for besides costs and ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import accion as ac
from accion.control import refine
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()


def still(t, q, v, u, p):
    return 0.0 * u[0]


def at_post(t, q, v, p):
    """On a circle of radius 1 around (3, 4)."""
    return (q[0] - 3.0) ** 2 + (q[1] - 4.0) ** 2 - 1.0


def place(t, q, v, u, p):
    return q[0]


def half_square_rate(t, w, p):
    return 0.5 * w @ w


def nearness(t, q, v, p):
    return -q[0]


def test_the_end_may_be_on_a_manifold():
    """The nearest point of it, where the costates are at right angles to it; the velocity is free
    and costs nothing: 3/2 d^2 over a distance d.
    """
    problem = ac.ControlProblem(
        book.plane_system,
        book.half_square,
        actuated=[0, 1],
        start=([0, 0], [0, 0]),
        end=(None, None),
        duration=1.0,
        at_end=at_post,
    )
    q = np.linspace([0, 0], [2, 2], 9)
    s = ac.optimize(problem, MIDPOINT, 8, guess=(q, np.zeros((8, 2))))
    assert_allclose(s.q[-1], np.array([3, 4]) * 0.8, atol=1e-8)
    assert_allclose(s.richardson()[0], 1.5 * 16, rtol=1e-3)
    p0, p1 = s.costates[-1]
    assert_allclose(p0[0] * 4 - p0[1] * 3, 0, atol=1e-7)
    assert_allclose(p1, 0, atol=1e-7)
    with pytest.raises(ValueError, match="not solved for at_end"):
        s.extremal()


@pytest.mark.parametrize(
    ("value", "expected"), [(1.0, 360.0), ((0.5, None), 90.0), ((-1.0, 1.0), 0.0)], ids=str
)
def test_an_integral_may_be_given(value, expected):
    """From rest to rest at the same place, with int x dt = A: x = 30 A t^2 (1 - t)^2, which costs
    360 A^2.
    """
    problem = book.block(end=([0.0], [0.0]), integrals={"area": (place, value)})
    s = ac.optimize(problem, ac.Galerkin(3), 4)
    assert_allclose(s.cost, expected, rtol=1e-6, atol=1e-6)


def test_rates_of_controls_may_cost():
    """x of degree five, with x''' = 0 at both ends, where the controls are free."""
    fit = np.array(
        [
            [0, 0, 0, 0, 0, 1],
            [0, 0, 0, 0, 1, 0],
            [1, 1, 1, 1, 1, 1],
            [5, 4, 3, 2, 1, 0],
            [0, 0, 6, 0, 0, 0],
            [60, 24, 6, 0, 0, 0],
        ]
    )
    jerk = np.polyder(np.poly1d(np.linalg.solve(fit, [0, 0, 1, 0, 0, 0])), 3)
    whole = np.polyint(jerk**2)
    s = ac.optimize(book.block(cost=still, rate_cost=half_square_rate), MIDPOINT, 32)
    assert_allclose(s.richardson()[0], (whole(1) - whole(0)) / 2, rtol=2e-3)


def dear_rate(t, w, p):
    return 0.05 * w @ w


# From rest to rest with the cost u^2 / 2 + 0.05 u'^2: by scipy's solve_bvp to 1e-9.
WITH_RATES = 12.065038823637124


@pytest.mark.parametrize("s", [2, 3])
def test_costs_of_rates_have_order_two(s):
    """By differences of controls, whatever the order of the method: errors are estimated so."""
    found = ac.optimize(book.block(rate_cost=dear_rate), ac.Galerkin(s), 16)
    cost, error = found.richardson()
    assert_allclose(error, abs(found.cost - WITH_RATES), rtol=0.2)
    assert abs(cost - WITH_RATES) < 0.2 * error
    finer = refine(found, tolerance=0.3 * error / found.cost)
    assert_allclose(finer.error, abs(finer.costs[-1] - WITH_RATES), rtol=0.2)


def test_rates_of_controls_may_have_bounds():
    """As far as possible, with |u| <= 1 and |u'| <= 4: a ramp of half a second in the middle."""
    problem = book.block(
        cost=still,
        terminal=nearness,
        end=([None], [0.0]),
        duration=2.0,
        control_bounds=(-1, 1),
        rate_bounds=(-4, 4),
    )
    s = ac.optimize(problem, MIDPOINT, 40)
    assert_allclose(-s.cost, 2 * (4 * 0.25**3 / 3 + (1 - 0.25**2) / 2), rtol=1e-3)
    assert np.max(np.abs(np.diff(s.u[:, 0]) / np.diff(s.t_u))) < 4 + 1e-6


def test_points_on_the_way_are_those_of_a_spline():
    s = ac.optimize(book.block(via={0.4: [0.9]}), ac.Galerkin(3), 5)
    spline = CubicSpline([0, 0.4, 1], [0, 0.9, 1], bc_type="clamped")
    bend = [np.polyint(np.poly1d(c) ** 2) for c in spline.derivative(2).c.T]
    assert_allclose(s.cost, (bend[0](0.4) + bend[1](0.6)) / 2, rtol=1e-9)
    assert_allclose(s.q[2], 0.9, atol=1e-12)
    p0 = s.costates[:, 0, 0]
    assert_allclose(p0[:3], p0[0], rtol=1e-8)
    assert_allclose(p0[3:], p0[-1], rtol=1e-8)
    assert abs(p0[0] - p0[-1]) > 1


def test_a_node_is_moved_to_a_point_on_the_way():
    """The cost of the spline through it to rounding, as where equal steps have a node there."""
    problem = book.block(via={0.41: [0.9]})
    s = ac.optimize(problem, ac.Galerkin(3), 5)
    spline = CubicSpline([0, 0.41, 1], [0, 0.9, 1], bc_type="clamped")
    bend = [np.polyint(np.poly1d(c) ** 2) for c in spline.derivative(2).c.T]
    assert_allclose(s.t, [0, 0.2, 0.41, 0.6, 0.8, 1], atol=1e-15)
    assert_allclose(s.cost, (bend[0](0.41) + bend[1](0.59)) / 2, rtol=1e-9)
    assert_allclose(s.replay[0][2], 0.9, atol=1e-9)
    with pytest.raises(ValueError, match="take more steps, or give the places"):
        ac.optimize(book.block(via={0.41: [0.9], 0.42: [0.9]}), MIDPOINT, 5)


WRONG = {
    "integrals that are a list": ({"integrals": [place]}, r'integrals must be \{"name"'),
    "an integral without a value": ({"integrals": {"a": place}}, "got .* for 'a'"),
    "an integral that is a word": ({"integrals": {"a": (place, "b")}}, r"integrals\['a'\]"),
    "at_end that is a number": ({"at_end": 1.0}, r"at_end must be a function at_end\(t, q, v"),
    "rate_cost of a running cost": ({"rate_cost": place}, r"rate_cost\(t, w, params\)"),
    "rate_cost that is a vector": (
        {"rate_cost": lambda t, w, p: w},
        "rate_cost must return a scalar",
    ),
    "rates the wrong way round": ({"rate_bounds": (1, -1)}, "rate_bounds: lower"),
    "via that is a list": ({"via": [0.5]}, "via must be a dictionary"),
    "via at the end": ({"via": {1.0: [0.5]}}, "t = 1 is not between the start and the end"),
    "via at no time": ({"via": {"a": [0.5]}}, "the times of via"),
    "via elsewhere": ({"via": {0.5: [0.5, 0.5]}}, r"via\[0.5\] must have 1 components"),
    "via in a free time": ({"via": {0.5: [0.5]}, "duration": (0.5, 1)}, "give the duration"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    changes, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        book.block(**changes)


def test_rates_need_controls_at_different_times():
    with pytest.raises(ValueError, match="two at one time"):
        ac.optimize(book.block(rate_bounds=(-50, 50)), ac.Galerkin(3, "lobatto"), 4)


def test_it_has_no_other_faces():
    problem = book.block(via={0.45: [0.5]})
    with pytest.raises(ValueError, match=r"vakonomic\(\) does not support via"):
        problem.vakonomic()
    with pytest.raises(ValueError, match="formulation does not support via"):
        ac.optimize(problem, MIDPOINT, 4, formulation="vakonomic")
    with pytest.raises(ValueError, match="integrals and free durations"):
        ac.optimize(book.block(integrals={"a": (place, 1.0)}), MIDPOINT, 4, solver="sqp")
