"""What a trajectory says about its bodies and about the laws of thermodynamics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import at_least, door, wrong
from accion.checks import a_function
from accion.results.trajectory import Trajectory, a_trajectory
from accion.stepping.laws import worst
from accion.systems.functions import check_returns, evaluate
from accion.thermo.bodies import Body, fills_volume
from accion.types import Array, Configuration

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset


@door(trajectory=a_trajectory, volume=a_function("q"), which=at_least(0))
def states(
    trajectory: Trajectory,
    body: Body,
    volume: Callable[[Configuration], Array] | None = None,
    which: int = 0,
) -> "Dataset":
    """T, P, U, V and S of one body along a trajectory, as an xarray.Dataset.

    Arguments: `body`, its equation of state; `volume(q)`, the volume that it fills; `which`, its
    number among several entropies.
    Raises: ValueError where the trajectory has no such body, or its volume is missing.
    """
    import xarray as xr

    if trajectory.S is None:
        raise ValueError("states needs a trajectory of a ThermalSystem, which has an entropy.")
    if not isinstance(body, Body):
        wrong("body", "an equation of state, such as IdealGas or Solid", body)
    if not 0 <= which < len(trajectory.entropies):
        raise ValueError(
            f"which must be the number of a body, from 0 to {len(trajectory.entropies) - 1}; got"
            f" {which!r}."
        )
    if volume is None and fills_volume(body):
        raise ValueError("a gas needs its volume: states(trajectory, gas, volume=lambda q: ...).")
    S = trajectory.S if trajectory.S.ndim == trajectory.p.ndim - 1 else trajectory.S[..., which]
    V = jnp.full(S.shape, jnp.nan)
    if volume is not None:
        first = jax.tree.map(lambda a: a[(0,) * S.ndim], trajectory.q)
        found = evaluate("volume", volume, first, takes="(q), a configuration")
        check_returns("volume", found, (), "a number, the volume at q")
        over_time = jax.vmap(volume)
        V = (jax.vmap(over_time) if trajectory.is_ensemble else over_time)(trajectory.q)
    given = None if volume is None else V
    dims = ("run", "time") if trajectory.is_ensemble else ("time",)
    quantities = {
        "T": (body.T(S, given), "temperature", "K"),
        "P": (body.P(S, given), "pressure", "Pa"),
        "U": (body.U(S, given), "internal energy", "J"),
    }
    quantities["S"] = (S, "entropy", "J/K")
    if volume is not None:
        quantities["V"] = (V, "volume", "m^3")
    variables = {
        name: (dims, np.asarray(values), {"long_name": words, "units": unit})
        for name, (values, words, unit) in quantities.items()
    }
    return xr.Dataset(
        variables, {"time": ("time", np.asarray(trajectory.t), {"long_name": "time", "units": "s"})}
    )


@final
@dataclass(frozen=True)
class LawsKept:
    """How well a run keeps the two laws: see `laws`.

    `least_step` and `push_step` are the numbers of the steps of `least` and `push`.
    """

    first: float
    first_relative: float
    least: float
    least_step: int
    push: float
    push_step: int

    def __str__(self) -> str:
        least = (
            "every step was cooled"
            if not np.isfinite(self.least)
            else (
                f"total entropy changed by at least {self.least:+.3e} J/K in a step (step"
                f" {self.least_step})"
            )
        )
        return "\n".join(
            [
                (
                    f"first law:  |E - E_0 - energy from outside| <= {self.first:.3e} J,"
                    f" {self.first_relative:.1e} of the energy"
                ),
                (
                    f"second law: {least}; friction took at least {-self.push:+.3e} J in a step"
                    f" (step {self.push_step})"
                ),
            ]
        )


@door(trajectory=a_trajectory)
def laws(trajectory: Trajectory) -> LawsKept:
    """The largest error of the first law at the saved times, and the extremes of the second over
    all steps; of an ensemble the worst run.

    `least` is the least change of the total entropy in a step in which bodies exchange heat only
    among themselves (inf where there is none), `push` the largest energy that friction gave in a
    step; the second law wants least >= 0 and push <= 0.
    """
    error, E = np.abs(np.asarray(trajectory.first_law())), np.abs(np.asarray(trajectory.energy()))
    (least, least_step, _), (push, push_step, _) = worst(trajectory)
    first, size = float(np.nanmax(error)), float(np.nanmax(E))
    return LawsKept(first, first / size if first > 0 else 0.0, least, least_step, push, push_step)
