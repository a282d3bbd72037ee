"""Small linear systems, solved as one does on paper."""

import sympy as sp


class Undecided(Exception):
    """A value must be a plain number here, and is not; or there is none."""


def solve(A, b):
    """A^{-1} b by elimination that does not expand: blocks of A that do not see each other are solved apart."""
    x = sp.zeros(A.rows, b.cols)
    for rows in A.connected_components():
        rows = list(rows)
        block = A.extract(rows, rows)
        part = block.LUsolve(b.extract(rows, list(range(b.cols)))) if len(rows) > 3 else cramer(block, b.extract(rows, list(range(b.cols))))
        for i, row in enumerate(rows):
            x[row, :] = part[i, :]
    return x


def cramer(A, b):
    """A^{-1} b by the adjugate, the form in which small systems are solved on paper."""
    det = A.det(method="berkowitz")
    if det.is_zero:
        raise Undecided("the matrix is singular")
    return (A.adjugate() * b) / det
