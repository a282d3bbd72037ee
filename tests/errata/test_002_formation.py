"""Colombo-Gamonal, section 6: formations of agents."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.formation import Formation, Graph, attraction, shapes
from accion.gallery import pyramid

KAPPA, R, C = 13.0, 1.0, 1.0
K33 = Graph(6, [(i, j) for i in range(3) for j in range(3, 6)])


def rates(formation, q, v):
    """|f(q, p)|^2 of (38), from the system that is simulated."""
    a = ac.accelerations(formation.system())(0.0, jnp.asarray(q), jnp.asarray(v))
    return float(v @ v + a @ a)


def test_002_sec_6_3_the_start_is_in_one_plane():
    """The four points of the document have differences of rank 2, and from rest the motion stays in
    their plane: no pyramid.
    """
    points = pyramid.FLAT.reshape(4, 3)
    spread = points - points[0]
    assert np.linalg.matrix_rank(spread) == 2
    normal = np.linalg.svd(spread)[2][2]
    q = np.asarray(pyramid.run(flat=True).q).reshape(-1, 4, 3)
    assert np.max(np.abs((q - points[0]) @ normal)) < 1e-13
    assert pyramid.formation.classify(pyramid.long_run(True).q[-1]) == "not formed"


def test_002_sec_6_4_the_sum_over_neighbours_is_inside_the_norm():
    rng = np.random.default_rng(1)
    formation = Formation(K33, 1.0, 2, KAPPA)
    q, v = rng.normal(size=(2, 12))
    x, p = q.reshape(6, 2), v.reshape(6, 2)

    def pull(i, j):
        return (np.sum((x[i] - x[j]) ** 2) - 1.0) * (x[i] - x[j])

    inside = v @ v + sum(
        np.sum((KAPPA * p[i] + sum(pull(i, j) for j in K33.neighbours(i))) ** 2) for i in range(6)
    )
    outside = v @ v + sum(
        np.sum((KAPPA * p[i] + pull(i, j)) ** 2) for i in range(6) for j in K33.neighbours(i)
    )
    assert rates(formation, q, v) == pytest.approx(inside, rel=1e-12)
    assert abs(outside - inside) > 0.1 * inside


def printed_bound(edges, agents):
    """M^2 of the last line of the estimate, for |q_ij| > d_ij."""
    return (1 + 2 * agents * KAPPA**2) * C**2 + 64 * edges * R**6


def worst_case():
    """K_{3,3} with three agents at each of two points 2R apart, moving along the pull of the
    edges.
    """
    formation = Formation(K33, 1e-9, 2, KAPPA)
    q = np.array([[0.0, 0.0]] * 3 + [[2 * R, 0.0]] * 3).ravel()
    along = np.array([[-1.0, 0.0]] * 3 + [[1.0, 0.0]] * 3).ravel()
    return formation, q, C * along / np.linalg.norm(along)


def test_002_sec_6_4_the_last_bound_is_exceeded():
    formation, q, v = worst_case()
    assert rates(formation, q, v) == pytest.approx(5154.5, abs=0.1)
    assert printed_bound(9, 6) == 2605
    assert rates(formation, q, v) > printed_bound(9, 6)
    assert rates(formation, q, v) <= formation.largest_speed(R, C) ** 2 * (1 + 1e-12)


def test_002_sec_6_4_alpha_of_the_printed_formula():
    """alpha = R/(c M): 0.0196 by the printed M, not 0.014; the bound that holds gives 0.0139 for d
    -> 0.
    """
    assert R / (C * np.sqrt(printed_bound(9, 6))) == pytest.approx(0.0196, abs=5e-5)
    assert Formation(K33, 1e-9, 2, KAPPA).alpha(R, C) == pytest.approx(0.0139, abs=5e-5)


def test_002_sec_6_4_two_hundred_steps_are_not_5_s():
    """200 steps of 0.014 s end at 2.8 s, before runs that close by 5 s have closed."""
    formation = Formation.from_shape(*shapes.hexagon(5.0), KAPPA)
    h = 0.014
    found = attraction(
        formation,
        0,
        (np.linspace(2.6, 14.0, 8), np.linspace(-9.0, 9.0, 8)),
        h=h,
        steps=round(5 / h),
    )
    time = found["time"].values
    assert 200 * h == pytest.approx(2.8)
    assert np.any(time > 200 * h)
    assert np.nanmax(time) < 5.0
