"""The equations of the constraint algorithm, written out."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import sympy as sp

from accion.errors import Untranslatable
from accion.symbols.derivatives import derivative
from accion.symbols.equations import Equations
from accion.symbols.linear_algebra import Undecided, determinant, solve
from accion.symbols.render import equation, equations_of
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, Variables
from accion.systems import HigherOrderSystem, System
from accion.systems.first_order import as_first_order


@singledispatch
def level_equations(
    system: Any, cuts: Sequence[Any], seconds: float
) -> tuple[list[Any], Any, str | None]:
    """The equations of each W_k and the determinant of the test of regularity (Vakonomic
    thesis, eq 4.11).

    Arguments:
        system: the system whose constraint algorithm it is.
        cuts: of each level its `rows` of the equations, and the `pivots` that they are reduced by.
        seconds: what simplification may take.

    Returns:
        Equations of each level and the determinant, as SymPy expressions, and None; or None for
        each, and why they cannot be had.
    """
    try:
        system.check()
        eqs = Equations(system, Simplifier(seconds))
        x = eqs.variables
        phi = list(eqs.inner_constraints) if system.enters_action else []
        g = phi + [p - momentum for p, momentum in zip(x.p, eqs.inner_p, strict=True)]
        found = [eqs.constraints, tuple(equations_of(eqs.for_reader(x.p), eqs.momenta))]
        for cut in cuts:
            new = next_level(eqs, g, cut)
            g = g + new
            found.append(tuple(equation(eqs.for_reader(e), 0) for e in new))
        u = (*x.v, *x.lam)
        rows = [*(derivative(eqs.inner_total, v) for v in x.v), *phi]
        H = sp.Matrix(len(rows), len(u), lambda i, j: eqs.simplify(derivative(rows[i], u[j])))
        return found, eqs.for_reader(eqs.simplify.as_fraction(determinant(H))), None
    except (Untranslatable, Undecided) as error:
        return [None] * (len(cuts) + 2), None, str(error)


@level_equations.register
def _(
    system: HigherOrderSystem, cuts: Sequence[Any], seconds: float
) -> tuple[list[Any], Any, str | None]:
    """Those of the system of first order that has the same levels, in the letters of order r."""
    whole, r, n = as_first_order(system), system.order, system.space.dim
    found, value, reason = level_equations(whole, cuts, seconds)
    if reason is not None:
        return found, value, reason
    letters = letters_of(system, whole)

    def read(e: Any) -> Any:
        for old, new in letters:
            e = e.subs(old, new)
        return e.doit()

    def written(level: Any) -> tuple[Any, ...]:
        pairs = [(read(e.lhs), read(e.rhs)) for e in level]
        return tuple(equation(a, b) for a, b in pairs if sp.simplify(a - b) != 0)

    # The equations q' = v, and p_s = their multipliers, are rows and columns of ones.
    return [*map(written, found)], (-1) ** ((r - 1) * n) * read(value), None


def letters_of(system: HigherOrderSystem, whole: System) -> list[tuple[Any, Any]]:
    """What the letters of `first_order(system)` are for the reader: x_1(t) is x'(t), the
    multiplier of x' = x_1 is p_0_x(t).
    """
    n, r = system.space.dim, system.order
    lam = Variables(system.names, system.multipliers, None, system.space, "lam").lam_words
    x = Variables(whole.names, whole.multipliers, whole.params, whole.space)
    names, pairs = x.words[:n], []
    for s in range(r):
        for j, name in enumerate(names):
            own, p = x.words[s * n + j], sp.Function(f"p_{s}_{name}")(TIME)
            if s:
                pairs.append((sp.Function(own)(TIME), sp.Function(name)(TIME).diff(TIME, s)))
            if s < r - 1:
                pairs.append((sp.Function(x.lam_words[s * n + j])(TIME), p))
            pairs.append((sp.Function(f"p_{own}")(TIME), p))
    for i in range(len(lam)):
        own = x.lam_words[(r - 1) * n + i]
        pairs.append((sp.Function(own)(TIME), sp.Function(lam[i])(TIME)))
    return pairs


def next_level(eqs: Equations, g: Sequence[Any], cut: Any) -> list[Any]:
    """The equations of a cut of `g` = 0, with the momenta replaced by what they are."""
    x = eqs.variables
    at = dict(zip(x.p, eqs.inner_p, strict=True))
    turned = x.coad(x.v, x.p)
    forces = [
        x.displaced(eqs.inner_total, i) + turned[i] + f for i, f in enumerate(eqs.inner_force)
    ]

    def along(e: Any) -> Any:
        """d/dt of an equation with (v, lam) as they are."""
        moved = [x.displaced(e, i) * v for i, v in enumerate(x.v)]
        pushed = [derivative(e, p) * f for p, f in zip(x.p, forces, strict=True)]
        return derivative(e, x.t) + sp.Add(*moved, *pushed)

    b: Any = sp.Matrix([along(e) for e in g])
    u = (*x.v, *x.lam)
    G: Any = sp.Matrix(len(g), len(u), lambda i, j: derivative(g[i], u[j]))
    R, C = (list(i) for i in cut.pivots)
    rows = list(cut.rows)
    new = b.extract(rows, [0])
    if R:
        new -= G.extract(rows, C) * solve(G.extract(R, C), b.extract(R, [0]))
    return [eqs.simplify(eqs.simplify.as_fraction(e.xreplace(at)), x.v) for e in new]
