"""As many equations as unknowns, each a sum of small elements, with exact sparse derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accion.assembly.banded import Correction
from accion.assembly.elements import Family
from accion.assembly.sparsity import Sparsity, add_rows
from accion.numerics.newton import EPS


class Linear(NamedTuple):
    """What is left of the equations (m,), and the entries of their derivatives in the places
    `sparsity.jacobian`.
    """

    residual: np.ndarray
    entries: np.ndarray


class Measure(NamedTuple):
    """The sizes of unknowns (n,) and of rows (m,), and of the quantities that unknowns are added
    to, by which rows are rounded.
    """

    unknowns: np.ndarray
    rows: np.ndarray
    beside: np.ndarray


@dataclass(frozen=True)
class Equations:
    """Find x with

        sum of the rows of all elements = 0,    x given where `fixed`

    Costs of elements are not looked at. There are as many rows as unknowns that are not fixed.

    Arguments:
        families: the elements.
        fixed: which unknowns are given, shape (n,).
        place, row_place: when unknowns and rows act: ordered by it, neighbours are near each other
            in a matrix.
    """

    families: tuple[Family, ...]
    fixed: np.ndarray
    place: np.ndarray
    row_place: np.ndarray

    def __post_init__(self) -> None:
        free = int(np.count_nonzero(~self.fixed))
        if free != len(self.row_place):
            raise ValueError(
                f"there must be as many equations as unknowns that are not fixed; got"
                f" {len(self.row_place)} equations and {free} unknowns."
            )

    @cached_property
    def sparsity(self) -> Sparsity:
        return Sparsity(self.families, self.fixed, self.place, self.row_place)

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """(row, number of the unknown among those that are not fixed) of their derivatives."""
        (rows, columns), free = self.sparsity.jacobian, ~self.fixed
        wanted, number = free[columns], np.cumsum(free) - 1
        return rows[wanted], number[columns[wanted]]

    def with_data(self, data: Sequence[object]) -> "Equations":
        """The same equations, each family with other data."""
        families = tuple(replace(F, data=d) for F, d in zip(self.families, data, strict=True))
        moved = replace(self, families=families)
        moved.__dict__["sparsity"] = self.sparsity  # which the data do not change
        return moved

    def residual(self, x: np.ndarray) -> np.ndarray:
        """What is left of the equations at `x`, shape (m,)."""
        return self.summed(x, self.families)

    def summed(self, x: np.ndarray, families: Sequence[Family]) -> np.ndarray:
        total = np.zeros(len(self.row_place))
        for F in families:
            total = add_rows(total, F, F.values(x).rows)
        return total

    def linearised(self, x: np.ndarray) -> "Linear":
        """The equations at `x`, and their derivatives there."""
        sparsity = self.sparsity
        still = [F for F, c in zip(self.families, sparsity.constant, strict=True) if c]
        total, moving = self.summed(x, still), sparsity.moving(self.families)
        slopes = [F.slopes(x) for F in moving]
        for F, found in zip(moving, slopes, strict=True):
            total = add_rows(total, F, found.rows)
        return Linear(total, sparsity.jacobian_entries([found.Drows for found in slopes]))

    def correction(self, linear: "Linear", measure: "Measure") -> Correction:
        """The step of Newton's method over the unknowns that are not fixed, from where the
        equations are `linear`.
        """
        rows, columns = self.sparsity.jacobian
        free = ~self.fixed
        wanted, sizes = free[columns], measure.unknowns[free]
        entries = linear.entries * measure.unknowns[columns] / measure.rows[rows]
        far = np.abs(linear.entries) * measure.beside[columns] / measure.rows[rows]
        noise = np.zeros(len(linear.residual))
        with np.errstate(invalid="ignore"):  # a matrix that is no number is told as singular
            np.maximum.at(noise, rows, EPS * far)
        right = -linear.residual / measure.rows
        return self.sparsity.square.correction(entries[wanted], right, noise, sizes)

    def blocks(self, linear: "Linear", kinds: np.ndarray, row_kinds: np.ndarray) -> np.ndarray:
        """The largest entry between each kind of rows and each kind of unknowns, whose numbers are
        `row_kinds` (m,) and `kinds` (n,).
        """
        rows, columns = self.sparsity.jacobian
        largest = np.zeros((np.max(row_kinds) + 1, np.max(kinds) + 1))
        sizes = np.where(np.isfinite(linear.entries), np.abs(linear.entries), 0.0)
        np.maximum.at(largest, (row_kinds[rows], kinds[columns]), sizes)
        return largest

    def spread(self, dx: np.ndarray) -> np.ndarray:
        """A change of the unknowns that are not fixed as one of all, shape (n,)."""
        whole = np.zeros(len(self.fixed))
        whole[~self.fixed] = dx
        return whole
