"""Planning again and again: each plan from where the system is, starting from the last one."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.control import lqr, receding_horizon
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()


def tilted(t, q, v, params):
    return jnp.array([0.0, 0.1 * jnp.sin(3 * t)])


def quadratic(t, q, v, u, p):
    return q @ q + v @ v + 0.1 * u @ u


@pytest.fixture(scope="module")
def balance():
    """The pole is held with the cost of a law that is known, whose cost-to-go is that of the
    end.
    """
    S = jnp.asarray(lqr(book.swing_up(), 1.0, 0.1).S)

    def left(t, q, v, p):
        z = jnp.concatenate([q, v])
        return z @ S @ z

    return book.swing_up(
        cost=quadratic,
        terminal=left,
        start=([1e-4, 2e-4], [0.0, 0.0]),
        end=(None, None),
        duration=1.0,
    )


def test_with_quadratic_costs_it_is_the_law_of_riccati(balance):
    """To first order in the state, and with the error h^2 of the plans."""
    off = []
    for n in (25, 50):
        run = receding_horizon(balance, MIDPOINT, n, n).run
        held = lqr(book.swing_up(), 1.0, 0.1, h=1 / n).replay(1.0, q0=run.q[0], v0=run.v[0])
        off.append(np.max(np.abs(run.u - held.u)) / np.max(np.abs(held.u)))
    assert off[0] < 0.005
    assert off[1] < off[0] / 2


def test_a_pole_is_swung_up_and_held_against_a_push():
    problem = book.swing_up()
    found = receding_horizon(problem, MIDPOINT, 40, 60, every=2)
    assert np.max(np.abs(found.run.off[-1])) < 1e-3
    assert np.max(found.iterations[1:]) <= 4
    assert found.costs[0] == found.first.cost
    assert np.all(np.diff(found.costs[20:]) < 0)
    pushed = receding_horizon(problem, MIDPOINT, 40, 60, every=2, disturbance=tilted)
    assert np.max(np.abs(pushed.run.off[60:, 1])) < 0.2
    assert "60 plans of 40 steps" in str(found)
    assert found.plot().axes


@pytest.mark.parametrize("start", [(0.0, np.pi), (0.5, 2.0), (-0.3, 1.0), (0.0, -2.5)])
def test_the_upright_pole_is_reached_from_anywhere(start):
    """Vakonomic thesis, section 7.2, footnote: theta = 0 becomes a stable equilibrium."""
    found = receding_horizon(book.swing_up(), MIDPOINT, 40, 75, every=2, q0=start, v0=[0.5, -1.0])
    assert np.max(np.abs(found.run.off[-1])) < 1e-3


def growing(t, q, v, u, p):
    return (1 + t**2) * u @ u


def test_a_plan_on_the_way_is_that_from_the_start_of_the_same_state():
    """With a cost of time, on the method of several points to a step, too."""
    for method, steps in ((MIDPOINT, 24), (ac.Galerkin(2), 12)):
        problem = book.swing_up(cost=growing, t0=0.5)
        found = receding_horizon(problem, method, steps, 4, every=3, tolerance=1e-9)
        k = 9
        start = (found.run.q[k], found.run.v[k])
        near = np.concatenate([found.first.q[k:], np.repeat(found.first.q[-1:], k, axis=0)])
        u = found.first.u.reshape(steps, -1)
        near_u = np.concatenate([u[k:], np.zeros((k, u.shape[1]))]).reshape(-1, 1)
        later = replace(problem, start=start, t0=float(found.run.t[k]))
        alone = ac.optimize(later, method, steps, guess=(near, near_u))
        np.testing.assert_allclose(found.costs[3], alone.cost, rtol=1e-7)
        u = alone.u.reshape(steps, -1)[0]
        np.testing.assert_allclose(found.run.u[k], np.mean(u), rtol=1e-5)


def test_controls_within_bounds():
    problem = book.swing_up(control_bounds=(-10.0, 10.0))
    found = receding_horizon(problem, MIDPOINT, 40, 25, every=3)
    assert found.first.solver == "ipopt"
    assert np.max(np.abs(found.run.u)) <= 10.0
    assert np.max(np.abs(found.run.u)) > 9.9
    assert np.max(np.abs(found.run.off[-1])) < 0.05


def near_post(t, q, v, u, p):
    return 0.01 - (q[0] - 1) ** 2 - (q[1] - 0.02) ** 2


def ahead(t, q, v, u, p):
    return 0.5 * u @ u + 2 * (q[0] - 2) ** 2 + 2 * q[1] ** 2


def plane_lagrangian(t, q, v, p):
    return 0.5 * v @ v


@pytest.fixture(scope="module")
def past_a_post():
    """A mass in the plane goes to (2, 0) past a post of radius 0.1, fast for its steps."""
    system = ac.System(plane_lagrangian, ac.Euclidean(2), name="mass")
    start = ([-1.5, 0.0], [0.0, 0.0])
    return ac.ControlProblem(
        system, ahead, actuated=[0, 1], start=start, end=(None, None), duration=2.0, path=near_post
    )


def nearest(run):
    """The largest `near_post` of its motion, a parabola on each step."""
    s = np.diff(run.t)[:, None, None] * np.linspace(0, 1, 101)[:, None]
    x = run.q[:-1, None] + run.v[:-1, None] * s + 0.5 * run.u[:, None] * s**2
    return np.max(near_post(0, np.moveaxis(x, -1, 0), 0, 0, 0))


@pytest.mark.parametrize("every", [1, 2])
def test_path_constraints_hold_between_the_nodes_of_all_plans(past_a_post, every):
    run = receding_horizon(past_a_post, MIDPOINT, 12, 10, every=every).run
    assert run.q[-1, 0] > 1.2
    assert nearest(run) < 1e-6


def test_a_push_across_a_path_constraint_is_led_back(past_a_post):
    """No plan undoes what is broken where it starts: it holds from the second step on."""

    def gust(t, q, v, params):
        return jnp.array([jnp.where(t < 0.16, 9.0, 0.0), 0.0])

    found = receding_horizon(past_a_post, MIDPOINT, 12, 4, q0=[0.8, 0.0], disturbance=gust)
    g = near_post(0, found.run.q.T, 0, 0, 0)
    (worst,) = found.path_worst.values()
    np.testing.assert_allclose(worst, (g[1], found.run.t[1]))
    assert g[1] > 1e-3
    assert np.max(g[2:]) < 1e-4


def blown(t, q, v, params):
    return jnp.array([2 * jnp.sin(9 * t)])


def test_rates_are_held_where_plans_meet():
    bounded = book.block(rate_bounds=(-8.0, 8.0), end=(None, None), cost=quadratic, duration=1.5)
    for method, every in ((MIDPOINT, 2), (ac.Galerkin(2), 1)):
        found = receding_horizon(
            bounded, method, 15, 8, every=every, q0=[1.0], v0=[1.0], disturbance=blown
        )
        rates = np.diff(found.run.u[:, 0]) / np.diff(found.run.t)[1:]
        assert 7.9 < np.max(np.abs(rates)) < 8 + 1e-5


def rate_squared(t, w, p):
    return 0.01 * w @ w


def test_a_cost_of_rates_counts_from_the_control_that_was_applied():
    """Steps of a block are exact, so that the second plan is that of a few linear equations."""
    problem, n = book.block(rate_cost=rate_squared), 8
    found = receding_horizon(problem, MIDPOINT, n, 2, disturbance=blown)
    h, (x, v), before = 1 / n, (found.run.q[1, 0], found.run.v[1, 0]), found.run.u[0, 0]
    D = np.eye(n) - np.eye(n, k=-1)
    H = h * np.eye(n) + 0.02 / h * D.T @ D
    pull = 0.02 / h * before * np.eye(n)[0]
    C = np.stack([h**2 * (n - 0.5 - np.arange(n)), np.full(n, h)])
    whole = np.block([[H, C.T], [C, np.zeros((2, 2))]])
    right = np.concatenate([pull, [1 - x - n * h * v, -v]])
    u = np.linalg.solve(whole, right)[:n]
    cost = 0.5 * u @ H @ u - pull @ u + 0.01 / h * before**2
    np.testing.assert_allclose(found.run.u[1, 0], u[0], rtol=1e-7)
    np.testing.assert_allclose(found.costs[1], cost, rtol=1e-7)


def test_a_body_is_turned_on_its_group():
    """A wheel on its axle, by matrices: its angle moves as a block does."""

    def wheel(t, R, w, params):
        return 0.5 * w @ w

    space, rest = ac.SO2(), np.zeros(1)
    end = np.asarray(space.retract(np.eye(2), np.array([1.2])))
    problem = ac.ControlProblem(
        ac.System(wheel, space, name="wheel"),
        book.half_square,
        actuated=[0],
        start=(np.eye(2), rest),
        end=(end, rest),
        duration=1.0,
    )
    run = receding_horizon(problem, MIDPOINT, 8, 24).run
    flat = receding_horizon(book.block(end=([1.2], [0.0])), MIDPOINT, 8, 24).run
    np.testing.assert_allclose(run.u, flat.u, atol=1e-6)
    np.testing.assert_allclose(run.off, flat.off, atol=1e-6)
    assert np.max(np.abs(np.einsum("kij,kil->kjl", run.q, run.q) - np.eye(2))) < 1e-12


WRONG = {
    "no problem": (lambda: receding_horizon(1, MIDPOINT, 8, 2), "problem must be a ControlProblem"),
    "a free duration": (
        lambda: receding_horizon(book.block(duration=(0.5, 1.0)), MIDPOINT, 8, 2),
        "a receding horizon has one length",
    ),
    "no start": (
        lambda: receding_horizon(book.block(start=(None, [0.0])), MIDPOINT, 8, 2),
        "q0: the start of the problem is not given whole",
    ),
    "more than there are": (
        lambda: receding_horizon(book.block(), MIDPOINT, 8, 2, every=9),
        "every must be at most the steps of a plan, 8",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what):
    call, words = WRONG[what]
    with pytest.raises(ValueError, match=words):
        call()


def test_a_plan_that_is_not_found_says_when():
    """Strong wind leads it away from where the end can be reached."""

    def wind(t, q, v, params):
        return jnp.array([jnp.where(t > 0.2, 200.0, 0.0)])

    problem = book.block(control_bounds=(-5.0, 5.0))
    with pytest.raises(ac.OptimizeFailed, match=r"at t = 0\.\d+: no controls were found"):
        receding_horizon(problem, MIDPOINT, 10, 8, disturbance=wind)
