"""Motion on groups: the continuous equations, the discrete ones, what they keep, and the comparison
with generalized-alpha.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import campaign
from accion.analysis.symplectic import begin, form_defect, tangent_map
from accion.methods import GeneralizedAlpha
from tests.conftest import central_difference
from tests.test_groups import SO3_BASIS

INERTIA = np.array([1.0, 2.0, 3.0])
TOP = {"I": INERTIA, "weight": np.array([0.3, -0.5, 1.1])}
XI = np.array([0.4, 1.0, -0.3])
BODY = {
    "J": np.array([[2.0, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 1.0]]),
    "M": np.array([1.0, 1.7, 2.4]),
    "weight": 0.6,
}
TWIST = np.array([0.5, -0.3, 0.8, 1.0, 0.2, -0.4])


def top_lagrangian(t, R, xi, params):
    """A top in a field that is not symmetric, with a mass that changes."""
    return jnp.exp(-0.1 * t) * (
        0.5 * jnp.sum(params["I"] * xi**2) - (R @ params["weight"])[2] - 0.2 * R[0, 1] ** 2
    )


def body_lagrangian(t, g, xi, params):
    """Kirchhoff's body in SE(3) with weight."""
    omega, v = xi[:3], xi[3:]
    return (
        0.5 * omega @ (params["J"] @ omega)
        + 0.5 * jnp.sum(params["M"] * v**2)
        - params["weight"] * g[2, 3]
        - 0.3 * jnp.sin(g[0, 3])
    )


def top(space=None):
    return ac.System(top_lagrangian, space or ac.SO3(), TOP, name="top")


def body(space=None):
    return ac.System(body_lagrangian, space or ac.SE3(), BODY, name="body")


def start(dim):
    """A configuration away from the identity."""
    space = ac.SO3() if dim == 3 else ac.SE3()
    return np.asarray(space.tau(np.linspace(0.2, 0.9, dim)))


# ---------------------------------------------------------------- continuous


def test_accelerations_are_those_of_euler():
    """I xi' = I xi x xi + torque + 0.1 I xi (000 eq 2 and Ex 3, corrected)."""
    R, t = start(3), 0.7
    system = top()
    force = np.zeros(3)
    for i, E in enumerate(SO3_BASIS):
        dR = R @ E
        force[i] = -(dR @ TOP["weight"])[2] - 0.4 * R[0, 1] * dR[0, 1]
    expected = (np.cross(INERTIA * XI, XI) + force) / INERTIA + 0.1 * XI
    np.testing.assert_allclose(ac.accelerations(system)(t, R, XI), expected, rtol=0, atol=1e-14)
    # As it is printed in 000 Ex 3, with the other sign of xi x I xi, it is not.
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


# ---------------------------------------------------------------- discrete


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
    t, h, q, p = begin(top(), start(3), XI, None, 0.0, 0.2)
    p1, T = tangent_map(top(), ac.Midpoint())(t, h, q, p)
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


# ---------------------------------------------------------------- where a chart ends

CHARTS = [
    ac.SO2("cayley"),
    ac.SO3("cayley"),
    ac.SE2("cayley"),
    ac.SE3("cayley"),
    ac.MatrixGroup(SO3_BASIS, "cayley"),
]


@pytest.mark.parametrize("space", CHARTS, ids=str)
def test_the_turn_that_a_step_by_cayley_asks_for(space):
    """Its momenta are dtau^-1(x)^T dL/dv: along x they are (1 + |x|^2/4) times as large, which is x
    itself under dtau^-1.
    """
    turn = 1 if space.size == 2 or space == ac.SE2("cayley") else 3
    x = np.zeros(space.dim)
    x[:turn] = 0.6 * np.array([0.3, -0.8, 0.5])[:turn]
    stretched = space.stretched(jnp.asarray(x))
    np.testing.assert_allclose(
        stretched[:turn], space.dtau_inverse(jnp.asarray(x), jnp.asarray(x))[:turn], rtol=1e-13
    )
    for size, inside in ((3.13, True), (3.15, False)):
        y = jnp.asarray(size * x / np.linalg.norm(x))
        assert bool(space.within(y)) == inside
        assert (space.beyond(y) is None) == inside
    assert re.match(
        "one step .*the chart of the retraction cayley ends at .*half a turn", space.beyond(y)
    )


def test_the_chart_of_a_product_is_that_of_its_factors():
    space = ac.Product(ac.Euclidean(2), ac.SE3("cayley"), ac.SO2())
    far = np.zeros(9)
    far[:2], far[5:8] = 100.0, 100.0  # translations have no end
    assert bool(space.within(jnp.asarray(far)))
    assert space.beyond(far) is None
    assert ac.Product(ac.Euclidean(2), ac.Torus(1)).within(jnp.full(3, 100.0)) is True
    for i, turn, words in ((4, 3.2, "cayley ends at 3.14 rad"), (8, 6.3, "exp ends at 6.28 rad")):
        x = far.copy()
        x[i] = turn
        assert not bool(space.within(jnp.asarray(x)))
        assert words in str(space.beyond(x))
        assert words in space.chart


