"""The solvers of optimal control on its problems: derivatives of their programs, sequential
quadratic programming against IPOPT.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.assembly import elements
from accion.control import direct, vakonomic
from accion.control.guess import guess_of
from accion.control.layout import layout_of
from accion.control.optimization import first_unknowns
from tests.helpers import central_difference
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()


# ---------------------------------------------------------------- derivatives


def coupled(t, q, v, u, p):
    """A cost in which everything depends on everything."""
    return 0.5 * u @ u * (1 + 0.1 * q[0] ** 2) + jnp.sin(t) * v[0] ** 2 * q[-1] + 0.1 * u[0] ** 4


def landing(t, q, v, p):
    return t * jnp.sin(q[0]) * v[-1] ** 2


def speed(t, q, v, u, p):
    return jnp.stack([v[0] * q[1] - 5.0, u[0] * v[1] ** 2 - 30.0])


CASES = {
    "direct": (
        direct,
        lambda: book.swing_up(cost=coupled, end=([0, None], None), terminal=landing),
    ),
    "free duration, inequalities": (
        direct,
        lambda: book.swing_up(
            cost=coupled,
            end=([0, 0], None),
            terminal=landing,
            duration=(1.0, 3.0),
            velocity_bounds={"x": (-9, 9)},
            path={"g": speed},
        ),
    ),
    "vakonomic": (
        vakonomic,
        lambda: book.swing_up(
            cost=coupled, end=([0, 0], [0, None]), terminal=landing, control_bounds=(-50, 50)
        ),
    ),
    "two configurations": (
        direct,
        lambda: book.swing_up(
            cost=coupled,
            start=([0, 3], [0.1, 3]),
            end=([0, 0], [0.1, 0]),
            boundary="configurations",
        ),
    ),
    "holonomic": (
        direct,
        lambda: ac.ControlProblem(
            book.bob_system,
            book.half_square,
            actuation=book.tangent,
            start=([0, -1], [0, 0]),
            end=([1, 0], None),
            duration=1.0,
            terminal=landing,
        ),
    ),
    "nonholonomic": (
        direct,
        lambda: ac.ControlProblem(
            book.skate_system,
            book.half_square,
            actuation=book.thrust_and_turn,
            start=([0, 0, 0.2], None),
            end=([1, 1, 0.2], [0, 0, 0]),
            duration=1.0,
        ),
    ),
    "rotations": (
        direct,
        lambda: ac.ControlProblem(
            book.satellite(),
            book.half_square,
            actuated=[0, 1, 2],
            start=(np.eye(3), [0, 0, 0.1]),
            end=(np.eye(3), None),
            duration=1.0,
        ),
    ),
}


def dense(pattern, entries, shape):
    matrix = np.zeros(shape)
    np.add.at(matrix, pattern, entries)
    return matrix


def case(name, steps=4):
    module, make = CASES[name]
    return transcribed(module, make(), steps)


def transcribed(module, problem, steps=4, seed=3):
    """The program and a point of it near the guess, away from everything special."""
    guess = guess_of(problem, None, steps)
    program, layout, _ = module.transcribe(problem, MIDPOINT, steps, guess.q)
    x = first_unknowns(layout, MIDPOINT, guess)
    x = x + 0.2 * np.random.default_rng(seed).normal(size=program.n)
    return program, np.where(program.fixed, program.lower, x)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_a_program_are_differences_of_its_values(name):
    program, x = case(name)
    lam, weight = np.random.default_rng(4).normal(size=program.m), 0.7
    free = ~program.fixed
    (cost, rows, gradient, J, _), H = program.all_derivatives(x, weight, lam)
    assert_allclose(cost, program.values(x)[0], rtol=1e-14)
    assert_allclose(rows, program.values(x)[1], atol=1e-12)
    J, H = (
        dense(program.sparsity.jacobian, J, (program.m, program.n)),
        dense(program.sparsity.hessian, H, (program.n, program.n)),
    )
    size = 1 + np.abs(J).max()
    assert_allclose(
        gradient[free],
        central_difference(lambda x: program.values(x)[0], x)[free],
        atol=1e-8 * size,
    )
    assert_allclose(
        J[:, free], central_difference(lambda x: program.values(x)[1], x)[:, free], atol=1e-7 * size
    )

    def slope(x):
        found = program.slopes(x)
        J = dense(program.sparsity.jacobian, found.J, (program.m, program.n))
        return weight * found.gradient + J.T @ lam

    assert_allclose(
        H[np.ix_(free, free)],
        central_difference(slope, x)[np.ix_(free, free)],
        atol=1e-7 * (1 + np.abs(H).max()),
    )
    assert_allclose(H, H.T, atol=1e-10 * (1 + np.abs(H).max()))


def test_moving_the_charts_moves_nothing():
    program, x = case("rotations")
    moved, y = program.recentred(x)
    assert not np.allclose(x, y)
    a, b = program.values(x), moved.values(y)
    assert_allclose(a[0], b[0], rtol=1e-12)
    assert_allclose(a[1], b[1], atol=1e-11)


def test_rows_by_hand():
    """The momentum balances of a block: D2 Ld + D1 Ld + h u of the midpoint rule, typed from
    paper.
    """
    program, x = transcribed(direct, book.block(end=(None, None)), 5)
    layout = layout_of(book.block(end=(None, None)), 5, MIDPOINT)
    q, u, v, h = x[layout.e][:, 0], x[layout.u][:, 0, 0], x[layout.v][:, 0], 0.2
    p = np.diff(q) / h
    before, after = -p + h / 2 * u, p + h / 2 * u
    balances = np.concatenate([[v[0] + before[0]], after[:-1] + before[1:], [after[-1] - v[1]]])
    cost, rows = program.values(x)
    assert_allclose(np.sort(rows), np.sort(balances), atol=1e-13)
    assert_allclose(cost, h / 2 * np.sum(u**2), rtol=1e-14)


def test_the_saddle_matrix_solves_as_dense_matrices_do():
    program, x = case("direct", 8)
    saddle, lam = program.sparsity.saddle, np.random.default_rng(0).normal(size=program.m)
    J, H = program.slopes(x).J, program.hessian(x, 1.0, lam)
    n, m = program.n, program.m
    K = np.zeros((n + m, n + m))
    K[:n, :n] = dense(program.sparsity.hessian, H, (n, n)) + 0.3 * np.eye(n)
    K[n:, :n] = dense(program.sparsity.jacobian, J, (m, n))
    K[:n, n:] = K[n:, :n].T
    K[n:, n:] = -1e-3 * np.eye(m)
    keep = np.concatenate([~program.fixed, np.ones(m, dtype=bool)])
    K = K[np.ix_(keep, keep)]
    top, bottom = (
        np.random.default_rng(1).normal(size=(n, 2)),
        np.random.default_rng(2).normal(size=(m, 2)),
    )
    factors = saddle.factor(H, J, 0.3, 1e-3)
    assert factors is not None
    found = np.concatenate(factors.solve(top, bottom))
    assert_allclose(found[keep], np.linalg.solve(K, np.concatenate([top, bottom])[keep]), atol=1e-9)
    assert_allclose(found[~keep], 0)
    one = np.concatenate(factors.solve(top[:, 0], bottom[:, 0]))
    assert_allclose(one, found[:, 0], atol=1e-12)
    assert factors.even == (np.sum(np.linalg.eigvalsh(K) < 0) % 2 == 0)
    assert saddle.matrix.below == saddle.matrix.above < 20  # not all of them: a band


def test_nothing_is_compiled_anew_for_another_number_of_steps():
    before, traced = elements.compiled.cache_info().misses, []

    def counted(t, q, v, u, p):
        traced.append(1)
        return 0.5 * u @ u + q @ q

    ac.optimize(book.block(cost=counted), MIDPOINT, 20)
    once = len(traced)
    for N in (33, 64):
        ac.optimize(book.block(cost=counted), MIDPOINT, N)
    checks = len(traced) - once  # the problem itself looks at the cost once
    assert checks <= 4
    assert elements.compiled.cache_info().misses <= before + 3
    ac.optimize(book.block(cost=counted), MIDPOINT, 70)
    larger = len(traced)
    ac.optimize(book.block(cost=counted), MIDPOINT, 600)
    assert len(traced) - larger <= 2
    assert larger - once - checks <= once


# ---------------------------------------------------------------- on problems


def test_sqp_and_ipopt_find_the_same():
    a, b = (
        ac.optimize(book.swing_up(), MIDPOINT, 32, solver=solver) for solver in ("sqp", "ipopt")
    )
    assert (a.solver, b.solver) == ("sqp", "ipopt")
    assert_allclose(a.cost, b.cost, rtol=1e-10)
    assert_allclose(a.u, b.u, atol=1e-7)
    assert_allclose(a.multipliers, b.multipliers, atol=1e-6)


def test_iterations_do_not_grow_with_the_steps():
    iterations = {
        N: ac.optimize(book.swing_up(), MIDPOINT, N).iterations for N in (50, 100, 200, 800)
    }
    assert max(iterations.values()) <= 15, iterations


@pytest.mark.slow
def test_iterations_of_the_vakonomic_formulation_do_not_grow_with_the_steps():
    found = [
        ac.optimize(book.swing_up(), MIDPOINT, N, formulation="vakonomic", throw=False)
        for N in (128, 256)
    ]
    assert all(s.success and s.iterations <= 30 for s in found)


TILTED = {
    "cost": book.half_square,
    "actuated": [0],
    "start": ([0], [1.0]),
    "end": ([1.5], [-0.5]),
    "duration": 1.0,
}


@pytest.mark.parametrize(
    ("method", "order"),
    [(ac.Midpoint(), 2), (ac.Trapezoid(), 2), (ac.LeftRectangle(), 1), (ac.Alpha(0.3), 1)],
)
def test_orders_of_methods(method, order):
    """On a nonlinear system that moves at both ends; the least cost is extrapolated from two meshes
    of the midpoint rule.
    """
    problem = ac.ControlProblem(book.angle_system, **TILTED)
    fine = {N: ac.optimize(problem, ac.Midpoint(), N).cost for N in (32, 64)}
    exact = (4 * fine[64] - fine[32]) / 3
    errors = [
        abs(ac.optimize(problem, method, N).cost - exact) for N in (16, 32 if order == 2 else 64)
    ]
    assert_allclose(np.log(errors[0] / errors[1]) / np.log(2 if order == 2 else 4), order, atol=0.3)


def test_a_user_s_own_method():
    problem = ac.ControlProblem(book.angle_system, **TILTED)
    a, b = (ac.optimize(problem, method, 16) for method in (book.FORWARD, ac.LeftRectangle()))
    assert_allclose(a.cost, b.cost, rtol=1e-12)
    assert_allclose(a.u, b.u, atol=1e-10)
