"""Lagrangians with higher derivatives: L(t, q, q', ..., q^(r))."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from accion.spaces import Product
from accion.symbolic.calculus import derivative
from accion.symbolic.render import Readable, Sheet
from accion.symbolic.tidy import Tidy
from accion.symbolic.translate import translate
from accion.symbolic.variables import TIME, Variables, array


@dataclass(frozen=True)
class HigherOrderEquations(Readable):
    """The Euler-Lagrange equations and the Jacobi-Ostrogradsky momenta of L(t, q, q', ..., q^(r)) (004 section 5.1, with the right signs).

    sum_l (-1)^l d^l/dt^l dL/dq^(l) = 0,        p_i = sum_s (-1)^s d^s/dt^s dL/dq^(i+1+s),  i = 0, ..., r - 1
    """

    variables: Variables
    order: int
    inner_L: Any
    tidy: Tidy
    m: int = 0  # of the coordinates, the last m are multipliers: L is L + lam.Phi, and their equations are Phi = 0
    name: str = ""

    @cached_property
    def jets(self):
        """Symbols for q, q', ..., q^(2r)."""
        return tuple(tuple(sp.Symbol(f"{name}'{k}", real=True) for name in self.variables.words) for k in range(2 * self.order + 1))

    def rate(self, expr):
        pairs = [(x, dx) for low, high in zip(self.jets[:-1], self.jets[1:], strict=True) for x, dx in zip(low, high, strict=True)]
        return derivative(expr, self.variables.t) + sp.Add(*(derivative(expr, x) * dx for x, dx in pairs))

    def alternating(self, derivatives):
        """sum_s (-1)^s d^s/dt^s of the s-th expression."""
        total = sp.Integer(0)
        for expr in reversed(derivatives):
            total = expr - self.rate(total)
        return self.tidy(total, tuple(x for level in self.jets[1:] for x in level))

    def show(self, expr):
        x = self.variables
        functions = [sp.Function(name)(TIME) for name in x.words]
        jets = {s: f.diff(TIME, k) if k else f for k, level in enumerate(self.jets) for s, f in zip(level, functions, strict=True)}
        return sp.sympify(expr).xreplace(jets | {x.t: TIME} | {s: sp.Symbol(s.name) for s in x.numbers})

    @cached_property
    def L(self):
        return self.show(self.inner_L)

    @cached_property
    def equations(self) -> Any:
        """One for each coordinate, of order 2r; then the constraints."""
        rows = [
            self.alternating([derivative(self.inner_L, level[i]) for level in self.jets[: self.order + 1]]) for i in range(len(self.variables.words))
        ]
        return tuple(sp.Eq(self.show(row), 0, evaluate=False) for row in rows)

    @cached_property
    def inner_momenta(self):
        n, r = len(self.variables.words) - self.m, self.order
        return tuple(
            tuple(self.alternating([derivative(self.inner_L, level[j]) for level in self.jets[i + 1 : r + 1]]) for j in range(n)) for i in range(r)
        )

    @cached_property
    def momenta(self):
        """The momenta p_i, i = 0, ..., r - 1, each with one component for each coordinate."""
        return tuple(tuple(map(self.show, level)) for level in self.inner_momenta)

    @cached_property
    def energy(self):
        """E = sum_i p_i q^(i+1) - L, conserved where L does not depend on time."""
        terms = [p * x for level, jet in zip(self.inner_momenta, self.jets[1:], strict=False) for p, x in zip(level, jet, strict=False)]
        return self.show(self.tidy(sp.Add(*terms) - self.inner_L))

    @cached_property
    def hessian(self) -> Any:
        """d2L/dq^(r)dq^(r), with constraints that of L + lam.Phi, bordered by dPhi/dq^(r): the equations are regular where it is."""
        n = len(self.variables.words) - self.m
        top = self.jets[self.order][:n] + self.jets[0][n:]
        return self.show(sp.Matrix(len(top), len(top), lambda i, j: self.tidy(derivative(self.inner_L, top[i], top[j]))))

    @property
    def sheet(self):
        names = self.variables.words
        momenta = [
            sp.Eq(sp.Symbol(f"p_{i}_{name}"), p, evaluate=False)
            for i, level in enumerate(self.momenta)
            for name, p in zip(names, level, strict=False)
        ]
        groups = [("Lagrangian", [sp.Eq(sp.Symbol("L"), self.L, evaluate=False)]), ("equations of motion", list(self.equations))]
        groups += [("momenta", momenta), ("energy", [sp.Eq(sp.Symbol("E"), self.energy, evaluate=False)])]
        return Sheet(self.name or f"a system of order {self.order}", tuple(groups), self.tidy.complete)


def of_system(system, seconds):
    """The equations of a `HigherOrderSystem`; with a constraint those of L + lam.Phi, lam_1, lam_2, ... being further coordinates."""
    if not system.space.flat or isinstance(system.space, Product):
        raise ValueError(f"equations of higher order are written on Euclidean(n) and Torus(n) only; {system.name} lives on {system.space}.")
    system.check()
    n, m = system.space.dim, system.multipliers
    names = (*system.names, *(("lam",) if m == 1 else (f"lam_{i + 1}" for i in range(m))))

    def extended(t, *jets_and_params):
        q, *jets = jets_and_params[:-1]
        moved = system.with_params(jets_and_params[-1])
        return moved.L(t, q[:n], [jet[:n] for jet in jets], q[n:])

    found = derive(extended if m else system.lagrangian, names, system.params, system.order, seconds)
    return replace(found, m=m, name=system.name)


def derive(lagrangian, coordinates, params, order, seconds):
    if not callable(lagrangian):
        raise ValueError(f"higher_order needs a function lagrangian(t, q, v, a, ..., params); got {lagrangian!r}.")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"order must be a whole number, 1 or more; got {order!r}.")
    if isinstance(coordinates, str) or not len(coordinates):
        raise ValueError(f'coordinates must be the names of the components of q, such as ("x", "y"); got {coordinates!r}.')
    variables = Variables(tuple(coordinates), 0, params)
    tidy = Tidy(seconds)
    empty = HigherOrderEquations(variables, order, sp.Integer(0), tidy)
    jets = [array(level) for level in empty.jets[: order + 1]]
    at = lambda t, numbers, *jets: lagrangian(t, *jets, variables.params_from(numbers))  # noqa: E731
    L = translate(at, variables.t, array(tuple(variables.numbers)), *jets)
    if np.shape(L) != ():
        raise ValueError(f"lagrangian must return a scalar; it returned shape {np.shape(L)}.")
    return HigherOrderEquations(variables, order, tidy(L.item()), tidy)
