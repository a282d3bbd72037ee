"""Equations that are sums of elements: a nonlinear boundary value problem, and the banded matrices
that solve it.

Bratu's problem u'' + exp(u) = 0, u(0) = u(1) = 0 has two solutions,
u = -2 log(cosh((x - 1/2) theta/2) / cosh(theta/4)) with theta = sqrt(2) cosh(theta/4).
"""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from accion.assembly.banded import Banded
from accion.assembly.elements import Family
from accion.assembly.equations import Equations, Measure
from accion.engines import auto
from accion.numerics.newton import EPS
from tests.helpers import central_difference


def interval(h, x, u):
    """What a linear finite element adds to the equations of its two nodes, by the midpoint rule."""
    slope, load = (u[1] - u[0]) / h, h / 2 * jnp.exp((u[0] + u[1]) / 2)
    return jnp.zeros(()), jnp.stack([slope + load, load - slope])


def bratu(N, shuffle=None):
    """The equations of N elements; nodes numbered as `shuffle` says."""
    node = np.arange(N + 1) if shuffle is None else shuffle
    pairs = np.stack([node[:-1], node[1:]], axis=1)
    rows = np.full((N + 1,), -1)
    rows[1:-1] = np.arange(N - 1)
    fixed, place = np.zeros(N + 1, dtype=bool), np.empty(N + 1)
    fixed[node[[0, -1]]] = True
    place[node] = np.arange(N + 1.0)
    family = Family(
        interval,
        np.float64(1 / N),
        np.arange(N) / N,
        pairs,
        np.stack([rows[:-1], rows[1:]], axis=1),
    )
    return Equations((family,), fixed, place, np.arange(1.0, N)), node


def exact(x, upper=False):
    bracket = (3.0, 20.0) if upper else (1.0, 3.0)
    theta: Any = brentq(lambda s: s - np.sqrt(2) * np.cosh(s / 4), *bracket, xtol=1e-14)
    return -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))


def correction(equations, u, unit=1.0, row=1.0):
    """The step of Newton's method, unknowns and rows measured by `unit` and `row`."""
    n, m = len(u), len(equations.row_place)
    measure = Measure(np.full(n, unit), np.full(m, row), np.ones(n))
    return equations.correction(equations.linearised(u), measure)


def newton(equations, u, iterations=12):
    left = []
    for _ in range(iterations):
        step = correction(equations, u)
        assert step.x is not None
        left.append(np.abs(equations.residual(u)).max())
        u = u + equations.spread(step.without(0))
    return u, left


@pytest.mark.parametrize("upper", [False, True])
def test_both_solutions_of_bratu_s_problem_are_found_with_order_two(upper):
    errors = []
    for N in (32, 64, 128):
        equations, _ = bratu(N)
        x = np.linspace(0, 1, N + 1)
        u, left = newton(equations, (4.0 if upper else 0.0) * 4 * x * (1 - x))
        assert left[-1] < 1e-15 * N * (1 + np.abs(u).max())
        assert correction(equations, u).solved
        errors.append(np.abs(u - exact(x, upper)).max())
    assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.1)


def test_the_step_of_newton_s_method_does_not_depend_on_sizes():
    equations, _ = bratu(16)
    u = np.linspace(0, 1, 17)
    steps = [correction(equations, u, *sizes) for sizes in ((1.0, 1.0), (2.0**-60, 2.0**40))]
    assert_allclose(steps[1].without(0), steps[0].without(0), rtol=1e-12)
    assert_allclose(steps[1].sway, 2.0**60 * steps[0].sway, rtol=1e-12)
    assert not any(step.solved for step in steps)


def test_newton_s_method_is_quadratic():
    _, left = newton(bratu(40)[0], np.zeros(41), 4)
    assert left[2] < 10 * left[1] ** 2
    assert left[3] < 10 * left[2] ** 2 + 1e-15


def test_derivatives_are_differences_of_residuals():
    equations, _ = bratu(9)
    u = np.random.default_rng(0).normal(size=10)
    residual, entries = equations.linearised(u)
    assert_allclose(residual, equations.residual(u), rtol=1e-14)
    J = np.zeros((8, 10))
    np.add.at(J, equations.sparsity.jacobian, entries)
    assert_allclose(J, central_difference(equations.residual, u), atol=1e-7)


def test_the_numbering_of_unknowns_does_not_matter():
    """Ordered by their places the matrix is banded, whatever their numbers are."""
    shuffle = np.random.default_rng(1).permutation(31)
    (plain, _), (mixed, node) = bratu(30), bratu(30, shuffle)
    assert (mixed.sparsity.square.below, mixed.sparsity.square.above) == (1, 1)
    u, other = newton(plain, np.zeros(31))[0], newton(mixed, np.zeros(31))[0]
    assert_allclose(other[node], u, atol=1e-13)


def test_elements_that_see_fixed_unknowns_only_add_a_constant():
    """A load on the middle from a node that is given: as much as a number in the equations."""
    equations, _ = bratu(10)

    def load(args, data, u):
        return jnp.zeros(()), data * u

    family = Family(load, (), np.array([2.0]), np.array([[0]]), np.array([[4]]))
    loaded = replace(equations, families=(*equations.families, family))
    assert loaded.sparsity.constant == (False, True)
    u = np.full(11, 0.5)
    assert_allclose(loaded.residual(u) - equations.residual(u), np.eye(9)[4], atol=1e-14)
    residual, _ = loaded.linearised(u)
    assert_allclose(residual, loaded.residual(u), atol=1e-14)
    doubled = loaded.with_data([equations.families[0].data, np.array([4.0])])
    assert_allclose(doubled.residual(u) - loaded.residual(u), np.eye(9)[4], atol=1e-14)
    assert doubled.sparsity is loaded.sparsity


