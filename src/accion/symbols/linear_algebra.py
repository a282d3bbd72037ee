"""Small linear systems, solved as one does on paper."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp

from accion.engines.errors import Unsupported


class Undecided(Unsupported):
    """A value must be a plain number here, and is not; or there is none."""


# What says that linear equations have no solution in letters.
UNSOLVED = (Undecided, ValueError, ZeroDivisionError)


def solve(A: Any, b: Any) -> Any:
    """A^{-1} b by elimination that does not expand: blocks of A that do not see each other are
    solved apart.

    Raises:
        Undecided, ValueError, ZeroDivisionError: where A is singular.
    """
    x = sp.zeros(A.rows, b.cols)
    for rows in A.connected_components():
        rows = list(rows)
        block = A.extract(rows, rows)
        right = b.extract(rows, list(range(b.cols)))
        part = block.LUsolve(right) if len(rows) > 3 else cramer(block, right)
        for i, row in enumerate(rows):
            x[row, :] = part[i, :]
    return x


def bordered(K: Any, r: Any, n: int, simplify: Callable[[Any], Any]) -> Any:
    """The solution of [[M, B], [C, 0]] (a, lam) = r with M of size n: the multipliers first, from C
    M^-1 B, as one does by hand.
    """
    M, B, C = K[:n, :n], K[:n, n:], K[n:, :n]
    if K.rows == n:
        return solve(M, r)
    try:
        free = solve(M, r[:n, :].row_join(B)).applyfunc(simplify)
    except UNSOLVED:
        # With M singular the whole may still be regular.
        return solve(K, r)
    lam = solve(
        (C * free[:, 1:]).applyfunc(simplify), (C * free[:, :1] - r[n:, :]).applyfunc(simplify)
    ).applyfunc(simplify)
    return (free[:, :1] - free[:, 1:] * lam).col_join(lam)


def cramer(A: Any, b: Any) -> Any:
    """A^{-1} b by the adjugate, the form in which small systems are solved on paper."""
    det = determinant(A)
    if det.is_zero:
        raise Undecided("the matrix is singular")
    return (A.adjugate() * b) / det


def each(f: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """`f` of matrices, one for each index in front; arrays of expressions in and out."""
    shape = arrays[0].shape[:-2]
    outs = [
        np.asarray(f(*(sp.Matrix(a[index]) for a in arrays)), dtype=object)
        for index in np.ndindex(shape)
    ]
    return np.stack(outs).reshape((*shape, *outs[0].shape))


def determinant(A: Any) -> Any:
    """det A, without division."""
    return A.det(method="berkowitz")


def cholesky(A: Any) -> Any:
    """The lower triangle T with A = T T^T."""
    return A.cholesky(hermitian=False)


def triangular(A: Any, b: Any, options: Mapping[str, Any]) -> Any:
    """x with A x = b, or x A = b, where A is the triangle that `options`, those of JAX, say."""
    T = A.lower_triangular() if options["lower"] else A.upper_triangular()
    if options["unit_diagonal"]:
        T = T - sp.diag(*T.diagonal()) + sp.eye(T.rows)
    T = T.T if options["transpose_a"] else T
    return T.LUsolve(b) if options["left_side"] else T.T.LUsolve(b.T).T
