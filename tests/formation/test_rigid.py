"""Formations of rigid bodies on SE(2) and SE(3): equations typed from paper, the momentum map of
the whole, and bodies that do not turn, which are the agents of `Formation`.
"""

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import accion as ac
from accion.formation import Formation, RigidFormation, shapes

EDGES, PLANE = shapes.polygon(3, 1.0)
SPACE = np.concatenate([PLANE, [[0.1], [-0.2], [0.3]]], axis=1)
SIDE, KAPPA, A = np.sqrt(3), 1.5, 0.8
J = np.array([0.2, 0.3, 0.4])
TEAM = RigidFormation(EDGES, SIDE, 3, KAPPA, mass=[1.0, 2.0, 1.5], inertia=J, alignment=A)
SYSTEM = TEAM.system()
TRAPEZOID = ac.Trapezoid()


def pulls(r):
    """-grad V, typed from paper."""
    out = np.zeros_like(r)
    for i, j in EDGES:
        z = r[i] - r[j]
        out[i] -= (z @ z - SIDE**2) * z
        out[j] += (z @ z - SIDE**2) * z
    return out


def random_state(rng):
    r = SPACE + 0.2 * rng.normal(size=(3, 3))
    R = Rotation.from_rotvec(rng.normal(size=(3, 3))).as_matrix()
    return r, R, rng.normal(size=(3, 3)), rng.normal(size=(3, 3))


def test_equations_in_space(rng):
    """m r'' = -grad V - kappa m r' and J omega' = (J omega) x omega - kappa J omega + torques; the
    torque of a/4 |R_i - R_j|^2 is a/2 times the axial vector of M - M^T, M = R_i^T R_j.
    """
    r, R, omega, u = random_state(rng)
    q = TEAM.poses(r, R)
    v = np.concatenate([omega, u], axis=1)
    a = np.asarray(jax.jit(ac.accelerations(SYSTEM))(0.4, q, v.ravel())).reshape(3, 6)
    torque = np.zeros((3, 3))
    for i, j in EDGES:
        for here, there in ((i, j), (j, i)):
            M = R[here].T @ R[there]
            axial = [M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]]
            torque[here] += A / 2 * np.array(axial)
    expected = (np.cross(J * omega, omega) - KAPPA * J * omega + torque) / J
    np.testing.assert_allclose(a[:, :3], expected, atol=1e-11)
    # u = R^T r', so r'' = R (u' + omega x u)
    second = np.einsum("nij,nj->ni", R, a[:, 3:] + np.cross(omega, u))
    speed = np.einsum("nij,nj->ni", R, u)
    np.testing.assert_allclose(second, pulls(r) / TEAM.mass[:, None] - KAPPA * speed, atol=1e-11)


def test_momentum_map_in_space(rng):
    """The six momenta of SE(3) are what they are by hand, and kept to roundoff with their factor
    e^{kappa t}.
    """
    pair = RigidFormation([(0, 1)], 1.0, 3, KAPPA, mass=[1.0, 2.0], inertia=J, alignment=A)
    r, R, omega, u = (a[:2] for a in random_state(rng))
    start = {"q0": pair.poses(r, R), "v0": np.concatenate([omega, u], axis=1).ravel()}
    traj = ac.simulate(pair.system(), TRAPEZOID, **start, h=0.02, steps=40)
    law = pair.laws(traj)
    p = pair.mass[:, None] * np.einsum("nij,nj->ni", R, u)
    spin = np.einsum("nij,nj->ni", R, J * omega)
    by_hand = np.concatenate([np.sum(np.cross(r, p) + spin, axis=0), np.sum(p, axis=0)])
    np.testing.assert_allclose(law.values[0], by_hand, atol=1e-12)
    assert law.values.shape == (41, 6)
    assert law.drift < 1e-12
    apart = Rotation.from_matrix(R[0].T @ R[1]).magnitude()
    np.testing.assert_allclose(pair.angles(traj.q)[0, 0], apart, rtol=1e-9)


def test_bodies_that_do_not_turn_are_agents():
    """Without torques and spin the centres are those of `Formation` under the same method, to
    roundoff, in the plane; those of bodies that spin go the same way to second order.

    By `Trapezoid`: between two poses that differ by a turn of its own `Midpoint` takes a point of
    an arc, and turns bodies by O(h^3) in a step.
    """
    team = RigidFormation(EDGES, SIDE, 2, KAPPA, inertia=0.1)
    agents = Formation(EDGES, SIDE, 2, KAPPA)
    q0 = PLANE + np.array([[0.2, 0.1], [-0.1, 0.0], [0.0, 0.3]])
    v0 = np.array([[0.3, -0.2], [0.1, 0.2], [0.0, 0.4]])
    still = np.concatenate([np.zeros((3, 1)), v0], axis=1)
    run = {"h": 0.02, "steps": 50}
    expected = ac.simulate(agents.system(), TRAPEZOID, q0=q0.ravel(), v0=v0.ravel(), **run)
    traj = ac.simulate(team.system(), TRAPEZOID, q0=team.poses(q0), v0=still.ravel(), **run)
    r = team.positions(traj.q)
    np.testing.assert_allclose(r.reshape(51, 6), expected.q, atol=1e-11)
    np.testing.assert_allclose(team.errors(traj.q), agents.errors(expected.q), atol=1e-11)
    spinning = still + np.array([[0.5, 0, 0], [-0.3, 0, 0], [0.2, 0, 0]])
    gaps = []
    for h, steps in ((0.04, 25), (0.02, 50)):
        turned = ac.simulate(
            team.system(), TRAPEZOID, q0=team.poses(q0), v0=spinning.ravel(), h=h, steps=steps
        )
        exact, _ = ac.reference(agents.system(), q0=q0.ravel(), v0=v0.ravel(), ts=[0.0, 1.0])
        gaps.append(np.max(np.abs(team.positions(turned.q)[-1].ravel() - exact[-1])))
        assert team.laws(turned).values.shape == (steps + 1, 3)
        assert team.laws(turned).drift < 1e-12
        # omega = omega0 (1 - e^{-kappa t})/kappa about the one axis
        angle = np.arctan2(*np.asarray(turned.q[0])[-1, [1, 0], 0])
        assert angle == pytest.approx(0.5 * (1 - np.exp(-KAPPA)) / KAPPA, abs=1e-3)
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.25)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dimension": 4}, "dimension must be 2 or 3"),
        ({"damping": -1.0}, "damping must be zero or above"),
        ({"alignment": -1.0}, "alignment must be zero or above"),
        ({"mass": 0.0}, "mass must be finite and above 0"),
        ({"inertia": [1.0, 1.0]}, r"inertia must be shape \(3,\)"),
        ({"inertia": [1.0, 1.0, 3.0]}, "no body has"),
        ({"inertia": -1.0}, "inertia must be above 0"),
    ],
)
def test_bad_bodies_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        RigidFormation(**{"edges": EDGES, "distances": 1.0, "dimension": 3} | options)


def test_bad_poses_are_named():
    with pytest.raises(ValueError, match=r"attitudes\[0\] is no rotation"):
        TEAM.poses(SPACE, np.ones((3, 3, 3)))
    with pytest.raises(ValueError, match=r"positions must have shape \(3, 3\)"):
        TEAM.poses(PLANE)
    with pytest.raises(ValueError, match="a tuple of 3 arrays"):
        TEAM.errors(np.zeros((3, 4, 4)))
    with pytest.raises(ValueError, match="the desired shape"):
        ac.formation.attraction(TEAM, 0, [np.arange(2.0)] * 3, h=0.1, steps=2)  # pyright: ignore
