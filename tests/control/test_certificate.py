"""Optimal control: what tells a minimum from a point where a solver stopped."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control import certify
from tests.textbook import control as book, optima

MIDPOINT = ac.Midpoint()
KNOWN = optima.load()


def test_least_time_has_one_switch_in_the_middle():
    """H is 0 all along where the time is free; no change keeps what is active."""
    for form in (optima.dynamics, optima.mechanical):
        found = certify(optima.solve(KNOWN["block_time"], form(KNOWN["block_time"])))
        assert [arc.where for arc in found.arcs] == ["upper", "lower"]
        assert_allclose(found.switches[0][1], 1.0, atol=1e-6)
        assert_allclose(found.H, 0, atol=1e-6)
        assert abs(found.H_end) < 1e-6
        assert found.gain < 1e-6
        assert found.strict
        assert "a strict local minimum" in str(found)


def test_least_fuel_is_burnt_at_both_ends():
    found = certify(optima.solve(KNOWN["block_fuel"]))
    burn = KNOWN["block_fuel"].data["optimum"] / 2
    right = [arc for arc in found.arcs if arc.control.startswith("right")]
    left = [arc for arc in found.arcs if arc.control.startswith("left")]
    assert [arc.where for arc in right] == ["upper", "inside", "lower"]
    assert [arc.where for arc in left] == ["lower", "inside", "upper"]
    assert right[0].end < burn < right[1].end
    assert left[1].start < 3 - burn < left[2].start
    assert found.gain < 1e-6
    assert found.H_end is None


def test_what_a_turn_leaves_alike_is_no_strict_minimum():
    """Brockett's circle may start in any direction."""
    found = certify(optima.solve(KNOWN["brockett"]))
    assert abs(found.curvature) < 1e-9
    assert not found.strict
    assert found.gain < 1e-9


def rate(t, x, u, p):
    return u


def valley(t, x, u, p):
    """Least along x = 0 up to the time pi, and beyond it not any more (Jacobi)."""
    return 0.5 * u @ u + jnp.cos(x[0])


@pytest.mark.parametrize(("duration", "strict"), [(2.5, True), (4.0, False)])
def test_beyond_a_conjugate_point_there_is_no_minimum(duration, strict):
    """x = 0 satisfies the first-order conditions at any time, and is where the solver starts."""
    system = ac.Dynamics(rate, ["x"], ["u"], name="point")
    problem = ac.ControlProblem(system, valley, start=[0.0], end=[0.0], duration=duration)
    s = ac.optimize(problem, MIDPOINT, 32, throw=False)
    found = certify(s)
    if np.max(np.abs(s.x)) < 1e-9:
        assert found.strict == strict
    else:  # the solver left it for one of the two minima beside
        assert not strict
        assert s.cost < duration - 1e-3
        assert found.strict


def test_controls_that_are_no_minimum_gain():
    known = KNOWN["block_time"]
    stopped = optima.solve(known, max_iterations=2, throw=False)
    assert not stopped.success
    assert certify(stopped).gain > 1e-3


def test_the_swing_up_is_strict():
    s = ac.optimize(book.swing_up(), MIDPOINT, 64)
    found = certify(s)
    assert found.strict
    assert found.gain < 5e-3
    assert found.arcs == (("u_x", "inside", 0.0, 2.0),)
    assert_allclose(np.mean(found.H), book.SWING["hamiltonian"], rtol=0.02)


def test_what_is_not_certified():
    s = ac.optimize(book.block(), MIDPOINT, 8, formulation="vakonomic")
    with pytest.raises(ValueError, match='formulation="direct"'):
        certify(s)


def dearer(t, q, v, u, p):
    return 1.0 + 0.5 * u @ u


def place(t, q, v, u, p):
    return q[0]


def square_of_u(t, q, v, u, p):
    return u @ u


