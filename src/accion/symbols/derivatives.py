"""Derivatives, as JAX takes them."""

from typing import Any

import sympy as sp

STEPS = (sp.floor, sp.ceiling)


def derivative(expr: Any, *variables: sp.Symbol) -> Any:
    """d expr / d variables, one after the other.

    Steps (floor, sign, Heaviside) have slope 0 almost everywhere and for JAX; so here.
    """
    for x in variables:
        expr = sp.diff(expr, x)
        if expr.has(sp.DiracDelta, *STEPS):
            slopes = [
                part
                for part in expr.atoms(sp.Subs, sp.Derivative, sp.DiracDelta)
                if is_slope_of_step(part)
            ]
            expr = expr.xreplace(dict.fromkeys(slopes, sp.Integer(0)))
    return expr


def is_slope_of_step(expr: sp.Basic) -> bool:
    """DiracDelta, and what SymPy leaves of d floor(u)/dx: a Derivative, or one substituted at u."""
    inner = expr.expr if isinstance(expr, sp.Subs) else expr
    return isinstance(expr, sp.DiracDelta) or (
        isinstance(inner, sp.Derivative) and isinstance(inner.expr, STEPS)
    )
