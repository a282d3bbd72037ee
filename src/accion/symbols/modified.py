"""The modified Lagrangian and Hamiltonian of a method as power series in h, for small systems.

A smooth curve through the points of a discrete trajectory makes the action of

    sum_i (2^(1 - 2i) - 1) B_2i/(2i)! h^2i d^2i/dt^2i L_disc
    L_disc = Ld(q(t - h/2), q(t + h/2)) / h

stationary (Vermeeren 2017); second and higher derivatives in it are
replaced, order by order, by what the modified equations say they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.checks import refuse
from accion.methods import Method
from accion.symbols.linear_algebra import solve

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True)
class ModifiedEquations:
    """L + h^p L_p + ... and H + h^p H_p + ... up to h^order, in the letters of `Equations`."""

    equations: "Equations"
    method: Method
    order: int

    @cached_property
    def h(self) -> sp.Symbol:
        """The step."""
        return sp.Symbol("h", positive=True)

    @cached_property
    def jets(self) -> list[tuple[sp.Symbol, ...]]:
        """Symbols of q, q', q'', ... as far as they are needed."""
        x = self.equations.variables
        more = [
            tuple(sp.Symbol(f"{name}_{k}", real=True) for name in x.words)
            for k in range(3, self.order + 3)
        ]
        return [x.q, x.v, x.a, *more]

    def rate(self, expr: Any) -> Any:
        """d/dt along a curve, each of the jets moving by the next one."""
        pairs = [
            pair
            for low, high in zip(self.jets[:-1], self.jets[1:], strict=True)
            for pair in zip(low, high, strict=True)
        ]
        return sp.diff(expr, self.equations.variables.t) + sp.Add(
            *(sp.diff(expr, a) * b for a, b in pairs if expr.has(a))
        )

    def taylor(self, expr: Any) -> list[Any]:
        """The coefficients of h^0, ..., h^order."""
        found = []
        for k in range(self.order + 1):
            found.append(expr.xreplace({self.h: sp.Integer(0)}) / sp.factorial(k))
            expr = sp.diff(expr, self.h)
        return found

    @cached_property
    def discrete_terms(self) -> list[Any]:
        """L_disc as a power series: coefficients in the jets."""
        x, h, n = self.equations.variables, self.h, len(self.equations.variables.q)
        half = h / 2
        ends = [
            [
                sp.Add(
                    *(
                        (sign * half) ** k * self.jets[k][i] / sp.factorial(k)
                        for k in range(self.order + 2)
                    )
                )
                for i in range(n)
            ]
            for sign in (-1, 1)
        ]
        velocity = [sp.expand(sp.expand(b - a) / h) for a, b in zip(*ends, strict=True)]
        total = sp.Integer(0)
        for w, c in self.method.nodes:
            w, c = sp.nsimplify(w, rational=True), sp.nsimplify(c, rational=True)
            at = {x.t: x.t + (c - sp.Rational(1, 2)) * h}
            at |= {q: sp.expand((1 - c) * a + c * b) for q, a, b in zip(x.q, *ends, strict=True)}
            at |= dict(zip(x.v, velocity, strict=True))
            total += w * self.equations.inner_L.xreplace(at)
        return self.taylor(total)

    @cached_property
    def interpolated_terms(self) -> list[Any]:
        """The coefficients of the Lagrangian above, which has derivatives of any order."""
        terms = list(self.discrete_terms)
        derivative = list(terms)
        for i in range(1, self.order // 2 + 1):
            derivative = [self.rate(self.rate(term)) for term in derivative]
            factor = (sp.Integer(2) ** (1 - 2 * i) - 1) * sp.bernoulli(2 * i) / sp.factorial(2 * i)
            for k in range(self.order + 1 - 2 * i):
                terms[k + 2 * i] += factor * derivative[k]
        return terms

    @cached_property
    def inner_terms(self) -> list[Any]:
        """L_0, L_1, ..., each a function of (t, q, v)."""
        x = self.equations.variables
        found = [self.equations.inner_L]
        for k in range(1, self.order + 1):
            accelerations = self.accelerations(found)
            series = sp.Add(
                *(self.h**j * term for j, term in enumerate(self.interpolated_terms[: k + 1]))
            )
            reduced = self.reduce(series, accelerations, k)
            found.append(self.equations.simplify(self.coefficient(reduced, k), x.v))
        return found

    def coefficient(self, expr: Any, k: int) -> Any:
        """The coefficient of h^k."""
        return sp.diff(expr, self.h, k).xreplace({self.h: sp.Integer(0)}) / sp.factorial(k)

    def truncated(self, expr: Any, k: int) -> Any:
        """The power series up to h^k."""
        return sp.Add(*(self.h**j * self.coefficient(expr, j) for j in range(k + 1)))

    def accelerations(self, terms: Sequence[Any]) -> list[Any]:
        """q'' from the terms of the Lagrangian known so far, as a series in h."""
        x, k = self.equations.variables, len(terms) - 1
        L = sp.Add(*(self.h**j * term for j, term in enumerate(terms)))
        M = sp.Matrix([[sp.diff(terms[0], a, b) for b in x.v] for a in x.v])
        operator = [self.rate(sp.diff(L, v)) - sp.diff(L, q) for q, v in zip(x.q, x.v, strict=True)]
        zero = dict.fromkeys(x.a, sp.Integer(0))
        a = [sp.Integer(0)] * len(x.q)
        for _ in range(k + 1):  # each turn gives one more power of h
            rest = [e.xreplace(dict(zip(x.a, a, strict=True))) for e in operator]
            step = solve(M.xreplace(zero), sp.Matrix(rest))
            a = [
                self.equations.simplify(self.truncated(old - new, k))
                for old, new in zip(a, step, strict=True)
            ]
        return a

    def reduce(self, expr: Any, a: Sequence[Any], k: int) -> Any:
        """`expr` with q'' and higher derivatives replaced, up to h^k."""
        x = self.equations.variables
        known = dict(zip(x.a, a, strict=True))
        values = list(a)
        for level in self.jets[3:]:
            if not expr.has(*level):
                continue
            index = self.jets.index(level)
            while len(values) < (index - 1) * len(x.q):
                last = values[-len(x.q) :]
                onto = dict(zip(x.a, a, strict=True))
                values += [self.truncated(self.rate(e).xreplace(onto), k) for e in last]
            known |= dict(
                zip(level, values[(index - 2) * len(x.q) : (index - 1) * len(x.q)], strict=True)
            )
        return expr.xreplace(known)

    @property
    def terms(self) -> tuple[Any, ...]:
        """L_0, L_1, ..., L_order for the reader."""
        return tuple(self.equations.for_reader(term) for term in self.inner_terms)

    @cached_property
    def inner_hamiltonian_terms(self) -> list[Any]:
        """H_0, H_1, ..., as functions of (t, q, p): the Legendre transform of the series."""
        x, e = self.equations.variables, self.equations
        L = sp.Add(*(self.h**j * term for j, term in enumerate(self.inner_terms)))
        v = list(e.inner_velocities)
        M = sp.Matrix([[sp.diff(self.inner_terms[0], a, b) for b in x.v] for a in x.v])
        for _ in range(self.order):
            at = dict(zip(x.v, v, strict=True))
            wrong = [sp.diff(L, u).xreplace(at) - p for u, p in zip(x.v, x.p, strict=True)]
            step = solve(M.xreplace(at), sp.Matrix(wrong))
            v = [self.truncated(old - new, self.order) for old, new in zip(v, step, strict=True)]
        H = sp.Add(*(p * u for p, u in zip(x.p, v, strict=True))) - L.xreplace(
            dict(zip(x.v, v, strict=True))
        )
        return [e.simplify(self.coefficient(H, k), x.p) for k in range(self.order + 1)]

    @property
    def hamiltonian_terms(self) -> tuple[Any, ...]:
        """H_0, H_1, ..., H_order for the reader, in q(t) and p_q(t)."""
        return tuple(self.equations.for_reader(term) for term in self.inner_hamiltonian_terms)

    @property
    def hamiltonian(self) -> Any:
        """H + h H_1 + ... + h^order H_order."""
        h = sp.Symbol("h")
        return sp.Add(*(h**k * term for k, term in enumerate(self.hamiltonian_terms)))


def modified(equations: "Equations", method: Method, order: int) -> ModifiedEquations:
    """The modified equations of a method with fixed nodes, on a system without force or constraint.

    Raises:
        ValueError: for other methods and systems, and where `order` is not a whole number.
    """
    if method.nodes is None:
        numbers = "analysis.modified_hamiltonian gives numbers for it"
        advice = numbers if method.of_two_ends else "try the method inside of it"
        raise ValueError(f"{method} has no fixed formula to expand; {advice}.")
    what, why = "symbolic(system).modified", "their discrete flow is not that of a Hamiltonian"
    if equations.system.forced:
        refuse(what, "systems with a force", why)
    if equations.system.constraint is not None:
        refuse(what, "systems under constraints", why)
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"order must be a whole number; got {order!r}.")
    return ModifiedEquations(equations, method, order)
