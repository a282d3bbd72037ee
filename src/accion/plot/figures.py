"""Figures of a trajectory."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.arguments import lengths, shown
from accion.plot.motion import Motion

if TYPE_CHECKING:  # matplotlib is imported where it is wanted
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#3d405b", "#00798c", "#8d6a9f")
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
    """Each coordinate over time and, below, how the energy departs from its first value; of a
    thermal system also entropies and temperatures, of a contact system its action.

    Arguments: `axes` of matplotlib to draw in, one for each of them: two, of a thermal system four,
    of a contact system three.
    Returns: the figure. Raises: ValueError where `axes` are others.
    """
    labels = traj.labels
    below = [name for name in ("S", "T", "z", "energy") if name in labels]
    if axes is not None:
        axes = check_axes(axes, 1 + len(below))
    else:
        _, grid = new_figure(1 + len(below), 1, (7.5, 2.6 * (1 + len(below))))
        axes = grid[:, 0]
    draw_coordinates(axes[0], traj)
    for ax, name in zip(axes[1:], below, strict=True):
        (draw_energy if name == "energy" else draw_bodies)(ax, traj, name)
    axes[-1].set_xlabel("t [s]")
    return axes[0].figure


def draw_coordinates(ax: "Axes", traj: Motion) -> None:
    """The coordinates of all runs over time."""
    values, names = coordinates(traj)
    # Many components or runs are drawn thin, and named only while the names can be read.
    for i, name in enumerate(names):
        ax.plot(traj.t, values[:, :, i].T, color=COLORS[i % len(COLORS)], lw=width(values, 1.4))
        ax.lines[-1].set_label(name if len(names) <= 8 else "")
    ax.set_ylabel("coordinates" if len(names) > 1 else str(*names))
    if len(names) > 1 and len(names) <= 8:
        legend(ax)
    if traj.system:
        ax.set_title(
            f"{traj.system.name}, {traj.method}, h = {lengths(traj.h)}", loc="left", fontsize=10
        )


def draw_bodies(ax: "Axes", traj: Motion, name: str) -> None:
    """The entropies ("S") or the temperatures ("T") of all bodies, or the action ("z"), over
    time.
    """
    values, names = by_run(traj, traj.value(name)), traj.labels[name].components
    for i, component in enumerate(names):
        color = COLORS[(i + 1) % len(COLORS)]
        ax.plot(traj.t, values[:, :, i].T, color=color, lw=width(values, 1.4))
        ax.lines[-1].set_label(component)
    ax.set_ylabel(names[0] if len(names) == 1 else WORDS[name])
    if 1 < len(names) <= 8:
        legend(ax)


def draw_energy(ax: "Axes", traj: Motion, name: str) -> None:
    """How the energy, less what came from outside, departs from its first value."""
    E = by_run(traj, traj.value(name))[:, :, 0]
    supplied = np.zeros_like(E) if traj.supplied is None else by_run(traj, traj.supplied)[:, :, 0]
    for run in E - supplied:
        ax.plot(traj.t, run - run[0], color=COLORS[5], lw=width(E, 1.0))
    unit = traj.labels[name].unit
    words = "energy - first value" + ("\n- from outside" if np.any(supplied) else "")
    ax.set_ylabel(f"{words} [{unit}]" if unit else words)


def legend(ax: "Axes") -> None:
    """The names of the lines, beside the axes, where they cover nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def width(values: np.ndarray, alone: float) -> float:
    """Of a line: `alone` for one run, thin for several."""
    return alone if len(values) == 1 else 0.5


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


def coordinates(traj: Motion) -> tuple[np.ndarray, tuple[str, ...]]:
    """(values, names): coordinates, shape (runs, times, components); in place of the matrix of a
    group the velocity of the body.
    """
    if traj.system is None or traj.system.space.flat or "v" not in traj.labels:
        values, q = by_run(traj, traj.q), traj.labels.get("q")
        stored = () if q is None else q.components
        names = stored if traj.system is None else traj.system.coordinates
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
