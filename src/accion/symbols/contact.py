"""The equations of a contact system as a person would write them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from accion.methods import Method
from accion.symbols.beside import EquationsBeside
from accion.symbols.derivatives import derivative
from accion.symbols.discrete_equations import DiscreteEquations
from accion.symbols.equations import Equations
from accion.symbols.linear_algebra import solve
from accion.symbols.registry import derive
from accion.symbols.render import Sheet, equation, equations_of, sheet_of
from accion.symbols.sampled import under_method
from accion.symbols.simplification import Simplifier
from accion.symbols.variables import TIME
from accion.systems import ContactSystem


@dataclass(frozen=True, repr=False)
class ContactEquations(EquationsBeside):
    """What follows from a Lagrangian that depends on its action, as SymPy expressions in functions
    of time (Herglotz).

        d/dt dL/dv - dL/dq = dL/dz dL/dv + F                    z' = L

    `mechanics` are the equations of the same Lagrangian on Q x R, whose last velocity, z', it does
    not depend on.
    """

    system: ContactSystem
    mechanics: Equations

    @property
    def z(self) -> Any:
        """The action, a function of time."""
        return self.mechanics.q[-1]

    @cached_property
    def inner_growth(self) -> Any:
        """dL/dz."""
        return self.simplify(derivative(self.mechanics.inner_L, self.variables.q[-1]))

    @property
    def growth(self) -> Any:
        """dL/dz, the rate at which momenta and energy grow."""
        return self.for_reader(self.inner_growth)

    @cached_property
    def inner_right(self) -> tuple[Any, ...]:
        """dL/dz dL/dv + F."""
        own = zip(self.mechanics.inner_p[: self.n], self.mechanics.inner_force, strict=False)
        return tuple(self.simplify(self.inner_growth * p + f, self.variables.v) for p, f in own)

    @property
    def euler_lagrange(self) -> tuple[Any, ...]:
        """The Euler-Lagrange operator d/dt dL/dv - dL/dq, in which z moves."""
        return self.mechanics.euler_lagrange[: self.n]

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """d/dt dL/dv - dL/dq = dL/dz dL/dv + F, one for each coordinate, and z' = L."""
        right = self.for_reader(self.inner_right)
        motion = [equation(el, r) for el, r in zip(self.euler_lagrange, right, strict=True)]
        return (*motion, equation(self.z.diff(TIME), self.L))

    @cached_property
    def energy_rate(self) -> Any:
        """dE/dt along the motion: dL/dz E - dL/dt + F.v."""
        x, own = self.variables, self.mechanics
        power = sp.Add(*(f * v for f, v in zip(own.inner_force, x.v, strict=True)))
        change = power - derivative(own.inner_L, x.t)
        return self.for_reader(self.simplify(self.inner_growth * own.inner_energy + change, x.v))

    @cached_property
    def accelerations(self) -> tuple[Any, ...]:
        """The derivatives of the velocities, solved for."""
        x, n = self.variables, self.n
        moving = {x.v[n]: self.mechanics.inner_L}
        left = self.mechanics.inner_operator[:n]
        rows = [(el - r).xreplace(moving) for el, r in zip(left, self.inner_right, strict=True)]
        K = sp.Matrix(n, n, lambda i, j: self.simplify(derivative(rows[i], x.a[j])))
        r = -sp.Matrix(rows).xreplace(dict.fromkeys(x.a, sp.Integer(0)))
        return self.for_reader(tuple(map(self.simplify.as_fraction, solve(K, r))))

    @property
    def kinematics(self) -> tuple[Any, ...]:
        """g' = g hat(xi) of the entries of a group's matrix that the equations need; none on a flat
        space.
        """
        return self.mechanics.kinematics

    def discrete(self, method: Method) -> DiscreteEquations:
        """The discrete equations of a method, in q_k-1, q_k, q_k+1 and the actions there, and what
        gives the next action, its `constraints`.
        """
        return under_method(self.system, method, self.simplify)

    @property
    def sheet(self) -> Sheet:
        """What is printed: the Lagrangian, the equations, momenta, the energy and its law."""
        p = [sp.Symbol(f"p_{name}") for name in self.variables.words[: self.n]]
        E = sp.Symbol("E"), sp.Function("E")(TIME).diff(TIME)
        groups = (
            ("Lagrangian", [equation(sp.Symbol("L"), self.L)]),
            ("equations of motion", self.equations[: self.n]),
            ("action", self.equations[self.n :]),
            ("kinematics", self.kinematics),
            ("momenta", equations_of(p, self.momenta)),
            ("energy", equations_of(E, (self.energy, self.energy_rate))),
        )
        return sheet_of(self.system.name, groups, self.complete)


@derive.register
def _(system: ContactSystem, seconds: float) -> ContactEquations:
    system.check()
    return ContactEquations(system, Equations(system.whole, Simplifier(seconds)))
