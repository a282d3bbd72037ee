"""What moves the entries of a group's matrix."""

from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols.render import equation
from accion.symbols.variables import TIME

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


def kinematic_equations(eqs: "Equations") -> tuple[Any, ...]:
    """g' = g hat(xi) of the entries that the equations need."""
    x = eqs.variables
    rates = {
        q: rate
        for q, rate in zip(x.q, x.tangent * sp.Matrix(x.v), strict=True)
        if q.name not in x.words
    }
    rows = (
        *eqs.inner_operator,
        *eqs.inner_force,
        *eqs.inner_reaction,
        *eqs.inner_constraints,
    )
    needed = set().union(*(row.free_symbols for row in rows))
    while more := set().union(*(rates[q].free_symbols for q in needed & set(rates))) - needed:
        needed |= more
    return tuple(
        equation(eqs.for_reader(q).diff(TIME), eqs.for_reader(rate))
        for q, rate in rates.items()
        if q in needed
    )