def test_as_many_equations_as_unknowns():
    equations, _ = bratu(10)
    with pytest.raises(ValueError, match="9 equations and 10 unknowns"):
        replace(equations, fixed=np.arange(11) == 0)


# ---------------------------------------------------------------- banded matrices


def random_band(n, below, above, rng):
    i, j = np.indices((n, n))
    wanted = (i - j <= below) & (j - i <= above)
    A = rng.normal(size=(n, n)) * wanted
    return A, (i[wanted], j[wanted]), A[wanted]


@pytest.mark.parametrize(("below", "above"), [(0, 0), (0, 2), (3, 0), (2, 5)])
def test_a_banded_matrix_solves_as_a_dense_one_does(below, above):
    rng = np.random.default_rng(2)
    A, (i, j), entries = random_band(12, below, above, rng)
    band = Banded(i, j, np.arange(12.0), np.arange(12.0))
    assert (band.below, band.above) == (below, above)
    right = rng.normal(size=(12, 3))
    factors = band.factor(entries)
    assert factors is not None
    assert_allclose(factors.solve(right), np.linalg.solve(A, right), rtol=1e-7)
    assert_allclose(factors.solve(right[:, 0]), np.linalg.solve(A, right[:, 0]), rtol=1e-7)
    assert factors.positive == (np.linalg.det(A) > 0)
    # Entries in one place are added up.
    again = Banded(np.append(i, i), np.append(j, j), np.arange(12.0), np.arange(12.0)).factor(
        np.append(0.25 * entries, 0.75 * entries)
    )
    assert again is not None
    assert_allclose(again.solve(right), factors.solve(right), rtol=1e-9)


def test_rows_and_columns_have_orders_of_their_own():
    rng = np.random.default_rng(3)
    _, (i, j), entries = random_band(10, 1, 2, rng)
    p, s = rng.permutation(10), rng.permutation(10)
    mixed = Banded(p[i], s[j], np.argsort(p).astype(float), np.argsort(s).astype(float))
    B = np.zeros((10, 10))
    B[p[i], s[j]] = entries
    assert (mixed.below, mixed.above) == (1, 2)
    factors, right = mixed.factor(entries), rng.normal(size=10)
    assert factors is not None
    assert_allclose(factors.solve(right), np.linalg.solve(B, right), rtol=1e-7)


def string(N, anchor):
    """A string of N springs held by `anchor` at each node: nearly free where that is small."""
    k = np.arange(N)
    i = np.concatenate([k, k, k + 1, k + 1, np.arange(N + 1)])
    j = np.concatenate([k, k + 1, k, k + 1, np.arange(N + 1)])
    ones = np.ones(N)
    entries = np.concatenate([ones, -ones, -ones, ones, np.full(N + 1, anchor)])
    return Banded(i, j, np.arange(N + 1.0), np.arange(N + 1.0)), entries


def test_the_weak_direction_is_told():
    """Free ends: the string as a whole is held by next to nothing, and rounding moves it far."""
    band, entries = string(20, 1e-12)
    push = np.linspace(-1, 1, 21)
    noise, ones = np.full(21, 2 * EPS), np.ones(21)
    step = band.correction(entries, push, noise, ones)
    assert step.x is not None
    assert step.weak is not None
    assert not step.solved
    assert step.sway > 1e-5
    assert step.directions == 3
    assert_allclose(np.abs(step.weak[:, 0]), 1 / np.sqrt(21), rtol=1e-6)
    assert_allclose(step.weak.T @ step.weak, np.eye(3), atol=1e-12)
    assert_allclose(np.mean(step.without(1)), 0, atol=1e-6)
    held, entries = string(20, 1.0)
    step = held.correction(entries, 1e-16 * push, noise, ones)
    assert step.sway < 1e-14
    assert step.solved


def test_a_singular_matrix_has_no_correction():
    band, entries = string(4, 0.0)
    rest = (np.zeros(5), np.full(5, EPS), np.ones(5))
    step = band.correction(entries, *rest)
    assert step.x is None
    assert step.solved
    assert step.sway == np.inf
    assert step.directions == 0
    with pytest.raises(ValueError, match="singular"):
        step.without(0)
    assert band.correction(np.full(len(entries), np.nan), *rest).x is None


def test_both_engines_give_the_same_for_any_number_of_elements(monkeypatch):
    """XLA takes them in batches, the last filled up; native code one after the other."""
    for N in (1, 5, 64, 65, 300):
        equations, _ = bratu(N)
        u = np.random.default_rng(N).normal(size=N + 1)
        native = equations.families[0].slopes(u)
        with monkeypatch.context() as patch:
            patch.setattr(auto, "AVAILABLE", False)
            by_xla = equations.families[0].slopes(u)
        for a, b in zip(native, by_xla, strict=True):
            assert a.shape[0] == b.shape[0] == N
            assert_allclose(a, b, rtol=1e-12)
