"""Formations (002 section 6): graphs, rigidity, the system and its scheme, energies, momenta, the
bound of a step.
"""

import json
from itertools import combinations
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import accion as ac
from accion.cli import app
from accion.formation import Formation, Graph, shapes
from accion.formation.laman import spanned

REFERENCE = json.loads(
    (Path(ac.__file__).parent / "gallery/data/002_sec6.3_pyramid_formation.json").read_text()
)
STATED, PUSHED, OTHER = list(REFERENCE["cases"])[:3]
EDGES = [tuple(edge) for edge in REFERENCE["parameters"]["edges"]]
H, KAPPA = 0.005, 13.0
K33 = Graph(6, [(i, j) for i in range(3) for j in range(3, 6)])
PYRAMID = Formation(EDGES, 2.0, 3, KAPPA)


def double_banana():
    """Two bipyramids that share their tips 3 and 4: 18 = 3n - 6 edges, and a hinge."""
    one = [(0, 1), (1, 2), (2, 0), *[(i, tip) for i in range(3) for tip in (3, 4)]]
    return Graph(8, one + [tuple(i + 5 if i < 3 else i for i in edge) for edge in one])


# ---------------------------------------------------------------- graphs


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


# ---------------------------------------------------------------- rigidity


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


# ---------------------------------------------------------------- the system and its scheme


def gradient(edges, d, q):
    """grad V = sum of (|q_i - q_j|^2 - d^2)(q_i - q_j), typed from paper, shape (n, d)."""
    out = np.zeros_like(q)
    for (i, j), length in zip(edges, d, strict=True):
        z = q[i] - q[j]
        out[i] += (z @ z - length**2) * z
        out[j] -= (z @ z - length**2) * z
    return out


def scheme_42(edges, d, kappa, h, q0, q1, steps):
    """002 (41) and (42) with Gamma_ij = |q_i - q_j|^2 - d_ij^2 at the middle node."""
    e = np.exp(kappa * h)
    hat, low, bar = (2 + e + 1 / e) / (1 + e), (1 + 1 / e) / (1 + e), 2 * h**2 / (1 + e)
    q = [q0, q1]
    for _ in range(steps - 1):
        q.append(hat * q[-1] - low * q[-2] - bar * gradient(edges, d, q[-1]))
    return np.array(q)


def test_trapezoid_is_the_scheme_of_the_document():
    """To roundoff, over the whole run; every number of the reference, from both starts."""
    system = PYRAMID.system()
    for name in (STATED, PUSHED, OTHER):
        case = REFERENCE["cases"][name]
        q0 = np.array(case["q0"])
        printed = ac.simulate(system, ac.Trapezoid(), q0=q0, q1=q0, h=H, steps=400)
        ours = np.asarray(printed.q)
        by_hand = scheme_42(EDGES, [2.0] * 6, KAPPA, H, q0.reshape(4, 3), q0.reshape(4, 3), 400)
        np.testing.assert_allclose(ours, by_hand.reshape(-1, 12), atol=2e-13)
        for k, q in case["VI"].items():
            np.testing.assert_allclose(ours[int(k)], q, atol=2e-13)
        matched = np.asarray(
            ac.simulate(system, ac.Trapezoid(), q0=q0, v0=np.zeros(12), h=H, steps=400).q
        )
        for k, q in case["VI_momentum_start"].items():
            np.testing.assert_allclose(matched[int(k)], q, atol=3e-13)
        E = PYRAMID.energies(printed)
        np.testing.assert_allclose(E[0], case["E_agents_VI_k0"], rtol=1e-13)
        np.testing.assert_allclose(E[399], case["E_agents_VI_k399"], rtol=1e-11)
        for t, total in case["E_total_VI_eq43"].items():
            np.testing.assert_allclose(np.sum(E[round(float(t) / H) - 1]), total, rtol=1e-12)


def test_printed_gamma_is_not_the_scheme():
    q0 = np.array(REFERENCE["cases"][PUSHED]["q0"]).reshape(4, 3)
    wrong = scheme_42(EDGES, [2.0**0.5] * 6, KAPPA, H, q0, q0, 3)  # d where d^2 should be
    assert np.max(np.abs(wrong[-1].ravel() - REFERENCE["cases"][PUSHED]["VI"]["3"])) > 1e-4


