"""Matrix Lie groups: what they share."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.arguments import is_finite, reals, shown
from accion.spaces.base import Space, many_runs
from accion.spaces.flat import is_array, vector_of
from accion.spaces.retractions import OwnTau, Retraction, TauMap
from accion.spaces.rotations import product
from accion.types import Array, ArrayLike, Vector

ON_GROUP = 1e-9  # how far from the group a matrix may be that a user passes


class Group(Space):
    """A group of matrices. A configuration is a matrix g; a velocity xi is that of the body, g' = g
    hat(xi) (left trivialised).

    The retraction is g tau(eta) with tau = `exp` or `cayley`, or a `Retraction` of the user's own;
    `tau_inverse`, `dtau` (the left-trivialised tangent tau(x)^-1 d tau(x).eta = dtau(x) eta) and
    its inverse belong to it. Functions take one element; use jax.vmap for many.
    """

    retraction: str | Retraction

    @property
    def flat(self) -> Literal[False]:
        return False

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows of a matrix of the group."""

    @property
    @abstractmethod
    def retractions(self) -> Mapping[str, Callable[[], TauMap]]:
        """Those that have a name."""

    @abstractmethod
    def hat(self, xi: Vector) -> Array:
        """The matrix of the algebra with the components `xi`."""

    @abstractmethod
    def vee(self, A: Array) -> Vector:
        """The components of a matrix of the algebra (of another, those of its part in it), shape
        (dim,).
        """

    @abstractmethod
    def inverse(self, g: Array) -> Array:
        """g^-1."""

    @abstractmethod
    def distance(self, g: np.ndarray) -> tuple[float, str]:
        """How far a matrix is from the group, and which of its laws it breaks."""

    @abstractmethod
    def corrected(self, g: Array) -> Array:
        """`g` with its rounding errors off the group taken away, at the cost of a few products."""

    @abstractmethod
    def letters(self) -> tuple[list[list[Any]], tuple[str, ...]]:
        """Names for the entries of g, as a nested list with numbers where they are fixed, and for
        the components of a velocity.
        """

    # ---------------------------------------------------------------- the retraction

    @property
    def tau_map(self) -> TauMap:
        """The retraction, as functions."""
        if isinstance(self.retraction, Retraction):
            return OwnTau(self, self.retraction)
        return self.retractions[self.retraction]()

    def check_retraction(self) -> None:
        """Look whether the retraction is one of this group.

        Raises: ValueError that says why it is not, or which there are.
        """
        known = isinstance(self.retraction, str) and self.retraction in self.retractions
        if not known and not isinstance(self.retraction, Retraction):
            names = (name for name in self.retractions if " " not in name)
            raise ValueError(
                f"there is no retraction {shown(self.retraction)}. Try one of:"
                f" {', '.join(names)}, or a Retraction(tau, inverse)."
            )
        self.tau_map.check()

    def tau_minus_one(self, x: Vector) -> Array:
        """tau(x) - 1, to relative accuracy."""
        return self.tau_map.minus_one(x)

    def tau(self, x: Vector) -> Array:
        """The matrix tau(x) of the group."""
        return jnp.eye(self.size) + self.tau_minus_one(x)

    def tau_inverse(self, g: Array) -> Vector:
        """x with tau(x) = g, shape (dim,)."""
        return self.tau_map.inverse(g)

    def dtau(self, x: Vector) -> Array:
        """The left-trivialised tangent of tau at `x`, shape (dim, dim)."""
        back = self.inverse(self.tau(x))
        return jax.vmap(lambda A: self.vee(product(back, A)), in_axes=-1, out_axes=-1)(
            jax.jacfwd(self.tau_minus_one)(x)
        )

    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        """Its inverse applied to `e`, shape (dim,): the change of tau^-1(tau(x) tau(e)) with e."""
        return self.tau_map.dtau_inverse(x, e)

    def velocity(self, x: Vector, rate: Vector) -> Vector:
        return self.tau_map.dtau(x, rate)

    def rate(self, x: Vector, v: Vector) -> Vector:
        return self.tau_map.dtau_inverse(x, v)

    def stretched(self, x: Vector) -> Vector:
        return self.tau_map.stretched(x)

    def within(self, x: Vector) -> Array:
        return self.tau_map.within(x)

    @property
    def chart(self) -> str:
        return self.tau_map.chart

    def beyond(self, x: Vector) -> str | None:
        return self.tau_map.beyond(x)

    # ---------------------------------------------------------------- the space

    def relative(self, x: Vector, e0: Vector, e1: Vector) -> Vector:
        y = x - self.dtau_inverse(-x, e0)
        return y + self.dtau_inverse(y, e1)

    def Ad(self, g: Array) -> Array:
        """The matrix of xi -> g xi g^-1, shape (dim, dim)."""
        back = self.inverse(g)
        return jax.vmap(lambda xi: self.vee(product(product(g, self.hat(xi)), back)), out_axes=-1)(
            jnp.eye(self.dim)
        )

    def identity(self) -> Array:
        return jnp.eye(self.size)

    def retract(self, q: Array, eta: Vector) -> Array:
        q, eta = self.element(q, "q"), vector_of(eta, self.dim, "eta")
        return q + product(q, self.tau_minus_one(eta))

    def element(self, q: Any, name: str) -> Any:
        """`q` if it is an array of the right shape, as it is while JAX computes; else `check`,
        which says what is wrong.
        """
        shaped = is_array(q) and q.shape == (self.size, self.size)
        return q if shaped else self.check(q, name)

    def displace(self, q: Array, e: Vector) -> Array:
        A = self.hat(e)
        return q + product(q, A + product(A, A) / 2)

    def local(self, q0: Array, q1: Array) -> Vector:
        q0, q1 = self.element(q0, "q0"), self.element(q1, "q1")
        return self.tau_inverse(product(self.inverse(q0), q1))

    def difference(self, q0: Array, q1: Array) -> Vector:
        return self.local(q0, q1)

    def displacement(self, q: Array, moved: Array) -> Vector:
        return self.vee(product(self.inverse(q), moved - q))

    def accumulate(self, q: Array, c: Vector, x: Vector) -> tuple[Array, Vector]:
        D = product(q, self.tau_minus_one(x + c))
        q1 = self.corrected(q + D)
        return q1, self.vee(product(self.inverse(q1), D - (q1 - q)))

    def check(self, q: ArrayLike, name: str = "q") -> Array:
        words = f"a matrix of {type(self).__name__}, shape ({self.size}, {self.size})"
        found: Any = reals(q, name, words)
        if found.shape != (self.size, self.size):
            hint = many_runs(name, found.shape, (self.size, self.size))
            raise ValueError(f"{name} must be {words}; got shape {found.shape}.{hint}")
        if isinstance(found, Tracer):
            return found
        if not is_finite(found):
            raise ValueError(f"{name} must be finite; got {np.asarray(found)}.")
        far, law = self.distance(np.asarray(found))
        if far > ON_GROUP:
            raise ValueError(
                f"{name} is not in {self}: {law}, off by {far:.3g}. The nearest matrix that is:"
                f" space.project({name})."
            )
        return found
