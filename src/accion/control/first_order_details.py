"""What follows from where a solver ended, in problems about a `Dynamics`: rates and costates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from accion.assembly.sqp import Found
from accion.control.details import Rows
from accion.control.guess import control_times
from accion.control.layout import Layout
from accion.control.path_constraints import Motion
from accion.control.recovery import params_gradient, slope_of
from accion.control.solution import Solution
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.systems import Dynamics
from accion.types import Array, Configuration, Params, Scalar, Vector

if TYPE_CHECKING:
    import xarray as xr


def rates_at(system: Dynamics, t: Scalar, x: Vector, u: Vector) -> Array:
    """x' at one time."""
    return system.rates(t, x, u)


@dataclass(frozen=True)
class FirstOrderDetails:
    """The same as `DirectDetails` of states x; `balance` are the rows of the rates, shape (steps,
    rows).
    """

    found: Found
    layout: Layout
    balance: np.ndarray

    def controls(self, t: np.ndarray, q: Configuration, method: Method) -> Any:
        """(t_u, u): those of a step at its places."""
        return control_times(t, method.control_places), np.concatenate(self.found.x[self.layout.u])

    @property
    def inner(self) -> np.ndarray:
        """Increments of the inner points of the steps, shape (steps, inner points, states)."""
        return self.found.x[self.layout.inner]

    def dataset(self, solution: Solution) -> "xr.Dataset":
        import xarray as xr  # takes long to import

        s, system = solution, solution.problem.system
        rows = ("time", "coordinate")
        variables = {
            "x": (rows, np.asarray(s.q), {"long_name": "states"}),
            "rates": (rows, np.asarray(s.v), {"long_name": "rates of the states"}),
        }
        coords = {
            "time": ("time", s.t, {"long_name": "time", "units": "s"}),
            "coordinate": ("coordinate", np.array(system.names)),
            "unit": ("coordinate", np.array(system.units)),
        }
        return xr.Dataset(variables, coords, {"title": system.name, "method": repr(s.method)})

    def rates(self, solution: Solution) -> np.ndarray:
        s = solution
        point = (s.t, np.asarray(s.q), s.control(s.t))
        return np.asarray(at_times(rates_at, False, s.problem.system, *point))

    def rows(self, solution: Solution, t: np.ndarray) -> Rows:
        s = solution
        u = s.control_pieces()[1]
        motion = Motion(s.problem, s.method, s.t, s.q, u, s.inner)
        k = np.clip(np.searchsorted(s.t, t, side="right") - 1, 0, s.steps - 1)
        return Rows(*motion.states(k, (t - s.t[k]) / np.diff(s.t)[k]))

    def trajectory(self, solution: Solution) -> NoReturn:
        raise ValueError(
            "a Dynamics has no momenta, and its motion is no Trajectory: t, x and u of the solution"
            " are its times, states and controls, and at(t) the states between."
        )

    def multipliers(self, solution: Solution) -> np.ndarray:
        return np.append(self.found.lam, 0.0)[self.balance]

    def costates(self, solution: Solution) -> np.ndarray:
        """Minus the derivatives of the least cost that is left, shape (times, states)."""
        return -slope_of(self.found, solution)

    def cost_gradient(self, solution: Solution) -> Params:
        return params_gradient(self.found)
