"""The equations of the constraint algorithm of a control problem, written out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import sympy as sp

from accion.control.hamiltonian import Hamiltonian
from accion.errors import Untranslatable
from accion.symbols.derivatives import derivative
from accion.symbols.jax_to_sympy import translate
from accion.symbols.linear_algebra import UNSOLVED, Undecided, solve
from accion.symbols.render import equation
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME, Variables, array, distinct, symbols_like, word

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem


class Letters:
    """The letters of (t, q, v, p0, p1, u), with H and the rates of all but u in them."""

    def __init__(self, problem: "ControlProblem", simplify: Simplifier) -> None:
        system, self.simplify = problem.system, simplify
        x = Variables(system.names, 0, system.params, system.space)
        self.x, own = x, Hamiltonian(problem.cost, problem.law)
        self.p0, self.p1 = (symbols_like(f"p_{s}_{name}" for name in x.words) for s in (0, 1))
        taken = {"t", *x.words, *(s.name for s in (*x.q, *self.p0, *self.p1, *x.numbers))}
        self.u = symbols_like(
            distinct([word(name.split("[")[0]) for name in problem.controls], taken)
        )

        def both(t: Any, q: Any, v: Any, u: Any, numbers: Any) -> Any:
            held = system.with_params(x.params_from(numbers))
            cost = problem.cost(t, q, v, u, held.params)
            return jnp.append(own.acceleration(held, t, q, v, u), cost)

        given = (x.t, x.configuration, array(x.v), array(self.u), array(tuple(x.numbers)))
        *self.a, C = (self.simplify(sp.sympify(e)) for e in translate(both, *given))
        pairs = [*zip(self.p0, x.v, strict=True), *zip(self.p1, self.a, strict=True)]
        self.H = sp.Add(*(p * rate for p, rate in pairs)) - C
        turned = x.coad(x.v, self.p0)
        self.pushes = [turned[i] - x.displaced(self.H, i) for i in range(len(x.v))]

    def rate(self, e: Any) -> Any:
        """d/dt of an expression with the controls as they are."""
        x = self.x
        moved = [*zip(x.v, self.a, strict=True), *zip(self.p0, self.pushes, strict=True)]
        moved += [(p, -derivative(self.H, v)) for p, v in zip(self.p1, x.v, strict=True)]
        along = [x.displaced(e, i) * v for i, v in enumerate(x.v)]
        return derivative(e, x.t) + sp.Add(*along, *(derivative(e, z) * dz for z, dz in moved))

    def next_level(self, g: Sequence[Any], cut: Any) -> list[Any]:
        """The equations of a cut of `g` = 0."""
        b: Any = sp.Matrix([self.rate(e) for e in g])
        G: Any = sp.Matrix(len(g), len(self.u), lambda i, j: derivative(g[i], self.u[j]))
        R, C = (list(i) for i in cut.pivots)
        rows = list(cut.rows)
        new = b.extract(rows, [0])
        if R:
            new -= G.extract(rows, C) * solve(G.extract(R, C), b.extract(R, [0]))
        return [self.reduced(e) for e in new]

    def reduced(self, e: Any) -> Any:
        """An equation, simplified."""
        return self.simplify(self.simplify.as_fraction(e), (*self.p0, *self.p1, *self.u, *self.x.v))

    def for_reader(self, e: Any) -> Any:
        """An equation as it is printed, in functions of time."""
        own = (*self.p0, *self.p1, *self.u)
        return self.x.for_reader(
            sp.sympify(e).xreplace({s: sp.Function(s.name)(TIME) for s in own})
        )


def control_levels(
    problem: "ControlProblem", cuts: Sequence[Any], seconds: float
) -> tuple[list[Any], Any, str | None]:
    """The equations of each W_k and det d2H/du2, where it is regular W1 is symplectic (Vakonomic
    thesis, Prop 7.1.2); or None for each, and why they cannot be had.
    """
    try:
        letters = Letters(problem, Simplifier(seconds))
        g = [letters.reduced(derivative(letters.H, u)) for u in letters.u]
        found = [(), tuple(g)]
        for cut in cuts:
            new = letters.next_level(g, cut)
            g = g + new
            found.append(tuple(new))
        bend = sp.Matrix([[derivative(letters.H, u, w) for w in letters.u] for u in letters.u]).det(
            method="berkowitz"
        )
        written = [tuple(equation(letters.for_reader(e), 0) for e in level) for level in found]
        return written, letters.for_reader(letters.reduced(bend)), None
    except (Untranslatable, Undecided, *UNSOLVED) as error:
        return [None] * (len(cuts) + 2), None, str(error)
