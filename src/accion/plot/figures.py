"""Figures of a trajectory."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.arguments import lengths, shown
from accion.plot.motion import Motion
from accion.systems.base import unit_of

if TYPE_CHECKING:  # matplotlib is imported where it is wanted
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#3d405b", "#00798c", "#8d6a9f")
ALONE = 12  # runs that are drawn each by itself
WORDS = {"S": "entropies", "T": "temperatures", "z": "action"}
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


def new_figure(
    rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None
) -> tuple["Figure", np.ndarray]:
    """A figure in the house style, without a window; a notebook shows it.

    Arguments: `size` in inches. Returns: the figure, and its axes, shape (rows, columns).
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from accion.plot.picture import Picture

    style: Any = {**STYLE, "axes.prop_cycle": cycler(color=COLORS)}
    with matplotlib.rc_context(style):
        # 0.1 inches, so that a label keeps its distance from the axes beside it.
        figure = Picture(
            figsize=size or (4.8 * columns, 3.0 * rows), layout=ConstrainedLayoutEngine(w_pad=0.1)
        )
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def step_axis(ax: "Axes", hs: Sequence[float] | np.ndarray) -> None:
    """A logarithmic axis of step sizes, labelled at the ones that were run, `hs`."""
    ax.set_xscale("log")
    ax.set_xticks(hs, [f"{h:.4g}" for h in hs])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("h [s]")


def save_figure(figure: "Figure", path: str | Path) -> None:
    """Write `figure` to `path`, by its ending (png, svg, pdf)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.savefig(Path(path))


def trajectory(traj: Motion, axes: Any = None) -> Any:
    """Coordinates over time, those of one unit together, and below how the energy departs from its
    first value; of a thermal system also entropies and temperatures, of a contact system its
    action.

    Of more runs than `ALONE` the median is drawn, with bands in which half and nine tenths of them
    are. Drawn into axes that have a run, a run has colours of its own, and its method in its name.

    Arguments: `axes` of matplotlib to draw in, one for each panel.
    Returns: the figure. Raises: ValueError where `axes` are others.
    """
    below = [name for name in ("S", "T", "z", "energy") if name in traj.labels]
    panels = by_unit(*coordinates(traj))
    if axes is not None:
        axes = check_axes(axes, len(panels) + len(below))
        first = not axes[0].lines
    else:
        count = len(panels) + len(below)
        _, grid = new_figure(count, 1, (7.5, (2.6 if count < 4 else 2.0) * count))
        axes, first = grid[:, 0], True
    for ax, (unit, values, names) in zip(axes, panels, strict=False):
        draw_coordinates(ax, traj, unit, values, names)
    if traj.system and first:
        axes[0].set_title(said(traj), loc="left", fontsize=10)
    for ax, name in zip(axes[len(panels) :], below, strict=True):
        (draw_energy if name == "energy" else draw_bodies)(ax, traj, name)
    axes[-1].set_xlabel("t [s]")
    return axes[0].figure


def said(traj: Motion) -> str:
    """What was run, in a few words."""
    return f"{traj.system.name}, {traj.method}, h = {lengths(traj.h)}"


def by_unit(
    values: np.ndarray, names: tuple[str, ...]
) -> list[tuple[str, np.ndarray, tuple[str, ...]]]:
    """(unit, values, names) of the coordinates of each unit, in the order of the first of them."""
    units = [unit_of(name) for name in names]
    found = []
    for unit in dict.fromkeys(units):
        which = [i for i, each in enumerate(units) if each == unit]
        found.append((unit, values[:, :, which], tuple(names[i] for i in which)))
    return found


def draw_coordinates(
    ax: "Axes", traj: Motion, unit: str, values: np.ndarray, names: tuple[str, ...]
) -> None:
    """Coordinates of one unit, of all runs, over time."""
    before = len(ax.lines)
    more = f", {traj.method}, h = {lengths(traj.h)}" if before else ""
    # Many components are named only while the names can be read.
    words = [name + more if len(names) <= 8 else "" for name in names]
    draw_runs(ax, traj.t, values, words, before)
    common = "velocities" if all("'" in name for name in names) else "coordinates"
    ax.set_ylabel(names[0] if len(names) == 1 else common + (f" [{unit}]" if unit else ""))
    if (len(names) > 1 or before) and len(names) <= 8:
        legend(ax)


def draw_runs(
    ax: "Axes", t: Any, values: np.ndarray, words: Sequence[str], first: int, alone: float = 1.4
) -> None:
    """Each component of `values`, shape (runs, times, components), of every run over time, in
    colours from the `first`; of many runs their median and bands.
    """
    many = len(values) > ALONE
    for i, name in enumerate(words):
        color, each = COLORS[(first + i) % len(COLORS)], values[:, :, i]
        if many:
            levels = np.nanpercentile(each, (5, 25, 50, 75, 95), axis=0)
            ax.fill_between(t, levels[0], levels[4], color=color, alpha=0.15, lw=0)
            ax.fill_between(t, levels[1], levels[3], color=color, alpha=0.25, lw=0)
            ax.plot(t, levels[2], color=color, lw=alone)
        else:
            ax.plot(t, each.T, color=color, lw=alone if len(values) == 1 else 0.5)
        ax.lines[-1].set_label(name)


def draw_bodies(ax: "Axes", traj: Motion, name: str) -> None:
    """The entropies ("S") or the temperatures ("T") of all bodies, or the action ("z"), over
    time.
    """
    values, names = by_run(traj, traj.value(name)), traj.labels[name].components
    draw_runs(ax, traj.t, values, names, len(ax.lines) + 1)
    ax.set_ylabel(names[0] if len(names) == 1 else WORDS[name])
    if 1 < len(names) <= 8:
        legend(ax)


def draw_energy(ax: "Axes", traj: Motion, name: str) -> None:
    """How the energy, less what came from outside, departs from its first value."""
    E = by_run(traj, traj.value(name))
    supplied = np.zeros_like(E) if traj.supplied is None else by_run(traj, traj.supplied)
    departed = E - supplied
    before = len(ax.lines)
    draw_runs(ax, traj.t, departed - departed[:, :1], [str(traj.method)], 5 + before, 1.0)
    unit = traj.labels[name].unit
    words = "energy - first value" + ("\n- from outside" if np.any(supplied) else "")
    ax.set_ylabel(f"{words} [{unit}]" if unit else words)
    if before:
        legend(ax)


def legend(ax: "Axes") -> None:
    """The names of the lines, beside the axes, where they cover nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, frameon=False)


