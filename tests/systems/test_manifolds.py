"""Spheres and Stiefel manifolds: against the spherical pendulum in angles and the rigid body."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac

LENGTH, GRAVITY = 0.7, 9.81


def on_sphere(t, q, v, params):
    return 0.5 * v @ v - GRAVITY * q[2]


def in_angles(t, q, v, params):
    """theta from below, phi about the vertical."""
    turned = v[0] ** 2 + jnp.sin(q[0]) ** 2 * v[1] ** 2
    return 0.5 * LENGTH**2 * turned + GRAVITY * LENGTH * jnp.cos(q[0])


def place(angles):
    theta, phi = angles
    return LENGTH * jnp.stack(
        [jnp.sin(theta) * jnp.cos(phi), jnp.sin(theta) * jnp.sin(phi), -jnp.cos(theta)]
    )


def test_the_spherical_pendulum():
    """A run on S^2 meets the motion in angles; it stays on the sphere and keeps its momentum about
    the vertical to roundoff, and lam is the force of the rod.
    """
    pendulum = ac.System(on_sphere, ac.Euclidean(3), holonomic=ac.sphere(LENGTH))
    q0, v0 = jnp.array([1.1, 0.4]), jnp.array([0.5, 2.5])
    rate = np.array([0.0, 0.0, 0.0])
    for i in range(2):
        e = 1e-6 * np.eye(2)[i]
        rate += np.asarray(place(q0 + e) - place(q0 - e)) / 2e-6 * float(v0[i])
    p0 = np.asarray(place(q0))
    rate -= p0 * (p0 @ rate) / (p0 @ p0)
    run = ac.simulate(pendulum, ac.Galerkin(2), q0=p0, v0=rate, h=0.02, steps=50)
    angles = ac.System(in_angles, ac.Euclidean(2))
    exact = ac.reference(angles, q0=q0, v0=v0, ts=[0.0, 1.0], rtol=1e-11, atol=1e-11)[0]
    np.testing.assert_allclose(run.q[-1], place(exact[-1]), atol=3e-6)
    q, v = np.asarray(run.q), np.asarray(run.v)
    assert np.max(np.abs(np.linalg.norm(q, axis=1) - LENGTH)) < 1e-14
    L = q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0]
    assert np.max(np.abs(L - L[0])) < 1e-13
    # of the rod: m v^2/l against the weight along it
    force = -(v[0] @ v[0]) / LENGTH + GRAVITY * q[0, 2] / LENGTH
    assert np.asarray(run.lam)[0, 0] == pytest.approx(force, rel=1e-3)


def test_two_axes_of_a_free_body():
    """Of x_1, x_2 in V_2(R^3) with L = (|x_1'|^2 + |x_2'|^2)/2 the motion is that of a body with
    moments (1, 1, 2), which rotates with x_1 and x_2 as its first two axes.
    """
    axes = ac.System(
        lambda t, q, v, params: 0.5 * v @ v, ac.Euclidean(6), holonomic=ac.stiefel(3, 2)
    )
    group, omega = ac.SO3(), jnp.array([0.4, -0.7, 0.9])
    R = group.tau(jnp.array([0.3, 0.1, -0.5]))
    assert np.max(np.abs(ac.stiefel(3, 2)(0.0, R.T[:2].ravel(), None))) < 1e-15
    spin = group.hat(omega)
    rates = (R @ spin).T[:2].ravel()
    a, _ = ac.accelerations(axes)(0.0, R.T[:2].ravel(), rates)
    moments = jnp.array([1.0, 1.0, 2.0])
    turning = jnp.cross(moments * omega, omega) / moments  # Euler's equations
    expected = (R @ (spin @ spin + group.hat(turning))).T[:2].ravel()
    np.testing.assert_allclose(a, expected, atol=1e-13)


def test_bad_manifolds_are_named():
    with pytest.raises(ValueError, match="radius must be"):
        ac.sphere(-1.0)
    with pytest.raises(ValueError, match="no 3 orthonormal vectors in 2 dimensions"):
        ac.stiefel(2, 3)
    with pytest.raises(ValueError, match=r"stiefel\(3, 2\) is for q of shape \(6,\)"):
        ac.System(on_sphere, ac.Euclidean(4), holonomic=ac.stiefel(3, 2)).check()
