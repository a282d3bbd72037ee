"""The exact discrete step of a thermal system, by quadrature along its true motion, and how near a
method's discrete system is to it (Marsden and West 2001, section 2.3, with entropies).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from accion.analysis.inputs import row, step_sizes
from accion.arguments import door, number, positive
from accion.checks import check_kind, refuse
from accion.engines.auto import small_jit
from accion.instant.continuous import reference
from accion.methods import Method
from accion.stepping.views import discrete
from accion.systems import ThermalSystem
from accion.told import Told
from accion.types import ArrayLike, Configuration

POINTS = 12  # of Gauss, for a step: of degree 23
TOLERANCE = 1e-13


@dataclass(frozen=True, repr=False)
class ExactThermalStep(Told):
    """The true motion from (q0, v0, S0) at the time t to t + h, as a step.

    `Ld` is the integral of L, `heat` those of P_H - F_fr.v, one for each body; `p0` and `p1` are
    the momenta, which are the exact discrete Legendre transforms: the step has -D1 Ld - Fd^- = p0
    and D2 Ld + Fd^+ = p1, with the integrals of the forces along variations for Fd.
    """

    t: float
    h: float
    q0: Configuration
    q1: Configuration
    S0: Any
    S1: Any
    p0: np.ndarray
    p1: np.ndarray
    Ld: float
    heat: Any

    def __str__(self) -> str:
        return (
            f"Exact step from t = {self.t:.6g} to {self.t + self.h:.6g}: Ld = {self.Ld:.10g}, heat"
            f" {np.asarray(self.heat).tolist()} J, S from {np.asarray(self.S0).tolist()} to"
            f" {np.asarray(self.S1).tolist()}."
        )


@door(h=positive, t0=number)
def exact_thermal_step(
    system: ThermalSystem,
    *,
    q0: Configuration,
    v0: ArrayLike,
    S0: ArrayLike,
    h: float,
    t0: float = 0.0,
) -> ExactThermalStep:
    """The exact discrete step of a thermal system: its true motion, and what is integrated along it
    by Gauss's quadrature.

    Arguments:
        system: in continuous time, without constraints.
        q0, v0, S0, t0, h: where the step starts, and how long it is.
    """
    check_free_and_thermal(system, "exact_thermal_step")
    system = system.with_entropies(S0)
    x, w = np.polynomial.legendre.leggauss(POINTS)
    ts = [t0, *(t0 + h * (1 + x) / 2), t0 + h]
    q, v, S = reference(system, q0=q0, v0=v0, S0=S0, ts=ts, rtol=TOLERANCE, atol=TOLERANCE)
    z, n = system.point(q, S), len(x)

    @small_jit
    def at(t: Any, z: Any, v: Any) -> Any:
        gains = system.dissipation(t, z, v) + system.heating(t, z, v)
        return system.L(t, z, v), gains, system.legendre(t, z, v)

    found = [at(ts[i], row(z, i), v[i]) for i in range(n + 2)]
    L, gains = (np.stack([np.asarray(each[k]) for each in found[1:-1]]) for k in (0, 1))
    heat = system.frame.as_given(h / 2 * w @ gains)
    p0, p1 = np.asarray(found[0][2]), np.asarray(found[-1][2])
    S0, S1 = (np.asarray(S[i]) for i in (0, -1))
    return ExactThermalStep(
        t0, h, row(q, 0), row(q, n + 1), S0, S1, p0, p1, float(h / 2 * w @ L), heat
    )


def check_free_and_thermal(system: Any, what: str) -> None:
    """Raise ValueError unless it is a thermal system in continuous time, without constraints."""
    check_kind(system)
    if not system.entropic:
        refuse(what, system.kind, "they have no entropies; see exact_discrete_lagrangian")
    if system.discrete_time:
        refuse(what, system.kind, "they have no true motion")
    if system.constraint is not None:
        refuse(what, "thermal systems under constraints", "its momenta are free")


@dataclass(frozen=True, repr=False)
class ThermalVariationalOrder(Told):
    """The order p of a discrete thermomechanical system, and the errors that it is fitted to, one
    for each `h`: |Ld - exact| = O(h^(p+1)), of the momenta and of rho_d O(h^p).
    """

    order: float
    h: np.ndarray
    action: np.ndarray
    momenta: np.ndarray
    balance: np.ndarray

    def __float__(self) -> float:
        return self.order

    def __str__(self) -> str:
        slopes = (slope(self.h, e) for e in (self.action, self.momenta, self.balance))
        action, momenta, balance = slopes
        return (
            f"variational order {self.order:.2f}: Ld is off by h^{action:.2f}, momenta by"
            f" h^{momenta:.2f}, the entropy balance by h^{balance:.2f}."
        )


def slope(h: np.ndarray, errors: np.ndarray) -> float:
    """The slope of log(errors) over log(h); inf where there are none."""
    if np.any(errors == 0):
        return float("inf")
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


@door(t0=number)
def thermal_variational_order(
    system: ThermalSystem,
    method: Method,
    *,
    q0: Configuration,
    v0: ArrayLike,
    S0: ArrayLike,
    h: Sequence[float] | np.ndarray,
    t0: float = 0.0,
) -> ThermalVariationalOrder:
    """The order of the discrete thermomechanical system of `method`: how near its Ld, its Legendre
    transforms and its entropy balance are to those of the true motion.

    Arguments:
        system: in continuous time, without constraints; `method`: one with a discrete Lagrangian.
        q0, v0, S0, t0: the start of the motion along which both are compared.
        h: two steps or more.

    Reference: Marsden & West 2001, section 2.3; Bonich, (3.16) to (3.19).
    """
    check_free_and_thermal(system, "thermal_variational_order")
    system = system.with_entropies(S0)
    sizes, d = step_sizes(h, 2), discrete(system, method)

    @small_jit
    def of_method(t: Any, h: Any, q0: Any, q1: Any, S0: Any, S1: Any) -> Any:
        ends = (t, h, q0, q1, S0, S1)
        return d.Ld(*ends), d.legendre_minus(*ends)[1], d.legendre_plus(*ends)[1], d.rho(*ends)

    rows = []
    for step in sizes:
        exact = exact_thermal_step(system, q0=q0, v0=v0, S0=S0, h=float(step), t0=t0)
        ends = jax.tree.map(np.asarray, (exact.q0, exact.q1, exact.S0, exact.S1))
        Ld, p0, p1, rho = map(np.asarray, of_method(t0, float(step), *ends))
        off = (p0 - exact.p0, p1 - exact.p1)
        rows.append((abs(Ld - exact.Ld), np.max(np.abs(off)), np.max(np.abs(rho))))
    action, momenta, balance = np.array(rows).T
    p = min(slope(sizes, action) - 1, slope(sizes, momenta), slope(sizes, balance))
    return ThermalVariationalOrder(float(p), sizes, action, momenta, balance)