def test_continuous_motion():
    case = REFERENCE["cases"][PUSHED]
    q, _ = ac.reference(
        PYRAMID.system(), q0=case["q0"], v0=np.zeros(12), ts=[0.0, *map(float, case["exact"])]
    )
    np.testing.assert_allclose(q[1:], list(case["exact"].values()), atol=1e-9)
    np.testing.assert_allclose(
        PYRAMID.errors(np.array(case["VI"]["400"])) + 2.0, case["distances_400"], atol=1e-12
    )


def test_stated_points_stay_in_their_plane():
    """The four points of 002 section 6.3 lie in a plane, and so does all that follows; pushed out
    of it they span a volume.
    """

    def volume(q):
        return np.linalg.det(q[..., 1:, :] - q[..., :1, :]) / 6

    for name, least, most in ((STATED, 0.0, 1e-13), (PUSHED, 0.12, 0.121)):
        case = REFERENCE["cases"][name]
        q = np.asarray(
            ac.simulate(
                PYRAMID.system(), ac.Trapezoid(), q0=case["q0"], q1=case["q0"], h=H, steps=400
            ).q
        ).reshape(-1, 4, 3)
        assert least <= abs(volume(q[-1])) <= most


@pytest.mark.parametrize("count", [20, 60])
def test_potential_and_force_of_small_and_large_graphs(rng, count):
    """Written out edge by edge below 64 edges and gathered above: both against the sum typed from
    paper.
    """
    edges, q = shapes.henneberg(count, 2, seed=4)
    f = Formation.from_shape(edges, q, 2.0)
    assert (f.graph.m > 64) == (count == 60)
    x, v = q + 0.1 * rng.normal(size=q.shape), rng.normal(size=q.size)
    system = f.system()
    force = jax.jit(ac.accelerations(system))(0.7, x.ravel(), v)
    np.testing.assert_allclose(
        force, -2.0 * v - gradient(edges, f.distances, x).ravel(), atol=1e-12
    )
    np.testing.assert_allclose(
        np.sum(f.shares(x.ravel())),
        0.25
        * np.sum((np.sum((x[f.graph.tails] - x[f.graph.heads]) ** 2, 1) - f.distances**2) ** 2),
    )
    assert f.classify(q.ravel()) == "same"


def test_gains_that_differ(rng):
    """The forced form: q_i'' = -k_i q_i' - grad_i V, and dE/dt = -sum k_i |v_i|^2."""
    k = np.array([1.0, 2.0, 3.0, 4.0])
    f = Formation(EDGES, 2.0, 3, k)
    system = f.system()
    assert system.force is not None
    q, v = rng.normal(size=(2, 12))
    a = np.asarray(jax.jit(ac.accelerations(system))(0.3, q, v))
    np.testing.assert_allclose(
        a, -np.repeat(k, 3) * v - gradient(EDGES, [2.0] * 6, q.reshape(4, 3)).ravel(), atol=1e-12
    )

    def E(t, q, v):
        return jnp.sum(v**2) / 2 + f.bonds(t, q, {"d": f.distances})

    rate = jax.jvp(lambda q, v: E(0.0, q, v), (q, v), (v, a))[1]
    np.testing.assert_allclose(rate, -np.sum(np.repeat(k, 3) * v**2), rtol=1e-11)
    traj = ac.simulate(
        system,
        ac.Trapezoid(),
        q0=REFERENCE["cases"][PUSHED]["q0"],
        v0=np.zeros(12),
        h=0.005,
        steps=100,
    )
    exact, _ = ac.reference(
        system, q0=REFERENCE["cases"][PUSHED]["q0"], v0=np.zeros(12), ts=[0.0, 0.5]
    )
    np.testing.assert_allclose(traj.q[-1], exact[-1], atol=5e-3)
    with pytest.raises(ValueError, match="gains differ"):
        f.laws(traj)


