"""Any matrix Lie group, from a basis of its algebra."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import reals
from accion.spaces.groups import Group
from accion.spaces.matrix_retractions import MatrixCayley, MatrixExp, small_inverse
from accion.spaces.retractions import Retraction, TauMap
from accion.spaces.rotations import apply
from accion.types import Array, Vector


class Laws(NamedTuple):
    """What matrices of a group keep: bilinear forms (J with A^T J + J A = 0, shape (k, n, n)),
    covectors (w A = 0, shape (k, n)), and whether the determinant is 1.
    """

    forms: np.ndarray
    covectors: np.ndarray
    unimodular: bool


@final
class MatrixGroup(Group):
    """The connected group of matrices whose algebra is spanned by `basis`, shape (dim, n, n).

    With `retraction="cayley"` it must be a group that keeps a bilinear form, as rotations and
    symplectic matrices do. The laws of the group that a matrix is checked against are those that
    follow from the algebra: forms and covectors that it keeps, and its determinant.
    """

    def __init__(self, basis: Any, retraction: str | Retraction = "exp") -> None:
        basis = np.array(reals(basis, "basis", "matrices of numbers, shape (dim, n, n)"))
        if (
            basis.ndim != 3
            or basis.shape[1] != basis.shape[2]
            or not len(basis)
            or not np.all(np.isfinite(basis))
        ):
            raise ValueError(
                "basis must be a list of finite square matrices, shape (dim, n, n); got shape"
                f" {basis.shape}."
            )
        rows = basis.reshape(len(basis), -1)
        if np.linalg.matrix_rank(rows) < len(basis):
            raise ValueError(
                "the matrices of the basis are not independent: leave out those that are sums of"
                " the others."
            )
        self.basis, self.retraction = basis, retraction
        self.dual = np.linalg.pinv(rows)
        products = np.einsum("aij,bjk->abik", basis, basis)
        brackets = products - np.swapaxes(products, 0, 1)
        if self.outside(brackets) > 1e-9:
            raise ValueError(
                "the basis does not span a Lie algebra: a bracket A B - B A of two of its matrices"
                " is not in their span."
            )
        # [e_a, e_b] = sum_c structure[a, b, c] e_c
        self.structure = brackets.reshape(len(basis), len(basis), -1) @ self.dual
        self.check_retraction()

    def outside(self, matrices: np.ndarray) -> float:
        """The largest part of some matrices that is not in the algebra, relative to their size."""
        rows = np.asarray(matrices).reshape(-1, self.dual.shape[0])
        rest = rows - rows @ self.dual @ self.basis.reshape(self.dim, -1)
        return float(np.max(np.abs(rest)) / max(np.max(np.abs(rows)), 1e-300))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MatrixGroup)
            and self.retraction == other.retraction
            and np.array_equal(self.basis, other.basis)
        )

    def __hash__(self) -> int:
        return hash((self.basis.tobytes(), self.basis.shape, self.retraction))

    def __repr__(self) -> str:
        return f"MatrixGroup(dim={self.dim}, n={self.size}, retraction={self.retraction!r})"

    @property
    def dim(self) -> int:
        return self.basis.shape[0]

    @property
    def size(self) -> int:
        return self.basis.shape[1]

    @property
    def retractions(self) -> Mapping[str, Callable[[], TauMap]]:
        return {"exp": partial(MatrixExp, self), "cayley": partial(MatrixCayley, self)}

    def hat(self, xi: Vector) -> Array:
        return jnp.sum(xi[:, None, None] * self.basis, axis=0)

    def vee(self, A: Array) -> Vector:
        return apply(self.dual.T, jnp.ravel(A))

    def ad_matrix(self, x: Vector) -> Array:
        """The matrix of eta -> [x, eta]."""
        return jnp.sum(x[:, None, None] * self.structure, axis=0).T

    def ad(self, xi: Vector, eta: Vector) -> Vector:
        return apply(self.ad_matrix(xi), eta)

    def inverse(self, g: Array) -> Array:
        return small_inverse(g)

    def corrected(self, g: Array) -> Array:
        return g

    @cached_property
    def laws(self) -> Laws:
        """What matrices of the group keep."""
        from scipy.linalg import null_space  # takes long to import

        n, one = self.size, np.eye(self.size)
        # Of J as a vector of rows: (A^T J)_ij and (J A)_ij.
        forms = null_space(
            np.concatenate([np.kron(A.T, one) + np.kron(one, A.T) for A in self.basis])
        )
        covectors = null_space(np.concatenate([A.T for A in self.basis]))
        traces = np.abs(np.trace(self.basis, axis1=1, axis2=2))
        unimodular = bool(np.all(traces < 1e-12 * np.max(np.abs(self.basis), axis=(1, 2))))
        return Laws(forms.T.reshape(-1, n, n), covectors.T, unimodular)

    def law(self, g: Array | np.ndarray) -> Array:
        """Zero on the group: the laws, one after the other, and what of g A g^-1 is not in the
        algebra.
        """
        forms, covectors, unimodular = self.laws
        turned = g @ self.basis @ jnp.linalg.inv(g)
        rows = turned.reshape(self.dim, -1)
        parts = [
            g.T @ forms @ g - forms,
            covectors @ g - covectors,
            rows - rows @ self.dual @ self.basis.reshape(self.dim, -1),
        ]
        if unimodular:
            parts.append(jnp.linalg.det(g)[None] - 1)
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    def distance(self, g: np.ndarray) -> tuple[float, str]:
        if not np.any(g) or abs(np.linalg.det(g / np.max(np.abs(g)))) < 1e-300:
            return float("inf"), "it is singular"
        return (
            float(np.max(np.abs(self.law(g)))),
            (
                "it breaks a law that follows from the algebra (a form, a covector or the"
                " determinant is not kept)"
            ),
        )

    def project(self, q: Array) -> Array:
        """The nearest matrix that keeps the laws of the group, by Gauss-Newton."""

        def iterate(_: int, g: Array) -> Array:
            J = jax.jacfwd(lambda a: self.law(a.reshape(g.shape)))(jnp.ravel(g))
            return g - jnp.linalg.lstsq(J, self.law(g), rcond=1e-10)[0].reshape(g.shape)

        return jax.lax.fori_loop(0, 20, iterate, q)

    def magnitude(self, q: Array) -> Vector:
        return jnp.full(self.dim, jnp.max(jnp.abs(q)))

    def letters(self) -> tuple[list[list[Any]], tuple[str, ...]]:
        n = range(1, self.size + 1)
        return [[f"g_{i}{j}" for j in n] for i in n], tuple(f"xi_{i + 1}" for i in range(self.dim))

    def in_letters(self) -> "MatrixGroup":
        if self.retraction == "exp":
            raise ValueError(
                f"exp of {self} is no formula of letters; try retraction='cayley', where the group"
                " keeps a bilinear form, or a Retraction(tau, inverse) of your own."
            )
        return self

    def coordinates(self) -> tuple[str, ...]:
        return tuple(f"x{i + 1}" for i in range(self.dim))
