"""Controls at the points of `Galerkin`: order 2s in cost, costates and replay."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control.polynomial import on_the_way
from tests.textbook.control import half_square

PENDULUM = ac.System(lambda t, q, v, p: v @ v / 2 + 9.81 * jnp.cos(q[0]), ac.Euclidean(1))
MASS = ac.System(lambda t, q, v, p: v @ v / 2, ac.Euclidean(1))
UP = {"actuated": [0], "start": ([0.0], [0.0]), "end": ([np.pi], [0.0]), "duration": 2.0}
AWAY = {"actuated": [0], "start": ([0.0], [0.0]), "end": ([1.0], [0.0]), "duration": 1.0}
SWING = ac.ControlProblem(PENDULUM, half_square, **UP)


@pytest.fixture(scope="module")
def middle():
    """By the midpoint rule, from which others start."""
    return ac.optimize(SWING, ac.Midpoint(), 200)


@pytest.mark.parametrize(("s", "meshes"), [(1, (20, 40)), (2, (10, 20)), (3, (10, 20))])
def test_order_2s_of_cost_costates_and_replay(middle, s, meshes):
    exact, errors = middle.extremal(), []
    for steps in meshes:
        found = ac.optimize(SWING, ac.Galerkin(s), steps, guess=middle)
        costates = np.max(np.abs(found.costates[0] - exact.costates[0]))
        errors.append([abs(found.cost - exact.cost), costates, found.replay_error])
        assert found.success
    orders = np.log2(np.divide(*errors))
    assert_allclose(orders, 2 * s, atol=0.35)


def test_one_point_is_the_midpoint_rule(middle):
    one, other = (
        ac.optimize(SWING, method, 40, guess=middle) for method in (ac.Galerkin(1), ac.Midpoint())
    )
    assert_allclose(one.u, other.u, atol=1e-10)
    assert_allclose(one.t_u, other.t_u, atol=1e-15)
    assert one.inner.shape == (40, 0, 1)


def test_a_control_that_is_a_polynomial_is_found_to_rounding():
    """A mass from rest to rest: u = 6 - 12 t, at the cost 12/2."""
    found = ac.optimize(ac.ControlProblem(MASS, half_square, **AWAY), ac.Galerkin(2), 4)
    assert_allclose(found.cost, 6.0, rtol=1e-12)
    assert found.u.shape == (8, 1)
    assert_allclose(found.u[:, 0], 6 - 12 * found.t_u, atol=1e-9)
    t = np.linspace(0.0, 1.0, 23)
    assert_allclose(found.control(t)[:, 0], 6 - 12 * t, atol=1e-9)
    assert_allclose(found.q[:, 0], 3 * found.t**2 - 2 * found.t**3, atol=1e-12)
    assert found.replay_error < 1e-12
    rows = found.trajectory.at(t)
    assert_allclose(np.asarray(rows.q)[:, 0], 3 * t**2 - 2 * t**3, atol=1e-9)


def test_it_is_saved_with_its_inner_points(middle, tmp_path):
    found = ac.optimize(SWING, ac.Galerkin(3), 10, guess=middle)
    found.save(tmp_path / "swing.zarr")
    again = ac.control.load(tmp_path / "swing.zarr", SWING)
    for name in ("u", "t_u", "inner", "costates"):
        assert_allclose(getattr(again, name), getattr(found, name))
    assert again.inner.shape == (10, 2, 1)
    assert_allclose(again.control([0.31, 1.7]), found.control([0.31, 1.7]))
    assert ac.load(tmp_path / "swing.zarr", PENDULUM).controlled


def test_a_guess_has_controls_of_steps_or_of_points(middle):
    found = ac.optimize(SWING, ac.Galerkin(2), 20, guess=middle)
    q = middle.resample(20).q
    for u in (middle.resample(20).u, found.u):
        again = ac.optimize(SWING, ac.Galerkin(2), 20, guess=(q, u))
        assert_allclose(again.cost, found.cost, rtol=1e-9)
    with pytest.raises(ValueError, match=r"controls of shape \(20, 1\)"):
        ac.optimize(SWING, ac.Galerkin(2), 20, guess=(q, found.u[:-1]))


def test_bounds_hold_at_the_points_and_the_best_duration_is_found():
    """A mass in the least time with |u| <= 1: there and back in 2 s, cost of the time alone."""
    bang = ac.ControlProblem(
        MASS,
        lambda t, q, v, u, p: 1.0 + 1e-6 * u @ u,
        **(AWAY | {"duration": (0.5, 5.0)}),
        control_bounds=(-1.0, 1.0),
    )
    found = ac.optimize(bang, ac.Galerkin(2), 10)
    assert np.all(np.abs(found.u) <= 1 + 1e-8)
    assert_allclose(found.duration, 2.0, atol=1e-4)


def test_bounds_that_are_broken_between_points_are_told():
    """An odd number of steps, whose middle one has the switch from 1 to -1 at its points: a line
    through them, sqrt(3) times as far at its ends, and in less than the least time.
    """
    bang = ac.ControlProblem(
        MASS,
        lambda t, q, v, u, p: 1.0 + 0.0 * u[0],
        **(AWAY | {"duration": (0.5, 5.0)}),
        control_bounds=(-1.0, 1.0),
        controls=["push"],
    )
    found = ac.optimize(bang, ac.Galerkin(2), 7)
    assert found.duration < 2
    beyond = found.bounds_worst["push"]
    along = found.control(found.t[0] + np.linspace(0, found.duration, 2001))
    assert_allclose(beyond.value, np.sqrt(3) - 1, rtol=1e-6)
    assert_allclose(beyond.value, np.max(np.abs(along)) - 1, atol=2e-2)
    assert abs(beyond.t - found.duration / 2) < found.duration / 7
    with pytest.warns(ac.BoundsBroken, match=r"push is 0\.\d+ beyond its bounds.*path="):
        assert "beyond its bounds" in repr(found)
    constant = ac.optimize(bang, ac.Midpoint(), 7)
    assert constant.bounds_worst["push"].value < 1e-7
    assert "beyond" not in repr(constant)


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_on_the_way_a_step_is_its_polynomial(s):
    """One of degree three, with its velocity, on a step of 0.4."""
    method, h = ac.Galerkin(3), 0.4
    motion = np.polynomial.Polynomial([0.7, -2.0, 0.5, 1.5])
    increments = motion(h * method.places)[:, None] - motion(0.0)
    _, *inner, x = jnp.asarray(increments)
    q0 = jnp.array([motion(0.0)])
    q, v = on_the_way(method, ac.Euclidean(1), h, q0, x, jnp.stack(inner), jnp.asarray(s))
    assert_allclose(q[0], motion(s * h), rtol=1e-13)
    assert_allclose(v[0], motion.deriv()(s * h), rtol=1e-13)


def test_the_worst_of_a_path_constraint_is_that_of_the_motion():
    """From rest to rest the velocity is 6 t (1 - t), at most 3/2 in the middle of a step."""
    fast = ac.ControlProblem(MASS, half_square, **AWAY, path=lambda t, q, v, u, p: v[0] - 10.0)
    worst = ac.optimize(fast, ac.Galerkin(3), 5).path_worst["path"]
    assert_allclose([worst.value, worst.t], [1.5 - 10.0, 0.5], atol=1e-4)


def test_path_constraints_hold_along_the_polynomials():
    """A mass whose velocity may not exceed 1.2: on long steps, between their points too."""
    slow = ac.ControlProblem(
        MASS, half_square, **AWAY, path={"too fast": lambda t, q, v, u, p: v[0] - 1.2}
    )
    found = ac.optimize(slow, ac.Galerkin(3), 5)
    free = ac.optimize(ac.ControlProblem(MASS, half_square, **AWAY), ac.Galerkin(3), 5)
    assert found.success
    assert found.path_worst["too fast"].value < 1e-5
    assert found.cost > free.cost
    v = np.asarray(found.replay[1])[:, 0]
    assert np.max(v) < 1.2 + 1e-4


def test_on_a_group_it_is_the_same(middle):
    """The pendulum as a rotation of the plane."""
    turning = ac.System(lambda t, R, w, p: w @ w / 2 + 9.81 * R[0, 0], ac.SO2())
    up, rest = -np.eye(2), np.zeros(1)
    problem = ac.ControlProblem(
        turning, half_square, **(UP | {"start": (np.eye(2), rest), "end": (up, rest)})
    )
    flat = ac.optimize(SWING, ac.Galerkin(2), 16, guess=middle)
    angles = np.asarray(flat.q)[:, 0]
    c, s = np.cos(angles), np.sin(angles)
    R = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    found = ac.optimize(problem, ac.Galerkin(2), 16, guess=(R, 0.9 * flat.u))
    assert_allclose(found.cost, flat.cost, rtol=1e-9)
    assert_allclose(found.u, flat.u, atol=1e-6)
    assert_allclose(found.inner, flat.inner, atol=1e-7)


def test_windows_are_refused():
    with pytest.raises(ValueError, match=r"vakonomic formulation does not support Galerkin: the"):
        ac.optimize(SWING, ac.Galerkin(2), 8, formulation="vakonomic")
