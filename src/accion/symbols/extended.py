"""The forms and fields of a time-dependent system on R x TQ and R x T*Q, in letters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from accion.symbols.derivatives import derivative
from accion.symbols.forms import Form

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True)
class ExtendedForms:
    """What a system on a flat space has in the coordinates (t, q, v) and (t, q, p); those of
    `analysis.cosymplectic` in numbers.
    """

    equations: "Equations"

    @property
    def on_velocities(self) -> tuple[Any, ...]:
        """(t, q, v)."""
        eqs = self.equations
        return (eqs.t, *eqs.q, *eqs.v)

    @property
    def on_momenta(self) -> tuple[Any, ...]:
        """(t, q, p)."""
        eqs = self.equations
        return (eqs.t, *eqs.q, *eqs.for_reader(tuple(eqs.variables.p)))

    @property
    def liouville(self) -> tuple[Any, ...]:
        """The Liouville field Delta = v d/dv, in its components."""
        n, v = len(self.equations.v), self.equations.v
        return (sp.S.Zero, *(sp.S.Zero,) * n, *v)

    @property
    def vertical(self) -> Any:
        """The vertical endomorphism S, a matrix: S(d/dq) = d/dv."""
        n = len(self.equations.v)
        S = sp.zeros(2 * n + 1, 2 * n + 1)
        S[n + 1 :, 1 : n + 1] = sp.eye(n)
        return S

    @property
    def theta_L(self) -> Form:
        """The Poincare-Cartan form p dq - E dt, p = dL/dv."""
        eqs = self.equations
        terms = {(0,): -eqs.energy} | {(1 + i,): p for i, p in enumerate(eqs.momenta)}
        return Form(1, self.on_velocities, terms)

    @property
    def eta(self) -> Form:
        """dt."""
        return Form(1, self.on_momenta, {(0,): sp.S.One})

    @property
    def theta_H(self) -> Form:
        """The Poincare-Cartan form p dq - H dt."""
        eqs, n = self.equations, len(self.equations.v)
        p = self.on_momenta[n + 1 :]
        terms = {(0,): -eqs.hamiltonian} | {(1 + i,): each for i, each in enumerate(p)}
        return Form(1, self.on_momenta, terms)

    @property
    def Omega_H(self) -> Form:
        """-d theta_H = dq ^ dp + dH ^ dt."""
        n, dH = len(self.equations.v), self.slopes
        terms: dict[tuple[int, ...], Any] = {(1 + i, 1 + n + i): sp.S.One for i in range(n)}
        terms |= {(0, 1 + i): -slope for i, slope in enumerate(dH) if slope != 0}
        return Form(2, self.on_momenta, terms)

    @property
    def evolution(self) -> tuple[Any, ...]:
        """The evolution field E_H = d/dt + dH/dp d/dq - dH/dq d/dp, in its components."""
        n, dH = len(self.equations.v), self.slopes
        return (sp.S.One, *dH[n:], *(-slope for slope in dH[:n]))

    @property
    def slopes(self) -> tuple[Any, ...]:
        """dH/dq and dH/dp."""
        eqs, x = self.equations, self.equations.variables
        H = eqs.inner_hamiltonian
        return eqs.for_reader(tuple(eqs.simplify(derivative(H, y)) for y in (*x.q, *x.p)))
