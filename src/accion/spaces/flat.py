"""Spaces where the retraction is a sum: vectors and angles."""

from dataclasses import dataclass, field
from typing import Any, Literal, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import is_finite, reals, shown, switch
from accion.memory import check_room
from accion.spaces.base import Space, many_runs
from accion.types import Array, ArrayLike, Vector

PER_COORDINATE = 100  # bytes: its name, and a number in a few vectors


def check_vector(
    q: ArrayLike | Any, dim: int, name: str, kind: str = "degree of freedom"
) -> Vector:
    """`q` as a float64 vector of length `dim`, finite; traced values are checked for shape only.

    Arguments: `name`, what an error calls it; `kind`, what there is one number for.
    Raises: ValueError that says what is wrong with it.
    """
    x = reals(q, name, f"an array of {dim} real numbers")
    if x.shape != (dim,):
        hint = f" One number needs brackets: {name}=[{x}]." if x.shape == () and dim == 1 else ""
        hint = hint or many_runs(name, x.shape, (dim,))
        raise ValueError(
            f"{name} must have shape ({dim},), one number for each {kind}; got shape"
            f" {x.shape}.{hint}"
        )
    if not is_finite(x):
        raise ValueError(f"{name} must be finite; got {np.asarray(x)}.")
    return x


def vector_of(x: Any, dim: int, name: str) -> Any:
    """`x` if it is an array of real numbers whose last axis has length `dim`, as it is while JAX
    computes; else `check_vector`, which says what is wrong.
    """
    return x if is_array(x) and x.shape[-1:] == (dim,) else check_vector(x, dim, name)


def is_array(x: Any) -> bool:
    """Whether it is an array of JAX or NumPy of 64 bits."""
    return isinstance(x, jax.Array | np.ndarray) and x.dtype == np.float64 and not is_masked(x)


def is_masked(x: Any) -> bool:
    return isinstance(x, np.ma.MaskedArray)


@dataclass(frozen=True)
class Flat(Space):
    """What `Euclidean` and `Torus` share: the retraction is q + eta.

    With `compensated=False` what rounding takes from an increment is lost: for runs whose outcome
    needs few digits, in two thirds of the time (`benchmarks/attraction.py`).
    """

    n: int
    compensated: bool = field(default=True, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        # an int of Python, which is how the space is written and compared
        kind, n = type(self).__name__, self.n
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(
                f"{kind}(n) needs a number of degrees of freedom n >= 1; got {shown(n)}."
            )
        n = int(n)
        check_room(n * PER_COORDINATE, f"{kind}(n) of n = {shown(n)}", "Take fewer coordinates.")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "compensated", switch(self.compensated, "compensated"))

    @property
    def dim(self) -> int:
        return self.n

    @property
    def flat(self) -> Literal[True]:
        return True

    def identity(self) -> Array:
        return jnp.zeros(self.n)

    def check(self, q: ArrayLike, name: str = "q") -> Array:
        return check_vector(q, self.n, name)

    def retract(self, q: Array, eta: Vector) -> Array:
        return vector_of(q, self.n, "q") + vector_of(eta, self.n, "eta")

    def difference(self, q0: Array, q1: Array) -> Vector:
        return q1 - q0

    def displace(self, q: Array, e: Vector) -> Array:
        return q + e

    def relative(self, x: Vector, e0: Vector, e1: Vector) -> Vector:
        return x + (e1 - e0)

    def displacement(self, q: Array, moved: Array) -> Vector:
        return moved - q

    def velocity(self, x: Vector, rate: Vector) -> Vector:
        return rate

    def rate(self, x: Vector, v: Vector) -> Vector:
        return v

    def ad(self, xi: Vector, eta: Vector) -> Vector:
        return jnp.zeros_like(eta)

    def project(self, q: Array) -> Array:
        return q

    def stretched(self, x: Vector) -> Vector:
        return x

    def within(self, x: Vector) -> Literal[True]:
        return True

    @property
    def chart(self) -> str:
        return ""

    def beyond(self, x: Vector) -> None:
        return None

    def accumulate(self, q: Array, c: Vector, x: Vector) -> tuple[Array, Vector]:
        if not self.compensated:
            return q + x, c
        y = x + c
        q1 = q + y
        return q1, y - (q1 - q)

    def magnitude(self, q: Array) -> Vector:
        return jnp.abs(q)

    def in_letters(self) -> "Flat":
        return self


@final
@dataclass(frozen=True)
class Euclidean(Flat):
    """R^n: a configuration is a vector of `n` numbers."""

    def local(self, q0: Array, q1: Array) -> Vector:
        return vector_of(q1, self.n, "q1") - vector_of(q0, self.n, "q0")

    def coordinates(self) -> tuple[str, ...]:
        return tuple(f"q{i + 1}" for i in range(self.n))


@final
@dataclass(frozen=True)
class Torus(Flat):
    """`n` angles in radians.

    `local` is the short way round, in [-pi, pi]. A trajectory is not wrapped: its angles count
    whole turns.
    """

    def local(self, q0: Array, q1: Array) -> Vector:
        d = vector_of(q1, self.n, "q1") - vector_of(q0, self.n, "q0")
        return d - 2 * jnp.pi * jnp.round(d / (2 * jnp.pi))

    def coordinates(self) -> tuple[str, ...]:
        return tuple(f"q{i + 1} [rad]" for i in range(self.n))
