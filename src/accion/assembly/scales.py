"""Sizes: what a number of a problem is measured by, so that it is solved alike in any units.

A solver compares numbers with each other and with its tolerance. It is shown a problem in which
unknowns, rows and cost are divided by their sizes, which come from the data and have the units of
what they divide. Sizes are powers of two: dividing by them loses nothing.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from accion.assembly.program import Program, Summed
    from accion.assembly.sparsity import Sparsity


def power_of_two(size: np.ndarray | float) -> np.ndarray:
    """The powers of two next to some sizes, 1 where one is zero or no number."""
    size = np.asarray(size, dtype=float)
    good = np.isfinite(size) & (size > 0)
    return np.where(good, np.exp2(np.round(np.log2(np.where(good, size, 1.0)))), 1.0)


class Scales(NamedTuple):
    """The sizes of the unknowns (n,), of the rows (m,) and of the cost."""

    x: np.ndarray
    rows: np.ndarray
    cost: float

    def with_rows(self, sizes: np.ndarray) -> "Scales":
        """Those of a problem with more rows, of the given sizes."""
        return self._replace(rows=np.append(self.rows, sizes))


@dataclass(frozen=True)
class Scaled:
    """A `Program` measured by its sizes, as solvers see it."""

    program: "Program"
    scales: Scales

    @property
    def n(self) -> int:
        """The number of unknowns."""
        return self.program.n

    @property
    def m(self) -> int:
        """The number of rows."""
        return self.program.m

    @property
    def fixed(self) -> np.ndarray:
        """Which unknowns are."""
        return self.program.fixed

    @property
    def sparsity(self) -> "Sparsity":
        return self.program.sparsity

    @property
    def lower(self) -> np.ndarray:
        return self.program.lower / self.scales.x

    @property
    def upper(self) -> np.ndarray:
        return self.program.upper / self.scales.x

    @cached_property
    def row_lower(self) -> np.ndarray:
        return self.program.row_lower / self.scales.rows

    @cached_property
    def row_upper(self) -> np.ndarray:
        return self.program.row_upper / self.scales.rows

    @cached_property
    def of_jacobian(self) -> np.ndarray:
        """By what its entries are multiplied."""
        rows, columns = self.sparsity.jacobian
        return self.scales.x[columns] / self.scales.rows[rows]

    @cached_property
    def of_hessian(self) -> np.ndarray:
        rows, columns = self.sparsity.hessian
        return self.scales.x[rows] * self.scales.x[columns]

    def recentred(self, x: np.ndarray) -> "tuple[Scaled, np.ndarray]":
        """As that of the program."""
        program, moved = self.program.recentred(x * self.scales.x)
        if program is self.program:
            return self, x
        scaled = replace(self, program=program)
        for known in ("of_jacobian", "of_hessian", "row_lower"):  # the base does not change them
            scaled.__dict__[known] = getattr(self, known)
        return scaled, moved / self.scales.x

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """(cost, rows) of the whole."""
        cost, rows = self.program.values(x * self.scales.x)
        return cost / self.scales.cost, rows / self.scales.rows

    def slopes(self, x: np.ndarray) -> "Summed":
        """Cost and rows with their first derivatives."""
        return self.measured(self.program.slopes(x * self.scales.x))

    def measured(self, found: "Summed") -> "Summed":
        """What the program has at a point, divided by its sizes."""
        (_, rows, cost), pulled = self.scales, self.scales.x / self.scales.cost
        return found._replace(
            cost=found.cost / cost,
            rows=found.rows / rows,
            gradient=found.gradient * pulled,
            J=found.J * self.of_jacobian,
            terms=found.terms * pulled,
        )

    def all_derivatives(
        self, x: np.ndarray, weight: float, lam: np.ndarray
    ) -> "tuple[Summed, np.ndarray]":
        """What `slopes` gives; and the second derivatives of weight * cost + lam.rows."""
        size, rows, cost = self.scales
        found, H = self.program.all_derivatives(x * size, weight / cost, lam / rows)
        return self.measured(found), H * self.of_hessian

    def hessian(self, x: np.ndarray, weight: float, lam: np.ndarray) -> np.ndarray:
        """The second derivatives of weight * cost + lam.rows, in the places `sparsity.hessian`."""
        return self.all_derivatives(x, weight, lam)[1]

    def multipliers_in(self, lam: np.ndarray) -> np.ndarray:
        """Multipliers of the program's rows as those of the rows divided by their sizes."""
        return lam * self.scales.rows / self.scales.cost

    def multipliers_out(self, lam: np.ndarray) -> np.ndarray:
        """The other way."""
        return lam * self.scales.cost / self.scales.rows
