"""The three spaces on which every kind of system is tried: vectors, a group, a product."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac


@dataclass(frozen=True)
class Place:
    """A space, with what systems there are made of.

    `long` says which coordinates are lengths (the others are angles), and `bare(q, length)` is q
    without the unit of length. The rest is in units of one: `height` is a potential, `ratio` the
    r(q) of the constraint v_last = r(q) v_first, `phi` a holonomic constraint that holds at `q0`
    with the velocity `on_phi`.
    """

    space: Any
    long: np.ndarray
    bare: Callable[..., Any]
    inertia: np.ndarray
    height: Callable[..., Any]
    ratio: Callable[..., Any]
    phi: Callable[..., Any]
    q0: Any
    v0: np.ndarray  # with v_last = ratio(q0) v_first
    on_phi: np.ndarray

    @property
    def n(self) -> int:
        return self.space.dim


PLACES = {
    "vectors": Place(
        ac.Euclidean(2),
        np.array([True, True]),
        lambda q, length: q / length,
        np.array([1.0, 2.0]),
        lambda q: jnp.sin(q[0]) + q[1] ** 2 / 2,
        lambda q: 1 + q[0] ** 2,
        lambda q: q[1] - q[0] ** 2,
        np.array([0.5, 0.25]),
        np.array([0.4, 0.5]),
        np.array([0.4, 0.4]),
    ),
    "a group": Place(
        ac.SO3(),
        np.array([False, False, False]),
        lambda R, length: R,
        np.array([1.0, 2.0, 2.5]),
        lambda R: R[2, 2],
        lambda R: R[0, 0],
        lambda R: R[2, 0],
        np.eye(3),
        np.array([0.3, 0.2, 0.3]),
        np.array([0.3, 0.0, 0.2]),
    ),
    "a product": Place(
        ac.Product(ac.SO2(), ac.Euclidean(1)),
        np.array([False, True]),
        lambda q, length: (q[0], q[1] / length),
        np.array([1.0, 2.0]),
        lambda q: q[0][0, 0] + q[1][0] ** 2 / 2,
        lambda q: 1 + q[1][0] ** 2,
        lambda q: q[1][0] - q[0][1, 0],
        (np.eye(2), np.zeros(1)),
        np.array([0.4, 0.4]),
        np.array([0.4, 0.4]),
    ),
}
