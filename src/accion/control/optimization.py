"""Optimal controls: from a problem and a mesh to a solution."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, singledispatch
from typing import Any, NamedTuple

import jax
import numpy as np

from accion import checks
from accion.arguments import count, door, one_of, positive, seed as seed_of, shown, switch
from accion.assembly import ipopt, sqp
from accion.assembly.charts import local_all
from accion.assembly.interrupts import INTERRUPTED
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.control import direct, vakonomic
from accion.control.faces import check_windows
from accion.control.first_order_details import FirstOrderDetails
from accion.control.guess import Guess, a_guess, guess_of, perturbed
from accion.control.layout import Layout, displacements
from accion.control.mesh import Steps, a_mesh, count_of, is_number, with_nodes_at
from accion.control.path_constraints import held_between_samples
from accion.control.problem import ControlProblem
from accion.control.problem_checks import TRACED
from accion.control.recovery import DirectDetails, VakonomicDetails
from accion.control.reports import Last, failure, interrupted, printer
from accion.control.scaling import scaled_program, sizes_of_guess
from accion.control.solution import Solution
from accion.control.transcription import Transcription
from accion.engines.auto import by_chosen_engine
from accion.errors import OptimizeFailed
from accion.memory import check_room
from accion.methods import Method
from accion.progress import progress_bar
from accion.results.trajectory import Trajectory
from accion.systems import Dynamics
from accion.systems.start import is_traced


class Formulation(NamedTuple):
    """How a problem becomes a program, and what follows from its solution."""

    transcribe: Callable[..., Transcription]
    details: Callable[[Any], Any]  # of the kind of system


@singledispatch
def direct_details(system: Any) -> Any:
    """What follows from a solution of the direct formulation."""
    return DirectDetails


@direct_details.register
def _(system: Dynamics) -> Any:
    return FirstOrderDetails


FORMULATIONS = {
    "direct": Formulation(direct.transcribe, direct_details),
    "vakonomic": Formulation(vakonomic.transcribe, lambda system: VakonomicDetails),
}
SOLVERS: dict[str, Callable[..., Found]] = {"sqp": sqp.solve, "ipopt": ipopt.solve}
CHARTS = 5  # changes of chart on a curved space
TURN = 1.0  # rad or so, by which a node may leave the centre of its chart


@door(
    tolerance=positive,
    spread=positive,
    max_iterations=count,
    seed=seed_of,
    progress=switch,
    throw=switch,
    guess=a_guess,
)
@by_chosen_engine
def optimize(
    problem: ControlProblem,
    method: Method,
    steps: Steps,
    guess: Solution | Trajectory | Guess | tuple[Any, ...] | None = None,
    *,
    formulation: str = "direct",
    solver: str | None = None,
    starts: int = 1,
    spread: float = 1.0,
    seed: int = 0,
    tolerance: float = 1e-9,
    max_iterations: int | None = None,
    progress: bool = False,
    throw: bool = True,
    options: dict[str, Any] | None = None,
    engine: str = "auto",
) -> Solution:
    """The controls that make the cost of `problem` least among their neighbours, on a mesh.

    Arguments:
        problem: what is to be controlled.
        method: a variational one.
        steps: 4 or more; or the places of the nodes, increasing from 0 to 1. The nearest nodes are
            moved to the times of `via`.
        guess: where to start: (q, u) at nodes and steps, or (q, u, duration), a `Solution` on any
            mesh, a `Trajectory`; without it the line between the ends.
        formulation: "direct": configurations and controls are unknown, the forced discrete
            Euler-Lagrange equations are constraints; or "vakonomic": the controls are eliminated,
            which leaves a second-order Lagrangian with second-order constraints (Vakonomic thesis,
            section 8.5).
        solver: "sqp", a method of our own on the banded system, for problems with equations only;
            "ipopt" for all others, whose own `options` may be given; None chooses.
        starts: how many times to start, the first time from the guess and then from random waves
            around it of the size `spread`, by the `seed`; the best is returned, with all local
            optima that were found in `optima`.
        tolerance: of the solver, relative to the sizes of the problem's own terms.
        max_iterations: of the solver, which has its own where it is None.
        progress: whether its iterations, or the starts, are shown.
        throw: whether failure raises, or the failed solution is returned.
        options: IPOPT's own.
        engine: of the functions that the solver is given, as for `simulate`.

    Returns:
        The local optimum that is reached from the guess.

    Raises:
        OptimizeFailed: where none is found; it names the constraint and the time where it is worst.
        Interrupted: a KeyboardInterrupt, whose `solution` is where it was when Ctrl-C was pressed.
        ValueError: where the arguments are wrong.
    """
    check(problem, method, guess, formulation, solver)
    steps, starts = mesh_steps(steps), checks.whole(starts, "starts")
    if formulation == "direct":  # the other one has no points on the way
        steps = with_nodes_at(steps, problem.places)
    check_numbers(count_of(steps) * len(method.control_places), starts, problem, options)
    first = guess_of(problem, guess, steps, method.control_places)
    limit = {} if max_iterations is None else {"max_iterations": max_iterations}
    mesh = Mesh(problem, method, steps, formulation, solver, {"tolerance": tolerance} | limit)
    if starts == 1:
        solution, found = attempt(mesh, first, options, printer(progress))
        if found.message == INTERRUPTED:
            raise interrupted(problem, solution)
        if not solution.success and throw:
            raise OptimizeFailed(failure(problem, found), found=found, solution=solution)
        return solution
    rng = np.random.default_rng(seed)
    size = spread * sizes_of_guess(problem, first).q
    guesses = [first, *(perturbed(problem, first, size, rng) for _ in range(starts - 1))]
    return best(mesh, guesses, options, progress, throw)


def mesh_steps(steps: Any) -> Steps:
    """A number of steps, or the places of the nodes, of 4 steps or more."""
    if is_number(steps):
        return checks.whole(steps, "steps", 4)
    places = a_mesh(steps, "steps")
    checks.whole(count_of(places), "the number of steps", 4)
    return places


class Mesh(NamedTuple):
    """What is solved, and how."""

    problem: ControlProblem
    method: Method
    steps: Steps
    formulation: str
    solver: str | None
    settings: dict[str, Any]  # of the solver


def check(problem: Any, method: Any, guess: Any, formulation: Any, solver: Any) -> None:
    """Raise ValueError unless the problem can be solved so."""
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem: optimize needs a ControlProblem; got {shown(problem)}.")
    if is_traced(guess):
        raise TypeError(TRACED)
    checks.check_method(problem.system, method)
    if not method.variational:
        raise ValueError(f"the method {type(method).__name__} is not variational; try Midpoint().")
    if formulation == "vakonomic":
        check_windows(method)
    for name, value, known in (
        ("formulation", formulation, FORMULATIONS),
        ("solver", solver, SOLVERS | {None: None}),
    ):
        one_of(*known)(value, name)


def check_numbers(steps: int, starts: int, problem: ControlProblem, options: Any) -> None:
    """Raise ValueError unless the settings are what they should be."""
    size = problem.system.space.dim + problem.control_count
    check_room(steps * 8 * 60 * size**2, f"steps = {steps}", "Take fewer steps.")
    check_room(starts * steps * 16 * size, f"starts = {starts}", "Take fewer starts.")
    if options is not None and not isinstance(options, dict):
        raise ValueError(
            'options must be a dictionary of IPOPT\'s own, such as {"mu_strategy": "adaptive"};'
            f" got {shown(options)}."
        )


# ---------------------------------------------------------------- from one guess


def attempt(
    mesh: Mesh, guess: Guess, options: dict[str, Any] | None, report: Callable[..., None]
) -> tuple[Solution, Found]:
    """The solution that is reached from one guess, and where the solver ended."""
    transcribe = FORMULATIONS[mesh.formulation].transcribe
    transcription = transcribe(mesh.problem, mesh.method, mesh.steps, guess.q)
    program, layout, _ = transcription
    # An integral has the unknowns of all steps in one row, which no band holds.
    banded = program.equalities_only and not mesh.problem.totals
    solver = mesh.solver or ("sqp" if banded else "ipopt")
    if solver == "sqp" and not banded:
        raise ValueError(
            'the solver "sqp" is for problems without bounds, inequalities, integrals and free'
            ' durations; use "ipopt".'
        )
    if solver == "sqp" and options:
        raise ValueError(
            'options are IPOPT\'s, and this problem is solved by "sqp"; leave out'
            f' {options!r}, or say solver="ipopt".'
        )
    last = Last(report)
    settings = mesh.settings | {"report": last} | ({"options": options} if options else {})
    solve = partial(solved_in_charts, SOLVERS[solver], layout, settings)
    x = first_unknowns(layout, mesh.method, guess)
    program = scaled_program(program, layout, guess, x, mesh.method.places[1:-1])
    try:
        found = solve(program, x)
        found = held_between_samples(layout, mesh.method, found, solve, direct.path_sizes)
    except KeyboardInterrupt:
        if last.where is None:  # before the first iteration
            raise
        iteration, point, lam = last.where
        found = sqp.ended(point, lam, iteration, False, INTERRUPTED)
    return solution_of(mesh, transcription, found, solver), found


def solved_in_charts(
    solver: Callable[..., Found],
    layout: Layout,
    settings: dict[str, Any],
    program: Program,
    x: np.ndarray,
) -> Found:
    """What `solver` finds from `x`, on a curved space with the nodes that it found as the centres
    of the charts.
    """
    found = solver(program, x, **settings)
    curved = program.chart is not None and program.chart.curved
    for _ in range(CHARTS):
        # A chart is good near its centre only: go on from where the solver ended, as the new
        # centre.
        if not curved or not found.success or np.max(np.abs(found.x[layout.e])) < TURN:
            break
        centred, x = found.program.recentred(found.x)
        found = solver(centred, x, found.lam, **settings)
    moved, x = found.program.recentred(found.x)
    return found._replace(program=moved, x=x)


def first_unknowns(layout: Layout, method: Method, guess: Guess) -> np.ndarray:
    """The vector x of a guess; inner points on the line between their nodes."""
    problem, x = layout.problem, np.zeros(layout.size)
    x[layout.e] = displacements(problem.system.space, guess.q)
    if layout.u.size:
        x[layout.u] = guess.u.reshape(layout.u.shape)
    if layout.inner.size:
        before, after = (
            jax.tree.map(lambda a, s=s: np.asarray(a)[s], guess.q)
            for s in (slice(-1), slice(1, None))
        )
        d = local_all(problem.system.space, before, after)
        x[layout.inner] = method.places[1:-1, None] * d[:, None]
    if layout.v.size:
        x[layout.v] = np.stack([problem.ends[i].v for i in (0, 1)])
    x[layout.T] = guess.duration
    return x


def solution_of(mesh: Mesh, transcription: Transcription, found: Found, solver: str) -> Solution:
    """What a solver found, as a `Solution`."""
    (_, layout, balance), problem = transcription, mesh.problem
    duration = float(found.x[layout.T[0]]) if problem.free_time else problem.longest
    t = problem.t0 + duration * layout.mesh
    q = found.program.configurations(found.x)
    details = FORMULATIONS[mesh.formulation].details(problem.system)(found, layout, balance)
    t_u, u = details.controls(t, q, mesh.method)
    return Solution(
        problem=problem,
        method=mesh.method,
        formulation=mesh.formulation,
        t=t,
        q=q,
        t_u=t_u,
        u=u,
        inner=details.inner,
        cost=found.cost,
        duration=duration,
        solver=solver,
        iterations=found.iterations,
        success=found.success,
        message=found.message,
        violation=found.violation,
        stationarity=found.stationarity,
        details=details,
        optimizer=optimize,
    )


# ---------------------------------------------------------------- from several guesses


def best(
    mesh: Mesh, guesses: list[Guess], options: dict[str, Any] | None, progress: bool, throw: bool
) -> Solution:
    """The best of the local optima that are reached from several guesses."""
    tried = []
    bar = progress_bar("starts", len(guesses)) if progress else nullcontext(sqp.silent)
    with bar as advance:
        for guess in guesses:
            solution, found = attempt(mesh, guess, options, sqp.silent)
            if found.message == INTERRUPTED:
                done = [s for s, _ in tried if s.success]
                raise interrupted(mesh.problem, min(done, key=lambda s: s.cost, default=solution))
            tried.append((solution, found))
            advance(1)
    size = max(found.program.scaled.scales.cost for _, found in tried)
    optima = distinct(sorted((s for s, _ in tried if s.success), key=lambda s: s.cost), size)
    if optima:
        return optima[0].with_optima(optima)
    solution, found = tried[0]
    if throw:
        words = failure(mesh.problem, found)
        raise OptimizeFailed(
            f"none of {len(guesses)} starts succeeded. The first: {words}",
            found=found,
            solution=solution,
        )
    return solution


def distinct(solutions: list[Solution], size: float) -> list[Solution]:
    """Solutions with the same cost and nearly the same controls are one; `size` is that of the
    cost.
    """
    found: list[Solution] = []
    controls = np.max([np.max(np.abs(s.u), axis=0) for s in solutions], axis=0, initial=0.0)
    for s in solutions:
        same = [
            k
            for k in found
            if abs(k.cost - s.cost) <= 1e-6 * max(size, abs(k.cost))
            and np.all(np.abs(k.u - s.u) <= 1e-3 * controls)
        ]
        if not same:
            found.append(s)
    return found
