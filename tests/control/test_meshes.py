"""Optimal control on unequal steps, and steps where they are needed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control import adapt, load, step_errors
from tests.textbook import control as book, optima

MIDPOINT = ac.Midpoint()
GRADED = np.linspace(0, 1, 17) ** 1.3


@pytest.fixture(scope="module")
def coarse():
    return ac.optimize(book.swing_up(), ac.Galerkin(2), 16)


def test_places_of_equal_steps_are_a_number_of_them(coarse):
    s = ac.optimize(book.swing_up(), ac.Galerkin(2), np.linspace(0, 1, 17))
    assert_allclose(s.cost, coarse.cost, rtol=1e-12)
    assert_allclose(s.u, coarse.u, rtol=1e-9, atol=1e-9)


def test_a_block_on_unequal_steps(tmp_path):
    """u = 6 - 12 t on any mesh, exactly by Gauss points; costates, states between, and files."""
    s = ac.optimize(book.block(), ac.Galerkin(2), GRADED)
    assert_allclose(s.t, GRADED, atol=1e-15)
    assert_allclose(s.u[:, 0], 6 - 12 * s.t_u, atol=1e-9)
    assert_allclose(s.costates[:, 1, 0], 6 - 12 * s.t, atol=1e-9)
    t = np.array([0.01, 0.5, 0.93])
    assert_allclose(s.at(t).q[:, 0], 3 * t**2 - 2 * t**3, atol=1e-6)
    assert_allclose(s.v[:, 0], 6 * s.t - 6 * s.t**2, atol=1e-9)
    assert s.replay_error < 1e-9
    s.save(tmp_path / "block.zarr")
    assert_allclose(load(tmp_path / "block.zarr", book.block()).u, s.u)


def test_order_two_on_unequal_steps():
    errors = []
    for n in (16, 32):
        s = ac.optimize(book.block(), MIDPOINT, np.linspace(0, 1, n + 1) ** 1.3)
        errors.append(s.cost - 6.0)
    assert_allclose(book.slope((16, 32), errors), 2, atol=0.1)
    assert_allclose(s.richardson()[0], 6.0, atol=0.05 * errors[-1])


def test_forces_of_constraints_are_those_of_equal_steps():
    problem = ac.ControlProblem(
        book.bob_system,
        book.half_square,
        actuation=book.tangent,
        start=([0, -1], [0, 0]),
        end=([1, 0], None),
        duration=1.0,
    )
    found = [ac.optimize(problem, MIDPOINT, mesh) for mesh in (64, np.linspace(0, 1, 65) ** 1.2)]
    first, second = (np.asarray(s.lam)[:, 0] for s in found)
    assert_allclose(np.interp(found[0].t, found[1].t, second), first, atol=0.02)


def test_steps_go_where_they_are_needed(coarse):
    """The same number of equal steps is further off, in the motion and in the cost."""
    fine = adapt(coarse, tolerance=1e-5)
    assert np.max(step_errors(fine)) < 1e-5
    assert np.ptp(np.diff(fine.t)) > np.min(np.diff(fine.t))
    equal = coarse.on_mesh(fine.steps)
    assert np.max(step_errors(equal)) > 3e-5
    exact = book.SWING["cost"]
    assert abs(fine.cost - exact) < 0.6 * abs(equal.cost - exact)
    with pytest.raises(ac.OptimizeFailed, match="steps still miss up to"):
        adapt(coarse, tolerance=1e-9, max_steps=20)


def test_states_of_given_rates_too():
    known = optima.load()["low_thrust"]
    fine = adapt(optima.solve(known), tolerance=1e-6)
    assert np.max(step_errors(fine)) < 1e-6
    assert known.error(fine.cost) < 1e-6


@pytest.mark.parametrize(
    "places", [[0, 0.5, 0.4, 0.7, 1], [0.1, 0.3, 0.5, 0.7, 1], [0, 0.2, 0.5, 0.7, 2], [[0, 1]] * 5]
)
def test_places_that_are_no_mesh(places):
    with pytest.raises(ValueError, match="increasing from 0 to 1"):
        ac.optimize(book.block(), MIDPOINT, places)


def test_what_needs_equal_steps():
    with pytest.raises(ValueError, match="has equal steps"):
        ac.optimize(book.block(), MIDPOINT, GRADED, formulation="vakonomic")
    with pytest.raises(ValueError, match="number of steps must be a whole number >= 4"):
        ac.optimize(book.block(), MIDPOINT, [0, 0.5, 1])
