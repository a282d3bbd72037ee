"""Optimal control: a printed solution says how far the continuous equations miss the end with its
controls, and warns.
"""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import cli
from tests.textbook import control as book

WEIGHTS = np.array([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
JOINTS = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]])


def arm_lagrangian(t, q, v, p):
    """Three masses of 1 kg at the ends of links of 1 m, angles from the vertical, zero when it
    hangs.
    """
    kinetic = 0.5 * v @ (WEIGHTS * jnp.cos(q[:, None] - q[None])) @ v
    return kinetic + 9.81 * WEIGHTS[:, 0] @ jnp.cos(q)


def motors(t, q, p):
    return jnp.asarray(JOINTS)


arm = ac.System(arm_lagrangian, ac.Euclidean(3), name="arm of three links")


def move(end, duration, steps):
    rest = np.zeros(3)
    problem = ac.ControlProblem(
        arm,
        book.half_square,
        actuation=motors,
        start=(rest, rest),
        end=(end, rest),
        duration=duration,
    )
    return ac.optimize(problem, ac.Midpoint(), steps)


@pytest.fixture(scope="module")
def upright():
    """From hanging to upright on far too few steps; the solver is content."""
    return move([np.pi] * 3, 2.0, 16)


def test_a_printed_solution_warns_where_its_controls_lead_elsewhere(upright):
    assert upright.message == "a local minimum was found"
    assert upright.replay_error > 5
    assert upright.replay_miss > 1
    with pytest.warns(
        ac.ReplayMisses,
        match=r"16 steps .* arm of three links miss the end by 10\.7, 135% of the size",
    ):
        text = repr(upright)
    assert "with these controls the continuous equations miss the end by 11" in text


def test_the_command_shows_it_too(upright, capsys):
    with pytest.warns(ac.ReplayMisses):
        cli.describe_control(upright, 1.0)
    assert "miss the end by 11" in capsys.readouterr().out.replace("\n", " ")


def test_a_solution_that_leads_there_does_not_warn():
    s = move([2.0, 2.5, 1.0], 1.0, 32)
    assert s.replay_miss < 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f"miss the end by {s.replay_error:.2g}" in repr(s)


def test_the_miss_is_relative_to_the_motion():
    """Of q to the largest displacement, of v to the largest velocity; nothing to do is no miss."""
    s = ac.optimize(book.swing_up(), ac.Midpoint(), 64)
    q, v = s.replay
    by_hand = (
        np.abs(np.asarray(q)[-1] - s.q[-1]).max() / np.abs(s.q - s.q[0]).max(),
        np.abs(np.asarray(v)[-1] - np.asarray(s.v)[-1]).max() / np.abs(s.v).max(),
    )
    np.testing.assert_allclose(s.replay_miss, max(by_hand), rtol=1e-5)
    assert 0.1 < s.replay_miss < 0.5  # upright is unstable; the gallery shows this one
    repr(s)
    still = ac.optimize(book.swing_up(start=([0, 0], [0, 0])), ac.Midpoint(), 64)
    assert still.replay_miss < 1e-6
    repr(still)


def test_velocities_at_ends_of_two_configurations_are_of_order_2():
    """x = 3 t^2 - 2 t^3 is at rest at both ends; half a control acts there before the first step,
    and after the last.
    """
    found = {}
    for N in (16, 32):

        def x(t):
            return 3 * t**2 - 2 * t**3

        ends = {
            "start": ([0.0], [x(1 / N)]),
            "end": ([x(1 - 1 / N)], [1.0]),
            "boundary": "configurations",
        }
        s = ac.optimize(book.block(**ends), ac.Midpoint(), N, formulation="vakonomic")
        found[N] = np.array([abs(s.v[0, 0]), abs(s.v[-1, 0]), s.replay_error])
    np.testing.assert_allclose(np.log2(found[16] / found[32]), 2, atol=0.15)
