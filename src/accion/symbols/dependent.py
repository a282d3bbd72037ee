"""Which velocities the constraints determine, and how, in letters."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.linear_algebra import UNSOLVED, determinant, solve

if TYPE_CHECKING:
    from accion.symbols.equations import Equations

MANY = 200  # choices of dependent velocities that are looked at


def solved_for(eqs: "Equations", rows: Sequence[Any], s: Sequence[Any]) -> tuple[Any, ...]:
    """The velocities `s` from the constraints `rows` = 0, linear in them or of one solution."""
    if not rows:
        return ()
    m = len(rows)
    C = sp.Matrix(m, m, lambda i, j: eqs.simplify(derivative(rows[i], s[j])))
    words = ", ".join(v.name for v in s)
    if not C.has(*s):
        rest = sp.Matrix(rows).xreplace(dict.fromkeys(s, sp.Integer(0)))
        try:
            return tuple(eqs.simplify(eqs.simplify.as_fraction(e)) for e in solve(C, -rest))
        except UNSOLVED as error:
            raise ValueError(
                f"the constraints of {eqs.system.name} do not determine {words}: choose other"
                " `dependent` velocities."
            ) from error
    found = eqs.simplify.within(lambda e: sp.solve(e, s, dict=True), list(rows))
    whole = [b for b in found if isinstance(b, dict) and len(b) == m]
    if len(whole) != 1:
        raise ValueError(
            f"the constraints of {eqs.system.name} have {len(whole)} solutions for {words} in"
            " closed form, not one: choose other `dependent` velocities."
        )
    return tuple(eqs.simplify(whole[0][v]) for v in s)


def chosen_by_itself(eqs: "Equations") -> tuple[int, ...]:
    """The velocities that the constraints give in the shortest way: where their matrix is a number,
    if there are such.
    """
    rows, v = eqs.inner_on_velocities, eqs.variables.v
    best: tuple[Any, tuple[int, ...]] | None = None
    C = sp.Matrix(len(rows), len(v), lambda i, j: derivative(rows[i], v[j]))
    for count, chosen in enumerate(combinations(range(len(v)), len(rows))):
        det = eqs.simplify(determinant(C.extract(list(range(len(rows))), list(chosen))))
        size = sp.count_ops(det) + len(det.free_symbols)
        if det != 0 and (best is None or size < best[0]):
            best = size, chosen
        if count >= MANY or (best is not None and best[0] == 0):
            break
    if best is None:
        raise ValueError(
            f"the constraints of {eqs.system.name} do not determine as many velocities as they are:"
            " leave out what the others say already."
        )
    return best[1]
