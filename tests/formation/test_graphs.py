"""Formations (Colombo-Gamonal, section 6): graphs, rigidity, the system and its scheme, energies,
momenta, the bound of a step.
"""

from itertools import combinations

import numpy as np
import pytest

import accion as ac
from accion.formation import Graph, shapes
from accion.formation.laman import spanned
from tests.formation.formations_cases import K33


def double_banana():
    """Two bipyramids that share their tips 3 and 4: 18 = 3n - 6 edges, and a hinge."""
    one = [(0, 1), (1, 2), (2, 0), *[(i, tip) for i in range(3) for tip in (3, 4)]]
    return Graph(8, one + [tuple(i + 5 if i < 3 else i for i in edge) for edge in one])


def test_incidence_and_neighbours():
    g = Graph(4, [(0, 1), (2, 1), (3, 0)])
    assert g.incidence().tolist() == [[1, 0, -1], [-1, -1, 0], [0, 1, 0], [0, 0, 1]]
    assert g.neighbours(1).tolist() == [0, 2]
    assert g.degrees.tolist() == [2, 2, 1, 1]
    assert g.connected
    assert not Graph(4, [(0, 1), (2, 3)]).connected
    assert g == Graph(4, [(0, 1), (2, 1), (3, 0)])
    assert hash(g) == hash(Graph(4, [(0, 1), (2, 1), (3, 0)]))
    assert g != Graph(4, [(0, 1), (1, 2), (3, 0)])


@pytest.mark.parametrize(
    ("n", "edges", "words"),
    [
        (3, [(0, 1), (1, 1)], "edge 1 joins agent 1 with itself"),
        (3, [(0, 1), (1, 2), (1, 0)], "between agents 0 and 1 is there twice"),
        (3, [(0, 3)], "numbered from 0 to 2"),
        (3, [(-1, 0)], "numbered from 0 to 2"),
        (3, [0, 1], "pairs"),
        (3, [(0.0, 1.0)], "pairs"),
        (3, [], "pairs"),
        (1, [(0, 1)], "n >= 2"),
    ],
)
def test_bad_graphs_are_named(n, edges, words):
    with pytest.raises(ValueError, match=words):
        Graph(n, edges)


def test_rigidity_matrix_is_half_the_derivative_of_the_squared_distances(rng):
    g, q = Graph(5, [(0, 1), (2, 1), (3, 4), (0, 4), (2, 3)]), rng.normal(size=(5, 3))

    def squared(x):
        return np.sum((x.reshape(5, 3)[g.tails] - x.reshape(5, 3)[g.heads]) ** 2, axis=1)

    e = 1e-6
    numeric = np.stack(
        [(squared(q.ravel() + e * d) - squared(q.ravel() - e * d)) / (4 * e) for d in np.eye(15)],
        axis=1,
    )
    np.testing.assert_allclose(ac.formation.rigidity_matrix(g, q), numeric, atol=1e-9)


def test_ranks_that_are_known(rng):
    rank, rigid, minimal = (
        ac.formation.rank,
        ac.formation.infinitesimally_rigid,
        ac.formation.minimally_rigid,
    )
    K4 = ac.formation.complete(4)
    q = rng.normal(size=(4, 3))
    assert rank(K4, q) == 6
    assert minimal(K4, q)
    assert rank(K4, q[:, :2]) == 5
    assert rigid(K4, q[:, :2])
    assert not minimal(K4, q[:, :2])
    # flat in space: it can bend out of the plane, to first order
    assert not rigid(K4, q * [1, 1, 0])
    generic = rng.normal(size=(6, 2))
    assert rank(K33, generic) == 9
    assert minimal(K33, generic)
    angle = rng.uniform(0, 2 * np.pi, 6)
    # on a conic (Bolker and Roth 1980)
    assert rank(K33, np.stack([3 * np.cos(angle), np.sin(angle)], axis=1)) == 8
    banana, points = double_banana(), rng.normal(size=(8, 3))
    assert banana.m == 3 * 8 - 6
    assert rank(banana, points) == 17
    assert not rigid(banana, points)
    assert rank(ac.formation.complete(8), points) == 18


