"""What a trajectory of a thermal system says about heat, entropy and the first law."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.systems.functions import check_returns, evaluate
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
    return trajectory.system.frame.as_given(trajectory.each(f, trajectory.points, trajectory.v))


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
    if outside is not None:
        check_outside(trajectory.system, outside)
    made, exchanged = trajectory.each(Production(outside), trajectory.points, trajectory.v)
    if not isinstance(exchanged, Tracer):
        check_exchanged(np.asarray(exchanged))
    return trajectory.system.frame.as_given(made)


def check_outside(system: Any, outside: Function) -> None:
    """Raise ValueError unless `outside` returns a power for each body."""
    arguments = system.examples("t, q, v, S, params")
    out = evaluate("outside", outside, *arguments, takes="(t, q, v, S, params)")
    words = f"the power into each body, shape {system.entropy_shape}"
    check_returns("outside", out, system.entropy_shape, words)


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
