"""Square matrices that are banded once rows and columns are ordered; and what a correction of
Newton's method is worth that they give.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

SOLVED = 64  # a residual this many times the rounding of its row is none
WEAK = 3  # directions in which the equations say least, looked for


def ranks(place: np.ndarray) -> np.ndarray:
    """The number of each in the order of `place`."""
    found = np.empty(len(place), dtype=int)
    found[np.argsort(place, kind="stable")] = np.arange(len(place))
    return found


@cache
def lapack() -> Any:
    """LAPACK's factorisation of bands, and the solution by it."""
    from scipy.linalg import get_lapack_funcs  # takes long to import

    return get_lapack_funcs(("gbtrf", "gbtrs"), dtype=np.float64)


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
        self.size = len(self.row_rank)
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
        lu, pivots, info = lapack()[0](
            ab.reshape(-1, self.depth).T, self.below, self.above, overwrite_ab=True
        )
        if info != 0 or not np.all(np.isfinite(lu)):
            return None
        return Factors(self, lu, pivots)

    def correction(
        self, entries: np.ndarray, right: np.ndarray, noise: np.ndarray, sizes: np.ndarray
    ) -> "Correction":
        """The x with B x = right as a step of Newton's method, with the rounding of its equations.

        Arguments:
            entries: of B, in the places given.
            right: minus the residual, shape (size,).
            noise: the rounding of each row.
            sizes: of the unknowns that x is a part of, so many of which it is.
        """
        solved = bool(np.all(np.abs(right) <= SOLVED * noise))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (self.size, WEAK))
        factors = self.factor(entries)
        if factors is None:
            return Correction(None, solved, np.inf, None, sizes)
        found = factors.solve(np.concatenate([right[:, None], noise[:, None] * signs], axis=1))
        if not np.all(np.isfinite(found)):
            return Correction(None, solved, np.inf, None, sizes)
        sway = float(np.max(np.abs(found[:, 1:]), initial=0.0))
        weak = np.linalg.svd(found[:, 1:], full_matrices=False)[0]
        return Correction(found[:, 0], solved, sway, weak, sizes)


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

    def solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        """The x with B x = right, or B^T x = right; vectors or columns of them."""
        matrix, b = self.matrix, np.empty(right.shape, order="F")
        into, out = matrix.row_rank, matrix.column_rank
        if transposed:
            into, out = out, into
        b[into] = right
        band = (self.lu, matrix.below, matrix.above)
        x, _ = lapack()[1](*band, b, self.pivots, trans=int(transposed), overwrite_b=True)
        return x[out]


class Correction(NamedTuple):
    """A step of Newton's method in parts of the `sizes` of the unknowns: `x`, None where the matrix
    is singular; whether the equations hold to roundoff before it; how far their rounding sways the
    solution, and in which directions, the columns of `weak`, orthonormal, the weakest first.
    """

    x: np.ndarray | None
    solved: bool
    sway: float
    weak: np.ndarray | None
    sizes: np.ndarray

    @property
    def directions(self) -> int:
        """How many weak ones there are."""
        return 0 if self.weak is None else self.weak.shape[1]

    def without(self, k: int) -> np.ndarray:
        """The change of the unknowns without its part in the k weakest directions: where solutions
        form a family it leads to the nearest of them.
        """
        if self.x is None or self.weak is None:
            raise ValueError("the matrix is singular: there is no correction.")
        w = self.weak[:, :k]
        return self.sizes * (self.x - w @ (w.T @ self.x))
