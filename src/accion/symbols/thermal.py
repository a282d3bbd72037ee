"""The equations of a thermomechanical system as a person would write them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from accion.symbols.calculus import derivative
from accion.symbols.equations import Equations, equation
from accion.symbols.linear import solve
from accion.symbols.render import Readable, Sheet
from accion.symbols.tidy import Tidy
from accion.symbols.variables import TIME
from accion.systems import ThermalSystem
from accion.systems.base import word_of


def powers(system):
    """The functions (system on Q x R^m, t, z, w) -> power into each body, of friction and of
    heat.
    """

    def thermal(params):
        return system.with_params(params)

    n = system.space.dim
    return (
        lambda whole, t, z, w: thermal(whole.params).dissipation(t, z, w[:n]),
        lambda whole, t, z, w: thermal(whole.params).heating(t, z, w[:n]),
    )


@dataclass(frozen=True)
class ThermalEquations(Readable):
    """What follows from a Lagrangian with entropies, as SymPy expressions in functions of time (001
    Thm 3.9).

        d/dt dL/dv - dL/dq = F_fr + F_ext                    dL/dS S' = F_fr.v - P_H

    `mechanics` are the equations of the same Lagrangian on Q x R^m, whose last m velocities, the
    S', it does not depend on.
    """

    system: ThermalSystem
    mechanics: Equations

    @property
    def n(self):
        return self.system.space.dim

    @property
    def tidy(self):
        return self.mechanics.tidy

    def show(self, expr) -> Any:
        return self.mechanics.show(expr)

    @property
    def t(self):
        return TIME

    @property
    def variables(self):
        return self.mechanics.variables

    @property
    def values(self):
        """{symbol: number} of the parameters."""
        return self.mechanics.values

    @property
    def complete(self):
        return self.mechanics.complete

    @property
    def q(self):
        """The coordinates and, behind them, the entropies, functions of time."""
        return self.mechanics.q

    @property
    def v(self):
        """Their derivatives; on a group the components of the body's velocity."""
        return self.mechanics.v

    @property
    def L(self):
        """The Lagrangian."""
        return self.mechanics.L

    @property
    def force(self):
        """Friction and external force, one component for each coordinate."""
        return self.mechanics.force[: self.n]

    @property
    def momenta(self):
        """p = dL/dv."""
        return self.mechanics.momenta[: self.n]

    @property
    def energy(self):
        """E = p.v - L: all energy, mechanical and internal."""
        return self.mechanics.energy

    @property
    def coordinates(self):
        """The coordinates, functions of time; on a group the entries of its matrix."""
        return self.mechanics.q[: -self.system.frame.m]

    @property
    def entropies(self):
        """S(t), one for each body."""
        return self.mechanics.q[-self.system.frame.m :]

    @cached_property
    def inner_slopes(self):
        """dL/dS."""
        x = self.mechanics.variables
        return tuple(
            self.tidy(derivative(self.mechanics.inner_L, S)) for S in x.q[-self.system.frame.m :]
        )

    @cached_property
    def temperatures(self):
        """T = -dL/dS."""
        return self.show(tuple(-slope for slope in self.inner_slopes))

    @cached_property
    def inner_powers(self):
        """-F_fr.v and P_H of each body."""
        return tuple(
            tuple(self.tidy(e, self.mechanics.variables.v) for e in self.mechanics.read(f))
            for f in powers(self.system)
        )

    @property
    def dissipation(self):
        """-F_fr.v, the power that heats each body."""
        return self.show(self.inner_powers[0])

    @property
    def heat(self):
        """P_H, the power that flows into each body."""
        return self.show(self.inner_powers[1])

    @cached_property
    def equations(self):
        """The equations of motion, one for each coordinate, and the entropy balances T S' = P_H -
        F_fr.v, one for each body.
        """
        rows = self.mechanics.euler_lagrange[: self.n]
        motion = [equation(row, f) for row, f in zip(rows, self.force, strict=True)]
        gains = self.show(tuple(self.tidy(d + p) for d, p in zip(*self.inner_powers, strict=True)))
        balance = [
            equation(T * S.diff(TIME), g)
            for T, S, g in zip(self.temperatures, self.entropies, gains, strict=True)
        ]
        return (*motion, *balance)

    @cached_property
    def inner_rates(self):
        """S'."""
        return tuple(
            self.tidy((d + p) / -slope)
            for slope, d, p in zip(self.inner_slopes, *self.inner_powers, strict=True)
        )

    @cached_property
    def entropy_rates(self):
        """S' = (P_H - F_fr.v) / T, one for each body."""
        return self.show(self.inner_rates)

    @cached_property
    def accelerations(self):
        """The derivatives of the velocities, solved for."""
        x, n = self.mechanics.variables, self.n
        moving = dict(zip(x.v[n:], self.inner_rates, strict=True))
        rows = [
            (el - f).xreplace(moving)
            for el, f in zip(
                self.mechanics.inner_operator[:n], self.mechanics.inner_force[:n], strict=True
            )
        ]
        K = sp.Matrix(n, n, lambda i, j: self.tidy(derivative(rows[i], x.a[j])))
        r = -sp.Matrix(rows).xreplace(dict.fromkeys(x.a, sp.Integer(0)))
        return self.show(tuple(map(self.tidy.solved, solve(K, r))))

    @property
    def kinematics(self):
        """g' = g hat(xi) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        return self.mechanics.kinematics

    def discrete(self, method):
        """The discrete equations are not written in symbols: their numbers are."""
        raise ValueError(
            "the discrete equations of a thermal system are not written in symbols;"
            " accion.discrete(system, method) has them as functions."
        )

    @property
    def sheet(self):
        """What is printed."""
        x = self.mechanics.variables
        words = x.words[-self.system.frame.m :]
        rows: list[Any] = [
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", list(self.equations[: self.n])),
        ]
        rows.append(("entropy balance", list(self.equations[self.n :])))
        if self.kinematics:
            rows.append(("kinematics", list(self.kinematics)))
        names = [sp.Symbol(word_of(name)) for name in self.system.frame.temperatures]
        rows.append(
            (
                "temperature" if len(words) == 1 else "temperatures",
                [equation(a, b) for a, b in zip(names, self.temperatures, strict=True)],
            )
        )
        rows.append(
            (
                "momenta",
                [
                    equation(sp.Symbol(f"p_{name}"), p)
                    for name, p in zip(x.words, self.momenta, strict=False)
                ],
            )
        )
        rows.append(("energy", [equation(sp.Symbol("E"), self.energy)]))
        return Sheet(self.system.name or "system", tuple(rows), self.mechanics.complete)


def derive(system, seconds):
    system.check()
    return ThermalEquations(system, Equations(system.whole, Tidy(seconds)))
