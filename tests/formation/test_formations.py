"""Formations (Colombo-Gamonal, section 6): graphs, rigidity, the system and its scheme, energies,
momenta, the bound of a step.
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
from tests.formation.formations_cases import K33

REFERENCE = json.loads(
    (Path(ac.__file__).parent / "gallery/data/002_sec6.3_pyramid_formation.json").read_text()
)


STATED, PUSHED, OTHER = list(REFERENCE["cases"])[:3]


EDGES = [tuple(edge) for edge in REFERENCE["parameters"]["edges"]]


H, KAPPA = 0.005, 13.0


PYRAMID = Formation(EDGES, 2.0, 3, KAPPA)


def gradient(edges, d, q):
    """grad V = sum of (|q_i - q_j|^2 - d^2)(q_i - q_j), typed from paper, shape (n, d)."""
    out = np.zeros_like(q)
    for (i, j), length in zip(edges, d, strict=True):
        z = q[i] - q[j]
        out[i] += (z @ z - length**2) * z
        out[j] -= (z @ z - length**2) * z
    return out


def scheme_42(edges, d, kappa, h, q0, q1, steps):
    """Colombo-Gamonal, eq (41) and (42) with Gamma_ij = |q_i - q_j|^2 - d_ij^2 at the middle
    node.
    """
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
    """The four points of Colombo-Gamonal section 6.3 lie in a plane, and so does all that follows;
    pushed out of it they span a volume.
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
        assert law.drift < 1e-12
        assert law.decay().predicted == pytest.approx(-KAPPA, rel=1e-12)
        assert law.decay().measured == pytest.approx(-KAPPA, rel=1e-6)
    assert (
        PYRAMID.laws(
            ac.simulate(PYRAMID.system(), ac.Trapezoid(), q0=q0, v0=0 * q0, h=H, steps=200)
        )
        == {}
    )


def field_squared(f, q, p):
    """|f(q, p)|^2 of Colombo-Gamonal eq (38), from the gradient typed from paper."""
    g = gradient(f.graph.edges.tolist(), f.distances, q)
    return np.sum(p**2) + np.sum((f.gains[:, None] * p + g) ** 2)


def test_bound_is_attained_on_k33():
    """|q_ij| = 2R, d -> 0, |p| = c: 5154.5 (errata), above what Colombo-Gamonal prints, 2605; then
    alpha = 0.0139, the 0.014 that Colombo-Gamonal uses.
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
        (([(0, 1)], 1.0, 2, -1.0), "zero or above"),
        (([(0, 1)], 0.0, 2, 1.0), "above 0"),
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
        assert message in " ".join(failed.output.split())
