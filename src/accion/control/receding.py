"""Control by planning again and again: of each plan only the first steps are carried out."""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from accion.arguments import count, door, positive, shown
from accion.assembly.interrupts import INTERRUPTED
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.checks import check_mechanical
from accion.control import direct
from accion.control.extras import RateFrom, rate_data, with_rate_from
from accion.control.layout import Layout, displacements
from accion.control.optimization import SOLVERS, failure, optimize
from accion.control.path_constraints import (
    Broken,
    Worst,
    held_between_samples,
    names_of,
    parted,
    path_at,
    with_points,
)
from accion.control.polynomial import between
from accion.control.problem import ControlProblem
from accion.control.recovery import DirectDetails
from accion.control.run import Plant, Run, plant_of, start_of
from accion.control.solution import Solution
from accion.control.states import apart
from accion.errors import OptimizeFailed
from accion.memory import rows
from accion.methods import Method
from accion.systems import System
from accion.told import Drawn
from accion.types import Configuration, Function

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# of IPOPT's own, for a start near the optimum: its barrier begins where it would end
NEAR = {
    "warm_start_init_point": "yes",
    "mu_init": 1e-5,
    "warm_start_bound_push": 1e-7,
    "warm_start_mult_bound_push": 1e-7,
}


@dataclass(frozen=True, repr=False)
class Receding(Drawn):
    """What `receding_horizon` did.

    run:          the motion, a `Run`; off the end of the problem
    first:        the first plan, a `Solution`
    costs:        of the plans, (moves,)
    iterations:   of the solver for each
    seconds:      that each took, the first with what it takes to set the problem up
    """

    run: Run
    first: Solution
    costs: np.ndarray
    iterations: np.ndarray
    seconds: np.ndarray

    def __str__(self) -> str:
        words = ""
        if len(self.costs) > 1:
            words = (
                f", {np.mean(self.iterations[1:]):.1f} iterations and"
                f" {1e3 * np.median(self.seconds[1:]):.1f} ms each after the first"
            )
        return f"{self.run}; {len(self.costs)} plans of {self.first.steps} steps{words}"

    @cached_property
    def path_worst(self) -> dict[str, Worst]:
        """{name: (value, t)}: the largest value of each path constraint at the times of the run,
        <= 0 where it holds, with the controls that led there.
        """
        problem, run = self.run.problem, self.run
        if not problem.path:
            return {}
        t, q, v = jax.tree.map(lambda a: a[1:], (run.t, run.q, run.v))
        g, found = path_at(problem, t, q, v, run.u), {}
        for i, name in enumerate(names_of(problem)):
            here = Worst(*max(zip(g[:, i].tolist(), t.tolist(), strict=True)))
            found[name] = max(found.get(name, here), here)
        return found

    def plot(self, axes: Any = None) -> "Figure":
        """That of the run."""
        return self.run.plot(axes)


