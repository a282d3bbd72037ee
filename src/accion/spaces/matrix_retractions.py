"""`exp` and `cayley` of any group of matrices, by products of matrices."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import ClassVar, Protocol, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.numerics import newton
from accion.spaces.retractions import TauMap, differentiated
from accion.spaces.rotations import apply, bernoulli, product
from accion.types import Array, Vector

HALVINGS, EXP_TERMS = 4, 11  # of the argument of exp, then of its series
ROOTS, LOG_TERMS = 3, 15  # square roots, then terms of the series of the logarithm
# |ad_x| up to where the series of the inverse of dexp is summed; beyond it a step is NaN
REACH = 2.5
BERNOULLI = bernoulli(25)


class Matrices(Protocol):
    """What these retractions need of their group."""

    basis: np.ndarray

    @property
    def dim(self) -> int: ...

    @property
    def size(self) -> int: ...

    def hat(self, xi: Vector) -> Array: ...

    def vee(self, A: Array) -> Vector: ...

    def ad_matrix(self, x: Vector) -> Array: ...

    def outside(self, matrices: np.ndarray) -> float: ...


@dataclass(frozen=True)
class MatrixTau(TauMap):
    """What `exp` and `cayley` share: a chart that ends at the length `reach`."""

    group: Matrices

    name: ClassVar[str]
    reach: ClassVar[float]

    def dtau(self, x: Vector, e: Vector) -> Vector:
        return differentiated(self, self.group, x, e)

    @abstractmethod
    def extent(self, x: Vector) -> Array:
        """How long an increment is, as the retraction sees it."""

    def within(self, x: Vector) -> Array:
        return self.extent(x) < self.reach

    def beyond(self, x: Vector) -> str | None:
        far = float(self.extent(jnp.asarray(x)))
        if not far >= self.reach:
            return None
        return (
            f"one step is too long for the retraction {self.name}, by {far:.3g}:"
            f" {self.chart}. Take an h at least {far / self.reach * 2:.2g} times smaller"
        )


@final
@dataclass(frozen=True)
class MatrixExp(MatrixTau):
    """The exponential of matrices, by its series after halving; its inverse after square roots."""

    name, reach = "exp", REACH

    def extent(self, x: Vector) -> Array:
        """|ad_x|."""
        return jnp.max(jnp.sum(jnp.abs(self.group.ad_matrix(x)), axis=1))

    def minus_one(self, x: Vector) -> Array:
        A = self.group.hat(x) / 2**HALVINGS
        E = product(A, power_series([1 / factorial(k + 1) for k in range(EXP_TERMS)], A))
        for _ in range(HALVINGS):
            E = 2 * E + product(E, E)
        return E

    def inverse(self, g: Array) -> Vector:
        one = jnp.eye(self.group.size)
        for _ in range(ROOTS):
            g = square_root(g)
        Z = jnp.linalg.solve((g + one).T, (g - one).T).T
        # log g = 2 artanh Z
        return self.group.vee(
            2 ** (ROOTS + 1) * Z @ power_series([1 / (2 * k + 1) for k in range(LOG_TERMS)], Z @ Z)
        )

    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        # ad/(1 - exp(-ad)) = 1 + ad/2 + sum_k B_2k/(2k)! ad^2k
        ad = self.group.ad_matrix(x)
        twice = product(ad, ad)
        value = horner(lambda y: apply(twice, y), BERNOULLI[::2], e)
        return jnp.where(
            jnp.max(jnp.sum(jnp.abs(ad), axis=1)) < REACH, value + apply(ad, e) / 2, jnp.nan
        )

    def stretched(self, x: Vector) -> Vector:
        return x

    @property
    def chart(self) -> str:
        return (
            f"the chart of the retraction exp ends at |ad_x| = {REACH:g}, where its series are"
            " no longer summed"
        )

    def check(self) -> None:
        """It is a retraction of every group."""


@final
@dataclass(frozen=True)
class MatrixCayley(MatrixTau):
    """(1 - A/2)^-1 (1 + A/2), in groups that keep a bilinear form."""

    name, reach = "cayley", np.pi

    def extent(self, x: Vector) -> Array:
        """The largest eigenvalue of its matrix X.

        That is near |X^4|^(1/4), and in the groups that cayley is for eigenvalues come in pairs, +-
        y.
        """
        X = self.group.hat(x)
        square = product(X, X)
        return (jnp.sum(product(square, square) ** 2) / 2) ** 0.125

    def minus_one(self, x: Vector) -> Array:
        A = self.group.hat(x)
        one = jnp.eye(self.group.size)
        return product(small_inverse(one - A / 2), A)

    def inverse(self, g: Array) -> Vector:
        one = jnp.eye(self.group.size)
        return self.group.vee(2 * jnp.linalg.solve((g + one).T, (g - one).T).T)

    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        # dtau(x) e = (1 + X/2)^-1 e (1 - X/2)^-1
        X, one = self.group.hat(x), jnp.eye(self.group.size)
        return self.group.vee(product(product(one + X / 2, self.group.hat(e)), one - X / 2))

    def stretched(self, x: Vector) -> Vector:
        """(1 + y^2/4) x, y the largest eigenvalue, as for rotations: dtau^-1(x) x is x - X^3/4."""
        return (1 + self.extent(x) ** 2 / 4) * x

    @property
    def chart(self) -> str:
        return (
            "the chart of the retraction cayley ends at |X| = 3.14, half a turn, which no increment"
            " of cayley reaches"
        )

    def check(self) -> None:
        if self.group.outside(self.cubes()) > 1e-9:
            raise ValueError(
                "cayley does not map this algebra into its group, which keeps no bilinear form; use"
                " retraction='exp'."
            )

    def cubes(self) -> np.ndarray:
        """A^3 of random matrices of the algebra: with it cayley(A) = 1 + A + A^2/2 + A^3/4 + ...

        keeps to the group.
        """
        n = self.group.dim
        A = np.tensordot(
            np.random.default_rng(0).normal(size=(2 * n + 4, n)), self.group.basis, axes=1
        )
        return A @ A @ A


def power_series(coefficients: Sequence[float], A: Array) -> Array:
    """sum_k c_k A^k, by Horner's rule."""
    return horner(lambda B: product(A, B), coefficients, jnp.eye(A.shape[0]))


def horner(multiply: Callable[[Array], Array], coefficients: Sequence[float], one: Array) -> Array:
    """sum_k c_k multiply^k(one): in a loop, which compiles in a third of the time and runs as
    fast.
    """
    return jax.lax.scan(
        lambda value, c: (multiply(value) + c * one, None),
        jnp.zeros_like(one),
        jnp.array(coefficients[::-1]),
    )[0]


def small_inverse(A: Array) -> Array:
    """A^-1, column by column."""
    return jax.vmap(lambda column: newton.solve(A, column), out_axes=1)(jnp.eye(A.shape[0]))


def square_root(g: Array) -> Array:
    """The principal square root, by the iteration of Denman and Beavers."""

    def iterate(_: int, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        Y, Z = pair
        return (Y + jnp.linalg.inv(Z)) / 2, (Z + jnp.linalg.inv(Y)) / 2

    return jax.lax.fori_loop(0, 10, iterate, (g, jnp.eye(g.shape[0])))[0]
