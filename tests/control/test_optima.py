"""Optimal control of the swing-up: two formulations, Pontryagin's conditions, solutions."""

import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import accion as ac
from accion.control import load
from tests.textbook import control as book
from tests.textbook.control import SWING, slope

mpl.use("Agg")
MIDPOINT = ac.Midpoint()


@pytest.fixture(scope="module")
def swing():
    """Direct solutions of the swing-up by their number of steps."""
    return {N: ac.optimize(book.swing_up(), MIDPOINT, N) for N in (32, 45, 64)}


@pytest.fixture(scope="module")
def vakonomic():
    return {
        N: ac.optimize(book.swing_up(), MIDPOINT, N, formulation="vakonomic") for N in (32, 45, 64)
    }


@pytest.fixture(scope="module")
def extremal(swing):
    return swing[64].extremal()


# ---------------------------------------------------------------- two formulations


def test_both_formulations_converge_to_the_cost_with_order_2(swing, vakonomic):
    for found in (swing, vakonomic):
        errors = [s.cost - SWING["cost"] for s in found.values()]
        assert abs(errors[-1]) < 0.01 * SWING["cost"]
        assert_allclose(slope(list(found), errors), 2, atol=0.06)


def test_both_formulations_agree_on_controls_and_motion(swing, vakonomic):
    """The difference between them is of order 2, in the middle of a step and at its ends."""
    u = {
        N: np.abs((swing[N].u[1:] + swing[N].u[:-1]) / 2 - vakonomic[N].u[1:-1]).max()
        for N in swing
    }
    q = {N: np.abs(swing[N].q - vakonomic[N].q).max() for N in swing}
    for difference in (u, q):
        assert_allclose(slope(list(difference), list(difference.values())), 2, atol=0.35)