def test_integrals_have_multipliers_in_H():
    """int x dt is least for u = -(1 - t)^2 / 4 mu, where int u^2 dt = 1 says mu = 1 / sqrt(80)."""
    problem = book.block(cost=place, end=(None, None), integrals={"energy": (square_of_u, 1.0)})
    s = ac.optimize(problem, ac.Galerkin(2), 12)
    found, mu = certify(s), 1 / np.sqrt(80)
    assert_allclose(s.u[:, 0], -((1 - s.t_u) ** 2) / (4 * mu), atol=1e-2)
    assert found.gain < 1e-3
    assert found.drift < 1e-2
    assert_allclose(found.H, 1 / (16 * mu), atol=1e-5)
    assert found.strict


def moving(t, q, v, p):
    return q[0] - 1.0 - 0.5 * t


def later(t, q, v, p):
    return 1.0 * t


@pytest.mark.parametrize(
    "changes",
    [{"cost": dearer, "at_end": moving}, {"terminal": later, "at_end": moving}],
    ids=["running", "terminal"],
)
def test_where_the_end_moves_H_is_what_it_asks(changes):
    """u = a (T - t), a = 3 (1 + T/2) / T^3 reaches it at T; T + a^2 T^3 / 6 is least where
    T^4 = (3/2) (1 + T/2) (3 + T/2). H(T) is 0 - nu / 2 and, of a terminal cost, 1 more.
    """
    problem = book.block(end=(None, None), duration=(0.5, 10.0), **changes)
    s = ac.optimize(problem, ac.Galerkin(2), 8)
    T = s.duration
    assert_allclose(T**4, 1.5 * (1 + T / 2) * (3 + T / 2), rtol=1e-6)
    found = certify(s)
    assert_allclose(found.H[-1], 1.5 * (1 + T / 2) / T**3 + ("terminal" in changes), rtol=1e-6)
    assert abs(found.H_end) < 1e-6
    assert found.drift < 1e-6


def test_rates_of_controls_are_not_certified():
    for asked in ({"rate_cost": lambda t, w, p: w @ w}, {"rate_bounds": (-50, 50)}):
        s = ac.optimize(book.block(**asked), MIDPOINT, 8)
        with pytest.raises(ValueError, match="does not support rate_cost and rate_bounds"):
            certify(s)


def test_points_on_the_way_of_rates_are_not_certified():
    system = ac.Dynamics(rate, ["x"], ["u"], name="point")
    ends = {"start": [0.0], "end": [1.0], "duration": 1.0}
    s = ac.optimize(ac.ControlProblem(system, valley, via={0.5: [0.9]}, **ends), MIDPOINT, 8)
    with pytest.raises(ValueError, match="does not support via of a Dynamics"):
        certify(s)


def endless(t, q, v, u, p):
    """Not bounded from below."""
    return 0.5 * u[0] ** 2 - 0.5 * u[0] ** 4


def two_wells(t, q, v, u, p):
    return 0.5 * u[0] ** 2 - 20 * jnp.exp(-((u[0] - 5) ** 2)) - 20 * jnp.exp(-((u[0] + 5) ** 2))


def bowl(t, q, v, u, p):
    return 0.5 * u @ u


@pytest.mark.parametrize("cost", [endless, two_wells, bowl])
def test_far_better_controls_are_found(cost):
    """Controls of 0.1 are a local minimum of all three, and the best of the last alone."""
    s = ac.optimize(book.block(cost=cost, end=([0.02], [0.0])), MIDPOINT, 20)
    assert np.max(np.abs(s.u)) < 0.2
    found = certify(s)
    assert found.strict
    assert found.tried["u_x"][1] > 100
    assert "u_x from -" in str(found)
    if cost is bowl:
        assert found.gain < 1e-6
    else:
        assert found.gain > 10


def test_controls_that_do_not_act_are_compared_with_others():
    """At rest all the time, and two wells beside."""
    found = certify(ac.optimize(book.block(cost=two_wells, end=([0.0], [0.0])), MIDPOINT, 8))
    assert found.gain > 0.1
