"""Differential forms on TQ, as sums of dx, dx ^ dy with coefficients."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.physics.vector.printing import vsstrrepr

from accion.symbols.derivatives import derivative
from accion.symbols.render import tex

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True)
class Form:
    """A form of degree 1 or 2: {(i, j): c} is the sum of c dx_i ^ dx_j over i < j, in the
    `coordinates` x.
    """

    degree: int
    coordinates: tuple[Any, ...]
    terms: dict[tuple[int, ...], Any]

    @property
    def matrix(self) -> Any:
        """A 2-form as the matrix W with form(X, Y) = X.W Y; a 1-form as a row."""
        n = len(self.coordinates)
        if self.degree == 1:
            return sp.Matrix(1, n, lambda _, j: self.terms.get((j,), 0))
        return sp.Matrix(n, n, lambda i, j: self.terms.get((i, j), 0) - self.terms.get((j, i), 0))

    def parts(self, d: Sequence[str], sign: str) -> list[tuple[Any, str]]:
        """Each coefficient with its differentials, taken from `d` and joined by `sign`."""
        return [(c, sign.join(d[i] for i in index)) for index, c in self.terms.items() if c != 0]

    def latex(self) -> str:
        """The form as LaTeX."""
        d = [rf"\mathrm{{d}}{tex(x)}" for x in self.coordinates]
        return joined(rf"\left({tex(c)}\right) {wedge}" for c, wedge in self.parts(d, r" \wedge "))

    def text(self) -> str:
        """The form for the terminal."""
        d = [f"d{vsstrrepr(x)}" for x in self.coordinates]
        return joined(f"({vsstrrepr(c)}) {wedge}" for c, wedge in self.parts(d, " ^ "))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def joined(terms: Iterable[str]) -> str:
    """A sum in words, 0 where there is nothing."""
    return " + ".join(terms) or "0"


def coordinates_of(eqs: "Equations") -> tuple[Any, ...]:
    """(q, v); where multipliers are in the action (q, v, lam), on which L + lam.Phi lives."""
    return (*eqs.q, *eqs.v, *(eqs.lam if eqs.system.enters_action else ()))


def one_form(eqs: "Equations") -> Form:
    """theta_L = dL/dv dq."""
    return Form(1, coordinates_of(eqs), {(i,): p for i, p in enumerate(eqs.momenta)})


def two_form(eqs: "Equations") -> Form:
    """Omega_L = -d theta_L = dq ^ d(dL/dv)."""
    x, p, n = eqs.variables, eqs.inner_p, len(eqs.variables.q)
    beside = (*x.v, *(x.lam if eqs.system.enters_action else ()))
    terms = {
        (i, j): eqs.simplify(derivative(p[i], x.q[j]) - derivative(p[j], x.q[i]))
        for i in range(n)
        for j in range(i + 1, n)
    }
    terms |= {
        (i, n + j): eqs.simplify(derivative(p[i], y))
        for i in range(n)
        for j, y in enumerate(beside)
    }
    found = {index: eqs.for_reader(c) for index, c in terms.items() if c != 0}
    return Form(2, coordinates_of(eqs), found)
