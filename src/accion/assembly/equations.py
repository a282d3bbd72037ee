"""As many equations as unknowns, each a sum of small elements, with exact sparse derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from accion.assembly.banded import Correction
from accion.assembly.elements import Family
from accion.assembly.sparsity import Sparsity, add_rows


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

    def linearised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(residual, entries of its derivatives in the places `sparsity.jacobian`)."""
        sparsity = self.sparsity
        still = [F for F, c in zip(self.families, sparsity.constant, strict=True) if c]
        total, moving = self.summed(x, still), sparsity.moving(self.families)
        slopes = [F.slopes(x) for F in moving]
        for F, found in zip(moving, slopes, strict=True):
            total = add_rows(total, F, found.rows)
        return total, sparsity.jacobian_entries([found.Drows for found in slopes])

    def correction(self, x: np.ndarray, extent: float) -> Correction:
        """The step of Newton's method from `x`, over the unknowns that are not fixed.

        Arguments:
            x: shape (n,).
            extent: the size of the quantities that unknowns are added to, see `Banded.correction`.
        """
        residual, entries = self.linearised(x)
        _, columns = self.sparsity.jacobian
        free = entries[~self.fixed[columns]]
        return self.sparsity.square.correction(free, -residual, extent)

    def spread(self, dx: np.ndarray) -> np.ndarray:
        """A change of the unknowns that are not fixed as one of all, shape (n,)."""
        whole = np.zeros(len(self.fixed))
        whole[~self.fixed] = dx
        return whole
