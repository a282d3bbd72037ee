"""Motion on groups: the continuous equations, the discrete ones, what they keep, and the comparison
with generalized-alpha."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis.phase import form_defect, tangent_map
from accion.methods import GeneralizedAlpha
from tests.helpers import central_difference
from tests.spaces.test_groups import SO3_BASIS
from tests.stepping.group_motion_cases import INERTIA, TOP, XI, start, top

BODY = {
    "J": np.array([[2.0, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 1.0]]),
    "M": np.array([1.0, 1.7, 2.4]),
    "weight": 0.6,
}


TWIST = np.array([0.5, -0.3, 0.8, 1.0, 0.2, -0.4])


def body_lagrangian(t, g, xi, params):
    """Kirchhoff's body in SE(3) with weight."""
    omega, v = xi[:3], xi[3:]
    return (
        0.5 * omega @ (params["J"] @ omega)
        + 0.5 * jnp.sum(params["M"] * v**2)
        - params["weight"] * g[2, 3]
        - 0.3 * jnp.sin(g[0, 3])
    )


def body(space=None):
    return ac.System(body_lagrangian, space or ac.SE3(), BODY, name="body")


def test_accelerations_are_those_of_euler():
    """I xi' = I xi x xi + torque + 0.1 I xi (Colombo-Eyrea, eq 2 and Ex 3, corrected)."""
    R, t = start(3), 0.7
    system = top()
    force = np.zeros(3)
    for i, E in enumerate(SO3_BASIS):
        dR = R @ E
        force[i] = -(dR @ TOP["weight"])[2] - 0.4 * R[0, 1] * dR[0, 1]
    expected = (np.cross(INERTIA * XI, XI) + force) / INERTIA + 0.1 * XI
    np.testing.assert_allclose(ac.accelerations(system)(t, R, XI), expected, rtol=0, atol=1e-14)
    # As it is printed in Colombo-Eyrea Ex 3, with the other sign of xi x I xi, it is not.
    printed = (np.cross(XI, INERTIA * XI) + force) / INERTIA + 0.1 * XI
    assert np.max(np.abs(ac.accelerations(system)(t, R, XI) - printed)) > 0.1


def test_accelerations_are_those_of_kirchhoff():
    """Pi' = Pi x omega + P x v, P' = P x omega + force, with Pi = J omega and P = M v."""
    g = start(6)
    R, x = g[:3, :3], g[:3, 3]
    omega, v = TWIST[:3], TWIST[3:]
    Pi, P = BODY["J"] @ omega, BODY["M"] * v
    force = R.T @ np.array([-0.3 * np.cos(x[0]), 0, -BODY["weight"]])
    expected = np.concatenate(
        [
            np.linalg.solve(BODY["J"], np.cross(Pi, omega) + np.cross(P, v)),
            (np.cross(P, omega) + force) / BODY["M"],
        ]
    )
    np.testing.assert_allclose(
        ac.accelerations(body())(0.0, g, TWIST), expected, rtol=0, atol=1e-13
    )


