"""The discrete equations of a system in letters, of a method or as they were given."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.render import Readable, Sheet, equation, sheet_of
from accion.symbols.simplification import Simplifier, tidied
from accion.symbols.step_letters import StepLetters, letters_of


class DiscreteStep(ABC):
    """A step from q_k to q_k+1, of order r to q_k+r, in letters: what a `Discretisation` is in
    numbers.
    """

    system: Any

    @property
    @abstractmethod
    def title(self) -> str:
        """What stands above its equations."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """What a message speaks of."""

    @property
    @abstractmethod
    def Ld(self) -> Any:
        """The discrete Lagrangian, with what constraints add to it."""

    @property
    @abstractmethod
    def forces(self) -> tuple[tuple[Any, ...], ...]:
        """The discrete forces at each configuration of the step."""

    @property
    @abstractmethod
    def closure(self) -> tuple[Any, ...]:
        """What further equations of the step say is zero: discrete constraints, entropy
        balances.
        """

    @property
    @abstractmethod
    def reaction(self) -> tuple[Any, ...]:
        """What constraint forces add to the equations at q_k, h A^T lam_k."""

    @property
    def closure_title(self) -> str:
        """What the further equations are called."""
        if self.system.contact:
            return "discrete action"
        return "discrete entropy balance" if self.system.entropic else "discrete constraints"

    @cached_property
    def letters(self) -> StepLetters:
        """The symbols of the step."""
        return letters_of(self.system)

    @property
    def dim(self) -> int:
        """How many displacements a configuration has; entropies are not displaced."""
        return self.system.space.dim

    def share(self, Ld: Any, node: int) -> Any:
        """What makes momenta of the derivatives of Ld by its configuration number `node`: 1, of a
        contact system 1 / (1 + D3 Ld) at the start and 1 / (1 - D4 Ld) at the end.
        """
        if not self.system.contact:
            return sp.Integer(1)
        slope = derivative(Ld, self.letters.q(node)[-1])
        return 1 / (1 + slope if node == 0 else 1 - slope)

    def nothing(self) -> tuple[Any, ...]:
        """A covector of zeros."""
        return (sp.Integer(0),) * self.dim


@dataclass(frozen=True, repr=False)
class DiscreteEquations(Readable):
    """The discrete Lagrangian of a step from (t_k, q_k) to (t_k + h, q_k+1) and what follows from
    it (Marsden and West 2001; Bonich, eq 2.4; Colombo-Gamonal, eq 11).

        D2 Ld(q_k-1, q_k) + Fd^+(q_k-1, q_k)
            + D1 Ld(q_k, q_k+1) + Fd^-(q_k, q_k+1) + h A^T lam_k = 0

    Of order r the step has r + 1 configurations, and the equations are the sum over the r + 1 steps
    that have q_k among them (Vakonomic thesis, section 8.3). Of a contact system the derivatives at
    the end of a step are over 1 - D4 Ld, those at its start over 1 + D3 Ld, where D3 and D4 are by
    the actions (Vermeeren, Bravetti and Seri 2019).
    """

    step: DiscreteStep
    simplifier: Simplifier

    @property
    def system(self) -> Any:
        """Whose equations they are."""
        return self.step.system

    # ------------------------------------------------------------ inside: real symbols

    def simplify(self, expr: Any, variables: tuple[Any, ...] = ()) -> Any:
        """Simplification by quick rules alone: the expressions are long."""
        found = self.simplifier(expr, variables, search=False)
        return self.simplifier.within(lambda e: tidied(e, self.step.letters.h), found)

    @cached_property
    def inner_Ld(self) -> Any:
        """The discrete Lagrangian."""
        return self.step.Ld

    @cached_property
    def inner_forces(self) -> tuple[tuple[Any, ...], ...]:
        """The discrete forces."""
        return self.step.forces

    @cached_property
    def inner_closure(self) -> tuple[Any, ...]:
        """What the further equations say is zero."""
        return self.step.closure

    def slope(self, node: int) -> tuple[Any, ...]:
        """The derivative of Ld by the configuration number `node` of the step."""
        letters = self.step.letters
        return tuple(letters.displaced(self.inner_Ld, node, i) for i in range(self.step.dim))

    @cached_property
    def inner_equations(self) -> tuple[Any, ...]:
        """What the discrete Euler-Lagrange equations say is zero."""
        letters, r = self.step.letters, self.step.letters.order
        reaction = self.step.reaction
        shares = [self.step.share(self.inner_Ld, node) for node in range(r + 1)]
        terms = [
            [
                letters.earlier(shares[node] * (slope + force), node)
                for slope, force in zip(self.slope(node), self.inner_forces[node], strict=True)
            ]
            for node in range(r + 1)
        ]
        rows = [sp.Add(*row) for row in zip(*terms, reaction, strict=True)]
        nodes = [x for i in range(-r, r + 1) for x in (*letters.q(i), *letters.velocities(i))]
        return tuple(self.simplify(row, (*nodes, *letters.lam)) for row in rows)

    # ------------------------------------------------------------ outside: plain symbols

    def for_reader(self, expr: Any) -> Any:
        """An inner expression as it is printed."""
        expr = sp.sympify(expr)
        return expr.xreplace({s: sp.Symbol(s.name) for s in expr.free_symbols})

    def simplified(self, rows: tuple[Any, ...]) -> tuple[Any, ...]:
        """Inner expressions simplified, as they are printed."""
        return tuple(self.for_reader(self.simplify(row)) for row in rows)

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.simplifier.complete

    @property
    def t(self) -> sp.Symbol:
        """The time t_k."""
        return self.for_reader(self.step.letters.t)

    @property
    def h(self) -> sp.Symbol:
        """The step."""
        return self.for_reader(self.step.letters.h)

    def q(self, i: int = 0) -> tuple[sp.Symbol, ...]:
        """The coordinates of q_k+i; on a group the entries of its matrix."""
        return tuple(map(self.for_reader, self.step.letters.q(i)))

    def velocities(self, i: int = 0) -> tuple[sp.Symbol, ...]:
        """The velocities xi_k+i of the steps on groups, g_k+1 = g_k tau(h xi_k)."""
        return tuple(map(self.for_reader, self.step.letters.velocities(i)))

    @property
    def lam(self) -> tuple[sp.Symbol, ...]:
        """The multipliers lambda_k."""
        return tuple(map(self.for_reader, self.step.letters.lam))

    @cached_property
    def reduced(self) -> bool:
        """Whether no configuration is in the equations, which are then those of the velocities
        alone: on a group the discrete Euler-Poincare equations, or Lie-Poisson in momenta.
        """
        letters, r = self.step.letters, self.step.letters.order
        places = {x for i in range(-r, r + 1) for x in letters.q(i)}
        return not any(row.free_symbols & places for row in self.inner_equations)

    @property
    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters."""
        return self.step.letters.variables.values()

    @cached_property
    def Ld(self) -> Any:
        """The discrete Lagrangian; of a method Ld(q_k, q_k+1) = h sum_i w_i L(t_i, q_i, v_i)."""
        return self.for_reader(self.simplify(self.inner_Ld))

    @cached_property
    def D1(self) -> tuple[Any, ...]:
        """The derivative of Ld by q_k."""
        return self.simplified(self.slope(0))

    @cached_property
    def D2(self) -> tuple[Any, ...]:
        """The derivative of Ld by q_k+1."""
        return self.simplified(self.slope(1))

    @cached_property
    def force_minus(self) -> tuple[Any, ...]:
        """Fd^-, the discrete force at the start of the step."""
        return self.simplified(self.inner_forces[0])

    @cached_property
    def force_plus(self) -> tuple[Any, ...]:
        """Fd^+, the discrete force at its end."""
        return self.simplified(self.inner_forces[-1])

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """The discrete Euler-Lagrange equations at q_k."""
        return tuple(equation(self.for_reader(row), 0) for row in self.inner_equations)

    @cached_property
    def constraints(self) -> tuple[Any, ...]:
        """The further equations of the step from q_k: discrete constraints, entropy balances."""
        return tuple(equation(row, 0) for row in self.simplified(self.inner_closure))

    @cached_property
    def explicit(self) -> dict[sp.Symbol, Any]:
        """The last configuration, q_k+1, as functions of those before it; with entropies S_k+1
        too, as functions of q_k+1 (Bonich, eq 3.21).

        Raises:
            ValueError: where the equations are not linear in it, where there are constraints, and
                on a group.
        """
        letters, system = self.step.letters, self.system
        after = letters.q(letters.order)
        if not system.space.flat:
            raise ValueError(
                f"{self.step.subject} lives on {system.space}: its equations are not solved for the"
                " entries of a matrix; `explicit` is for flat spaces."
            )
        if self.inner_closure and (letters.lam or not system.entropic):
            raise ValueError(
                "a constrained step is not solved in closed form: its equations are `equations` and"
                " `constraints`."
            )
        q, S = after[: self.step.dim], after[self.step.dim :]
        return self.solved(self.inner_equations, q, after) | self.solved(self.inner_closure, S, S)

    def solved(self, rows: Any, unknowns: Any, unknown: Any) -> dict[sp.Symbol, Any]:
        """The unknowns from rows that are linear in them; nothing `unknown` may be a factor."""
        n = len(rows)
        K = sp.Matrix(n, n, lambda i, j: self.simplify(derivative(rows[i], unknowns[j])))
        rest = sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
        if K.has(*unknown) or rest.has(*unknown):
            raise ValueError(
                f"{self.step.subject} is implicit: its equations are not linear in"
                f" {', '.join(map(str, unknowns))}."
            )
        found = self.simplified(tuple(K.LUsolve(-rest)) if n else ())
        return dict(zip(map(self.for_reader, unknowns), found, strict=True))

    @property
    def reconstruction(self) -> tuple[Any, ...]:
        """g_k+1 = g_k tau(h xi_k), xi_k the velocities of a step on groups; none where there are
        none in the equations.
        """
        turning = set(self.step.letters.velocities(0))
        if not any(row.free_symbols & turning for row in self.inner_equations):
            return ()
        g, after, xi = (sp.Symbol(name) for name in ("g_k", "g_k+1", "xi_k"))
        return (equation(after, sp.Mul(g, sp.Function("tau")(self.h * xi), evaluate=False)),)

    @property
    def sheet(self) -> Sheet:
        """What is printed: the discrete Lagrangian and the equations."""
        groups = (
            ("discrete Lagrangian", [equation(sp.Symbol("L_d"), self.Ld)]),
            ("discrete equations", self.equations),
            ("reconstruction", self.reconstruction),
            (self.step.closure_title, self.constraints),
        )
        return sheet_of(self.step.title, groups, self.complete)
