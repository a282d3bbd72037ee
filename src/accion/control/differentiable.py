"""The least cost and the solution as functions of the params that JAX differentiates.

The cost has the derivative of cost + lam.rows (the envelope theorem), the solution that of its
conditions (`assembly.stationary`), by the implicit function, as `connect` has.
"""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import count, door, positive, shown
from accion.assembly.elements import all_at_once
from accion.assembly.equations import Equations
from accion.assembly.implicit import solution_change, traced_residual
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.assembly.stationary import (
    Active,
    Stationary,
    conditions,
    entries_at,
    stationary_of,
    unknowns_of,
)
from accion.control.guess import Guess, a_guess, control_times
from accion.control.layout import Layout
from accion.control.mesh import Steps
from accion.control.optimization import optimize
from accion.control.problem import ControlProblem
from accion.control.problem_checks import check_ends
from accion.control.recovery import Numbers, lagrangian_of, motion_of
from accion.control.solution import Solution
from accion.errors import BarelyHeld
from accion.memory import check_room
from accion.methods import Method
from accion.numerics.newton import EPS
from accion.results.trajectory import Trajectory
from accion.systems.start import is_traced
from accion.types import Array, Configuration, Params

NEARBY = 1e-3  # by which part params are changed to see whether the ends depend on them
SWAY = 1e-4  # of its size, by which rounding may move a solution that has derivatives


