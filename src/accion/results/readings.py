"""What follows from the state of a system at one time: its velocity, energy and temperatures."""

from typing import Any

from accion.instant import constrained
from accion.systems.weights import in_full, local, logs_at
from accion.types import Array, Configuration, Covector, Multipliers, Scalar, Vector


def velocity(system: Any, t: Scalar, z: Configuration, p: Covector, guess: Vector) -> Vector:
    """v with p = dL/dv, under the constraints where there are some; of a system with a weight w, p
    is over w.
    """
    here = local(system, t)
    return constrained.legendre(here.system, here.t, z, p, guess)[0]


def energy(
    system: Any, t: Scalar, z: Configuration, v: Vector, lam: Multipliers | None = None
) -> Scalar:
    """E = dL/dv.v - L; of a system with a weight w, lam is over w."""
    here = local(system, t)
    return in_full(system, t, here.system.energy(here.t, z, v, lam))


def log_weight(system: Any, t: Scalar) -> Scalar:
    """log |w| of the weight w, 0 where there is none."""
    return logs_at(system, t).log


def energy_of(system: Any, t: Scalar, q: Configuration, jets: Array, p: Array) -> Scalar:
    """E = sum_s p_s.q^(s+1) - L of a system of higher order."""
    return system.energy_of(t, q, jets, p)


def temperature(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    """T = -dL/dS, shape (m,)."""
    return system.temperature(t, z, v)


def heating(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    """The power P_H that flows into each body, shape (m,)."""
    return system.heating(t, z, v)


def dissipation(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    """The power -F_fr.v that friction turns into heat in each body, shape (m,)."""
    return system.dissipation(t, z, v)


def no_velocities(system: Any) -> str:
    """Why a system has no v, in words."""
    return (
        f"{system.name} is given in discrete time: it has no velocities and no energy, only what"
        " its discrete motion has."
    )
