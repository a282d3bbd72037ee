"""A solution as an xarray.Dataset."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

# what a file has of a solution, besides its arrays
NUMBERS = ("cost", "duration", "iterations", "message", "violation", "stationarity", "solver")


def dataset_of(solution: Any, data: "xr.Dataset") -> "xr.Dataset":
    """The dataset of a motion with its controls, costates and multipliers."""
    s = solution
    words = {"long_name": "time of a control", "units": "s"}
    data = data.assign_coords(control_time=("control_time", s.t_u, words))
    costates = np.asarray(s.costates)
    levels = ("time", "level", "coordinate") if costates.ndim == 3 else ("time", "coordinate")
    # those of rates are of steps, those of momenta of nodes
    where = ("time", "coordinate") if len(s.multipliers) == len(s.t) else ("step", "row")
    data = data.assign(
        u=(
            ("control_time", "control"),
            s.u,
            {"long_name": f"control, {', '.join(s.problem.controls)}"},
        ),
        costates=(levels, costates, {"long_name": "costates of (q, v), or of states"}),
        balance_multipliers=(where, s.multipliers, {"long_name": "multipliers of the balances"}),
    )
    if s.inner.size:
        own = np.pad(s.inner, ((1, 0), (0, 0), (0, 0)), constant_values=np.nan)
        words = {"long_name": "increments of inner points of the step before"}
        data = data.assign(inner=(("time", "inner_point", "coordinate"), own, words))
    return data.assign_attrs(
        {f"control_{name}": getattr(s, name) for name in (*NUMBERS, "formulation")}
        | {"control_success": int(s.success)}
    )
