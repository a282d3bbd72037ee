"""A thermomechanical system at one instant: its rates, and what its equations rest on."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from accion.checks import check_numbers
from accion.engines.auto import small_jit
from accion.instant.constrained import border, inertia_and_force, legendre, with_constraint
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import Known, check_mechanical_start, known_held
from accion.numerics import newton
from accion.systems import Start, ThermalSystem
from accion.types import Configuration, Covector, Scalar, Vector


def thermal_rates(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """(a, lam, S') of a thermomechanical system: S' from the entropy balance, a from d/dt dL/dv -
    dL/dq = F + A^T lam with S moving (Bonich, Thm 3.9), and with the constraints, differentiated.
    """
    n = system.space.dim
    dS = system.entropy_rates(t, z, v)
    H, force = inertia_and_force(system.whole, t, z, jnp.concatenate([v, dS]))
    H, force = H[:n, :n], force[:n]
    if system.constraint is None:
        return newton.solve(H, force), jnp.zeros(0), dS
    q, _ = system.parts(z)
    a, lam = with_constraint(system, H, force, t, q, v)
    return a, -lam, dS


def held_node(system: Any, t: Scalar, z: Configuration, p: Covector, guess: Any) -> Any:
    """(v, p, lam) at a time of the discrete trajectory, as `constrained.node` of a system without
    entropies.
    """
    v, _ = legendre(system, t, z, p, guess)
    return v, system.legendre(t, z, v), thermal_rates(system, t, z, v)[1]


class Hypotheses(NamedTuple):
    """What the equations of motion rest on, at the start of a run (Bonich, Lemmas 3.8 and 3.15)."""

    # temperatures, 1 where they may be zero; NaN for a system given in discrete time
    T: Any
    D3: Any  # D3 Ld
    D4: Any  # D4 Ld


def check_hypotheses(system: Any, known: Any) -> Any:
    """Raise ValueError where a hypothesis does not hold, by name."""
    T, D3, D4 = map(np.asarray, known)
    if not system.discrete_time:
        check_temperatures(system, T)
    for name, minus, plus in zip(system.frame.names, D3, D4, strict=True):
        if minus == 0 and plus == 0 and system.friction is not None:
            raise ValueError(
                f"D3 Ld and D4 Ld, the derivatives of the discrete Lagrangian by {name}, are both"
                " zero at the start: the equations of Bonich Thm 3.17 need one of them (Lemma"
                " 3.15) where there is friction. The Lagrangian must depend on the entropy."
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


def known_where(system: Any, t: Scalar, z: Configuration, v: Vector, p0: Any = None) -> Known:
    """What is known of the motion, without what the equations rest on: d2L/dv2 and, where there
    are constraints, how far the point is from them; `p0` are the momenta that the user gave.
    """
    H = system.hessian(t, z, v)
    if system.constraint is None:
        return Known(H)
    q, _ = system.parts(z)
    excess = None if p0 is None else p0 - system.legendre(t, z, v)
    return known_held(system, t, q, v, border(system, H, t, q, v), p0, excess)


@small_jit
def known_at(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """The same with the temperatures."""
    T = system.needed_temperature(t, z, v)
    return known_where(system, t, z, v)._replace(thermal=Hypotheses(T, T, T))


solved = small_jit(thermal_rates)


class ThermalEquations(ContinuousEquations):
    """d/dt dL/dv - dL/dq = F_fr + F_ext with the entropy balance (Bonich, Thm 3.9)."""

    def accelerations(self, system: Any) -> Any:
        def function(t: Scalar, q: Configuration, v: Vector, S: Any) -> Any:
            own = check_numbers(system, S0=S)
            own.check()
            q, v, S = (own.check_part(*given) for given in parts_of(q, v, S))
            a, lam, dS = solved(own, jnp.asarray(t, dtype=float), own.point(q, S), v)
            dS = own.frame.as_given(dS)
            return (a, dS) if own.constraint is None else (a, lam, dS)

        return function

    def check_start(self, system: Any, t: Scalar, z: Configuration, start: Start) -> Any:
        known = known_at(system, t, z, start.v0)
        check_mechanical_start(system, known, start)
        check_temperatures(system, known.thermal.T)

    def rates(self, system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
        q, v, lam = unflat(y, z, system.space.dim)
        a, _, dS = thermal_rates(system, t, q, v)
        dq = system.step_space.tangent(q, jnp.concatenate([v, dS]))
        change = flat(dq, a, lam)
        # Where a trial step leads out of the domain the step control must see an error, which it
        # does not in NaN.
        inside = jnp.isfinite(change) & ~jnp.any(system.cold(t, q, v))
        return jnp.where(inside, change, OUTSIDE)

    def inertia(self, system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
        return system.hessian(t, z, v)

    def is_projected(self, system: Any) -> Any:
        return system.constraint is not None

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
