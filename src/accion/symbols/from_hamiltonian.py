"""The equations of a system that is given by its Hamiltonian: what is read of H itself, and its
Lagrangian where v = dH/dp can be solved.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols import legendre
from accion.symbols.derivatives import derivative
from accion.symbols.linear_algebra import UNSOLVED, solve
from accion.symbols.radicals import tidied
from accion.symbols.render import equation
from accion.systems import System
from accion.systems.hamiltonian import HamiltonianLagrangian

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@singledispatch
def lagrangian_of(lagrangian: Any, eqs: "Equations") -> Any:
    """L in letters."""
    return eqs.simplify(eqs.read(System.L).item(), eqs.variables.v)


@singledispatch
def inverse_of(lagrangian: Any, eqs: "Equations") -> tuple[Any, ...]:
    """(v, lam) as functions of (t, q, p), lam only where it is in the action."""
    return legendre.inverse(eqs)


def energy_in_momenta(eqs: "Equations") -> Any:
    """The energy at v(p)."""
    x = eqs.variables
    at = dict(zip((*x.v, *x.lam), eqs.inner_inverse, strict=False))
    return eqs.simplify(tidied(eqs.inner_energy.xreplace(at), legendre.positive(eqs)), x.p)


@singledispatch
def hamiltonian_of(lagrangian: Any, eqs: "Equations") -> Any:
    """H in letters."""
    return energy_in_momenta(eqs)


@singledispatch
def first_groups(lagrangian: Any, eqs: "Equations") -> Sequence[tuple[str, Sequence[Any]]]:
    """What the page of a system says: its Lagrangian, the equations, and what is conserved."""
    return eqs.groups


# ---------------------------------------------------------------- given by H


def given(system: System, t: Any, q: Any, v: Any, p: Any) -> Any:
    """H as it was given, a function as `Equations.read` takes it."""
    lagrangian: Any = system.lagrangian
    return lagrangian.hamiltonian(t, q, p, system.params)


def slopes(eqs: "Equations", H: Any) -> tuple[Any, ...]:
    """dH/dp."""
    x = eqs.variables
    return tuple(eqs.simplify(derivative(H, p), x.p) for p in x.p)


def own_hamiltonian(eqs: "Equations") -> Any:
    """H of the Lagrangian alone, without what constraints add to it."""
    x = eqs.variables
    return eqs.simplify(eqs.read(given, x.p).item(), x.p)


@lagrangian_of.register(HamiltonianLagrangian)
def _(lagrangian: HamiltonianLagrangian, eqs: "Equations") -> Any:
    """p.v - H with p(v)."""
    x, H = eqs.variables, own_hamiltonian(eqs)
    velocities = slopes(eqs, H)
    rows = [dH - v for dH, v in zip(velocities, x.v, strict=True)]
    at = momenta(eqs, rows, dict(zip(x.v, velocities, strict=True)))
    pv = sp.Add(*(at[p] * v for p, v in zip(x.p, x.v, strict=True)))
    return eqs.simplify(tidied(pv - H.xreplace(at), legendre.positive(eqs)), x.v)


def momenta(eqs: "Equations", rows: Sequence[Any], of_p: legendre.Branch) -> legendre.Branch:
    """p with dH/dp - v = 0, which are the rows, in letters."""
    x, K = eqs.variables, sp.Matrix([[derivative(r, p) for p in eqs.variables.p] for r in rows])
    if not K.has(*x.p):
        at_rest = sp.Matrix(rows).xreplace(dict.fromkeys(x.p, sp.Integer(0)))
        try:
            found = solve(K.applyfunc(eqs.simplify), -at_rest)
            return dict(zip(x.p, map(eqs.simplify, found), strict=True))
        except UNSOLVED as error:
            raise ValueError(
                f"{eqs.system.name} has no Lagrangian: d2H/dp2 is singular."
            ) from error
    good = [b for b in legendre.branches(eqs, rows, x.p) if legendre.inverts(eqs, of_p, b)]
    if good:
        return {p: eqs.simplify(good[0][p], x.v) for p in x.p}
    raise ValueError(
        f"{eqs.system.name} has no Lagrangian in closed form: v = dH/dp could not be solved for the"
        " momenta. `hamiltonian` and `hamilton` are there."
    )


@inverse_of.register(HamiltonianLagrangian)
def _(lagrangian: HamiltonianLagrangian, eqs: "Equations") -> tuple[Any, ...]:
    if eqs.system.enters_action:
        return legendre.inverse(eqs)
    return slopes(eqs, eqs.inner_hamiltonian)


@hamiltonian_of.register(HamiltonianLagrangian)
def _(lagrangian: HamiltonianLagrangian, eqs: "Equations") -> Any:
    return energy_in_momenta(eqs) if eqs.system.enters_action else own_hamiltonian(eqs)


@first_groups.register(HamiltonianLagrangian)
def _(lagrangian: HamiltonianLagrangian, eqs: "Equations") -> Sequence[tuple[str, Sequence[Any]]]:
    return (
        ("Hamiltonian", [equation(sp.Symbol("H"), eqs.hamiltonian)]),
        ("Hamilton's equations", eqs.hamilton),
        ("constraints", eqs.constraints),
    )
