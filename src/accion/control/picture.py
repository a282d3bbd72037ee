"""A picture of a solution: coordinates, velocities and controls, with their bounds."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from accion.control.bounds import Bounds
from accion.control.guess import control_times
from accion.control.problem import ControlProblem
from accion.plot.figures import check_axes, legend, new_figure
from accion.systems.base import unit_of, word_of
from accion.types import ArrayLike, Configuration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 9  # points of a step in which there is more than its ends


class Panel(NamedTuple):
    """Curves that are drawn together: values at times `t`, shape (times, curves), one name, unit
    and pair of bounds for each; `edges` of steps on which they are constant, None for smooth ones.
    """

    title: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    t: np.ndarray
    values: np.ndarray
    bounds: Bounds
    edges: np.ndarray | None = None


def state_panels(
    problem: ControlProblem, t: np.ndarray, q: Configuration, v: ArrayLike
) -> list[Panel]:
    """Coordinates, where the space is flat, and velocities."""
    system, panels = problem.system, []
    if system.space.flat:
        leaves = [np.asarray(leaf).reshape(len(t), -1) for leaf in jax.tree.leaves(q)]
        values = np.concatenate(leaves, axis=1)
        panels.append(
            Panel("configuration", system.names, system.units, t, values, problem.q_bounds)
        )
    units = tuple(f"{unit}/s" if unit else "" for unit in system.units)
    panels.append(Panel("velocity", system.names, units, t, np.asarray(v), problem.v_bounds))
    return panels


def control_panel(
    problem: ControlProblem, t: np.ndarray, u: np.ndarray, edges: np.ndarray | None
) -> Panel:
    """The controls."""
    names, units = (tuple(map(part, problem.controls)) for part in (word_of, unit_of))
    return Panel("control", names, units, t, u, problem.u_bounds, edges)


def panels_of(solution: Any) -> list[Panel]:
    """Those of a `Solution`: states at the nodes, and between those of long steps what is there."""
    s, curves = solution, control_curve(solution)
    if not s.method.inner_points:
        return [*state_panels(s.problem, s.t, s.q, s.v), control_panel(s.problem, *curves)]
    times = np.append(control_times(s.t, np.linspace(0.0, 1.0, DRAWN)[:-1]), s.t[-1])
    rows = s.at(times)
    return [*state_panels(s.problem, times, rows.q, rows.v), control_panel(s.problem, *curves)]


def control_curve(solution: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(t, u, edges) of the controls, see `Panel`."""
    s = solution
    if s.formulation == "vakonomic":
        return s.t_u, s.u, None
    if len(s.method.control_places) == 1:
        return s.t_u, s.u, s.t
    # Polynomials may jump at the nodes: each ends just before them.
    times = control_times(s.t, np.linspace(0.0, 1.0 - 1e-9, DRAWN))
    return times, s.control(times), None


def picture(panels: list[Panel], title: str, axes: Any = None) -> "Figure":
    """Draw into `axes` (as many as there are panels) or a new figure, which is returned."""
    if axes is None:
        figure, axes = new_figure(len(panels), 1, (7.5, 2.2 * len(panels)))
    else:
        axes = check_axes(axes, len(panels))
        figure = axes[0].figure
    for axis, panel in zip(np.ravel(axes), panels, strict=True):
        draw(panel, axis)
    np.ravel(axes)[-1].set_xlabel("t [s]")
    np.ravel(axes)[0].set_title(title, loc="left", fontsize=10)
    return figure


def draw(panel: Panel, axis: Any) -> None:
    """Draw the curves of a panel and, dotted, their bounds."""
    for j, (name, unit) in enumerate(zip(panel.names, panel.units, strict=True)):
        label, values = f"{name} [{unit}]" if unit else name, panel.values[:, j]
        if panel.edges is None:
            (curve,) = axis.plot(panel.t, values, label=label)
        else:
            values = np.append(values, values[-1])
            (curve,) = axis.step(panel.edges, values, where="post", label=label)
        for side in panel.bounds:
            if np.isfinite(side[j]):
                axis.axhline(side[j], color=curve.get_color(), linestyle=":", linewidth=1)
    axis.set_ylabel(panel.title)
    legend(axis)
