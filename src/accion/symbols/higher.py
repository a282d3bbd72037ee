"""Lagrangians with higher derivatives: L(t, q, q', ..., q^(r))."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import sympy as sp

from accion.checks import refuse
from accion.methods import Method
from accion.spaces import Product
from accion.symbols.derivatives import derivative
from accion.symbols.discrete_equations import DiscreteEquations
from accion.symbols.jax_to_sympy import translate
from accion.symbols.linear_algebra import UNSOLVED, solve
from accion.symbols.registry import derive
from accion.symbols.render import Readable, Sheet, equation, equations_of, sheet_of
from accion.symbols.sampled import under_method
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, Variables, array
from accion.systems import HigherOrderSystem


@dataclass(frozen=True)
class HigherOrderEquations(Readable):
    """The Euler-Lagrange equations and the Jacobi-Ostrogradsky momenta of L(t, q, q', ..., q^(r))
    (Vakonomic thesis, section 5.1, with the right signs).

        sum_l (-1)^l d^l/dt^l dL/dq^(l) = 0
        p_i = sum_s (-1)^s d^s/dt^s dL/dq^(i+1+s),        i = 0, ..., r - 1

    With a constraint they are those of L + lam.Phi, and lam, or lam_1, lam_2, ... are further
    coordinates, the last, whose equations are Phi = 0.
    """

    system: HigherOrderSystem
    simplify: Simplifier

    @property
    def order(self) -> int:
        """r, of the highest derivative in the Lagrangian."""
        return self.system.order

    @cached_property
    def m(self) -> int:
        """The number of multipliers."""
        return self.system.multipliers

    @cached_property
    def variables(self) -> Variables:
        """The letters."""
        m = self.m
        lam = ("lam",) if m == 1 else tuple(f"lam_{i + 1}" for i in range(m))
        return Variables((*self.system.names, *lam), 0, self.system.params)

    @cached_property
    def inner_L(self) -> Any:
        """The Lagrangian, with constraints L + lam.Phi."""
        x, n = self.variables, self.n

        def at(t: Any, numbers: Any, q: Any, *jets: Any) -> Any:
            moved = self.system.with_params(x.params_from(numbers))
            return moved.L(t, q[:n], jnp.stack([jet[:n] for jet in jets]), q[n:])

        jets = [array(level) for level in self.jets[: self.order + 1]]
        return self.simplify(translate(at, x.t, array(tuple(x.numbers)), *jets).item())

    @cached_property
    def jets(self) -> tuple[tuple[sp.Symbol, ...], ...]:
        """Symbols for q, q', ..., q^(2r)."""
        return tuple(
            tuple(sp.Symbol(f"{name}'{k}", real=True) for name in self.variables.words)
            for k in range(2 * self.order + 1)
        )

    def rate(self, expr: Any) -> Any:
        """d/dt along a motion, each derivative moving by the next one."""
        pairs = [
            (x, dx)
            for low, high in zip(self.jets[:-1], self.jets[1:], strict=True)
            for x, dx in zip(low, high, strict=True)
        ]
        return derivative(expr, self.variables.t) + sp.Add(
            *(derivative(expr, x) * dx for x, dx in pairs)
        )

    def alternating(self, derivatives: Sequence[Any]) -> Any:
        """sum_s (-1)^s d^s/dt^s of the s-th expression."""
        total = sp.Integer(0)
        for expr in reversed(derivatives):
            total = expr - self.rate(total)
        return self.simplify(total, tuple(x for level in self.jets[1:] for x in level))

    def for_reader(self, expr: Any) -> Any:
        """An inner expression as it is printed."""
        x = self.variables
        functions = [sp.Function(name)(TIME) for name in x.words]
        jets = {
            s: f.diff(TIME, k) if k else f
            for k, level in enumerate(self.jets)
            for s, f in zip(level, functions, strict=True)
        }
        return sp.sympify(expr).xreplace(
            jets | {x.t: TIME} | {s: sp.Symbol(s.name) for s in x.numbers}
        )

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.simplify.complete

    @property
    def t(self) -> sp.Symbol:
        """Time."""
        return TIME

    @cached_property
    def q(self) -> tuple[Any, ...]:
        """The coordinates, functions of time."""
        return tuple(map(self.for_reader, self.jets[0][: self.n]))

    @cached_property
    def lam(self) -> tuple[Any, ...]:
        """The multipliers, functions of time."""
        return tuple(map(self.for_reader, self.jets[0][self.n :]))

    @cached_property
    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters."""
        return self.variables.values()

    @property
    def n(self) -> int:
        """The number of coordinates, without multipliers."""
        return len(self.variables.words) - self.m

    @cached_property
    def L(self) -> Any:
        """The Lagrangian, with constraints L + lam.Phi."""
        return self.for_reader(self.inner_L)

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """One for each coordinate, of order 2r; then the constraints."""
        rows = [
            self.alternating(
                [derivative(self.inner_L, level[i]) for level in self.jets[: self.order + 1]]
            )
            for i in range(len(self.variables.words))
        ]
        return tuple(equation(self.for_reader(row), 0) for row in rows)

    @cached_property
    def inner_momenta(self) -> tuple[tuple[Any, ...], ...]:
        """The momenta in inner symbols."""
        r = self.order
        return tuple(
            tuple(
                self.alternating(
                    [derivative(self.inner_L, level[j]) for level in self.jets[i + 1 : r + 1]]
                )
                for j in range(self.n)
            )
            for i in range(r)
        )

    @cached_property
    def momenta(self) -> tuple[tuple[Any, ...], ...]:
        """The momenta p_i, i = 0, ..., r - 1, each with one component for each coordinate."""
        return tuple(tuple(map(self.for_reader, level)) for level in self.inner_momenta)

    @cached_property
    def energy(self) -> Any:
        """E = sum_i p_i q^(i+1) - L, conserved where L does not depend on time."""
        terms = [
            p * x
            for level, jet in zip(self.inner_momenta, self.jets[1:], strict=False)
            for p, x in zip(level, jet, strict=False)
        ]
        return self.for_reader(self.simplify(sp.Add(*terms) - self.inner_L))

    @cached_property
    def energy_rate(self) -> Any:
        """dE/dt = -dL/dt along the motion."""
        return self.for_reader(self.simplify(-derivative(self.inner_L, self.variables.t)))

    @cached_property
    def cyclic(self) -> dict[Any, Any]:
        """{coordinate: conserved momentum p_0} of the coordinates that L does not see itself, but
        for their derivatives.
        """
        seen = self.inner_L.free_symbols
        pairs = zip(self.jets[0][: self.n], self.momenta[0], strict=True)
        return {self.for_reader(x): p for x, p in pairs if x not in seen}

    @property
    def top(self) -> tuple[sp.Symbol, ...]:
        """The highest derivatives and the multipliers: what p_{r-1} = dL/dq^(r) and Phi = 0 are
        solved for.
        """
        return self.jets[self.order][: self.n] + self.jets[0][self.n :]

    @cached_property
    def inner_hessian(self) -> Any:
        """The matrix of second derivatives by `top`."""
        top = self.top
        return sp.Matrix(
            len(top), len(top), lambda i, j: self.simplify(derivative(self.inner_L, top[i], top[j]))
        )

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
        if self.inner_hessian.has(*self.top):
            raise ValueError(
                f"{self.system.name} has no Hamiltonian in closed form: p = dL/dq^({self.order}) is"
                f" not linear in q^({self.order})."
            )
        names = self.variables.words[: self.n]
        p = [[sp.Symbol(f"p_{s}_{name}", real=True) for name in names] for s in range(self.order)]
        none = dict.fromkeys(self.top, sp.Integer(0))
        rest = [derivative(self.inner_L, x).xreplace(none) for x in self.top]
        right = sp.Matrix(
            [y - r for y, r in zip([*p[-1], *([sp.Integer(0)] * self.m)], rest, strict=True)]
        )
        try:
            solution = solve(self.inner_hessian, right)
        except UNSOLVED as error:
            raise ValueError(
                f"{self.system.name} has no Hamiltonian: d2L/dq^({self.order})2 is singular."
            ) from error
        terms = [
            y * x
            for level, jet in zip(p, self.jets[1:], strict=False)
            for y, x in zip(level, jet, strict=False)
        ]
        H = (sp.Add(*terms) - self.inner_L).xreplace(dict(zip(self.top, solution, strict=True)))
        momenta = [y for level in p for y in level]
        return self.for_reader(self.simplify(H, tuple(momenta))).xreplace(
            {y: sp.Function(y.name)(TIME) for y in momenta}
        )

    def discrete(self, method: Method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-r, ..., q_k+r (Vakonomic thesis, section
        8.3).
        """
        return under_method(self.system, method, self.simplify)

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian, the equations, and what is conserved."""
        names = self.variables.words[: self.n]
        p = [sp.Symbol(f"p_{i}_{name}") for i in range(self.order) for name in names]
        E = sp.Symbol("E"), sp.Function("E")(TIME).diff(TIME)
        groups = (
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations),
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
    if not system.space.flat or isinstance(system.space, Product):
        why = "they are written on Euclidean(n) and Torus(n) only"
        refuse("symbolic", f"systems of higher order on {system.space}", why)
    system.check()
    return HigherOrderEquations(system, Simplifier(seconds))