@pytest.mark.parametrize("case", SWING["discrete"][:2], ids=lambda case: str(case["steps"]))
def test_two_configurations_at_each_end_as_in_section_8_6(case):
    s = ac.optimize(
        book.swing_up_between_configurations(), MIDPOINT, case["steps"], formulation="vakonomic"
    )
    assert_allclose(s.cost, case["cost"], rtol=1e-11)
    assert_allclose(s.u[:3, 0], case["u"], rtol=1e-10)
    assert_allclose(s.q[case["steps"] // 2], case["q_middle"], rtol=1e-10)
    assert s.u.shape == (case["steps"] - 1, 1)
    assert_allclose(s.t_u, s.t[1:-1])
    # The controls are the equations' own: typed from paper, u = (M + m) x'' + d/dt(m l cos theta
    # theta') by differences of midpoint momenta.
    d, half = np.diff(s.q, axis=0) / s.t[1], (s.q[1:, 1] + s.q[:-1, 1]) / 2
    assert_allclose(
        np.diff(1.3 * d[:, 0] + 0.15 * np.cos(half) * d[:, 1]) / s.t[1], s.u[:, 0], atol=1e-9
    )


# ---------------------------------------------------------------- Pontryagin


@pytest.mark.slow
def test_extremal_is_the_reference(extremal):
    every = slice(None, None, 8)
    assert_allclose(extremal.t[every], SWING["t"])
    assert_allclose(extremal.cost, SWING["cost"], rtol=1e-10)
    assert_allclose(extremal.u[every, 0], SWING["u"], atol=1e-9)
    assert_allclose(np.hstack([extremal.q, extremal.v])[every], SWING["states"], atol=1e-9)
    assert_allclose(extremal.costates[every].reshape(-1, 4), SWING["costates"], atol=1e-8)
    assert_allclose(extremal.H, SWING["hamiltonian"], atol=1e-8)
    assert max(extremal.drift, extremal.optimality, extremal.gap) < 1e-8
    assert abs(extremal.cost - SWING["cost"]) <= 10 * extremal.error + 1e-12
    assert extremal.symplectic
    assert extremal.minimal


def test_costates_of_the_discrete_problem_converge_to_the_extremal_s(swing, vakonomic, extremal):
    exact = {64: extremal.costates, 32: extremal.costates[::2]}
    for found in (swing, vakonomic):
        errors = [np.abs(found[N].costates - exact[N]).max() for N in (32, 64)]
        assert_allclose(slope((32, 64), errors), 2, atol=0.4)
        # all nodes, where p0 of theta swings from 30 to -20 in six steps
        assert errors[1] < 0.025 * np.abs(extremal.costates).max()
        for s in found.values():  # x is cyclic
            assert np.ptp(s.costates[:, 0, 0]) < 1e-7


def test_costates_between_configurations_are_discrete_momenta():
    """x is cyclic: p0 of it is constant, and what the least cost says to a shift of the last two
    configurations.
    """

    def shifted(x, guess=None):
        problem = book.swing_up(
            start=([0, np.pi], [0, np.pi]), end=([x, 0], [x, 0]), boundary="configurations"
        )
        return ac.optimize(problem, MIDPOINT, 20, guess, formulation="vakonomic")

    s = shifted(0.0)
    assert_allclose(s.costates[:, 0, 0], -6.599257, atol=1e-6)
    assert_allclose(
        (shifted(1e-3, s).cost - shifted(-1e-3, s).cost) / 2e-3, s.costates[-1, 0, 0], rtol=1e-5
    )
    # p1 of x is linear but for the pole: nothing of the size of the node momenta, p1/h, is left at
    # the ends.
    assert np.abs(np.diff(s.costates[:, 1, 0], 2)[[0, 1, -2, -1]]).max() < 0.1


def mass_matrix(theta):
    return np.array([[1.3, 0.15 * np.cos(theta)], [0.15 * np.cos(theta), 0.075]])


@pytest.mark.parametrize("formulation", ["direct", "vakonomic"])
def test_multipliers_are_derivatives_of_the_least_cost(swing, vakonomic, formulation):
    s, e = {"direct": swing, "vakonomic": vakonomic}[formulation][32], 1e-4

    def least(dq, dv, end=0):
        ends = [([0, np.pi], [0, 0]), ([0, 0], [0, 0])]
        ends[end] = tuple(np.add(ends[end], (dq, dv)).tolist())
        return ac.optimize(
            book.swing_up(start=ends[0], end=ends[1]),
            MIDPOINT,
            32,
            guess=s,
            formulation=formulation,
        ).cost

    by_v = [(least(0 * d, e * d) - least(0 * d, -e * d)) / (2 * e) for d in np.eye(2)]
    assert_allclose(
        s.multipliers[0], np.linalg.solve(mass_matrix(np.pi), by_v), rtol=1e-5, atol=1e-5
    )
    assert_allclose(-s.costates[0, 1], by_v, rtol=1e-5, atol=1e-5)
    for end, sign in ((0, -1), (-1, 1)):
        by_q = [(least(e * d, 0 * d, end) - least(-e * d, 0 * d, end)) / (2 * e) for d in np.eye(2)]
        assert_allclose(sign * s.costates[end, 0], by_q, rtol=1e-5, atol=1e-5)


def test_a_singular_problem_is_reported():
    """The cost does not see u: d2H/du2 = 0, dH/du = 0 does not give the control and W1 is not
    symplectic.
    """
    s = ac.optimize(
        book.block(cost=book.distance, start=([1.0], [0.0]), end=([0.0], [0.0])), MIDPOINT, 16
    )
    with pytest.raises(ac.OptimizeFailed, match=r"d2H/du2 .* W1 is not symplectic"):
        s.extremal()


def test_several_starts_find_other_swings(swing):
    """The next one costs 111.2981, as another program found for the continuous problem."""
    s = ac.optimize(book.swing_up(), MIDPOINT, 32, starts=6, spread=0.5)
    costs = [o.cost for o in s.optima]
    assert costs == sorted(costs)
    assert_allclose([s.cost, costs[0]], swing[32].cost, rtol=1e-10)
    finer = ac.optimize(book.swing_up(), MIDPOINT, 64, guess=s.optima[1])
    assert_allclose((4 * finer.cost - costs[1]) / 3, 111.2981, atol=0.2)


# ---------------------------------------------------------------- solutions


def test_shapes(swing, vakonomic):
    for s, controls in ((swing[32], 32), (vakonomic[32], 33)):
        assert s.t.shape == (33,)
        assert s.u.shape == (controls, 1)
        assert s.t_u.shape == (controls,)
        for x in (s.q, s.v, s.p, s.multipliers):
            assert np.shape(x) == (33, 2)
        assert s.costates.shape == (33, 2, 2)
        assert s.lam is None
        assert s.success
        assert s.violation < 1e-9
        assert s.stationarity < 1e-9
        with pytest.warns(ac.ReplayMisses, match="32 steps"):  # too few for a pole that falls over
            text = repr(s)
        assert "32 steps" in text
        assert s.message in text
    momenta = np.stack(
        [mass_matrix(q[1]) @ v for q, v in zip(swing[32].q, np.asarray(swing[32].v), strict=True)]
    )
    assert_allclose(swing[32].p, momenta, atol=1e-9)


def test_the_momenta_are_those_of_a_simulation_with_the_same_controls(swing):
    """Step by step by hand: p_{k+1} - p_k = h (dL/dq at the middle + B u_k)."""
    s, h = swing[32], 2 / 32
    q, v = (s.q[1:] + s.q[:-1]) / 2, np.diff(s.q, axis=0) / h
    dL = np.stack([s.u[:, 0], 0.15 * np.sin(q[:, 1]) * (9.81 - v[:, 0] * v[:, 1])], axis=1)
    assert_allclose(np.diff(s.p, axis=0), h * dL, atol=1e-8)


def test_replay_with_another_integrator(swing, vakonomic):
    def rates(t, y, u):
        b = [u + 0.15 * np.sin(y[1]) * y[3] ** 2, 0.15 * 9.81 * np.sin(y[1])]
        return np.concatenate([y[2:], np.linalg.solve(mass_matrix(y[1]), b)])

    s, y = swing[64], np.array([0, np.pi, 0, 0])
    for k, u in enumerate(s.u[:, 0]):
        y = solve_ivp(rates, (s.t[k], s.t[k + 1]), y, args=(u,), rtol=1e-11, atol=1e-12).y[:, -1]
    q, v = s.replay
    assert_allclose(np.concatenate([q[-1], v[-1]]), y, atol=1e-7)
    assert_allclose(s.replay_error, np.abs(y).max(), atol=1e-7)
    easy = {
        N: (
            ac.optimize(
                book.swing_up(start=([0, 0.3], [0, 0]), duration=1.0), MIDPOINT, N
            ).replay_error
        )
        for N in (32, 64)
    }
    assert_allclose(slope((32, 64), list(easy.values())), 2, atol=0.2)


def test_control_at_any_time(swing, vakonomic):
    s = swing[32]
    assert_array_equal(s.control([0.0, 0.001, 1.0, 2.0])[:, 0], s.u[[0, 0, 16, 31], 0])
    s = vakonomic[32]
    assert_allclose(s.control(s.t), s.u)
    assert_allclose(s.control(1 / 32), (s.u[:1] + s.u[1:2]) / 2)


def test_a_solution_on_another_mesh_is_a_good_guess(swing):
    guess = swing[32].resample(64)
    assert guess.q.shape == (65, 2)
    assert guess.u.shape == (64, 1)
    assert_allclose(guess.q[::2], swing[32].q)
    warm = ac.optimize(book.swing_up(), MIDPOINT, 64, guess=swing[32])
    assert warm.iterations < swing[64].iterations
    assert_allclose(warm.cost, swing[64].cost, rtol=1e-10)
    by_hand = ac.optimize(book.swing_up(), MIDPOINT, 64, guess=(guess.q, guess.u))
    assert_allclose(by_hand.cost, swing[64].cost, rtol=1e-10)


def test_saved_and_loaded(swing, tmp_path):
    s, path = swing[32], tmp_path / "swing.zarr"
    s.save(path)
    back = load(path, book.swing_up())
    for name in ("t", "q", "u", "t_u", "v", "p", "costates", "multipliers"):
        assert_array_equal(getattr(back, name), getattr(s, name))
    for name in (
        "cost",
        "duration",
        "iterations",
        "success",
        "message",
        "violation",
        "stationarity",
        "solver",
        "formulation",
        "method",
    ):
        assert getattr(back, name) == getattr(s, name)
    assert back.replay_error == s.replay_error
    assert_array_equal(ac.load(path, book.cart_pole).q, s.q)
    with pytest.raises(ValueError, match="another problem"):
        load(path, book.swing_up(actuated=["x", "theta"]))
    s.trajectory.save(tmp_path / "motion.zarr")
    with pytest.raises(ValueError, match=r"accion\.load"):
        load(tmp_path / "motion.zarr", book.swing_up())


def test_picture_and_animation(tmp_path):
    s = ac.optimize(book.block(control_bounds=(-5, 5), state_bounds={"x": (-1, 2)}), MIDPOINT, 32)
    figure = s.plot()
    place, velocity, control = figure.axes

    def level(axis):
        return sorted(
            float(line.get_ydata()[0]) for line in axis.lines if line.get_linestyle() == ":"
        )

    assert [level(axis) for axis in (place, velocity, control)] == [[-1, 2], [], [-5, 5]]
    assert_allclose(np.asarray(control.lines[0].get_ydata())[:-1], s.u[:, 0])
    assert_allclose(np.asarray(place.lines[0].get_ydata()), s.q[:, 0])
    assert control.lines[0].get_label() == "u_x"
    plt.close(figure)
    s.animate(lambda q: jnp.array([[q[0], 0.0]]), tmp_path / "block.gif", fps=5)
    assert (tmp_path / "block.gif").stat().st_size > 0
