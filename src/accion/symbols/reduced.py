"""Equations with the dependent velocities eliminated by the constraints, and the connection and
curvature of these, in letters.

With v_s = Psi(t, q, v_r) and X_a = e_a + dPsi/dv_a e_s, the displacements that the constraints
allow, each independent velocity v_a of a nonholonomic and of a vakonomic motion has the equation

    d/dt dL~/dv_a - X_a L~ - dL~/dv_b [v, X_a]_b = F.X_a + mu_s T_sa,
    T_sa = d/dt dPsi_s/dv_a - X_a Psi_s + [v, X_a]_s - dPsi_s/dv_b [v, X_a]_b,

L~ being L on the constraints, with mu_s = dL/dv_s in the first case and mu_s = p_s in the second
(Vakonomic thesis, chapter 3, corrected, and Prop 4.1.2). Brackets are those of displacements of the
body on a group, zero on a flat space. Where Psi = -A v_r - gamma, T_s = -(B_s v_r + Gamma_s).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from accion.checks import refuse
from accion.instant.split import positions_of
from accion.symbols.dependent import chosen_by_itself, solved_for
from accion.symbols.derivatives import derivative
from accion.symbols.render import Readable, Sheet, equation, equations_of, sheet_of

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True, repr=False)
class Reduced(Readable):
    """What follows from the constraints of a system solved for m `dependent` velocities s, in terms
    of the others, r.

    The constraints, linear in velocities, make a connection: s' + A(t, q) r' + gamma(t, q) = 0. Its
    curvature is B, on a group with the brackets of the frame, and beside it Gamma, that of time:
    both vanish where the constraints are holonomic, and only there.

    References: Vakonomic thesis, chapter 3 (with its signs) and sections 4.1 and 4.2; Bloch,
    Krishnaprasad, Marsden & Murray 1996 for the connection.
    """

    system: Any
    equations_of_system: "Equations"
    dependent_at: tuple[int, ...]

    # ------------------------------------------------------------ inside: real symbols

    @property
    def independent_at(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.x.v)) if i not in self.dependent_at)

    @property
    def x(self) -> Any:
        return self.equations_of_system.variables

    def tidy(self, expr: Any) -> Any:
        x = self.x
        return self.equations_of_system.simplify(expr, (*x.a, *x.v, *x.p))

    @cached_property
    def s(self) -> tuple[sp.Symbol, ...]:
        """The dependent velocities."""
        return tuple(self.x.v[i] for i in self.dependent_at)

    @cached_property
    def r(self) -> tuple[sp.Symbol, ...]:
        """The independent ones."""
        return tuple(self.x.v[i] for i in self.independent_at)

    @cached_property
    def inner_Psi(self) -> tuple[Any, ...]:
        """v_s as functions of (t, q, v_r)."""
        eqs = self.equations_of_system
        return solved_for(eqs, eqs.inner_on_velocities, self.s)

    def on_constraint(self, expr: Any) -> Any:
        """An expression with the dependent velocities replaced."""
        return sp.sympify(expr).xreplace(dict(zip(self.s, self.inner_Psi, strict=True)))

    @cached_property
    def inner_v(self) -> tuple[Any, ...]:
        """All velocities, in their order."""
        return tuple(self.on_constraint(v) for v in self.x.v)

    @cached_property
    def inner_L(self) -> Any:
        """L on the constraints."""
        return self.tidy(self.on_constraint(self.equations_of_system.inner_L))

    @cached_property
    def slopes(self) -> Any:
        """dPsi_s/dv_a, a matrix of m rows."""
        rows = [[derivative(f, v) for v in self.r] for f in self.inner_Psi]
        return sp.Matrix(len(self.s), len(self.r), [e for row in rows for e in row])

    def allowed(self, expr: Any, a: int) -> Any:
        """X_a of an expression: its derivative by the displacement number a that is allowed."""
        along = [
            self.slopes[i, a] * self.x.displaced(expr, place)
            for i, place in enumerate(self.dependent_at)
        ]
        return self.x.displaced(expr, self.independent_at[a]) + sp.Add(*along)

    def rate(self, expr: Any) -> Any:
        """d/dt of a function of (t, q, v_r) along a motion."""
        moved = [self.x.displaced(expr, i) * v for i, v in enumerate(self.inner_v)]
        pushed = [derivative(expr, self.x.v[i]) * self.x.a[i] for i in self.independent_at]
        return derivative(expr, self.x.t) + sp.Add(*moved, *pushed)

    @cached_property
    def brackets(self) -> Any:
        """[v, X_a]_k, a matrix with a row for each degree of freedom k and a column for each a."""
        n = len(self.x.v)
        ad = sp.Matrix(
            [
                self.x.coad(self.inner_v, [sp.Integer(int(i == k)) for i in range(n)])
                for k in range(n)
            ]
        )
        free = ad.extract(list(range(n)), list(self.independent_at))
        return free + ad.extract(list(range(n)), list(self.dependent_at)) * self.slopes

    @cached_property
    def inner_T(self) -> Any:
        """T_sa, a matrix of m rows: zero where the constraints are holonomic."""
        turned = self.brackets
        free = turned.extract(list(self.independent_at), list(range(len(self.r))))
        own = turned.extract(list(self.dependent_at), list(range(len(self.r))))
        own = own - self.slopes * free

        def entry(i: int, a: int) -> Any:
            moved = self.rate(self.slopes[i, a]) - self.allowed(self.inner_Psi[i], a)
            return self.tidy(moved + own[i, a])

        return sp.Matrix(len(self.s), len(self.r), entry)

    @cached_property
    def inner_momenta(self) -> tuple[Any, ...]:
        """mu_s: of a vakonomic system p_s, of others dL/dv_s."""
        if self.system.enters_action:
            return tuple(self.x.p[i] for i in self.dependent_at)
        L = self.equations_of_system.inner_L
        return tuple(self.tidy(self.on_constraint(derivative(L, v))) for v in self.s)

    @cached_property
    def inner_force(self) -> tuple[Any, ...]:
        return tuple(map(self.on_constraint, self.equations_of_system.inner_force))

    @cached_property
    def inner_operator(self) -> tuple[Any, ...]:
        """The left-hand sides of the equations of the independent velocities."""
        p = [derivative(self.inner_L, v) for v in self.r]
        turned = self.brackets.extract(list(self.independent_at), list(range(len(self.r))))
        return tuple(
            self.tidy(
                self.rate(p[a])
                - self.allowed(self.inner_L, a)
                - sp.Add(*(p[b] * turned[b, a] for b in range(len(p))))
            )
            for a in range(len(p))
        )

    @cached_property
    def inner_right(self) -> tuple[Any, ...]:
        """F.X_a + mu_s T_sa."""
        F, found = self.inner_force, []
        for a, place in enumerate(self.independent_at):
            work = F[place] + sp.Add(
                *(F[i] * self.slopes[k, a] for k, i in enumerate(self.dependent_at))
            )
            pushed = [mu * self.inner_T[k, a] for k, mu in enumerate(self.inner_momenta)]
            found.append(self.tidy(work + sp.Add(*pushed)))
        return tuple(found)

    @cached_property
    def inner_P(self) -> tuple[Any, ...]:
        """All momenta on W1, as functions of (t, q, v_r, p_s): p_a = dL~/dv_a - p_s dPsi_s/dv_a
        (Vakonomic thesis, eq 4.6).
        """
        p = list(self.x.p)
        for a, place in enumerate(self.independent_at):
            held = [p[i] * self.slopes[k, a] for k, i in enumerate(self.dependent_at)]
            p[place] = self.tidy(derivative(self.inner_L, self.r[a]) - sp.Add(*held))
        return tuple(p)

    @cached_property
    def inner_momentum_rates(self) -> tuple[Any, ...]:
        """p_s' of a vakonomic motion (Vakonomic thesis, eq 4.8)."""
        turned, F = self.x.coad(self.inner_v, self.inner_P), self.inner_force
        pairs = [*zip(self.dependent_at, self.inner_Psi, strict=True)]
        return tuple(
            self.tidy(
                self.x.displaced(self.inner_L, i)
                - sp.Add(*(self.x.p[j] * self.x.displaced(f, i) for j, f in pairs))
                + turned[i]
                + F[i]
            )
            for i in self.dependent_at
        )

    # ------------------------------------------------------------ outside: functions of time

    def for_reader(self, expr: Any) -> Any:
        """An inner expression, a tuple or a matrix of them, as it is printed."""
        return self.equations_of_system.for_reader(expr)

    @property
    def dependent(self) -> tuple[Any, ...]:
        """s', the velocities that were eliminated."""
        return self.for_reader(self.s)

    @property
    def independent(self) -> tuple[Any, ...]:
        """r', the others."""
        return self.for_reader(self.r)

    @property
    def Psi(self) -> tuple[Any, ...]:
        """The dependent velocities as functions of (t, q, r')."""
        return self.for_reader(self.inner_Psi)

    @property
    def L(self) -> Any:
        """The Lagrangian on the constraints."""
        return self.for_reader(self.inner_L)

    @cached_property
    def A(self) -> Any:
        """The connection, with s' + A r' + gamma = 0: a matrix of m rows, in (t, q).

        Raises:
            ValueError: where the constraints are not linear in the velocities.
        """
        if self.slopes.has(*self.x.v):
            raise ValueError(
                f"the constraints of {self.system.name} are not linear in the velocities: they have"
                " no connection; `transposition` is what takes the place of its curvature."
            )
        return self.for_reader((-self.slopes).applyfunc(self.tidy))

    @cached_property
    def gamma(self) -> tuple[Any, ...]:
        """The part of the constraints without velocities, which moves by itself."""
        _ = self.A
        rest = dict.fromkeys(self.r, sp.Integer(0))
        return self.for_reader(tuple(self.tidy(-f.xreplace(rest)) for f in self.inner_Psi))

    @cached_property
    def B(self) -> tuple[Any, ...]:
        """The curvature of the connection: for each dependent velocity an antisymmetric matrix,

            B_s[a, b] = dA_sa/dr_b - A_s'b dA_sa/ds' - (a and b exchanged),

        d omega_s of the forms omega_s = ds + A_s dr on the displacements X_b and X_a.
        """
        _, k = self.A, len(self.r)

        def of(i: int) -> Any:
            def entry(a: int, b: int) -> Any:
                return self.tidy(-derivative(self.inner_T[i, a], self.r[b]))

            return self.for_reader(sp.Matrix(k, k, entry))

        return tuple(of(i) for i in range(len(self.s)))

    @cached_property
    def Gamma(self) -> Any:
        """The curvature with time: a matrix of m rows, zero where neither gamma is nor A depends on
        time.
        """
        _ = self.A
        rest = dict.fromkeys(self.r, sp.Integer(0))
        return self.for_reader(self.inner_T.applyfunc(lambda e: self.tidy(-e.xreplace(rest))))

    @property
    def transposition(self) -> Any:
        """T, a matrix of m rows: -(B_s r' + Gamma_s) where the constraints are linear."""
        return self.for_reader(self.inner_T)

    @cached_property
    def integrable(self) -> bool | None:
        """Whether the constraints are holonomic: T is zero (Frobenius; Vakonomic thesis, Obs
        3.0.6). None where that could not be decided.
        """
        if all(e == 0 for e in self.inner_T):
            return True
        letters = sorted(self.inner_T.free_symbols, key=str)
        rng, numbers = np.random.default_rng(0), self.x.numbers
        for _ in range(4):
            at = {y: sp.Float(numbers.get(y, rng.uniform(0.2, 0.9)), 30) for y in letters}
            for e in self.inner_T:
                terms = [sp.N(u.xreplace(at), 30) for u in sp.Add.make_args(sp.expand(e))]
                if abs(sum(terms)) > 1e-12 * sum(map(abs, terms)):
                    return False
        return None

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """The equations of motion: of the independent velocities, of the momenta p_s where these
        are a vakonomic system's, and the constraints.
        """
        rows = equations_of(self.for_reader(self.inner_operator), self.for_reader(self.inner_right))
        if self.system.enters_action:
            p = self.for_reader(tuple(self.x.p[i] for i in self.dependent_at))
            rates = self.for_reader(self.inner_momentum_rates)
            rows += [
                equation(u.diff(self.equations_of_system.t), e)
                for u, e in zip(p, rates, strict=True)
            ]
        return (*rows, *equations_of(self.dependent, self.Psi))

    # ------------------------------------------------------------ reading

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian on the constraints, and the equations."""
        groups: list[tuple[str, Iterable[Any]]] = [
            ("Lagrangian on the constraints", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations),
        ]
        rows = tuple((words, list(rows)) for words, rows in groups)
        return sheet_of(self.system.name, rows, self.equations_of_system.complete)


def reduced(eqs: "Equations", dependent: Any) -> Reduced:
    """The system with the velocities `dependent` eliminated, by default those that the constraints
    give in the shortest way.

    Raises:
        ValueError: where the constraints do not determine them, or virtual displacements are given
            apart.
    """
    system = eqs.system
    if system.kinds_of_constraint and system.variational is not None:
        why = "their virtual displacements are not those of the constraint"
        refuse("reduced", "systems with `variational`", why)
    own = None if dependent is None else positions_of(system, dependent, "dependent")
    return Reduced(system, eqs, chosen_by_itself(eqs) if own is None else own)
