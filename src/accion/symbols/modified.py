"""The modified Lagrangian and Hamiltonian of a method as power series in h.

A step of length h, from (q0, p0) to (q1, p1), is a curve of maps in h, and its velocity has the
Hamiltonian K(h, q1, p1) = -dLd/dh at fixed ends. The step is also the flow after the time 1 of
W = h (H + h H_1 + h^2 H_2 + ...), so

    dW/dh = sum_j B_j/j! {W, {W, ... {W, K}}}        B_1 = -1/2

gives the H_k one after the other (Magnus 1954; Hairer, Lubich and Wanner, IX.1). With constant
velocities V = x/h on a step that ends in (t, q)

    Ld/h = sum_k (-h)^k/k! sum_i w_i (1 - c_i)^k D^k L(t, q, V)        D = d/dt + V.d/dq
    K = V.d(Ld/h)/dV - (d/dh + d/dt) Ld        p = tau* d(Ld/h)/dV + h d(Ld/h)/dq

where tau* = 1 on flat spaces and sum_k B_k/k! (h ad*_V)^k, B_1 = +1/2, on groups with exp; V is
found from p as a power series. No expression is simplified before the end: all are polynomials
(`accion.symbols.polynomials`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.checks import refuse
from accion.methods import Method
from accion.spaces import Group
from accion.symbols.brackets import Brackets, Shift, rational
from accion.symbols.hamilton_jacobi import HamiltonJacobi
from accion.symbols.render import LINE, lines_of, tex
from accion.symbols.sampled import check_flat
from accion.symbols.simplification import LARGE

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True, repr=False)
class ModifiedEquations:
    """L + h L_1 + ... and H + h H_1 + ... up to h^order, in the letters of `Equations`.

    Short terms are simplified; long ones are sums over the monomials in the velocities, in which
    momenta are put.
    """

    equations: "Equations"
    method: Method
    order: int

    def __repr__(self) -> str:
        name = self.equations.system.name
        return f"<ModifiedEquations of {name} by {self.method}, up to h^{self.order}>"

    def _repr_latex_(self) -> str:
        lines = r" \\ &\qquad ".join(lines_of(tex(self.hamiltonian), LINE))
        return rf"$\displaystyle \begin{{aligned}} \tilde H = &\; {lines} \end{{aligned}}$"

    @cached_property
    def h(self) -> sp.Symbol:
        """The step."""
        return sp.Symbol("h", positive=True)

    @cached_property
    def functions(self) -> Brackets:
        """The ring in which all is computed."""
        return Brackets(self.equations.inner_L, self.equations.variables, 2 * self.order + 6)

    @cached_property
    def sampled(self) -> list[Any]:
        """Ld/h in the end of the step and its velocity: the coefficients of its power series."""
        found, D = [], self.functions.L
        nodes = [[sp.nsimplify(x, rational=True) for x in node] for node in self.method.nodes]
        for k in range(self.order + 1):
            moment = sp.Add(*(w * (c - 1) ** k for w, c in nodes)) / sp.factorial(k)
            found.append(D * rational(moment))
            D = self.functions.along(D) if k < self.order else D
        return found

    @cached_property
    def momenta(self) -> list[list[Any]]:
        """The power series of each component of p at the end of the step."""
        own, rows = self.functions, []
        slopes = [own.gradient(F) for F in self.sampled]
        for k in range(self.order + 1):
            row = [own.displaced(self.sampled[k - 1], i) for i in range(own.n)] if k else []
            turned = list(slopes[k])
            for j in range(1, k + 1 if own.turns else 1):
                part = slopes[k - j]
                for _ in range(j):
                    part = own.coad(own.v, part)
                c = rational(bernoulli(j, sp.Rational(1, 2)) / sp.factorial(j))
                turned = [a + c * b for a, b in zip(turned, part, strict=True)]
            rows.append([a + b for a, b in zip(turned, row, strict=True)] if k else turned)
        return [list(column) for column in zip(*rows, strict=True)]

    @cached_property
    def energies(self) -> list[Any]:
        """K as a power series, in (t, q) at the end of the step and the v that belongs to p."""
        own, shift = self.functions, Shift(self.functions)
        for k in range(1, self.order + 1):
            off = own.raised([shift.coefficient(p, k) for p in self.momenta])
            shift.terms.append([-a for a in off])
        K = [own.ring.dot(own.v, own.gradient(F)) - (k + 1) * F for k, F in enumerate(self.sampled)]
        for k, F in enumerate(self.sampled[:-1]):  # at a fixed start of the step its end moves
            K[k + 1] = K[k + 1] - own.by_time(F)
        return [shift.coefficient(K, k) for k in range(self.order + 1)]

    @cached_property
    def polynomials(self) -> list[Any]:
        """H_0, H_1, ... as polynomials, functions of (t, q, v) with p = dL/dv."""
        own, found = self.functions, []
        nested: dict[tuple[int, int], Any] = {}

        def coefficient(j: int, k: int) -> Any:
            """That of h^k in {W, {W, ... {W, K}}}, j brackets."""
            if j == 0:
                return self.energies[k]
            if (j, k) not in nested:
                parts = ((found[a], coefficient(j - 1, k - 1 - a)) for a in range(k))
                # H and K have the momentum of time in their first terms.
                terms = (
                    own.bracket(F, G, (a == 0, j == 1 and a == k - 1))
                    for a, (F, G) in enumerate(parts)
                )
                nested[j, k] = sum(terms, own.zero)
            return nested[j, k]

        for k in range(self.order + 1):
            total = own.zero
            for j in range(0 if self.method.symmetric and k % 2 else k + 1):
                c = bernoulli(j, -sp.Rational(1, 2)) / sp.factorial(j) / (k + 1)
                total = total + coefficient(j, k) * rational(c) if c else total
            found.append(total)
        return found

    @cached_property
    def inner_terms(self) -> list[Any]:
        """L_0, L_1, ..., each a function of (t, q, v).

        L + h L_1 + ... is p.v - H - h H_1 - ... at its stationary value, with p = dL/dv at v + d,
        so d = -M^-1 d(h H_1 + ...)/dv there.
        """
        own, H, shift = self.functions, self.polynomials, Shift(self.functions)
        slopes = [[own.zero, *column] for column in zip(*map(self.by_p, H[1:]), strict=True)]
        for k in range(1, self.order + 1):
            shift.terms.append([-shift.coefficient(s[: k + 1], k) for s in slopes])
        found = [self.equations.inner_L]
        for k in range(1, self.order + 1):
            moved = own.zero
            for v, p in zip(own.v, own.p, strict=True):
                moved = moved + v * shift.coefficient([p] + [own.zero] * k, k)
            L = own.ring.reduced(moved - shift.coefficient(H, k))
            found.append(self.read(L, self.equations.variables.v))
        return found

    def by_p(self, F: Any) -> list[Any]:
        """dF/dp."""
        return self.functions.raised(self.functions.gradient(F))

    def read(self, p: Any, variables: Sequence[Any]) -> Any:
        """A polynomial as an expression; simplified where it is short."""
        expr = self.functions.ring.collected(p, self.equations.variables.v)
        return self.short(expr, variables)

    def short(self, expr: Any, variables: Sequence[Any]) -> Any:
        """An expression, simplified where a search for that ends soon."""
        small = sp.count_ops(expr) <= LARGE
        return self.equations.simplify(expr, variables) if small else expr

    @property
    def terms(self) -> tuple[Any, ...]:
        """L_0, L_1, ..., L_order for the reader."""
        return tuple(self.equations.for_reader(term) for term in self.inner_terms)

    @cached_property
    def inner_hamiltonian_terms(self) -> list[Any]:
        """H_0, H_1, ..., as functions of (t, q, p)."""
        x, e = self.equations.variables, self.equations
        at = dict(zip(x.v, e.inner_velocities, strict=True))
        terms = [self.functions.ring.collected(p, x.v).xreplace(at) for p in self.polynomials[1:]]
        return [e.inner_hamiltonian, *(self.short(term, x.p) for term in terms)]

    @property
    def hamiltonian_terms(self) -> tuple[Any, ...]:
        """H_0, H_1, ..., H_order for the reader, in q(t) and p_q(t)."""
        return tuple(self.equations.for_reader(term) for term in self.inner_hamiltonian_terms)

    @property
    def hamiltonian(self) -> Any:
        """H + h H_1 + ... + h^order H_order."""
        h = sp.Symbol("h")
        return sp.Add(*(h**k * term for k, term in enumerate(self.hamiltonian_terms)))


def bernoulli(j: int, first: Any) -> Any:
    """The numbers of Bernoulli, with B_1 = `first`."""
    return first if j == 1 else sp.bernoulli(j)


def modified(
    equations: "Equations", method: Method, order: int
) -> ModifiedEquations | HamiltonJacobi:
    """The modified equations of a method with fixed nodes, on a system without force and without
    constraint, or with one in the action.

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
    held = equations.system.constraint is not None
    if held and not equations.system.enters_action:
        why = "their discrete flow is not that of a Hamiltonian on (q, p)"
        refuse(what, "systems under holonomic or nonholonomic constraints", why)
    for space, *_ in equations.variables.factors:
        if isinstance(space, Group) and space.retraction != "exp":
            refuse(what, f"{space}", "its series are those of the retraction exp")
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"order must be a whole number; got {order!r}.")
    if held:
        check_flat(equations.system, what)
    if held and len(method.nodes) > 1:
        why = "its samples share one multiplier; try Midpoint()"
        refuse(what, f"vakonomic systems by {method}", why)
    made = HamiltonJacobi if held else ModifiedEquations
    return made(equations, method, order)