def test_own_potential(rng):
    f = Formation(EDGES, 2.0, 3, 1.0, potential=ac.formation.spring)
    q = rng.normal(size=(4, 3))
    pull = np.zeros((4, 3))
    for i, j in EDGES:
        z = q[i] - q[j]
        pull[i] += (1 - 2 / np.linalg.norm(z)) * z
        pull[j] -= (1 - 2 / np.linalg.norm(z)) * z
    np.testing.assert_allclose(
        jax.jit(ac.accelerations(f.system()))(0.0, q.ravel(), np.zeros(12)),
        -pull.ravel(),
        atol=1e-12,
    )
    with pytest.raises(ValueError, match="step_bound"):
        f.alpha()


def test_euler_baseline():
    q0 = np.array(REFERENCE["cases"][PUSHED]["q0"])
    run = ac.formation.euler(PYRAMID, q0=q0, h=H, steps=400)
    q, v = q0.reshape(4, 3), np.zeros((4, 3))
    for _ in range(400):
        q, v = q + H * v, v - H * (KAPPA * v + gradient(EDGES, [2.0] * 6, q))
    np.testing.assert_allclose(run.q[-1], q.ravel(), atol=1e-12)
    np.testing.assert_allclose(run.v[-1], v.ravel(), atol=1e-12)
    for t, E in REFERENCE["cases"][PUSHED]["E_total_Euler"].items():
        k = round(float(t) / H)
        np.testing.assert_allclose(
            np.sum(run.v[k] ** 2) / 2 + np.sum(PYRAMID.shares(run.q[k])), E, rtol=1e-12
        )


def test_momentum_laws():
    """Remark 2: sum v_i and sum q_i x v_i decay like e^{-kappa t}; p and q x p are constant,
    relative to the momenta that cancel in them.
    """
    noether = REFERENCE["noether"]
    q0, v0 = np.array(REFERENCE["cases"][PUSHED]["q0"]), np.array(noether["v0"]).ravel()
    traj = ac.simulate(PYRAMID.system(), ac.Trapezoid(), q0=q0, q1=q0 + H * v0, h=H, steps=200)
    p, q = np.asarray(traj.p).reshape(-1, 4, 3), np.asarray(traj.q).reshape(-1, 4, 3)
    linear, angular = p.sum(axis=1), np.cross(q, p).sum(axis=1)
    np.testing.assert_allclose(linear[0], noether["lin"], rtol=1e-13)
    # q1 - q0 has lost the digits of q0: eps |q|^2/h
    np.testing.assert_allclose(angular[0], noether["ang"], atol=1e-12)
    assert np.max(np.abs(linear - linear[0])) < 1e-12 * np.max(np.abs(p))
    assert np.max(np.abs(angular - angular[0])) < 1e-12 * np.max(np.abs(p)) * np.max(np.abs(q))
    laws = PYRAMID.laws(traj)
    assert len(laws) == 6
    for law in laws.values():
        assert law.predicted == pytest.approx(-KAPPA, rel=1e-12)
        assert law.measured == pytest.approx(-KAPPA, rel=1e-6)
    assert (
        PYRAMID.laws(
            ac.simulate(PYRAMID.system(), ac.Trapezoid(), q0=q0, v0=0 * q0, h=H, steps=200)
        )
        == {}
    )


# ---------------------------------------------------------------- the bound of a step


def field_squared(f, q, p):
    """|f(q, p)|^2 of 002 (38), from the gradient typed from paper."""
    g = gradient(f.graph.edges.tolist(), f.distances, q)
    return np.sum(p**2) + np.sum((f.gains[:, None] * p + g) ** 2)


def test_bound_is_attained_on_k33():
    """|q_ij| = 2R, d -> 0, |p| = c: 5154.5 (errata), above what 002 prints, 2605; then alpha =
    0.0139, the 0.014 that 002 uses.
    """
    f = Formation(K33, 1e-6, 2, KAPPA)
    q = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 3, axis=0)
    p = q / np.linalg.norm(q)
    found = field_squared(f, q, p)
    assert found == pytest.approx(5154.5, abs=0.05)
    assert f.largest_speed() ** 2 == pytest.approx(found, rel=1e-9)
    printed = 1 + 2 * 6 * KAPPA**2 + 64 * 9
    assert printed == 2605
    assert found > printed
    assert f.alpha() == pytest.approx(0.0139, abs=5e-5)


