"""Lifts of vector fields to higher derivatives, and a system of five degrees of freedom."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

import accion as ac

LENGTH, GRAVITY = 0.8, 9.81


def test_the_lift_of_a_field_to_derivatives():
    """X_s is d^s/dt^s X(q(t)), of a nonlinear field along a curve; on a group X_1 has [v, X]
    besides, and is what the flow of X does to the velocity.
    """

    def X(q):
        return jnp.array([q[0] * q[1], jnp.sin(q[0])])

    def curve(t):
        return jnp.array([0.3 + t - 0.4 * t**2 + 0.2 * t**3, -0.5 + 0.7 * t**2 + 0.1 * t**3])

    def derivative(f, s):
        return f if s == 0 else derivative(jax.jacfwd(f), s - 1)

    system = ac.HigherOrderSystem(
        lambda t, q, v, a, j, p: 0.5 * j @ j, ac.Euclidean(2), order=3, name="jerk"
    )
    jets = jnp.stack([derivative(curve, s)(0.2) for s in (1, 2, 3)])
    lifted = system.prolongation(X, curve(0.2), jets)
    along = [derivative(lambda t: X(curve(t)), s)(0.2) for s in range(4)]
    assert_allclose(lifted, np.stack(along), rtol=1e-13)

    space, v = ac.SO3(), jnp.array([0.3, -0.2, 0.5])
    body = ac.HigherOrderSystem(lambda t, q, v, a, p: 0.5 * a @ a, space)
    jets = jnp.stack([v, jnp.array([0.1, 0.4, -0.3])])
    q = space.retract(space.identity(), jnp.array([0.4, 0.1, -0.6]))

    def turned(q):
        """A turn of space about its third axis, seen from the body."""
        return q[2]

    found = body.prolongation(turned, q, jets)
    # Turning space changes no velocity of the body, nor its derivative.
    assert_allclose(found[0], q[2], rtol=1e-15)
    assert_allclose(found[1:], 0, atol=1e-15)


def rod_on_a_hand():
    """A uniform rod as two points that have its mass and moments, on a hand that moves in space;
    its two angles are turns about x and y.
    """

    def positions(t, q, params):
        d = jnp.array(
            [jnp.sin(q[4]) * jnp.cos(q[3]), -jnp.sin(q[3]), jnp.cos(q[4]) * jnp.cos(q[3])]
        )
        ends = LENGTH * (0.5 + jnp.array([-1.0, 1.0]) / jnp.sqrt(12.0))
        return jnp.concatenate([q[None, :3], q[:3] + ends[:, None] * d])

    masses = jnp.array([0.4, 0.1, 0.1])
    names = ("x [m]", "y [m]", "z [m]", "a [rad]", "b [rad]")
    return ac.particles(
        positions,
        masses,
        lambda t, q, p: GRAVITY * jnp.sum(masses * positions(t, q, p)[:, 2]),
        5,
        coordinates=names,
        name="a rod on a hand",
    )


def test_a_rod_on_a_hand():
    """Figure 1.1 of the vakonomic thesis: five degrees of freedom, of which the hand moves three.
    Upright it is held by its weight; tilted, it falls as a rod does whose foot is accelerated, 2 l
    b''/3 = g sin b - x'' cos b, and two equations without controls remain.
    """
    system = rod_on_a_hand()
    problem = ac.ControlProblem(
        system,
        lambda t, q, v, u, p: 0.5 * u @ u,
        actuated=["x", "y", "z"],
        start=(np.zeros(5), np.zeros(5)),
        end=([0.1, 0, 0, 0, 0], np.zeros(5)),
        duration=1.0,
    )
    face = problem.vakonomic()
    assert face.multipliers == 2
    still = np.zeros((3, 5))
    assert_allclose(face.Phi(0.0, jnp.zeros(5), jnp.array(still)), 0, atol=1e-15)
    weight = float(face.L(0.0, jnp.zeros(5), jnp.array(still)))
    assert_allclose(weight, 0.5 * (0.6 * GRAVITY) ** 2, rtol=1e-14)
    b, pushed = 0.2, 1.5
    falls = 1.5 / LENGTH * (GRAVITY * np.sin(b) - pushed * np.cos(b))
    a = jnp.array([pushed, 0.0, 0.0, 0.0, falls])
    jets = jnp.stack([jnp.zeros(5), a, jnp.zeros(5)])
    tilted = jnp.array([0, 0, 0, 0, b])
    assert_allclose(face.Phi(0.0, tilted, jets), 0, atol=1e-14)
    still = face.Phi(
        0.0, tilted, jets.at[1, 4].set(0.0)
    )  # the moment that holds the rod is missing
    assert_allclose(np.abs(still), [0, 0.2 * LENGTH**2 / 3 * falls], atol=1e-14)
