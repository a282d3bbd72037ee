"""Optimal control: path constraints hold along the whole motion, not at the samples of the steps
only.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control import load, path_constraints
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()
CENTRE = np.array([0.5, 0.01])


def post(t, q, v, u, p):
    """A disc of radius 0.05, beside the middle of the way."""
    return 0.05**2 - (q[0] - 0.5) ** 2 - (q[1] - 0.01) ** 2


def wall_and_push(t, q, v, u, p):
    return jnp.array([q[0] - 1 / 9, u[0] - 50.0])


def impossible(t, q, v, u, p):
    return 0.1 - (q[0] - 0.5) ** 2


def way(**changes):
    """From (0, 0) to (1, 0), past the disc."""
    given = {
        "start": ([0, 0], [0, 0]),
        "end": ([1, 0], [0, 0]),
        "duration": 1.0,
        "path": {"post": post},
    }
    return ac.ControlProblem(
        book.plane_system, book.half_square, actuated=[0, 1], **(given | changes)
    )


def nearest(s):
    """The least distance of the steps, straight lines, from the centre of the disc."""
    d = np.diff(s.q, axis=0)
    part = np.clip(np.sum((CENTRE - s.q[:-1]) * d, axis=1) / np.sum(d**2, axis=1), 0, 1)
    return np.linalg.norm(s.q[:-1] + part[:, None] * d - CENTRE, axis=1).min()


@pytest.fixture(scope="module")
def passed():
    return ac.optimize(way(), MIDPOINT, 10)


def test_an_obstacle_between_samples_is_gone_round(passed):
    """The middles of ten steps see nothing of it: the straight way, of cost 6.06, passes its centre
    at 0.01.
    """
    assert passed.success
    assert_allclose(nearest(passed), 0.05, atol=1e-5)
    assert passed.cost > 6.2
    finer = ac.optimize(way(), MIDPOINT, 20)
    assert_allclose(nearest(finer), 0.05, atol=1e-5)


def test_the_worst_is_reported(passed, tmp_path):
    value, t = passed.path_worst["post"]
    assert abs(value) < 1e-6
    assert_allclose(t, 0.5, atol=0.01)
    assert f"post is at most {value:.2g}, at t = {t:.4g}" in repr(passed)
    passed.save(tmp_path / "way.zarr")
    assert_allclose(load(tmp_path / "way.zarr", way()).path_worst["post"], (value, t), atol=1e-12)


def test_costates_jump_where_the_obstacle_is_touched(passed):
    """p0 is constant before and after, as nothing else depends on q; at the ends it is the
    derivative of the least cost.
    """
    p0, e = passed.costates[:, 0], 1e-4
    assert_allclose(p0[:5], p0[:1] * np.ones((5, 1)), atol=1e-5)
    assert_allclose(p0[6:], p0[-1:] * np.ones((5, 1)), atol=1e-5)
    assert p0[-1, 1] - p0[0, 1] > 1

    def least(y):
        return ac.optimize(way(end=([1, y], [0, 0])), MIDPOINT, 10, guess=passed).cost

    assert_allclose((least(e) - least(-e)) / (2 * e), p0[-1, 1], rtol=1e-3)


def test_a_motion_that_cannot_hold_between_samples_is_no_minimum(monkeypatch):
    """Without rounds to add points it is looked at only, and called what it is."""
    monkeypatch.setattr(path_constraints, "ROUNDS", 0)
    with pytest.raises(
        ac.OptimizeFailed, match=r"post is broken between samples, by 0\.0024 at t = 0\.5"
    ):
        ac.optimize(way(), MIDPOINT, 10)
    s = ac.optimize(way(), MIDPOINT, 10, throw=False)
    assert not s.success
    assert_allclose(s.path_worst["post"].value, 0.0024, atol=1e-6)


def test_a_wall_across_the_way_is_named():
    """Seen by no sample of four steps at its narrowest; nothing goes through it."""
    with pytest.raises(ac.OptimizeFailed, match=r"wall .*off by"):
        ac.optimize(book.block(path={"wall": impossible}, duration=(0.5, 1.5)), MIDPOINT, 4)


@pytest.mark.parametrize("method", [MIDPOINT, ac.LeftRectangle()], ids=str)
def test_bryson_and_denham_hold_at_every_time(method):
    """Rows of one g are told apart: the wall is reached, the bound of the push is not."""
    s = ac.optimize(
        book.block(start=([0.0], [1.0]), end=([0.0], [-1.0]), path={"wall": wall_and_push}),
        method,
        16,
    )
    assert s.q.max() <= 1 / 9 + 1e-6
    assert_allclose(s.path_worst["wall"].value, 0, atol=1e-6)
    assert_allclose(s.cost, 4.0, rtol=0.15)


def rotated_post(t, q, v, u, p):
    x, R = q
    return 0.05**2 - (x[0] - 0.5) ** 2 - 2 * (1 - R[0, 0] * jnp.cos(0.01) - R[1, 0] * jnp.sin(0.01))


@pytest.mark.slow
def test_charts_of_a_curved_space_follow(passed):
    """The same obstacle with an angle for y, on R x SO(2): nearly the same motion."""
    space = ac.Product(ac.Euclidean(1), ac.SO2())
    system = ac.System(book.block_lagrangian, space, {"m": 1.0}, name="slider that turns")
    ends = {
        "start": (([0.0], np.eye(2)), [0, 0]),
        "end": (([1.0], np.eye(2)), [0, 0]),
        "duration": 1.0,
    }
    s = ac.optimize(
        ac.ControlProblem(system, book.half_square, actuated=[0, 1], path=rotated_post, **ends),
        MIDPOINT,
        10,
    )
    assert abs(s.path_worst["rotated_post"].value) < 1e-6
    assert_allclose(np.arctan2(s.q[1][:, 1, 0], s.q[1][:, 0, 0]), passed.q[:, 1], atol=1e-4)
    assert_allclose(s.costates, passed.costates, atol=2e-3)
