"""The equations of a control problem on W1 in letters: (7.3) to (7.13) of the Vakonomic thesis,
with the right signs and the equation that is missing there.

With a for the coordinates that are actuated, alpha for the others and A for all, and LM = C(q, q',
u) the cost on the motions of the system, q''_alpha = G_alpha(q, q', q''_a), u = U(q, q', q''_a):

    H = p0_A q'_A + p1_a q''_a + p1_alpha G_alpha - LM
    0 = dH/dq''_a:              p1_a = dLM/dq''_a - p1_alpha dG_alpha/dq''_a            (7.6)
    q''_alpha = G_alpha                                                                 (7.3)
    p0_A' = dLM/dq_A - p1_alpha dG_alpha/dq_A                                           (7.4)
    p1_A' = -p0_A + dLM/dq'_A - p1_alpha dG_alpha/dq'_A                          (7.5), (7.8)

(7.6) twice differentiated is an equation for q''''_a (7.7), which closes the system for q, q'_A,
q''_a, q'''_a, p0_alpha and p1_alpha (7.10 to 7.13) where (7.9) is regular.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import sympy as sp

from accion.checks import refuse
from accion.control import ways
from accion.control.actuation import Selected
from accion.control.elimination import elimination_of
from accion.spaces import Product
from accion.symbols.derivatives import derivative
from accion.symbols.higher import HigherOrderEquations
from accion.symbols.jax_to_sympy import translate
from accion.symbols.linear_algebra import UNSOLVED, solve
from accion.symbols.render import Readable, Sheet, equation, equations_of, sheet_of
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, array, distinct, symbols_like, word
from accion.systems import System

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem


@dataclass(frozen=True)
class ControlEquations(Readable):
    """The canonical equations of a `ControlProblem` whose controls act on coordinates, on a flat
    space (Vakonomic thesis, eqs 7.3 to 7.13, corrected).

    `H`, `controls` (U), `primary` (7.6), `accelerations` (7.3), `p0_rates` (7.4), `p1_rates` (7.5,
    7.8 and 7.12), `euler_lagrange` (7.7), `regularity` (7.9) and `explicit` (7.10) are expressions
    in the coordinates, the controls and the costates p_0_x, p_1_x as functions of time.
    """

    problem: "ControlProblem"
    simplify: Simplifier

    def __post_init__(self) -> None:
        space = self.problem.system.space
        if not space.flat or isinstance(space, Product):
            why = "they are written on Euclidean(n) and Torus(n) only"
            refuse("symbolic", f"control problems on {space}", why)
        if not isinstance(self.problem.B, Selected):
            why = "they are written in the coordinates that are actuated: give actuated=[...]"
            refuse("symbolic", "control problems with actuation=B", why)

    @property
    def system(self) -> System:
        """The system that is controlled."""
        return self.problem.system

    @cached_property
    def without_controls(self) -> HigherOrderEquations:
        """The equations of `problem.vakonomic()`, which have the letters."""
        return HigherOrderEquations(self.problem.vakonomic(), self.simplify)

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.simplify.complete

    # ------------------------------------------------------------ letters

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """The numbers of the coordinates that are."""
        assert isinstance(self.problem.B, Selected)  # by the constructor
        return self.problem.B.chosen

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The numbers of those that are not."""
        return tuple(i for i in range(self.system.space.dim) if i not in self.actuated)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The coordinates."""
        return self.without_controls.variables.words[: self.system.space.dim]

    @cached_property
    def levels(self) -> tuple[tuple[sp.Symbol, ...], ...]:
        """Inner symbols of q, q', ..., q''''."""
        rows = (self.without_controls.variables.q, *self.without_controls.levels)
        return tuple(row[: len(self.words)] for row in rows)

    @cached_property
    def costates(self) -> tuple[tuple[sp.Symbol, ...], ...]:
        """Inner symbols of p0 and p1."""
        return tuple(symbols_like(f"p_{s}_{name}" for name in self.words) for s in (0, 1))

    @cached_property
    def u(self) -> tuple[sp.Symbol, ...]:
        """Inner symbols of the controls."""
        taken = {"t", *self.words, *(s.name for level in self.costates for s in level)}
        names = [word(name.split("[")[0]) for name in self.problem.controls]
        return symbols_like(distinct(names, taken))

    def for_reader(self, expr: Any) -> Any:
        """An inner expression as it is printed."""
        letters = (*self.costates, self.u)
        p = {s: sp.Function(s.name)(TIME) for level in letters for s in level}
        return self.without_controls.for_reader(sp.sympify(expr).xreplace(p))

    def in_letters(self, f: Any) -> np.ndarray:
        """`f(system, t, q, jets)` of the vakonomic face in inner symbols."""
        x = self.without_controls.variables
        face = self.without_controls.system

        def at(t: Any, numbers: Any, q: Any, v: Any, a: Any) -> Any:
            return f(face.with_params(x.params_from(numbers)), t, q, jnp.stack([v, a]))

        return translate(at, x.t, array(tuple(x.numbers)), *map(array, self.levels[:3]))

    # ------------------------------------------------------------ on M

    @cached_property
    def inner_G(self) -> tuple[Any, ...]:
        """G_alpha, by the equations of the coordinates that are not actuated, linear in q''."""
        if not self.others:
            return ()
        Phi = [sp.sympify(e) for e in self.in_letters(lambda s, t, q, jets: s.Phi(t, q, jets))]
        top = [self.levels[2][i] for i in self.others]
        none = dict.fromkeys(top, sp.Integer(0))
        M = sp.Matrix(len(top), len(top), lambda i, j: derivative(Phi[i], top[j]))
        right = sp.Matrix([-e.xreplace(none) for e in Phi])
        try:
            G = solve(M, right)
        except UNSOLVED as error:
            raise ValueError(
                f"{self.problem.name} has no such equations: those of the coordinates without"
                " controls cannot be solved for their accelerations."
            ) from error
        return tuple(self.simplify.as_fraction(self.simplify(g)) for g in G)

    def on_motions(self, expr: Any) -> Any:
        """An expression with q''_alpha = G_alpha."""
        pairs = {self.levels[2][i]: g for i, g in zip(self.others, self.inner_G, strict=True)}
        return self.simplify(sp.sympify(expr).xreplace(pairs))

    @cached_property
    def inner_controls(self) -> tuple[Any, ...]:
        """The controls U(q, q', q''_a) on the motions of the system."""
        own = ways.ControlOf(elimination_of(self.problem))

        def u(face: Any, t: Any, q: Any, jets: Any) -> Any:
            return own(self.system.altered(params=face.params), t, q, jets[0], jets[1])

        velocities = (*self.levels[1], *self.levels[2])
        return tuple(self.simplify(self.on_motions(e), velocities) for e in self.in_letters(u))

    @cached_property
    def pairing(self) -> Any:
        """C(q, q', u) - p1_alpha G_alpha, whose derivatives are those of -H at constant costates
        where u is what q''_a says.
        """
        x, p1 = self.without_controls.variables, self.costates[1]

        def cost(t: Any, numbers: Any, q: Any, v: Any, u: Any) -> Any:
            return self.problem.cost(t, q, v, u, x.params_from(numbers))

        given = map(array, (tuple(x.numbers), *self.levels[:2], self.u))
        C = self.simplify(translate(cost, x.t, *given).item())
        return C - sp.Add(*(p1[i] * g for i, g in zip(self.others, self.inner_G, strict=True)))

    def slopes(self, symbols: Sequence[Any], of: Any = None) -> tuple[Any, ...]:
        """The derivatives of `pairing`, or of another expression, by symbols that controls depend
        on, too.
        """
        of = self.pairing if of is None else of
        by_u = [derivative(of, u) for u in self.u]
        return tuple(
            self.simplify(
                derivative(of, x)
                + sp.Add(
                    *(d * derivative(U, x) for d, U in zip(by_u, self.inner_controls, strict=True))
                )
            )
            for x in symbols
        )

    @cached_property
    def inner_primary(self) -> tuple[Any, ...]:
        return self.slopes([self.levels[2][a] for a in self.actuated])

    @cached_property
    def inner_p0_rates(self) -> tuple[Any, ...]:
        return self.slopes(self.levels[0])

    @cached_property
    def inner_p1_rates(self) -> tuple[Any, ...]:
        slopes = self.slopes(self.levels[1])
        return tuple(d - p for d, p in zip(slopes, self.costates[0], strict=True))

    def rate(self, expr: Any) -> Any:
        """d/dt along a motion, without the part of q''''_a."""
        q, v, a, jerk, _ = self.levels
        top = [a[i] for i in range(len(q))]
        for i, g in zip(self.others, self.inner_G, strict=True):
            top[i] = g
        moved = [*zip(q, v, strict=True), *zip(v, top, strict=True)]
        moved += [(a[i], jerk[i]) for i in self.actuated]
        for level, rates in zip(
            self.costates, (self.inner_p0_rates, self.inner_p1_rates), strict=True
        ):
            moved += [(level[i], rates[i]) for i in self.others]
        if sp.sympify(expr).has(*self.u):
            moved += [(u, self.rate(U)) for u, U in zip(self.u, self.inner_controls, strict=True)]
        total = derivative(expr, self.without_controls.variables.t)
        return total + sp.Add(*(derivative(expr, x) * dx for x, dx in moved))

    @cached_property
    def inner_rest(self) -> tuple[Any, ...]:
        """What (7.7) has besides R q''''_a: d2/dt2 dLM/dq''_a - d/dt dLM/dq'_a + dLM/dq_a, LM with
        the terms of p1_alpha.
        """
        found = []
        for a, first in zip(self.actuated, self.inner_primary, strict=True):
            second = self.inner_p1_rates[a] + self.costates[0][a]
            found.append(self.rate(self.rate(first)) - self.rate(second) + self.inner_p0_rates[a])
        return tuple(map(self.simplify, found))

    @cached_property
    def inner_regularity(self) -> Any:
        top = [self.levels[2][a] for a in self.actuated]
        return sp.Matrix([self.slopes(top, of) for of in self.inner_primary])

    # ------------------------------------------------------------ for the reader

    @cached_property
    def H(self) -> Any:
        """The Hamiltonian on W0, in p0, p1, q''_a and u, which `controls` says."""
        p0, p1 = self.costates
        _, v, a, *_ = self.levels
        terms = [x * y for x, y in zip(p0, v, strict=True)]
        terms += [p1[i] * a[i] for i in self.actuated]
        return self.for_reader(sp.Add(*terms) - self.pairing)

    @cached_property
    def controls(self) -> tuple[Any, ...]:
        """The controls in q, q' and q''_a."""
        return tuple(map(self.for_reader, self.inner_controls))

    @cached_property
    def primary(self) -> tuple[Any, ...]:
        """p1_a on W1 (7.6)."""
        return tuple(map(self.for_reader, self.inner_primary))

    @cached_property
    def accelerations(self) -> tuple[Any, ...]:
        """q''_alpha (7.3, 7.11)."""
        return tuple(map(self.for_reader, self.inner_G))

    @cached_property
    def p0_rates(self) -> tuple[Any, ...]:
        """p0_A' (7.4); of alpha it belongs to (7.10) to (7.13), which are printed without it."""
        return tuple(map(self.for_reader, self.inner_p0_rates))

    @cached_property
    def p1_rates(self) -> tuple[Any, ...]:
        """p1_A' (7.5), of alpha (7.8) and (7.12)."""
        return tuple(map(self.for_reader, self.inner_p1_rates))

    @cached_property
    def regularity(self) -> Any:
        """The r x r matrix d2LM/dq''_a dq''_b - p1_alpha d2G_alpha/dq''_a dq''_b (7.9): (W1, Omega)
        is symplectic where it is regular.
        """
        return self.for_reader(self.inner_regularity)

    @cached_property
    def euler_lagrange(self) -> tuple[Any, ...]:
        """(7.7): what is zero, with R q''''_a in it."""
        top = sp.Matrix([self.levels[4][a] for a in self.actuated])
        highest = self.inner_regularity * top
        return tuple(
            self.for_reader(x + rest) for x, rest in zip(highest, self.inner_rest, strict=True)
        )

    @cached_property
    def explicit(self) -> tuple[Any, ...]:
        """q''''_a (7.10), where `regularity` is."""
        right = -sp.Matrix(self.inner_rest)
        try:
            found = solve(self.inner_regularity, right)
        except UNSOLVED as error:
            raise ValueError(
                f"{self.problem.name} has no explicit equations: (7.9) is singular."
            ) from error
        return tuple(self.for_reader(self.simplify(z)) for z in found)

    @property
    def sheet(self) -> Sheet:
        """What is printed, with the numbers of the Vakonomic thesis."""
        p0, p1 = ([self.for_reader(p) for p in level] for level in self.costates)
        q = [self.for_reader(x) for x in self.levels[0]]
        own, rest = self.actuated, self.others
        u = [self.for_reader(each) for each in self.u]
        R = sp.MatrixSymbol("R", len(own), len(own))
        fourth = [q[a].diff(TIME, 4) for a in own]
        groups = (
            ("Hamiltonian", [equation(sp.Symbol("H"), self.H)]),
            ("controls", equations_of(u, self.controls)),
            (
                "motion without controls (7.3, 7.11)",
                equations_of([q[i].diff(TIME, 2) for i in rest], self.accelerations),
            ),
            ("costates (7.4, 7.13)", equations_of([p.diff(TIME) for p in p0], self.p0_rates)),
            ("costates (7.5, 7.8, 7.12)", equations_of([p.diff(TIME) for p in p1], self.p1_rates)),
            ("W1 (7.6)", equations_of([p1[a] for a in own], self.primary)),
            ("regularity (7.9)", [equation(R, self.regularity)]),
            ("motion on W1 (7.7, 7.10)", equations_of(fourth, self.explicit)),
        )
        return sheet_of(self.problem.name, groups, self.complete)