def check_axes(axes: Any, count: int) -> list[Any]:
    """`axes` as `count` axes of matplotlib.

    Raises: ValueError where they are something else.
    """
    from matplotlib.axes import Axes

    listed = axes.ravel() if isinstance(axes, np.ndarray) else axes
    given = list(listed) if isinstance(listed, list | tuple | np.ndarray) else [axes]
    if len(given) != count or not all(isinstance(ax, Axes) for ax in given):
        raise ValueError(
            f"axes must be {count} axes of matplotlib, such as plt.subplots({count})[1], or None"
            f" for a figure of its own; got {shown(axes)}. To draw one quantity: ax.plot(traj.t,"
            " traj.q[:, 0])."
        )
    return given


def one_axes(axes: Any) -> "Axes":
    """The axes that were given, or those of a new figure."""
    return new_figure(1, 1, (7.0, 3.6))[1][0, 0] if axes is None else check_axes(axes, 1)[0]


def coordinates(traj: Motion) -> tuple[np.ndarray, tuple[str, ...]]:
    """(values, names): coordinates, shape (runs, times, components); in place of the matrix of a
    group the velocity of the body.
    """
    if traj.system is None or traj.system.space.flat or "v" not in traj.labels:
        values = by_run(traj, traj.q)
        parts = [f"q_{i}" for i in range(len(traj.q))] if isinstance(traj.q, tuple) else ["q"]
        stored = [traj.labels[part].components for part in parts if part in traj.labels]
        names = tuple(chain(*stored)) if traj.system is None else traj.system.coordinates
        if len(names) != values.shape[-1]:
            names = tuple(f"component {i + 1}" for i in range(values.shape[-1]))
        return values, names
    space, v, rates = traj.system.space, by_run(traj, traj.v), traj.labels["v"].components
    parts, factors = (traj.q, space.factors) if isinstance(traj.q, tuple) else ((traj.q,), (space,))
    values, names, first = [], [], 0
    for part, factor in zip(parts, factors, strict=True):
        own = slice(first, first + factor.dim)
        values.append(by_run(traj, part) if factor.flat else v[:, :, own])
        names += (traj.system.coordinates if factor.flat else rates)[own]
        first += factor.dim
    return np.concatenate(values, axis=-1), tuple(names)


def by_run(traj: Motion, values: Any) -> np.ndarray:
    """The numbers of a channel, or of configurations, shape (runs, times, components)."""
    runs = len(traj.success) if traj.is_ensemble else 1
    parts = values if isinstance(values, tuple) else (values,)
    return np.concatenate(
        [np.asarray(part).reshape(runs, len(traj.t), -1) for part in parts], axis=-1
    )
