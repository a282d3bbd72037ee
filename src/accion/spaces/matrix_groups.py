"""Any matrix Lie group, from a basis of its algebra."""

from functools import cached_property
from math import factorial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from accion.numerics import newton
from accion.spaces.groups import Group, check_retraction
from accion.spaces.rotations import apply, bernoulli, product

HALVINGS, EXP_TERMS = 4, 11  # of the argument of exp, then of its series
ROOTS, LOG_TERMS = 3, 15  # square roots, then terms of the series of the logarithm
# |ad_x| up to where the series of the inverse of dexp is summed; beyond it a step is NaN
REACH = 2.5
BERNOULLI = bernoulli(25)


class MatrixGroup(Group):
    """The connected group of matrices whose algebra is spanned by `basis`, shape (dim, n, n).

    With `retraction="cayley"` it must be a group that keeps a bilinear form, as rotations and
    symplectic matrices do. The laws of the group that a matrix is checked against are those that
    follow from the algebra: forms and covectors that it keeps, and its determinant.
    """

    def __init__(self, basis, retraction="exp"):
        try:
            basis = np.array(basis, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"basis must be matrices of numbers, shape (dim, n, n); got {basis!r}."
            ) from error
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
        check_retraction(retraction)
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
        if retraction == "cayley" and self.outside(self.cubes()) > 1e-9:
            raise ValueError(
                "cayley does not map this algebra into its group, which keeps no bilinear form; use"
                " retraction='exp'."
            )
        # [e_a, e_b] = sum_c structure[a, b, c] e_c
        self.structure = brackets.reshape(len(basis), len(basis), -1) @ self.dual

    def outside(self, matrices):
        """The largest part of some matrices that is not in the algebra, relative to their size."""
        rows = np.asarray(matrices).reshape(-1, self.dual.shape[0])
        rest = rows - rows @ self.dual @ self.basis.reshape(self.dim, -1)
        return float(np.max(np.abs(rest)) / max(np.max(np.abs(rows)), 1e-300))

    def cubes(self):
        """A^3 of random matrices of the algebra: with it cayley(A) = 1 + A + A^2/2 + A^3/4 + ...

        keeps to the group.
        """
        A = np.tensordot(
            np.random.default_rng(0).normal(size=(2 * self.dim + 4, self.dim)), self.basis, axes=1
        )
        return A @ A @ A

    def __eq__(self, other):
        return (
            isinstance(other, MatrixGroup)
            and self.retraction == other.retraction
            and np.array_equal(self.basis, other.basis)
        )

    def __hash__(self):
        return hash((self.basis.tobytes(), self.basis.shape, self.retraction))

    def __repr__(self):
        return f"MatrixGroup(dim={self.dim}, n={self.size}, retraction={self.retraction!r})"

    @property
    def dim(self):
        return self.basis.shape[0]

    @property
    def size(self):
        return self.basis.shape[1]

    def hat(self, xi):
        return jnp.sum(xi[:, None, None] * self.basis, axis=0)

    def vee(self, A):
        return apply(self.dual.T, jnp.ravel(A))

    def ad_matrix(self, x):
        """The matrix of eta -> [x, eta]."""
        return jnp.sum(x[:, None, None] * self.structure, axis=0).T

    def ad(self, xi, eta):
        return apply(self.ad_matrix(xi), eta)

    def tau_minus_one(self, x):
        A = self.hat(x)
        one = jnp.eye(self.size)
        if self.retraction == "cayley":
            return product(small_inverse(one - A / 2), A)
        A = A / 2**HALVINGS
        E = product(A, power_series([1 / factorial(k + 1) for k in range(EXP_TERMS)], A))
        for _ in range(HALVINGS):
            E = 2 * E + product(E, E)
        return E

    def tau_inverse(self, g):
        one = jnp.eye(self.size)
        if self.retraction == "cayley":
            return self.vee(2 * jnp.linalg.solve((g + one).T, (g - one).T).T)
        for _ in range(ROOTS):
            g = square_root(g)
        Z = jnp.linalg.solve((g + one).T, (g - one).T).T
        # log g = 2 artanh Z
        return self.vee(
            2 ** (ROOTS + 1) * Z @ power_series([1 / (2 * k + 1) for k in range(LOG_TERMS)], Z @ Z)
        )

    def dtau_inverse(self, x, e):
        if self.retraction == "cayley":
            # dtau(x) e = (1 + X/2)^-1 e (1 - X/2)^-1
            X, one = self.hat(x), jnp.eye(self.size)
            return self.vee(product(product(one + X / 2, self.hat(e)), one - X / 2))
        # ad/(1 - exp(-ad)) = 1 + ad/2 + sum_k B_2k/(2k)! ad^2k
        ad = self.ad_matrix(x)
        twice = product(ad, ad)
        value = horner(lambda y: apply(twice, y), BERNOULLI[::2], e)
        return jnp.where(
            jnp.max(jnp.sum(jnp.abs(ad), axis=1)) < REACH, value + apply(ad, e) / 2, jnp.nan
        )

    def inverse(self, g):
        return small_inverse(g)

    def corrected(self, g):
        return g

    @cached_property
    def laws(self) -> Any:
        """What matrices of the group keep: bilinear forms (J with A^T J + J A = 0), covectors (w A
        = 0), and whether the determinant is 1.
        """
        n, one = self.size, np.eye(self.size)
        # Of J as a vector of rows: (A^T J)_ij and (J A)_ij.
        forms = scipy.linalg.null_space(
            np.concatenate([np.kron(A.T, one) + np.kron(one, A.T) for A in self.basis])
        )
        covectors = scipy.linalg.null_space(np.concatenate([A.T for A in self.basis]))
        unimodular = bool(np.all(np.abs(np.trace(self.basis, axis1=1, axis2=2)) < 1e-12))
        return forms.T.reshape(-1, n, n), covectors.T, unimodular

    def law(self, g):
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

    def distance(self, g):
        if abs(np.linalg.det(g)) < 1e-300:
            return float("inf"), "it is singular"
        return (
            float(np.max(np.abs(self.law(g)))),
            (
                "it breaks a law that follows from the algebra (a form, a covector or the"
                " determinant is not kept)"
            ),
        )

    def project(self, q):
        """The nearest matrix that keeps the laws of the group, by Gauss-Newton."""

        def iterate(_, g):
            J = jax.jacfwd(lambda a: self.law(a.reshape(g.shape)))(jnp.ravel(g))
            return g - jnp.linalg.lstsq(J, self.law(g), rcond=1e-10)[0].reshape(g.shape)

        return jax.lax.fori_loop(0, 20, iterate, q)

    def magnitude(self, q):
        return jnp.full(self.dim, jnp.max(jnp.abs(q)))

    def extent(self, x):
        """How long an increment is, as the retraction sees it: |ad_x| for exp; for cayley the
        largest eigenvalue of its matrix X.

        That is near |X^4|^(1/4), and in the groups that cayley is for eigenvalues come in pairs, +-
        y.
        """
        if self.retraction == "exp":
            return jnp.max(jnp.sum(jnp.abs(self.ad_matrix(x)), axis=1))
        X = self.hat(x)
        square = product(X, X)
        return (jnp.sum(product(square, square) ** 2) / 2) ** 0.125

    def asked(self, x):
        """For cayley (1 + y^2/4) x, y the largest eigenvalue, as for rotations: dtau^-1(x) x is x -
        X^3/4.
        """
        return x if self.retraction == "exp" else (1 + self.extent(x) ** 2 / 4) * x

    @property
    def reach(self):
        return REACH if self.retraction == "exp" else np.pi

    def within(self, x):
        return self.extent(x) < self.reach

    @property
    def chart(self):
        if self.retraction == "exp":
            return (
                f"the chart of the retraction exp ends at |ad_x| = {REACH:g}, where its series are"
                " no longer summed"
            )
        return (
            "the chart of the retraction cayley ends at |X| = 3.14, half a turn, which no increment"
            " of cayley reaches"
        )

    def beyond(self, x):
        far = float(self.extent(jnp.asarray(x)))
        if not far >= self.reach:
            return None
        return (
            f"one step is too long for the retraction {self.retraction}, by {far:.3g}:"
            f" {self.chart}. Take an h at least {far / self.reach * 2:.2g} times smaller"
        )

    def letters(self):
        n = range(1, self.size + 1)
        return [[f"g_{i}{j}" for j in n] for i in n], tuple(f"xi_{i + 1}" for i in range(self.dim))

    def coordinates(self):
        return tuple(f"x{i + 1}" for i in range(self.dim))


def power_series(coefficients, A):
    """sum_k c_k A^k, by Horner's rule."""
    return horner(lambda B: product(A, B), coefficients, jnp.eye(A.shape[0]))


def horner(multiply, coefficients, one):
    """sum_k c_k multiply^k(one): in a loop, which compiles in a third of the time and runs as
    fast.
    """
    return jax.lax.scan(
        lambda value, c: (multiply(value) + c * one, None),
        jnp.zeros_like(one),
        jnp.array(coefficients[::-1]),
    )[0]


def small_inverse(A):
    return jax.vmap(lambda column: newton.solve(A, column), out_axes=1)(jnp.eye(A.shape[0]))


def square_root(g):
    """The principal square root, by the iteration of Denman and Beavers."""

    def iterate(_, pair):
        Y, Z = pair
        return (Y + jnp.linalg.inv(Z)) / 2, (Z + jnp.linalg.inv(Y)) / 2

    return jax.lax.fori_loop(0, 10, iterate, (g, jnp.eye(g.shape[0])))[0]
