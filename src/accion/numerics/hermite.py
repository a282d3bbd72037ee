"""The polynomial through values and slopes at some nodes."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


class Weights(NamedTuple):
    """What each node adds to the polynomial and to its derivative; `l` without velocities."""

    a: Any
    b: Any
    da: Any
    db: Any
    l: Any


def weights_of(nodes: np.ndarray, t: np.ndarray) -> Weights:
    """Those of Hermite's polynomial at the times t, shape (times,), through nodes at the times
    `nodes`, shape (times, m).
    """
    count = nodes.shape[1]
    H = (nodes[:, -1:] - nodes[:, :1]) / max(1, count - 1)
    H = np.where(H > 0, H, 1.0)
    s, x = nodes / H, t[:, None] / H
    gap = s[:, :, None] - s[:, None, :] + np.eye(count)
    beside = ~np.eye(count, dtype=bool)
    ratio = np.where(beside, (x[:, :, None] - s[:, None, :]) / gap, 1.0)
    l = np.prod(ratio, axis=2)
    slope = np.zeros_like(l)
    for k in range(count):
        rest = np.where(np.arange(count) == k, 1.0, ratio)
        slope += np.where(np.arange(count) == k, 0.0, np.prod(rest, axis=2) / gap[:, :, k])
    own = np.sum(np.where(beside, 1 / gap, 0.0), axis=2)
    e = x - s
    return Weights(
        (1 - 2 * e * own) * l**2,
        H * e * l**2,
        (-2 * own * l**2 + 2 * (1 - 2 * e * own) * l * slope) / H,
        l**2 + 2 * e * l * slope,
        l,
    )


def combined(weights: Any, rows: Any) -> Any:
    """The sum of `rows`, shape (m, ...), each times its weight."""
    return (
        jnp.tensordot(weights, rows, 1)
        if rows.ndim == 1
        else jnp.sum(jnp.reshape(weights, (-1,) + (1,) * (rows.ndim - 1)) * rows, axis=0)
    )
