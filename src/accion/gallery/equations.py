"""The equations of a gallery system, derived by SymPy from its Lagrangian as it is written on paper."""

from typing import Any

import sympy as sp


def euler_lagrange(symbols) -> list[Any]:
    """[d/dt dL/dv_i - dL/dq_i = F_i + (A^T lam)_i], one equation for each coordinate."""
    t, q, L = symbols.t, symbols.q, symbols.L
    force = symbols.force or (sp.Integer(0),) * len(q)
    equations = []
    for qi, Fi in zip(q, force, strict=True):
        left = sp.collect(sp.expand(sp.diff(L, qi.diff(t)).diff(t) - sp.diff(L, qi)), [qj.diff(t, 2) for qj in q])
        rows = [sp.diff(phi, qi) for phi in symbols.holonomic] + [sp.diff(kappa, qi.diff(t)) for kappa in symbols.nonholonomic]
        equations.append(sp.Eq(left, Fi + sum(lam * row for lam, row in zip(symbols.lam, rows, strict=True))))
    return equations


def constraints(symbols) -> list[Any]:
    return [sp.Eq(c, 0) for c in (*symbols.holonomic, *symbols.nonholonomic)]


def momenta(symbols):
    return [sp.diff(symbols.L, qi.diff(symbols.t)) for qi in symbols.q]


def energy(symbols):
    velocities = [qi.diff(symbols.t) for qi in symbols.q]
    return sp.simplify(sum(p * v for p, v in zip(momenta(symbols), velocities, strict=True)) - symbols.L)


def latex(expression):
    """LaTeX with dots for time derivatives, in the part of it that matplotlib can draw."""
    from sympy.physics.vector.printing import vlatex

    return vlatex(expression).replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\operatorname", r"\mathrm")
