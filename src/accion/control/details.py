"""What follows from where a solver ended, computed when it is asked for; or from a file."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from accion.results.trajectory import Trajectory
from accion.types import Configuration, Params

if TYPE_CHECKING:
    import xarray as xr

    from accion.control.solution import Solution


class Rows(NamedTuple):
    """Configurations, or states, and velocities, or rates, at some times."""

    q: Configuration
    v: Any


class Details(Protocol):
    """What follows from where a solver ended, computed when it is asked for; or from a file."""

    def trajectory(self, solution: "Solution") -> Trajectory: ...

    def dataset(self, solution: "Solution") -> "xr.Dataset": ...

    def rates(self, solution: "Solution") -> Any: ...

    def rows(self, solution: "Solution", t: np.ndarray) -> Rows: ...

    def multipliers(self, solution: "Solution") -> np.ndarray: ...

    def costates(self, solution: "Solution") -> np.ndarray: ...

    def cost_gradient(self, solution: "Solution") -> Params: ...
