"""A minimum under constraints that is a sum of small elements, with exact sparse derivatives.

minimise   sum of the costs of all elements
such that  lower <= x <= upper,    row_lower <= sum of their rows <= row_upper
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accion.assembly.charts import Chart, is_vector, retract_all
from accion.assembly.elements import Curvature, Family, Slopes
from accion.assembly.scales import Scaled, Scales
from accion.assembly.sparsity import Sparsity, add_rows
from accion.types import Configuration


class Summed(NamedTuple):
    """A program at one point."""

    cost: float
    rows: np.ndarray
    gradient: np.ndarray  # of the cost
    J: np.ndarray  # the derivatives of the rows, in the places `sparsity.jacobian`
    terms: np.ndarray  # the size of what adds up to the gradient


@dataclass(frozen=True)
class Program:
    """The problem.

    Arguments:
        families: the elements.
        lower, upper: bounds of the unknowns, shape (n,); one that has both the same is fixed.
        row_lower, row_upper: bounds of the rows, shape (m,); both the same for an equation.
        place, row_place: when unknowns and rows act: ordered by it, neighbours are near each other
            in a matrix.
        row_label: row_label(j) names a row, with its time.
        chart: which unknowns are displacements, where some are.
        scales: the sizes of unknowns, rows and cost, by which solvers measure; None for 1.
    """

    families: tuple[Family, ...]
    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    place: np.ndarray
    row_place: np.ndarray
    row_label: Callable[[int], str]
    chart: Chart | None = None
    scales: Scales | None = None

    @property
    def n(self) -> int:
        """The number of unknowns."""
        return len(self.lower)

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.row_lower)

    @cached_property
    def fixed(self) -> np.ndarray:
        """Which unknowns are."""
        return self.lower == self.upper

    @property
    def equalities_only(self) -> bool:
        """Whether unknowns that are not fixed have no bounds, and all rows are equations."""
        free = ~self.fixed
        bounded = np.isfinite(self.lower[free]).any() or np.isfinite(self.upper[free]).any()
        return not bounded and np.array_equal(self.row_lower, self.row_upper)

    @cached_property
    def sparsity(self) -> Sparsity:
        return Sparsity(self.families, self.fixed, self.place, self.row_place)

    @property
    def scaled(self) -> Scaled:
        """The problem as solvers see it."""
        ones = Scales(np.ones(self.n), np.ones(self.m), 1.0)
        return Scaled(self, ones if self.scales is None else self.scales)

    def with_families(self, families: tuple[Family, ...]) -> "Program":
        """The same problem with other data; what is known of its sparsity is kept."""
        moved = replace(self, families=families)
        moved.__dict__.update(sparsity=self.sparsity, fixed=self.fixed)
        return moved

    def with_scales(self, scales: Scales) -> "Program":
        """The same problem, measured by other sizes."""
        moved = replace(self, scales=scales)
        moved.__dict__.update(sparsity=self.sparsity, fixed=self.fixed)
        return moved

    def with_base(self, base: Configuration) -> "Program":
        """The same problem, displacements measured from the configurations `base`."""
        return self.with_families(tuple(replace(F, base=base) for F in self.families))

    @property
    def base(self) -> Configuration:
        """The configurations that displacements are measured from."""
        return self.families[0].base

    def configurations(self, x: np.ndarray) -> Configuration:
        """The configurations at the nodes.

        Raises:
            ValueError: where no unknowns are displacements.
        """
        if self.chart is None:
            raise ValueError("a program without a chart has no configurations.")
        space, e = self.chart
        # Where they are vectors the base is the origin.
        return x[e] if is_vector(space) else retract_all(space, self.base, x[e])

    def recentred(self, x: np.ndarray) -> "tuple[Program, np.ndarray]":
        """(program, x): the same point, on a curved space with its nodes as the base of the
        charts.
        """
        if self.chart is None or not self.chart.curved:
            return self, x
        base, moved = self.configurations(x), x.copy()
        moved[self.chart.e] = 0.0
        return self.with_base(base), moved

    @property
    def moving(self) -> list[Family]:
        """The families with derivatives."""
        return self.sparsity.moving(self.families)

    @cached_property
    def constant(self) -> tuple[float, np.ndarray]:
        """(cost, rows) of the families that see fixed unknowns only."""
        cost, g = 0.0, np.zeros(self.m)
        for F, constant in zip(self.families, self.sparsity.constant, strict=True):
            if constant:
                found = F.values(np.where(self.fixed, self.lower, 0.0))
                cost += float(np.sum(found.cost))
                g = add_rows(g, F, found.rows)
        return cost, g

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """(cost, rows) of the whole."""
        cost, g = self.constant
        for F in self.moving:
            found = F.values(x)
            cost = cost + float(np.sum(found.cost))
            g = add_rows(g, F, found.rows)
        return cost, g

    def slopes(self, x: np.ndarray) -> Summed:
        """Cost and rows with their first derivatives."""
        return self.summed([F.slopes(x) for F in self.moving])

    def summed(self, parts: Sequence[Slopes | Curvature]) -> Summed:
        """What the elements of the moving families add up to."""
        (cost, g), gradient, terms = self.constant, np.zeros(self.n), np.zeros(self.n)
        for F, found in zip(self.moving, parts, strict=True):
            cost = cost + float(np.sum(found.cost))
            g = add_rows(g, F, found.rows)
            gradient += np.bincount(F.columns.ravel(), found.Dcost.ravel(), self.n)
            terms += np.bincount(F.columns.ravel(), np.abs(found.Dcost.ravel()), self.n)
        J = self.sparsity.jacobian_entries([found.Drows for found in parts])
        return Summed(cost, g, gradient, J, terms)

    def all_derivatives(
        self, x: np.ndarray, weight: float, lam: np.ndarray
    ) -> tuple[Summed, np.ndarray]:
        """What `slopes` gives; and the second derivatives of weight * cost + lam.rows, in the
        places `sparsity.hessian`.
        """
        parts = [F.curvature(x, weight, lam) for F in self.moving]
        return self.summed(parts), np.concatenate([part.H.ravel() for part in parts])

    def hessian(self, x: np.ndarray, weight: float, lam: np.ndarray) -> np.ndarray:
        """The second derivatives of weight * cost + lam.rows, in the places `sparsity.hessian`."""
        return self.all_derivatives(x, weight, lam)[1]