@pytest.mark.parametrize("R", [0.3, 1.0, 2.0])
def test_bound_holds_for_random_states(rng, R):
    for _ in range(20):
        n = int(rng.integers(3, 9))
        pairs = list(combinations(range(n), 2))
        f = Formation(
            Graph(n, [pairs[i] for i in rng.permutation(len(pairs))[: 2 * n - 3]]),
            rng.uniform(0.1, 3, 2 * n - 3),
            2,
            rng.uniform(0.1, 20, n),
        )
        for _ in range(50):
            q, p = rng.normal(size=(2, n, 2))
            q *= (
                2
                * R
                / np.max(np.linalg.norm(ac.formation.relative_positions(f.graph, q), axis=1))
                * rng.uniform() ** 0.1
            )
            p *= 1.5 / np.linalg.norm(p)
            assert field_squared(f, q, p) <= f.largest_speed(R, 1.5) ** 2


# ---------------------------------------------------------------- classes and bad input


def test_classify():
    edges, q = shapes.hexagon()
    f = Formation.from_shape(edges, q, KAPPA)
    assert f.classify(q + np.array([3.0, 4.0])) == "same"
    assert f.classify(q * [1, -1] @ np.array([[0.6, 0.8], [-0.8, 0.6]])) == "mirrored"
    # agent 0 reflected in the line through its neighbours 1 and 5 keeps its two distances
    folded = q.copy()
    normal = np.array([q[5, 1] - q[1, 1], q[1, 0] - q[5, 0]]) / np.linalg.norm(q[1] - q[5])
    folded[0] -= 2 * ((q[0] - q[1]) @ normal) * normal
    assert np.max(np.abs(f.errors(folded.ravel()))) < 1e-14
    assert f.classify(folded) == "different"
    assert f.classify(1.02 * q) == "not formed"
    assert Formation(edges, f.distances, 2, KAPPA).classify(folded) == "formed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([(0, 1)], 1.0, 4, 1.0), "dimension must be 2 or 3"),
        (([(0, 1)], [1.0, 2.0], 2, 1.0), "one for each of the 1 edges"),
        (([(0, 1)], -1.0, 2, 1.0), "above 0"),
        (([(0, 1)], 1.0, 2, 0.0), "above 0"),
        (([(0, 1)], 1.0, 2, [1.0, np.nan]), "for agent 1"),
        (([(0, 1)], "far", 2, 1.0), "must be a number"),
        (([(0, 0)], 1.0, 2, 1.0), "with itself"),
        (("all", 1.0, 2, 1.0), "pairs"),
    ],
)
def test_bad_formations_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        Formation(*arguments)


def test_bad_configurations_are_named():
    with pytest.raises(ValueError, match=r"4 agents in R\^3"):
        PYRAMID.classify(np.zeros(11))
    with pytest.raises(ValueError, match="positions must have shape"):
        Formation.from_shape([(0, 1)], [1.0, 2.0], 1.0)
    traj = ac.simulate(
        PYRAMID.system(),
        ac.Trapezoid(),
        q0=REFERENCE["cases"][PUSHED]["q0"],
        v0=np.zeros(12),
        h=H,
        steps=40,
        save_every=10,
    )
    with pytest.raises(ValueError, match="save_every=1"):
        PYRAMID.energies(traj)
    with pytest.raises(ValueError, match="n = 2"):
        shapes.henneberg(2, 2)


def test_attraction_on_the_command_line(tmp_path):
    def run(*words):
        return CliRunner().invoke(app, ["attraction", *words])

    result = run("square", "--out", str(tmp_path / "map"), "--size", "4", "--steps", "40")
    assert result.exit_code == 0, result.output
    assert "not converged:" in result.output
    assert (tmp_path / "map" / "attraction.png").stat().st_size > 10_000
    assert (tmp_path / "map" / "attraction.zarr").is_dir()
    for words, message in (
        (("blob", "--out", str(tmp_path / "a")), "Try one of: square, hexagon"),
        (("square", "--out", str(tmp_path / "map")), "exists"),
        (("square", "--out", str(tmp_path / "a"), "--agent", "9"), "from 1 to 4"),
        (("square", "--out", str(tmp_path / "a"), "--size", "1"), "at least 2"),
    ):
        failed = run(*words)
        assert failed.exit_code == 1
        assert message in " ".join(failed.stderr.split())
