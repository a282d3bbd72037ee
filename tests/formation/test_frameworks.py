"""Frameworks that are rigid, and that move, where the first order does not tell: linkages with
closed forms, and theorems of others.
"""

import numpy as np
import pytest

from accion.formation import Graph, complete, framework, infinitesimally_rigid, rigidity_matrix

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
THREE_AND_THREE = [(i, j) for i in range(3) for j in range(3, 6)]
PRISM = [*TRIANGLE, (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
OCTAHEDRON = [(j, i) for i in range(6) for j in range(i) if i // 2 != j // 2]
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.8]])


def on_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def above(points, heights):
    """Points, and points at these heights above them."""
    return np.concatenate([points, points + np.stack([np.zeros(3), heights], axis=1)])


RIGID = {
    "flat triangle": (TRIANGLE, [[0, 0], [1, 0], [2, 0]]),
    "flat triangle in space": (TRIANGLE, [[0, 0, 0], [1, 0, 0], [2, 0, 0]]),
    # three bars are as long together as the fourth
    "stretched chain": (SQUARE, [[0, 0], [1, 0], [2, 0], [3, 0]]),
    "flat pyramid": (complete(4).edges, np.c_[[*CORNERS, [0.4, 0.3]], np.zeros(4)]),
    "all on a line": (complete(5).edges, np.c_[[0.0, 1.0, 2.5, 4.0, 7.0], np.zeros((5, 2))]),
    # Bolker and Roth 1980: K_{3,3} has a stress on each conic
    "on a circle": (THREE_AND_THREE, on_circle(np.array([0.1, 2.0, 4.3, 1.0, 3.1, 5.5]))),
    # the three bars meet in a point, or are parallel, and are of different lengths
    "prism to a point": (PRISM, np.concatenate([CORNERS - 0.4, 2 * (CORNERS - 0.4)])),
    "prism of parallels": (PRISM, above(CORNERS, np.array([2.0, 2.6, 3.5]))),
}


@pytest.mark.parametrize(("edges", "q"), RIGID.values(), ids=RIGID)
def test_rigid_beyond_the_first_order(edges, q):
    """The stress keeps all agents in balance and gives all flexes a positive second derivative: the
    energy sum of w_ij |q_i - q_j|^2/2 of bars under that tension grows.
    """
    q = np.array(q, dtype=float)
    graph = Graph(len(q), edges)
    assert not infinitesimally_rigid(graph, q)
    found = framework(graph, q)
    assert (found.rigid, found.why) == (True, "prestress")
    assert found.stress is not None
    size = np.max(np.abs(found.stress))
    np.testing.assert_allclose(found.stress @ rigidity_matrix(graph, q), 0, atol=1e-9 * size)
    assert found.flex is not None
    apart = found.flex[graph.tails] - found.flex[graph.heads]
    assert found.stress @ np.sum(apart**2, axis=1) > 0
    # in other places and other units
    far = framework(graph, 1e3 * q + 1e4)
    assert (far.rigid, far.why) == (True, "prestress")


def dixon(x2, y2):
    """K_{3,3} with three agents on each axis: x_i^2 + y_j^2 stays where x_i^2 grows as y_j^2
    falls (Dixon 1899).
    """
    return np.concatenate([np.c_[np.sqrt(x2), np.zeros(3)], np.c_[np.zeros(3), np.sqrt(y2)]])


X2, Y2 = np.array([1.0, 4.0, 2.2]), np.array([1.0, 3.0, 7.0])
HALF = np.random.default_rng(5).normal(size=(3, 3))
MOVES = {
    "four bars": (SQUARE, [[0, 0], [1, 0], [1, 1], [0, 1]], "regular point"),
    "flat rhombus": (SQUARE, [[0, 0], [1, 0], [2, 0], [1, 0]], "motion"),
    "flat parallelogram": (SQUARE, [[0, 0], [1, 0], [3, 0], [2, 0]], "motion"),
    "Dixon's": (THREE_AND_THREE, dixon(X2, Y2), "motion"),
    "prism of equal parallels": (PRISM, above(CORNERS, np.full(3, 2.0)), "motion"),
    # three pairs, each with a line of symmetry in common (Bricard 1897)
    "Bricard's octahedron": (
        OCTAHEDRON,
        np.stack([HALF, HALF * [-1, -1, 1]], axis=1).reshape(6, 3),
        "motion",
    ),
}


@pytest.mark.parametrize(("edges", "q", "why"), MOVES.values(), ids=MOVES)
def test_linkages_that_move(edges, q, why):
    q = np.array(q, dtype=float)
    found = framework(Graph(len(q), edges), q)
    assert (found.rigid, found.why) == (False, why)
    far = framework(Graph(len(q), edges), 1e-3 * q - 5.0)
    assert (far.rigid, far.why) == (False, why)


def test_the_flex_of_dixons_linkage():
    """By its closed form, x_i' = a/x_i, y_j' = -a/y_j, but for motions of the whole: the rates of
    all distances. With one agent off its axis it is rigid.
    """
    q = dixon(X2, Y2)
    found = framework(Graph(6, THREE_AND_THREE), q)
    assert found.flex is not None
    exact = np.concatenate([np.c_[1 / q[:3, 0], np.zeros(3)], np.c_[np.zeros(3), -1 / q[3:, 1]]])
    every = rigidity_matrix(complete(6), q)
    rates, own = every @ found.flex.ravel(), every @ exact.ravel()
    at = np.argmax(np.abs(own))
    np.testing.assert_allclose(rates / rates[at], own / own[at], atol=1e-9)
    away = dixon(X2, Y2)
    away[0, 1] = 0.1
    assert framework(Graph(6, THREE_AND_THREE), away).rigid


def test_what_the_second_order_does_not_tell():
    """A point of a linkage of four bars on a bar from the centre of curvature of its path: path and
    circle part at third order. From another point of the normal they part at second order, and from
    a point beside it at first.
    """
    q = np.array([[0.0, 0.0], [3.0, 0.0], [0.6, 0.9], [2.4, 1.7], [1.2, 2.2]])
    edges = [(0, 1), (0, 2), (2, 3), (3, 1), (2, 4), (3, 4)]
    graph = Graph(5, edges)
    held = np.concatenate([rigidity_matrix(graph, q), np.eye(10)[:4]])
    p = np.linalg.svd(held)[2][-1].reshape(5, 2)
    bent = np.sum((p[graph.tails] - p[graph.heads]) ** 2, axis=1)
    a = np.linalg.lstsq(held, np.append(-bent, np.zeros(4)), rcond=None)[0].reshape(5, 2)
    normal = np.array([-p[4, 1], p[4, 0]])
    to_centre = normal * (p[4] @ p[4]) / (a[4] @ normal)
    more = Graph(6, [*edges, (5, 0), (5, 1), (5, 4)])

    def found(centre):
        return framework(more, np.concatenate([q, [centre]]))

    assert found(q[4] + to_centre).rigid is None
    assert "cannot decide" in str(found(q[4] + to_centre))
    assert found(q[4] + 0.5 * to_centre).why == "prestress"
    assert found(q[4] + to_centre + 0.3).why == "first order"


def test_words_and_bad_input():
    found = framework(Graph(3, TRIANGLE), CORNERS)
    assert (found.rigid, found.why, found.flexes) == (True, "first order", 0)
    assert "flexes 0" in found.text()
    assert framework(Graph(3, TRIANGLE), np.zeros((3, 2))).rigid is None
    with pytest.raises(ValueError, match=r"positions must have shape \(3, d\)"):
        framework(Graph(3, TRIANGLE), np.zeros((4, 2)))
