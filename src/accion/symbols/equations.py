"""The equations of a system as a person would write them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from accion.symbols.calculus import derivative
from accion.symbols.forms import Form
from accion.symbols.legendre import inverse
from accion.symbols.linear import Undecided, solve
from accion.symbols.modified import ModifiedEquations, modified
from accion.symbols.render import Readable, Sheet
from accion.symbols.sampled import DiscreteEquations
from accion.symbols.tidy import Tidy
from accion.symbols.translate import translate
from accion.symbols.variables import TIME, Variables, array
from accion.systems import System


@dataclass(frozen=True)
class Equations(Readable):
    """What follows from a Lagrangian, as SymPy expressions in functions of time.

        d/dt dL/dv - dL/dq = F + A^T lam

    Coordinates are functions x(t) named after `System.coordinates`, parameters are symbols with
    their own names, multipliers are lambda(t) or lambda_1(t), ... Everything is computed when it is
    first asked for. `complete` is False once the limit of time for simplification was met:
    expressions are then right but longer than they need be.

    References: 003 eq 15, 21, 25, 37, 47, 49; 004 Prop 4.1.2.
    """

    system: System
    tidy: Tidy

    # The inside: real symbols.

    @cached_property
    def variables(self):
        return Variables(
            self.system.names, self.system.multipliers, self.system.params, self.system.space
        )

    def read(self, f, *arguments):
        """f(system, t, q, v, *arguments) on symbols, as an array of inner expressions."""
        x = self.variables

        def at(t, q, v, numbers, *rest):
            return f(self.system.with_params(x.params_from(numbers)), t, q, v, *rest)

        return translate(
            at, x.t, x.configuration, array(x.v), array(tuple(x.numbers)), *map(array, arguments)
        )

    @cached_property
    def inner_L(self):
        x = self.variables
        return self.tidy(self.read(System.L).item(), x.v)

    @cached_property
    def inner_force(self):
        n = len(self.variables.v)
        if self.system.force is None:
            return (sp.Integer(0),) * n
        return tuple(self.tidy(f, self.variables.v) for f in self.read(System.F))

    @cached_property
    def inner_constraints(self):
        """The constraints as they were written."""
        constraint = self.system.constraint
        return (
            () if constraint is None else tuple(self.tidy(c) for c in self.read(constraint.value))
        )

    @cached_property
    def inner_reaction(self):
        """A^T lam."""
        constraint, x = self.system.constraint, self.variables
        if constraint is None:
            return (sp.Integer(0),) * len(x.v)
        return tuple(self.tidy(r, (*x.lam, *x.v)) for r in self.read(constraint.reaction, x.lam))

    @cached_property
    def inner_total(self):
        """L, for a vakonomic system L + lam.Phi."""
        if not self.system.enters_action:
            return self.inner_L
        return self.inner_L + sp.Add(
            *(lam * c for lam, c in zip(self.variables.lam, self.inner_constraints, strict=True))
        )

    @cached_property
    def inner_p(self):
        x = self.variables
        return tuple(self.tidy(derivative(self.inner_total, v), (*x.v, *x.lam)) for v in x.v)

    @cached_property
    def inner_operator(self):
        x = self.variables
        turned = x.coad(x.v, self.inner_p)
        rows = (
            x.rate(p) - turned[i] - x.displaced(self.inner_total, i)
            for i, p in enumerate(self.inner_p)
        )
        return tuple(self.tidy(row, (*x.a, *x.dlam, *x.v, *x.lam)) for row in rows)

    @cached_property
    def inner_energy(self):
        x = self.variables
        return self.tidy(
            sp.Add(*(p * v for p, v in zip(self.inner_p, x.v, strict=True))) - self.inner_total, x.v
        )

    @cached_property
    def inner_hidden(self):
        """What the constraints say about the velocities."""
        constraint = self.system.constraint
        return (
            ()
            if constraint is None
            else tuple(self.tidy(c, self.variables.v) for c in self.read(constraint.on_velocities))
        )

    @cached_property
    def inner_solution(self):
        """(a, lam), for a vakonomic system (a, lam'): M a + B lam = r, C a = s, linear in them."""
        x, n = self.variables, len(self.variables.v)
        unknowns = (*x.a, *(x.dlam if self.system.enters_action else x.lam))
        rows = [
            el - f - r
            for el, f, r in zip(
                self.inner_operator, self.inner_force, self.inner_reaction, strict=True
            )
        ]
        rows += [x.rate(c) for c in self.inner_hidden]
        K = sp.Matrix(
            len(rows), len(unknowns), lambda i, j: self.tidy(derivative(rows[i], unknowns[j]))
        )
        r = -sp.Matrix(rows).xreplace(dict.fromkeys(unknowns, sp.Integer(0)))
        try:
            return tuple(map(self.tidy.solved, bordered(K, r, n, self.tidy)))
        except (Undecided, ValueError, ZeroDivisionError) as error:
            words = (
                "the matrix of accelerations and multipliers is singular"
                if x.m
                else "d2L/dv2 is singular"
            )
            raise ValueError(
                f"the equations of {self.system.name} cannot be solved for the accelerations:"
                f" {words}."
            ) from error

    # The outside.

    def show(self, expr) -> Any:
        if isinstance(expr, tuple):
            return tuple(self.variables.show(sp.sympify(e)) for e in expr)
        return self.variables.show(sp.sympify(expr))

    @property
    def complete(self):
        return self.tidy.complete

    @property
    def t(self):
        return TIME

    @cached_property
    def q(self):
        """The coordinates, functions of time; on a group the entries of its matrix."""
        return self.show(self.variables.q)

    @cached_property
    def v(self):
        """Their derivatives; on a group the components of the body's velocity."""
        return self.show(self.variables.v)

    @cached_property
    def lam(self):
        """The multipliers, functions of time."""
        return self.show(self.variables.lam)

    @cached_property
    def values(self):
        """{symbol: number} of the parameters."""
        return self.variables.values()

    @cached_property
    def L(self):
        return self.show(self.inner_L)

    @cached_property
    def force(self):
        """The force F, one component for each coordinate."""
        return self.show(self.inner_force)

    @cached_property
    def constraints(self):
        """phi = 0, kappa = 0 or Phi = 0, in the order of the multipliers."""
        return tuple(equation(c, 0) for c in self.show(self.inner_constraints))

    @cached_property
    def momenta(self):
        """p = dL/dv; of L + lam.Phi for a vakonomic system."""
        return self.show(self.inner_p)

    @cached_property
    def energy(self):
        """E = p.v - L (003 eq 37)."""
        return self.show(self.inner_energy)

    @cached_property
    def mass_matrix(self):
        """d2L/dv2."""
        x = self.variables
        return self.show(
            sp.Matrix(
                len(x.v), len(x.v), lambda i, j: self.tidy(derivative(self.inner_p[i], x.v[j]))
            )
        )

    @cached_property
    def euler_lagrange(self):
        """The Euler-Lagrange operator d/dt dL/dv - dL/dq, without forces; of L + lam.Phi for a
        vakonomic system.
        """
        return self.show(self.inner_operator)

    @cached_property
    def equations(self):
        """d/dt dL/dv - dL/dq = F + A^T lam, one for each coordinate."""
        right = [f + r for f, r in zip(self.inner_force, self.inner_reaction, strict=True)]
        return tuple(
            equation(el, r)
            for el, r in zip(self.euler_lagrange, self.show(tuple(right)), strict=True)
        )

    @cached_property
    def accelerations(self):
        """The derivatives of the velocities, solved for; the constraints differentiated and the
        multipliers eliminated.
        """
        return self.show(self.inner_solution[: len(self.variables.v)])

    @cached_property
    def multipliers(self):
        """The constraint forces lam as functions of the state; for a vakonomic system their rates
        lam'.
        """
        return self.show(self.inner_solution[len(self.variables.v) :])

    @cached_property
    def cyclic(self):
        """{coordinate: conserved momentum} of the coordinates that neither L nor a force nor a
        constraint sees (003 eq 36).
        """
        x = self.variables
        found = {}
        for i, (name, moving) in enumerate(zip(x.words, x.moving, strict=True)):
            # A group has no coordinates to be cyclic.
            q = sp.Symbol(name, real=True)
            if (
                not moving
                and not self.inner_total.has(q)
                and self.inner_force[i] == 0
                and self.inner_reaction[i] == 0
            ):
                found[self.show(q)] = self.momenta[i]
        return found

    @cached_property
    def energy_rate(self):
        """dE/dt along the motion: -dL/dt + F.v and the power of a constraint that moves; without
        those, dE/dt = -dL/dt.
        """
        x = self.variables
        power = sp.Add(
            *(
                (f + r) * v
                for f, r, v in zip(self.inner_force, self.inner_reaction, x.v, strict=True)
            )
        )
        if not self.system.enters_action:
            # Zero on a motion; it takes the power of a constraint at rest away.
            power -= sp.Add(*(lam * c for lam, c in zip(x.lam, self.inner_hidden, strict=True)))
        return self.show(self.tidy(power - derivative(self.inner_total, x.t), x.v))

    @property
    def form_coordinates(self):
        """(q, v); of a vakonomic system (q, v, lam), on which L + lam.Phi and its forms live."""
        return (*self.q, *self.v, *(self.lam if self.system.enters_action else ()))

    @cached_property
    def theta_L(self):
        """The one-form dL/dv dq on TQ of a flat space; of a vakonomic system that of L + lam.Phi,
        with lam as further coordinates.
        """
        self.flat_only("theta_L")
        return Form(1, self.form_coordinates, {(i,): p for i, p in enumerate(self.momenta)})

    @cached_property
    def Omega_L(self):
        """The two-form -d theta_L = dq ^ d(dL/dv) on TQ of a flat space (004 section 2.2.4, with
        the right sign).

        Of a vakonomic system it is that of L + lam.Phi, with terms dq ^ dlam: closed on (q, v,
        lam), and symplectic on Phi = 0 where d2L/dv2 bordered by dPhi/dv is regular.
        """
        self.flat_only("Omega_L")
        x, p, n = self.variables, self.inner_p, len(self.variables.q)
        beside = (*x.v, *(x.lam if self.system.enters_action else ()))
        terms = {
            (i, j): self.tidy(derivative(p[i], x.q[j]) - derivative(p[j], x.q[i]))
            for i in range(n)
            for j in range(i + 1, n)
        }
        terms |= {
            (i, n + j): self.tidy(derivative(p[i], y))
            for i in range(n)
            for j, y in enumerate(beside)
        }
        return Form(
            2, self.form_coordinates, {index: self.show(c) for index, c in terms.items() if c != 0}
        )

    @cached_property
    def inner_inverse(self):
        """(v, lam) as functions of (t, q, p), lam of a vakonomic system only: the inverse Legendre
        transform.
        """
        return inverse(self)

    @property
    def inner_velocities(self):
        return self.inner_inverse[: len(self.variables.v)]

    @cached_property
    def inner_hamiltonian(self):
        x = self.variables
        at = dict(zip((*x.v, *x.lam), self.inner_inverse, strict=False))
        return self.tidy(self.inner_energy.xreplace(at), x.p)

    @cached_property
    def hamiltonian(self):
        """H(t, q, p) = p.v - L, in momenta p_x(t); of a vakonomic system with (v, lam) from p = d(L
        + lam.Phi)/dv and Phi = 0.
        """
        return self.show(self.inner_hamiltonian)

    @cached_property
    def hamilton(self):
        """Hamilton's equations q' = dH/dp, p' = -dH/dq + F + A^T lam; on a group g' = g hat(dH/dp),
        with ad*_(dH/dp) p in addition.
        """
        x, H = self.variables, self.inner_hamiltonian
        at = dict(zip(x.v, self.inner_velocities, strict=True))
        forces = [
            (f + r).xreplace(at) for f, r in zip(self.inner_force, self.inner_reaction, strict=True)
        ]
        slopes = sp.Matrix([derivative(H, p) for p in x.p])
        turned = x.coad(slopes, x.p)
        q = [
            (dq, self.tidy(right, x.p))
            for dq, right in zip(self.q, x.tangent * slopes, strict=True)
        ]
        p = [
            (self.show(p), self.tidy(f - x.displaced(H, i) + turned[i], x.p))
            for i, (p, f) in enumerate(zip(x.p, forces, strict=True))
        ]
        return tuple(equation(left.diff(TIME), self.show(right)) for left, right in q + p)

    def flat_only(self, what):
        if not self.system.space.flat:
            raise ValueError(
                f"{what} is written on flat spaces only (Euclidean, Torus or a Product of them);"
                f" got {self.system.space}."
            )

    @cached_property
    def kinematics(self):
        """g' = g hat(xi) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        x = self.variables
        rates = {
            q: rate
            for q, rate in zip(x.q, x.tangent * sp.Matrix(x.v), strict=True)
            if q.name not in x.words
        }
        needed = set().union(
            *(
                e.free_symbols
                for e in (
                    *self.inner_operator,
                    *self.inner_force,
                    *self.inner_reaction,
                    *self.inner_constraints,
                )
            )
        )
        while more := set().union(*(rates[q].free_symbols for q in needed & set(rates))) - needed:
            needed |= more
        return tuple(
            equation(self.show(q).diff(TIME), self.show(rate))
            for q, rate in rates.items()
            if q in needed
        )

    def discrete(self, method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-1, q_k, q_k+1."""
        self.flat_only("discrete")
        return DiscreteEquations(self, method)

    def modified(self, method, order=2) -> ModifiedEquations:
        """The modified Lagrangian and Hamiltonian of a method as power series in h up to `order`
        (002 section 5), for small systems.
        """
        self.flat_only("modified")
        return modified(self, method, order)

    # Reading.

    @property
    def sheet(self):
        """What is printed: the Lagrangian, the equations, and what is conserved."""
        rows: list[Any] = [
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", list(self.equations)),
        ]
        if self.kinematics:
            rows.append(("kinematics", list(self.kinematics)))
        if self.constraints:
            rows.append(("constraints", list(self.constraints)))
        rows.append(
            (
                "momenta",
                [
                    equation(sp.Symbol(f"p_{name}"), p)
                    for name, p in zip(self.variables.words, self.momenta, strict=True)
                ],
            )
        )
        rows.append(
            (
                "energy",
                [
                    equation(sp.Symbol("E"), self.energy),
                    equation(sp.Function("E")(TIME).diff(TIME), self.energy_rate),
                ],
            )
        )
        if self.cyclic:
            rows.append(
                (
                    "conserved momenta",
                    [equation(sp.Symbol(f"p_{x.func}"), p) for x, p in self.cyclic.items()],
                )
            )
        return Sheet(self.system.name or "system", tuple(rows), self.complete)


def equation(left, right) -> Any:
    return sp.Eq(left, right, evaluate=False)


def bordered(K, r, n, tidy):
    """The solution of [[M, B], [C, 0]] (a, lam) = r with M of size n: the multipliers first, from C
    M^-1 B, as one does by hand.
    """
    M, B, C = K[:n, :n], K[:n, n:], K[n:, :n]
    if K.rows == n:
        return solve(M, r)
    try:
        free = solve(M, r[:n, :].row_join(B)).applyfunc(tidy)
    except (Undecided, ValueError, ZeroDivisionError):
        # With M singular the whole may still be regular.
        return solve(K, r)
    lam = solve(
        (C * free[:, 1:]).applyfunc(tidy), (C * free[:, :1] - r[n:, :]).applyfunc(tidy)
    ).applyfunc(tidy)
    return (free[:, :1] - free[:, 1:] * lam).col_join(lam)


def derive(system, seconds):
    if not isinstance(system, System):
        raise ValueError(f"symbolic needs a System; got {system!r}.")
    system.check()
    return Equations(system, Tidy(seconds))
