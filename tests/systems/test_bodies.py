"""Systems built from particles and rigid bodies: closed forms, finite differences, generalised
forces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines import auto
from tests.helpers import central_difference
from tests.systems.particles_cases import accelerations, points


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
