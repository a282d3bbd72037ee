"""Differential forms on TQ, as sums of dx, dx ^ dy with coefficients."""

from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.physics.vector.printing import vsstrrepr

from accion.symbols.render import tex


@dataclass(frozen=True)
class Form:
    """A form of degree 1 or 2: {(i, j): c} is the sum of c dx_i ^ dx_j over i < j, in the
    `coordinates` x.
    """

    degree: int
    coordinates: tuple[Any, ...]
    terms: dict[tuple[int, ...], Any]

    @property
    def matrix(self):
        """A 2-form as the matrix W with form(X, Y) = X.W Y; a 1-form as a row."""
        n = len(self.coordinates)
        if self.degree == 1:
            return sp.Matrix(1, n, lambda _, j: self.terms.get((j,), 0))
        return sp.Matrix(n, n, lambda i, j: self.terms.get((i, j), 0) - self.terms.get((j, i), 0))

    def parts(self, d, sign):
        """Each coefficient with its differentials, taken from `d` and joined by `sign`."""
        return [(c, sign.join(d[i] for i in index)) for index, c in self.terms.items() if c != 0]

    def join(self, rows):
        return " + ".join(rows) or "0"

    def latex(self):
        d = [rf"\mathrm{{d}}{tex(x)}" for x in self.coordinates]
        return self.join(
            rf"\left({tex(c)}\right) {wedge}" for c, wedge in self.parts(d, r" \wedge ")
        )

    def text(self):
        d = [f"d{vsstrrepr(x)}" for x in self.coordinates]
        return self.join(f"({vsstrrepr(c)}) {wedge}" for c, wedge in self.parts(d, " ^ "))

    def _repr_latex_(self):
        return f"$\\displaystyle {self.latex()}$"
