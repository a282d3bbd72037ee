"""Square matrices that are banded once rows and columns are ordered; and what a correction of
Newton's method is worth that they give.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from accion.numerics.newton import EPS

dgbtrf, dgbtrs = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=np.float64)
SOLVED = 64  # a residual this many times the rounding of its row is none
WEAK = 3  # directions in which the equations say least, looked for


def ranks(place: np.ndarray) -> np.ndarray:
    """The number of each in the order of `place`."""
    found = np.empty(len(place), dtype=int)
    found[np.argsort(place, kind="stable")] = np.arange(len(place))
    return found


class Banded:
    """A square matrix with entries at (rows, columns), those in the same place added up; rows and
    columns are ordered by `row_place` and `column_place`.

    It is factorised with row pivoting: elimination block by block without it is cheaper, and unsafe
    where a block alone is singular, as with fewer controls than coordinates.
    """

    def __init__(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        row_place: np.ndarray,
        column_place: np.ndarray,
    ) -> None:
        self.row_rank, self.column_rank = ranks(row_place), ranks(column_place)
        i, j = self.row_rank[rows], self.column_rank[columns]
        self.rows, self.size = rows, len(self.row_rank)
        self.below, self.above = (int(np.max(d, initial=0)) for d in (i - j, j - i))
        # LAPACK wants room for the fill of pivoting above the band, and columns one after the
        # other.
        self.depth = 2 * self.below + self.above + 1
        self.flat = (self.below + self.above + i - j) + j * self.depth

    def assembled(self, entries: np.ndarray) -> np.ndarray:
        """The matrix in LAPACK's storage, as one vector."""
        return np.bincount(self.flat, entries, self.depth * self.size)

    def factor(self, entries: np.ndarray) -> "Factors | None":
        """The factors of the matrix; None where it is singular."""
        return self.factor_assembled(self.assembled(entries))

    def factor_assembled(self, ab: np.ndarray) -> "Factors | None":
        lu, pivots, info = dgbtrf(
            ab.reshape(-1, self.depth).T, self.below, self.above, overwrite_ab=True
        )
        if info != 0 or not np.all(np.isfinite(lu)):
            return None
        return Factors(self, lu, pivots)

    def correction(self, entries: np.ndarray, right: np.ndarray, extent: float) -> "Correction":
        """The x with B x = right as a step of Newton's method, with the rounding of its equations.

        Arguments:
            entries: of B, in the places given.
            right: minus the residual, shape (size,).
            extent: the size of the quantities that unknowns are added to: a row is rounded as
                its largest entry times them.
        """
        ab = self.assembled(entries)
        largest = np.zeros(self.size)
        with np.errstate(invalid="ignore"):  # a matrix that is no number is told as singular
            np.maximum.at(largest, self.rows, np.abs(ab[self.flat]))
        noise = EPS * largest * extent
        solved = bool(np.all(np.abs(right) <= SOLVED * noise))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (self.size, WEAK))
        factors = self.factor_assembled(ab)
        if factors is None:
            return Correction(None, solved, np.inf, None)
        found = factors.solve(np.concatenate([right[:, None], noise[:, None] * signs], axis=1))
        if not np.all(np.isfinite(found)):
            return Correction(None, solved, np.inf, None)
        sway = float(np.max(np.abs(found[:, 1:]), initial=0.0))
        weak = np.linalg.svd(found[:, 1:], full_matrices=False)[0]
        return Correction(found[:, 0], solved, sway, weak)


@dataclass(frozen=True)
class Factors:
    """The factors of a `Banded` matrix."""

    matrix: Banded
    lu: np.ndarray
    pivots: np.ndarray

    @property
    def positive(self) -> bool:
        """Whether the determinant of the ordered matrix is; of a symmetric one, whether the number
        of its negative eigenvalues is even.
        """
        diagonal = self.lu[self.matrix.below + self.matrix.above]
        swaps = np.count_nonzero(self.pivots != np.arange(len(self.pivots)))
        return bool((np.count_nonzero(diagonal < 0) + swaps) % 2 == 0)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The x with B x = right, vectors or columns of them."""
        b = np.empty(right.shape, order="F")
        b[self.matrix.row_rank] = right
        below, above = self.matrix.below, self.matrix.above
        x, _ = dgbtrs(self.lu, below, above, b, self.pivots, overwrite_b=True)
        return x[self.matrix.column_rank]


class Correction(NamedTuple):
    """A step of Newton's method: `x`, None where the matrix is singular; whether the equations hold
    to roundoff before it; how far their rounding sways the solution, and in which directions, the
    columns of `weak`, orthonormal, the weakest first.
    """

    x: np.ndarray | None
    solved: bool
    sway: float
    weak: np.ndarray | None

    @property
    def directions(self) -> int:
        """How many weak ones there are."""
        return 0 if self.weak is None else self.weak.shape[1]

    def without(self, k: int) -> np.ndarray:
        """x without its part in the k weakest directions: where solutions form a family it leads to
        the nearest of them.
        """
        if self.x is None or self.weak is None:
            raise ValueError("the matrix is singular: there is no correction.")
        w = self.weak[:, :k]
        return self.x - w @ (w.T @ self.x)
