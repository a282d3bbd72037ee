"""Solutions that were saved."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np

from accion.arguments import door, instance, path as path_of
from accion.checks import a_method
from accion.control.datasets import NUMBERS
from accion.control.details import Rows
from accion.control.optimization import optimize
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.methods import Method
from accion.results import storage
from accion.results.trajectory import Trajectory
from accion.types import Array, Params

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class SavedDetails:
    """What a file holds of a solution."""

    motion: Trajectory
    balance_multipliers: np.ndarray
    all_costates: np.ndarray

    def trajectory(self, solution: Solution) -> Trajectory:
        return self.motion

    def dataset(self, solution: Solution) -> "xr.Dataset":
        return self.motion.to_xarray()

    def rates(self, solution: Solution) -> Array:
        return self.motion.v

    def rows(self, solution: Solution, t: np.ndarray) -> Rows:
        found = self.motion.at(t)
        return Rows(found.q, found.v)

    def multipliers(self, solution: Solution) -> np.ndarray:
        return self.balance_multipliers

    def costates(self, solution: Solution) -> np.ndarray:
        return self.all_costates

    def cost_gradient(self, solution: Solution) -> Params:
        # It needs the multipliers of all rows, which a file does not have: it is solved once more.
        return solution.on_mesh(solution.steps).cost_gradient()


def inner_of(data: "xr.Dataset", method: Method, problem: ControlProblem) -> np.ndarray:
    """Increments of the inner points, which files of methods that have some hold."""
    if method.inner_points:
        return data["inner"].values[1:]
    return np.zeros((data.sizes["time"] - 1, 0, problem.system.space.dim))


@door(
    path=path_of,
    problem=instance(ControlProblem, "the ControlProblem that was solved"),
    method=a_method,
)
def load(path: str | Path, problem: ControlProblem, method: Method | None = None) -> Solution:
    """The solution of `problem` that `Solution.save` wrote.

    Arguments:
        path: of the Zarr store.
        problem: that was solved.
        method: the one that it was solved by, where that holds a function of yours.

    Raises:
        ValueError: where the file holds something else, the solution of another problem, or is
            damaged.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(
            f"load(path, problem) needs the ControlProblem that was solved; got {problem!r}."
        )
    data = storage.read(path)
    trajectory = Trajectory(**storage.fields_of(data, path, problem.system, method))
    if "control_cost" not in data.attrs:
        raise ValueError(
            f"{path} holds a trajectory, not a solution of a control problem; read it by"
            " accion.load."
        )
    if trajectory.method is None:
        raise ValueError(
            f"{path} was made by {data.attrs['method']}, which holds a function that no file can"
            " say; pass it: load(path, problem, method=...)."
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
        inner=inner_of(data, trajectory.method, problem),
        success=bool(data.attrs["control_success"]),
        details=details,
        optimizer=optimize,
        **{name: data.attrs[f"control_{name}"] for name in NUMBERS},
    )
