"""The inverse Legendre transform in letters: velocities, and the multipliers of a vakonomic system,
as functions of momenta.
"""

import numpy as np
import sympy as sp

from accion.symbols.calculus import derivative
from accion.symbols.linear import Undecided, solve


def inverse(eqs):
    """(v, lam) as functions of (t, q, p): p = dL/dv or, for a vakonomic system, p = d(L +
    lam.Phi)/dv with Phi = 0; else no lam.

    They exist where d2L/dv2, bordered by dPhi/dv, is regular (004 eq 4.11).
    """
    x, held = eqs.variables, eqs.system.enters_action
    unknowns = (*x.v, *x.lam) if held else x.v
    rows = [
        *(m - p for m, p in zip(eqs.inner_p, x.p, strict=True)),
        *(eqs.inner_constraints if held else ()),
    ]
    K = sp.Matrix(len(rows), len(rows), lambda i, j: eqs.tidy(derivative(rows[i], unknowns[j])))
    if not K.has(*unknowns):
        at_rest = sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
        try:
            return tuple(eqs.tidy(s) for s in solve(K, -at_rest))
        except (Undecided, ValueError, ZeroDivisionError) as error:
            raise ValueError(singular(eqs)) from error
    if held and eqs.tidy.solved(K.det(method="berkowitz")) == 0:
        raise ValueError(singular(eqs))
    found = eqs.tidy.within(lambda e: sp.solve(e, unknowns, dict=True), rows)
    branches = [
        b
        for b in (found if found and isinstance(found[0], dict) else ())
        if len(b) == len(unknowns)
    ]
    good = [b for b in branches if (solves(eqs, rows, b) if held else inverts(eqs, b))]
    # Two branches of a vakonomic system are two motions with the same momenta: neither is the
    # Hamiltonian one.
    if not good or (held and len(good) > 1):
        what = (
            "p = d(L + lam.Phi)/dv with Phi = 0 could not be solved for velocities and multipliers"
            if held
            else ""
        )
        what = what or "p = dL/dv could not be solved for the velocities"
        what = f"{what} in one way only" if len(good) > 1 else what
        raise ValueError(f"{eqs.system.name} has no Hamiltonian in closed form: {what}.")
    return tuple(eqs.tidy(good[0][u]) for u in unknowns)


def singular(eqs):
    if not eqs.system.enters_action:
        return f"{eqs.system.name} has no Hamiltonian: d2L/dv2 is singular."
    return (
        f"{eqs.system.name} has no Hamiltonian of (q, p) alone: d2(L + lam.Phi)/dv2 bordered by"
        " dPhi/dv is singular, so that velocities and multipliers do not follow from momenta; see"
        " analysis.constraint_algorithm."
    )


def point(eqs, rng, sign):
    x = eqs.variables
    numbers = {s: sp.Float(float(c)) for s, c in x.numbers.items()}
    return (
        numbers
        | {s: sp.Float(rng.uniform(0.1, 0.4)) for s in (x.t, *x.q)}
        | {v: sp.Float(sign * rng.uniform(0.1, 0.4)) for v in x.v}
    )


def inverts(eqs, branch):
    """Whether a solution v(p) gives v back from p(v), tried at numbers, with velocities of both
    signs.
    """
    x, rng = eqs.variables, np.random.default_rng(0)
    for sign in (1, -1, 1, -1):
        at = point(eqs, rng, sign)
        p = {s: m.xreplace(at) for s, m in zip(x.p, eqs.inner_p, strict=True)}
        if not all(abs(sp.N(branch[v].xreplace(at | p) - at[v])) < 1e-9 for v in x.v):
            return False
    return True


def solves(eqs, rows, branch):
    """Whether a solution (v, lam)(p) is real and solves the equations, tried at numbers, with
    momenta of both signs.
    """
    x, rng = eqs.variables, np.random.default_rng(0)
    for sign in (1, -1, 1, -1):
        at = point(eqs, rng, sign) | {p: sp.Float(sign * rng.uniform(0.1, 0.4)) for p in x.p}
        values = {u: sp.N(e.xreplace(at)) for u, e in branch.items()}
        if not all(value.is_real for value in values.values()):
            return False
        if not all(abs(sp.N(row.xreplace(at | values))) < 1e-9 for row in rows):
            return False
    return True
