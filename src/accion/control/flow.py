"""Accurate integration over short intervals, inside compiled code: extrapolation of the midpoint
rule (Gragg, Bulirsch and Stoer), order 8.

For the many short intervals of multiple shooting and of replay, where controls jump, a compiled
rule of high order with fixed substeps is called for; its error is seen by taking half of them.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.types import Array, Scalar

SEQUENCE = (2, 4, 6, 8)
Rates = Callable[[Scalar, Any], Any]  # y' = rates(t, y), y a pytree


def midpoints(rates: Rates, t: Scalar, y: Any, h: Scalar, count: Array | int) -> Any:
    """The state after h by `count` steps of the explicit midpoint rule, smoothed; its error has
    even powers of h only.

    The first step is Euler's, the last half of one smooths: all in one loop, so that `rates` is
    traced once.
    """
    d = h / count

    def step(i: Array, pair: Any) -> Any:
        before, here = pair
        slope = rates(t + i * d, here)
        first, last = i == 0, i == count
        reach = jnp.where(first | last, d, 2 * d)

        def ahead(a: Array, b: Array, c: Array) -> Array:
            return jnp.where(last, (a + b + reach * c) / 2, jnp.where(first, b, a) + reach * c)

        return here, jax.tree.map(ahead, before, here, slope)

    return jax.lax.fori_loop(0, count + 1, step, (y, y))[1]


def extrapolated(rates: Rates, t: Scalar, y: Any, h: Scalar) -> Any:
    """The state after h, to order 8, of y' = rates(t, y), y a pytree."""
    squares = np.array(SEQUENCE, dtype=float) ** 2
    weights = jnp.asarray([np.prod([s / (s - r) for r in squares if r != s]) for s in squares])

    def add(total: Any, pair: Any) -> tuple[Any, None]:
        weight, count = pair
        found = midpoints(rates, t, y, h, count)
        return jax.tree.map(lambda a, b: a + weight * b, total, found), None

    zero = jax.tree.map(jnp.zeros_like, y)
    return jax.lax.scan(add, zero, (weights, jnp.asarray(SEQUENCE)))[0]


def flow(rates: Rates, t: Scalar, y: Any, h: Scalar, substeps: Array | int) -> Any:
    """The same in `substeps` steps, which may be traced."""
    d = h / substeps
    return jax.lax.fori_loop(0, substeps, lambda i, y: extrapolated(rates, t + i * d, y, d), y)
