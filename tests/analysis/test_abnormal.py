"""Abnormal extremals: Martinet's structure, Heisenberg's group, motions on groups, control."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import heisenberg

A = ac.analysis


def martinet(metric):
    """dz = (y^2/2) dx, with the metric dx^2 (1 + metric y)^2 + dy^2."""

    def L(t, q, v, params):
        return 0.5 * ((1 + metric * q[1]) ** 2 * v[0] ** 2 + v[1] ** 2)

    def Phi(t, q, v, params):
        return (v[2] - 0.5 * q[1] ** 2 * v[0])[None]

    return ac.System(L, ac.Euclidean(3), vakonomic=Phi, coordinates=("x", "y", "z"))


def line(t):
    return jnp.stack([t, 0.0 * t, 0.3 + 0.0 * t])


def bent(t):
    """On the same constraint, off the plane y = 0."""
    return jnp.stack([t, 1 + 0.0 * t, t / 2])


@pytest.mark.parametrize("metric", [0.0, 0.4])
def test_the_line_of_martinet(metric):
    """p = dz on y = 0 is abnormal for every metric, and strictly where d(length)/dy is not zero:
    the line is then a minimum (Montgomery 1994) and no motion of L + lam.Phi.
    """
    system = martinet(metric)
    found = A.abnormal(system, line, 0.0, 1.0)
    assert found.corank == 1
    assert found.strictly == (metric != 0)
    np.testing.assert_allclose(np.abs(found.costates[0]), np.tile([0, 0, 1.0], (384, 1)), atol=1e-9)
    np.testing.assert_allclose(np.abs(found.multipliers), 1, atol=1e-9)
    # What is missing to a normal one: d/dt dL/dy' - dL/dy = -metric of lengths of one, while
    # costates that answer it would have to grow linearly. Least squares, by hand: see below.
    if metric:
        assert found.normal == pytest.approx(best_normal(metric), rel=1e-9)
        assert "strictly" in str(found)
    other = A.abnormal(system, bent, 0.0, 1.0)
    assert other.corank == 0
    assert not other.strictly
    assert other.singular_values[-1] > 1e-3


def best_normal(metric):
    """Along the line B^T p - dL/dw = (p_x - 1, p_y) with p_x = c, p_y = a + metric t: of that the
    least norm on [0, 1], over that of dL/dw = (1, 0).
    """
    return metric / np.sqrt(12)


def test_the_line_is_shorter_than_its_neighbours():
    """Strictly abnormal and a minimum: among curves y = e w(t), x to the same ends, z closed."""
    metric = 0.4
    found = []
    for e in (-0.1, -0.05, 0.05, 0.1):
        # w = sin(k pi t), x' = 1 + c with z' = y^2/2 x' of mean zero: x must go back where y is
        # large, as y^2/2 is positive.
        t = (np.arange(4000) + 0.5) / 4000
        y = e * np.sin(2 * np.pi * t)
        weight = y**2 / 2
        # the least-norm x' of mean one with sum(weight x') = 0
        G = np.stack([np.ones_like(t), weight])
        rate = 1 + G.T @ np.linalg.lstsq(G @ G.T / 4000, np.array([0, -np.mean(weight)]))[0]
        dy = 2 * np.pi * e * np.cos(2 * np.pi * t)
        np.testing.assert_allclose([np.mean(rate), np.mean(weight * rate)], [1, 0], atol=1e-12)
        found.append(np.mean(np.sqrt((1 + metric * y) ** 2 * rate**2 + dy**2)))
    assert min(found) > 1.0


def test_heisenberg_has_none_but_points():
    def circle(t):
        return jnp.stack([jnp.cos(t), jnp.sin(t), t / 2])

    def point(t):
        return jnp.zeros(3) + 0.0 * t

    assert A.abnormal(heisenberg.shortest, circle, 0.0, 2.0).corank == 0
    run = heisenberg.marched(ac.Midpoint(), 0.05, 2.0)
    found = A.abnormal(heisenberg.shortest, run, tolerance=1e-4)
    assert found.corank == 0
    assert found.normal < 1e-3  # to the error of the run
    assert A.abnormal(heisenberg.shortest, point, 0.0, 1.0).corank == 1
    with pytest.raises(ValueError, match="off the vakonomic constraint"):
        A.abnormal(heisenberg.shortest, lambda t: jnp.stack([t, t, t]), 0.0, 1.0)


def test_on_a_group():
    """On SO(3) with omega_3 = 0 every rotation is reached: [e_1, e_2] = e_3. A turn about e_1 alone
    is not abnormal; with omega_2 = omega_3 = 0 it is all that there is, of corank 2.
    """

    def turn(t):
        c, s, one, zero = jnp.cos(t), jnp.sin(t), jnp.ones_like(t), jnp.zeros_like(t)
        return jnp.array([[one, zero, zero], [zero, c, -s], [zero, s, c]])

    def held(count):
        return ac.System(
            lambda t, R, w, params: 0.5 * w @ w,
            ac.SO3(),
            vakonomic=lambda t, R, w, params: w[3 - count :],
        )

    assert A.abnormal(held(1), turn, 0.0, 1.0).corank == 0
    found = A.abnormal(held(2), turn, 0.0, 1.0)
    assert found.corank == 2
    assert not found.strictly
    # p' = ad*_w p with w = e_1: it turns about e_1, at the rate of one
    p = found.costates[0]
    angle = np.unwrap(np.arctan2(p[:, 2], p[:, 1]))
    np.testing.assert_allclose(np.diff(angle), -np.diff(found.t), atol=1e-9)


def test_of_order_two():
    """q'' = 0 of one of two coordinates: its ends are tied, twice."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * a @ a,
        ac.Euclidean(2),
        vakonomic=lambda t, q, v, a, params: a[1:],
    )
    found = A.abnormal(system, lambda t: jnp.stack([jnp.sin(t), 2 * t]), 0.0, 1.0)
    assert found.corank == 2
    assert found.normal > 0.01  # and sin t is no cubic
    cubic = A.abnormal(system, lambda t: jnp.stack([t**3, 2 * t]), 0.0, 1.0)
    assert cubic.normal < 1e-9
    free = ac.System(lambda t, q, v, params: v @ v, ac.Euclidean(2))
    with pytest.raises(ValueError, match="vakonomic"):
        A.abnormal(free, lambda t: jnp.ones(2) * t, 0.0, 1.0)


