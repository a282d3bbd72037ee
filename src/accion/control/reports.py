"""What an optimisation says while it goes on, when it is interrupted and when it fails."""

from collections.abc import Callable
from typing import Any

import numpy as np

from accion.assembly import sqp
from accion.assembly.sqp import Found
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.errors import Interrupted


def printer(progress: bool) -> Callable[..., None]:
    """The function (iteration, cost, violation, slope) that shows how far a solver is."""
    if not progress:
        return sqp.silent
    from rich.console import Console  # takes long to import

    console = Console()
    console.print("iteration          cost   violation       slope")

    def show(i: int, cost: float, off: float, slope: float, *_: Any) -> None:
        console.print(f"{i:9d} {cost:13.8g} {off:11.3e} {slope:11.3e}")

    return show


class Last:
    """A report that remembers where the solver was."""

    def __init__(self, report: Callable[..., None]) -> None:
        self.report, self.where = report, None

    def __call__(self, i: int, cost: float, off: float, slope: float, *where: Any) -> None:
        if where:
            self.where = (i, *where)
        self.report(i, cost, off, slope)


def interrupted(problem: ControlProblem, solution: Solution) -> Interrupted:
    """The error of Ctrl-C, with what was found until then."""
    return Interrupted(
        f"the optimisation of {problem.name} was interrupted after {solution.iterations}"
        " iterations; the error's `solution` holds the controls there, and may be the guess of"
        " another.",
        solution=solution,
    )


def failure(problem: ControlProblem, found: Found) -> str:
    """What a failed optimisation says: why it ended, which constraints are worst and when, and what
    to try.
    """
    program = found.program
    _, g = program.values(found.x)
    off = np.maximum(np.maximum(program.row_lower - g, g - program.row_upper), 0.0)
    relative = off / program.scaled.scales.rows
    worst = [i for i in np.argsort(-relative)[:3] if relative[i] > 1e-7]
    words = "; ".join(f"{program.row_label(int(i))} is off by {off[i]:.3g}" for i in worst)
    if words:
        return (
            f"no controls were found for {problem.name}: {found.message}. Worst: {words}. The end"
            f" may not be reachable in the duration of {problem.longest:g} with these bounds; or"
            " the guess is too symmetric or too far: try starts=10, or a guess of your own."
        )
    return (
        f"no optimum was found for {problem.name}: {found.message} after {found.iterations}"
        f" iterations (cost {found.cost:.6g}, slope {found.stationarity:.2g}); the constraints that"
        " were asked for are satisfied. Try a coarser mesh first and its solution as guess=, or"
        " starts=10."
    )
