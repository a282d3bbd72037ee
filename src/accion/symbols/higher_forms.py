"""Forms and Hamilton's equations of Lagrangians with higher derivatives, in letters."""

from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.forms import Form
from accion.symbols.render import equation
from accion.symbols.variables import TIME

if TYPE_CHECKING:
    from accion.symbols.higher import HigherOrderEquations


def coordinates_of(eqs: "HigherOrderEquations") -> tuple[tuple[Any, ...], frozenset[int]]:
    """(q, q', ..., q^(2r-1), lam, ..., lam^(r-1)) for the reader; on a group the letters of the
    velocity stand for q, and which do.
    """
    x, r = eqs.variables, eqs.order
    places = [
        v if moving else eqs.for_reader(sp.Symbol(word, real=True))
        for word, v, moving in zip(x.words, eqs.v, x.moving, strict=True)
    ]
    rows = (*eqs.levels[: 2 * r - 1], *(eqs.lams[:r] if eqs.m else ()))
    more = [eqs.for_reader(y) for row in rows for y in row]
    return (*places, *more), frozenset(i for i, moving in enumerate(x.moving) if moving)


def one_form(eqs: "HigherOrderEquations") -> Form:
    """sum_s p_s dq^(s)."""
    coordinates, invariant = coordinates_of(eqs)
    p = [each for row in eqs.momenta for each in row]
    return Form(1, coordinates, {(i,): c for i, c in enumerate(p) if c != 0}, invariant)


def two_form(eqs: "HigherOrderEquations") -> Form:
    """sum_s dq^(s) ^ dp_s; on a group with p_0([e_i, e_j]) for each pair of displacements."""
    x, n, r = eqs.variables, eqs.n, eqs.order
    rows = (*eqs.levels[: 2 * r - 1], *(eqs.lams[:r] if eqs.m else ()))
    beside = [y for row in rows for y in row]
    theta = [each for row in eqs.inner_momenta for each in row]
    theta += [sp.Integer(0)] * (n + len(beside) - len(theta))

    def slope(expr: Any, j: int) -> Any:
        return x.displaced(expr, j) if j < n else derivative(expr, beside[j - n])

    turned = [
        x.coad([sp.Integer(int(i == k)) for k in range(n)], eqs.inner_momenta[0]) for i in range(n)
    ]
    terms = {}
    for i in range(r * n):
        for j in range(i + 1, len(theta)):
            c = slope(theta[i], j) - slope(theta[j], i)
            terms[i, j] = eqs.tidy(c + turned[i][j] if j < n else c)
    coordinates, invariant = coordinates_of(eqs)
    found = {index: eqs.for_reader(c) for index, c in terms.items() if c != 0}
    return Form(2, coordinates, found, invariant)


def hamilton_equations(eqs: "HigherOrderEquations") -> tuple[Any, ...]:
    """q^(r) = dH/dp_{r-1}, p_0' = -dH/dq + F + ad*_(q') p_0, p_s' = -dH/dq^(s); on a group g' = g
    hat(q') first.
    """
    x, H, r, solution = eqs.variables, eqs.inner_hamiltonian, eqs.order, eqs.inner_solution
    every = tuple(y for row in eqs.p for y in row)
    first = [derivative(H, p) for p in eqs.p[0]]  # q', for r = 1 as a function of the momenta
    rates = zip(x.q, x.tangent * sp.Matrix(first), strict=True)
    found = [(eqs.for_reader(q).diff(TIME), rate) for q, rate in rates]
    for s in range(1, r):
        for y, p in zip(eqs.levels[s - 1], eqs.p[s], strict=True):
            found.append((eqs.for_reader(y).diff(TIME), derivative(H, p)))
    turned = x.coad(first, eqs.p[0])
    for s, row in enumerate(eqs.p):
        for i, p in enumerate(row):
            if s:
                rate = -derivative(H, eqs.levels[s - 1][i])
            else:
                rate = eqs.inner_force[i].xreplace(solution) - x.displaced(H, i) + turned[i]
            found.append((eqs.for_reader(p).diff(TIME), rate))
    pairs = [(left, eqs.for_reader(eqs.simplify(right, every))) for left, right in found]
    return tuple(equation(left, right) for left, right in pairs if left != right)


def kinematics(eqs: "HigherOrderEquations") -> tuple[Any, ...]:
    """g' = g hat(v) of the entries of a group's matrix that the equations need."""
    x = eqs.variables
    rates = {
        q: rate
        for q, rate in zip(x.q, x.tangent * sp.Matrix(eqs.levels[0]), strict=True)
        if q.name not in x.words
    }
    needed = set().union(*(row.free_symbols for row in eqs.inner_equations))
    while more := set().union(*(rates[q].free_symbols for q in needed & set(rates))) - needed:
        needed |= more
    return tuple(
        equation(eqs.for_reader(q).diff(TIME), eqs.for_reader(rate))
        for q, rate in rates.items()
        if q in needed
    )
