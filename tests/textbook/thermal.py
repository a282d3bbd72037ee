"""The thermomechanical systems of the gallery as Bonich prints them, corrected: typed from paper
with SymPy, apart from the functions that are run.
"""

from dataclasses import dataclass
from typing import Any

import sympy as sp


@dataclass(frozen=True)
class ThermalTextbook:
    """The Lagrangian, and friction and heat as they reach each body: SymPy expressions in functions
    q_i(t) and S_a(t).
    """

    t: Any
    q: tuple[Any, ...]
    S: tuple[Any, ...]
    L: Any
    friction: tuple[tuple[Any, ...], ...]  # a row for each body, a component for each coordinate
    heat: tuple[Any, ...] | None = None
    external: tuple[Any, ...] | None = None

    def equations(self):
        """[d/dt dL/dv_i - dL/dq_i - F_i, ..., T_a S_a' - (P_a - F_a.v), ...], zero on a motion
        (Bonich, Thm 3.9).
        """
        v = [q.diff(self.t) for q in self.q]
        rows = []
        for i, q in enumerate(self.q):
            force = sum(row[i] for row in self.friction) + (
                self.external[i] if self.external else 0
            )
            rows.append(sp.diff(sp.diff(self.L, v[i]), self.t) - sp.diff(self.L, q) - force)
        for a, S in enumerate(self.S):
            gain = (self.heat[a] if self.heat else 0) - sum(
                f * c for f, c in zip(self.friction[a], v, strict=True)
            )
            rows.append(-sp.diff(self.L, S) * S.diff(self.t) - gain)
        return rows


def friction_cart():
    """Bonich, chapter 4.1, with T_0 and S_0 on the curve of (4.1)."""
    t = sp.Symbol("t")
    m, mu, nu, T0, S0 = sp.symbols("m mu nu T_0 S_0", positive=True)
    x, S = sp.Function("x")(t), sp.Function("S")(t)
    return ThermalTextbook(
        t,
        (x,),
        (S,),
        m * x.diff(t) ** 2 / 2 - nu * T0 * sp.exp((S - S0) / nu),
        ((-mu * x.diff(t),),),
    )


def spring_in_gas():
    """Bonich, Ex 3.11."""
    t = sp.Symbol("t")
    m, eta, lam, U0, alpha, S0 = sp.symbols("m eta lambda U_0 alpha S_ref", positive=True)
    x, S = sp.Function("x")(t), sp.Function("S")(t)
    L = m * x.diff(t) ** 2 / 2 - (eta * x**2 / 2 + U0 * sp.exp(alpha * (S - S0)))
    return ThermalTextbook(t, (x,), (S,), L, ((-lam * x.diff(t),),))


THERMAL_PAGES = {"friction_cart": friction_cart, "spring_in_gas": spring_in_gas}
