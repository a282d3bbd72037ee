"""The direct formulation: configurations and controls are unknowns, the discrete equations of
motion their constraints.

    minimise   terminal + sum_k h sum_i w_i C(t_i, q_i, v_i, u_i)
    such that  the forced discrete Euler-Lagrange equations hold (`control.mechanics`)

with u constant on each step (Ober-Bloebaum, Junge and Marsden, Discrete mechanics and optimal
control, 2011), or, where a method has inner points, one u_i at each of its samples: then inner
points are unknown too, and D_inner Ld + F_inner = 0 are equations. At s Gauss points this has order
2s in states and costates (Hager 2000; Bonnans and Laurent-Varin 2006). Under constraints inner
points have multipliers of their own, and the constraint holds there too (holonomic) or at each
sample (nonholonomic), as in a step of `simulate`: order 2s again, as measured; the forces lam_k at
the nodes have order s. Everything that a step adds is one function of its two ends.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.assembly.program import Program
from accion.control import first_order as first_order, mechanics as mechanics
from accion.control.extras import goal, rate_gaps, via_points
from accion.control.layout import Layout, base_of, layout_of
from accion.control.mesh import Steps
from accion.control.path_constraints import components
from accion.control.problem import ControlProblem
from accion.control.span import Span, args_of, columns_of, rows_of_steps, span_of, start_and_end
from accion.control.transcription import Transcription, bounded_velocities, program_of, time_words
from accion.methods import Method
from accion.types import Array, Configuration, Function


@dataclass(frozen=True)
class Step:
    """What a step adds: its cost; its equations; velocities, integrals and path constraints."""

    span: Span
    equations: Any
    cost: Function
    integrals: tuple[Function, ...]
    path: tuple[Function, ...]
    bounded_velocity: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        base, span = data
        system, here = args[0], self.span(args, base, span, x)
        at = [
            (s.w, (s.t, s.q, s.v, u, system.params))
            for s, u in zip(here.samples, here.u, strict=True)
        ]
        cost = jnp.asarray(here.h * sum(w * self.cost(*point) for w, point in at))
        rows = self.equations(system, here)
        if self.bounded_velocity:
            rows += [s.v for s in here.samples]
        rows += [
            jnp.atleast_1d(here.h * sum(w * jnp.asarray(g(*point)) for w, point in at))
            for g in self.integrals
        ]
        rows += [jnp.atleast_1d(g(*point)) for g in self.path for _, point in at]
        return cost, jnp.concatenate(rows)


def transcribe(
    problem: ControlProblem, method: Method, steps: Steps, q: Configuration
) -> Transcription:
    """The direct formulation, displacements measured from the configurations `q` at the steps + 1
    nodes.
    """
    layout, rows = layout_of(problem, steps, method), RowNumbers()
    base, system = base_of(problem.system.space, q), problem.system
    equations, numbers, balance = rows_of_steps(system, problem, method, layout, rows)
    f = Step(
        span_of(problem, method),
        equations,
        problem.cost,
        tuple(g for g, _ in problem.totals.values()),
        tuple(problem.path.values()),
        bool(np.any(bounded_velocities(problem))),
    )
    numbers = [*numbers, *inequalities(problem, method, layout, f, rows)]
    k, pairs = np.arange(layout.steps), np.arange(layout.steps)[:, None] + np.arange(2)
    columns, numbers = columns_of(layout, k), np.concatenate(numbers, axis=1)
    families = [Family(f, args_of(problem), layout.spans, columns, numbers, pairs, base)]
    if problem.boundary == "velocities":
        families += start_and_end(system, problem, layout, rows, balance, base)
        families += goal(problem, layout, rows, base)
    families += rate_gaps(problem, method, layout, rows)
    families += via_points(problem, method, layout, rows, base)
    return Transcription(program_of(layout, rows, families), layout, balance)


def sample_count(problem: ControlProblem, method: Method) -> int:
    """How many samples a step has."""
    space = problem.system.space
    return len(method.samples(space, 0.0, 1.0, space.identity(), jnp.zeros(space.dim)))


def path_rows(layout: Layout, program: Program) -> list[np.ndarray]:
    """The rows of each path constraint, shape (steps, samples, components): they are the last of a
    step, of each constraint sample by sample.
    """
    counts, rows = components(layout.problem).values(), program.families[0].rows
    f = program.families[0].f
    samples = sample_count(layout.problem, f.span.method)  # pyright: ignore[reportFunctionMemberAccess]
    first, found = rows.shape[1] - samples * sum(counts), []
    for count in counts:
        own = rows[:, first : first + samples * count]
        found.append(own.reshape(len(rows), samples, count))
        first += samples * count
    return found


def path_sizes(layout: Layout, program: Program) -> np.ndarray:
    """The sizes of all components of the path constraints, one after the other."""
    sizes = program.scaled.scales.rows
    return np.concatenate([np.max(sizes[rows], axis=(0, 1)) for rows in path_rows(layout, program)])


def integral_multipliers(layout: Layout, program: Program, lam: np.ndarray) -> list[np.ndarray]:
    """Those of the integrals, one array for each: of their rows, which stand before those of the
    path constraints; `lam` are those of all rows.
    """
    problem, rows = layout.problem, program.families[0].rows
    samples = sample_count(problem, program.families[0].f.span.method)  # pyright: ignore[reportFunctionMemberAccess]
    sizes = [bounds[0].size for _, bounds in problem.totals.values()]
    first = rows.shape[1] - samples * sum(components(problem).values()) - sum(sizes)
    return np.split(lam[rows[0, first : first + sum(sizes)]], np.cumsum(sizes)[:-1])


def inequalities(
    problem: ControlProblem, method: Method, layout: Layout, f: Step, rows: RowNumbers
) -> list[np.ndarray]:
    """Rows of bounded velocities, of integrals and of path constraints, the first and the last at
    each sample of a step.
    """
    system, n, when = problem.system, problem.system.space.dim, time_words(problem, layout.mesh)
    steps, samples = layout.steps, range(sample_count(problem, method))
    middle, found = np.arange(steps) + 0.6, []
    if f.bounded_velocity:
        asked = np.broadcast_to(bounded_velocities(problem), (steps, n))

        def velocity(k: int, j: int) -> str:
            return f"the velocity of {system.names[j]} {when(k + 0.5)}"

        found += [rows.block(asked, middle, velocity, *problem.v_bounds) for _ in samples]
    for words, (_, bounds) in problem.totals.items():
        asked = np.full((1, bounds[0].size), True)

        def whole(k: int, j: int, words: str = words) -> str:
            return f"the integral of {words}"

        # All steps add to the same rows.
        one = rows.block(asked, [steps + 0.6], whole, *bounds)
        found.append(np.broadcast_to(one, (steps, one.size)))
    for words, size in components(problem).items():

        def name(k: int, j: int, words: str = words) -> str:
            return f"{words} {when(k + 0.5)}"

        asked = np.full((steps, size), True)
        found += [rows.block(asked, middle, name, -np.inf, 0.0) for _ in samples]
    return found