def test_reference_on_a_group_is_that_in_coordinates():
    """The planar body of SE(2) against its coordinates (theta, x, y)."""

    def in_the_plane(t, g, xi, params):
        return (
            0.5 * (0.7 * xi[0] ** 2 + xi[1] ** 2 + 2 * xi[2] ** 2)
            - jnp.sin(g[0, 2])
            - g[1, 2] * g[0, 0]
        )

    def in_coordinates(t, q, v, params):
        c, s = jnp.cos(q[0]), jnp.sin(q[0])
        g = jnp.array([[c, -s, q[1]], [s, c, q[2]], [0, 0, 1]])
        return in_the_plane(
            t, g, jnp.array([v[0], c * v[1] + s * v[2], -s * v[1] + c * v[2]]), params
        )

    theta, v = 0.4, np.array([0.5, 1.0, -0.2])
    c, s = np.cos(theta), np.sin(theta)
    g0 = np.array([[c, -s, 0.3], [s, c, -0.6], [0, 0, 1]])
    ts = np.array([0.0, 1.0, 3.0])
    g, xi = ac.reference(
        ac.System(in_the_plane, ac.SE2()),
        q0=g0,
        v0=[v[0], c * v[1] + s * v[2], -s * v[1] + c * v[2]],
        ts=ts,
    )
    q, dq = ac.reference(
        ac.System(in_coordinates, ac.Euclidean(3)), q0=[theta, 0.3, -0.6], v0=v, ts=ts
    )
    np.testing.assert_allclose(g[:, :2, 2], q[:, 1:], rtol=0, atol=1e-10)
    np.testing.assert_allclose(g[:, 1, 0], np.sin(q[:, 0]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(xi[:, 0], dq[:, 0], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("method", "retraction"),
    [
        (ac.Midpoint(), "exp"),
        (ac.Midpoint(), "cayley"),
        (ac.Trapezoid(), "exp"),
        (ac.Alpha(0.3), "cayley"),
    ],
    ids=str,
)
def test_derivatives_of_the_discrete_lagrangian(method, retraction):
    """D1 and D2 against differences of Ld on displaced matrices, and the discrete force against the
    same of its work.
    """
    space = ac.SO3(retraction)
    d = ac.discrete(top(space), method)
    g0, x = start(3), np.array([0.2, -0.1, 0.3])
    g1 = np.asarray(space.retract(g0, x))
    Ld = jax.jit(d.Ld)
    exp = ac.SO3().tau
    D1, D2 = jax.jit(d.D1)(0.3, 0.2, g0, g1), jax.jit(d.D2)(0.3, 0.2, g0, g1)
    np.testing.assert_allclose(
        D1,
        central_difference(lambda e: Ld(0.3, 0.2, g0 @ exp(e), g1), np.zeros(3)),
        rtol=0,
        atol=2e-9,
    )
    np.testing.assert_allclose(
        D2,
        central_difference(lambda e: Ld(0.3, 0.2, g0, g1 @ exp(e)), np.zeros(3)),
        rtol=0,
        atol=2e-9,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "retraction", "claimed"),
    [
        (ac.Trapezoid(), "cayley", 2),
        (ac.Alpha(0.3), "cayley", 1),
        (GeneralizedAlpha(0.8), "exp", 2),
    ],
    ids=str,
)
def test_order_on_rotations(method, retraction, claimed):
    """Midpoint with both retractions is measured in the gallery: free top, underwater body."""
    found = ac.analysis.order(
        top(ac.SO3(retraction)),
        method,
        q0=start(3),
        v0=XI,
        duration=1.0,
        h=[0.05, 0.025, 0.0125, 0.00625],
    )
    assert abs(found.slope - claimed) < 0.06


def test_a_basis_gives_the_same_motion():
    """MatrixGroup from a basis of so(3), step by step."""
    ours, general = (
        ac.simulate(top(space), ac.Midpoint(), q0=start(3), v0=XI, h=0.1, steps=20)
        for space in (ac.SO3(), ac.MatrixGroup(SO3_BASIS))
    )
    np.testing.assert_allclose(general.q, ours.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(general.p, ours.p, rtol=0, atol=1e-12)


def test_the_form_is_kept():
    """Left trivialised, on time-dependent systems; with the bracket left out it is not."""
    assert (
        ac.analysis.symplecticity(
            body(ac.SE3("cayley")), ac.LeftRectangle(), q0=start(6), v0=TWIST, h=0.1
        )
        < 1e-14
    )
    q = start(3)
    p = top().legendre(0.0, q, jnp.asarray(XI))
    guess = 0.2 * jnp.asarray(XI)
    p1, T = tangent_map(top(), ac.Midpoint())(jnp.zeros(()), jnp.array(0.2), q, p, guess)
    assert form_defect(ac.SO3(), np.asarray(T), p, p1) < 1e-14
    assert form_defect(ac.Euclidean(3), np.asarray(T), p, p1) > 1e-3


def free_lagrangian(t, R, xi, params):
    return 0.5 * jnp.sum(params["I"] * xi**2)


@pytest.mark.slow
def test_a_million_steps():
    """On the group to 1e-12, the momentum in space to 1e-12, the size of the body's (coadjoint
    orbit) too, energy bounded.
    """
    free = ac.System(free_lagrangian, ac.SO3(), {"I": INERTIA})
    traj = ac.simulate(
        free, ac.Midpoint(), q0=start(3), v0=XI, h=0.05, steps=1_000_000, save_every=1000
    )
    R, p = np.asarray(traj.q), np.asarray(traj.p)
    assert np.max(np.abs(np.einsum("tji,tjk->tik", R, R) - np.eye(3))) < 1e-14
    momentum = np.asarray(ac.analysis.spatial_momentum(traj))
    np.testing.assert_allclose(momentum, np.einsum("tij,tj->ti", R, p), rtol=0, atol=1e-14)
    assert np.max(np.abs(momentum - momentum[0])) < 1e-12
    assert np.max(np.abs(np.linalg.norm(p, axis=1) - np.linalg.norm(p[0]))) < 1e-12
    E = np.asarray(traj.energy())
    assert np.max(np.abs(E - E[0])) < 1e-3 * abs(E[0])
    assert abs(np.polyfit(np.linspace(0, 1, len(E)), E, 1)[0]) < 0.02 * np.max(np.abs(E - E[0]))


def test_spatial_momentum_of_a_rigid_motion():
    """(x x P + R Pi, P) of the free body, kept; P = R M v."""

    def free(t, g, xi, params):
        return body_lagrangian(t, jnp.eye(4), xi, params)

    traj = ac.simulate(
        ac.System(free, ac.SE3("cayley"), BODY),
        ac.Midpoint(),
        q0=start(6),
        v0=TWIST,
        h=0.05,
        steps=200,
    )
    momentum = np.asarray(ac.analysis.spatial_momentum(traj))
    R, x, p = np.asarray(traj.q)[:, :3, :3], np.asarray(traj.q)[:, :3, 3], np.asarray(traj.p)
    P = np.einsum("tij,tj->ti", R, p[:, 3:])
    np.testing.assert_allclose(momentum[:, 3:], P, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        momentum[:, :3], np.cross(x, P) + np.einsum("tij,tj->ti", R, p[:, :3]), rtol=0, atol=1e-12
    )
    assert np.max(np.abs(momentum - momentum[0])) < 1e-12
    with pytest.raises(ValueError, match="needs a group"):
        ac.analysis.spatial_momentum(
            ac.simulate(
                ac.mechanical(1.0, None, 1), ac.Midpoint(), q0=[0.0], v0=[1.0], h=0.1, steps=2
            )
        )


def test_a_symmetry_given_by_an_action():
    """Turning space about the vertical is a symmetry of the top with an upright field, and of its
    discretisation.
    """

    def upright(t, R, xi, params):
        return 0.5 * jnp.sum(params["I"] * xi**2) - (R @ params["weight"])[2]

    turn = ac.analysis.Symmetry.from_action(
        lambda s, R: ac.SO3().tau(s * jnp.array([0.0, 0.0, 1.0])) @ R, ac.SO3()
    )
    system = ac.System(upright, ac.SO3("cayley"), TOP)
    R = start(3)
    np.testing.assert_allclose(turn.X(R), R[2], rtol=0, atol=1e-14)
    assert abs(float(turn.defect(system, 0.3, R, XI))) < 1e-14
    assert abs(float(turn.defect(top(), 0.3, R, XI))) > 1e-3
    traj = ac.simulate(system, ac.Trapezoid(), q0=R, v0=XI, h=0.05, steps=500)
    assert turn.drift(traj) < 1e-12
    along_the_body = ac.analysis.Symmetry(lambda R: jnp.array([0.0, 0.0, 1.0]))
    assert along_the_body.drift(traj) > 1e-3


def test_reversal():
    """Midpoint with exp, run back with -h, comes home."""
    step = jax.jit(ac.discrete(top(), ac.Midpoint()).hamiltonian_flow)
    q, p = start(3), jnp.asarray(INERTIA * XI)
    for k in range(5):
        q, p = step(0.1 * k, 0.1, q, p)
    for k in range(5):
        q, p = step(0.5 - 0.1 * k, -0.1, q, p)
    np.testing.assert_allclose(q, start(3), rtol=0, atol=1e-14)
    np.testing.assert_allclose(p, INERTIA * XI, rtol=0, atol=1e-14)


@pytest.mark.slow
def test_forces_and_nonholonomic_constraints():
    """A sleigh on SE(2), its blade at the contact point, with drag: the motion is that in
    coordinates. Order: rolling disk of the gallery.
    """
    params = {"m": 1.2, "I": 0.4, "a": 0.3}

    def lagrangian(t, g, xi, params):
        return (
            0.5 * params["m"] * (xi[1] ** 2 + (xi[2] + params["a"] * xi[0]) ** 2)
            + 0.5 * params["I"] * xi[0] ** 2
        )

    system = ac.System(
        lagrangian,
        ac.SE2("cayley"),
        params,
        nonholonomic=lambda t, g, xi, p: xi[2:],
        force=lambda t, g, xi, p: -0.2 * xi,
        name="sleigh on SE(2)",
    )

    def in_coordinates(t, q, v, p):
        c, s = jnp.cos(q[0]), jnp.sin(q[0])
        return lagrangian(t, None, jnp.array([v[0], c * v[1] + s * v[2], -s * v[1] + c * v[2]]), p)

    def drag(t, q, v, p):
        return -0.2 * v

    plane = ac.System(
        in_coordinates,
        ac.Euclidean(3),
        params,
        nonholonomic=lambda t, q, v, p: jnp.array([-jnp.sin(q[0]) * v[1] + jnp.cos(q[0]) * v[2]]),
        force=drag,
    )
    ts = np.array([0.0, 1.0, 2.0])
    g, _ = ac.reference(system, q0=np.eye(3), v0=[0.8, 1.0, 0.0], ts=ts)
    q, _ = ac.reference(plane, q0=np.zeros(3), v0=[0.8, 1.0, 0.0], ts=ts)
    np.testing.assert_allclose(g[:, :2, 2], q[:, 1:], rtol=0, atol=1e-10)


def test_two_points_of_a_group():
    """connect finds a motion that simulate goes along."""
    system = top(ac.SO3("cayley"))
    first = ac.simulate(system, ac.Midpoint(), q0=start(3), v0=XI, h=0.1, steps=10)
    found = ac.connect(system, ac.Midpoint(), qa=first.q[0], qb=first.q[-1], duration=1.0, steps=10)
    np.testing.assert_allclose(found.q, first.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.p, first.p, rtol=0, atol=1e-9)


def test_ensembles_files_and_pictures(tmp_path):
    system = top(ac.SO3("cayley"))
    many = ac.ensemble(
        system, ac.Midpoint(), q0=start(3), v0=np.stack([XI, 2 * XI]), h=0.1, steps=10
    )
    one = ac.simulate(system, ac.Midpoint(), q0=start(3), v0=2 * XI, h=0.1, steps=10)
    np.testing.assert_allclose(many.q[1], one.q, rtol=0, atol=1e-14)
    one.save(tmp_path / "top.zarr")
    again = ac.load(tmp_path / "top.zarr", system)
    np.testing.assert_array_equal(again.q, one.q)
    assert again.to_xarray()["q"].dims == ("time", "q_axis0", "q_axis1")
    labels = [line.get_label() for line in one.plot().axes[0].lines]
    assert labels == ["theta1' [rad/s]", "theta2' [rad/s]", "theta3' [rad/s]"]
    one.animate(path=tmp_path / "top.gif", seconds=0.2)
    assert (tmp_path / "top.gif").stat().st_size > 1000


def test_bad_input():
    with pytest.raises(ValueError, match=r"v0 must have shape \(3,\).*got shape \(4,\)"):
        ac.simulate(top(), ac.Midpoint(), q0=np.eye(3), v0=np.zeros(4), h=0.1, steps=1)
    with pytest.raises(
        ValueError,
        match=(
            r"one step turns by 10 rad: the chart of the retraction exp ends at 6\.28 rad.*smaller"
        ),
    ):
        ac.simulate(top(), ac.Midpoint(), q0=np.eye(3), v0=[0.0, 0.0, 100.0], h=0.1, steps=1)
    with pytest.raises(ValueError, match="not in SO3"):
        ac.simulate(top(), ac.Midpoint(), q0=np.eye(3) + 0.1, v0=XI, h=0.1, steps=1)
    with pytest.raises(ValueError, match=r"one step is too long for the retraction exp"):
        ac.simulate(
            top(ac.MatrixGroup(SO3_BASIS)),
            ac.Midpoint(),
            q0=np.eye(3),
            v0=[0.0, 0.0, 40.0],
            h=0.1,
            steps=1,
        )
