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

    On a group the letter of a velocity xi_i among the first coordinates stands for the left
    invariant one-form (g^-1 dg)_i, which says what xi_i is on a motion; they are dual to the
    displacements of the body, and not closed.
    """

    degree: int
    coordinates: tuple[Any, ...]
    terms: dict[tuple[int, ...], Any]
    invariant: frozenset[int] = frozenset()  # which of them stand for (g^-1 dg)_i

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
        d = [
            rf"\left(g^{{-1}} \mathrm{{d}}g\right)_{{{tex(x)}}}"
            if i in self.invariant
            else rf"\mathrm{{d}}{tex(x)}"
            for i, x in enumerate(self.coordinates)
        ]
        return joined(rf"\left({tex(c)}\right) {wedge}" for c, wedge in self.parts(d, r" \wedge "))

    def text(self) -> str:
        """The form for the terminal."""
        d = [
            f"(g^-1 dg)_{vsstrrepr(x)}" if i in self.invariant else f"d{vsstrrepr(x)}"
            for i, x in enumerate(self.coordinates)
        ]
        return joined(f"({vsstrrepr(c)}) {wedge}" for c, wedge in self.parts(d, " ^ "))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def joined(terms: Iterable[str]) -> str:
    """A sum in words, 0 where there is nothing."""
    return " + ".join(terms) or "0"


def coordinates_of(eqs: "Equations") -> tuple[tuple[Any, ...], frozenset[int]]:
    """(q, v); where multipliers are in the action (q, v, lam), on which L + lam.Phi lives. On a
    group the letters of v stand for q, and which do.
    """
    x = eqs.variables
    places = [
        v if moving else eqs.for_reader(sp.Symbol(word, real=True))
        for word, v, moving in zip(x.words, eqs.v, x.moving, strict=True)
    ]
    beside = eqs.lam if eqs.system.enters_action else ()
    invariant = frozenset(i for i, moving in enumerate(x.moving) if moving)
    return (*places, *eqs.v, *beside), invariant


def one_form(eqs: "Equations") -> Form:
    """theta_L = dL/dv dq, on a group dL/dv.(g^-1 dg)."""
    coordinates, invariant = coordinates_of(eqs)
    return Form(1, coordinates, {(i,): p for i, p in enumerate(eqs.momenta)}, invariant)


def two_form(eqs: "Equations") -> Form:
    """Omega_L = -d theta_L = dq ^ d(dL/dv); on a group with dL/dv.[e_i, e_j] for each pair of
    displacements, as d(g^-1 dg) = -[g^-1 dg, g^-1 dg]/2.
    """
    x, p, n = eqs.variables, eqs.inner_p, len(eqs.variables.v)
    beside = (*x.v, *(x.lam if eqs.system.enters_action else ()))
    # p([e_i, e_j])
    turned = [x.coad([sp.Integer(int(i == k)) for k in range(n)], p) for i in range(n)]
    terms = {
        (i, j): eqs.simplify(x.displaced(p[i], j) - x.displaced(p[j], i) + turned[i][j])
        for i in range(n)
        for j in range(i + 1, n)
    }
    terms |= {
        (i, n + j): eqs.simplify(derivative(p[i], y))
        for i in range(n)
        for j, y in enumerate(beside)
    }
    coordinates, invariant = coordinates_of(eqs)
    found = {index: eqs.for_reader(c) for index, c in terms.items() if c != 0}
    return Form(2, coordinates, found, invariant)
