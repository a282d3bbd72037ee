"""Expressions in the form in which a person writes them, within a limit of time."""

import math
import time
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import sympy as sp
from sympy.simplify.fu import TR5, TR10i

from accion.symbols.deadline import OutOfTime, deadline
from accion.symbols.radicals import gathered

TRIGONOMETRIC = (sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh)
UNFACTORED = (sp.Piecewise, sp.Abs, sp.Max, sp.Min)  # what sp.factor cannot look into
LARGE = 300  # operations beyond which it takes too long
# letters: in more of them SymPy factors for seconds, and finds nothing that is not seen at once
MANY = 8


class Simplifier:
    """Simplification with a budget of seconds for all of its calls.

    `complete` is False once an expression was left as it was.

    Arguments:
        seconds: the budget, 0 or more; 0 for no simplification.
    """

    left: float
    complete: bool

    def __init__(self, seconds: float) -> None:
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, Real)
            or math.isnan(seconds)
            or seconds < 0
        ):
            raise ValueError(
                f"seconds must be a number, 0 or more (0: no simplification); got {seconds!r}."
            )
        self.left = float(seconds)
        self.complete = True

    def within(self, f: Callable[[Any], Any], expr: Any) -> Any:
        """f(expr), or `expr` where the time does not suffice."""
        if self.left <= 0:
            self.complete = False
            return expr
        start = time.monotonic()
        try:
            with deadline(self.left):
                return f(expr)
        except OutOfTime:
            self.complete = False
            return expr
        finally:
            self.left -= time.monotonic() - start

    def __call__(
        self, expr: sp.Expr, variables: Sequence[sp.Symbol] = (), search: bool = True
    ) -> sp.Expr:
        """A sum over the monomials in `variables`, each with a simplified coefficient; never longer
        than `expr` was.

        Without `search` only the quick rules are tried on trigonometric sums.
        """
        return self.within(lambda e: shorter(e, grouped(e, variables, search)), sp.sympify(expr))

    def as_fraction(self, expr: sp.Expr) -> sp.Expr:
        """The solution of linear equations, as one fraction in lowest terms where that is
        shorter.
        """
        return self.within(lambda e: shorter(e, fraction(e)), sp.sympify(expr))


def grouped(expr: sp.Expr, variables: Sequence[sp.Symbol], search: bool) -> sp.Expr:
    """The terms of `expr` collected by their monomials in `variables`."""
    terms = {}
    for term in sp.Add.make_args(sp.expand(expr, deep=False)):
        # A potential stays as it was written; what multiplies velocities is expanded.
        pieces = (
            sp.Add.make_args(sp.expand(term)) if variables and term.has(*variables) else (term,)
        )
        for piece in pieces:
            c, monomial = (
                piece.as_independent(*variables, as_Add=False)
                if variables
                else (piece, sp.Integer(1))
            )
            terms.setdefault(monomial, []).append(c)
    total = sp.Add(*(coefficient(sp.Add(*cs), search) * monomial for monomial, cs in terms.items()))
    total = shorter(total, sp.factor_terms(total))
    if sp.count_ops(total) > LARGE or total.has(sp.Piecewise, sp.Max, sp.Min):
        return total
    return shorter(total, gathered(total, variables))


def tidied(expr: sp.Expr, h: sp.Symbol) -> sp.Expr:
    """Steps as a person writes them: h (a/h^2 + b) as a/h + h b, and (2 x - 2 y)/2 as x - y, inside
    of functions too; never longer than `expr` was.
    """
    terms: list[sp.Expr] = []
    for term in sp.Add.make_args(expr):
        sums = [factor for factor in sp.Mul.make_args(term) if factor.is_Add]
        others = sp.Mul(*(factor for factor in sp.Mul.make_args(term) if not factor.is_Add))
        spread = len(sums) == 1 and others.free_symbols <= {h}
        terms += [others * part for part in sums[0].args] if spread else [term]
    if len(terms) < 2:
        return expr
    return shorter(expr, sp.Add(*(sp.factor_terms(term, clear=True) for term in terms)))


def coefficient(c: sp.Expr, search: bool = True) -> sp.Expr:
    """A coefficient, simplified: trigonometric sums joined, common factors taken out."""
    if not c.has(sp.Add):
        return c
    best = c
    if c.has(*TRIGONOMETRIC):
        best = joined(best, search)
    large = sp.count_ops(best) > LARGE or len(best.free_symbols) > MANY
    return shorter(
        best, sp.factor_terms(best) if best.has(*UNFACTORED) or large else sp.factor(best)
    )


def joined(c: sp.Expr, search: bool) -> sp.Expr:
    """cos a cos b + sin a sin b and its like written as one; the quick rules first, SymPy's search
    only where something is left.
    """
    expanded = sp.expand(c)
    best = shorter(c, TR10i(expanded))
    best = shorter(best, sp.expand(TR5(sp.expand(best))))
    return shorter(best, sp.trigsimp(best)) if search and may_join(best) else best


def may_join(c: sp.Expr) -> bool:
    """Whether products of trigonometric functions are left in a sum, so that a search may find
    something.
    """
    parts = {
        sp.Mul(*(f for f in sp.Mul.make_args(term) if f.has(*TRIGONOMETRIC)))
        for term in sp.Add.make_args(sp.expand(c))
    }
    return len(parts) > 1 and any(part.is_Mul or part.is_Pow for part in parts)


def fraction(expr: sp.Expr) -> sp.Expr:
    """numerator / denominator without common factors, each simplified by itself."""
    if expr.has(*UNFACTORED) or sp.count_ops(expr) > 4 * LARGE:
        return expr
    numerator, denominator = sp.fraction(sp.factor(sp.together(expr)))
    return sp.factor_terms(factors(numerator)) / factors(denominator)


def factors(expr: sp.Expr) -> sp.Expr:
    """A product, each of its factors simplified by itself."""
    return sp.Mul(*(coefficient(factor) for factor in sp.Mul.make_args(expr)))


def shorter(a: Any, b: Any) -> Any:
    """`b` where it has fewer operations than `a`."""
    return b if sp.count_ops(b) < sp.count_ops(a) else a
