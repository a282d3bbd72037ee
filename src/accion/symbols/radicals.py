"""Square roots in letters: sums over a common root, and equations that are linear once their root
is a letter of its own.

In the relativistic L = -m c^2 s, with s^2 = 1 - v^2/c^2, the energy m v^2/s + m c^2 s is (m v^2 + m
c^2 s^2)/s = m c^2/s, and p = m v/s has the solution v = p s/m, for which s^2 = 1 - p^2 s^2/(m c)^2.
"""

from collections.abc import Sequence
from typing import Any

import sympy as sp

MOST = 3  # different roots in one expression

ROOT = sp.Dummy("s", positive=True)


def bases(expr: Any, letters: Sequence[Any] = ()) -> list[Any]:
    """The sums whose square roots are in an expression; of those with `letters`, where there are
    any.
    """
    found = {
        power.base
        for power in expr.atoms(sp.Pow)
        if power.base.is_Add and power.exp.is_Rational and power.exp.q == 2
    }
    return sorted((b for b in found if not letters or b.has(*letters)), key=sp.default_sort_key)


def with_letter(expr: Any, base: Any, root: Any) -> Any:
    """The expression with a letter for the square root of a sum, and its square for the sum."""
    return expr.replace(
        lambda e: e.is_Pow and e.base == base and (2 * e.exp).is_Integer,
        lambda e: root ** (2 * e.exp),
    )


def gathered(expr: Any, letters: Sequence[Any]) -> Any:
    """A sum of terms with the same square roots, of sums with some of the letters, as one fraction,
    in which squares of roots are written out.
    """
    roots = bases(expr, letters) if letters else []
    if not 0 < len(roots) <= MOST:
        return expr
    terms = sp.Add.make_args(sp.expand(expr, deep=False))
    beside = sp.Add(*(term for term in terms if not term.has(*roots)))
    expr = sp.Add(*(term for term in terms if term.has(*roots)))
    for base in roots:
        numerator, denominator = sp.fraction(sp.together(with_letter(expr, base, ROOT)))
        if not numerator.is_polynomial(ROOT) or not denominator.is_polynomial(ROOT):
            return beside + expr
        numerator, denominator = (in_root(e, base, letters) for e in (numerator, denominator))
        root = sp.sqrt(sp.factor_terms(base))
        expr = sp.cancel(numerator / denominator).xreplace({ROOT: root})
    return beside + sp.factor_terms(expr)


def in_root(expr: Any, base: Any, letters: Sequence[Any]) -> Any:
    """A polynomial in the letter of a root as a + b root, its squares written out but where a is a
    multiple of one.
    """
    found = [sp.Integer(0), sp.Integer(0)]
    for (power,), c in sp.Poly(sp.expand(expr), ROOT).terms():
        found[power % 2] += c * base ** (power // 2)
    whole, odd = (sp.factor(sp.expand(part)) for part in found)
    times = sp.cancel(whole / base)
    multiple = not sp.denom(times).has(*letters)
    return (times * ROOT**2 if multiple else whole) + ROOT * odd


def solutions(
    rows: Sequence[Any], unknowns: Sequence[Any], positive: Sequence[Any]
) -> list[dict[Any, Any]]:
    """The solutions of equations that are linear in the unknowns but for one square root; none
    where they are not. Letters that are `positive` are so.
    """
    roots = sorted({b for row in rows for b in bases(row, unknowns)}, key=sp.default_sort_key)
    if len(roots) != 1:
        return []
    (base,) = roots
    linear = [with_letter(row, base, ROOT) for row in rows]
    K = sp.Matrix([[sp.diff(row, u) for u in unknowns] for row in linear])
    if K.has(*unknowns) or K.det() == 0:
        return []
    right = -sp.Matrix(linear).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
    at = dict(zip(unknowns, K.LUsolve(right), strict=True))
    square = sp.Dummy("s2")
    left: Any = sp.numer(sp.together(base.xreplace(at) - ROOT**2)).xreplace({ROOT: sp.sqrt(square)})
    if not left.is_polynomial(square):
        return []
    found = [written_out(s2, positive) for s2 in sp.solve(sp.expand(left), square)]
    return [{u: e.xreplace({ROOT: s}) for u, e in at.items()} for s in found]


def tidied(expr: Any, positive: Sequence[Any]) -> Any:
    """An expression in which roots of fractions are fractions of roots."""

    def is_root(e: Any) -> bool:
        half = e.is_Pow and e.base.is_Add and e.exp.is_Rational and e.exp.q == 2
        return half and bool(sp.denom(sp.together(e.base)).free_symbols)

    return expr.replace(is_root, lambda e: written_out(e.base, positive) ** (2 * e.exp))


def written_out(square: Any, positive: Sequence[Any]) -> Any:
    """The root of a fraction as a fraction of roots."""
    up, down = sp.fraction(sp.factor(square))
    at = {x: sp.Integer(int(x in positive)) for x in (up * down).free_symbols}
    if up.xreplace(at).is_negative:
        up, down = -up, -down
    found = sp.sqrt(sp.factor(up)) / sp.sqrt(sp.expand(down))
    return found.replace(sp.Abs, lambda x: x if x in positive else sp.Abs(x))