def test_of_a_control_problem():
    """z'' = y^2, with forces on x and y: along y = 0 no force moves z to first order. So costates
    of z and z' are abnormal where both are given at the end.
    """
    system = ac.System(lambda t, q, v, params: 0.5 * v @ v + q[2] * q[1] ** 2, ac.Euclidean(3))

    def problem(*end, **more):
        return ac.ControlProblem(
            system,
            lambda t, q, v, u, params: 0.5 * u @ u,
            actuated=[0, 1],
            start=([0, 0, 0], [0, 0, 0]),
            end=end,
            duration=1.0,
            **more,
        )

    tied = problem([1, 0, 0], [0, 0, 0])
    found = A.abnormal(tied, ac.optimize(tied, ac.Galerkin(2), 8), tolerance=1e-6)
    assert found.corank == 2
    assert not found.strictly
    others = [0, 1, 3, 4]  # x, y and their rates
    np.testing.assert_allclose(found.costates[:, :, others], 0, atol=1e-9)
    p0, p1 = found.costates[:, :, 2], found.costates[:, :, 5]  # p0' = 0, p1' = -p0
    np.testing.assert_allclose(p0, p0[:, :1] + 0 * p0, atol=1e-9)
    np.testing.assert_allclose(p1 - p1[:, :1], -p0 * (found.t - found.t[0]), atol=1e-9)
    half = problem([1, 0, None], [0, 0, 0])
    assert A.abnormal(half, ac.optimize(half, ac.Galerkin(2), 8), tolerance=1e-6).corank == 1
    loose = problem([1, 0, None], [0, 0, None])
    solution = ac.optimize(loose, ac.Galerkin(2), 8)
    assert A.abnormal(loose, solution, tolerance=1e-6).corank == 0
    with pytest.raises(ValueError, match="Solution of the problem"):
        A.abnormal(tied, solution)
    bounded = problem([1, 0, None], [0, 0, None], control_bounds=(-20, 20))
    with pytest.raises(ValueError, match="bounds"):
        A.abnormal(bounded, ac.optimize(bounded, ac.Midpoint(), 8))
