"""Lagrangians with higher derivatives: L(t, q, q', ..., q^(r))."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
import sympy as sp

from accion.checks import refuse
from accion.methods import Method
from accion.symbols import higher_forms
from accion.symbols.derivatives import derivative
from accion.symbols.discrete_equations import DiscreteEquations
from accion.symbols.forms import Form
from accion.symbols.jax_to_sympy import translate
from accion.symbols.linear_algebra import UNSOLVED, solve
from accion.symbols.registry import derive
from accion.symbols.render import (
    Readable,
    Sheet,
    equation,
    equations_of,
    modified_equations,
    sheet_of,
)
from accion.symbols.sampled import under_method
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, Variables, array, symbols_like
from accion.systems import HigherOrderSystem

Row = tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class HigherOrderEquations(Readable):
    """The Euler-Lagrange equations and the Jacobi-Ostrogradsky momenta of L(t, q, q', ..., q^(r))
    (Vakonomic thesis, section 5.1, with the right signs).

        sum_l (-1)^l d^l/dt^l dL/dq^(l) + F = 0
        p_i = sum_s (-1)^s d^s/dt^s dL/dq^(i+1+s),        i = 0, ..., r - 1

    With a constraint they are those of L + lam.Phi, and lam, or lam_1, lam_2, ... are functions of
    time, with the equations Phi = 0. On a group q' is the velocity of the body, dL/dq is by
    displacements of the body, and ad*_v p_0 is added.
    """

    system: HigherOrderSystem
    simplify: Simplifier

    # ------------------------------------------------------------ inside: real symbols

    @property
    def order(self) -> int:
        """r, of the highest derivative in the Lagrangian."""
        return self.system.order

    @property
    def n(self) -> int:
        """The number of coordinates, without multipliers."""
        return self.system.space.dim

    @property
    def m(self) -> int:
        """The number of multipliers."""
        return self.system.multipliers

    @cached_property
    def variables(self) -> Variables:
        """The letters."""
        own = self.system
        return Variables(own.names, own.multipliers, own.params, own.space, "lam")

    @cached_property
    def levels(self) -> tuple[Row, ...]:
        """Symbols for q', ..., q^(2r)."""
        words = self.variables.words
        return tuple(symbols_like(words, f"'{k}") for k in range(1, 2 * self.order + 1))

    @cached_property
    def lams(self) -> tuple[Row, ...]:
        """Symbols for lam, ..., lam^(r)."""
        words = self.variables.lam_words
        return tuple(symbols_like(words, f"'{k}") for k in range(self.order + 1))

    @cached_property
    def p(self) -> tuple[Row, ...]:
        """Symbols for p_0, ..., p_{r-1}."""
        words = self.variables.words
        return tuple(symbols_like([f"p_{s}_{name}" for name in words]) for s in range(self.order))

    def read(self, f: Any, *more: Row) -> np.ndarray:
        """f(system, t, q, (q', ..., q^(r)), *more) on symbols."""
        x, r = self.variables, self.order

        def at(t: Any, q: Any, numbers: Any, *rows: Any) -> Any:
            moved = self.system.with_params(x.params_from(numbers))
            return f(moved, t, q, jnp.stack(rows[:r]), *rows[r:])

        rows = [array(row) for row in (*self.levels[:r], *more)]
        return translate(at, x.t, x.configuration, array(tuple(x.numbers)), *rows)

    @cached_property
    def inner_L(self) -> Any:
        """The Lagrangian, with constraints L + lam.Phi."""
        more = (self.lams[0],) if self.m else ()
        return self.simplify(self.read(HigherOrderSystem.L, *more).item())

    @cached_property
    def inner_force(self) -> Row:
        """The force."""
        if not self.system.forced:
            return (sp.Integer(0),) * self.n
        return tuple(self.simplify(f, self.levels[0]) for f in self.read(HigherOrderSystem.F))

    def rate(self, expr: Any) -> Any:
        """d/dt along a motion, each derivative moving by the next one."""
        x = self.variables
        rows = [*zip(self.levels, self.levels[1:], strict=False)]
        rows += zip(self.lams, self.lams[1:], strict=False)
        pairs = [pair for low, high in rows for pair in zip(low, high, strict=True)]
        along = [x.displaced(expr, i) * v for i, v in enumerate(self.levels[0])]
        moved = (derivative(expr, y) * dy for y, dy in pairs)
        return derivative(expr, x.t) + sp.Add(*along, *moved)

    def alternating(self, derivatives: Sequence[Any]) -> Any:
        """sum_s (-1)^s d^s/dt^s of the s-th expression."""
        total = sp.Integer(0)
        for expr in reversed(derivatives):
            total = expr - self.rate(total)
        return self.tidy(total)

    def tidy(self, expr: Any) -> Any:
        """An expression in derivatives and multipliers, simplified."""
        return self.simplify(expr, tuple(y for row in (*self.levels, *self.lams) for y in row))

    @cached_property
    def inner_momenta(self) -> tuple[Row, ...]:
        """The momenta in inner symbols."""
        L, r = self.inner_L, self.order
        return tuple(
            tuple(
                self.alternating([derivative(L, row[j]) for row in self.levels[i:r]])
                for j in range(self.n)
            )
            for i in range(r)
        )

    @cached_property
    def inner_equations(self) -> Row:
        """dL/dq + ad*_v p_0 - d/dt p_0 + F, and Phi."""
        x, p = self.variables, self.inner_momenta[0]
        turned = x.coad(self.levels[0], p)
        rows = [
            self.tidy(x.displaced(self.inner_L, i) + turned[i] - self.rate(p[i]) + F)
            for i, F in enumerate(self.inner_force)
        ]
        return (*rows, *(self.tidy(derivative(self.inner_L, lam)) for lam in self.lams[0]))

    @property
    def top(self) -> Row:
        """The highest derivatives and the multipliers: what p_{r-1} = dL/dq^(r) and Phi = 0 are
        solved for.
        """
        return self.levels[self.order - 1] + self.lams[0]

    @cached_property
    def inner_hessian(self) -> Any:
        """The matrix of second derivatives by `top`."""
        top = self.top
        return sp.Matrix(
            len(top), len(top), lambda i, j: self.simplify(derivative(self.inner_L, top[i], top[j]))
        )

    @cached_property
    def inner_solution(self) -> dict[Any, Any]:
        """q^(r) and lam as functions of (t, q, ..., q^(r-1), p_{r-1})."""
        if self.inner_hessian.has(*self.top):
            raise ValueError(
                f"{self.system.name} has no Hamiltonian in closed form: p = dL/dq^({self.order}) is"
                f" not linear in q^({self.order})."
            )
        none = dict.fromkeys(self.top, sp.Integer(0))
        rest = [derivative(self.inner_L, y).xreplace(none) for y in self.top]
        given = [*self.p[-1], *([sp.Integer(0)] * self.m)]
        right = sp.Matrix([a - b for a, b in zip(given, rest, strict=True)])
        try:
            return dict(zip(self.top, solve(self.inner_hessian, right), strict=True))
        except UNSOLVED as error:
            raise ValueError(
                f"{self.system.name} has no Hamiltonian: d2L/dq^({self.order})2 is singular."
            ) from error

    @cached_property
    def inner_hamiltonian(self) -> Any:
        """H in inner symbols."""
        H = (self.paired(self.p) - self.inner_L).xreplace(self.inner_solution)
        return self.simplify(H, tuple(y for row in self.p for y in row))

    def paired(self, p: Sequence[Row]) -> Any:
        """sum_s p_s.q^(s+1)."""
        rows = zip(p, self.levels, strict=False)
        return sp.Add(*(y * x for a, b in rows for y, x in zip(a, b, strict=True)))

    # ------------------------------------------------------------ outside: functions of time

    @cached_property
    def reader_letters(self) -> dict[Any, Any]:
        """What each inner symbol is for the reader."""
        x = self.variables
        found = dict(x.reader_letters)
        for k, row in enumerate(self.levels, 1):
            for y, name, moving in zip(row, x.words, x.moving, strict=True):
                times = k - moving  # of a group the letters are those of its velocity
                f = sp.Function(name)(TIME)
                found[y] = f.diff(TIME, times) if times else f
        for k, row in enumerate(self.lams):
            for y, name in zip(row, x.lam_words, strict=True):
                f = sp.Function(name)(TIME)
                found[y] = f.diff(TIME, k) if k else f
        for row in self.p:
            found |= {y: sp.Function(y.name)(TIME) for y in row}
        return found

    def for_reader(self, expr: Any) -> Any:
        """An inner expression, or a tuple of them, as it is printed."""
        if isinstance(expr, tuple):
            return tuple(map(self.for_reader, expr))
        return sp.sympify(expr).xreplace(self.reader_letters)

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.simplify.complete

    @property
    def t(self) -> sp.Symbol:
        """Time."""
        return TIME

    @cached_property
    def q(self) -> Row:
        """The coordinates, functions of time; on a group the entries of its matrix."""
        return self.for_reader(self.variables.q)

    @cached_property
    def v(self) -> Row:
        """Their derivatives; on a group the components of the body's velocity."""
        return self.for_reader(self.levels[0])

    @cached_property
    def lam(self) -> Row:
        """The multipliers, functions of time."""
        return self.for_reader(self.lams[0])

    @cached_property
    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters."""
        return self.variables.values()

    @cached_property
    def L(self) -> Any:
        """The Lagrangian, with constraints L + lam.Phi."""
        return self.for_reader(self.inner_L)

    @cached_property
    def force(self) -> Row:
        """The force F, one component for each coordinate."""
        return self.for_reader(self.inner_force)

    @cached_property
    def equations(self) -> Row:
        """One for each coordinate, of order 2r; then the constraints."""
        return tuple(equation(self.for_reader(row), 0) for row in self.inner_equations)

    @cached_property
    def kinematics(self) -> Row:
        """g' = g hat(v) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        return higher_forms.kinematics(self)

    @cached_property
    def momenta(self) -> tuple[Row, ...]:
        """The momenta p_i, i = 0, ..., r - 1, each with one component for each coordinate."""
        return tuple(map(self.for_reader, self.inner_momenta))

    @cached_property
    def energy(self) -> Any:
        """E = sum_i p_i q^(i+1) - L, conserved where L does not depend on time."""
        return self.for_reader(self.simplify(self.paired(self.inner_momenta) - self.inner_L))

    @cached_property
    def energy_rate(self) -> Any:
        """dE/dt = -dL/dt + F.q' along the motion."""
        power = sp.Add(*(F * v for F, v in zip(self.inner_force, self.levels[0], strict=True)))
        return self.for_reader(self.simplify(power - derivative(self.inner_L, self.variables.t)))

    @cached_property
    def cyclic(self) -> dict[Any, Any]:
        """{coordinate: conserved momentum p_0} of the coordinates that neither L nor a force sees
        themselves, but for their derivatives; a group has no coordinates to be cyclic.
        """
        x, found = self.variables, {}
        for i, (name, moving) in enumerate(zip(x.words, x.moving, strict=True)):
            q = sp.Symbol(name, real=True)
            if not moving and self.inner_force[i] == 0 and not self.inner_L.has(q):
                found[self.for_reader(q)] = self.momenta[0][i]
        return found

    @cached_property
    def hessian(self) -> Any:
        """d2L/dq^(r)dq^(r), with constraints that of L + lam.Phi, bordered by dPhi/dq^(r): the
        equations are regular where it is.
        """
        return self.for_reader(self.inner_hessian)

    @cached_property
    def hamiltonian(self) -> Any:
        """H(t, q, ..., q^(r-1), p_0, ..., p_{r-1}) = sum_s p_s q^(s+1) - L, in momenta p_s_x(t);
        q^(r) by p_{r-1} = dL/dq^(r) (and Phi = 0).
        """
        return self.for_reader(self.inner_hamiltonian)

    @cached_property
    def hamilton(self) -> Row:
        """Hamilton's equations on T*(T^(r-1)Q), those that say more than q^(s)' = q^(s+1):

            q^(r) = dH/dp_{r-1},    p_0' = -dH/dq + F,    p_s' = -dH/dq^(s)

        On a group p_0' has ad*_(q') p_0 in addition, and g' = g hat(q') comes first.
        """
        return higher_forms.hamilton_equations(self)

    @cached_property
    def theta_L(self) -> Form:
        """The one-form of Poincare and Cartan, sum_s p_s dq^(s), on T^(2r-1)Q; with constraints
        that of L + lam.Phi, with lam, ..., lam^(r-1) as further coordinates.
        """
        return higher_forms.one_form(self)

    @cached_property
    def Omega_L(self) -> Form:
        """The two-form -d theta_L = sum_s dq^(s) ^ dp_s, symplectic on T^(2r-1)Q where d2L/dq^(r)2
        is regular (Vakonomic thesis, section 5.1, with q^(r) in place of q^(l-1)).
        """
        return higher_forms.two_form(self)

    def discrete(self, method: Method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-r, ..., q_k+r (Vakonomic thesis, section
        8.3).
        """
        return under_method(self.system, method, self.simplify)

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian, the equations, and what is conserved."""
        names = self.variables.words
        p = [sp.Symbol(f"p_{i}_{name}") for i in range(self.order) for name in names]
        E = sp.Symbol("E"), sp.Function("E")(TIME).diff(TIME)
        groups = (
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations),
            ("kinematics", self.kinematics),
            ("momenta", equations_of(p, [each for level in self.momenta for each in level])),
            ("energy", equations_of(E, (self.energy, self.energy_rate))),
            (
                "conserved momenta",
                [equation(sp.Symbol(f"p_0_{x.func}"), p) for x, p in self.cyclic.items()],
            ),
        )
        return sheet_of(self.system.name, groups, self.complete)


@derive.register
def _(system: HigherOrderSystem, seconds: float) -> HigherOrderEquations:
    system.check()
    return HigherOrderEquations(system, Simplifier(seconds))


@modified_equations.register
def _(equations: HigherOrderEquations, method: Any, order: int) -> Any:
    why = (
        "a window is no point of (q, p); symbolic(first_order(system)).modified has the series of"
        " steps from (q, ..., q^(r-1))"
    )
    refuse("symbolic(system).modified", equations.system.kind, why)
