"""Optimal controls: from a problem and a mesh to a solution."""

from functools import partial

import numpy as np
from rich.console import Console

from accion import checks
from accion.assembly import sqp
from accion.control import between, direct, ipopt, vakonomic
from accion.control.collect import Refined, solution_of
from accion.control.guess import guess_of, shaken
from accion.control.layout import displacements
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.errors import OptimizeFailed
from accion.methods import GeneralizedAlpha
from accion.progress import progress_bar

FORMULATIONS = {"direct": direct, "vakonomic": vakonomic}
SOLVERS = {"sqp": sqp.solve, "ipopt": ipopt.solve}
CHARTS = 5  # changes of chart on a curved space
TURN = 1.0  # rad or so, by which a node may leave the centre of its chart


def optimize(
    problem,
    method,
    steps,
    guess=None,
    *,
    formulation="direct",
    solver=None,
    starts=1,
    spread=1.0,
    seed=0,
    tolerance=1e-9,
    max_iterations=None,
    progress=False,
    throw=True,
    options=None,
):
    """The controls that make the cost of `problem` least among their neighbours, on `steps` equal
    steps. Returns a `Solution`.

    formulation:  "direct": configurations and controls are unknown, the forced discrete
                  Euler-Lagrange equations are constraints; or "vakonomic": the controls are
                  eliminated, which leaves a second-order Lagrangian with second-order constraints
                  (004 section 8.5)
    guess:        where to start: (q, u) at nodes and steps, a `Solution` on any mesh, a
                  `Trajectory`; without it the line between the ends
    starts:       how many times to start, the first time from the guess and then from random waves
                  around it of the size `spread`; the best is returned, with all local optima that
                  were found in `optima`
    solver:       "sqp", a method of our own on the banded system, for problems with equations only;
                  "ipopt" for all others, whose own `options` may be given; None chooses

    Failure raises `OptimizeFailed`, which names the constraint and the time where it is worst; with
    throw=False the failed solution is returned.
    """
    check(problem, method, formulation, solver)
    steps, starts = checks.whole(steps, "steps", 4), checks.whole(starts, "starts")
    check_numbers(tolerance, spread, max_iterations, seed, options)
    first = guess_of(problem, guess, steps)
    rng = np.random.default_rng(seed)
    guesses = [first, *(shaken(problem, first, spread, rng) for _ in range(starts - 1))]
    settings = {"tolerance": tolerance, "options": options} | (
        {} if max_iterations is None else {"max_iterations": max_iterations}
    )
    if starts == 1:
        solution, found = attempt(
            problem, method, steps, first, formulation, solver, settings, printer(progress)
        )
        if not solution.success and throw:
            raise OptimizeFailed(failure(problem, found), found=found, solution=solution)
        return solution
    return best(problem, method, steps, guesses, formulation, solver, settings, progress, throw)


def check(problem, method, formulation, solver):
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"optimize needs a ControlProblem; got {problem!r}.")
    checks.check_method(problem.system, method)
    if isinstance(method, GeneralizedAlpha):
        raise ValueError("GeneralizedAlpha is not variational; try Midpoint().")
    for name, value, known in (
        ("formulation", formulation, FORMULATIONS),
        ("solver", solver, SOLVERS | {None: None}),
    ):
        if not any(value == each for each in known):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")


def check_numbers(tolerance, spread, max_iterations, seed, options):
    for name, value in (("tolerance", tolerance), ("spread", spread)):
        if not checks.is_finite_number(value) or value <= 0:
            raise ValueError(f"{name} must be a positive number; got {value!r}.")
    if max_iterations is not None:
        checks.whole(max_iterations, "max_iterations")
    checks.whole(seed, "seed", 0)
    if options is not None and not isinstance(options, dict):
        raise ValueError(
            'options must be a dictionary of IPOPT\'s own, such as {"mu_strategy": "adaptive"};'
            f" got {options!r}."
        )


def printer(progress):
    """The function (iteration, cost, violation, slope) that shows how far a solver is."""
    if not progress:
        return lambda *_: None
    console = Console()
    console.print("iteration          cost   violation       slope")
    return lambda i, cost, off, slope, *_: console.print(
        f"{i:9d} {cost:13.8g} {off:11.3e} {slope:11.3e}"
    )


