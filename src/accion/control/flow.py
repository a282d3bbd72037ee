"""Accurate integration over short intervals, inside compiled code: extrapolation of the midpoint rule (Gragg, Bulirsch and Stoer), order 8.

For the many short intervals of multiple shooting and of replay, where controls jump, a compiled rule of high order with fixed pieces is called
for; its error is seen by taking half the pieces.
"""

import jax
import numpy as np

SEQUENCE = (2, 4, 6, 8)


def midpoints(rates, t, y, h, count):
    """The state after h by `count` steps of the explicit midpoint rule, smoothed; its error has even powers of h only."""
    d = h / count
    first = jax.tree.map(lambda a, b: a + d * b, y, rates(t, y))

    def step(i, pair):
        before, here = pair
        after = jax.tree.map(lambda a, b: a + 2 * d * b, before, rates(t + i * d, here))
        return here, after

    before, here = jax.lax.fori_loop(1, count, step, (y, first))
    last = rates(t + h, here)
    return jax.tree.map(lambda a, b, c: (a + b + d * c) / 2, before, here, last)


def extrapolated(rates, t, y, h):
    """The state after h, to order 8, of y' = rates(t, y), y a pytree."""
    rows = [midpoints(rates, t, y, h, count) for count in SEQUENCE]
    squares = np.array(SEQUENCE, dtype=float) ** 2
    weights = [float(np.prod([s / (s - r) for r in squares if r != s])) for s in squares]
    return jax.tree.map(lambda *a: sum(w * x for w, x in zip(weights, a, strict=True)), *rows)


def flow(rates, t, y, h, pieces):
    """The same in `pieces` steps, which may be traced."""
    d = h / pieces
    return jax.lax.fori_loop(0, pieces, lambda i, y: extrapolated(rates, t + i * d, y, d), y)
