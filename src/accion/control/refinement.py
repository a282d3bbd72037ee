"""Solutions on finer and finer meshes: of half the steps, or of steps where they are needed."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import count, door, instance, positive, switch
from accion.control.mesh import equal, halved
from accion.control.replay import missed_by_steps
from accion.control.scaling import sizes_along
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
    order = solution.cost_order
    steps, costs, correction = [solution.steps], [solution.cost], float("inf")
    while abs(correction) > tolerance * max(abs(solution.cost), 1e-300):
        if 2 * solution.steps > max_steps:
            words = (
                f"the error of the cost is still {abs(correction):.3g} with {solution.steps} steps;"
                " raise max_steps or the tolerance."
            )
            raise OptimizeFailed(words, solution=solution)
        mesh = solution.mesh
        finer = 2 * solution.steps if equal(mesh) else halved(mesh)
        solution = solution.on_mesh(finer, progress=progress)
        steps.append(solution.steps)
        costs.append(solution.cost)
        correction = (costs[-1] - costs[-2]) / (2**order - 1)
    return Refined(
        solution, solution.cost + correction, abs(correction), tuple(steps), tuple(costs)
    )


# ---------------------------------------------------------------- steps where they are needed

ROUNDS = 10  # of other meshes
MOST = 4.0  # by which the number of steps grows from mesh to mesh
STILL = 1e-6  # part of the size of a motion, below which it is one of the solver's tolerance


@door(solution=instance(Solution, "a Solution, as optimize returns it"))
def step_errors(solution: Solution) -> np.ndarray:
    """By how much each step misses where the continuous equations lead from its start under its
    controls, as part of the size of the motion, shape (steps,).

    They say nothing of how well the controls are those of the continuous problem: where they jump
    between nodes no step misses anything.
    """
    s, problem = solution, solution.problem
    start = jax.tree.map(lambda a: jnp.asarray(a)[0], s.q)
    x = jax.vmap(lambda q: problem.system.space.local(start, q))(jax.tree.map(jnp.asarray, s.q))
    units = sizes_along(problem.system, problem, s.t, s.q, np.asarray(s.v))
    found = np.zeros(s.steps)
    pairs = zip(
        missed_by_steps(problem.system, problem, s),
        (x, s.v),
        (units.share, units.share / units.T),
        strict=True,
    )
    for miss, size, unit in pairs:
        reach = np.max(np.abs(np.asarray(size)) / unit) + STILL
        found = np.maximum(found, np.max(np.abs(miss) / unit, axis=1) / reach)
    return found


@door(
    solution=instance(Solution, "a Solution, as optimize returns it"),
    tolerance=positive,
    max_steps=count,
    progress=switch,
)
def adapt(
    solution: Solution,
    *,
    tolerance: float = 1e-6,
    max_steps: int = 2000,
    progress: bool = False,
) -> Solution:
    """`solution` on a mesh with its steps where they are needed: short where they miss much of the
    continuous motion, until each misses less than `tolerance` (`step_errors`).

    Errors of a step of the length h go as h^(order + 1): lengths are chosen so that all are alike.

    Arguments:
        solution: of the direct formulation.
        tolerance: of each step, as part of the size of the motion.
        max_steps: the most steps of a mesh.
        progress: whether the iterations of the solver are shown.

    Raises:
        OptimizeFailed: where steps still miss more with so many of them.
    """
    power = 1.0 / ((solution.method.order or 1) + 1)
    for _ in range(ROUNDS):
        errors = step_errors(solution)
        if np.max(errors) <= tolerance:
            return solution
        # how many steps of the right length each is to become
        with np.errstate(over="ignore"):
            parts = np.clip((errors / (SAFE * tolerance)) ** power, 1e-3, 1e6)
        wanted = int(np.ceil(min(np.sum(parts), MOST * solution.steps)))
        wanted = max(wanted + wanted % 2, 4)  # even, for `Solution.richardson`
        if wanted > max_steps:
            break
        total = np.append(0.0, np.cumsum(parts))
        mesh = np.interp(np.linspace(0, total[-1], wanted + 1), total, solution.mesh)
        solution = solution.on_mesh(mesh, progress=progress)
    worst = float(np.max(step_errors(solution)))
    raise OptimizeFailed(
        f"steps still miss up to {worst:.2g} of the size of the motion with {solution.steps} of"
        " them; raise max_steps or the tolerance, or take a method of higher order.",
        solution=solution,
    )


SAFE = 0.3  # of the tolerance, that is aimed at
