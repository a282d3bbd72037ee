"""Solutions on finer and finer meshes."""

from typing import NamedTuple

from accion import checks
from accion.control.solution import Solution
from accion.errors import OptimizeFailed


class Refined(NamedTuple):
    """A solution on the finest mesh, the cost extrapolated to h = 0 with an estimate of its error,
    and the meshes on the way.
    """

    solution: Solution
    cost: float
    error: float
    steps: tuple[int, ...]
    costs: tuple[float, ...]


def refine(
    solution: Solution, *, tolerance: float = 1e-4, max_steps: int = 10_000, progress: bool = False
) -> Refined:
    """`solution` on finer and finer meshes, each of twice the steps, until the estimated relative
    error of the cost is below `tolerance`.

    Arguments:
        solution: what `optimize` returned.
        tolerance: of the cost, relative.
        max_steps: the most steps of a mesh.
        progress: whether the iterations of the solver are shown.

    Returns:
        The last solution, the cost extrapolated to h = 0 (Richardson) with its error, and the costs
        of all meshes.

    Raises:
        OptimizeFailed: where the error is still larger with so many steps.
    """
    if not isinstance(solution, Solution):
        raise ValueError(f"refine needs a Solution, as optimize returns it; got {solution!r}.")
    if not checks.is_finite_number(tolerance) or tolerance <= 0:
        raise ValueError(f"tolerance must be a positive number; got {tolerance!r}.")
    order = solution.method.order or 1
    steps, costs, correction = [solution.steps], [solution.cost], float("inf")
    while abs(correction) > tolerance * max(abs(solution.cost), 1e-300):
        finer = 2 * solution.steps
        if finer > max_steps:
            words = (
                f"the error of the cost is still {abs(correction):.3g} with {solution.steps} steps;"
                " raise max_steps or the tolerance."
            )
            raise OptimizeFailed(words, solution=solution)
        solution = solution.on_mesh(finer, progress=progress)
        steps.append(finer)
        costs.append(solution.cost)
        correction = (costs[-1] - costs[-2]) / (2**order - 1)
    return Refined(
        solution, solution.cost + correction, abs(correction), tuple(steps), tuple(costs)
    )
