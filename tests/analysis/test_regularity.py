"""Regular systems are those whose bordered matrix is: coordinates without mass under constraints,
and masses that vanish along them.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.systems.rank import relative_rank, surely_regular

MID = ac.Midpoint()
# of a geodesic of the Heisenberg group: multiplier, first velocity and place in the plane
LAM, V, Z0 = 0.7, 0.3 + 0.5j, 1.0 + 0.2j


def area(t, q, v, params):
    return jnp.array([v[2] - q[0] * v[1] + q[1] * v[0]])


# Without mass along q3.
HEISENBERG = ac.System(
    lambda t, q, v, p: 0.5 * (v[0] ** 2 + v[1] ** 2),
    ac.Euclidean(3),
    vakonomic=area,
    name="heisenberg",
)
# A mass that is regular, and vanishes along v0 = v1.
LIGHT = ac.System(
    lambda t, q, v, p: 0.5 * (v[0] ** 2 - v[1] ** 2),
    ac.Euclidean(2),
    vakonomic=lambda t, q, v, p: v[:1] - v[1:],
    name="light",
)


def geodesic(t):
    """(q, v) of the geodesic: in the plane z' = V e^(i w t), w = 2 lam, a circle; q3' = Im(conj(z)
    z'), twice the area that it sweeps.
    """
    w = 2 * LAM
    turned = np.exp(1j * w * t)
    centre = Z0 - V / (1j * w)
    z, dz = centre + V * turned / (1j * w), V * turned
    height = np.imag(np.conj(centre) * V * (turned - 1) / (1j * w)) + abs(V) ** 2 * t / w
    return np.stack([z.real, z.imag, height], axis=-1), np.stack(
        [dz.real, dz.imag, np.imag(np.conj(z) * dz)], axis=-1
    )


START = {name: np.array(value) for name, value in zip(("q0", "v0"), geodesic(0.0), strict=True)}


def test_sub_riemannian_geodesics_are_circles():
    """Simulated from v0 and lam0, and from p0, with order two; the multiplier and the energy are
    constants.
    """
    errors = []
    for steps in (10, 20, 40):
        run = ac.simulate(HEISENBERG, MID, **START, lam0=[LAM], h=2 / steps, steps=steps)
        q, v = geodesic(np.asarray(run.t))
        errors.append([np.max(np.abs(run.q - q)), np.max(np.abs(run.v - v))])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all(np.abs(orders - 2) < 0.1), orders
    np.testing.assert_allclose(run.lam, LAM, rtol=1e-13)
    np.testing.assert_allclose(run.energy(), abs(V) ** 2 / 2, rtol=1e-12)
    again = ac.simulate(HEISENBERG, MID, q0=START["q0"], p0=run.p[0], h=2 / steps, steps=steps)
    np.testing.assert_allclose(again.q, run.q, atol=1e-13)
    np.testing.assert_allclose(
        run.p[0], [V.real + LAM * Z0.imag, V.imag - LAM * Z0.real, LAM], rtol=1e-14
    )


def test_many_geodesics():
    p0 = np.array([[0.44, -0.2, 0.7], [0.1, 0.3, -0.4]])
    runs = ac.ensemble(HEISENBERG, MID, q0=START["q0"], p0=p0, h=0.05, steps=8)
    one = ac.simulate(HEISENBERG, MID, q0=START["q0"], p0=p0[1], h=0.05, steps=8)
    np.testing.assert_allclose(runs.q[1], one.q, atol=1e-14)
    np.testing.assert_allclose(runs.lam[1], -0.4, rtol=1e-13)


def test_the_continuous_geodesic():
    q, v, lam = ac.reference(HEISENBERG, **START, lam0=[LAM], ts=[0.0, 2.0])
    np.testing.assert_allclose(q[-1], geodesic(2.0)[0], atol=1e-10)
    np.testing.assert_allclose(v[-1], geodesic(2.0)[1], atol=1e-10)
    np.testing.assert_allclose(lam[-1], LAM, rtol=1e-10)


def test_geodesics_between_two_points():
    errors = []
    for steps in (10, 20):
        found = ac.connect(
            HEISENBERG, MID, qa=geodesic(0.0)[0], qb=geodesic(2.0)[0], duration=2.0, steps=steps
        )
        q, v = geodesic(np.asarray(found.t))
        errors.append(
            max(
                np.max(np.abs(found.q - q)),
                np.max(np.abs(found.v - v)),
                np.max(np.abs(found.lam - LAM)),
            )
        )
    assert errors[1] < 6e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.15
    with pytest.raises(ac.ConnectFailed, match="Newton's matrix is singular"):
        ac.connect(
            HEISENBERG, MID, qa=np.zeros(3), qb=np.array([0.0, 0.0, 1.0]), duration=2.0, steps=10
        )


def test_a_family_of_geodesics_between_two_points():
    """Above each other: all circles of a family connect them, and one is found."""
    s, radius = np.linspace(0, 1, 11), np.sqrt(1 / (2 * np.pi))
    circle = np.stack(
        [radius * (np.cos(2 * np.pi * s) - 1), radius * np.sin(2 * np.pi * s), s], axis=1
    )
    found = ac.connect(
        HEISENBERG,
        MID,
        qa=np.zeros(3),
        qb=np.array([0.0, 0.0, 1.0]),
        duration=2.0,
        steps=10,
        guess=circle,
    )
    chord = np.linalg.norm(np.diff(found.q[:, :2], axis=0), axis=1)
    np.testing.assert_allclose(chord, chord[0], rtol=1e-9)
    np.testing.assert_allclose(found.lam[:, 0], found.lam[0, 0], rtol=1e-9)


def test_regularity_is_that_of_the_bordered_matrix():
    found = ac.analysis.regularity(HEISENBERG, MID, **START, lam0=[LAM], h=0.1, steps=5)
    assert found.regular
    assert found.hyperregular
    assert found.dim == 4
    assert found.discrete_condition is not None
    assert found.discrete_condition < 1e3
    assert "[[d2L/dv2, A^T], [A, 0]] has full rank 4" in found.text()
    light = ac.analysis.regularity(LIGHT)
    assert not light.regular
    assert light.ranks == (2,)
    assert "1 dq1 + 1 dq2, allowed by the constraints, has no inertia" in light.text()


def test_a_mass_that_vanishes_along_the_constraint_is_refused():
    words = (
        r"light is not regular under its constraints: .* has rank 2 of 3.*direction 1 dq1 \+ 1 dq2,"
        r" which the constraints allow"
    )
    with pytest.raises(ValueError, match=words):
        ac.simulate(LIGHT, MID, q0=[0.0, 0.0], v0=[1.0, 1.0], lam0=[0.0], h=0.1, steps=3)
    with pytest.raises(ValueError, match=words):
        ac.reference(LIGHT, q0=[0.0, 0.0], v0=[1.0, 1.0], lam0=[0.0], ts=[0.0, 1.0])
    for qb in ([1.0, 1.0], [1.0, 1.3]):
        with pytest.raises(ValueError, match=words):
            ac.connect(LIGHT, MID, qa=[0.0, 0.0], qb=qb, duration=0.7, steps=7)


def test_two_points_do_not_determine_the_motion_of_a_singular_lagrangian():
    singular = ac.System(lambda t, q, v, p: 0.5 * (v[0] + 0.1 * v[1]) ** 2, ac.Euclidean(2))
    with pytest.raises(ValueError, match="rank 1 of 2 between qa and qb"):
        ac.connect(singular, MID, qa=[0.0, 0.0], qb=[1.0, 0.7], duration=1.0, steps=10)


# ---------------- without mass, held by a holonomic constraint


def on_circle(t, q, params):
    return jnp.stack([q[0] - jnp.sin(q[2]), q[1] + jnp.cos(q[2])])


# A pendulum in (x, y) and the angle of its rod, which has no mass.
ROD = ac.mechanical(
    np.array([1.0, 1.0, 0.0]), lambda t, q, p: 9.81 * q[1], 3, holonomic=on_circle, name="rod"
)
PENDULUM = ac.mechanical(1.0, lambda t, q, p: -9.81 * jnp.cos(q[0]), 1)
ANGLE, RATE = 0.9, 0.8


def rod_at(angle, rate):
    q = np.stack([np.sin(angle), -np.cos(angle), angle], axis=-1)
    return q, np.stack([rate * np.cos(angle), rate * np.sin(angle), rate], axis=-1)


def test_a_rod_without_mass():
    """Against the pendulum in its angle alone, whose tension and pull are the multipliers."""
    q0, v0 = rod_at(ANGLE, RATE)
    errors = []
    for steps in (20, 40, 80):
        run = ac.simulate(ROD, MID, q0=q0, v0=v0, h=1 / steps, steps=steps)
        angle, rate = (
            np.asarray(a)[:, 0]
            for a in ac.reference(
                PENDULUM, q0=[ANGLE], v0=[RATE], ts=np.asarray(run.t)[:: steps // 20]
            )
        )
        q, v = rod_at(angle, rate)
        along, out = -9.81 * np.sin(angle), -(rate**2)
        # The force of the rod is the acceleration and the weight.
        lam = np.stack(
            [
                along * np.cos(angle) + out * np.sin(angle),
                along * np.sin(angle) - out * np.cos(angle) + 9.81,
            ],
            axis=-1,
        )
        found = (a[:: steps // 20] for a in (run.q, run.v, run.lam))
        errors.append([np.max(np.abs(a - b)) for a, b in zip(found, (q, v, lam), strict=True)])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all(np.abs(orders - 2) < 0.1), orders
    np.testing.assert_allclose(run.energy(), RATE**2 / 2 - 9.81 * np.cos(ANGLE), atol=2e-3)
    assert np.max(np.abs(np.asarray(run.q)[:, 2] - np.arctan2(run.q[:, 0], -run.q[:, 1]))) < 1e-14
    np.testing.assert_array_equal(run.p[:, 2], 0.0)
    again = ac.simulate(ROD, MID, q0=q0, p0=run.p[0], h=1 / 80, steps=80)
    np.testing.assert_allclose(again.q, run.q, atol=1e-12)
    between = ac.connect(ROD, MID, qa=run.q[0], qb=run.q[40], duration=0.5, steps=40)
    np.testing.assert_allclose(between.q, run.q[:41], atol=1e-10)
    np.testing.assert_allclose(between.v, run.v[:41], atol=1e-8)


def test_a_rod_without_mass_is_regular():
    assert ac.analysis.regularity(ROD).regular
    with pytest.raises(ValueError, match="p0 is off the constraint of rod"):
        ac.simulate(ROD, MID, q0=rod_at(ANGLE, RATE)[0], p0=[1.0, 1.0, 1.0], h=0.01, steps=3)
    with pytest.raises(ValueError, match="mass is singular"):
        ac.mechanical(np.array([1.0, 1.0, 0.0]), None, 3)
    twice = ac.mechanical(
        1.0, None, 2, holonomic=lambda t, q, p: jnp.stack([q[0], 2 * q[0]]), name="twice"
    )
    with pytest.raises(ValueError, match="the constraints of twice depend on each other"):
        ac.simulate(twice, MID, q0=[0.0, 0.0], v0=[0.0, 1.0], h=0.1, steps=1)


# ---------------------------------------------------------------- and by a nonholonomic one

# The height q3 has no mass, weighs g and is driven by q3' = q1 q2'.
CAM = ac.System(
    lambda t, q, v, p: 0.5 * (v[0] ** 2 + v[1] ** 2) - 2.0 * q[2],
    ac.Euclidean(3),
    nonholonomic=lambda t, q, v, p: jnp.array([v[2] - q[0] * v[1]]),
    name="cam",
)


def test_a_weight_without_mass_on_a_cam():
    """lam = g, q1 = a + b t, q2'' = -g q1: polynomials."""
    a, b, c, g = 0.3, 0.5, 0.4, 2.0
    errors = []
    for steps in (10, 20, 40):
        run = ac.simulate(CAM, MID, q0=[a, 0.0, 0.0], v0=[b, c, a * c], h=1 / steps, steps=steps)
        t = np.asarray(run.t)
        speed = np.polynomial.Polynomial([c, -g * a, -g * b / 2])
        height = np.polynomial.Polynomial([a, b]) * speed
        q = np.stack([a + b * t, speed.integ()(t), height.integ()(t)], axis=-1)
        errors.append(np.max(np.abs(run.q - q)))
        # At the middle of a step the slopes of a parabola are exact.
        np.testing.assert_allclose(
            run.v, np.stack([b + 0 * t, speed(t), height(t)], axis=-1), atol=1e-13
        )
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all(np.abs(orders - 2) < 0.1), orders
    np.testing.assert_allclose(run.lam, g, rtol=1e-12)
    np.testing.assert_allclose(run.energy(), (b**2 + c**2) / 2, atol=1e-3)
    again = ac.simulate(CAM, MID, q0=[a, 0.0, 0.0], p0=[b, c, 0.0], h=1 / 40, steps=40)
    np.testing.assert_allclose(again.q, run.q, atol=1e-13)
    assert ac.analysis.regularity(CAM).regular


def test_a_heading_without_inertia_is_free():
    """A skate whose heading has no moment of inertia: nothing says how it turns."""
    skate = ac.System(
        lambda t, q, v, p: 0.5 * (v[0] ** 2 + v[1] ** 2),
        ac.Euclidean(3),
        nonholonomic=lambda t, q, v, p: jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])]),
        coordinates=("x", "y", "phi"),
        name="skate",
    )
    with pytest.raises(
        ValueError,
        match=r"rank 3 of 4 at the initial data.*direction 1 dphi, which the constraints allow",
    ):
        ac.simulate(skate, MID, q0=np.zeros(3), v0=[1.0, 0.0, 0.0], h=0.1, steps=1)


# ---------------------------------------------------------------- the rank itself


@pytest.mark.parametrize(
    ("mass", "A", "rank"),
    [((1, 2, 0), (1, 0.3, 0.7), 4), ((1, 0, 0), (1, 0.3, 0.7), 3), ((1, -1, 3), (1, 1, 0), 3)],
)
def test_the_bordered_rank_does_not_depend_on_units(mass, A, rank):
    K = np.zeros((4, 4))
    K[:3, :3], K[3, :3], K[:3, 3] = np.diag(mass), A, A
    for size in (0, 6, 12):
        units = 10.0 ** np.random.default_rng(size).uniform(-size, size, 4)
        assert relative_rank(K * units[:, None] * units, 3)[0] == rank


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_what_is_surely_regular_has_full_rank(n):
    """Near every rank, in mixed units: never said of a matrix that is not, and of ordinary ones
    always.
    """
    rng, said = np.random.default_rng(n), 0
    for small in 10.0 ** np.arange(-18, 1):
        U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
        units = 10.0 ** rng.integers(-6, 7, size=n)
        for K in (
            U * np.append(np.ones(n - 1), small) @ V,
            U * units @ U.T,
            np.diag(units) * small,
        ):
            scaled = K * units[:, None] * units
            for each in (K, scaled):
                if surely_regular(each):
                    assert relative_rank(each, n)[0] == n
        said += surely_regular(U * rng.uniform(1, 9, n) @ U.T * small)
    assert said == 19
    assert not surely_regular(np.full((n, n), np.nan))
    assert not surely_regular(np.diag(np.append(np.ones(n - 1), np.inf)))
    assert not surely_regular(np.zeros((n, n)))
    assert surely_regular(1e140 * np.eye(n))
    assert surely_regular(1e-140 * np.eye(n))
