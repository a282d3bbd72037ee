"""`Galerkin` in problems of control under constraints: order 2s there too."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.textbook import control as book

ANGLE = 2.0


def at_angle(a):
    return np.stack([np.sin(a), -np.cos(a)], axis=-1)


def skate_at(a, speed):
    return [speed * np.cos(a), speed * np.sin(a), 0.0]


SWING = ac.ControlProblem(
    book.angle_system,
    book.half_square,
    actuated=[0],
    start=([0.0], [0.0]),
    end=([ANGLE], [0.0]),
    duration=1.0,
)
# The same on a rope.
BOB = ac.ControlProblem(
    book.bob_system,
    book.half_square,
    actuation=book.tangent,
    start=(at_angle(0.0), [0.0, 0.0]),
    end=(at_angle(ANGLE), [0.0, 0.0]),
    duration=1.0,
)
SKATE = ac.ControlProblem(
    book.skate_system,
    book.half_square,
    actuation=book.thrust_and_turn,
    start=([0, 0, 0.2], skate_at(0.2, 0.5)),
    end=([1, 1, 0.9], skate_at(0.9, 0.3)),
    duration=1.0,
)


@pytest.fixture(scope="module")
def angle():
    return ac.optimize(SWING, ac.Midpoint(), 64)


@pytest.fixture(scope="module")
def skate():
    """By the midpoint rule on two meshes."""
    coarse = ac.optimize(SKATE, ac.Midpoint(), 64)
    return coarse, ac.optimize(SKATE, ac.Midpoint(), 128, guess=coarse)


def bob_by(method, steps, angle, problem=BOB):
    line = angle.resample(steps)
    return ac.optimize(problem, method, steps, guess=(at_angle(line.q[:, 0]), line.u))


def radial(found):
    """The force of the rope along q, from the motion: q.q'' = -v.v = force - gravity q_y."""
    return 9.81 * found.q[:, 1] - np.sum(np.asarray(found.v) ** 2, axis=1)


def test_order_2s_on_a_rope(angle):
    """Against the pendulum in its angle, by Pontryagin's conditions."""
    exact, errors = angle.extremal(), []
    for steps in (8, 16):
        found = bob_by(ac.Galerkin(3), steps, angle)
        off = np.max(np.abs(found.q - at_angle(exact.q[:: 64 // steps, 0])))
        errors.append([abs(found.cost - exact.cost), found.replay_error, off])
        assert found.success
        assert_allclose(np.sum(found.q**2, axis=1), 1.0, atol=1e-9)
    assert_allclose(np.log2(np.divide(*errors)), 6, atol=0.2)
    # Forces at the nodes have a lower order; that of the rope is 2 lam along q.
    assert_allclose(2 * found.trajectory.lam[:, 0], radial(found), atol=1e-3)


def test_order_2s_on_a_skate(skate):
    """Against the midpoint rule with its error of order two taken off."""
    coarse, fine = skate
    cost, q = (4 * fine.cost - coarse.cost) / 3, (4 * fine.q[::2] - coarse.q) / 3
    errors = []
    for steps in (4, 8):
        found = ac.optimize(SKATE, ac.Galerkin(2), steps, guess=fine)
        off = np.max(np.abs(found.q - q[:: 64 // steps]))
        errors.append([abs(found.cost - cost), found.replay_error, off])
        v, a = np.asarray(found.v), found.q[:, 2]
        assert_allclose(v[:, 0] * np.sin(a), v[:, 1] * np.cos(a), atol=1e-12)
    assert_allclose(np.log2(np.divide(*errors)), 4, atol=0.3)


def test_one_point_is_the_midpoint_rule(skate):
    coarse, _ = skate
    one = ac.optimize(SKATE, ac.Galerkin(1), 64, guess=coarse)
    assert_allclose(one.u, coarse.u, atol=1e-9)
    assert_allclose(one.trajectory.lam, coarse.trajectory.lam, atol=1e-8)


def test_a_path_constraint_between_samples_on_a_rope(angle):
    """A speed that is not exceeded: points are added inside of steps, which have multipliers."""
    free = bob_by(ac.Galerkin(2), 8, angle)
    fast = np.max(np.linalg.norm(free.v, axis=1))
    slow = ac.ControlProblem(
        book.bob_system,
        book.half_square,
        actuation=book.tangent,
        start=(at_angle(0.0), [0.0, 0.0]),
        end=(at_angle(ANGLE), [0.0, 0.0]),
        duration=1.0,
        path={"too fast": lambda t, q, v, u, p: v @ v - (0.9 * fast) ** 2},
    )
    found = bob_by(ac.Galerkin(2), 8, angle, slow)
    assert found.path_worst["too fast"].value < 1e-4
    assert found.cost > free.cost


def test_two_configurations_at_each_end_of_a_rope(angle):
    """Of a solution: the best way between them is that solution."""
    free = bob_by(ac.Galerkin(2), 8, angle)
    between = ac.ControlProblem(
        book.bob_system,
        book.half_square,
        actuation=book.tangent,
        start=(free.q[0], free.q[1]),
        end=(free.q[-2], free.q[-1]),
        duration=1.0,
        boundary="configurations",
    )
    found = ac.optimize(between, ac.Galerkin(2), 8, guess=(free.q, free.u))
    assert found.success
    assert_allclose(np.sum(found.q**2, axis=1), 1.0, atol=1e-9)
    # The momenta at the ends are free: it costs no more.
    assert found.cost <= free.cost + 1e-9


def test_lobatto_points_on_a_rope(angle):
    gauss, lobatto = (
        bob_by(ac.Galerkin(3, quadrature), 16, angle) for quadrature in ("gauss", "lobatto")
    )
    assert_allclose(lobatto.cost, gauss.cost, rtol=1e-4)
    with pytest.raises(ValueError, match="constraints on velocities"):
        ac.optimize(SKATE, ac.Galerkin(3, "lobatto"), 8)


def test_forces_that_turn_with_the_velocity_are_refused():
    still = ac.System(
        lambda t, q, v, p: v @ v / 2,
        ac.Euclidean(2),
        nonholonomic=lambda t, q, v, p: jnp.array([v @ v - 1.0]),
    )
    problem = ac.ControlProblem(
        still,
        book.half_square,
        actuated=[0],
        start=([0.0, 0.0], [1.0, 0.0]),
        end=([0.5, 0.5], [0.0, 1.0]),
        duration=1.0,
    )
    with pytest.raises(ValueError, match="turn with the velocity"):
        ac.optimize(problem, ac.Galerkin(2), 8)