def test_a_step_that_leaves_the_chart_is_refused_wherever_it_is():
    """A wheel that is driven: its speed is 10 + 20 t, so steps of 0.1 turn by more than pi from the
    twelfth on. By cayley they turned by less.
    """
    wheel = ac.System(
        lambda t, g, w, p: 0.5 * w @ w, ac.SO2("cayley"), force=lambda t, g, w, p: jnp.array([20.0])
    )
    run = {"q0": np.eye(2), "h": 0.1, "steps": 12}
    words = (
        r"step 11 of 12.*one step turns by 3\.\d+ rad: the chart of the retraction cayley ends at"
        r" 3\.14 rad, half a turn"
    )
    with pytest.raises(ac.StepFailed, match=words):
        ac.simulate(wheel, ac.Midpoint(), v0=[10.0], **run)
    many = ac.ensemble(wheel, ac.Midpoint(), v0=[[1.0], [10.0]], throw=False, **run)
    assert many.success.tolist() == [True, False]
    assert many.steps_completed.tolist() == [12, 11]
    assert np.isfinite(many.q[1, :, 0, 0]).tolist() == 12 * [True] + [False]
    found = campaign.run(
        wheel,
        ac.Midpoint(),
        campaign.table({"v0": [[1.0], [10.0], [75.0]]}, q0=np.eye(2)),
        h=0.1,
        steps=12,
        progress=False,
    )
    assert found["failure"].values.tolist() == [0, 4, 1]
    assert re.search(
        r"led out of the chart.*cayley ends at 3\.14 rad.*at step 11 ", found["reason"].values[1]
    )
    assert "one step turns by 7.5 rad" in found["reason"].values[2]
    with pytest.raises(
        ValueError,
        match=r"one step turns by 7\.5 rad: the chart of the retraction cayley ends at 3\.14 rad",
    ):
        ac.simulate(
            top(ac.SO3("cayley")), ac.Midpoint(), q0=np.eye(3), v0=[0.0, 0.0, 75.0], h=0.1, steps=10
        )


# ---------------------------------------------------------------- generalized-alpha


def test_generalized_alpha_damps_as_it_says():
    """Far above the frequencies that are resolved a step multiplies the motion by rho (with a
    double root: rho^k times a line in k).
    """
    for rho in (0.0, 0.5, 0.9):
        stiff = ac.System(
            lambda t, q, v, p: 0.5 * v @ v - 0.5 * p["k"] * q @ q, ac.Euclidean(1), {"k": 1e10}
        )
        traj = ac.simulate(stiff, GeneralizedAlpha(rho), q0=[1.0], v0=[0.0], h=1.0, steps=40)
        q = np.abs(np.asarray(traj.q)[:, 0])
        assert q[40] / q[39] == pytest.approx(rho, abs=0.06)


def test_generalized_alpha_on_a_constraint():
    """A pendulum held by x^2 + y^2 = 1: order 2, on the circle, and with the tension of the
    continuous motion.
    """
    held = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - p["gravity"] * q[1],
        ac.Euclidean(2),
        {"gravity": 9.81},
        holonomic=lambda t, q, p: (q @ q - 1)[None],
    )
    start = {"q0": [0.6, -0.8], "v0": [0.8, 0.6]}
    found = ac.analysis.order(
        held, GeneralizedAlpha(0.8), **start, duration=1.0, h=[0.02, 0.01, 0.005]
    )
    assert abs(found.slope - 2) < 0.05
    traj = ac.simulate(held, GeneralizedAlpha(0.8), **start, h=0.005, steps=200)
    assert np.max(np.abs(np.sum(np.asarray(traj.q) ** 2, axis=1) - 1)) < 1e-12
    q, v = np.asarray(traj.q[0]), np.asarray(traj.v[0])
    # q'' = -g e_y + 2 lam q and q.q'' = -v.v, with |q| = 1.
    assert float(traj.lam[0, 0]) == pytest.approx(-(v @ v - 9.81 * q[1]) / 2, abs=1e-10)


def test_generalized_alpha_says_what_it_is_not():
    with pytest.raises(ValueError, match="0 <= rho <= 1"):
        GeneralizedAlpha(1.2)
    with pytest.raises(ValueError, match="not variational"):
        ac.discrete(top(), GeneralizedAlpha()).Ld(0.0, 0.1, np.eye(3), np.eye(3))
    vakonomic = ac.System(
        lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(2), vakonomic=lambda t, q, v, p: v[:1] - q[1:]
    )
    with pytest.raises(ValueError, match="does not support vakonomic"):
        ac.simulate(
            vakonomic, GeneralizedAlpha(), q0=[0.0, 0.0], v0=[0.0, 0.0], lam0=[0.0], h=0.1, steps=1
        )
    with pytest.raises(ValueError, match="not variational"):
        ac.simulate(
            top(), GeneralizedAlpha(), q0=np.eye(3), q1=ac.SO3().tau(0.1 * XI), h=0.1, steps=1
        )
