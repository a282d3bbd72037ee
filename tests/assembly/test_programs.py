"""Minima under constraints: sequential quadratic programming on small programs, against SciPy and
IPOPT.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from accion.assembly import ipopt, sqp
from accion.assembly.elements import Family
from accion.assembly.program import Program


def small(cost, rows, n, m, fixed=(), place=None):
    """A program of one element: cost(x) and rows(x) = 0 of n unknowns."""

    def f(args, data, x):
        return cost(x), rows(x)

    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for i, value in fixed:
        lower[i] = upper[i] = value
    family = Family(f, (), np.zeros(1), np.arange(n)[None], np.arange(m)[None])
    zero = np.zeros(m)

    def words(i):
        return f"row {i}"

    return Program(
        (family,), lower, upper, zero, zero, np.arange(float(n)), np.arange(float(m)) + 0.5, words
    )


def test_signs_of_determinants():
    rng = np.random.default_rng(5)
    program = small(lambda x: x @ x, lambda x: x[:2], 6, 2)
    saddle = program.sparsity.saddle
    for _ in range(20):
        H, J = rng.normal(size=(6, 6)), rng.normal(size=(2, 6))
        H = H + H.T
        K = np.block([[H, J.T], [J, np.zeros((2, 2))]])
        factors = saddle.factor(H.ravel(), J.ravel())
        assert factors is not None
        assert factors.even == (np.linalg.det(K) > 0)
    assert saddle.factor(np.zeros(36), np.zeros(12)) is None


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def sphere(x):
    return jnp.array([x @ x - 2.0, x[0] - x[2] ** 3])


def test_sqp_against_scipy_and_ipopt():
    program, x = small(rosenbrock, sphere, 4, 2), np.array([1.0, 0.5, 0.5, 0.2])
    ours, theirs = sqp.solve(program, x), ipopt.solve(program, x)
    scipy = minimize(
        rosenbrock,
        x,
        jac=jax.grad(rosenbrock),
        constraints={"type": "eq", "fun": sphere, "jac": jax.jacobian(sphere)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert ours.success
    assert theirs.success
    assert_allclose(ours.x, theirs.x, atol=1e-8)
    assert_allclose(ours.x, scipy.x, atol=1e-5)
    assert_allclose(ours.lam, theirs.lam, rtol=1e-7)
    assert_allclose(
        jax.grad(rosenbrock)(ours.x) + jax.jacobian(sphere)(ours.x).T @ ours.lam, 0, atol=1e-8
    )
    assert max(ours.violation, ours.stationarity) < 1e-9


def test_a_saddle_is_not_accepted():
    """On the circle x + y is stationary at (1, 1) too, a maximum; started there to within a hair,
    the solver leaves it. With two directions that bend downwards the determinant alone does not see
    it.
    """
    program = small(lambda x: x[0] + x[1], lambda x: jnp.array([x @ x - 2.0]), 2, 1)
    assert_allclose(sqp.solve(program, np.array([1 + 1e-4, 1.0])).x, -1, atol=1e-7)
    program = small(lambda x: x[0], lambda x: jnp.array([x @ x - 1.0]), 3, 1)
    found = sqp.solve(program, np.array([1.0, 1e-3, -1e-3]))
    assert_allclose(found.x, [-1, 0, 0], atol=1e-6)
    program = small(
        lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4 - x[2] ** 2 + x[2] ** 4,
        lambda x: x[3:] - 1,
        4,
        1,
    )
    found = sqp.solve(program, np.array([0.5, 1e-3, 1e-3, 0.0]))
    assert_allclose(np.abs(found.x), [0, np.sqrt(0.5), np.sqrt(0.5), 1], atol=1e-6)


def test_constraints_that_depend_on_each_other():
    """The same row twice is solved all the same; rows that contradict each other are said to."""
    program = small(lambda x: x @ x, lambda x: jnp.array([x[0] + x[1] - 1, x[0] + x[1] - 1]), 2, 2)
    found = sqp.solve(program, np.array([3.0, -1.0]))
    assert found.success
    assert_allclose(found.x, 0.5, atol=1e-8)
    program = small(lambda x: x @ x, lambda x: jnp.array([x[0] + x[1] - 1, x[0] + x[1] - 2]), 2, 2)
    found = sqp.solve(program, np.array([3.0, -1.0]))
    assert not found.success
    assert_allclose(found.violation, 0.5, atol=0.1)


def test_a_guess_that_is_not_finite_is_said_to():
    program = small(lambda x: jnp.log(x[0]) ** 2 + x[1], lambda x: x[1:] - 1, 2, 1)
    found = sqp.solve(program, np.array([-1.0, 0.0]))
    assert not found.success
    assert "not finite" in found.message


def test_fixed_unknowns_stay():
    program = small(
        lambda x: x @ x + jnp.cos(x[0]),
        lambda x: jnp.array([x[0] * x[1] + x[2] - 1]),
        3,
        1,
        fixed=[(1, 2.0)],
    )
    for solve in (sqp.solve, ipopt.solve):
        assert solve(program, np.zeros(3)).x[1] == 2.0


def test_feasible_is_newton_s_method_where_there_are_as_many_rows_as_unknowns():
    program = small(
        lambda x: 0.0 * x[0],
        lambda x: jnp.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1]),
        2,
        2,
    )
    found = sqp.feasible(program, np.array([2.0, 0.3]))
    assert found.success
    assert_allclose(found.x, [np.sqrt(2 + np.sqrt(3)), np.sqrt(2 - np.sqrt(3))], rtol=1e-13)
    assert found.iterations < 10
    nearest = sqp.feasible(
        small(lambda x: 0.0 * x[0], lambda x: jnp.array([x[0] + x[1] - 1]), 2, 1),
        np.array([1.0, 2.0]),
    )
    assert_allclose(nearest.x, [0, 1], atol=1e-14)
    impossible = sqp.feasible(
        small(lambda x: 0.0 * x[0], lambda x: jnp.array([x[0] ** 2 + 1.0]), 1, 1), np.array([1.0])
    )
    assert not impossible.success
