"""Figures of a trajectory."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from accion.systems.entropic import Frame

COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#3d405b", "#00798c", "#8d6a9f")
STYLE = {
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def new_figure(rows=1, columns=1, size=None):
    """A figure in the house style, without a window: (figure, axes)."""
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    style: Any = {**STYLE, "axes.prop_cycle": cycler(color=COLORS)}
    with matplotlib.rc_context(style):
        # 0.1 inches, so that a label keeps its distance from the axes beside it.
        figure = Figure(
            figsize=size or (4.8 * columns, 3.0 * rows), layout=ConstrainedLayoutEngine(w_pad=0.1)
        )
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def step_axis(ax, hs):
    """A logarithmic axis of step sizes, labelled at the ones that were run."""
    ax.set_xscale("log")
    ax.set_xticks(hs, [f"{h:.4g}" for h in hs])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("h [s]")


def save_figure(figure, path):
    """Write `figure` to `path`, by its ending (png, svg, pdf)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.savefig(Path(path))


def trajectory(traj, axes=None):
    """Each coordinate over time and, below, how the energy departs from its first value; of a
    thermal system also entropies and temperatures.

    Returns the figure. `axes` are two, for a thermal system four.
    """
    no_energy = traj.system is not None and traj.system.discrete_time
    panels = 2 if traj.S is None or no_energy else 4
    if axes is not None:
        axes = check_axes(axes, panels)
    else:
        figure, grid = new_figure(panels, 1, (7.5, 2.6 * panels))
        axes = grid[:, 0]
    top, *middle, bottom = axes
    figure = top.figure
    t = np.asarray(traj.t)
    runs = len(traj.success) if traj.is_ensemble else 1
    values, names = shown(traj, len(t), runs)
    # Many components or runs are drawn thin, and named only while the names can be read.
    for i, name in enumerate(names):
        top.plot(t, values[:, :, i].T, color=COLORS[i % len(COLORS)], lw=1.4 if runs == 1 else 0.5)
        top.lines[-1].set_label(name if len(names) <= 8 else None)
    top.set_ylabel("coordinates" if len(names) > 1 else str(*names))
    if len(names) > 1 and len(names) <= 8:
        top.legend(loc="upper right", ncols=math.ceil(len(names) / 4))
    if traj.system:
        top.set_title(
            f"{traj.system.name}, {traj.method}, h = {float(traj.h):g}", loc="left", fontsize=10
        )
    if no_energy:
        thermal_panels((bottom,), traj, t, runs)
        bottom.set_xlabel("t [s]")
        return figure
    if middle:
        thermal_panels(middle, traj, t, runs)
        supplied = np.asarray(traj.supplied).reshape(runs, -1)
    else:
        supplied = np.zeros((runs, len(t)))
    E = np.asarray(traj.energy()).reshape(runs, -1) - supplied
    for run in E:
        bottom.plot(t, run - run[0], color=COLORS[5], lw=1.0 if runs == 1 else 0.5)
    bottom.set_ylabel(
        "energy - first value" if not np.any(supplied) else "energy - first value\n- from outside"
    )
    bottom.set_xlabel("t [s]")
    return figure


def check_axes(axes, count):
    """`axes` as `count` axes of matplotlib."""
    from matplotlib.axes import Axes

    given = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(given) != count or not all(isinstance(ax, Axes) for ax in given):
        raise ValueError(
            f"axes must be {count} axes of matplotlib, such as plt.subplots({count})[1], or None"
            f" for a figure of its own; got {axes!r}. To draw one quantity: ax.plot(traj.t,"
            " traj.q[:, 0])."
        )
    return given


def thermal_panels(axes, traj, t, runs):
    """Entropies and, with two axes, temperatures over time."""
    panels = [("entropies", traj.S, traj.entropies)]
    if len(axes) > 1:
        panels.append(
            ("temperatures", traj.temperature(), Frame(None, traj.entropies).temperatures)
        )
    for ax, (word, values, names) in zip(axes, panels, strict=True):
        values = np.asarray(values).reshape(runs, len(t), -1)
        for i, name in enumerate(names):
            ax.plot(
                t,
                values[:, :, i].T,
                color=COLORS[(i + 1) % len(COLORS)],
                lw=1.4 if runs == 1 else 0.5,
            )
            ax.lines[-1].set_label(name)
        ax.set_ylabel(word if len(names) > 1 else names[0])
        if 1 < len(names) <= 8:
            ax.legend(loc="upper right")


def shown(traj, times, runs):
    """(values, names): coordinates, shape (runs, times, components); in place of the matrix of a
    group the velocity of the body.
    """
    own = traj.system.coordinates if traj.system is not None else ()
    space = traj.system.space if traj.system is not None else None
    if space is None or space.flat:
        values = flat_coordinates(traj.q, times, runs)
        return values, (
            own
            if len(own) == values.shape[-1]
            else tuple(f"component {i + 1}" for i in range(values.shape[-1]))
        )
    parts, factors = (traj.q, space.factors) if isinstance(traj.q, tuple) else ((traj.q,), (space,))
    v = flat_coordinates(traj.v, times, runs)
    values, names, first = [], [], 0
    for part, factor in zip(parts, factors, strict=True):
        end = first + factor.dim
        values.append(flat_coordinates(part, times, runs) if factor.flat else v[:, :, first:end])
        names += [name if factor.flat else rate_name(name) for name in own[first:end]]
        first = end
    return np.concatenate(values, axis=-1), tuple(names)


def rate_name(name):
    """ "theta [rad]" -> "theta' [rad/s]"."""
    word, *unit = name.split(" [")
    return word + "'" + (f" [{unit[0].rstrip(']')}/s]" if unit else "")


def flat_coordinates(q, times, runs):
    """The numbers of configurations, shape (runs, times, components)."""
    parts = q if isinstance(q, tuple) else (q,)
    return np.concatenate([np.asarray(part).reshape(runs, times, -1) for part in parts], axis=-1)
