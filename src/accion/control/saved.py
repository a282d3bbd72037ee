"""Solutions that were saved."""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from accion.control.optimization import optimize
from accion.control.problem import ControlProblem
from accion.control.solution import NUMBERS, Solution
from accion.results import storage, store
from accion.results.trajectory import Trajectory, load as load_trajectory


@dataclass(frozen=True)
class SavedDetails:
    """What a file holds of a solution."""

    motion: Trajectory
    balance_multipliers: np.ndarray
    all_costates: np.ndarray

    def trajectory(self, solution: Solution) -> Trajectory:
        return self.motion

    def multipliers(self, solution: Solution) -> np.ndarray:
        return self.balance_multipliers

    def costates(self, solution: Solution) -> np.ndarray:
        return self.all_costates


def load(path: str | Path, problem: ControlProblem) -> Solution:
    """The solution of `problem` that `Solution.save` wrote.

    Raises:
        ValueError: where the file holds something else, or the solution of another problem.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(
            f"load(path, problem) needs the ControlProblem that was solved; got {problem!r}."
        )
    trajectory = load_trajectory(path, problem.system)
    if trajectory.method is None:
        raise ValueError(f"{path} does not say by which method it was made.")
    data = store.read(path, storage.TRAJECTORY).load()
    if "control_cost" not in data.attrs:
        raise ValueError(
            f"{path} holds a trajectory, not a solution of a control problem; read it by"
            " accion.load."
        )
    if data["u"].shape[1] != problem.control_count:
        raise ValueError(
            f"{path} was made with another problem: it has {data['u'].shape[1]} controls, the given"
            f" one {problem.control_count}."
        )
    details = SavedDetails(trajectory, data["balance_multipliers"].values, data["costates"].values)
    return Solution(
        problem=problem,
        method=trajectory.method,
        formulation=data.attrs["control_formulation"],
        t=np.asarray(trajectory.t),
        q=jax.tree.map(np.asarray, trajectory.q),
        t_u=data["control_time"].values,
        u=data["u"].values,
        success=bool(data.attrs["control_success"]),
        details=details,
        optimizer=optimize,
        **{name: data.attrs[f"control_{name}"] for name in NUMBERS},
    )
