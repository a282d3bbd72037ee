"""A control problem on a mesh: what all formulations make of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from accion.assembly.charts import Chart
from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.assembly.program import Program
from accion.control.layout import Layout
from accion.control.mesh import Steps, places_of
from accion.control.problem import ControlProblem


class Transcription(NamedTuple):
    """A problem on a mesh: the program, where its unknowns are, and the numbers of the rows at the
    nodes, -1 where there are none.
    """

    program: Program
    layout: Layout
    balance: np.ndarray


def program_of(layout: Layout, rows: RowNumbers, families: Sequence[Family]) -> Program:
    """The program of all families, with the bounds of the layout."""
    lower, upper = layout.bounds()
    row_lower, row_upper, row_place = rows.arrays()
    chart = Chart(layout.problem.system.space, layout.e)
    bounds = (lower, upper, row_lower, row_upper)
    return Program(tuple(families), *bounds, layout.place(), row_place, rows.label, chart)


def time_words(problem: ControlProblem, steps: Steps) -> Callable[[float], str]:
    """The function of a number of steps that says when that is."""
    mesh = places_of(steps)

    def when(k: float) -> str:
        part = np.interp(k, np.arange(len(mesh)), mesh)
        return f"at t = {problem.t0 + part * problem.longest:.4g}"

    return when


def bounded_velocities(problem: ControlProblem) -> np.ndarray:
    """Which components of the velocity have bounds, shape (dim,)."""
    return np.isfinite(problem.v_bounds[0]) | np.isfinite(problem.v_bounds[1])
