"""Differential forms on TQ, as sums of dx, dx ^ dy with coefficients."""

from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.physics.vector.printing import vlatex, vsstrrepr


@dataclass(frozen=True)
class Form:
    """A 1- or 2-form: {(i, j): c} is the sum of c dx_i ^ dx_j over i < j, in the `coordinates` x."""

    coordinates: tuple[Any, ...]
    terms: dict[tuple[int, ...], Any]

    @property
    def matrix(self):
        """A 2-form as the matrix W with form(X, Y) = X.W Y; a 1-form as a row."""
        n = len(self.coordinates)
        if all(len(index) == 1 for index in self.terms):
            return sp.Matrix(1, n, lambda _, j: self.terms.get((j,), 0))
        return sp.Matrix(n, n, lambda i, j: self.terms.get((i, j), 0) - self.terms.get((j, i), 0))

    def written(self, word, wedge):
        """The form in the manner of a printer `word`."""
        d = [f"d{word(x)}" if wedge == " ^ " else rf"\mathrm{{d}}{word(x)}" for x in self.coordinates]
        rows = [f"({word(c)}) {wedge.join(d[i] for i in index)}" for index, c in self.terms.items() if c != 0]
        return " + ".join(rows) or "0"

    def latex(self):
        return self.written(vlatex, r" \wedge ").replace("(", r"\left(").replace(")", r"\right)")

    def text(self):
        return self.written(vsstrrepr, " ^ ")

    def _repr_latex_(self):
        return f"$\\displaystyle {self.latex()}$"
