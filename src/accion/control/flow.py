"""Accurate integration over short intervals, inside compiled code: extrapolation of the midpoint
rule (Gragg, Bulirsch and Stoer), order 8.

For the many short intervals of multiple shooting and of replay, where controls jump, a compiled
rule of high order with fixed pieces is called for; its error is seen by taking half the pieces.
"""

import jax
import jax.numpy as jnp
import numpy as np

SEQUENCE = (2, 4, 6, 8)


def midpoints(rates, t, y, h, count):
    """The state after h by `count` steps of the explicit midpoint rule, smoothed; its error has
    even powers of h only.

    The first step is Euler's, the last half of one smooths: all in one loop, so that `rates` is
    traced once.
    """
    d = h / count

    def step(i, pair):
        before, here = pair
        slope = rates(t + i * d, here)
        first, last = i == 0, i == count
        reach = jnp.where(first | last, d, 2 * d)

        def ahead(a, b, c):
            return jnp.where(last, (a + b + reach * c) / 2, jnp.where(first, b, a) + reach * c)

        return here, jax.tree.map(ahead, before, here, slope)

    return jax.lax.fori_loop(0, count + 1, step, (y, y))[1]


def extrapolated(rates, t, y, h):
    """The state after h, to order 8, of y' = rates(t, y), y a pytree."""
    squares = np.array(SEQUENCE, dtype=float) ** 2
    weights = jnp.asarray([np.prod([s / (s - r) for r in squares if r != s]) for s in squares])

    def add(total, pair):
        weight, count = pair
        return (
            jax.tree.map(lambda a, b: a + weight * b, total, midpoints(rates, t, y, h, count)),
            None,
        )

    zero = jax.tree.map(jnp.zeros_like, y)
    return jax.lax.scan(add, zero, (weights, jnp.asarray(SEQUENCE)))[0]


def flow(rates, t, y, h, pieces):
    """The same in `pieces` steps, which may be traced."""
    d = h / pieces
    return jax.lax.fori_loop(0, pieces, lambda i, y: extrapolated(rates, t + i * d, y, d), y)