def attempt(problem, method, steps, guess, formulation, solver, settings, report):
    """(solution, found) from one guess."""
    program, layout, balance = FORMULATIONS[formulation].transcribe(problem, method, steps, guess.q)
    solver = solver or ("sqp" if program.equalities_only else "ipopt")
    if solver == "sqp" and not program.equalities_only:
        raise ValueError(
            'the solver "sqp" is for problems without bounds, inequalities and free durations; use'
            ' "ipopt".'
        )
    if solver == "sqp" and settings["options"]:
        raise ValueError(
            'options are IPOPT\'s, and this problem is solved by "sqp"; leave out'
            f' {settings["options"]!r}, or say solver="ipopt".'
        )
    x = first_unknowns(problem, layout, guess)
    own = {key: value for key, value in settings.items() if key != "options" or value}
    solve = partial(settled, SOLVERS[solver], layout, {"report": report, **own})
    found = between.held(problem, layout, solve(program, x), solve)
    return solution_of(problem, method, formulation, layout, balance, found, solver), found


def settled(solver, layout, settings, program, x):
    """What `solver` finds from `x`, on a curved space with the nodes that it found as the centres
    of the charts.
    """
    found = solver(program, x, **settings)
    for _ in range(CHARTS):
        # A chart is good near its centre only: go on from where the solver ended, as the new
        # centre.
        if (
            not program.chart.curved
            or not found.success
            or np.max(np.abs(found.x[layout.e])) < TURN
        ):
            break
        centred, x = found.program.recentred(found.x)
        found = solver(centred, x, found.lam, **settings)
    moved, x = found.program.recentred(found.x)
    return found._replace(program=moved, x=x)


def first_unknowns(problem, layout, guess):
    x = np.zeros(layout.size)
    x[layout.e] = displacements(problem.system.space, guess.q)
    if layout.u.size:
        x[layout.u] = guess.u
    if layout.v.size:
        x[layout.v] = np.stack([problem.ends[i].v for i in (0, 1)])
    x[layout.T] = guess.duration
    return x


def failure(problem, found):
    """What a failed optimisation says: why it ended, which constraints are worst and when, and what
    to try.
    """
    program = found.program
    _, g = program.values(found.x)
    off = np.maximum(np.maximum(program.row_lower - g, g - program.row_upper), 0.0)
    worst = [i for i in np.argsort(-off)[:3] if off[i] > 1e-7]
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


def best(problem, method, steps, guesses, formulation, solver, settings, progress, throw):
    """The best of the local optima that are reached from several guesses."""
    solved, failed = [], []
    if progress:
        with progress_bar("starts", len(guesses)) as advance:
            for guess in guesses:
                record(
                    attempt(
                        problem, method, steps, guess, formulation, solver, settings, printer(False)
                    ),
                    solved,
                    failed,
                )
                advance(1)
    else:
        for guess in guesses:
            record(
                attempt(
                    problem, method, steps, guess, formulation, solver, settings, printer(False)
                ),
                solved,
                failed,
            )
    if not solved:
        solution, found = failed[0]
        if throw:
            raise OptimizeFailed(
                f"none of {len(guesses)} starts succeeded. The first: {failure(problem, found)}",
                found=found,
                solution=solution,
            )
        return solution
    optima = distinct(sorted(solved, key=lambda s: s.cost))
    return optima[0].with_optima(optima)


def record(result, solved, failed):
    solution, found = result
    (solved.append(solution) if solution.success else failed.append((solution, found)))


def distinct(solutions):
    """Solutions with the same cost and nearly the same controls are one."""
    kept = []
    for s in solutions:
        size = max(float(np.max(np.abs(s.u))), 1e-12)
        same = [
            k
            for k in kept
            if abs(k.cost - s.cost) <= 1e-6 * max(1.0, abs(k.cost))
            and np.max(np.abs(k.u - s.u)) <= 1e-3 * size
        ]
        if not same:
            kept.append(s)
    return kept


def halved(solution):
    """`solution` on a mesh of half the steps."""
    if solution.steps % 2 or solution.steps < 8:
        raise ValueError(
            f"half of {solution.steps} steps is no mesh: an even number, 8 or more, is needed."
        )
    same = {"formulation": solution.formulation, "solver": solution.solver}
    return optimize(solution.problem, solution.method, solution.steps // 2, guess=solution, **same)


def refine(solution, *, tolerance=1e-4, max_steps=10_000, progress=False):
    """`solution` on finer and finer meshes, each of twice the steps, until the estimated relative
    error of the cost is below `tolerance`.

    Returns a `Refined`: the last solution, the cost extrapolated to h = 0 (Richardson) with its
    error, and the costs of all meshes.
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
        same = {
            "formulation": solution.formulation,
            "solver": solution.solver,
            "progress": progress,
        }
        solution = optimize(solution.problem, solution.method, finer, guess=solution, **same)
        steps.append(finer)
        costs.append(solution.cost)
        correction = (costs[-1] - costs[-2]) / (2**order - 1)
    return Refined(
        solution, solution.cost + correction, abs(correction), tuple(steps), tuple(costs)
    )
