"""The root finder and its linear solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from accion.numerics import newton


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 20, 40])
@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12])
def test_solve_is_backward_stable(n, condition, rng):
    """The residual is rounding of |A| |x|, however badly conditioned A is."""
    solve = jax.jit(newton.solve)
    for _ in range(5):
        Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        A, b = Q * np.geomspace(1, condition, n) @ Q.T, rng.normal(size=n)
        x = np.asarray(solve(jnp.array(A), jnp.array(b)))
        assert np.max(np.abs(A @ x - b) / (np.abs(A) @ np.abs(x))) < 1e-14


def test_solve_pivots():
    """Zeros on the diagonal, as in every system with multipliers, and a pivot that would lose all
    digits.
    """
    A = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1e-20]])
    b = jnp.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(newton.solve(A, b), np.linalg.solve(A, b), rtol=1e-14)
    A = jnp.array([[1e-20, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(newton.solve(A, jnp.array([1.0, 2.0])), [1.0, 1.0], rtol=1e-14)


def test_solve_under_vmap_and_its_derivatives(rng):
    A, b = jnp.array(rng.normal(size=(20, 4, 4))), jnp.array(rng.normal(size=(20, 4)))
    np.testing.assert_allclose(
        jax.vmap(newton.solve)(A, b), np.linalg.solve(A, b[..., None])[..., 0], atol=1e-11
    )
    for i in (0, 1):
        ours = jax.jacrev(newton.solve, i)(A[0], b[0])
        np.testing.assert_allclose(ours, jax.jacfwd(jnp.linalg.solve, i)(A[0], b[0]), atol=1e-9)


def test_several_right_hand_sides_are_columns_under_vmap(rng):
    A, b = jnp.array(rng.normal(size=(4, 4))), jnp.array(rng.normal(size=(4, 3)))
    with pytest.raises(ValueError, match="one right-hand side"):
        newton.solve(A, b)
    found = jax.vmap(newton.solve, (None, 1), 1)(A, b)
    np.testing.assert_allclose(found, np.linalg.solve(A, b), rtol=1e-11)


@dataclass(frozen=True)
class Equations(newton.Equations):
    """Equations whose unknowns matter from the size `size` on."""

    f: Callable[..., Any]
    size: float = 1.0
    multipliers: int = 0

    def residual(self, unknowns, args):
        return self.f(unknowns, args)

    def sizes(self, unknowns, J, args):
        return jnp.full_like(unknowns, self.size), jnp.full_like(unknowns, self.size)


def cubic(x, args):
    a, b = args
    return a * x + x**3 - b


def test_root_to_roundoff_and_its_derivatives_by_the_implicit_function():
    a, b = jnp.array([2.0, 3.0]), jnp.array([1.0, -4.0])

    def find(a, b):
        return newton.root(Equations(cubic), jnp.ones(2), (a, b)).x

    x, iterations, converged = newton.root(Equations(cubic), jnp.ones(2), (a, b))
    assert bool(converged)
    assert 2 <= int(iterations) <= 8
    np.testing.assert_allclose(cubic(x, (a, b)), 0, atol=4e-15)
    np.testing.assert_allclose(jax.jacfwd(find, 1)(a, b), np.diag(1 / (a + 3 * x**2)), rtol=1e-13)
    np.testing.assert_allclose(jax.jacrev(find, 0)(a, b), np.diag(-x / (a + 3 * x**2)), rtol=1e-13)
    second = jax.jacfwd(jax.jacrev(find, 1), 1)(a, b)
    exact = -6 * x / (a + 3 * x**2) ** 3
    np.testing.assert_allclose(second[[0, 1], [0, 1], [0, 1]], exact, rtol=1e-12)


def test_root_near_zero_is_relative():
    """A root of size 1e-20 is found to its own digits: no absolute tolerance stops before."""
    x, _, converged = newton.root(
        Equations(cubic, 0.0), jnp.zeros(1), (jnp.ones(1), jnp.array([1e-20]))
    )
    assert bool(converged)
    np.testing.assert_allclose(x, [1e-20], rtol=1e-15)


def test_first_iterations_that_lead_away_are_taken_back():
    """Newton's method on an arctangent leaves for infinity from beyond 1.39, to and fro; a second
    unknown is zero all the time.
    """
    find = jax.jit(
        lambda x, goal: newton.root(
            Equations(
                lambda x, goal: jnp.array([jnp.arctan(x[0]) - goal, x[1] + x[0] ** 2 * x[1]])
            ),
            x,
            goal,
        )
    )
    for start in (1.5, -3.0, 20.0, -100.0):
        for goal in (0.0, 0.62, -1.4):
            x, iterations, converged = find(jnp.array([start, 0.0]), goal)
            assert bool(converged)
            assert int(iterations) < 25
            np.testing.assert_allclose(x, [np.tan(goal), 0.0], rtol=1e-12, atol=1e-14)


def test_no_root_is_reported_and_does_not_hang():
    _, iterations, converged = newton.root(Equations(lambda x, _: x**2 + 1.0), jnp.array([0.3]), ())
    assert not bool(converged)
    assert int(iterations) == newton.ITERATIONS
    _, iterations, converged = newton.root(
        Equations(lambda x, _: x * jnp.nan), jnp.array([0.3]), ()
    )
    assert not bool(converged)
    assert int(iterations) == 1


def test_a_component_that_is_zero_converges():
    """x[0] = 0 by cancellation: its corrections are noise of no size to compare with, and are known
    as such.
    """

    def linear(x, args):
        M, p = args
        return M @ x - p

    M = jnp.array([[1.3, 0.7], [0.7, 2.1]])
    for v in (jnp.array([0.0, 1.0]), jnp.array([0.0, 0.3]), jnp.array([-0.9, 0.0])):
        x, iterations, converged = newton.root(Equations(linear, 0.0), jnp.zeros(2), (M, M @ v))
        assert bool(converged)
        assert int(iterations) <= newton.ORDINARY + 1
        np.testing.assert_allclose(x, v, atol=1e-15)
