"""The discrete equations of a system in letters, of a method or as they were given."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.jax_to_sympy import translate
from accion.symbols.render import Readable, Sheet, equation, sheet_of
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import Variables, array
from accion.systems.base import word_of


@dataclass(frozen=True)
class StepLetters:
    """Real symbols for t_k, h, the configurations q_k-r, ..., q_k+r and the multipliers lambda_k,
    of a system of order r.
    """

    variables: Variables
    order: int

    @cached_property
    def t(self) -> sp.Symbol:
        """The time t_k."""
        return sp.Symbol("t_k", real=True)

    @cached_property
    def h(self) -> sp.Symbol:
        """The step."""
        return sp.Symbol("h", positive=True)

    def q(self, i: int) -> tuple[sp.Symbol, ...]:
        """The symbols of q_k+i."""
        return at_node(self.variables.q, i)

    @cached_property
    def points(self) -> tuple[Any, ...]:
        """The configurations q_k, ..., q_k+r of a step, as the space has them."""
        return tuple(self.configuration(i) for i in range(self.order + 1))

    def configuration(self, i: int) -> Any:
        """The configuration q_k+i."""
        onto = dict(zip(self.variables.q, self.q(i), strict=True))
        parts = [np.vectorize(onto_letter(onto), otypes=[object])(x) for x in self.variables.parts]
        return tuple(parts) if isinstance(self.variables.configuration, tuple) else parts[0]

    @cached_property
    def lam(self) -> tuple[sp.Symbol, ...]:
        """The multipliers lambda_k."""
        return at_node(self.variables.lam, 0)

    def displaced(self, expr: Any, node: int, i: int) -> Any:
        """The derivative of an expression by the displacement number i of q_k+node."""
        K = self.variables.tangent[:, i]
        onto = dict(zip(self.variables.q, self.q(node), strict=True))
        return sp.Add(
            *(
                derivative(expr, x) * slope.xreplace(onto)
                for x, slope in zip(self.q(node), K, strict=True)
                if slope != 0
            )
        )

    def earlier(self, expr: Any, steps: int) -> Any:
        """The same so many steps before: t_k - h for t_k, q_k-1 for q_k, and so on."""
        pairs: list[tuple[Any, Any]] = [(self.t, self.t - steps * self.h)]
        for i in range(self.order + 1):
            pairs += zip(self.q(i), self.q(i - steps), strict=True)
        pairs += zip(self.lam, at_node(self.variables.lam, -steps), strict=True)
        return sp.sympify(expr).xreplace(dict(pairs))

    def read(self, f: Callable[..., Any], *arguments: tuple[Any, ...]) -> Any:
        """f(params, t, h, points, *arguments) of the step from q_k on symbols."""
        x = self.variables

        def at(t: Any, h: Any, points: Any, numbers: Any, *rest: Any) -> Any:
            return f(x.params_from(numbers), t, h, points, *rest)

        numbers = array(tuple(x.numbers))
        return translate(at, self.t, self.h, self.points, numbers, *map(array, arguments))


def letters_of(system: Any) -> StepLetters:
    """The letters of a step, those of what it moves: with entropies behind the coordinates."""
    entropies = system.frame.names if system.entropic else ()
    names = (*system.names, *map(word_of, entropies))
    variables = Variables(names, system.multipliers, system.params, system.step_space)
    return StepLetters(variables, system.order)


def at_node(symbols: tuple[sp.Symbol, ...], i: int) -> tuple[sp.Symbol, ...]:
    """The symbols x_k+i of symbols x."""
    where = f"k{i:+d}" if i else "k"
    return tuple(sp.Symbol(f"{x.name}_{where}", real=True) for x in symbols)


def onto_letter(onto: dict[Any, Any]) -> Callable[[Any], Any]:
    """The function that replaces symbols and leaves numbers as they are."""
    return lambda x: onto.get(x, x)


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
        return "discrete entropy balance" if self.system.entropic else "discrete constraints"

    @cached_property
    def letters(self) -> StepLetters:
        """The symbols of the step."""
        return letters_of(self.system)

    @property
    def dim(self) -> int:
        """How many displacements a configuration has; entropies are not displaced."""
        return self.system.space.dim

    def nothing(self) -> tuple[Any, ...]:
        """A covector of zeros."""
        return (sp.Integer(0),) * self.dim


@dataclass(frozen=True)
class DiscreteEquations(Readable):
    """The discrete Lagrangian of a step from (t_k, q_k) to (t_k + h, q_k+1) and what follows from
    it (Marsden and West 2001; Bonich, eq 2.4; Colombo-Gamonal, eq 11).

        D2 Ld(q_k-1, q_k) + Fd^+(q_k-1, q_k)
            + D1 Ld(q_k, q_k+1) + Fd^-(q_k, q_k+1) + h A^T lam_k = 0

    Of order r the step has r + 1 configurations, and the equations are the sum over the r + 1 steps
    that have q_k among them (Vakonomic thesis, section 8.3).
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
        return self.simplifier(expr, variables, search=False)

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
        terms = [
            [
                letters.earlier(slope + force, node)
                for slope, force in zip(self.slope(node), self.inner_forces[node], strict=True)
            ]
            for node in range(r + 1)
        ]
        rows = [sp.Add(*row) for row in zip(*terms, reaction, strict=True)]
        nodes = [x for i in range(-r, r + 1) for x in letters.q(i)]
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

    @property
    def lam(self) -> tuple[sp.Symbol, ...]:
        """The multipliers lambda_k."""
        return tuple(map(self.for_reader, self.step.letters.lam))

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
        """The last configuration, q_k+1, as functions of those before it.

        Raises:
            ValueError: where the equations are not linear in it, where there are constraints or
                entropies, and on a group.
        """
        letters = self.step.letters
        after = letters.q(letters.order)
        if not self.step.system.space.flat:
            raise ValueError(
                f"{self.step.subject} lives on {self.step.system.space}: its equations are not"
                " solved for the entries of a matrix; `explicit` is for flat spaces."
            )
        if self.inner_closure:
            raise ValueError(
                "a constrained step is not solved in closed form: its equations are `equations` and"
                " `constraints`."
            )
        n, rows = len(after), sp.Matrix(self.inner_equations)
        K = sp.Matrix(n, n, lambda i, j: self.simplify(derivative(rows[i], after[j])))
        if K.has(*after):
            raise ValueError(
                f"{self.step.subject} is implicit: its equations are not linear in"
                f" q_k+{letters.order}."
            )
        rest = rows.xreplace(dict.fromkeys(after, sp.Integer(0)))
        return dict(
            zip(map(self.for_reader, after), self.simplified(tuple(K.LUsolve(-rest))), strict=True)
        )

    @property
    def sheet(self) -> Sheet:
        """What is printed: the discrete Lagrangian and the equations."""
        groups = (
            ("discrete Lagrangian", [equation(sp.Symbol("L_d"), self.Ld)]),
            ("discrete equations", self.equations),
            (self.step.closure_title, self.constraints),
        )
        return sheet_of(self.step.title, groups, self.complete)
