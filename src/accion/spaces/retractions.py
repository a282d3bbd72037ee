"""Retractions of groups: what a group asks of one, and one of the user's own."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import reals, shown
from accion.errors import in_function
from accion.numerics import newton
from accion.spaces.rotations import product
from accion.types import Array, ArrayLike, Vector

AGREES = 1e-10  # how far the functions of a retraction may be from each other
# Increments that they are tried with: two directions of these lengths.
TRIED = (0.05, 0.4)


@final
@dataclass(frozen=True)
class Retraction:
    """A retraction of one's own, for a group: `SO3(retraction=Retraction(tau, inverse))`.

    A step goes from g to g tau(x), as with `exp` and `cayley`. It must be symmetric,
    tau(-xi) = tau(xi)^-1, or methods would lose their order; from any map sigma with
    sigma(0) = 1 that has the tangent 1 there, sigma(xi/2) sigma(-xi/2)^-1 is.

    Arguments: `tau(xi)`, a matrix of the group for xi of shape (dim,), in JAX, smooth at 0, with
    d tau(0) = hat; `inverse(g)`, xi with tau(xi) = g, shape (dim,), smooth near the identity;
    `tangent(xi)`, shape (dim, dim), the matrix of its left-trivialised tangent,
    tau(xi)^-1 d tau(xi).eta = hat(tangent(xi) eta), taken by differentiation where it is None.

    It is compared by its functions: make it once, so that compiled code is shared. Reference:
    Bou-Rabee and Marsden, Hamilton-Pontryagin integrators on Lie groups, part I (2009).
    """

    tau: Callable[[Vector], ArrayLike]
    inverse: Callable[[Array], ArrayLike]
    tangent: Callable[[Vector], ArrayLike] | None = None

    def __post_init__(self) -> None:
        for name, f in (("tau", self.tau), ("inverse", self.inverse), ("tangent", self.tangent)):
            if not (callable(f) or (name == "tangent" and f is None)):
                raise ValueError(f"{name} of a Retraction must be a function; got {shown(f)}.")

    def __repr__(self) -> str:
        # without addresses: stored results are compared by it
        return f"Retraction({', '.join(map(name_of, (self.tau, self.inverse, self.tangent)))})"


def name_of(f: Any) -> str:
    return str(None) if f is None else str(getattr(f, "__name__", type(f).__name__))


class TauMap(ABC):
    """A retraction tau of one group, as the group uses it."""

    @abstractmethod
    def minus_one(self, x: Vector) -> Array:
        """tau(x) - 1, to relative accuracy."""

    @abstractmethod
    def inverse(self, g: Array) -> Vector:
        """x with tau(x) = g, shape (dim,)."""

    @abstractmethod
    def dtau(self, x: Vector, e: Vector) -> Vector:
        """The left-trivialised tangent of tau at `x`, applied to `e`."""

    @abstractmethod
    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        """The inverse of the left-trivialised tangent of tau at `x`, applied to `e`."""

    @abstractmethod
    def stretched(self, x: Vector) -> Vector:
        """`Space.stretched`."""

    @abstractmethod
    def within(self, x: Vector) -> Array:
        """`Space.within`."""

    @property
    @abstractmethod
    def chart(self) -> str:
        """`Space.chart`."""

    @abstractmethod
    def beyond(self, x: Vector) -> str | None:
        """`Space.beyond`."""

    @abstractmethod
    def check(self) -> None:
        """Look whether it is a retraction of this group.

        Raises: ValueError that says why it is not.
        """


class AnyGroup(Protocol):
    """What a retraction of the user's own needs of its group."""

    @property
    def dim(self) -> int: ...

    @property
    def size(self) -> int: ...

    def inverse(self, g: Array) -> Array: ...

    def vee(self, A: Array) -> Vector: ...

    def tau(self, x: Vector) -> Array: ...

    def dtau(self, x: Vector) -> Array: ...

    def hat(self, xi: Vector) -> Array: ...

    def distance(self, g: np.ndarray) -> tuple[float, str]: ...


def differentiated(tau: TauMap, group: Any, x: Vector, e: Vector) -> Vector:
    """`TauMap.dtau` by the derivative of tau."""
    D, slope = jax.jvp(tau.minus_one, (x,), (e,))
    return group.vee(product(group.inverse(jnp.eye(group.size) + D), slope))


