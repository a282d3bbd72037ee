"""The discrete equations of a method, with its formulas written out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from accion.discretise.step import action, gradient, work
from accion.symbols.calculus import derivative
from accion.symbols.render import Readable, Sheet
from accion.symbols.translate import translate
from accion.symbols.variables import array


@dataclass(frozen=True)
class DiscreteEquations(Readable):
    """The discrete Lagrangian of a step from (t_k, q_k) to (t_k + h, q_k+1) and what follows from
    it (001 eq 2.4; 002 eq 11).

    D2 Ld(q_k-1, q_k) + Fd^+(q_k-1, q_k) + D1 Ld(q_k, q_k+1) + Fd^-(q_k, q_k+1) + h A^T lam_k = 0
    """

    equations_of: Any
    method: Any

    @property
    def words(self):
        return self.equations_of.variables.words

    @cached_property
    def inner(self):
        """Real symbols for t_k, h, q_k-1, q_k, q_k+1, lam_k."""

        def real(names):
            return tuple(sp.Symbol(name, real=True) for name in names)

        before, here, after = (
            real([f"{name}_{k}" for name in self.words]) for k in ("k-1", "k", "k+1")
        )
        lam = real([f"{name}_k" for name in self.equations_of.variables.lam_words])
        return sp.Symbol("t_k", real=True), sp.Symbol("h", positive=True), before, here, after, lam

    def show(self, expr):
        """Inner symbols become plain ones."""
        expr = sp.sympify(expr)
        return expr.xreplace({s: sp.Symbol(s.name) for s in expr.free_symbols})

    def read(self, f, *arguments):
        """f(system, t, h, q0, x, *arguments) on symbols."""
        variables, system = self.equations_of.variables, self.equations_of.system
        t, h, _, here, after, _ = self.inner

        def at(t, h, q0, q1, numbers, *rest):
            moved = system.with_params(variables.params_from(numbers))
            return f(moved, t, h, moved.space.retract(moved.space.identity(), q0), q1 - q0, *rest)

        return translate(
            at,
            t,
            h,
            array(here),
            array(after),
            array(tuple(variables.numbers)),
            *map(array, arguments),
        )

    def tidy(self, expr, variables=()):
        return self.equations_of.tidy(expr, variables, search=False)

    @cached_property
    def inner_lam(self):
        """The multipliers that enter the action: those of a vakonomic system."""
        return (self.inner[-1],) if self.equations_of.system.enters_action else ()

    @cached_property
    def inner_Ld(self):
        zero = np.zeros(len(self.words))
        return self.read(
            lambda s, t, h, q0, x, *lam: action(s, self.method, t, h, q0, x, zero, zero, *lam),
            *self.inner_lam,
        ).item()

    @cached_property
    def inner_forces(self):
        n = len(self.words)
        if self.equations_of.system.force is None:
            return (sp.Integer(0),) * n, (sp.Integer(0),) * n
        minus, plus = self.read(lambda s, t, h, q0, x: gradient(work, s, self.method, t, h, q0, x))
        return tuple(minus), tuple(plus)

    def earlier(self, expr):
        """The same of the step before."""
        t, h, before, here, after, lam = self.inner
        back = (
            {t: t - h} | dict(zip(here, before, strict=True)) | dict(zip(after, here, strict=True))
        )
        back |= {s: sp.Symbol(s.name.removesuffix("_k") + "_k-1", real=True) for s in lam}
        return sp.sympify(expr).xreplace(back)

    @cached_property
    def Ld(self):
        """Ld(q_k, q_k+1) = h sum_i w_i L(t_i, q_i, v_i)."""
        return self.show(self.tidy(self.inner_Ld))

    @cached_property
    def D1(self):
        return tuple(self.show(self.tidy(derivative(self.inner_Ld, x))) for x in self.inner[3])

    @cached_property
    def D2(self):
        return tuple(self.show(self.tidy(derivative(self.inner_Ld, x))) for x in self.inner[4])

    @cached_property
    def force_minus(self):
        return tuple(self.show(self.tidy(f)) for f in self.inner_forces[0])

    @cached_property
    def force_plus(self):
        return tuple(self.show(self.tidy(f)) for f in self.inner_forces[1])

    @cached_property
    def inner_reaction(self):
        """h A(t_k, q_k)^T lam_k; an A that depends on v takes the mean of the velocities before and
        after, as the step does.
        """
        of, (t, h, before, here, after, lam) = self.equations_of, self.inner
        x = of.variables
        v = [(b - a) / (2 * h) for a, b in zip(before, after, strict=True)]
        at = {x.t: t} | dict(zip((*x.q, *x.v, *x.lam), (*here, *v, *lam), strict=True))
        return tuple(h * r.xreplace(at) for r in of.inner_reaction)

    @cached_property
    def inner_equations(self):
        _, _, before, here, after, lam = self.inner
        minus, plus = self.inner_forces
        rows = []
        for i, x in enumerate(here):
            end = derivative(self.inner_Ld, after[i]) + plus[i]
            start = derivative(self.inner_Ld, x) + minus[i]
            rows.append(
                self.tidy(
                    self.earlier(end) + start + self.inner_reaction[i],
                    (*before, *here, *after, *lam),
                )
            )
        return tuple(rows)

    @cached_property
    def equations(self) -> Any:
        """The discrete Euler-Lagrange equations at q_k."""
        return tuple(sp.Eq(self.show(row), 0, evaluate=False) for row in self.inner_equations)

    @cached_property
    def constraints(self) -> Any:
        """The discrete constraints of the step from q_k to q_k+1."""
        constraint = self.equations_of.system.constraint
        if constraint is None:
            return ()

        def closure(s, t, h, q0, x):
            samples = self.method.samples(s.space, t, h, q0, x)
            return constraint.closure(s, samples, t + h, s.space.retract(q0, x))

        return tuple(sp.Eq(self.show(self.tidy(c)), 0, evaluate=False) for c in self.read(closure))

    @cached_property
    def explicit(self):
        """q_k+1 as functions of q_k-1 and q_k, where the equations are linear in it."""
        *_, after, _ = self.inner
        if self.equations_of.system.constraint is not None:
            raise ValueError(
                "a constrained step is not solved in closed form: its equations are `equations` and"
                " `constraints`."
            )
        rows = sp.Matrix(self.inner_equations)
        K = sp.Matrix(len(after), len(after), lambda i, j: self.tidy(derivative(rows[i], after[j])))
        if K.has(*after):
            raise ValueError(
                f"{self.method} on {self.equations_of.system.name} is implicit: its equations are"
                " not linear in q_k+1."
            )
        rest = rows.xreplace(dict.fromkeys(after, sp.Integer(0)))
        return dict(
            zip(
                (self.show(x) for x in after),
                (self.show(self.tidy(x)) for x in K.LUsolve(-rest)),
                strict=True,
            )
        )

    @property
    def sheet(self):
        groups = [
            ("discrete Lagrangian", [sp.Eq(sp.Symbol("L_d"), self.Ld, evaluate=False)]),
            ("discrete equations", list(self.equations)),
        ]
        if self.constraints:
            groups.append(("discrete constraints", list(self.constraints)))
        return Sheet(
            f"{self.equations_of.system.name}, {self.method}",
            tuple(groups),
            self.equations_of.complete,
        )
