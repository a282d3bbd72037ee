"""Equations a person reads, from the functions that are simulated, and back.

SymPy takes as long to import as JAX, so it is imported when one of these is called.
"""

from typing import Any

from accion.errors import Untranslatable as Untranslatable
from accion.systems import HigherOrderSystem, ThermalSystem


def symbolic(system, *, seconds=10.0) -> Any:
    """The equations of a system, momenta, energy, conserved quantities, Hamiltonian, forms and
    discrete equations, as SymPy expressions.

    The functions of the system are traced and carried out on symbols named after `coordinates` and
    after the keys of `params`; what is returned is an `accion.symbolic.equations.Equations`.
    `seconds` limits the time that simplification may take in all; what is beyond it is left as it
    comes. Of a `ThermalSystem` it is an `accion.symbolic.thermal.ThermalEquations`; of a
    `HigherOrderSystem` on a flat space an `accion.symbolic.higher.HigherOrderEquations`: equations
    of order 2r, the momenta of Jacobi and Ostrogradsky, energy and Hamiltonian.
    """
    from accion.symbols import equations, higher, thermal

    if isinstance(system, HigherOrderSystem):
        return higher.of_system(system, seconds)
    return (thermal if isinstance(system, ThermalSystem) else equations).derive(system, seconds)


def from_sympy(
    expr, coordinates, params=None, *, velocities=None, t=None, space=None, name=None, **functions
):
    """A System whose Lagrangian is a SymPy expression.

    `coordinates` are functions of time x(t), whose derivatives in `expr` are the velocities, or
    symbols, with `velocities` their symbols. `params` gives each other symbol its number, by symbol
    or by name. `t` is the symbol of time (by default that of the coordinates, or one named t).
    `functions` are the other expressions of a `System`: force (one for each coordinate), holonomic,
    nonholonomic and vakonomic (one for each equation), variational (rows). `space` is
    `Euclidean(n)` unless another one is given. Text is never evaluated.
    """
    from accion.symbols.sympy_to_jax import build

    return build(expr, coordinates, params, velocities, t, space, name, functions)
