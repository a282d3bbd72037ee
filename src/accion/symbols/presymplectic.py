"""The presymplectic system of vakonomic mechanics (W0, Omega, H) and what it is on W1, in letters
(Vakonomic thesis, section 4.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.checks import refuse
from accion.symbols.derivatives import derivative
from accion.symbols.forms import Form, coordinates_of
from accion.symbols.reduced import Reduced
from accion.symbols.render import Readable, Sheet, equation, equations_of, sheet_of

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True, repr=False)
class Presymplectic(Readable):
    """The forms and Hamiltonians of a vakonomic system on W0 = T*Q x M, where M is the constraints
    in TQ, v_s = Psi(t, q, v_r), and on the W1 of its primary constraints; without constraints those
    of its Lagrangian on T*Q + TQ (Skinner and Rusk).

    Motions are i_X Omega = dH. On a group the letters of the body's velocity among the coordinates
    q stand for g^-1 dg.
    """

    system: Any
    reduced: Reduced

    @property
    def x(self) -> Any:
        return self.reduced.x

    @cached_property
    def H_W0(self) -> Any:
        """p_a v_a + p_s Psi_s - L~ on W0 = T*Q x M, M being the constraints in TQ."""
        pv = sp.Add(*(p * v for p, v in zip(self.x.p, self.reduced.inner_v, strict=True)))
        return self.reduced.for_reader(self.reduced.tidy(pv - self.reduced.inner_L))

    def form_on(self, p: Sequence[Any], beside: Sequence[Any]) -> Form:
        """dq ^ dp in the coordinates (q, beside), of which the momenta p are functions; on a group
        with p.[e_i, e_j] in addition.
        """
        x, n = self.x, len(self.x.v)
        turned = [x.coad([sp.Integer(int(i == k)) for k in range(n)], p) for i in range(n)]
        terms = {
            (i, j): self.reduced.tidy(x.displaced(p[i], j) - x.displaced(p[j], i) + turned[i][j])
            for i in range(n)
            for j in range(i + 1, n)
        }
        terms |= {
            (i, n + j): self.reduced.tidy(derivative(p[i], y))
            for i in range(n)
            for j, y in enumerate(beside)
        }
        coordinates, invariant = coordinates_of(self.reduced.equations_of_system)
        found = {index: self.reduced.for_reader(c) for index, c in terms.items() if c != 0}
        return Form(
            2, (*coordinates[:n], *self.reduced.for_reader(tuple(beside))), found, invariant
        )

    @cached_property
    def Omega_W0(self) -> Form:
        """The presymplectic form dq ^ dp in the coordinates (q, p, v_r) of W0; its kernel is
        d/dv_r.
        """
        return self.form_on(self.x.p, (*self.x.p, *self.reduced.r))

    @cached_property
    def W1(self) -> tuple[Any, ...]:
        """The primary constraints p_a = dL~/dv_a - p_s dPsi_s/dv_a (Vakonomic thesis, eq 4.6)."""
        at = self.reduced.independent_at
        return tuple(
            equations_of(
                self.reduced.for_reader(tuple(self.x.p[i] for i in at)),
                self.reduced.for_reader(tuple(self.reduced.inner_P[i] for i in at)),
            )
        )

    @cached_property
    def Omega_W1(self) -> Form:
        """The form on W1 in the coordinates (q, v_r, p_s): symplectic where `regularity` is
        regular, and dq ^ dp in the coordinates (q, p) there.
        """
        held = tuple(self.x.p[i] for i in self.reduced.dependent_at)
        return self.form_on(self.reduced.inner_P, (*self.reduced.r, *held))

    @cached_property
    def H_W1(self) -> Any:
        """The Hamiltonian on W1 as a function of (t, q, p) (Vakonomic thesis, Obs 4.2.4 and Thm
        6.2.1): `symbolic(system).hamiltonian`.

        Raises:
            ValueError: where W1 is not symplectic, or velocities are no closed formula of momenta.
        """
        return self.reduced.equations_of_system.hamiltonian

    @cached_property
    def regularity(self) -> Any:
        """C_ab = d2L~/dv_a dv_b - p_s d2Psi_s/dv_a dv_b, with which W1 is symplectic where it is
        regular (Vakonomic thesis, Prop 4.2.3, eq 4.13).
        """
        k, at = len(self.reduced.r), self.reduced.independent_at
        C = sp.Matrix(
            k,
            k,
            lambda a, b: self.reduced.tidy(
                derivative(self.reduced.inner_P[at[a]], self.reduced.r[b])
            ),
        )
        return self.reduced.for_reader(C)

    # ------------------------------------------------------------ reading

    @property
    def sheet(self) -> Sheet:
        """What is printed: H on W0, and W1."""
        groups = (
            ("constraints", equations_of(self.reduced.dependent, self.reduced.Psi)),
            ("Hamiltonian on W0", [equation(sp.Symbol("H"), self.H_W0)]),
            ("W1", list(self.W1)),
        )
        return sheet_of(self.system.name, groups, self.reduced.equations_of_system.complete)


def presymplectic(eqs: "Equations", dependent: Any) -> Presymplectic:
    """The presymplectic system, with the velocities `dependent` eliminated on W0.

    Raises:
        ValueError: where constraints act by forces.
    """
    system = eqs.system
    if system.constraint is not None and not system.enters_action:
        why = "constraints that act by forces make no presymplectic system"
        refuse("presymplectic", "holonomic and nonholonomic systems", why)
    return Presymplectic(system, eqs.reduced(dependent))
