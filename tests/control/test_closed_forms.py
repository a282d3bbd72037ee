"""Optimal control: least costs in closed form, bounds, free durations and ends, several optima."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import accion as ac
from accion.control import refine
from tests.textbook import control as book
from tests.textbook.control import slope

MIDPOINT = ac.Midpoint()


def least_energy(A, B, R, x0, x1, t0, t1):
    """min 1/2 int R(t) u^2 of x' = A(t) x + B(t) u between two states, by the Gramian."""

    def rates(t, y):
        phi, x, b = y[:4].reshape(2, 2), y[4:6], B(t)
        w = np.linalg.solve(phi, b)
        return np.concatenate([(A(t) @ phi).ravel(), A(t) @ x, np.outer(w, w).ravel() / R(t)])

    y = solve_ivp(
        rates,
        (t0, t1),
        np.concatenate([np.eye(2).ravel(), x0, np.zeros(4)]),
        rtol=1e-11,
        atol=1e-13,
    ).y[:, -1]
    d = np.linalg.solve(y[:4].reshape(2, 2), np.asarray(x1) - y[4:6])
    return 0.5 * d @ np.linalg.solve(y[6:].reshape(2, 2), d)


def constant(value):
    return lambda t: np.array(value)


DRIFT = constant([[0.0, 1.0], [0.0, 0.0]])
TERMINAL_COST = (
    0.5
    * np.array([1, 0])
    @ np.linalg.solve(np.array([[1 / 8 + 1 / 3, 1 / 2], [1 / 2, 1 / 3 + 1]]), [1, 0])
)
# Problems of a block of mass 1, from 0 to 1 in the time 1 where nothing else is said, with their
# least costs.
CLOSED = {
    "rest to rest": ({}, 6.0),
    "free velocity at the end": ({"end": ([1.0], None)}, 1.5),
    "terminal cost": ({"end": (None, None), "terminal": book.near_rest_at_1}, TERMINAL_COST),
    "quartic cost": ({"cost": book.quartic, "end": ([1.0], None)}, 343 / 108),
    "cost with time": (
        {"cost": book.growing, "t0": 0.5},
        least_energy(DRIFT, constant([0.0, 1.0]), np.exp, [0, 0], [1, 0], 0.5, 1.5),
    ),
    "Lagrangian with time": (
        {"system": book.swelling_system, "t0": 0.5},
        least_energy(
            constant([[0.0, 1.0], [0.0, -0.7]]),
            lambda t: np.array([0.0, np.exp(-0.7 * t)]),
            constant(1.0),
            [0, 0],
            [1, 0],
            0.5,
            1.5,
        ),
    ),
    "friction": (
        {"system": book.damped_system, "start": ([0.0], [0.5])},
        least_energy(
            constant([[0.0, 1.0], [0.0, -0.8]]),
            constant([0.0, 1.0]),
            constant(1.0),
            [0, 0.5],
            [1, 0],
            0,
            1,
        ),
    ),
    "bound on u": ({"control_bounds": (-5, 5)}, 12.5 * (1 - 2 / 3 * np.sqrt(0.6))),
    "bound on v": ({"velocity_bounds": {"x": (-1.2, 1.2)}}, 7.68),
    # Bryson and Denham
    "bound on q": (
        {"start": ([0.0], [1.0]), "end": ([0.0], [-1.0]), "state_bounds": {"x": (-1, 1 / 9)}},
        4.0,
    ),
    "path constraint": (
        {"start": ([0.0], [1.0]), "end": ([0.0], [-1.0]), "path": {"wall": book.wall}},
        4.0,
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_cost_converges_to_the_closed_form_with_order_2(name):
    changes, exact = CLOSED[name]
    s = {N: ac.optimize(book.block(**changes), MIDPOINT, N) for N in (32, 64)}
    errors = [s[N].cost - exact for N in s]
    assert abs(errors[1]) < 2e-3 * exact
    assert_allclose(
        slope((32, 64), errors), 2, atol=0.7 if "path" in name or "bound" in name else 0.15
    )
    if s[64].solver == "sqp" and name != "quartic cost":
        other = [
            ac.optimize(book.block(**changes), MIDPOINT, N, formulation="vakonomic").cost - exact
            for N in (32, 64)
        ]
        assert_allclose(slope((32, 64), other), 2, atol=0.2)


def test_refinement_says_how_wrong_it_is():
    """The extrapolated cost is better than that of the finest mesh, whose error is the estimate."""
    s = ac.optimize(book.block(system=book.damped_system, start=([0.0], [0.5])), MIDPOINT, 16)
    found, exact = refine(s, tolerance=1e-4), CLOSED["friction"][1]
    assert found.steps[0] == 16
    assert found.solution.cost == found.costs[-1]
    assert found.error < 1e-4 * found.cost
    assert_allclose(found.error, abs(found.solution.cost - exact), rtol=0.02)
    assert abs(found.cost - exact) < 0.02 * found.error
    with pytest.raises(ac.OptimizeFailed, match="raise max_steps"):
        refine(s, tolerance=1e-12, max_steps=64)


def test_bounds_are_respected_and_active():
    s = ac.optimize(book.block(control_bounds=(-5, 5)), MIDPOINT, 64)
    saturated = (1 - np.sqrt(0.6)) / 2
    assert np.abs(s.u).max() <= 5 + 1e-7
    assert np.all(s.u[s.t[1:] < saturated] > 5 - 1e-5)
    assert np.all(s.u[s.t[:-1] > saturated] < 5 - 1e-2)
    with pytest.raises(ValueError, match="controls are on their bounds"):
        s.extremal()
    s = ac.optimize(book.block(velocity_bounds={"x": (-1.2, 1.2)}), MIDPOINT, 64)
    v = np.diff(s.q[:, 0]) * 64
    assert v.max() <= 1.2 + 1e-7
    assert np.all(v[17:47] > 1.2 - 1e-5)  # on the bound from 1/4 to 3/4
    with pytest.raises(ValueError, match="velocities are on their bounds"):
        s.extremal()
    s = ac.optimize(book.block(**CLOSED["bound on q"][0]), MIDPOINT, 64)
    assert s.q.max() <= 1 / 9 + 1e-7
    assert_allclose(s.q[22:43, 0], 1 / 9, atol=1e-4)  # on the bound from 3 l = 1/3 to 2/3
    with pytest.raises(ValueError, match="coordinates are on their bounds"):
        s.extremal()


def test_least_time():
    """Full thrust to the middle and back: T = 2, H = 0 all the way, and costates (1, 1 - t)."""
    s = ac.optimize(
        book.block(cost=book.one, duration=(0.5, 10.0), control_bounds=(-1, 1)), MIDPOINT, 32
    )
    assert_allclose([s.duration, s.cost, s.t[-1]], 2, atol=1e-7)
    assert_allclose(s.u[:, 0], np.where(s.t_u < 1, 1, -1), atol=1e-6)
    assert_allclose(s.costates[:, 0, 0], 1, atol=1e-6)
    assert_allclose(s.costates[:, 1, 0], 1 - s.t, atol=1e-6)


def timed(t, q, v, u, p):
    return 1.0 + 0.5 * u @ u


def timed_and_growing(t, q, v, u, p):
    return 1.0 + 0.5 * jnp.exp(t) * u @ u


def late(t, q, v, p):
    return 0.5 * t**2


def test_extremal_of_a_free_duration():
    """T + 6/T^3 is least at T = 18^(1/4), where H = 18/T^4 - 1 is zero; the mesh's T is another."""
    s = ac.optimize(book.block(cost=timed, duration=(0.5, 10.0)), MIDPOINT, 20)
    e, T = s.extremal(), 18**0.25
    assert s.duration - T > 1e-3
    assert_allclose([e.duration, e.cost], [T, T + 6 / T**3], rtol=1e-11)
    assert_allclose(e.H, 0, atol=1e-11)
    assert_allclose(e.u[:, 0], 6 / T**2 * (1 - 2 * e.t / T), atol=1e-10)
    # Between the two durations a bound: the mesh is off it, the extremal is on it, with the
    # duration of the bound and its price.
    s = ac.optimize(book.block(cost=timed, duration=(T + 1e-4, 10.0)), MIDPOINT, 20)
    e = s.extremal()
    assert s.duration > T + 1e-3
    assert e.duration == T + 1e-4
    assert_allclose(e.H, 18 / (T + 1e-4) ** 4 - 1, atol=1e-11)


def test_extremal_of_a_free_duration_with_costs_that_see_the_time():
    """H(T) = d terminal/dt = t at the end; the least cost of a duration by the Gramian has no slope
    there.
    """
    s = ac.optimize(
        book.block(cost=timed_and_growing, terminal=late, duration=(0.5, 10.0), t0=0.5),
        MIDPOINT,
        20,
    )
    e = s.extremal()

    def least(T):
        return (
            T
            + 0.5 * (0.5 + T) ** 2
            + least_energy(DRIFT, constant([0.0, 1.0]), np.exp, [0, 0], [1, 0], 0.5, 0.5 + T)
        )

    assert_allclose(e.cost, least(e.duration), rtol=1e-9)
    assert abs(least(e.duration + 1e-3) - least(e.duration - 1e-3)) / 2e-3 < 1e-5
    assert abs(s.duration - e.duration) > 1e-4
    assert_allclose(e.H[-1], e.t[-1], rtol=1e-11)
    assert e.drift > 0.1


def test_an_obstacle_is_gone_round():
    problem = ac.ControlProblem(
        book.plane_system,
        book.half_square,
        actuated=[0, 1],
        start=([0, 0], [0, 0]),
        end=([2, 0], [0, 0]),
        duration=1.0,
        path={"disc": book.disc},
    )
    s = ac.optimize(problem, MIDPOINT, 32, starts=3)
    along = s.q[:-1] + np.linspace(0, 1, 101)[:, None, None] * np.diff(s.q, axis=0)
    assert_allclose(np.linalg.norm(along - [1, 0.1], axis=2).min(), 0.4, atol=2e-6)
    assert s.cost > 24.5  # of the straight way
    assert s.q[16, 1] < 0  # below is shorter
    above = [o for o in s.optima if o.q[16, 1] > 0]
    assert all(o.cost > s.cost + 1 for o in above)
    ahead = [o.cost for o in s.optima]
    assert ahead == sorted(ahead)


@pytest.mark.slow
def test_transversality_where_the_end_is_free():
    s = ac.optimize(book.block(end=([1.0], None)), MIDPOINT, 64)
    assert_allclose(s.costates[-1, 1], 0, atol=1e-9)
    e = s.extremal()
    assert_allclose(e.cost, 1.5, rtol=1e-11)
    assert_allclose(e.q[:, 0], 1.5 * e.t**2 - 0.5 * e.t**3, atol=1e-10)
    assert_allclose(e.u[:, 0], 3 - 3 * e.t, atol=1e-10)
    assert_allclose(e.costates[:, :, 0], np.stack([3 + 0 * e.t, 3 - 3 * e.t], axis=1), atol=1e-9)
    assert_allclose(e.H, 4.5, atol=1e-9)


@pytest.mark.parametrize("formulation", ["direct", "vakonomic"])
def test_terminal_cost_gives_the_costates_at_the_end(formulation):
    s = ac.optimize(
        book.block(end=(None, None), terminal=book.near_rest_at_1),
        MIDPOINT,
        32,
        formulation=formulation,
    )
    q, v = s.q[-1, 0], s.v[-1, 0]
    assert_allclose(s.costates[-1, :, 0], [-8 * (q - 1), -3 * v], rtol=1e-8)


@pytest.mark.slow
def test_kelly_s_cart_pole():
    """Kelly 2017: 58.8 for his solution; another one, found by chance, is better."""
    s = ac.optimize(book.kelly(), MIDPOINT, 32, starts=6)
    assert [round(o.cost, 2) for o in s.optima][:2] == [60.0, 60.59]
    for start, cost in zip(s.optima, (57.94478, 58.80767), strict=False):
        found = refine(start, tolerance=2e-3)
        assert_allclose(found.cost, cost, atol=2e-2)
        assert np.abs(found.solution.u).max() <= 20 + 1e-6
        assert np.abs(found.solution.q[:, 0]).max() <= 2 + 1e-6
