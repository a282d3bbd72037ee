"""The equations of a system solved for accelerations and multipliers."""

from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.linear_algebra import UNSOLVED, bordered

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


def accelerations_and_multipliers(eqs: "Equations") -> tuple[Any, ...]:
    """(a, lam), where multipliers are in the action (a, lam'), from equations linear in them:

        M a + B lam = r,        C a = s

    the second being the constraints on velocities, differentiated.

    Raises:
        ValueError: where the matrix is singular.
    """
    x, n, simplify = eqs.variables, len(eqs.variables.v), eqs.simplify
    unknowns = (*x.a, *(x.dlam if eqs.system.enters_action else x.lam))
    sides = zip(eqs.inner_operator, eqs.inner_force, eqs.inner_reaction, strict=True)
    rows = [el - f - r for el, f, r in sides] + [x.rate(c) for c in eqs.inner_on_velocities]
    K = sp.Matrix(len(rows), len(unknowns), lambda i, j: simplify(derivative(rows[i], unknowns[j])))
    r = -sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
    try:
        return tuple(map(simplify.as_fraction, bordered(K, r, n, simplify)))
    except UNSOLVED as error:
        words = "the matrix of accelerations and multipliers" if x.m else "d2L/dv2"
        raise ValueError(
            f"the equations of {eqs.system.name} cannot be solved for the accelerations:"
            f" {words} is singular."
        ) from error
