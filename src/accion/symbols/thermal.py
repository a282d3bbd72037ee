"""The equations of a thermomechanical system as a person would write them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import sympy as sp

from accion.methods import EnergyConsistent, Method
from accion.symbols.beside import EquationsBeside
from accion.symbols.derivatives import derivative
from accion.symbols.discrete_equations import DiscreteEquations
from accion.symbols.equations import Equations
from accion.symbols.linear_algebra import bordered
from accion.symbols.registry import derive
from accion.symbols.render import Sheet, equation, equations_of, sheet_of
from accion.symbols.sampled import under_method
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME
from accion.systems import System, ThermalSystem
from accion.systems.base import word_of


def powers(system: ThermalSystem) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions (system on Q x R^m, t, z, w) -> power into each body, of friction and of
    heat.
    """
    n = system.space.dim

    def dissipation(whole: System, t: Any, z: Any, w: Any) -> Any:
        return system.with_params(whole.params).dissipation(t, z, w[:n])

    def heating(whole: System, t: Any, z: Any, w: Any) -> Any:
        return system.with_params(whole.params).heating(t, z, w[:n])

    return dissipation, heating


@dataclass(frozen=True, repr=False)
class ThermalEquations(EquationsBeside):
    """What follows from a Lagrangian with entropies, as SymPy expressions in functions of time
    (Bonich, Thm 3.9).

        d/dt dL/dv - dL/dq = F_fr + F_ext + A^T lam          dL/dS S' = F_fr.v - P_H

    `mechanics` are the equations of the same Lagrangian on Q x R^m, whose last m velocities, the
    S', it does not depend on.
    """

    system: ThermalSystem
    mechanics: Equations

    @property
    def entropies(self) -> tuple[Any, ...]:
        """S(t), one for each body."""
        return self.mechanics.q[-self.system.frame.m :]

    @cached_property
    def inner_slopes(self) -> tuple[Any, ...]:
        """dL/dS."""
        x = self.mechanics.variables
        return tuple(
            self.simplify(derivative(self.mechanics.inner_L, S))
            for S in x.q[-self.system.frame.m :]
        )

    @cached_property
    def temperatures(self) -> tuple[Any, ...]:
        """T = -dL/dS."""
        return self.for_reader(tuple(-slope for slope in self.inner_slopes))

    @cached_property
    def inner_powers(self) -> tuple[Any, ...]:
        """-F_fr.v and P_H of each body."""
        return tuple(
            tuple(self.simplify(e, self.mechanics.variables.v) for e in self.mechanics.read(f))
            for f in powers(self.system)
        )

    @property
    def dissipation(self) -> tuple[Any, ...]:
        """-F_fr.v, the power that heats each body."""
        return self.for_reader(self.inner_powers[0])

    @property
    def heat(self) -> tuple[Any, ...]:
        """P_H, the power that flows into each body."""
        return self.for_reader(self.inner_powers[1])

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """The equations of motion, one for each coordinate, and the entropy balances T S' = P_H -
        F_fr.v, one for each body.
        """
        motion = self.mechanics.equations[: self.n]
        gains = self.for_reader(
            tuple(self.simplify(d + p) for d, p in zip(*self.inner_powers, strict=True))
        )
        balance = [
            equation(T * S.diff(TIME), g)
            for T, S, g in zip(self.temperatures, self.entropies, gains, strict=True)
        ]
        return (*motion, *balance)

    @cached_property
    def inner_rates(self) -> tuple[Any, ...]:
        """S'."""
        return tuple(
            self.simplify((d + p) / -slope)
            for slope, d, p in zip(self.inner_slopes, *self.inner_powers, strict=True)
        )

    @cached_property
    def entropy_rates(self) -> tuple[Any, ...]:
        """S' = (P_H - F_fr.v) / T, one for each body."""
        return self.for_reader(self.inner_rates)

    @property
    def constraints(self) -> tuple[Any, ...]:
        """phi = 0 and kappa = 0, in the order of the multipliers."""
        return self.mechanics.constraints

    @property
    def lam(self) -> tuple[Any, ...]:
        """The multipliers, functions of time."""
        return self.mechanics.lam

    @cached_property
    def inner_solution(self) -> tuple[Any, ...]:
        """(a, lam), from the equations of motion and the constraints, differentiated."""
        eqs, n = self.mechanics, self.n
        x = eqs.variables
        moving = dict(zip(x.v[n:], self.inner_rates, strict=True))
        unknowns = (*x.a[:n], *x.lam)
        sides = zip(eqs.inner_operator, eqs.inner_force, eqs.inner_reaction, strict=True)
        rows = [(el - f - r).xreplace(moving) for el, f, r in list(sides)[:n]]
        rows += [x.rate(c) for c in eqs.inner_on_velocities]
        size = len(unknowns)
        K = sp.Matrix(size, size, lambda i, j: self.simplify(derivative(rows[i], unknowns[j])))
        r = -sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
        return tuple(map(self.simplify.as_fraction, bordered(K, r, n, self.simplify)))

    @property
    def accelerations(self) -> tuple[Any, ...]:
        """The derivatives of the velocities, solved for, the multipliers eliminated."""
        return self.for_reader(self.inner_solution[: self.n])

    @property
    def multipliers(self) -> tuple[Any, ...]:
        """The constraint forces lam as functions of the state."""
        return self.for_reader(self.inner_solution[self.n :])

    @property
    def kinematics(self) -> tuple[Any, ...]:
        """g' = g hat(xi) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        return self.mechanics.kinematics

    def discrete(self, method: Method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-1, q_k, q_k+1 and the entropies there, and the
        sampled entropy balances, its `constraints` (Bonich, eq 3.10 and 3.19).
        """
        check_balance(method)
        return under_method(self.system, method, self.simplify)

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian, the equations, temperatures, momenta and energy."""
        T = [sp.Symbol(word_of(name)) for name in self.system.frame.temperatures]
        p = [sp.Symbol(f"p_{name}") for name in self.variables.words[: self.n]]
        groups = (
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations[: self.n]),
            ("entropy balance", self.equations[self.n :]),
            ("kinematics", self.kinematics),
            ("constraints", self.constraints),
            ("temperature" if len(T) == 1 else "temperatures", equations_of(T, self.temperatures)),
            ("momenta", equations_of(p, self.momenta)),
            ("energy", [equation(sp.Symbol("E"), self.energy)]),
        )
        return sheet_of(self.system.name, groups, self.complete)


@singledispatch
def check_balance(method: object) -> None:
    """Raise ValueError where a method has other entropy balances than the sampled ones."""


@check_balance.register
def _(method: EnergyConsistent) -> None:
    raise ValueError(
        "EnergyConsistent has the balance of the energy in place of those of the entropies, which"
        f" is not written in symbols; try {method.method!r}."
    )


@derive.register
def _(system: ThermalSystem, seconds: float) -> ThermalEquations:
    system.check()
    return ThermalEquations(system, Equations(system.whole, Simplifier(seconds)))
