"""Small linear systems, solved as one does on paper."""

import numpy as np
import sympy as sp


class Undecided(Exception):
    """A value must be a plain number here, and is not; or there is none."""


def solve(A, b):
    """A^{-1} b by elimination that does not expand: blocks of A that do not see each other are
    solved apart.
    """
    x = sp.zeros(A.rows, b.cols)
    for rows in A.connected_components():
        rows = list(rows)
        block = A.extract(rows, rows)
        part = (
            block.LUsolve(b.extract(rows, list(range(b.cols))))
            if len(rows) > 3
            else cramer(block, b.extract(rows, list(range(b.cols))))
        )
        for i, row in enumerate(rows):
            x[row, :] = part[i, :]
    return x


def cramer(A, b):
    """A^{-1} b by the adjugate, the form in which small systems are solved on paper."""
    det = A.det(method="berkowitz")
    if det.is_zero:
        raise Undecided("the matrix is singular")
    return (A.adjugate() * b) / det


def each(f, *arrays):
    """`f` of matrices, one for each index in front; arrays of expressions in and out."""
    shape = arrays[0].shape[:-2]
    outs = [
        np.asarray(f(*(sp.Matrix(a[index]) for a in arrays)), dtype=object)
        for index in np.ndindex(shape)
    ]
    return np.stack(outs).reshape((*shape, *outs[0].shape))


def determinant(A):
    return A.det(method="berkowitz")


def cholesky(A):
    return A.cholesky(hermitian=False)


def triangular(A, b, options):
    """x with A x = b, or x A = b, where A is the triangle that `options`, those of JAX, say."""
    T = A.lower_triangular() if options["lower"] else A.upper_triangular()
    if options["unit_diagonal"]:
        T = T - sp.diag(*T.diagonal()) + sp.eye(T.rows)
    T = T.T if options["transpose_a"] else T
    return T.LUsolve(b) if options["left_side"] else T.T.LUsolve(b.T).T
