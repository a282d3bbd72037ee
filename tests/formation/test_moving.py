"""Formations without damping, with distances that change with time, and under forces
(Colombo-Gamonal, section 6 and Remark 2): against closed forms and (41) typed from paper.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.formation import Formation, attraction, euler, shapes

EDGES, SHAPE = shapes.polygon(3, 1 / np.sqrt(3))  # of side 1
START = SHAPE + np.array([[0.1, 0.05], [-0.08, 0.1], [0.02, -0.12]])
V0 = np.array([[0.3, 0.1], [-0.1, 0.4], [0.2, -0.2]])
TRAPEZOID = ac.Trapezoid()


def gradient(d, q):
    """grad V = sum of (|q_i - q_j|^2 - d^2)(q_i - q_j), shape (n, dimension)."""
    out = np.zeros_like(q)
    for (i, j), length in zip(EDGES, np.broadcast_to(d, 3), strict=True):
        z = q[i] - q[j]
        out[i] += (z @ z - length**2) * z
        out[j] -= (z @ z - length**2) * z
    return out


def scheme_41(kappa, h, q0, v0, steps, d, u=lambda t, q: 0.0):
    """Colombo-Gamonal, eq (41), with distances d(t) and a force u(t, q) at the middle node, from
    momenta that match v0: q1 - q0 = h (2 v0 + h (u - grad V)) / (1 + e^{kappa h}).
    """
    e = np.exp(kappa * h)
    hat, low, bar = (2 + e + 1 / e) / (1 + e), (1 + 1 / e) / (1 + e), 2 * h**2 / (1 + e)
    slope = [gradient(d(0.0), q0) - u(0.0, q0)]
    q = [q0, q0 + (2 * h * v0 - h**2 * slope[0]) / (1 + e)]
    for k in range(1, steps):
        now = q[-1]
        q.append(hat * now - low * q[-2] - bar * (gradient(d(k * h), now) - u(k * h, now)))
    return np.array(q).reshape(steps + 1, -1)


def run(system, h, steps, q0=START, v0=V0, **options):
    start = {"q0": q0.ravel(), "v0": v0.ravel()}
    return ac.simulate(system, TRAPEZOID, **start, h=h, steps=steps, **options)


def test_no_damping():
    """The scheme (41) with kappa = 0, energy to second order, momenta to roundoff, rates zero."""
    team = Formation.from_shape(EDGES, SHAPE, 0.0)
    system = team.system()
    worst = []
    for h, steps in ((0.02, 500), (0.01, 1000)):
        traj = run(system, h, steps)
        np.testing.assert_allclose(
            traj.q, scheme_41(0.0, h, START, V0, steps, lambda t: 1.0), atol=1e-12
        )
        p, q = (np.asarray(a).reshape(-1, 3, 2) for a in (traj.p, traj.q))
        angular = np.sum(q[..., 0] * p[..., 1] - q[..., 1] * p[..., 0], axis=1)
        np.testing.assert_allclose(
            p.sum(axis=1), np.tile(V0.sum(axis=0), (steps + 1, 1)), atol=1e-13
        )
        np.testing.assert_allclose(angular, angular[0], atol=1e-13)
        E = np.sum(p**2, axis=(1, 2)) / 2 + np.sum(team.shares(traj.q), axis=1)
        worst.append(np.max(np.abs(E - E[0])))
    assert worst[0] / worst[1] == pytest.approx(4.0, rel=0.05)
    laws = team.laws(traj)
    assert len(laws) == 3
    for law in laws.values():
        assert law.drift < 1e-13
        assert law.decay().predicted == 0
        assert law.decay().measured == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ValueError, match="zero or above"):
        Formation(EDGES, 1.0, 2, -1.0)


def test_distances_that_grow():
    """(41) with d at the middle node; then the sides follow d(t) with the lag kappa d'/(6 d^2) of
    r'' + kappa r' = -3 r (s^2 - d^2), s = sqrt(3) r, typed from paper.
    """
    kappa, rate, h, steps = 2.0, 0.1, 0.02, 1000
    team = Formation(
        EDGES, lambda t, params: 1 + params["rate"] * t, 2, kappa, params={"rate": rate}
    )
    traj = run(team.system(), h, steps)
    expected = scheme_41(kappa, h, START, V0, steps, lambda t: 1 + rate * t)
    np.testing.assert_allclose(traj.q, expected, atol=1e-12)
    d = 1 + rate * h * steps
    np.testing.assert_allclose(team.distances_at(h * steps), [d] * 3)
    lag = team.errors(traj.q, traj.t)[-1]
    np.testing.assert_allclose(lag, -kappa * rate / (6 * d**2), rtol=0.05)
    V = 0.25 * np.sum(((lag + d) ** 2 - d**2) ** 2)
    np.testing.assert_allclose(np.sum(team.shares(traj.q[-1], h * steps)), V, rtol=1e-9)
    dq = np.diff(np.asarray(traj.q), axis=0)[-1] / h
    before = np.sum(team.shares(traj.q[-2], h * (steps - 1)))
    np.testing.assert_allclose(
        np.sum(team.energies(traj)[-1]), dq @ dq / 2 + (before + V) / 2, rtol=1e-9
    )
    baseline = euler(team, q0=START, v0=V0, h=h, steps=2)
    v1 = V0 - h * (kappa * V0 + gradient(1.0, START))
    v2 = v1 - h * (kappa * v1 + gradient(1 + rate * h, START + h * V0))
    np.testing.assert_allclose(baseline.v[2], v2.ravel(), atol=1e-14)


def test_one_shape_is_asked_for():
    """What needs fixed distances says so, and so does what knows no force."""
    grown = Formation(EDGES, lambda t: jnp.array([1.0, 1.0, 1.0 + t]), 2, 1.0)
    axes = [np.array([0.0, 1.0])] * 2
    for ask in (
        lambda: grown.classify(SHAPE),
        lambda: grown.errors(SHAPE.ravel()),
        lambda: grown.alpha(),
        lambda: attraction(grown, 0, axes, h=0.1, steps=2, shape=SHAPE),
    ):
        with pytest.raises(ValueError, match="function of time"):
            ask()
    with pytest.raises(ValueError, match="leave out `shape`"):
        Formation(EDGES, lambda t: t, 2, 1.0, shape=SHAPE)
    with pytest.raises(ValueError, match="one for each of the 3 edges"):
        Formation(EDGES, lambda t: jnp.ones(2), 2, 1.0)
    with pytest.raises(ValueError, match=r"distances\(t\) or distances\(t, params\)"):
        Formation(EDGES, lambda: 1.0, 2, 1.0)
    with pytest.raises(ValueError, match="'kappa' is the name"):
        Formation(EDGES, 1.0, 2, 1.0, params={"kappa": 1.0})
    steered = Formation.from_shape(EDGES, SHAPE, 1.0).steered([1.0, 0.0])
    with pytest.raises(ValueError, match="leave out the force"):
        attraction(steered, 0, axes, h=0.1, steps=2)
    with pytest.raises(ValueError, match="without a force"):
        steered.alpha()
    with pytest.raises(ValueError, match="already"):
        steered.steered([1.0, 0.0])
    for words, velocity, spin in (("velocity", [1.0], 0.0), ("spin", [1.0, 0.0], [0.0, 0.0, 1.0])):
        with pytest.raises(ValueError, match=words):
            Formation.from_shape(EDGES, SHAPE, 1.0).steered(velocity, spin)


def push(t, q, v, params):
    """The same force on all agents, and one more that they exert on each other."""
    return jnp.tile(params["u"], 3) + 0.1 * jnp.cos(t) * jnp.roll(q, 2) - 0.1 * jnp.cos(t) * q


def test_constant_force():
    """kappa v + v' = u for the centroid: the closed form to second order, its discrete form to
    roundoff, also where e^{kappa t} is far beyond floating point.
    """
    kappa, u = 2.0, np.array([0.3, -0.5])
    team = Formation.from_shape(EDGES, SHAPE, kappa, force=push, params={"u": u})
    system = team.system()

    def by_hand(t, q):
        return u + 0.1 * np.cos(t) * (np.roll(q, 1, axis=0) - q)

    v0, worst = V0.mean(axis=0), []
    for h, steps in ((0.04, 50), (0.02, 100)):
        traj = run(system, h, steps)
        expected = scheme_41(kappa, h, START, V0, steps, lambda t: 1.0, by_hand)
        np.testing.assert_allclose(traj.q, expected, atol=1e-12)
        t = np.asarray(traj.t)[:, None]
        closed = u * t / kappa + (v0 - u / kappa) * (1 - np.exp(-kappa * t)) / kappa
        centroid = np.asarray(traj.q).reshape(-1, 3, 2).mean(axis=1) - START.mean(axis=0)
        worst.append(np.max(np.abs(centroid - closed)))
        # p_{k+1} - p_k = h/2 (w_k + w_{k+1}) u
        total, w = np.asarray(traj.p).reshape(-1, 3, 2).sum(axis=1), np.exp(kappa * t)
        np.testing.assert_allclose(
            np.diff(total, axis=0), 3 * h / 2 * (w[1:] + w[:-1]) * u, rtol=1e-11
        )
    assert worst[0] / worst[1] == pytest.approx(4.0, rel=0.1)
    far = run(system, 0.05, 10_000, save_every=5_000)  # kappa t = 1000
    centroid = np.asarray(far.q).reshape(-1, 3, 2).mean(axis=1)
    steady = u * 0.05 / np.sinh(kappa * 0.05)  # of (41) with v constant: u/kappa (1 + O(h^2))
    np.testing.assert_allclose((centroid[2] - centroid[1]) / 250, steady, rtol=1e-10)
    with pytest.raises(ValueError, match="momenta follow"):
        team.laws(traj)


@pytest.mark.parametrize("dimension", [2, 3])
def test_steering(rng, dimension):
    """P' = -kappa (P - n c) and L' = -kappa (L - I omega), in both forms of the system."""
    kappa = 1.5
    edges, shape = (EDGES, SHAPE) if dimension == 2 else shapes.pyramid()
    c = np.array([0.4, -0.2, 0.3])[:dimension]
    omega = 0.7 if dimension == 2 else np.array([0.1, -0.5, 0.3])
    team = Formation.from_shape(edges, shape, kappa).steered(lambda t: c * (1 + t), omega)
    q, v = rng.normal(size=(2, *shape.shape))
    x, t = q - q.mean(axis=0), 0.6

    def lift(a):
        return np.concatenate([a, np.zeros((len(a), 1))], axis=1) if dimension == 2 else a

    spin = np.array([0.0, 0.0, omega]) if dimension == 2 else omega
    inertia = np.sum([r @ r * np.eye(3) - np.outer(r, r) for r in lift(x)], axis=0)
    a, same = (
        np.asarray(jax.jit(ac.accelerations(s))(t, q.ravel(), v.ravel())).reshape(q.shape)
        for s in (team.system(), team.system(forced=True))
    )
    np.testing.assert_allclose(a, same, atol=1e-12)
    P, rate = v.sum(axis=0), a.sum(axis=0)
    np.testing.assert_allclose(rate, -kappa * (P - len(q) * c * (1 + t)), atol=1e-12)
    L, turning = (np.cross(lift(x), lift(b)).sum(axis=0) for b in (v, a))
    np.testing.assert_allclose(turning, -kappa * (L - inertia @ spin), atol=1e-11)


def test_steered_run():
    """In the end the shape moves as one body, with the velocity and the spin that were asked for;
    the bonds hold it on its circle, s^2 = d^2 + omega^2/3.
    """
    c, omega, h = np.array([0.5, 0.1]), 0.3, 0.02
    team = Formation.from_shape(EDGES, SHAPE, 2.0).steered(c, omega)
    traj = run(team.system(), h, 1000)
    q, v = (np.asarray(a[-1]).reshape(3, 2) for a in (traj.q, traj.v))
    x = q - q.mean(axis=0)
    np.testing.assert_allclose(v, c + omega * x[:, ::-1] * [-1, 1], atol=1e-4)
    side = np.linalg.norm(q[0] - q[1])
    assert side**2 == pytest.approx(1 + omega**2 / 3, abs=1e-4)


def test_energies_are_those_of_the_run():
    """With distances that `params` of the run say, not those of the formation."""
    one, two = (
        Formation(
            [(0, 1), (1, 2), (0, 2)], lambda t, p: p["a"] * (1 + 0 * t), 2, 0.5, params={"a": a}
        )
        for a in (1.0, 2.0)
    )
    run = {"q0": [0, 0, 1, 0, 0.5, 0.9], "v0": [0.1, 0, 0, 0.1, 0, 0.2], "h": 0.05, "steps": 3}
    system = one.system()
    own = ac.simulate(system, ac.Trapezoid(), **run, params={**system.params, "a": 2.0})
    np.testing.assert_allclose(
        one.energies(own),
        two.energies(ac.simulate(two.system(), ac.Trapezoid(), **run)),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="steps of one length"):
        one.energies(ac.simulate(system, ac.Trapezoid(), **{**run, "h": [0.1, 0.2, 0.1]}))
