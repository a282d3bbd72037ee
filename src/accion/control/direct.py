"""The direct formulation: configurations and controls are unknowns, the forced discrete
Euler-Lagrange equations their constraints.

    minimise   terminal + sum_k h sum_i w_i C(t_i, q_i, v_i, u_i)
    such that, at the inner nodes, at the start and at the end,
        D2 Ld(q_{k-1}, q_k) + Fd^+(u_{k-1}) + D1 Ld(q_k, q_{k+1}) + Fd^-(u_k) + h A^T lam_k = 0
        dL/dv(q_0, v_0) + D1 Ld(q_0, q_1) + Fd^- + h A^T lam_0 = 0
        D2 Ld(q_{N-1}, q_N) + Fd^+ + A^T lam_N - dL/dv(q_N, v_N) = 0

with u constant on each step (Ober-Bloebaum, Junge and Marsden, Discrete mechanics and optimal
control, 2011), or, where a method has inner points, one u_i at each of its samples: then inner
points are unknown too, and D_inner Ld + F_inner = 0 are equations. At s Gauss points this has order
2s in states and costates (Hager 2000; Bonnans and Laurent-Varin 2006). Under constraints inner
points have multipliers of their own, and the constraint holds there too (holonomic) or at each
sample (nonholonomic), as in a step of `simulate`: order 2s again, as measured; the forces lam_k at
the nodes have order s. Everything that a step adds is one function of its two ends.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.assembly.program import Program
from accion.control.law import Law, driven
from accion.control.layout import Layout, base_of, layout_of, split
from accion.control.path_constraints import components
from accion.control.problem import ControlProblem
from accion.control.transcription import Transcription, bounded_velocities, program_of, time_words
from accion.discretise.step import Step as Discrete, gradient, samples_of, with_work
from accion.methods import Method
from accion.types import Array, Configuration, Function


@dataclass(frozen=True)
class Step:
    """What a step adds: its cost; its share of the momentum balances at both ends, the discrete
    constraint, velocities and path constraints.
    """

    method: Method
    cost: Function
    law: Law
    path: tuple[Function, ...]
    controls: int
    free_time: bool
    bounded_velocity: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration, steps = args
        (base0, base1), k = data
        space, n, m = system.space, system.space.dim, system.multipliers
        e0, lam, rest, e1, T = split(x, n, m, self.own(n, m), n)
        controls, inner, inner_lam = self.parts(rest, n)
        h = (T[0] if self.free_time else duration) / steps
        t = t0 + k * h
        q0, q1 = space.retract(base0, e0), space.retract(base1, e1)
        d = space.local(q0, q1)
        samples = samples_of(system, self.method, t, h, q0, d, inner=inner)
        u = [controls[0]] * len(samples) if len(controls) == 1 else list(controls)
        cost = h * sum(
            s.w * self.cost(s.t, s.q, s.v, own, system.params)
            for s, own in zip(samples, u, strict=True)
        )
        pushed = [driven(system, self.law, own) for own in u]
        forces = [one.F(s.t, s.q, s.v) for one, s in zip(pushed, samples, strict=True)]
        f = partial(with_work, forces, samples)
        minus, plus, *at_inner = gradient(f, system, self.method, t, h, q0, d, None, inner)
        form = Discrete(system, self.method)
        rows = [minus + form.reaction(t, h, q0, d / h, lam), plus]
        if at_inner:
            held = form.inner_reaction(t, h, q0, d, inner, inner_lam)
            rows.append(jnp.ravel(at_inner[0] + held))
        rows.append(form.closure(t, h, q0, d, inner))
        if self.bounded_velocity:
            rows += [s.v for s in samples]
        rows += [
            jnp.atleast_1d(g(s.t, s.q, s.v, own, system.params))
            for g in self.path
            for s, own in zip(samples, u, strict=True)
        ]
        return cost, jnp.concatenate(rows)

    def own(self, n: int, m: int) -> int:
        """How many unknowns a step has besides its ends."""
        controls = len(self.method.control_places) * self.controls
        return controls + self.method.inner_points * (n + m)

    def parts(self, rest: Array, n: int) -> tuple[Array, Any, Array]:
        """(controls, inner points, multipliers there), one row of the first two for each; None
        where there are no inner points.
        """
        places, points = len(self.method.control_places), self.method.inner_points
        controls, inner, lam = split(rest, places * self.controls, points * n)
        own = inner.reshape(points, n) if points else None
        return controls.reshape(places, self.controls), own, lam


@dataclass(frozen=True)
class Departure:
    """What the start adds to the momentum balance there: dL/dv(t0, q_0, v_0)."""

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, _, _ = args
        n = system.space.dim
        (base,), _ = data
        e, v = split(x, n)
        return jnp.zeros(()), system.legendre(t0, system.space.retract(base, e), v)


@dataclass(frozen=True)
class Arrival:
    """What the end adds: the terminal cost, -dL/dv(T, q_N, v_N) + A^T lam_N, and what the
    constraint says of v_N.
    """

    terminal: Function | None
    free_time: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration, _ = args
        n, constraint = system.space.dim, system.constraint
        (base,), _ = data
        e, lam, v, T = split(x, n, system.multipliers, n)
        t = t0 + (T[0] if self.free_time else duration)
        q = system.space.retract(base, e)
        cost = jnp.zeros(()) if self.terminal is None else self.terminal(t, q, v, system.params)
        p = -system.legendre(t, q, v)
        if constraint is None:
            return cost, p
        reaction = constraint.reaction(system, t, q, v, lam)
        return cost, jnp.concatenate([p + reaction, constraint.on_velocities(system, t, q, v)])


def transcribe(
    problem: ControlProblem, method: Method, steps: int, q: Configuration
) -> Transcription:
    """The direct formulation, displacements measured from the configurations `q` at the steps + 1
    nodes.
    """
    layout, rows = layout_of(problem, steps, method), RowNumbers()
    system, when = problem.system, time_words(problem, steps)
    asked = np.full((steps + 1, system.space.dim), True)
    asked[[0, -1]] = problem.boundary == "velocities"
    balance = rows.block(
        asked,
        np.arange(steps + 1) + 0.3,
        lambda k, j: f"the momentum balance of {system.names[j]} {when(k)}",
    )
    args = (system, np.float64(problem.t0), np.float64(problem.longest), np.float64(steps))
    base = base_of(system.space, q)
    families = [steps_of(problem, method, layout, rows, balance, args, base)]
    if problem.boundary == "velocities":
        families += ends_of(problem, layout, rows, balance, args, base)
    return Transcription(program_of(layout, rows, families), layout, balance)


def steps_of(
    problem: ControlProblem,
    method: Method,
    layout: Layout,
    rows: RowNumbers,
    balance: np.ndarray,
    args: Any,
    base: Configuration,
) -> Family:
    """All steps; `balance` are the numbers of the momentum balances of the nodes."""
    system, steps, nodes = problem.system, layout.steps, np.arange(layout.steps + 1)
    when = time_words(problem, steps)
    f = Step(
        method,
        problem.cost,
        problem.law,
        tuple(problem.path.values()),
        problem.control_count,
        problem.free_time,
        bool(np.any(bounded_velocities(problem))),
    )
    numbers = [balance[:-1], balance[1:]]
    if method.inner_points:
        n, places = system.space.dim, method.places[1:-1]
        numbers.append(
            rows.block(
                np.full((steps, len(places) * n), True),
                nodes[:-1] + 0.5,
                lambda k, j: f"the balance of {system.names[j % n]} {when(k + places[j // n])}",
            )
        )
    if system.multipliers:
        m, held_at = system.multipliers, method.places[1:]
        block = rows.block(
            asked_closures(problem, steps, method.inner_points),
            nodes[:-1] + 0.6,
            lambda k, j: f"constraint {j % m} of {system.name} {when(k + held_at[j // m])}",
        )
        numbers.append(block)
    numbers += inequalities(problem, f, rows, steps)
    T = np.broadcast_to(layout.T, (steps, layout.T.size))
    own = layout.of_steps(nodes[:-1])
    columns = np.concatenate([layout.e[:-1], layout.lam[:-1], own, layout.e[1:], T], axis=1)
    pairs = np.stack([nodes[:-1], nodes[1:]], axis=1)
    k = nodes[:-1].astype(float)
    return Family(f, args, k, columns, np.concatenate(numbers, axis=1), pairs, base)


def ends_of(
    problem: ControlProblem,
    layout: Layout,
    rows: RowNumbers,
    balance: np.ndarray,
    args: Any,
    base: Configuration,
) -> list[Family]:
    """The start and the end, with their velocities."""
    system, m, nodes = problem.system, problem.system.multipliers, np.arange(layout.steps + 1)
    columns = np.concatenate([layout.e[0], layout.v[0]])[None]
    departure = Family(Departure(), args, (), columns, balance[:1], nodes[:1, None], base)
    asked = np.full((1, m), bool(m) and not np.all(problem.ends[1].v_fixed))
    on_velocities = rows.block(
        asked,
        [layout.steps + 0.4],
        lambda k, j: f"velocity constraint {j} of {system.name} at the end",
    )
    columns = np.concatenate([layout.e[-1], layout.lam[-1], layout.v[1], layout.T])[None]
    numbers = np.concatenate([balance[-1:], on_velocities], axis=1)
    f = Arrival(problem.terminal, problem.free_time)
    return [departure, Family(f, args, (), columns, numbers, nodes[-1:, None], base)]


def sample_count(problem: ControlProblem, method: Method) -> int:
    """How many samples a step has."""
    space = problem.system.space
    return len(method.samples(space, 0.0, 1.0, space.identity(), jnp.zeros(space.dim)))


def path_sizes(layout: Layout, program: Program) -> np.ndarray:
    """The sizes of all components of the path constraints, one after the other: of their rows,
    which are the last of a step, of each constraint sample by sample.
    """
    counts, rows = components(layout.problem).values(), program.families[0].rows
    sizes, f = program.scaled.scales.rows, program.families[0].f
    samples = sample_count(layout.problem, f.method)  # pyright: ignore[reportFunctionMemberAccess]
    first, found = rows.shape[1] - samples * sum(counts), []
    for count in counts:
        own = rows[:, first : first + samples * count].reshape(-1, count)
        found.append(np.max(sizes[own], axis=0))
        first += samples * count
    return np.concatenate(found)


def asked_closures(problem: ControlProblem, steps: int, inner_points: int) -> np.ndarray:
    """Which of the discrete constraints are asked for: all at inner points, and at the end of a
    step not those between configurations that are fixed.
    """
    system = problem.system
    asked = np.full((steps, inner_points + 1, system.multipliers), True)
    # Those that hold positions come first.
    held = sum(system.count(c) for c in system.kinds_of_constraint if c.holds_positions)
    if problem.boundary == "configurations":
        asked[[0, -1], -1] = False
        asked[-2, -1, :held] = False
    elif np.all(problem.ends[1].q_fixed):
        asked[-1, -1, :held] = False
    return asked.reshape(steps, -1)


def inequalities(
    problem: ControlProblem, f: Step, rows: RowNumbers, steps: int
) -> list[np.ndarray]:
    """Rows of bounded velocities and of path constraints, at each sample of a step."""
    system, n, when = problem.system, problem.system.space.dim, time_words(problem, steps)
    samples, middle = range(sample_count(problem, f.method)), np.arange(steps) + 0.6
    found = []
    if f.bounded_velocity:
        asked = np.broadcast_to(bounded_velocities(problem), (steps, n))

        def velocity(k: int, j: int) -> str:
            return f"the velocity of {system.names[j]} {when(k + 0.5)}"

        found += [rows.block(asked, middle, velocity, *problem.v_bounds) for _ in samples]
    for words, size in components(problem).items():

        def name(k: int, j: int, words: str = words) -> str:
            return f"{words} {when(k + 0.5)}"

        asked = np.full((steps, size), True)
        found += [rows.block(asked, middle, name, -np.inf, 0.0) for _ in samples]
    return found