@door(moves=rows(1000), every=count, tolerance=positive)
def receding_horizon(
    problem: ControlProblem,
    method: Method,
    steps: int,
    moves: int,
    *,
    every: int = 1,
    q0: Any = None,
    v0: Any = None,
    guess: Any = None,
    disturbance: Function | None = None,
    system: System | None = None,
    solver: str | None = None,
    tolerance: float = 1e-6,
    options: dict[str, Any] | None = None,
) -> Receding:
    """Plan from where the system is, on a horizon of the problem's duration; carry out the first
    steps of the plan on the continuous equations; and again.

    Each plan starts from the last one, moved on by the steps that were carried out. What the
    problem is made of is set up once. Bounds and costs of the rates of controls count from the one
    that was applied last; the first plan starts from any.

    Arguments:
        problem: what is to be controlled: its duration is the horizon, its end that of each plan,
            its start is not used where q0 and v0 are given.
        method: a variational one, of the plans.
        steps: of a plan, 4 or more.
        moves: how many plans.
        every: steps that are carried out of each.
        q0, v0: the start.
        guess: of the first plan, as for `optimize`.
        disturbance: disturbance(t, q, v, params), a force (dim,) that the plans do not know of.
        system: another one that the controls act on, such as one with other params.
        solver, tolerance, options: as for `optimize`.

    Raises:
        OptimizeFailed: where a plan is not found; its `solution` is the first plan.
        ValueError: where an argument is wrong.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem must be a ControlProblem; got {shown(problem)}.")
    check_mechanical(problem.system, "receding_horizon")
    if problem.free_time or problem.boundary != "velocities":
        raise ValueError(
            "a receding horizon has one length: give the problem a duration that is a number, and"
            " ends (q, v)."
        )
    if problem.points or np.ndim(steps):
        raise ValueError(
            "a receding horizon has equal steps and no points at given times: give the number of"
            " steps, and leave out via."
        )
    plant = Plant(problem, plant_of(problem, system, disturbance), ())
    start = problem.ends[0]
    for name, given, fixed in (("q0", q0, start.q_fixed), ("v0", v0, start.v_fixed)):
        if given is None and not np.all(fixed):
            raise ValueError(f"{name}: the start of the problem is not given whole; say where.")
    state = start_of(problem, (start.q, start.v), q0, v0)
    problem = replace(problem, start=state)
    begun = time.perf_counter()
    first = optimize(
        problem, method, steps, guess, solver=solver, tolerance=tolerance, options=options
    )
    if every > first.steps:
        raise ValueError(f"every must be at most the steps of a plan, {first.steps}; got {every}.")
    plans = Plans(first, every, tolerance, options)
    plant = plant._replace(places=tuple(method.control_places))
    h, t = first.duration / first.steps, problem.t0
    states, controls, told = [state], [], []
    for move in range(moves):
        if move:
            begun = time.perf_counter()
            plans.go_on(t, state)
        told.append((plans.found.cost, plans.found.iterations, time.perf_counter() - begun))
        for u in plans.found.x[plans.layout.u[:every]]:
            controls.append(np.clip(between(plant.places, u, 0.5), *problem.u_bounds))
            state = plant.after(t, h, state, u)
            states.append(state)
            t += h
    q, v = jax.tree.map(lambda *a: np.stack(a), *states)
    times = problem.t0 + h * np.arange(len(states))
    off = np.stack([off_end(problem, each) for each in states])
    run = Run(problem, times, q, v, np.stack(controls), off)
    costs, iterations, seconds = (np.array(column) for column in zip(*told, strict=True))
    return Receding(run, first, costs, iterations, seconds)


def off_end(problem: ControlProblem, state: Any) -> np.ndarray:
    """By how much a state is off the end, NaN where that is free."""
    end = problem.ends[1]
    z = np.asarray(apart(problem.system.space, (end.q, end.v), state))
    return np.where(np.concatenate([end.q_fixed, end.v_fixed]), z, np.nan)


class Plans:
    """One plan after the other, each from the last one; `found` is the last."""

    def __init__(
        self, first: Solution, every: int, tolerance: float, options: dict[str, Any] | None
    ) -> None:
        assert isinstance(first.details, DirectDetails)
        self.found: Found = first.details.found
        self.layout: Layout = first.details.layout
        self.problem, self.method, self.every = first.problem, first.method, every
        plain = parted(self.found.program)[0]  # without points between samples
        self.plain = with_rate_from(self.problem, self.method, self.layout, plain)
        more = np.zeros(self.plain.m - plain.m)
        self.lam = np.insert(self.found.lam, plain.m, more)
        own = NEAR | (options or {}) if first.solver == "ipopt" else None
        self.settings = {"tolerance": tolerance} | ({} if own is None else {"options": own})
        self.solver = SOLVERS[first.solver]
        self.path_rows, self.sizes, self.names = [], np.zeros(0), []
        if self.problem.path:
            self.names = names_of(self.problem)
            self.path_rows = direct.path_rows(self.layout, self.plain)
            self.sizes = direct.path_sizes(self.layout, self.plain)

    def go_on(self, t: float, state: Any) -> None:
        """The plan from a state at the time t."""
        (program, x), lam = self.from_state(t, state), self.multipliers()
        begun = self.begun(t, state, x)
        if self.problem.path:
            program = self.with_points_of_last(self.begun_at(program, begun), begun)

        def solve(program: Program, x: np.ndarray) -> Found:
            nonlocal lam
            more = np.zeros(program.m - len(lam))
            found = self.solver(program, x, np.append(lam, more), **self.settings)
            lam = found.lam
            return found

        found = solve(program, x)
        own = self.layout, self.method
        found = held_between_samples(*own, found, solve, lambda *_: self.sizes, begun)
        if found.message == INTERRUPTED:  # IPOPT does not raise it
            raise KeyboardInterrupt
        if not found.success:
            raise OptimizeFailed(f"at t = {t:.4g}: {failure(self.problem, found)}", found=found)
        self.found, self.lam = found, found.lam

    def from_state(self, t: float, state: Any) -> tuple[Program, np.ndarray]:
        """(program, x): the problem from a state, and the last plan, moved on."""
        layout, problem, (q, v) = self.layout, self.problem, state
        space, plain = problem.system.space, self.plain
        x = self.found.x.copy()
        for block in (layout.lam, layout.u, layout.inner, layout.inner_lam):
            x[block] = moved_on(x[block], self.every)
        nodes = jax.tree.map(np.array, self.found.program.configurations(self.found.x))
        nodes = jax.tree.map(lambda a: moved_on(a, self.every), nodes)
        nodes = with_first(nodes, q)
        x[layout.e], x[layout.v[0]] = displacements(space, nodes), v
        lower, upper = plain.lower.copy(), plain.upper.copy()
        for side in (lower, upper):
            side[layout.e[0]], side[layout.v[0]] = x[layout.e[0]], v
        families = tuple(
            replace(F, args=(F.args[0], np.float64(t), *F.args[2:])) for F in plain.families
        )
        if isinstance(families[-1].f, RateFrom):
            applied = self.found.x[layout.u[self.every - 1, -1]]
            data = rate_data(self.method, layout, applied)
            families = (*families[:-1], replace(families[-1], data=data))
        moved = replace(plain, lower=lower, upper=upper)
        moved.__dict__.update(sparsity=plain.sparsity, fixed=plain.fixed)
        moved = moved.with_families(families)
        if not space.flat:
            moved = moved.with_base(nodes)
        return moved, np.where(moved.fixed, moved.lower, x)

    # ------------------------------------------------------------ path constraints

    def begun(self, t: float, state: Any, x: np.ndarray) -> np.ndarray:
        """By how much path constraints are broken where a plan starts: by the push that led there,
        which no plan undoes. On its first step they may stay so.
        """
        if not self.problem.path:
            return np.zeros(0)
        u = between(self.method.control_places, x[self.layout.u[0]], 0.0)
        at = jax.tree.map(lambda a: np.asarray(a)[None], (np.float64(t), *state, u))
        return np.maximum(path_at(self.problem, *at)[0], 0.0)

    def begun_at(self, program: Program, begun: np.ndarray) -> Program:
        """A program whose path constraints may be `begun` at the samples of the first step."""
        upper, first = program.row_upper.copy(), 0
        for own in self.path_rows:
            upper[own[0]] = begun[first : first + own.shape[2]]
            first += own.shape[2]
        known = {"sparsity": program.sparsity, "fixed": program.fixed}
        program = replace(program, row_upper=upper)
        program.__dict__.update(known)
        return program

    def points(self) -> Broken | None:
        """Where the last plan asks for path constraints between samples."""
        return parted(self.found.program)[1]

    def with_points_of_last(self, program: Program, begun: np.ndarray) -> Program:
        """A program with those points besides, moved on."""
        points = self.points()
        if points is None or not np.any(points.k >= self.every):
            return program
        later = points.k >= self.every
        moved = Broken(points.k[later] - self.every, points.s[later], points.which[later])
        own = self.names, self.sizes, begun
        return with_points(self.layout, self.method, program, moved, *own)

    def multipliers(self) -> np.ndarray:
        """Those of the last plan, moved on."""
        count, points = self.plain.m, self.points()
        lam, more = self.lam[:count].copy(), self.lam[count:]
        numbers = self.plain.families[0].rows
        before, after = numbers[: len(numbers) - self.every], numbers[self.every :]
        both = (before >= 0) & (after >= 0)
        lam[before[both]] = self.lam[after[both]]
        if points is None:
            return lam
        point, _ = np.nonzero(points.which)
        return np.append(lam, more[points.k[point] >= self.every])


def moved_on(a: np.ndarray, count: int) -> np.ndarray:
    """Rows without the first ones; the last is repeated."""
    return np.concatenate([a[count:], np.repeat(a[-1:], count, axis=0)])


def with_first(nodes: Configuration, q: Configuration) -> Configuration:
    """The nodes of a path with another first one."""
    return jax.tree.map(lambda a, b: np.concatenate([np.asarray(b)[None], a[1:]]), nodes, q)
