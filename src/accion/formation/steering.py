"""The steering of a formation as a whole, by its linear and angular momentum (Colombo-Gamonal,
Remark 2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from accion.arguments import finite
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, Covector, Params, Scalar, Vector


@final
@dataclass(frozen=True)
class Steering:
    """The force u_i = k_i (c + omega x (q_i - centroid)), with which agents are damped towards a
    motion of the whole instead of towards rest; c and omega are functions of t.
    """

    dimension: int
    velocity: Callable[[Scalar], Any]
    spin: Callable[[Scalar], Any]

    def __call__(self, t: Scalar, q: Vector, v: Vector, params: Params) -> Covector:
        """The force, with the gains params["k"] or one for all, params["kappa"]."""
        x = q.reshape(-1, self.dimension)
        x = x - jnp.mean(x, axis=0)
        k = params["k"][:, None] if "k" in params else params["kappa"]
        return (k * (jnp.asarray(self.velocity(t)) + turned(self.spin(t), x))).ravel()


def steering(dimension: int, velocity: Any, spin: Any) -> Steering:
    """The steering of agents in R^d, where `velocity` and `spin` are numbers or functions of t.

    Raises: ValueError where they have another shape.
    """
    axis = () if dimension == 2 else (3,)
    spin = np.zeros(axis) if spin is None else spin
    c = of_time("velocity", velocity, (dimension,))
    return Steering(dimension, c, of_time("spin", spin, axis))


def of_time(name: str, given: Any, shape: tuple[int, ...]) -> Callable[[Scalar], Any]:
    """A vector, or a function of t, as a function of t."""
    words = f"a vector of shape {shape}" if shape else "a number"
    if callable(given):
        check_function(name, given, "t")
        check_returns(name, evaluate(name, given, jnp.zeros(()), takes="(t)"), shape, words)
        return given
    fixed = np.asarray(finite(given, name, f"{words}, or a function of t"))
    if fixed.shape != shape:
        raise ValueError(f"{name} must be {words}, or a function of t; got shape {fixed.shape}.")
    return lambda t: fixed


def turned(omega: Any, x: Array) -> Array:
    """omega x of each row of `x`, shape (n, d)."""
    if x.shape[1] == 2:
        return omega * jnp.stack([-x[:, 1], x[:, 0]], axis=1)
    return jnp.cross(jnp.asarray(omega), x)