@pytest.mark.parametrize("dimension", [2, 3])
def test_redundant_and_missing_edges(rng, dimension):
    """Against what the rank does when each edge is taken away or added."""
    n = 6
    pairs = list(combinations(range(n), 2))
    q = rng.normal(size=(n, dimension))
    for count in (7, 9, 11, 13):
        edges = [pairs[i] for i in sorted(rng.permutation(len(pairs))[:count])]
        g = Graph(n, edges)
        whole = ac.formation.rank(g, q)
        less = [
            w
            for w in range(count)
            if ac.formation.rank(Graph(n, edges[:w] + edges[w + 1 :]), q) == whole
        ]
        more = [
            pair
            for pair in pairs
            if pair not in edges and ac.formation.rank(Graph(n, [*edges, pair]), q) > whole
        ]
        assert ac.formation.redundant(g, q) == less
        assert ac.formation.missing(g, q) == more
    banana = double_banana()
    points = rng.normal(size=(8, 3))
    # each banana has one edge too many for its hidden hinge
    assert ac.formation.redundant(banana, points) == list(range(18))
    assert ac.formation.missing(banana, points) == [(i, j) for i in range(3) for j in range(5, 8)]


def test_laman_count_against_all_subsets(rng):
    n = 6
    pairs = list(combinations(range(n), 2))
    held = 0
    for _ in range(60):
        g = Graph(n, [pairs[i] for i in rng.permutation(len(pairs))[:9]])
        over = [
            s
            for k in range(2, n + 1)
            for s in combinations(range(n), k)
            if spanned(g, s) > 2 * k - 3
        ]
        found = ac.formation.laman(g)
        assert bool(found) == (not over)
        assert (found.overcounted in over) == bool(over)
        assert len(found.independent) == ac.formation.rank(g, rng.normal(size=(n, 2)))
        held += bool(found)
    assert 5 < held < 55
    assert ac.formation.laman(K33)
    K4 = ac.formation.laman(Graph(5, [*combinations(range(4), 2), (3, 4)]))
    assert not K4
    assert K4.overcounted == (0, 1, 2, 3)
    assert "agents 0, 1, 2, 3 have more than 2*4 - 3 = 5 edges" in str(K4)
    assert "1 of 7 independent edges are missing" in str(K4)


def test_congruence(rng):
    q = rng.normal(size=(7, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    moved = q @ turn.T + [1.0, -2.0, 3.0]
    assert ac.formation.congruent(q, moved).kind == "same"
    mirrored = ac.formation.congruent(q, moved * [1, 1, -1])
    assert mirrored.kind == "mirrored"
    assert mirrored.distance < 1e-12
    assert not ac.formation.congruent(q, moved + 0.01 * rng.normal(size=(7, 3)))
    assert ac.formation.congruent(q, 1.001 * q).kind == "different"
    flat = q * [1, 1, 0]
    # turned about an axis in its plane
    assert ac.formation.congruent(flat, flat * [-1, 1, 1]).kind == "same"
    assert ac.formation.congruent(flat[:, :2], flat[:, :2] * [-1, 1]).kind == "mirrored"
    with pytest.raises(ValueError, match="same shape"):
        ac.formation.congruent(q, q[:5])


@pytest.mark.parametrize(
    ("shape", "edges"),
    [
        (shapes.polygon(7), 11),
        (shapes.square(), 5),
        (shapes.hexagon(), 9),
        (shapes.pyramid(), 6),
        (shapes.cube(), 18),
    ],
)
def test_ready_shapes_are_minimally_rigid(shape, edges):
    graph = Graph(len(shape[1]), shape[0])
    assert graph.m == edges
    assert ac.formation.minimally_rigid(graph, shape[1])


def test_distances_of_ready_shapes():
    def lengths(shape):
        return np.linalg.norm(
            ac.formation.relative_positions(Graph(len(shape[1]), shape[0]), shape[1]), axis=1
        )

    np.testing.assert_allclose(lengths(shapes.pyramid(2.0)), 2.0, rtol=1e-15)
    np.testing.assert_allclose(lengths(shapes.square(3.0)), [3, 3, 3, 3, 3 * 2**0.5], rtol=1e-15)
    np.testing.assert_allclose(np.sort(lengths(shapes.cube())), [1] * 12 + [2**0.5] * 6, rtol=1e-15)
    np.testing.assert_allclose(lengths(shapes.hexagon())[:6], 1.0, rtol=1e-15)


@pytest.mark.parametrize("dimension", [2, 3])
def test_henneberg_graphs_are_minimally_rigid(dimension):
    edges, q = shapes.henneberg(40, dimension, seed=1)
    assert ac.formation.minimally_rigid(Graph(40, edges), q)
    assert dimension == 3 or ac.formation.laman(Graph(40, edges))
    assert shapes.henneberg(40, dimension, seed=1)[0] == edges
    assert shapes.henneberg(40, dimension, seed=2)[0] != edges
