"""Lagrangians with higher derivatives: L(t, q, q', ..., q^(r))."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy as sp

from accion.spaces import Product
from accion.symbols.derivatives import derivative
from accion.symbols.linear_algebra import Undecided, solve
from accion.symbols.render import Readable, Sheet
from accion.symbols.simplification import Tidy
from accion.symbols.jax_to_sympy import translate
from accion.symbols.variables import TIME, Variables, array


@dataclass(frozen=True)
class HigherOrderEquations(Readable):
    """The Euler-Lagrange equations and the Jacobi-Ostrogradsky momenta of L(t, q, q', ..., q^(r))
    (004 section 5.1, with the right signs).

    sum_l (-1)^l d^l/dt^l dL/dq^(l) = 0,        p_i = sum_s (-1)^s d^s/dt^s dL/dq^(i+1+s),  i = 0,
    ..., r - 1
    """

    variables: Variables
    order: int
    inner_L: Any
    tidy: Tidy
    # of the coordinates, the last m are multipliers: L is L + lam.Phi, and their equations are Phi
    # = 0
    m: int = 0
    name: str = ""

    @cached_property
    def jets(self):
        """Symbols for q, q', ..., q^(2r)."""
        return tuple(
            tuple(sp.Symbol(f"{name}'{k}", real=True) for name in self.variables.words)
            for k in range(2 * self.order + 1)
        )

    def rate(self, expr):
        pairs = [
            (x, dx)
            for low, high in zip(self.jets[:-1], self.jets[1:], strict=True)
            for x, dx in zip(low, high, strict=True)
        ]
        return derivative(expr, self.variables.t) + sp.Add(
            *(derivative(expr, x) * dx for x, dx in pairs)
        )

    def alternating(self, derivatives):
        """sum_s (-1)^s d^s/dt^s of the s-th expression."""
        total = sp.Integer(0)
        for expr in reversed(derivatives):
            total = expr - self.rate(total)
        return self.tidy(total, tuple(x for level in self.jets[1:] for x in level))

    def show(self, expr):
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
    def complete(self):
        return self.tidy.complete

    @property
    def t(self):
        return TIME

    @cached_property
    def q(self):
        """The coordinates, functions of time."""
        return tuple(map(self.show, self.jets[0][: self.n]))

    @cached_property
    def lam(self):
        """The multipliers, functions of time."""
        return tuple(map(self.show, self.jets[0][self.n :]))

    @cached_property
    def values(self):
        """{symbol: number} of the parameters."""
        return self.variables.values()

    @property
    def n(self):
        """The number of coordinates, without multipliers."""
        return len(self.variables.words) - self.m

    @cached_property
    def L(self):
        """The Lagrangian, with constraints L + lam.Phi."""
        return self.show(self.inner_L)

    @cached_property
    def equations(self) -> Any:
        """One for each coordinate, of order 2r; then the constraints."""
        rows = [
            self.alternating(
                [derivative(self.inner_L, level[i]) for level in self.jets[: self.order + 1]]
            )
            for i in range(len(self.variables.words))
        ]
        return tuple(sp.Eq(self.show(row), 0, evaluate=False) for row in rows)

    @cached_property
    def inner_momenta(self):
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
    def momenta(self):
        """The momenta p_i, i = 0, ..., r - 1, each with one component for each coordinate."""
        return tuple(tuple(map(self.show, level)) for level in self.inner_momenta)

    @cached_property
    def energy(self):
        """E = sum_i p_i q^(i+1) - L, conserved where L does not depend on time."""
        terms = [
            p * x
            for level, jet in zip(self.inner_momenta, self.jets[1:], strict=False)
            for p, x in zip(level, jet, strict=False)
        ]
        return self.show(self.tidy(sp.Add(*terms) - self.inner_L))

    @cached_property
    def energy_rate(self):
        """dE/dt = -dL/dt along the motion."""
        return self.show(self.tidy(-derivative(self.inner_L, self.variables.t)))

    @cached_property
    def cyclic(self):
        """{coordinate: conserved momentum p_0} of the coordinates that L does not see itself, but
        for their derivatives.
        """
        seen = self.inner_L.free_symbols
        pairs = zip(self.jets[0][: self.n], self.momenta[0], strict=True)
        return {self.show(x): p for x, p in pairs if x not in seen}

    @property
    def top(self):
        """The highest derivatives and the multipliers: what p_{r-1} = dL/dq^(r) and Phi = 0 are
        solved for.
        """
        return self.jets[self.order][: self.n] + self.jets[0][self.n :]

    @cached_property
    def inner_hessian(self):
        top = self.top
        return sp.Matrix(
            len(top), len(top), lambda i, j: self.tidy(derivative(self.inner_L, top[i], top[j]))
        )

    @cached_property
    def hessian(self) -> Any:
        """d2L/dq^(r)dq^(r), with constraints that of L + lam.Phi, bordered by dPhi/dq^(r): the
        equations are regular where it is.
        """
        return self.show(self.inner_hessian)

    @cached_property
    def hamiltonian(self):
        """H(t, q, ..., q^(r-1), p_0, ..., p_{r-1}) = sum_s p_s q^(s+1) - L, in momenta p_s_x(t);
        q^(r) by p_{r-1} = dL/dq^(r) (and Phi = 0).
        """
        if self.inner_hessian.has(*self.top):
            raise ValueError(
                f"{self.title} has no Hamiltonian in closed form: p = dL/dq^({self.order}) is not"
                f" linear in q^({self.order})."
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
        except (Undecided, ValueError, ZeroDivisionError) as error:
            raise ValueError(
                f"{self.title} has no Hamiltonian: d2L/dq^({self.order})2 is singular."
            ) from error
        terms = [
            y * x
            for level, jet in zip(p, self.jets[1:], strict=False)
            for y, x in zip(level, jet, strict=False)
        ]
        H = (sp.Add(*terms) - self.inner_L).xreplace(dict(zip(self.top, solution, strict=True)))
        momenta = [y for level in p for y in level]
        return self.show(self.tidy(H, tuple(momenta))).xreplace(
            {y: sp.Function(y.name)(TIME) for y in momenta}
        )

    @property
    def title(self):
        return self.name or f"a system of order {self.order}"

    @property
    def sheet(self):
        names = self.variables.words
        momenta = [
            sp.Eq(sp.Symbol(f"p_{i}_{name}"), p, evaluate=False)
            for i, level in enumerate(self.momenta)
            for name, p in zip(names, level, strict=False)
        ]
        groups = [
            ("Lagrangian", [sp.Eq(sp.Symbol("L"), self.L, evaluate=False)]),
            ("equations of motion", list(self.equations)),
        ]
        rate = sp.Eq(sp.Function("E")(TIME).diff(TIME), self.energy_rate, evaluate=False)
        groups += [
            ("momenta", momenta),
            ("energy", [sp.Eq(sp.Symbol("E"), self.energy, evaluate=False), rate]),
        ]
        if self.cyclic:
            conserved = [
                sp.Eq(sp.Symbol(f"p_0_{x.func}"), p, evaluate=False) for x, p in self.cyclic.items()
            ]
            groups.append(("conserved momenta", conserved))
        return Sheet(self.title, tuple(groups), self.complete)


def of_system(system, seconds):
    """The equations of a `HigherOrderSystem`; with a constraint those of L + lam.Phi, lam_1, lam_2,
    ... being further coordinates.
    """
    if not system.space.flat or isinstance(system.space, Product):
        raise ValueError(
            "equations of higher order are written on Euclidean(n) and Torus(n) only;"
            f" {system.name} lives on {system.space}."
        )
    system.check()
    n, m = system.space.dim, system.multipliers
    names = (*system.names, *(("lam",) if m == 1 else (f"lam_{i + 1}" for i in range(m))))

    def extended(t, *jets_and_params):
        q, *jets = jets_and_params[:-1]
        moved = system.with_params(jets_and_params[-1])
        return moved.L(t, q[:n], [jet[:n] for jet in jets], q[n:])

    found = derive(
        extended if m else system.lagrangian, names, system.params, system.order, seconds
    )
    return replace(found, m=m, name=system.name)


def derive(lagrangian, coordinates, params, order, seconds):
    """The equations of `lagrangian(t, q, q', ..., q^(order), params)`."""
    variables = Variables(tuple(coordinates), 0, params)
    tidy = Tidy(seconds)
    empty = HigherOrderEquations(variables, order, sp.Integer(0), tidy)
    jets = [array(level) for level in empty.jets[: order + 1]]

    def at(t, numbers, *jets):
        return lagrangian(t, *jets, variables.params_from(numbers))

    L = translate(at, variables.t, array(tuple(variables.numbers)), *jets)
    return HigherOrderEquations(variables, order, tidy(L.item()), tidy)
