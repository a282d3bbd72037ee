"""What goes along a polynomial on a step: the controls, through the places where they are given,
and the configuration, through the ends and the inner points.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.methods import Method
from accion.types import Array, Configuration, Scalar, Vector


def weights(places: Sequence[float], s: Any) -> list[Any]:
    """Of the values at `places` in the value at s of the polynomial through them, all as fractions
    of a step (Lagrange).
    """
    found = []
    for i, own in enumerate(places):
        one: Any = 1.0
        for other in (*places[:i], *places[i + 1 :]):
            one = one * ((s - other) / (own - other))
        found.append(one)
    return found


def between(places: Sequence[float], values: Any, s: Any) -> Any:
    """The value at the fraction s of a step of the polynomial through `values`, whose first axis
    counts the places.
    """
    return sum(w * value for w, value in zip(weights(places, s), values, strict=True))


def on_the_way(
    method: Method,
    space: Any,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    inner: Array,
    s: Scalar,
) -> tuple[Configuration, Vector]:
    """(q, v) at the fraction s of a step by the increment x, whose inner points have the increments
    `inner`.
    """
    places = tuple(float(c) for c in method.places)
    through = (jnp.zeros_like(x), *inner, x)
    xi, rate = jax.jvp(lambda s: between(places, through, s), (s,), (jnp.ones_like(s),))
    return space.retract(q0, xi), space.velocity(xi, rate / h)


def pieces(
    places: Sequence[float], values: np.ndarray, t: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """The values at times `at` of what is a polynomial on each step between the times `t`; `values`
    has shape (steps, places, ...).
    """
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    part = (at - t[k]) / (t[k + 1] - t[k])
    own = np.moveaxis(values[k], 1, 0)
    return between(places, own, np.reshape(part, (-1, *(1,) * (values.ndim - 2))))
