"""The linear systems of a program: symmetric, indefinite, and banded once unknowns and rows are
ordered in time.
"""

import numpy as np
from scipy.linalg import get_lapack_funcs

dgbtrf, dgbtrs = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=np.float64)


class Band:
    """The matrix [[H + delta, J^T], [J, -gamma]] of a program, with the fixed unknowns held;
    factorised with row pivoting.

    Elimination block by block without pivoting is cheaper, and unsafe where a block alone is
    singular, as with fewer controls than coordinates.
    """

    def __init__(self, program):
        n, m = program.n, program.m
        order = np.argsort(np.concatenate([program.place, program.row_place]), kind="stable")
        self.where = np.empty(n + m, dtype=int)
        self.where[order] = np.arange(n + m)
        held = np.concatenate([program.fixed, np.zeros(m, dtype=bool)])
        rows, columns = program.jacobian_pattern
        h_rows, h_columns = program.hessian_pattern
        i = np.concatenate([h_rows, rows + n, columns])
        j = np.concatenate([h_columns, columns, rows + n])
        self.kept = ~(held[i] | held[j])
        a, b = self.where[i[self.kept]], self.where[j[self.kept]]
        self.n, self.m, self.held = n, m, held
        self.probes = np.random.default_rng(0).normal(size=(2, n)) * ~program.fixed
        self.width = int(np.max(np.abs(a - b), initial=1))
        # LAPACK wants room for the fill of pivoting above the band, and columns one after the
        # other.
        self.depth = 3 * self.width + 1
        self.flat = (2 * self.width + a - b) + b * self.depth
        self.diagonal = 2 * self.width + self.where * self.depth

    def factor(self, H, J, delta=0.0, gamma=0.0):
        """The factors; None where the matrix is singular."""
        entries = np.concatenate([H, J, J])[self.kept]
        ab = np.bincount(self.flat, entries, self.depth * (self.n + self.m))
        ab[self.diagonal[: self.n]] += delta
        ab[self.diagonal[self.n :]] -= gamma
        ab[self.diagonal[self.held]] = 1.0
        lu, pivots, info = dgbtrf(
            ab.reshape(-1, self.depth).T, self.width, self.width, overwrite_ab=True
        )
        if info != 0 or not np.all(np.isfinite(lu)):
            return None
        return Factors(self, lu, pivots)


class Factors:
    def __init__(self, band, lu, pivots):
        self.band, self.lu, self.pivots = band, lu, pivots
        self.diagonal = lu[2 * band.width]

    @property
    def even(self):
        """Whether the number of negative eigenvalues is even: the sign of the determinant."""
        swaps = np.count_nonzero(self.pivots != np.arange(len(self.pivots)))
        return (np.count_nonzero(self.diagonal < 0) + swaps) % 2 == 0

    def solve(self, top, bottom):
        """(dx, dlam) with [[H + delta, J^T], [J, -gamma]] (dx, dlam) = (top, bottom), vectors or
        columns of them.
        """
        band = self.band
        given = np.concatenate([top, bottom])
        given[band.held] = 0.0
        b = np.empty(given.shape, order="F")
        b[band.where] = given
        x, _ = dgbtrs(self.lu, band.width, band.width, b, self.pivots, overwrite_b=True)
        x = x[band.where]
        return x[: band.n], x[band.n :]
