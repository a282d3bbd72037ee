"""The equations of the constraint algorithm, written out."""

import sympy as sp

from accion.errors import Untranslatable
from accion.symbols.calculus import derivative
from accion.symbols.equations import derive, equation
from accion.symbols.linear import Undecided, solve


def printed(system, cuts, seconds):
    """The equations of each W_k and the determinant of the test 4.11 as SymPy expressions, or why
    they cannot be had.
    """
    try:
        eqs = derive(system, seconds)
        x = eqs.variables
        phi = list(eqs.inner_constraints) if system.enters_action else []
        g = phi + [p - momentum for p, momentum in zip(x.p, eqs.inner_p, strict=True)]
        shown = [
            eqs.constraints,
            tuple(
                equation(p, momentum)
                for p, momentum in zip(eqs.show(x.p), eqs.momenta, strict=True)
            ),
        ]
        for cut in cuts:
            new = follow(eqs, g, cut)
            g = g + new
            shown.append(tuple(equation(eqs.show(e), 0) for e in new))
        u = (*x.v, *x.lam)
        rows = [*(derivative(eqs.inner_total, v) for v in x.v), *phi]
        H = sp.Matrix(len(rows), len(u), lambda i, j: eqs.tidy(derivative(rows[i], u[j])))
        return shown, eqs.show(eqs.tidy.solved(H.det(method="berkowitz"))), None
    except (Untranslatable, Undecided) as error:
        return [None] * (len(cuts) + 2), None, str(error)


def follow(eqs, g, cut):
    """The equations of a cut, with the momenta replaced by what they are."""
    x = eqs.variables
    at = dict(zip(x.p, eqs.inner_p, strict=True))
    forces = [derivative(eqs.inner_total, q) + f for q, f in zip(x.q, eqs.inner_force, strict=True)]
    moving = [(x.t, sp.Integer(1)), *zip(x.q, x.v, strict=True), *zip(x.p, forces, strict=True)]
    b = sp.Matrix([sp.Add(*(derivative(e, y) * dy for y, dy in moving)) for e in g])
    u = (*x.v, *x.lam)
    G = sp.Matrix(len(g), len(u), lambda i, j: derivative(g[i], u[j]))
    R, C = (list(i) for i in cut.pivots)
    rows = list(cut.rows)
    new = b.extract(rows, [0])
    if R:
        new -= G.extract(rows, C) * solve(G.extract(R, C), b.extract(R, [0]))
    return [eqs.tidy(eqs.tidy.solved(e.xreplace(at)), x.v) for e in new]
