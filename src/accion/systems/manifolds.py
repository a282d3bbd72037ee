"""Manifolds of vectors that are neither flat nor groups, as holonomic constraints."""

from dataclasses import dataclass
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from accion.arguments import door, positive, whole
from accion.types import Array, Params, Scalar, Vector


@final
@dataclass(frozen=True)
class OnSphere:
    """phi = (|q|^2 - r^2)/(2 r)."""

    radius: float

    def __call__(self, t: Scalar, q: Vector, params: Params) -> Array:
        # No power: of a float that is too large it raises, where a product is infinite.
        return ((q @ q - self.radius * self.radius) / (2 * self.radius))[None]


@door(radius=positive)
def sphere(radius: float = 1.0) -> Any:
    """The sphere of this radius about the origin of Euclidean(n), S^(n-1), as a holonomic
    constraint:

        System(lagrangian, Euclidean(3), holonomic=sphere())        a system on S^2

        phi(q) = (|q|^2 - r^2)/(2 r)

    Coordinates without a pole: q is the vector itself, and stays on the sphere to roundoff. lam is
    the force along q, outwards.
    """
    return OnSphere(float(radius))


@final
@dataclass(frozen=True)
class Orthonormal:
    """phi = the upper triangle of X X^T - 1, X of k rows."""

    n: int
    k: int

    def __call__(self, t: Scalar, q: Vector, params: Params) -> Array:
        if jnp.shape(q) != (self.n * self.k,):
            raise ValueError(
                f"stiefel({self.n}, {self.k}) is for q of shape ({self.n * self.k},), {self.k}"
                f" vectors of {self.n} numbers one after the other; got shape {jnp.shape(q)}."
            )
        X = jnp.reshape(q, (self.k, self.n))
        return (X @ X.T - jnp.eye(self.k))[np.triu_indices(self.k)]


@door(n=whole, k=whole)
def stiefel(n: int, k: int) -> Any:
    """The Stiefel manifold V_k(R^n) of k orthonormal vectors in R^n, as a holonomic constraint of
    Euclidean(n k):

        System(lagrangian, Euclidean(6), holonomic=stiefel(3, 2))   two axes of a body

        phi(q) = <x_i, x_j> - delta_ij,  i <= j,  for q = (x_1, ..., x_k)

    V_1 is the sphere S^(n-1); V_(n-1) is SO(n), as the last axis follows from the others.
    """
    if k > n:
        raise ValueError(f"there are no {k} orthonormal vectors in {n} dimensions: k <= n.")
    return Orthonormal(n, k)
