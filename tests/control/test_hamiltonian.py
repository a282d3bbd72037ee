"""The continuous side of optimal control: integration over short intervals, the canonical equations
of Pontryagin's conditions.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import accion as ac
from accion.control import Hamiltonian
from accion.control.flow import extrapolated, flow
from tests.helpers import central_difference
from tests.textbook import control as book


def coupled(t, q, v, u, p):
    """A cost in which everything depends on everything."""
    return 0.5 * u @ u * (1 + 0.1 * q[0] ** 2) + jnp.sin(t) * v[0] ** 2 * q[-1] + 0.1 * u[0] ** 4


# ---------------------------------------------------------------- integration


def twisted(t, y):
    return {"q": y["v"], "v": -jnp.sin(y["q"]) * (1 + 0.3 * jnp.cos(t)) - 0.1 * y["v"]}


def test_flow_has_order_8():
    y0 = {"q": jnp.array(1.0), "v": jnp.array(0.5)}
    run = jax.jit(lambda pieces: jnp.stack(jax.tree.leaves(flow(twisted, 0.2, y0, 4.0, pieces))))
    exact = run(64)
    errors = [float(jnp.linalg.norm(run(n) - exact)) for n in (3, 6, 12)]
    assert_allclose(np.log(errors[0] / errors[2]) / np.log(4), 8, atol=0.8)
    other = solve_ivp(
        lambda t, y: [y[1], float(twisted(t, {"q": y[0], "v": y[1]})["v"])],
        (0.2, 4.2),
        [1.0, 0.5],
        rtol=1e-10,
        atol=1e-11,
    )
    assert_allclose(exact, other.y[:, -1], atol=1e-8)


def test_polynomials_in_time_are_integrated_exactly():
    for degree in range(8):
        found = extrapolated(
            lambda t, y, d=degree: (d + 1) * t**d + 0.0 * y, 1.0, jnp.array(1.0), 0.7
        )
        assert_allclose(found, 1.7 ** (degree + 1), rtol=1e-12)


# ---------------------------------------------------------------- the canonical equations


def test_canonical_equations_are_derivatives_of_the_hamiltonian():
    """On R^n q' = dH/dp0, v' = dH/dp1, p0' = -dH/dq, p1' = -dH/dv by differences, with the control
    that makes H stationary.
    """
    problem = book.swing_up(cost=coupled)
    ham, system = Hamiltonian(problem.cost, problem.law), problem.system
    y, guess = np.random.default_rng(7).normal(size=8), np.array([0.3])

    def cut(y):
        return tuple(jnp.asarray(y[i : i + 2]) for i in (0, 2, 4, 6))

    q, v, p0, p1 = cut(y)
    u = jax.jit(ham.control)(system, 0.4, q, v, p1, guess)
    compiled = jax.jit(lambda y, u: ham.H(system, 0.4, y[:2], y[2:4], u, y[4:6], y[6:]))

    def H(y, u=u):
        return float(compiled(y, u))

    assert_allclose(central_difference(lambda u: H(y, jnp.asarray(u)), np.asarray(u)), 0, atol=1e-8)
    slopes = central_difference(H, y)
    dq, dv, dp0, dp1, C = jax.jit(ham.rates)(system, guess, 0.4, (q, v, p0, p1, 0.0))
    assert_allclose(
        np.concatenate([dq, dv, dp0, dp1]),
        np.concatenate([slopes[4:], -slopes[:4]]),
        rtol=1e-7,
        atol=1e-7,
    )
    assert_allclose(C, coupled(0.4, q, v, u, None), rtol=1e-14)
    bend = central_difference(
        lambda u: central_difference(lambda w: H(y, jnp.asarray(w)), u, 1e-4), np.asarray(u), 1e-4
    )
    assert_allclose(jax.jit(ham.regularity)(system, 0.4, q, v, u, p0, p1), bend, rtol=1e-5)


def test_costates_of_rotations():
    """Nothing depends on the attitude, so that p0 is constant in space: p0' = p0 x v; Euler's
    equations and p1' typed from paper.
    """
    problem = ac.ControlProblem(
        book.satellite(),
        book.half_square,
        actuated=[0, 1, 2],
        start=(np.eye(3), np.zeros(3)),
        end=(None, None),
        duration=1.0,
    )
    v, p0, p1 = np.random.default_rng(8).normal(size=(3, 3))
    I, u = book.INERTIA, p1 / book.INERTIA
    ham = Hamiltonian(problem.cost, problem.law)
    _, dv, dp0, dp1, _ = jax.jit(ham.rates)(
        problem.system, np.zeros(3), 0.0, (jnp.eye(3), *map(jnp.asarray, (v, p0, p1)), 0.0)
    )

    def euler(v):
        return (np.cross(I * v, v) + u) / I

    assert_allclose(dv, euler(v), atol=1e-12)
    assert_allclose(dp0, np.cross(p0, v), atol=1e-12)
    assert_allclose(dp1, -p0 - central_difference(lambda v: p1 @ euler(v), v), atol=1e-8)
