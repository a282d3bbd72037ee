"""The inverse Legendre transform in letters, and Hamilton's equations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from accion.symbols import radicals
from accion.symbols.derivatives import derivative
from accion.symbols.linear_algebra import UNSOLVED, determinant, solve
from accion.symbols.render import equation
from accion.symbols.variables import TIME

if TYPE_CHECKING:
    from accion.symbols.equations import Equations

Branch = Mapping[Any, Any]


def inverse(eqs: "Equations") -> tuple[Any, ...]:
    """(v, lam) as functions of (t, q, p): p = dL/dv or, where multipliers are in the action, p =
    d(L + lam.Phi)/dv with Phi = 0; else no lam.

    They exist where d2L/dv2, bordered by dPhi/dv, is regular (Vakonomic thesis, eq 4.11).

    Raises:
        ValueError: where it is not, or where they cannot be had in closed form.
    """
    x, in_action = eqs.variables, eqs.system.enters_action
    unknowns = (*x.v, *x.lam) if in_action else x.v
    rows = [
        *(m - p for m, p in zip(eqs.inner_p, x.p, strict=True)),
        *(eqs.inner_constraints if in_action else ()),
    ]
    K = sp.Matrix(len(rows), len(rows), lambda i, j: eqs.simplify(derivative(rows[i], unknowns[j])))
    if not K.has(*unknowns):
        at_rest = sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
        try:
            return tuple(eqs.simplify(s) for s in solve(K, -at_rest))
        except UNSOLVED as error:
            raise ValueError(singular(eqs)) from error
    if in_action and eqs.simplify.as_fraction(determinant(K)) == 0:
        raise ValueError(singular(eqs))
    branch = only_branch(eqs, rows, unknowns)
    return tuple(eqs.simplify(branch[u]) for u in unknowns)


def only_branch(eqs: "Equations", rows: Sequence[Any], unknowns: Sequence[Any]) -> Branch:
    """The solution of `rows` = 0 that SymPy finds and that numbers confirm."""
    in_action, x = eqs.system.enters_action, eqs.variables
    of_v = dict(zip(x.p, eqs.inner_p, strict=True))
    good = [
        b
        for b in branches(eqs, rows, unknowns)
        if (solves(eqs, rows, b) if in_action else inverts(eqs, of_v, b))
    ]
    # Two branches of a vakonomic system are two motions with the same momenta: neither is the
    # Hamiltonian one.
    if not good or (in_action and len(good) > 1):
        what = (
            "p = d(L + lam.Phi)/dv with Phi = 0 could not be solved for velocities and multipliers"
            if in_action
            else "p = dL/dv could not be solved for the velocities"
        )
        what = f"{what} in one way only" if len(good) > 1 else what
        raise ValueError(f"{eqs.system.name} has no Hamiltonian in closed form: {what}.")
    return good[0]


def branches(eqs: "Equations", rows: Sequence[Any], unknowns: Sequence[Any]) -> list[Branch]:
    """The solutions of `rows` = 0 in letters that are found."""

    def solved(rows: Any) -> Any:
        try:
            found = radicals.solutions(rows, unknowns, positive(eqs))
            return found or sp.solve(rows, unknowns, dict=True)
        except NotImplementedError:  # SymPy's word for equations that it cannot solve
            return []

    found = eqs.simplify.within(solved, rows)
    return [
        branch
        for branch in (found if found and isinstance(found[0], dict) else ())
        if len(branch) == len(unknowns)
    ]


def positive(eqs: "Equations") -> list[Any]:
    """The letters of the parameters that are positive numbers."""
    return [s for s, c in eqs.variables.numbers.items() if c > 0]


def singular(eqs: "Equations") -> str:
    """Why momenta do not determine velocities, in words."""
    if not eqs.system.enters_action:
        return f"{eqs.system.name} has no Hamiltonian: d2L/dv2 is singular."
    return (
        f"{eqs.system.name} has no Hamiltonian of (q, p) alone: d2(L + lam.Phi)/dv2 bordered by"
        " dPhi/dv is singular, so that velocities and multipliers do not follow from momenta; see"
        " analysis.constraint_algorithm."
    )


def point(
    eqs: "Equations", rng: np.random.Generator, sign: int, moving: Iterable[Any]
) -> dict[Any, Any]:
    """Numbers for the parameters and random ones for (t, q) and, of one sign, for what moves."""
    x = eqs.variables
    numbers = {s: sp.Float(float(c)) for s, c in x.numbers.items()}
    return (
        numbers
        | {s: sp.Float(rng.uniform(0.1, 0.4)) for s in (x.t, *x.q)}
        | {v: sp.Float(sign * rng.uniform(0.1, 0.4)) for v in moving}
    )


def inverts(eqs: "Equations", forth: Branch, back: Branch) -> bool:
    """Whether a solution such as v(p) gives v back from p(v), tried at numbers of both signs."""
    rng = np.random.default_rng(0)
    for sign in (1, -1, 1, -1):
        at = point(eqs, rng, sign, back)
        there = {s: sp.N(m.xreplace(at)) for s, m in forth.items()}
        again = {v: sp.N(e.xreplace(at | there)) for v, e in back.items()}
        if not all(abs(value - at[v]) < 1e-9 * abs(at[v]) for v, value in again.items()):
            return False
    return True


def solves(eqs: "Equations", rows: Sequence[Any], branch: Branch) -> bool:
    """Whether a solution (v, lam)(p) is real and solves the equations, tried at numbers, with
    momenta of both signs.
    """
    x, rng = eqs.variables, np.random.default_rng(0)
    for sign in (1, -1, 1, -1):
        at = point(eqs, rng, sign, x.p)
        values = {u: sp.N(e.xreplace(at)) for u, e in branch.items()}
        if not all(value.is_real for value in values.values()):
            return False
        if not all(vanishes(row, at | values) for row in rows):
            return False
    return True


def vanishes(row: Any, numbers: Branch) -> bool:
    """Whether what is left of a sum at some numbers is rounding of its terms."""
    terms = [sp.N(term.xreplace(numbers)) for term in sp.Add.make_args(sp.sympify(row))]
    return bool(abs(sum(terms)) <= 1e-9 * sum(map(abs, terms)))


def hamilton_equations(eqs: "Equations") -> tuple[Any, ...]:
    """q' = dH/dp, p' = -dH/dq + F + A^T lam; on a group g' = g hat(dH/dp), with ad*_(dH/dp) p in
    addition.
    """
    x, H = eqs.variables, eqs.inner_hamiltonian
    at = dict(zip(x.v, eqs.inner_velocities, strict=True))
    forces = [
        (f + r).xreplace(at) for f, r in zip(eqs.inner_force, eqs.inner_reaction, strict=True)
    ]
    slopes: Any = sp.Matrix([derivative(H, p) for p in x.p])
    turned = x.coad(slopes, x.p)
    q = [
        (dq, eqs.simplify(right, x.p)) for dq, right in zip(eqs.q, x.tangent * slopes, strict=True)
    ]
    p = [
        (eqs.for_reader(p), eqs.simplify(f - x.displaced(H, i) + turned[i], x.p))
        for i, (p, f) in enumerate(zip(x.p, forces, strict=True))
    ]
    return tuple(equation(left.diff(TIME), eqs.for_reader(right)) for left, right in q + p)
