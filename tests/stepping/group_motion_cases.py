"""Systems and motions that several files of tests share."""

import jax.numpy as jnp
import numpy as np

import accion as ac

INERTIA = np.array([1.0, 2.0, 3.0])


TOP = {"I": INERTIA, "weight": np.array([0.3, -0.5, 1.1])}


XI = np.array([0.4, 1.0, -0.3])


def top_lagrangian(t, R, xi, params):
    """A top in a field that is not symmetric, with a mass that changes."""
    return jnp.exp(-0.1 * t) * (
        0.5 * jnp.sum(params["I"] * xi**2) - (R @ params["weight"])[2] - 0.2 * R[0, 1] ** 2
    )


def top(space=None):
    return ac.System(top_lagrangian, space or ac.SO3(), TOP, name="top")


def start(dim):
    """A configuration away from the identity."""
    space = ac.SO3() if dim == 3 else ac.SE3()
    return np.asarray(space.tau(np.linspace(0.2, 0.9, dim)))
