"""Pictures of errors: over the step, over the time that they cost, over the time of the motion."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from accion.plot.figures import COLORS, legend, one_axes, step_axis

MARKS = "osD^vP*X"


def orders(h: np.ndarray, lines: Mapping[str, np.ndarray], quantity: str, axes: Any = None) -> Any:
    """Lines over the step, both logarithmic, with the slopes that their names tell.

    Arguments: `h`, the steps; `lines`, by name, each of the shape of `h`, NaN where it is left out.
    Returns: the figure.
    """
    ax = one_axes(axes)
    before = len(ax.get_lines())
    for i, (name, values) in enumerate(lines.items(), start=before):
        ax.loglog(h, values, f"{MARKS[i % len(MARKS)]}-", ms=4, color=color(i), label=name)
    step_axis(ax, h)
    ax.set_ylabel(quantity)
    legend(ax)
    return ax.figure


def color(i: int) -> str:
    return COLORS[i % len(COLORS)]


def work(
    left: Any, right: Any, names: list[str], seconds: Any, errors: Any, energies: Any, unit: str
) -> None:
    """Errors over processor time in the axes `left`, energies over time in the axes `right`.

    Arguments: `seconds` and `errors`, a row for each method, a column for each step; `energies`,
    (t, change of the energy) of each method; `unit` of the energy.
    """
    for i, name in enumerate(names):
        mark = f"{MARKS[i % len(MARKS)]}-"
        left.loglog(seconds[i] * 1e3, errors[i], mark, ms=4, color=color(i))
        t, change = energies[i]
        largest = np.maximum.accumulate(np.abs(change))
        right.semilogy(t, np.where(largest > 0, largest, np.nan), lw=1.2, color=color(i))
        right.lines[-1].set_label(name)
    left.set(xlabel="time of the processor [ms]", ylabel="error at the end, as a part of the size")
    left.xaxis.set_major_formatter("{x:.3g}")
    left.xaxis.set_minor_formatter("{x:.3g}")
    unit = f" [{unit}]" if unit else ""
    right.set(xlabel="t [s]", ylabel=f"largest change of the energy so far{unit}")
    handles, words = right.get_legend_handles_labels()
    columns = 2 if len(names) > 2 else len(names)
    left.figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False)
