"""Where the sums of elements and of their derivatives are, in vectors and matrices."""

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from accion.assembly.banded import Banded
from accion.assembly.elements import Family
from accion.assembly.saddle import Saddle

Places: TypeAlias = tuple[np.ndarray, np.ndarray]  # (row, column) of each entry


class Sparsity:
    """The places of the derivatives of n unknowns and m rows: what does not change with the numbers
    that elements are given.

    Arguments:
        families: of them it takes which unknowns and rows their elements have.
        fixed: which unknowns are, shape (n,).
        place, row_place: when unknowns and rows act, shapes (n,) and (m,): ordered by it,
            neighbours are near each other in a matrix.
    """

    def __init__(
        self,
        families: Sequence[Family],
        fixed: np.ndarray,
        place: np.ndarray,
        row_place: np.ndarray,
    ) -> None:
        self.fixed, self.place, self.row_place = fixed, place, row_place
        # What a family adds that sees fixed unknowns only is constant.
        self.constant = tuple(bool(np.all(fixed[F.columns])) for F in families)
        self.parts = [(F.rows, F.columns) for F in self.moving(families)]

    def moving(self, families: Sequence[Family]) -> list[Family]:
        """The families with derivatives."""
        return [F for F, constant in zip(families, self.constant, strict=True) if not constant]

    @cached_property
    def jacobian(self) -> Places:
        """The places of dx-derivatives of rows, in the order of `jacobian_entries`."""
        pairs = [
            (
                np.repeat(rows, columns.shape[1], axis=1).ravel(),
                np.tile(columns, (1, rows.shape[1])).ravel(),
            )
            for rows, columns in self.parts
        ]
        rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return rows[rows >= 0], columns[rows >= 0]

    def jacobian_entries(self, Drows: Sequence[np.ndarray]) -> np.ndarray:
        """The derivatives of the rows of all moving families, one after the other."""
        return np.concatenate(
            [D[rows >= 0].ravel() for D, (rows, _) in zip(Drows, self.parts, strict=True)]
        )

    @cached_property
    def hessian(self) -> Places:
        """The places of second derivatives, all of them, family by family."""
        pairs = []
        for _, columns in self.parts:
            n = columns.shape[1]
            pairs.append((np.repeat(columns, n, axis=1).ravel(), np.tile(columns, (1, n)).ravel()))
        rows, columns = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return rows, columns

    @cached_property
    def saddle(self) -> Saddle:
        """The matrix of a minimum under constraints."""
        return Saddle(self.hessian, self.jacobian, self.fixed, self.place, self.row_place)

    @cached_property
    def square(self) -> Banded:
        """The derivatives of the rows by the unknowns that are not fixed; as many of one as of the
        other.
        """
        rows, columns = self.jacobian
        free = ~self.fixed
        wanted, number = free[columns], np.cumsum(free) - 1
        return Banded(rows[wanted], number[columns[wanted]], self.row_place, self.place[free])


def add_rows(total: np.ndarray, family: Family, rows: np.ndarray) -> np.ndarray:
    """`total` with the rows of the elements of a family, where they belong."""
    wanted = family.rows >= 0
    return total + np.bincount(family.rows[wanted], rows[wanted], len(total))
