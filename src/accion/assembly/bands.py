"""Banded matrices of two-point problems, and what their solution is worth."""

from typing import Any, NamedTuple

import numpy as np

from accion.numerics.newton import EPS

SOLVED = 64  # a residual this many times the rounding of its row is none


WEAK = 3  # directions in which the equations say least, looked for


class Correction(NamedTuple):
    """A step of Newton's method: `x`, None where the matrix is singular; whether the equations hold
    to roundoff before it; how far their rounding sways the solution, and in which directions, the
    columns of `weak`, orthonormal, the weakest first.
    """

    x: Any
    solved: bool
    sway: float
    weak: Any

    def without(self, k):
        """x without its part in the k weakest directions: where solutions form a family it leads to
        the nearest of them.
        """
        w = self.weak[:, :k]
        return self.x - w @ (w.T @ self.x)


class Band:
    """A banded matrix that is added to block by block; block (i, j) is at rows and columns i b and
    j b.
    """

    def __init__(self, blocks, b, reach):
        self.b, self.width = b, (reach + 1) * b - 1
        self.entries = np.zeros((2 * self.width + 1, blocks * b))

    def add(self, i, j, values, row=0, column=0):
        """Add `values`, shape (blocks, rows, columns), in the blocks (i, j), arrays of numbers of
        blocks, from (row, column) of each on.
        """
        rows = (i * self.b + row)[:, None, None] + np.arange(values.shape[1])[None, :, None]
        columns = (j * self.b + column)[:, None, None] + np.arange(values.shape[2])[None, None, :]
        np.add.at(
            self.entries,
            (
                self.width + rows - columns,
                np.broadcast_to(columns, np.broadcast_shapes(rows.shape, columns.shape)),
            ),
            values,
        )

    def largest(self):
        """The largest entry of each row."""
        found, width = np.zeros(self.entries.shape[1]), self.width
        for k, line in enumerate(np.abs(self.entries)):
            shift = k - width  # row = column + shift
            part = line[max(0, -shift) : len(line) - max(0, shift)]
            first = max(0, shift)
            found[first : first + len(part)] = np.maximum(found[first : first + len(part)], part)
        return found

    def correct(self, right, extent):
        """x with B x = right, with the rounding of its equations, whose unknowns are added to
        quantities of the size `extent`.
        """
        noise = EPS * self.largest() * extent
        solved = bool(np.all(np.abs(right) <= SOLVED * noise))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(noise), WEAK))
        found = self.solve(np.concatenate([right[:, None], noise[:, None] * signs], axis=1))
        if found is None or not np.all(np.isfinite(found)):
            return Correction(None, solved, np.inf, None)
        return Correction(
            found[:, 0],
            solved,
            float(np.max(np.abs(found[:, 1:]))),
            np.linalg.svd(found[:, 1:], full_matrices=False)[0],
        )

    def solve(self, right):
        """The solution for each column of `right`, None where the matrix is singular."""
        from scipy.linalg import LinAlgError, solve_banded

        try:
            return solve_banded(
                (self.width, self.width), self.entries, right, overwrite_ab=True, check_finite=False
            )
        except LinAlgError:
            return None
