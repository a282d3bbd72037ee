"""A thermomechanical system at one instant: its rates, and what its equations rest on."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from accion.checks import check_numbers
from accion.engines.auto import small_jit
from accion.instant.constrained import inertia_and_force
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import Known, check_inertia
from accion.numerics import newton
from accion.systems import Start, ThermalSystem
from accion.types import Configuration, Scalar, Vector


def thermal_rates(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """(a, S') of a thermomechanical system: S' from the entropy balance, a from d/dt dL/dv - dL/dq
    = F with S moving (Bonich, Thm 3.9).
    """
    n = system.space.dim
    dS = system.entropy_rates(t, z, v)
    H, force = inertia_and_force(system.whole, t, z, jnp.concatenate([v, dS]))
    return newton.solve(H[:n, :n], force[:n]), dS


class Hypotheses(NamedTuple):
    """What the equations of motion rest on, at the start of a run (Bonich, Lemmas 3.8 and 3.15)."""

    T: Any  # temperatures, NaN for a system given in discrete time
    D3: Any  # D3 Ld
    D4: Any  # D4 Ld


def check_hypotheses(system: Any, known: Any) -> Any:
    """Raise ValueError where a hypothesis does not hold, by name."""
    T, D3, D4 = map(np.asarray, known)
    if not system.discrete_time:
        check_temperatures(system, T)
    for name, minus, plus in zip(system.frame.names, D3, D4, strict=True):
        if minus == 0 and plus == 0:
            raise ValueError(
                f"D3 Ld and D4 Ld, the derivatives of the discrete Lagrangian by {name}, are both"
                " zero at the start: the equations of Bonich Thm 3.17 need one of them (Lemma"
                " 3.15). The Lagrangian must depend on the entropy."
            )


def check_temperatures(system: Any, T: Any) -> Any:
    """Raise ValueError where a temperature at the start is not positive."""
    for name, temperature in zip(system.frame.names, np.asarray(T), strict=True):
        if not temperature > 0:
            raise ValueError(
                f"the temperature T = -dL/dS that belongs to {name} is {temperature:.6g} at the"
                " start; it must be positive, or friction cannot heat (Bonich, Lemma 3.8). Is the"
                " internal energy in L with a minus sign, L = K - U(S), and does U grow with S?"
            )


@small_jit
def known_at(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """d2L/dv2 and the temperatures."""
    T = system.temperature(t, z, v)
    return Known(system.hessian(t, z, v), thermal=Hypotheses(T, T, T))


solved = small_jit(thermal_rates)


class ThermalEquations(ContinuousEquations):
    """d/dt dL/dv - dL/dq = F_fr + F_ext with the entropy balance (Bonich, Thm 3.9)."""

    def accelerations(self, system: Any) -> Any:
        def function(t: Scalar, q: Configuration, v: Vector, S: Any) -> Any:
            own = check_numbers(system, S0=S)
            own.check()
            q, v, S = (own.check_part(*given) for given in parts_of(q, v, S))
            a, dS = solved(own, jnp.asarray(t, dtype=float), own.point(q, S), v)
            return a, own.frame.as_given(dS)

        return function

    def check_start(self, system: Any, t: Scalar, z: Configuration, start: Start) -> Any:
        known = known_at(system, t, z, start.v0)
        check_inertia(system, known.bordered)
        check_temperatures(system, known.thermal.T)

    def rates(self, system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
        q, v, lam = unflat(y, z, system.space.dim)
        a, dS = thermal_rates(system, t, q, v)
        dq = system.step_space.tangent(q, jnp.concatenate([v, dS]))
        change = flat(dq, a, lam)
        # Where a trial step leads out of the domain the step control must see an error, which it
        # does not in NaN.
        inside = jnp.isfinite(change) & jnp.all(system.temperature(t, q, v) > 0)
        return jnp.where(inside, change, OUTSIDE)

    def inertia(self, system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
        return system.hessian(t, z, v)

    def is_projected(self, system: Any) -> Any:
        return False

    def obstacle(self, system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
        return ""

    def result(self, system: Any, q: Configuration, v: Vector, lam: Any, S: Any) -> Any:
        return q, v, S


def parts_of(q: Configuration, v: Vector, S: Any) -> Any:
    """(part of a start, value, what the user calls it)."""
    return ("q0", q, "q"), ("v0", v, "v"), ("S0", S, "S")


@continuous.register
def _(system: ThermalSystem) -> ContinuousEquations:
    return ThermalEquations()