@final
@dataclass(frozen=True)
class OwnTau(TauMap):
    """A `Retraction` of the user's own in a group.

    tau(x) - 1 has only the digits that tau(x) leaves, and where its chart ends is not known.
    """

    group: AnyGroup
    given: Retraction

    def minus_one(self, x: Vector) -> Array:
        return self.told("tau", x) - jnp.eye(self.group.size)

    def inverse(self, g: Array) -> Vector:
        return self.told("inverse", g)

    def told(self, name: str, x: Array) -> Array:
        """What the user's function of this name returns."""
        with in_function(f"{name} of a Retraction"):
            return jnp.asarray(reals(getattr(self.given, name)(x), f"what {name} returns"))

    def dtau(self, x: Vector, e: Vector) -> Vector:
        if self.given.tangent is not None:
            return jnp.sum(self.told("tangent", x) * e, axis=1)
        return differentiated(self, self.group, x, e)

    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        if self.given.tangent is not None:
            return newton.solve(self.told("tangent", x), e)
        # The change of inverse(g) with g: that of tau would be a matrix to be inverted, whose
        # derivatives take minutes to compile.
        g = self.told("tau", x)
        return jax.jvp(self.inverse, (g,), (product(g, self.group.hat(e)),))[1]

    def stretched(self, x: Vector) -> Vector:
        return x

    def within(self, x: Vector) -> Array:
        return jnp.array(True)

    @property
    def chart(self) -> str:
        return ""

    def beyond(self, x: Vector) -> None:
        return None

    def check(self) -> None:
        n, dim = self.group.size, self.group.dim
        directions = np.random.default_rng(0).normal(size=(2, dim))
        # also where a space is made inside a function that is traced
        with jax.ensure_compile_time_eval():
            for size in (0.0, *TRIED):
                for direction in directions:
                    self.try_one(jnp.asarray(size * direction / np.linalg.norm(direction)), n, dim)

    def try_one(self, x: Vector, n: int, dim: int) -> None:
        """What tau, its inverse and its tangent say of one increment."""
        g = checked("tau(xi)", self.told("tau", x), (n, n), x)
        far, law = self.group.distance(g)
        if far > AGREES:
            raise ValueError(
                f"tau(xi) of this retraction is not in the group for xi = {x}: {law}, off by"
                f" {far:.3g}."
            )
        back = checked("inverse(tau(xi))", self.told("inverse", jnp.asarray(g)), (dim,), x)
        agrees("inverse(tau(xi))", back, "xi", np.asarray(x), x)
        other = checked("tau(-xi)", self.told("tau", -x), (n, n), x)
        agrees(
            "tau(-xi) tau(xi)",
            other @ g,
            "1 (from a map sigma that is not symmetric make sigma(xi/2) sigma(-xi/2)^-1)",
            np.eye(n),
            x,
        )
        slope = checked("the derivative of tau", self.group.dtau(x), (dim, dim), x)
        if not np.any(x):
            agrees("the tangent of tau", slope, "1", np.eye(dim), x)
        if self.given.tangent is not None:
            given = checked("tangent(xi)", self.told("tangent", x), (dim, dim), x)
            agrees("tangent(xi)", given, "the derivative of tau", slope, x)
            return
        columns = jax.vmap(lambda e: self.dtau_inverse(x, e), out_axes=1)(jnp.eye(dim))
        given = checked("the derivative of inverse", columns, (dim, dim), x)
        agrees("the derivative of inverse", given @ slope, "the inverse of tau's", np.eye(dim), x)


def checked(what: str, value: ArrayLike, shape: tuple[int, ...], x: Vector) -> np.ndarray:
    """`value` as an array of numbers of this shape, all finite."""
    found = np.asarray(value, dtype=float)
    if found.shape != shape:
        raise ValueError(
            f"{what} of a retraction must have shape {shape} here; got shape {found.shape}."
        )
    if not np.all(np.isfinite(found)):
        raise ValueError(f"{what} of a retraction must be finite; for xi = {x} it is {found}.")
    return found


def agrees(what: str, value: np.ndarray, other: str, wanted: np.ndarray, x: Vector) -> None:
    far = float(np.max(np.abs(value - wanted)))
    if far > AGREES:
        raise ValueError(
            f"{what} of this retraction should be {other}; for xi = {x} it is off by {far:.3g}."
        )
