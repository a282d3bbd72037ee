"""Equations of systems whose state has more than q and v: entropies, or an action."""

from typing import Any

import sympy as sp

from accion.symbols.equations import Equations
from accion.symbols.render import Readable
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, Variables


class EquationsBeside(Readable):
    """What is read off `mechanics`, the equations of the same Lagrangian where what is beside q is
    behind the coordinates.
    """

    system: Any
    mechanics: Equations

    @property
    def n(self) -> int:
        """The number of degrees of freedom, without what is behind them."""
        return self.system.space.dim

    @property
    def simplify(self) -> Simplifier:
        """What simplifies, within a limit of time."""
        return self.mechanics.simplify

    def for_reader(self, expr: Any) -> Any:
        """An inner expression, or a tuple of them, as it is printed."""
        return self.mechanics.for_reader(expr)

    @property
    def t(self) -> sp.Symbol:
        """Time."""
        return TIME

    @property
    def variables(self) -> Variables:
        """The letters."""
        return self.mechanics.variables

    @property
    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters."""
        return self.mechanics.values

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.mechanics.complete

    @property
    def q(self) -> tuple[Any, ...]:
        """The coordinates and, behind them, the entropies or the action, functions of time."""
        return self.mechanics.q

    @property
    def v(self) -> tuple[Any, ...]:
        """Their derivatives; on a group the components of the body's velocity."""
        return self.mechanics.v

    @property
    def coordinates(self) -> tuple[Any, ...]:
        """The coordinates, functions of time; on a group the entries of its matrix."""
        return self.mechanics.q[: -self.system.frame.m]

    @property
    def L(self) -> Any:
        """The Lagrangian."""
        return self.mechanics.L

    @property
    def force(self) -> tuple[Any, ...]:
        """All forces, one component for each coordinate."""
        return self.mechanics.force[: self.n]

    @property
    def momenta(self) -> tuple[Any, ...]:
        """p = dL/dv."""
        return self.mechanics.momenta[: self.n]

    @property
    def energy(self) -> Any:
        """E = p.v - L: all energy, the internal with it."""
        return self.mechanics.energy
