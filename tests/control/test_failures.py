"""Optimal control: failure says where and why, nothing to do is done, progress is shown."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()


def gentle(t, q, v, u, p):
    return jnp.sqrt(q[0] - 0.5) + 0.5 * u @ u


def test_too_short_a_duration_is_said_to_be():
    with pytest.raises(
        ac.OptimizeFailed,
        match=r"momentum balance of x at t = .* off by .*not be reachable in the duration of 1 ",
    ) as caught:
        ac.optimize(book.block(control_bounds=(-1, 1)), MIDPOINT, 16)
    assert caught.value.solution.success is False
    assert caught.value.found.violation > 0.1


def test_failure_can_be_had_as_a_solution():
    s = ac.optimize(book.block(control_bounds=(-1, 1)), MIDPOINT, 16, throw=False)
    assert not s.success
    assert "infeasible" in s.message
    assert s.violation > 0.1
    s = ac.optimize(book.block(control_bounds=(-1, 1)), MIDPOINT, 16, throw=False, starts=2)
    assert not s.success
    with pytest.raises(ac.OptimizeFailed, match="none of 2 starts succeeded"):
        ac.optimize(book.block(control_bounds=(-1, 1)), MIDPOINT, 16, starts=2)


def test_too_few_iterations():
    with pytest.raises(ac.OptimizeFailed, match="in 2 iterations"):
        ac.optimize(book.swing_up(), MIDPOINT, 16, max_iterations=2)
    s = ac.optimize(book.swing_up(), MIDPOINT, 16, max_iterations=2, throw=False)
    assert (s.success, s.iterations) == (False, 2)
    s = ac.optimize(book.block(control_bounds=(-5, 5)), MIDPOINT, 16, max_iterations=2, throw=False)
    assert (s.success, s.iterations) == (False, 2)


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
def test_a_cost_that_is_nan_at_the_guess(solver):
    with pytest.raises(ac.OptimizeFailed, match="not finite"):
        ac.optimize(book.block(cost=gentle), MIDPOINT, 8, solver=solver)


def test_nothing_to_do():
    """At rest where it should be: no control, no cost."""
    s = ac.optimize(book.block(end=([0.0], [0.0])), MIDPOINT, 8)
    assert s.success
    assert_allclose(s.u, 0, atol=1e-12)
    assert s.cost == 0


# ---------------------------------------------------------------- progress


def test_progress_is_shown(capsys):
    ac.optimize(book.block(), MIDPOINT, 16, progress=True)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0].split() == ["iteration", "cost", "violation", "slope"]
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(len(lines) - 1))
    assert_allclose(float(lines[-1].split()[1]), 6 / (1 - 1 / 16**2), rtol=1e-6)
    ac.optimize(book.block(control_bounds=(-5, 5)), MIDPOINT, 16, progress=True)
    assert len(capsys.readouterr().out.splitlines()) > 4
    ac.optimize(book.block(), MIDPOINT, 16, progress=True, starts=2)
    captured = capsys.readouterr()
    assert "starts" in captured.out + captured.err
    ac.optimize(book.block(), MIDPOINT, 16)
    assert capsys.readouterr().out == ""
