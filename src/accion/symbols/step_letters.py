"""The letters of a step: its configurations, and on groups the velocities of steps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp

from accion.spaces import Group
from accion.symbols.derivatives import derivative
from accion.symbols.jax_to_sympy import translate
from accion.symbols.variables import Variables, array, symbols_like
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

    def velocities(self, i: int) -> tuple[sp.Symbol, ...]:
        """The velocities xi_k+i of the steps on groups, g_k+1 = g_k tau(h xi_k)."""
        x = self.variables
        moving = [w for w, moves in zip(x.words, x.moving, strict=True) if moves]
        return at_node(symbols_like(moving), i)

    def increment(self, i: int) -> tuple[Any, ...]:
        """The increment from q_k+i to q_k+i+1: their difference, on a group h xi_k+i."""
        turned = iter(self.velocities(i))
        onto = [dict(zip(self.variables.q, self.q(j), strict=True)) for j in (i, i + 1)]
        found: list[Any] = []
        for part, (space, first, end) in zip(
            self.variables.parts, self.variables.factors, strict=True
        ):
            if isinstance(space, Group):
                found += [self.h * next(turned) for _ in range(first, end)]
            else:
                found += [onto[1][x] - onto[0][x] for x in part]
        return tuple(found)

    def displaced(self, expr: Any, node: int, i: int) -> Any:
        """The derivative of an expression by the displacement number i of q_k+node; the velocities
        of the steps on a group that end there or begin there move, too.
        """
        K = self.variables.tangent[:, i]
        onto = dict(zip(self.variables.q, self.q(node), strict=True))
        terms = [
            derivative(expr, x) * slope.xreplace(onto)
            for x, slope in zip(self.q(node), K, strict=True)
            if slope != 0
        ]
        for step in (node - 1, node):
            own = self.velocities(step)
            if not 0 <= step < self.order or not expr.has(*own):
                continue
            later = dict(zip(self.velocities(0), own, strict=True))
            for xi, moved in zip(own, self.turned[node - step][:, i], strict=True):
                terms.append(derivative(expr, xi) * sp.sympify(moved).xreplace(later) / self.h)
        return sp.Add(*terms)

    @cached_property
    def turned(self) -> tuple[np.ndarray, ...]:
        """How the increment h xi_k on groups changes with displacements of q_k and of q_k+1:
        -dtau^-1(-h xi_k) and dtau^-1(h xi_k), with a column for each displacement.
        """
        space: Any = self.variables.space
        moving = np.array(self.variables.moving)

        def change(x: Any) -> Any:
            zero = jnp.zeros(space.dim)
            slopes = jax.jacfwd(lambda *ends: space.relative(x, *ends), (0, 1))
            return tuple(J[moving] for J in slopes(zero, zero))

        return translate(change, array(self.increment(0)))

    def earlier(self, expr: Any, steps: int) -> Any:
        """The same so many steps before: t_k - h for t_k, q_k-1 for q_k, and so on."""
        pairs: list[tuple[Any, Any]] = [(self.t, self.t - steps * self.h)]
        for i in range(self.order + 1):
            pairs += zip(self.q(i), self.q(i - steps), strict=True)
            pairs += zip(self.velocities(i), self.velocities(i - steps), strict=True)
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
    """The letters of a step, those of what it moves: with entropies, or an action, behind the
    coordinates.
    """
    beside = system.frame.names if system.beside else ()
    names = (*system.names, *map(word_of, beside))
    variables = Variables(names, system.multipliers, system.params, system.step_space)
    return StepLetters(variables, system.order)


def at_node(symbols: tuple[sp.Symbol, ...], i: int) -> tuple[sp.Symbol, ...]:
    """The symbols x_k+i of symbols x."""
    where = f"k{i:+d}" if i else "k"
    return tuple(sp.Symbol(f"{x.name}_{where}", real=True) for x in symbols)


def onto_letter(onto: dict[Any, Any]) -> Callable[[Any], Any]:
    """The function that replaces symbols and leaves numbers as they are."""
    return lambda x: onto.get(x, x)
