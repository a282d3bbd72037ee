"""Equations a person reads, from the functions that are simulated, and back.

SymPy takes as long to import as JAX, so it is imported when one of these is called.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

from accion.arguments import door, positive
from accion.checks import check_kind
from accion.errors import Untranslatable as Untranslatable
from accion.spaces import Space
from accion.systems import AbstractSystem, HigherOrderSystem, System


class Written(ABC):
    """What is no system and yet has equations that `symbolic` writes."""

    @abstractmethod
    def letters(self, seconds: float) -> Any:
        """They, where simplification may take `seconds`."""


def time_allowed(value: Any, name: str) -> Any:
    """A time above zero, which may be without end."""
    return value if isinstance(value, float) and value == math.inf else positive(value, name)


@door(seconds=time_allowed)
def symbolic(system: AbstractSystem | Written, *, seconds: float = 10.0) -> Any:
    """The equations of a system, momenta, energy, conserved quantities, Hamiltonian, forms and
    discrete equations, as SymPy expressions.

    The functions of the system are traced and carried out on symbols named after `coordinates` and
    after the keys of `params`.

    Arguments:
        system: a system of any kind, or the Hamiltonian face of a `ControlProblem`.
        seconds: what simplification may take in all; what is beyond it is left as it comes.

    Returns:
        Of a `System` an `accion.symbols.equations.Equations`; of a `ThermalSystem` an
        `accion.symbols.thermal.ThermalEquations`; of a `ContactSystem` an
        `accion.symbols.contact.ContactEquations`; of a `HigherOrderSystem` an
        `accion.symbols.higher.HigherOrderEquations`: equations of order 2r, the momenta of Jacobi
        and Ostrogradsky, energy, Hamilton's equations and forms; of a `DiscreteSystem` or a
        `DiscreteThermalSystem` an `accion.symbols.discrete_equations.DiscreteEquations`; of what
        `ControlProblem.hamiltonian` returns an `accion.control.letters.ControlEquations`.

    Raises:
        Untranslatable: where a function of the system cannot be written as an expression; when what
            needs it is first asked for.
    """
    if isinstance(system, Written):
        return system.letters(seconds)
    from accion.symbols.kinds import derive

    check_kind(system)
    return derive(system, seconds)


@door()
def from_sympy(
    expr: Any,
    coordinates: Any,
    params: Any = None,
    *,
    velocities: Any = None,
    t: Any = None,
    space: Space | None = None,
    name: str | None = None,
    **functions: Any,
) -> System | HigherOrderSystem:
    """A System whose Lagrangian is a SymPy expression; a HigherOrderSystem where second or higher
    derivatives of the coordinates occur in it, or in a vakonomic constraint.

    Text is never evaluated.

    Arguments:
        expr: the Lagrangian.
        coordinates: functions of time x(t), whose derivatives in `expr` are the velocities, or
            symbols.
        params: the number of each other symbol, by symbol or by name.
        velocities: the symbols of the velocities, where coordinates are symbols; of order r a row
            of symbols for each of the r derivatives.
        t: the symbol of time, by default that of the coordinates, or one named t.
        space: `Euclidean(n)` unless another one is given.
        name: of the system.
        functions: the other expressions of a `System`: force (one for each coordinate), holonomic,
            nonholonomic and vakonomic (one for each equation), variational (rows); of a
            `HigherOrderSystem` force and vakonomic.

    Raises:
        ValueError: where something else than SymPy expressions is given, or a symbol has no number.
        Untranslatable: where a function of SymPy has no counterpart in jax.numpy.
    """
    from accion.symbols.expression_systems import build

    return build(expr, coordinates, params, velocities, t, space, name, functions)
