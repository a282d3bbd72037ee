"""Systems built from particles and rigid bodies: closed forms, finite differences, generalised
forces.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines import auto
from accion.systems.motion import motion
from tests.conftest import central_difference

PARAMS = {"m": jnp.array([1.3, 0.4]), "a": 0.9, "rate": 1.7}


def positions(t, q, params):
    """Two particles in space, on an arm that turns and slides, moved by time as well."""
    s, c = jnp.sin(q[0] + params["rate"] * t), jnp.cos(q[0] + params["rate"] * t)
    first = jnp.array([q[1] * c, q[1] * s, params["a"] * jnp.sin(t) * q[0]])
    return jnp.stack([first, first + jnp.array([params["a"] * jnp.cos(q[1]), q[0] ** 2, t**2])])


def system(**options):
    return ac.particles(positions, lambda params: params["m"], None, 2, params=PARAMS, **options)


def points(rng, count=5, n=2):
    return [
        (float(rng.uniform(-1, 1)), jnp.array(rng.normal(size=n)), jnp.array(rng.normal(size=n)))
        for _ in range(count)
    ]


def accelerations(system):
    """Compiled: evaluated step by step, each operation of the derivatives is compiled by itself."""
    return jax.jit(ac.accelerations(system))


# ---------------------------------------------------------------- particles


def test_velocities_are_the_rates_of_positions(rng):
    """dr/dt + dr/dq v, against a central difference along the motion (003 eq 2), and L is their
    kinetic energy (eq 10).
    """
    for t, q, v in points(rng):
        e = 1e-5
        u = (positions(t + e, q + e * v, PARAMS) - positions(t - e, q - e * v, PARAMS)) / (2 * e)
        np.testing.assert_allclose(
            motion(positions, ac.Euclidean(2), t, q, v, PARAMS)[1], u, atol=1e-8
        )
        T = 0.5 * sum(
            m * np.sum(np.asarray(row) ** 2) for m, row in zip(PARAMS["m"], u, strict=True)
        )
        assert float(system().L(t, q, v)) == pytest.approx(float(T), abs=1e-8)


@pytest.mark.parametrize(
    "masses", [2.0, [2.0, 2.0], lambda params: 2.0, lambda params: jnp.array([2, 2])]
)
def test_masses_in_every_form(masses, rng):
    t, q, v = points(rng)[0]
    u = motion(positions, ac.Euclidean(2), t, q, v, PARAMS)[1]
    assert float(
        ac.particles(positions, masses, None, 2, params=PARAMS).L(t, q, v)
    ) == pytest.approx(float(jnp.sum(u**2)), rel=1e-14)


def test_potentials_are_subtracted(rng):
    """L = T - V(t, q) - U(t, q, v), and U makes the generalised force d/dt dU/dv - dU/dq (003 eq
    16, 20).
    """

    def V(t, q, params):
        return params["a"] * q[0] ** 2 * jnp.cos(t)

    def U(t, q, v, params):
        return q[1] ** 2 * v[0] * params["a"]

    free, held = system(), system(velocity_potential=U)
    t, q, v = points(rng)[0]
    both = ac.particles(
        positions, lambda params: params["m"], V, 2, params=PARAMS, velocity_potential=U
    )
    assert float(both.L(t, q, v)) == pytest.approx(
        float(free.L(t, q, v) - V(t, q, PARAMS) - U(t, q, v, PARAMS)), rel=1e-14
    )
    a = PARAMS["a"]
    # d/dt dU/dv - dU/dq, by hand.
    Q = jnp.array([2 * a * q[1] * v[1], -2 * a * q[1] * v[0]])
    forced = system(force=lambda t, q, v, params: Q)
    np.testing.assert_allclose(
        accelerations(held)(t, q, v), accelerations(forced)(t, q, v), atol=1e-12
    )


def test_newton_in_cartesian_coordinates(rng):
    """With r = q the equations are those of Newton, m_i a_i = F_i."""

    def forces(t, r, u, params):
        return jnp.stack([-r[1] + jnp.cos(t) * u[0], r[0] * u[1] ** 2])

    plain = ac.particles(lambda t, q, params: q.reshape(2, 2), [2.0, 0.5], None, 4, forces=forces)
    compiled = accelerations(plain)
    for t, q, v in points(rng, n=4):
        F = forces(t, q.reshape(2, 2), v.reshape(2, 2), None)
        np.testing.assert_allclose(
            compiled(t, q, v), (F / jnp.array([[2.0], [0.5]])).ravel(), atol=1e-13
        )


def test_time_dependent_positions():
    """A bead on a wire that turns at the rate W, 003 Ex 1.1 with the angle given: l'' = W^2 l, and
    L holds the energy of transport.
    """
    bead = ac.particles(
        lambda t, q, W: q[0] * jnp.array([[jnp.cos(W * t), jnp.sin(W * t)]]),
        1.0,
        None,
        1,
        params=2.0,
    )
    assert float(bead.L(0.3, jnp.array([0.5]), jnp.array([0.7]))) == pytest.approx(
        0.5 * (0.7**2 + 4 * 0.5**2), rel=1e-14
    )
    q, v = ac.reference(bead, q0=[0.5], v0=[0.0], ts=[0.0, 1.0])
    np.testing.assert_allclose([q[-1, 0], v[-1, 0]], [0.5 * np.cosh(2.0), np.sinh(2.0)], rtol=1e-10)


# ---------------------------------------------------------------- forces


def follower(t, r, u, params):
    return jnp.stack(
        [
            -0.3 * u[0] + jnp.cos(t) * r[1],
            jnp.array([0.0, jnp.sin(t), 1.0]) - u[1] * jnp.linalg.norm(u[1]),
        ]
    )


def test_generalised_forces(rng):
    """Q_j = sum_i F_i . dr_i/dq_j (003 eq 7), the derivatives by central differences."""
    loaded = system(forces=follower)
    for t, q, v in points(rng):
        J = central_difference(lambda q, t=t: positions(t, q, PARAMS), np.asarray(q))
        r, u = motion(positions, ac.Euclidean(2), t, q, v, PARAMS)
        np.testing.assert_allclose(
            loaded.F(t, q, v), np.einsum("id,idj->j", follower(t, r, u, PARAMS), J), atol=1e-8
        )


def test_moment_as_a_couple_as_a_potential_and_as_a_force(rng):
    """A moment m(t) on a rod is a couple of forces at its ends, V = -m(t) theta (003 eq 19), and Q
    = m(t): the same motion.
    """

    def moment(t):
        return 3.0 * jnp.cos(2 * t)

    def ends(t, q, params):
        arm = 0.4 * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])
        return jnp.stack([q[:2] + arm, q[:2] - arm])

    def couple(t, r, u, params):
        d = r[0] - r[1]
        F = moment(t) / (d @ d) * jnp.array([-d[1], d[0]])
        return jnp.stack([F, -F])

    rod = ac.rigid_body(1.5, 0.2, lambda t, q, params: q)
    pushed = ac.particles(ends, 0.0, None, 3, bodies=[rod], forces=couple)
    loaded = ac.particles(None, None, lambda t, q, params: -moment(t) * q[2], 3, bodies=[rod])
    turned = ac.particles(
        None,
        None,
        None,
        3,
        bodies=[rod],
        force=lambda t, q, v, params: jnp.array([0.0, 0.0, moment(t)]),
    )
    for each in (pushed, loaded, turned):
        compiled = accelerations(each)
        for t, q, v in points(rng, n=3):
            np.testing.assert_allclose(
                compiled(t, q, v), [0.0, 0.0, float(moment(t)) / 0.2], atol=1e-12
            )


def test_a_load_is_a_force_or_a_potential(rng):
    """f(t) on a particle: V = -f(t).r(t, q) (003 eq 17, 18) and `forces` give the same
    accelerations.
    """

    def f(t):
        return jnp.array([[jnp.cos(t), 0.2, t], [0.1, jnp.sin(t), 1.0]])

    loaded = ac.particles(
        positions,
        lambda p: p["m"],
        lambda t, q, p: -jnp.sum(f(t) * positions(t, q, p)),
        2,
        params=PARAMS,
    )
    pushed = system(forces=lambda t, r, u, params: f(t))
    loaded, pushed = accelerations(loaded), accelerations(pushed)
    for t, q, v in points(rng):
        np.testing.assert_allclose(loaded(t, q, v), pushed(t, q, v), atol=1e-11)


def test_rayleigh_is_friction_on_the_particles(rng):
    """Phi = sum mu/2 |u_i|^2 is the friction -mu u_i on each particle (003 eq 22-25); `force` and
    `forces` add.
    """

    def dissipation(t, q, v, params):
        return 0.5 * 0.7 * jnp.sum(motion(positions, ac.Euclidean(2), t, q, v, params)[1] ** 2)

    by_rayleigh, by_forces = (
        system(force=ac.rayleigh(dissipation)),
        system(forces=lambda t, r, u, params: -0.7 * u),
    )
    twice = system(force=ac.rayleigh(dissipation), forces=lambda t, r, u, params: -0.7 * u)
    for t, q, v in points(rng):
        np.testing.assert_allclose(by_rayleigh.F(t, q, v), by_forces.F(t, q, v), atol=1e-12)
        np.testing.assert_allclose(twice.F(t, q, v), 2 * by_forces.F(t, q, v), atol=1e-12)


# ---------------------------------------------------------------- rigid bodies


def test_plane_body(rng):
    """A compound pendulum, hung at a distance d from its centre: (I + m d^2) theta'' = -m g d
    sin(theta).
    """
    m, I, d, g = 1.2, 0.3, 0.5, 9.81

    def pose(t, q, params):
        return jnp.array([d * jnp.sin(q[0]), -d * jnp.cos(q[0]), q[0]])

    swing = ac.particles(
        None,
        None,
        lambda t, q, params: -m * g * d * jnp.cos(q[0]),
        1,
        bodies=[ac.rigid_body(m, I, pose)],
    )
    compiled = accelerations(swing)
    for t, q, v in points(rng, n=1):
        np.testing.assert_allclose(
            compiled(t, q, v), -m * g * d * jnp.sin(q) / (I + m * d**2), atol=1e-13
        )


def euler(angles):
    """R = Rz(phi) Rx(theta) Rz(psi)."""

    def z(a):
        return jnp.array(
            [[jnp.cos(a), -jnp.sin(a), 0.0], [jnp.sin(a), jnp.cos(a), 0.0], [0.0, 0.0, 1.0]]
        )

    x = jnp.array(
        [
            [1.0, 0.0, 0.0],
            [0.0, jnp.cos(angles[1]), -jnp.sin(angles[1])],
            [0.0, jnp.sin(angles[1]), jnp.cos(angles[1])],
        ]
    )
    return z(angles[0]) @ x @ z(angles[2])


def euler_rate(angles, rates):
    """The angular velocity in the body's axes, as books print it (Landau and Lifshitz, Mechanics,
    35.1).
    """
    (_, th, psi), (dphi, dth, dpsi) = angles, rates
    return np.array(
        [
            dphi * np.sin(th) * np.sin(psi) + dth * np.cos(psi),
            dphi * np.sin(th) * np.cos(psi) - dth * np.sin(psi),
            dphi * np.cos(th) + dpsi,
        ]
    )


FULL = np.array([[2.0, 0.3, -0.1], [0.3, 1.5, 0.2], [-0.1, 0.2, 1.0]])


@pytest.mark.parametrize(
    "inertia",
    [np.array([2.0, 1.5, 1.0]), FULL, lambda params: params * FULL],
    ids=["diagonal", "matrix", "params"],
)
@pytest.mark.parametrize("form", ["pair", "matrix"])
def test_space_body_in_euler_angles(inertia, form, rng):
    """T = 1/2 m |dr/dt|^2 + 1/2 w.I w with the w of Euler angles."""

    def pose(t, q, params):
        R, r = euler(q[3:]), q[:3] * jnp.cos(t)
        return (
            (R, r)
            if form == "pair"
            else jnp.block([[R, r[:, None]], [jnp.zeros((1, 3)), jnp.ones((1, 1))]])
        )

    body = ac.rigid_body(lambda params: 3.0 * params, inertia, pose)
    I = 1.1 * FULL if callable(inertia) else np.diag(inertia) if inertia.ndim == 1 else inertia
    for t, q, v in points(rng, n=6):
        w = euler_rate(np.asarray(q[3:]), np.asarray(v[3:]))
        u = np.asarray(v[:3]) * np.cos(t) - np.asarray(q[:3]) * np.sin(t)
        assert float(body(t, q, v, 1.1)) == pytest.approx(
            0.5 * 3.3 * u @ u + 0.5 * w @ I @ w, rel=1e-13
        )


def test_heavy_top_precesses_steadily():
    """A symmetric top: theta'' = 0 where dphi solves A cos(theta) dphi^2 - C w3 dphi + m g d = 0 (A
    about the fixed point).
    """
    m, g, d, C, A0, th, w3 = 1.0, 9.81, 0.3, 0.05, 0.02, 0.6, 30.0
    A = A0 + m * d**2
    dphi = (C * w3 - np.sqrt((C * w3) ** 2 - 4 * A * np.cos(th) * m * g * d)) / (2 * A * np.cos(th))
    top = ac.rigid_body(m, [A0, A0, C], lambda t, q, params: (euler(q), d * euler(q)[:, 2]))
    heavy = ac.particles(
        None, None, lambda t, q, params: m * g * d * jnp.cos(q[1]), 3, bodies=[top]
    )
    q, v = jnp.array([0.3, th, 0.2]), jnp.array([dphi, 0.0, w3 - dphi * np.cos(th)])
    np.testing.assert_allclose(accelerations(heavy)(0.0, q, v), 0.0, atol=1e-10)


def test_a_body_is_its_particles(rng):
    """Four particles on a plane body have its mass and its inertia: the same Lagrangian."""
    arms = np.array([[0.3, 0.0], [-0.3, 0.0], [0.0, 0.5], [0.0, -0.5]])

    def corners(t, q, params):
        c, s = jnp.cos(q[2]), jnp.sin(q[2])
        return q[:2] + arms @ jnp.array([[c, s], [-s, c]])

    inertia = 0.7 * np.sum(arms**2)
    one = ac.particles(
        None, None, None, 3, bodies=ac.rigid_body(2.8, inertia, lambda t, q, params: q)
    )
    many = ac.particles(corners, 0.7, None, 3)
    for t, q, v in points(rng, n=3):
        assert float(one.L(t, q, v)) == pytest.approx(float(many.L(t, q, v)), rel=1e-13)


# ---------------------------------------------------------------- other spaces


def test_on_a_space_that_is_not_flat(rng):
    """On rotations, v is the body's angular velocity: particles fixed in the body and the body
    itself have 1/2 v.I v, and forces their torque.
    """
    space = ac.SO3(retraction="cayley")
    arms = rng.normal(size=(4, 3))
    arms -= arms.mean(axis=0)
    I = 0.7 * sum(np.dot(a, a) * np.eye(3) - np.outer(a, a) for a in arms)
    R, v = euler(jnp.array([0.3, 0.8, -0.5])), jnp.array(rng.normal(size=3))

    def corners(t, R, params):
        return arms @ R.T

    loads = rng.normal(size=(4, 3))
    many = ac.particles(corners, 0.7, None, space, forces=lambda t, r, u, params: loads)
    one = ac.particles(
        None,
        None,
        None,
        space,
        bodies=[ac.rigid_body(0.0, I, lambda t, R, params: (R, jnp.zeros(3)))],
    )
    for each in (many, one):
        assert float(each.L(0.0, R, v)) == pytest.approx(0.5 * float(v @ I @ v), rel=1e-13)
    torque = sum(np.cross(a, np.asarray(R).T @ F) for a, F in zip(arms, loads, strict=True))
    np.testing.assert_allclose(many.F(0.0, R, v), torque, atol=1e-13)


def test_on_a_product():
    """q is a tuple there, and the body is told the space by `particles`."""
    space = ac.Product(ac.Euclidean(2), ac.Torus(1))
    body = ac.rigid_body(2.0, 0.5, lambda t, q, params: jnp.concatenate(q))
    q, v = (jnp.array([0.1, 0.2]), jnp.array([0.3])), jnp.array([1.0, 2.0, 3.0])
    assert float(
        ac.particles(None, None, None, space, bodies=[body]).L(0.0, q, v)
    ) == pytest.approx(5.0 + 0.25 * 9)
    with pytest.raises(ValueError, match="give rigid_body the system's `space`"):
        body(0.0, q, v, None)
    assert float(ac.rigid_body(2.0, 0.5, body.pose, space=space)(0.0, q, v, None)) == pytest.approx(
        5.0 + 0.25 * 9
    )


# ---------------------------------------------------------------- numbers are leaves


def test_other_numbers_compile_nothing():
    """Masses, inertias and params are arguments of compiled code."""

    def pose(t, q, params):
        return jnp.array([q[0], 0.0, params * q[0]])

    place, spring = lambda t, q, params: q[None], lambda t, q, k: 0.5 * k * q[0] ** 2

    def run(mass, inertia, params):
        cart = ac.particles(
            place, mass, spring, 1, params=params, bodies=[ac.rigid_body(mass, inertia, pose)]
        )
        return ac.simulate(cart, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.05, steps=20).q[-1, 0]

    first, seen = run(1.0, 0.5, 2.0), set(auto.programs)
    second = run(3.0, 0.7, 1.0)
    assert set(auto.programs) == seen
    assert abs(first - second) > 0.1


def test_derivatives_by_masses_and_params():
    """d q(T) / d(mass, inertia, params) against central differences."""

    def pose(t, q, params):
        return jnp.array([q[0], 0.0, params * q[0]])

    place, spring = lambda t, q, params: q[None], lambda t, q, k: 0.5 * k * q[0] ** 2

    def end(x):
        cart = ac.particles(
            place, x[0], spring, 1, params=x[2], bodies=[ac.rigid_body(0.0, x[1], pose)]
        )
        return ac.simulate(cart, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=20).q[-1, 0]

    x = jnp.array([1.0, 0.5, 2.0])
    np.testing.assert_allclose(jax.grad(end)(x), central_difference(end, x), atol=1e-8)


# ---------------------------------------------------------------- errors


def LINE(t, q, params):
    return q[None]


def PULL(t, r, u, params):
    return -r


def FLAT(t, q, params):
    return jnp.array([q[0], 0.0, 0.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.particles(None, None, None, 1), "nothing that moves"),
        (lambda: ac.particles(LINE, None, None, 1), "go together"),
        (
            lambda: ac.particles(None, 1.0, None, 1, bodies=[ac.rigid_body(1.0, 1.0, FLAT)]),
            "go together",
        ),
        (
            lambda: ac.particles(
                None, None, None, 1, bodies=[ac.rigid_body(1.0, 1.0, FLAT)], forces=PULL
            ),
            "forces act on particles",
        ),
        (lambda: ac.particles(np.zeros((2, 2)), 1.0, None, 1), "positions must be a function"),
        (lambda: ac.particles(LINE, 1.0, 3.0, 1), "potential must be a function"),
        (lambda: ac.particles(LINE, 1.0, None, 1, forces=3.0), "forces must be a function"),
        (
            lambda: ac.particles(LINE, 1.0, None, 1, forces=PULL, force=3.0),
            "force must be a function",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 1, velocity_potential=3.0),
            "velocity_potential must be a function",
        ),
        (lambda: ac.particles(LINE, "heavy", None, 1), "masses must be a number or a vector"),
        (lambda: ac.particles(LINE, np.eye(2), None, 1), r"masses must be.*shape \(2, 2\)"),
        (lambda: ac.particles(LINE, np.nan, None, 1), "masses must be finite"),
        (lambda: ac.particles(LINE, 1.0, None, 0), "n >= 1"),
        (lambda: ac.particles(LINE, 1.0, None, 1, bodies=[FLAT]), "made by rigid_body"),
        (lambda: ac.rigid_body(1.0, 1.0, np.zeros(3)), "pose must be a function"),
        (lambda: ac.rigid_body([1.0, 2.0], 1.0, FLAT), "mass of a rigid body must be a number"),
        (lambda: ac.rigid_body("heavy", 1.0, FLAT), "mass of a rigid body must be a number"),
        (lambda: ac.rigid_body(1.0, np.ones(2), FLAT), r"inertia.*shape \(2,\)"),
        (lambda: ac.rigid_body(1.0, np.inf, FLAT), "inertia of a rigid body must be finite"),
        (
            lambda: ac.rigid_body(
                1.0, np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), FLAT
            ),
            "symmetric",
        ),
        (lambda: ac.rigid_body(1.0, 1.0, FLAT, space=2), "space must be a Space"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ac.particles(lambda t, q, params: q, 1.0, None, 2),
            r"shape \(2,\). One particle needs brackets",
        ),
        (
            lambda: ac.particles(lambda t, q, params: jnp.stack([q, q]), [1.0, 2.0, 3.0], None, 2),
            r"masses must be.*shape \(2,\).*got shape \(3,\)",
        ),
        (
            lambda: ac.particles(
                lambda t, q, params: q[None], lambda params: jnp.ones((1, 1)), None, 2
            ),
            r"masses must be.*got shape \(1, 1\)",
        ),
        (
            lambda: ac.particles(LINE, 1.0, lambda t, q, params: q, 2),
            "potential must return a scalar",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 2, velocity_potential=lambda t, q, v, params: v),
            "velocity_potential must return a scalar",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 2, forces=lambda t, r, u, params: r[0]),
            r"forces must return.*\(1, 2\).*shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                LINE,
                1.0,
                None,
                2,
                forces=lambda t, r, u, params: r,
                force=lambda t, q, v, params: v[0],
            ),
            r"force must return a covector of shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                None, None, None, 2, bodies=[ac.rigid_body(1.0, 1.0, lambda t, q, params: q)]
            ),
            r"pose must return.*shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                None, None, None, 2, bodies=[ac.rigid_body(1.0, np.ones(3), FLAT)]
            ),
            "inertia.*a number, about the centre",
        ),
        (
            lambda: ac.particles(
                None,
                None,
                None,
                3,
                bodies=[ac.rigid_body(1.0, 1.0, lambda t, q, params: (jnp.eye(3), q))],
            ),
            r"inertia.*shape \(3,\), or a matrix",
        ),
        (
            lambda: ac.particles(
                None,
                None,
                None,
                3,
                bodies=[ac.rigid_body(1.0, np.ones(3), lambda t, q, params: (q, q))],
            ),
            "it returned a pair of shapes",
        ),
        (lambda: ac.particles(lambda t, q, params: 1j * q[None], 1.0, None, 2), "complex"),
    ],
)
def test_what_functions_return_is_checked(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_direction_without_mass_is_named():
    flat = ac.particles(lambda t, q, params: jnp.array([[q[0], 0.0]]), 1.0, None, 2)
    with pytest.raises(ValueError, match="singular"):
        ac.simulate(flat, ac.Midpoint(), q0=[0.0, 0.0], v0=[1.0, 1.0], h=0.1, steps=1)
