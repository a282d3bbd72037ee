"""Whether the steps of a thermal system have one continuation, in both directions of time."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from accion.analysis.inputs import check_every_step
from accion.arguments import door
from accion.engines.xla import kept_jit
from accion.results.trajectory import Trajectory, a_trajectory
from accion.stepping.views import discrete
from accion.told import Told


@dataclass(frozen=True, repr=False)
class ThermalRegularity(Told):
    """The two matrices of Bonich Def 3.25 at each step of a trajectory, shape (steps, dim + m, dim
    + m), and how well they can be inverted.

    `forward` are derivatives by the end of a step, `backward` by its start. A discrete system is
    regular where both are; near a trajectory it then has one continuation in each direction
    (Bonich, Thm 3.26). That there is a trajectory does not follow (Bonich, Ex 3.29).
    """

    forward: np.ndarray
    backward: np.ndarray

    @property
    def conditions(self) -> np.ndarray:
        """Condition numbers, rows and columns measured by their own size, shape (steps, 2)."""
        pairs = zip(self.forward, self.backward, strict=True)
        return np.array([[scaled_condition(a), scaled_condition(b)] for a, b in pairs])

    @property
    def regular(self) -> bool:
        """Whether all of them can be inverted in floating point."""
        return bool(np.max(self.conditions) < 1 / (len(self.forward[0]) * np.finfo(float).eps))

    def __str__(self) -> str:
        worst = np.max(self.conditions, axis=0)
        verdict = "regular" if self.regular else "singular"
        return (
            f"The discrete thermomechanical system is {verdict} along the trajectory: condition at"
            f" most {worst[0]:.3g} by the end of a step, {worst[1]:.3g} by its start."
        )


@door(trajectory=a_trajectory)
def thermal_regularity(trajectory: Trajectory) -> ThermalRegularity:
    """The two matrices of Bonich Def 3.25 along a trajectory of a thermal system.

    Arguments:
        trajectory: one run, every step of which was saved, with its system.

    Reference: Bonich, Def 3.25 and Thm 3.26.
    """
    system, method, h, steps = steps_of(trajectory, "thermal_regularity")
    return ThermalRegularity(*map(np.asarray, both_ways(system, method, h, *steps)))


def steps_of(trajectory: Any, what: str) -> Any:
    """(system, method, h, (times, starts and ends of all steps)) of a run of a thermal system.

    Raises: ValueError where it is no such run, or not every step of it was saved.
    """
    if trajectory.S is None or trajectory.is_ensemble:
        raise ValueError(f"{what} needs a trajectory of one run of a thermal system.")
    if not bool(trajectory.success) or trajectory.system is None:
        raise ValueError(f"{what} needs a run that went well, with its system.")
    check_every_step(trajectory, what)
    first, second = (
        jax.tree.map(lambda a, part=part: a[part], (trajectory.q, trajectory.S))
        for part in (slice(None, -1), slice(1, None))
    )
    return (
        trajectory.system,
        trajectory.method,
        trajectory.h,
        (trajectory.t[:-1], first, second),
    )


@partial(kept_jit, static_argnums=(1,))
def both_ways(system: Any, method: Any, h: Any, t: Any, first: Any, second: Any) -> Any:
    """The two matrices of Bonich Def 3.25 of each step."""
    d = discrete(system, method)
    return jax.vmap(lambda t, z0, z1: d.matrices(t, h, z0[0], z1[0], z0[1], z1[1]))(
        t, first, second
    )


def scaled_condition(M: np.ndarray) -> float:
    """The condition number after rows and columns are divided by their largest entries."""
    rows = np.max(np.abs(M), axis=1, keepdims=True)
    M = M / np.where(rows > 0, rows, 1.0)
    columns = np.max(np.abs(M), axis=0, keepdims=True)
    return float(np.linalg.cond(M / np.where(columns > 0, columns, 1.0)))
