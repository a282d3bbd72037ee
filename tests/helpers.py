"""What tests of several rooms share."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac


def quick():
    """(room, file or test) of tests/quick.txt."""
    lines = (Path(__file__).parent / "quick.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def pendulum_lagrangian(t, q, v, params):
    return 0.5 * params["m"] * params["l"] ** 2 * v[0] ** 2 + params["m"] * params[
        "gravity"
    ] * params["l"] * jnp.cos(q[0])


PENDULUM = ac.System(
    pendulum_lagrangian,
    ac.Torus(1),
    {"m": 1.3, "l": 0.7, "gravity": 9.81},
    coordinates=("theta [rad]",),
    name="pendulum",
)


def central_difference(f, x, e=1e-5):
    """The derivative of f at the vector x, column by column."""
    columns = [
        (np.asarray(f(x + e * d)) - np.asarray(f(x - e * d))) / (2 * e) for d in np.eye(len(x))
    ]
    return np.stack(columns, axis=-1)


def leaves_close(a, b, tolerance):
    return all(
        np.allclose(x, y, rtol=tolerance, atol=tolerance)
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )
