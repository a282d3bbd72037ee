"""Pictures of Lyapunov exponents and of Poincare sections."""

from typing import Any

import numpy as np

from accion.plot.figures import COLORS, check_axes, new_figure, one_axes

DRAWN = 4000  # points of a running estimate


def exponents(
    t: np.ndarray, running: np.ndarray, uncertainty: np.ndarray, title: str, axes: Any = None
) -> Any:
    """Running estimates of exponents over time, each with its uncertainty at the end.

    Arguments: `t`, shape (rows,); `running`, shape (rows, k); `axes`, one of matplotlib.
    Returns: the figure.
    """
    ax = one_axes(axes)
    which = np.unique(np.linspace(0, len(t) - 1, DRAWN).astype(int))
    for i, error in enumerate(uncertainty):
        color = COLORS[i % len(COLORS)]
        words = f"{running[-1, i]:.4g}" + (f" $\\pm$ {error:.1g}" if np.isfinite(error) else "")
        ax.plot(t[which], running[which, i], color=color, lw=1.2, label=words)
    ax.axhline(0.0, color="#777777", lw=0.7)
    late = running[len(running) // 20 :]
    low, high = np.min(late), np.max(late)
    room = 0.15 * (high - low) or 1.0
    ax.set(ylim=(low - room, high + room), xlabel="t [s]", ylabel="exponents [1/s]")
    ax.set_title(title, loc="left", fontsize=10)
    if len(uncertainty) <= 12:
        ax.legend(loc="upper right", fontsize=8, frameon=False)
    return ax.figure


def section(
    x: tuple[str, np.ndarray],
    y: tuple[str, np.ndarray],
    run: np.ndarray,
    title: str,
    axes: Any = None,
) -> Any:
    """The points of a section, a colour for each run.

    Arguments: `x`, `y`, (name, values) of the axes; `run`, the number of the run of each point;
    `axes`, one of matplotlib. Returns: the figure.
    """
    ax = new_figure(1, 1, (6.0, 5.2))[1][0, 0] if axes is None else check_axes(axes, 1)[0]
    numbers = np.unique(run)
    size = float(np.clip(300 / np.sqrt(max(len(run), 1)), 0.7, 4.0))
    for i, number in enumerate(numbers):
        here = run == number
        color = COLORS[i % len(COLORS)]
        own: Any = {"ls": "none", "marker": "o", "mew": 0, "ms": size, "snap": False}
        ax.plot(x[1][here], y[1][here], color=color, rasterized=True, **own)
    ax.set(xlabel=x[0], ylabel=y[0])
    ax.set_title(title, loc="left", fontsize=10)
    return ax.figure
