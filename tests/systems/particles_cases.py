"""Systems and motions that several files of tests share."""

import jax
import jax.numpy as jnp

import accion as ac

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
