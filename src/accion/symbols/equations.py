"""The equations of a system as a person would write them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from accion.methods import Method
from accion.symbols import forms, from_hamiltonian, legendre
from accion.symbols.derivatives import derivative
from accion.symbols.discrete_equations import DiscreteEquations
from accion.symbols.extended import ExtendedForms
from accion.symbols.forms import Form
from accion.symbols.hamilton_jacobi import HamiltonJacobi
from accion.symbols.jax_to_sympy import translate
from accion.symbols.kinematics import kinematic_equations
from accion.symbols.modified import ModifiedEquations, modified
from accion.symbols.presymplectic import Presymplectic, presymplectic
from accion.symbols.reduced import Reduced, reduced
from accion.symbols.registry import derive
from accion.symbols.render import (
    Readable,
    Sheet,
    equation,
    equations_of,
    modified_equations,
    sheet_of,
)
from accion.symbols.sampled import check_flat, under_method
from accion.symbols.simplification import Simplifier
from accion.symbols.solved_motion import accelerations_and_multipliers
from accion.symbols.variables import TIME, Variables, array
from accion.systems import System


@dataclass(frozen=True, repr=False)
class Equations(Readable):
    """What follows from a Lagrangian, as SymPy expressions in functions of time.

        d/dt dL/dv - dL/dq = F + A^T lam

    Coordinates are functions x(t) named after `System.coordinates`, parameters are symbols with
    their own names, multipliers are lambda(t) or lambda_1(t), ... Everything is computed when it is
    first asked for. `complete` is False once the limit of time for simplification was met:
    expressions are then right but longer than they need be.

    References: Romero, eq 15, 21, 25, 37, 47 and 49; Vakonomic thesis, Prop 4.1.2.
    """

    system: System
    simplify: Simplifier

    # ------------------------------------------------------------ inside: real symbols

    @cached_property
    def variables(self) -> Variables:
        """The letters."""
        system = self.system
        return Variables(system.names, system.multipliers, system.params, system.space)

    def read(self, f: Callable[..., Any], *arguments: tuple[Any, ...]) -> np.ndarray:
        """f(system, t, q, v, *arguments) on symbols, as an array of inner expressions."""
        x = self.variables

        def at(t: Any, q: Any, v: Any, numbers: Any, *rest: Any) -> Any:
            return f(self.system.with_params(x.params_from(numbers)), t, q, v, *rest)

        return translate(
            at, x.t, x.configuration, array(x.v), array(tuple(x.numbers)), *map(array, arguments)
        )

    @cached_property
    def inner_L(self) -> Any:
        """The Lagrangian."""
        return from_hamiltonian.lagrangian_of(self.system.lagrangian, self)

    @cached_property
    def inner_force(self) -> tuple[Any, ...]:
        """The force."""
        v = self.variables.v
        if self.system.force is None:
            return (sp.Integer(0),) * len(v)
        return tuple(self.simplify(f, v) for f in self.read(System.F))

    @cached_property
    def inner_constraints(self) -> tuple[Any, ...]:
        """The constraints as they were written."""
        constraint = self.system.constraint
        if constraint is None:
            return ()
        return tuple(self.simplify(c) for c in self.read(constraint.value))

    @cached_property
    def inner_reaction(self) -> tuple[Any, ...]:
        """A^T lam."""
        constraint, x = self.system.constraint, self.variables
        if constraint is None:
            return (sp.Integer(0),) * len(x.v)
        rows = self.read(constraint.reaction, x.lam)
        return tuple(self.simplify(r, (*x.lam, *x.v)) for r in rows)

    @cached_property
    def inner_total(self) -> Any:
        """L; where multipliers are in the action L + lam.Phi."""
        if not self.system.enters_action:
            return self.inner_L
        pairs = zip(self.variables.lam, self.inner_constraints, strict=True)
        return self.inner_L + sp.Add(*(lam * c for lam, c in pairs))

    @cached_property
    def inner_p(self) -> tuple[Any, ...]:
        """The momenta."""
        x = self.variables
        return tuple(self.simplify(derivative(self.inner_total, v), (*x.v, *x.lam)) for v in x.v)

    @cached_property
    def inner_operator(self) -> tuple[Any, ...]:
        """The Euler-Lagrange operator; on a group with -ad*_v p in addition."""
        x = self.variables
        turned = x.coad(x.v, self.inner_p)
        rows = (
            x.rate(p) - turned[i] - x.displaced(self.inner_total, i)
            for i, p in enumerate(self.inner_p)
        )
        return tuple(self.simplify(row, (*x.a, *x.dlam, *x.v, *x.lam)) for row in rows)

    @cached_property
    def inner_energy(self) -> Any:
        """p.v - L."""
        v = self.variables.v
        pv = sp.Add(*(p * v for p, v in zip(self.inner_p, v, strict=True)))
        return self.simplify(pv - self.inner_total, v)

    @cached_property
    def inner_on_velocities(self) -> tuple[Any, ...]:
        """What the constraints say about the velocities."""
        constraint = self.system.constraint
        if constraint is None:
            return ()
        v = self.variables.v
        return tuple(self.simplify(c, v) for c in self.read(constraint.on_velocities))

    @cached_property
    def inner_solution(self) -> tuple[Any, ...]:
        """(a, lam); where multipliers are in the action (a, lam')."""
        return accelerations_and_multipliers(self)

    @cached_property
    def inner_inverse(self) -> tuple[Any, ...]:
        """(v, lam) as functions of (t, q, p), lam only where it is in the action: the inverse
        Legendre transform.
        """
        return from_hamiltonian.inverse_of(self.system.lagrangian, self)

    @property
    def inner_velocities(self) -> tuple[Any, ...]:
        """v as functions of (t, q, p)."""
        return self.inner_inverse[: len(self.variables.v)]

    @cached_property
    def inner_hamiltonian(self) -> Any:
        """p.v - L in momenta, or H as it was given."""
        return from_hamiltonian.hamiltonian_of(self.system.lagrangian, self)

    # ------------------------------------------------------------ outside: functions of time

    def for_reader(self, expr: Any) -> Any:
        """An inner expression, or a tuple of them, as it is printed."""
        if isinstance(expr, tuple):
            return tuple(self.variables.for_reader(sp.sympify(e)) for e in expr)
        return self.variables.for_reader(sp.sympify(expr))

    @property
    def complete(self) -> bool:
        """Whether the time for simplification sufficed so far."""
        return self.simplify.complete

    @property
    def t(self) -> sp.Symbol:
        """Time."""
        return TIME

    @cached_property
    def q(self) -> tuple[Any, ...]:
        """The coordinates, functions of time; on a group the entries of its matrix."""
        return self.for_reader(self.variables.q)

    @cached_property
    def v(self) -> tuple[Any, ...]:
        """Their derivatives; on a group the components of the body's velocity."""
        return self.for_reader(self.variables.v)

    @cached_property
    def lam(self) -> tuple[Any, ...]:
        """The multipliers, functions of time."""
        return self.for_reader(self.variables.lam)

    @cached_property
    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters."""
        return self.variables.values()

    @cached_property
    def L(self) -> Any:
        """The Lagrangian."""
        return self.for_reader(self.inner_L)

    @cached_property
    def force(self) -> tuple[Any, ...]:
        """The force F, one component for each coordinate."""
        return self.for_reader(self.inner_force)

    @cached_property
    def constraints(self) -> tuple[Any, ...]:
        """phi = 0, kappa = 0 or Phi = 0, in the order of the multipliers."""
        return tuple(equation(c, 0) for c in self.for_reader(self.inner_constraints))

    @cached_property
    def momenta(self) -> tuple[Any, ...]:
        """p = dL/dv; of L + lam.Phi for a vakonomic system."""
        return self.for_reader(self.inner_p)

    @cached_property
    def energy(self) -> Any:
        """E = p.v - L (Romero, eq 37)."""
        return self.for_reader(self.inner_energy)

    @cached_property
    def mass_matrix(self) -> Any:
        """d2L/dv2."""
        v, p = self.variables.v, self.inner_p
        n = len(v)
        return self.for_reader(sp.Matrix(n, n, lambda i, j: self.simplify(derivative(p[i], v[j]))))

    @cached_property
    def euler_lagrange(self) -> tuple[Any, ...]:
        """The Euler-Lagrange operator d/dt dL/dv - dL/dq, without forces; of L + lam.Phi for a
        vakonomic system.
        """
        return self.for_reader(self.inner_operator)

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """d/dt dL/dv - dL/dq = F + A^T lam, one for each coordinate."""
        pairs = zip(self.inner_force, self.inner_reaction, strict=True)
        right = self.for_reader(tuple(f + r for f, r in pairs))
        return tuple(equation(el, r) for el, r in zip(self.euler_lagrange, right, strict=True))

    @cached_property
    def accelerations(self) -> tuple[Any, ...]:
        """The derivatives of the velocities, solved for; the constraints differentiated and the
        multipliers eliminated.
        """
        return self.for_reader(self.inner_solution[: len(self.variables.v)])

    @cached_property
    def multipliers(self) -> tuple[Any, ...]:
        """The constraint forces lam as functions of the state; for a vakonomic system their rates
        lam'.
        """
        return self.for_reader(self.inner_solution[len(self.variables.v) :])

    @cached_property
    def cyclic(self) -> dict[Any, Any]:
        """{coordinate: conserved momentum} of the coordinates that neither L nor a force nor a
        constraint sees (Romero, eq 36).
        """
        x = self.variables
        found = {}
        for i, (name, moving) in enumerate(zip(x.words, x.moving, strict=True)):
            # A group has no coordinates to be cyclic.
            q = sp.Symbol(name, real=True)
            unforced = self.inner_force[i] == 0 and self.inner_reaction[i] == 0
            if not moving and not self.inner_total.has(q) and unforced:
                found[self.for_reader(q)] = self.momenta[i]
        return found

    @cached_property
    def energy_rate(self) -> Any:
        """dE/dt along the motion: -dL/dt + F.v and the power of a constraint that moves; without
        those, dE/dt = -dL/dt.
        """
        x = self.variables
        rows = zip(self.inner_force, self.inner_reaction, x.v, strict=True)
        power = sp.Add(*((f + r) * v for f, r, v in rows))
        if not self.system.enters_action:
            # Zero on a motion; it takes the power of a constraint at rest away.
            pairs = zip(x.lam, self.inner_on_velocities, strict=True)
            power -= sp.Add(*(lam * c for lam, c in pairs))
        return self.for_reader(self.simplify(power - derivative(self.inner_total, x.t), x.v))

    @cached_property
    def theta_L(self) -> Form:
        """The one-form dL/dv dq on TQ, on a group dL/dv.(g^-1 dg); of a vakonomic system that of L
        + lam.Phi, with lam as further coordinates.
        """
        return forms.one_form(self)

    @cached_property
    def Omega_L(self) -> Form:
        """The two-form -d theta_L = dq ^ d(dL/dv) on TQ (Vakonomic thesis, section 2.2.4, with the
        right sign); on a group with dL/dv.[e_i, e_j] on displacements of the body in addition.

        Of a vakonomic system it is that of L + lam.Phi, with terms dq ^ dlam: closed on (q, v,
        lam), and symplectic on Phi = 0 where d2L/dv2 bordered by dPhi/dv is regular.
        """
        return forms.two_form(self)

    @cached_property
    def extended(self) -> ExtendedForms:
        """The forms and fields on R x TQ and R x T*Q of a flat space (Colombo-Gamonal, 4)."""
        check_flat(self.system, "extended")
        return ExtendedForms(self)

    @cached_property
    def hamiltonian(self) -> Any:
        """H(t, q, p) = p.v - L, in momenta p_x(t); of a vakonomic system with (v, lam) from p = d(L
        + lam.Phi)/dv and Phi = 0.
        """
        return self.for_reader(self.inner_hamiltonian)

    @cached_property
    def hamilton(self) -> tuple[Any, ...]:
        """Hamilton's equations q' = dH/dp, p' = -dH/dq + F + A^T lam; on a group g' = g hat(dH/dp),
        with ad*_(dH/dp) p in addition.
        """
        return legendre.hamilton_equations(self)

    @cached_property
    def kinematics(self) -> tuple[Any, ...]:
        """g' = g hat(xi) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        return kinematic_equations(self)

    def reduced(self, dependent: Any = None) -> Reduced:
        """The equations with as many velocities eliminated as there are constraints: the connection
        and its curvature, and the nonholonomic or vakonomic equations written with them (Vakonomic
        thesis, chapter 3 and section 4.1).

        `dependent` are the velocities to be eliminated, by name or number.
        """
        return reduced(self, dependent)

    def presymplectic(self, dependent: Any = None) -> Presymplectic:
        """The forms and Hamiltonians of a vakonomic system on W0 and W1 (Vakonomic thesis, section
        4.2), in the coordinates that the velocities `dependent` leave.
        """
        return presymplectic(self, dependent)

    # ------------------------------------------------------------ under a method

    def discrete(self, method: Method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-1, q_k, q_k+1."""
        return under_method(self.system, method, self.simplify)

    # ------------------------------------------------------------ reading

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian, the equations, and what is conserved; of a system that
        is given by its Hamiltonian, this and Hamilton's equations.
        """
        groups = from_hamiltonian.first_groups(self.system.lagrangian, self)
        return sheet_of(self.system.name, groups, self.complete)

    @property
    def groups(self) -> tuple[tuple[str, Sequence[Any]], ...]:
        """What is printed of a Lagrangian, in its groups."""
        p = [sp.Symbol(f"p_{name}") for name in self.variables.words]
        E = sp.Symbol("E"), sp.Function("E")(TIME).diff(TIME)
        return (
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations),
            ("kinematics", self.kinematics),
            ("constraints", self.constraints),
            ("momenta", equations_of(p, self.momenta)),
            ("energy", equations_of(E, (self.energy, self.energy_rate))),
            (
                "conserved momenta",
                [equation(sp.Symbol(f"p_{x.func}"), p) for x, p in self.cyclic.items()],
            ),
        )


@modified_equations.register
def _(equations: Equations, method: Any, order: int) -> ModifiedEquations | HamiltonJacobi:
    return modified(equations, method, order)


@derive.register
def _(system: System, seconds: float) -> Equations:
    system.check()
    return Equations(system, Simplifier(seconds))