@door(guess=a_guess, tolerance=positive, max_iterations=count)
def optimum(
    problem: ControlProblem,
    method: Method,
    steps: Steps,
    guess: Solution | Trajectory | Guess | tuple[Any, ...] | None = None,
    *,
    params: Params,
    solver: str | None = None,
    tolerance: float = 1e-9,
    max_iterations: int | None = None,
    options: dict[str, Any] | None = None,
    engine: str = "auto",
) -> "Optimum":
    """What `optimize` finds with other params, as arrays that JAX differentiates by them:

        jax.grad(lambda p: optimum(problem, method, 40, params=p).cost)(params)
        jax.jacfwd(lambda p: optimum(problem, method, 40, params=p).u)(params)

    in forward and in reverse mode, any number of times. Bounds and inequalities that push count as
    equations; one that holds without a push is told (`BarelyHeld`), as there the derivatives of the
    solution differ from side to side, those of the cost do not. Points that were added to hold path
    constraints between samples stay at their part of a step.

    Arguments:
        problem, method, steps, guess: as for `optimize`.
        params: in place of those of the problem's system, built like them.
        solver, tolerance, max_iterations, options, engine: as for `optimize`.

    Raises:
        OptimizeFailed: where none is found.
        TypeError: under `jax.jit` and `jax.vmap`.
        ValueError: where the arguments are wrong, or where the solution has no derivatives.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem: optimum needs a ControlProblem; got {shown(problem)}.")
    own = problem.system
    if params is None:
        raise ValueError("params: say where the derivatives are taken, params=system.params.")
    system = checks.with_arrays(own.with_params(params))
    if jax.tree.structure(system) != jax.tree.structure(own) or any(
        np.shape(a) != np.shape(b)
        for a, b in zip(jax.tree.leaves(system), jax.tree.leaves(own), strict=True)
    ):
        raise ValueError(
            f"params must be built like those of {own.name}, {shown(own.params)}: the same keys and"
            " shapes."
        )
    given = {"solver": solver, "tolerance": tolerance, "max_iterations": max_iterations}

    asked = [is_traced(leaf) for leaf in jax.tree.leaves(system)]

    def solve(system: Any) -> Solution:
        moved = with_system(problem, system)
        check_ends_stay(problem, system, asked)
        return optimize(moved, method, steps, guess, **given, options=options, engine=engine)

    search = Search(solve)
    return Optimum(least_cost(search, system), search, system)


def with_system(problem: ControlProblem, system: Any) -> ControlProblem:
    """The problem about a system that differs in its numbers."""
    moved = copy.copy(problem)
    object.__setattr__(moved, "system", system)
    check_ends(moved)
    return moved


def check_ends_stay(problem: ControlProblem, system: Any, asked: list[bool]) -> None:
    """Raise ValueError where the ends, which are numbers, are not allowed any more when the leaves
    of the system that derivatives are asked of are a little larger.
    """
    leaves, frame = jax.tree.flatten(system)
    nearby = [
        np.where(a == 0, NEARBY, a * (1 + NEARBY)) if wanted else a
        for a, wanted in zip(leaves, asked, strict=True)
    ]
    try:
        with_system(problem, jax.tree.unflatten(frame, nearby))
    except ValueError as error:
        raise ValueError(
            "params: the ends are numbers, and with other params they would have to move, so the"
            f" optimum has no derivative by all of these. With params {NEARBY:.1%} larger {error}"
            " Differentiate by those that the ends do not depend on, params=params | {name: x}."
        ) from error


# ---------------------------------------------------------------- what is found, once


@dataclass(frozen=True, eq=False)
class Search:
    """The solution that `solve(system)` finds, of the one system of a call; and what its
    derivatives need.
    """

    solve: Callable[[Any], Solution]
    known: list[Solution] = field(default_factory=list)

    def found(self, system: Any) -> Solution:
        """The solution, looked for once."""
        if is_traced(system):
            raise TypeError(
                "optimum looks at the values of its problem, which jax.jit and jax.vmap do not"
                " know: call it outside of them, in a loop for many params; jax.grad, jvp, jacfwd"
                " and jacrev go through it."
            )
        if not self.known:
            self.known.append(self.solve(system))
        return self.known[0]

    @property
    def solution(self) -> Solution:
        return self.known[0]

    @property
    def details(self) -> Any:
        """Of the direct formulation, that of `optimize` without another."""
        return self.solution.details

    @property
    def program(self) -> Program:
        return self.details.found.program

    @cached_property
    def point(self) -> Stationary:
        """Where the conditions hold."""
        return stationary_of(self.details.found)

    @property
    def active(self) -> Active:
        return self.point.active

    @cached_property
    def equations(self) -> Equations:
        """The conditions of the solution."""
        program = self.program
        size = program.n + program.m
        found = conditions(program, self.active)
        band = found.sparsity.square
        advice = "Take fewer steps; a free duration and integrals are seen by all of them."
        check_room(8 * band.depth * band.size, f"the conditions of {size} unknowns", advice)
        return found

    @cached_property
    def entries(self) -> np.ndarray:
        """Those of the derivatives of the conditions at the solution."""
        lam = np.where(self.active.rows, self.point.lam, 0.0)
        return entries_at(self.program, self.equations, self.point.x, lam)

    @cached_property
    def checked(self) -> Equations:
        """The same, where they determine the solution.

        Raises: ValueError where they do not. Warns where one holds without a push.
        """
        equations, (size, rows, cost) = self.equations, self.program.scaled.scales
        sizes = np.concatenate([size, cost / rows])[~equations.fixed[:-1]]
        i, j = equations.places
        entries = self.entries * sizes[j] * sizes[i] / cost
        noise = np.bincount(i, EPS * np.abs(entries), len(sizes))
        band = equations.sparsity.square
        sway = band.correction(entries, np.zeros(len(sizes)), noise, sizes).sway
        if not (self.point.told and sway <= SWAY):
            raise ValueError(
                f"the solution of {self.solution.problem.name} has no derivatives: what it has to"
                " satisfy does not determine it. Something is free (a control without a cost, a"
                " symmetry), constraints depend on each other, or which limits hold cannot be told;"
                " the cost has its derivatives still."
            )
        self.warn()
        return equations

    def warn(self) -> None:
        """Warn where a bound or an inequality holds without a push."""
        program, active = self.program, self.active
        places = [program.place[active.weak_unknowns], program.row_place[active.weak_rows]]
        places = np.concatenate(places)
        if len(places):
            warnings.warn(
                f"{len(places)} of the bounds and inequalities of {self.solution.problem.name} hold"
                f" without a push, or nearly, the first at step {int(np.min(places))}: on one side"
                " of these params they are let go, so that derivatives of the solution differ from"
                " side to side. Those of the cost do not.",
                BarelyHeld,
                stacklevel=2,
            )


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def least_cost(search: Search, system: Any) -> Array:
    """The cost of what is found."""
    search.found(system)
    return jnp.asarray(search.point.cost)


@least_cost.defjvp
def least_cost_jvp(search: Search, primals: Any, tangents: Any) -> Any:
    cost, (x, lam) = least_cost(search, *primals), stationary(search, *primals)

    def lagrangian(system: Any) -> Array:
        return lagrangian_of(search.program, system, x, lam)

    return cost, jax.jvp(lagrangian, primals, tangents)[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def stationary(search: Search, system: Any) -> tuple[Array, Array]:
    """(x, lam): the unknowns and the multipliers of the rows."""
    search.found(system)
    return jnp.asarray(search.point.x), jnp.asarray(search.point.lam)


@stationary.defjvp
def stationary_jvp(search: Search, primals: Any, tangents: Any) -> Any:
    x, lam = stationary(search, *primals)
    equations, active, z = search.checked, search.active, unknowns_of(x, lam, search.active)

    def about(system: Any) -> Equations:
        families = tuple(replaced(F, system) for F in equations.families)
        moved = copy.copy(equations)
        object.__setattr__(moved, "families", families)
        return moved

    def left(system: Any) -> Array:
        return traced_residual(about(system), z)

    push = jax.jvp(left, primals, tangents)[1]
    entries = None if is_traced((primals, z)) else jnp.asarray(search.entries)
    dz = solution_change(about(*primals), z, push, entries)
    n, m = len(x), len(lam)
    return (x, lam), (dz[:n], jnp.where(active.rows, dz[n : n + m], 0.0))


def replaced(family: Any, system: Any) -> Any:
    """A family about another system."""
    moved = copy.copy(family)
    object.__setattr__(moved, "args", (system, *family.args[1:]))
    return moved


# ---------------------------------------------------------------- what is shown of it


@dataclass(frozen=True, eq=False)
class Optimum:
    """A local optimum as arrays with derivatives by the params.

    cost:       of the discrete problem
    t, q, v:    times, configurations and velocities at the nodes; of a `Dynamics` q are the states
    t_u, u:     the controls and when they act, as of a `Solution`
    duration:   which may be free
    x, lam:     all unknowns of the discrete problem, and the multipliers of its rows
    trajectory: the motion as a `Trajectory`
    solution:   the same in numbers, a `Solution`
    """

    cost: Array
    search: Search = field(repr=False)
    system: Any = field(repr=False)

    @cached_property
    def unknowns(self) -> tuple[Array, Array]:
        return stationary(self.search, self.system)

    @property
    def x(self) -> Array:
        return self.unknowns[0]

    @property
    def lam(self) -> Array:
        return self.unknowns[1]

    @property
    def solution(self) -> Solution:
        return self.search.solution

    @property
    def found(self) -> Found:
        """Where the solver ended."""
        return self.search.details.found

    @property
    def layout(self) -> Layout:
        """Where the unknowns are."""
        return self.search.details.layout

    @property
    def duration(self) -> Array:
        problem = self.solution.problem
        return self.x[self.layout.T[0]] if problem.free_time else jnp.asarray(problem.longest)

    @property
    def t(self) -> Array:
        return self.solution.problem.t0 + self.duration * self.layout.mesh

    @property
    def q(self) -> Configuration:
        base = jax.tree.map(jnp.asarray, self.found.program.base)
        return jax.vmap(self.system.space.retract)(base, self.x[self.layout.e])

    @property
    def t_u(self) -> Array:
        return control_times(self.t, self.solution.method.control_places)

    @property
    def u(self) -> Array:
        u = self.layout.u
        return self.x[u.reshape(-1, u.shape[-1])]

    @property
    def v(self) -> Array:
        return self.trajectory.v

    @cached_property
    def trajectory(self) -> Trajectory:
        s, system = self.solution, self.system
        in_numbers = s.trajectory  # a Dynamics has none
        given = Numbers(system, self.t, self.q, self.duration, self.x, self.layout)
        if not is_traced(given):
            return in_numbers
        first = self.found.program.families[0]
        args, here = (system, *first.args[1:]), self.x[first.columns]
        return motion_of(s, given, all_at_once(first.f, args, first.own_data, here)[1])
