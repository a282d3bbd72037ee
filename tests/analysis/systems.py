"""Systems and methods that the tests of analysis share."""

import jax.numpy as jnp

import accion as ac

METHODS = [ac.LeftRectangle(), ac.RightRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3)]
SIMPSON = ac.FiniteDifference(
    lambda h, a, b: [
        (w, c, (1 - c) * a + c * b, (b - a) / h)
        for w, c in ((1 / 6, 0.0), (2 / 3, 0.5), (1 / 6, 1.0))
    ]
)
PENDULUM = ac.System(
    lambda t, q, v, p: 0.5 * v[0] ** 2 + jnp.cos(q[0]),
    ac.Torus(1),
    coordinates=("q",),
    name="pendulum",
)
DECAYING = ac.System(
    lambda t, q, v, p: jnp.exp(-0.3 * t) * (0.5 * v[0] ** 2 + jnp.cos(q[0])),
    ac.Torus(1),
    coordinates=("q",),
    name="decaying pendulum",
)
