"""What a trajectory of a thermal system says about heat, entropy and the laws of thermodynamics."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.errors import SecondLawViolated
from accion.types import Array, Configuration, Function, Scalar, Vector

if TYPE_CHECKING:
    from accion.results.trajectory import Trajectory


def check_thermal(trajectory: "Trajectory") -> None:
    """Raise ValueError unless its system is there and has entropies."""
    if trajectory.S is None:
        raise ValueError("temperatures, heat and entropy production belong to a ThermalSystem.")
    trajectory.check_system()


def of_each_body(trajectory: "Trajectory", f: Function) -> Array:
    """`f(system, t, z, v)` at each saved time: a number for each body, as the user has them."""
    check_thermal(trajectory)
    return trajectory.system.frame.shown(trajectory.each(f, trajectory.z, trajectory.v))


def temperature(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    return system.temperature(t, z, v)


def heating(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    return system.heating(t, z, v)


def dissipation(system: Any, t: Scalar, z: Configuration, v: Vector) -> Array:
    return system.dissipation(t, z, v)


@dataclass(frozen=True)
class Production:
    """What is made of entropy in each body, and the heat that it exchanges with the others; see
    `Trajectory.entropy_production`.
    """

    outside: Function | None

    def __call__(self, system: Any, t: Scalar, z: Configuration, v: Vector) -> tuple[Array, Array]:
        heat = system.heating(t, z, v)
        if self.outside is not None:
            exchanged = heat - jnp.reshape(system.evaluate(self.outside, t, z, v), heat.shape)
        else:
            exchanged = jnp.zeros_like(heat) if system.frame.m == 1 else heat
        return (system.dissipation(t, z, v) + exchanged) / system.temperature(t, z, v), exchanged


def entropy_production(trajectory: "Trajectory", outside: Function | None) -> Array:
    """See `Trajectory.entropy_production`."""
    check_thermal(trajectory)
    made, exchanged = trajectory.each(Production(outside), trajectory.z, trajectory.v)
    if not isinstance(exchanged, Tracer):
        check_exchanged(np.asarray(exchanged))
    return trajectory.system.frame.shown(made)


def check_exchanged(heat: np.ndarray) -> None:
    """Raise ValueError where what bodies exchange does not add up to zero, shape (..., m)."""
    net, size = np.abs(np.sum(heat, axis=-1)), np.sum(np.abs(heat), axis=-1)
    if np.any(net > 1e-9 * np.nanmax(size, initial=0.0)):
        raise ValueError(
            f"heat comes from outside: the powers into the bodies add up to {np.nanmax(net):.3g} W"
            " at a time, and which body it enters is not known. Say so:"
            " entropy_production(outside=lambda t, q, v, S, params: ...), the power from outside"
            " into each body."
        )


def first_law(trajectory: "Trajectory") -> Array:
    """See `Trajectory.first_law`."""
    if trajectory.supplied is None:
        raise ValueError("first_law belongs to a ThermalSystem; see `energy` for others.")
    E = trajectory.energy()
    return E - E[..., :1] - trajectory.supplied


def worst(trajectory: "Trajectory") -> tuple[tuple[float, int, int], tuple[float, int, int]]:
    """Of each law the run that keeps it least: ((least change of entropy, step, member), (largest
    push, step, member)).
    """
    laws = trajectory.laws
    if laws is None:
        raise ValueError("the laws of thermodynamics are watched in runs of thermal systems alone.")
    least, push = np.atleast_1d(laws.least), np.atleast_1d(laws.push)
    i, j = int(np.argmin(least)), int(np.argmax(push))
    return (float(least[i]), int(np.atleast_1d(laws.least_step)[i]), i), (
        float(push[j]),
        int(np.atleast_1d(laws.push_step)[j]),
        j,
    )


def warn_of_second_law(trajectory: "Trajectory") -> None:
    """Warn where friction gave energy, or the total entropy became less in a step without cooling,
    by more than rounding; nothing of a system without entropies.
    """
    laws = trajectory.laws
    if laws is None:
        return
    (least, k, i), (push, l, j) = worst(trajectory)
    t0, h = float(trajectory.t[0]), float(trajectory.h)

    def where(step: int, member: int) -> str:
        run = f"member {member}, " if trajectory.is_ensemble else ""
        return f"{run}step {step} (t = {t0 + step * h:.6g})"

    if push > 1e-9 * np.atleast_1d(laws.friction)[j]:
        message = (
            f"friction gives energy instead of taking it: F_fr.v h = {push:.3g} > 0 in"
            f" {where(l, j)}. Friction must oppose the velocity; a force that drives belongs to"
            " `external`."
        )
    elif least < 0 and np.any(np.atleast_1d(laws.least) < -1e-13 * rounding(trajectory)):
        message = (
            f"the total entropy became less by {-least:.3g} in {where(k, i)}, though the bodies"
            " exchange heat only among themselves. EnergyConsistent does so where friction is"
            " weaker than its error; otherwise look at the signs of `heat`."
        )
    else:
        return
    warnings.warn(message, SecondLawViolated, stacklevel=4)


def rounding(trajectory: "Trajectory") -> np.ndarray | float:
    """For each run the entropy whose last digit a step cannot see: the largest energy over the
    least temperature.
    """
    if "T" not in trajectory.labels:
        return np.inf  # what it calls entropy need not obey the second law
    runs = len(np.atleast_1d(trajectory.success))
    E, T = (
        np.asarray(a).reshape(runs, -1) for a in (trajectory.energy(), trajectory.temperature())
    )
    return np.nanmax(np.abs(E), axis=1) / np.nanmin(T, axis=1)
