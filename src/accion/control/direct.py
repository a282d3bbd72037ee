"""The direct formulation: configurations and controls are unknowns, the forced discrete
Euler-Lagrange equations their constraints.

    minimise   terminal + sum_k h sum_i w_i C(t_i, q_i, v_i, u_k)
    such that  D2 Ld(q_{k-1}, q_k) + Fd^+(u_{k-1}) + D1 Ld(q_k, q_{k+1}) + Fd^-(u_k) + h A^T lam_k = 0        at inner nodes
               dL/dv(q_0, v_0) + D1 Ld(q_0, q_1) + Fd^- + h A^T lam_0 = 0,    D2 Ld(q_{N-1}, q_N) + Fd^+ + A^T lam_N - dL/dv(q_N, v_N) = 0

with u_k constant on its step (discrete mechanics and optimal control). Everything that a step adds
is one function of its two ends.
"""  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.program import Chart, Family, Program
from accion.assembly.rows import Rows
from accion.control.layout import base_of, layout_of
from accion.control.problem import Push
from accion.discretise.step import variation
from accion.systems.constraints import Holonomic


def parts(x, *sizes):
    """`x` cut into pieces of the given sizes; what is left comes last."""
    ends = np.cumsum(sizes)
    return jnp.split(x, [int(end) for end in ends])


@dataclass(frozen=True)
class Step:
    """What a step adds: its cost; its share of the momentum balances at both ends, the discrete
    constraint, velocities and path constraints.
    """

    method: Any
    cost: Callable[..., Any]
    B: Callable[..., Any]
    path: tuple[Callable[..., Any], ...]
    controls: int
    free_time: bool
    bounded_velocity: bool

    def __call__(self, args, data, x):
        system, t0, duration, steps = args
        (base0, base1), k = data
        space, n, constraint = system.space, system.space.dim, system.constraint
        e0, lam, u, e1, T = parts(x, n, system.multipliers, self.controls, n)
        h = (T[0] if self.free_time else duration) / steps
        t = t0 + k * h
        q0, q1 = space.retract(base0, e0), space.retract(base1, e1)
        d = space.local(q0, q1)
        minus, plus = variation(
            system.altered(force=Push(system.force, self.B, u)), self.method, t, h, q0, d
        )
        samples = self.method.samples(space, t, h, q0, d)
        cost = h * sum(s.w * self.cost(s.t, s.q, s.v, u, system.params) for s in samples)
        rows = [minus, plus]
        if constraint is not None:
            rows = [
                minus + h * constraint.reaction(system, t, q0, d / h, lam),
                plus,
                constraint.closure(system, samples, t + h, q1),
            ]
        if self.bounded_velocity:
            rows += [s.v for s in samples]
        rows += [
            jnp.atleast_1d(g(s.t, s.q, s.v, u, system.params)) for g in self.path for s in samples
        ]
        return cost, jnp.concatenate(rows)


@dataclass(frozen=True)
class Departure:
    """What the start adds to the momentum balance there: dL/dv(t0, q_0, v_0)."""

    def __call__(self, args, data, x):
        system, t0, _, _ = args
        n = system.space.dim
        (base,), _ = data
        e, v = parts(x, n)
        return jnp.zeros(()), system.legendre(t0, system.space.retract(base, e), v)


@dataclass(frozen=True)
class Arrival:
    """What the end adds: the terminal cost, -dL/dv(T, q_N, v_N) + A^T lam_N, and what the
    constraint says of v_N.
    """

    terminal: Callable[..., Any] | None
    free_time: bool

    def __call__(self, args, data, x):
        system, t0, duration, _ = args
        n, constraint = system.space.dim, system.constraint
        (base,), _ = data
        e, lam, v, T = parts(x, n, system.multipliers, n)
        t = t0 + (T[0] if self.free_time else duration)
        q = system.space.retract(base, e)
        cost = jnp.zeros(()) if self.terminal is None else self.terminal(t, q, v, system.params)
        p = -system.legendre(t, q, v)
        if constraint is None:
            return cost, p
        return cost, jnp.concatenate(
            [
                p + constraint.reaction(system, t, q, v, lam),
                constraint.on_velocities(system, t, q, v),
            ]
        )


class Transcription(NamedTuple):
    """A problem on a mesh: the program, where its unknowns are, and the numbers of the rows at the
    nodes, -1 where there are none.
    """

    program: Program
    layout: Any
    balance: np.ndarray


def transcribe(problem, method, steps, q):
    """The direct formulation, displacements measured from the configurations `q` at the steps + 1
    nodes.
    """
    layout, rows = layout_of(problem, steps), Rows()
    system, n, m = problem.system, problem.system.space.dim, problem.system.multipliers
    ends = problem.boundary == "velocities"

    def when(k):
        return f"at t = {problem.t0 + k * problem.longest / steps:.4g}"

    nodes = np.arange(steps + 1)
    inner = np.full((steps + 1, n), True)
    inner[[0, -1]] = ends
    balance = rows.block(
        inner, nodes + 0.3, lambda k, j: f"the momentum balance of {system.names[j]} {when(k)}"
    )
    wanted = [balance[:-1], balance[1:]]
    if m:
        wanted.append(
            rows.block(
                closures(problem, steps),
                nodes[:-1] + 0.6,
                lambda k, j: f"constraint {j} of {system.name} {when(k + 1)}",
            )
        )
    f = Step(
        method,
        problem.cost,
        problem.B,
        tuple(problem.path.values()),
        problem.count,
        problem.free_time,
        bool(np.any(limited(problem))),
    )
    args = (system, np.float64(problem.t0), np.float64(problem.longest), np.float64(steps))
    wanted += inequalities(problem, f, rows, steps, when)
    T = np.broadcast_to(layout.T, (steps, layout.T.size))
    columns = np.concatenate([layout.e[:-1], layout.lam[:-1], layout.u, layout.e[1:], T], axis=1)
    base = base_of(system.space, q)
    pairs = np.stack([nodes[:-1], nodes[1:]], axis=1)
    families = [
        Family(
            f, args, nodes[:-1].astype(float), columns, np.concatenate(wanted, axis=1), pairs, base
        )
    ]
    if ends:
        hidden = np.full((1, m), bool(m) and not np.all(problem.ends[1].v_fixed))
        hidden = rows.block(
            hidden,
            [steps + 0.4],
            lambda k, j: f"velocity constraint {j} of {system.name} at the end",
        )
        columns = np.concatenate([layout.e[0], layout.v[0]])[None]
        families.append(Family(Departure(), args, (), columns, balance[:1], nodes[:1, None], base))
        columns = np.concatenate([layout.e[-1], layout.lam[-1], layout.v[1], layout.T])[None]
        arrival = Arrival(problem.terminal, problem.free_time)
        families.append(
            Family(
                arrival,
                args,
                (),
                columns,
                np.concatenate([balance[-1:], hidden], axis=1),
                nodes[-1:, None],
                base,
            )
        )
    return Transcription(assemble(layout, rows, families), layout, balance)


def closures(problem, steps):
    """Which of the discrete constraints are asked for: not those between configurations that are
    fixed.
    """
    system = problem.system
    wanted = np.full((steps, system.multipliers), True)
    held = 0 if not system.holds_positions else system.count(Holonomic(system.holonomic))
    if problem.boundary == "configurations":
        wanted[[0, -1]] = False
        wanted[-2, :held] = False
    elif np.all(problem.ends[1].q_fixed):
        wanted[-1, :held] = False
    return wanted


def limited(problem):
    """Which components of the velocity have bounds."""
    return np.isfinite(problem.v_bounds[0]) | np.isfinite(problem.v_bounds[1])


def inequalities(problem, f, rows, steps, when):
    """Rows of bounded velocities and of path constraints, at each sample of a step."""
    system, n = problem.system, problem.system.space.dim
    zero, q = jnp.zeros(n), system.space.identity()
    samples = f.method.samples(system.space, 0.0, 1.0, q, zero)
    middle = np.arange(steps) + 0.6
    found = []
    if f.bounded_velocity:
        wanted = np.broadcast_to(limited(problem), (steps, n))

        def name(k, j):
            return f"the velocity of {system.names[j]} {when(k + 0.5)}"

        found += [rows.block(wanted, middle, name, *problem.v_bounds) for _ in samples]
    for words, g in problem.path.items():
        size = jax.eval_shape(
            lambda g=g: jnp.atleast_1d(g(0.0, q, zero, jnp.zeros(problem.count), system.params))
        ).size

        def name(k, j, words=words):
            return f"{words} {when(k + 0.5)}"

        found += [
            rows.block(np.full((steps, size), True), middle, name, -np.inf, 0.0) for _ in samples
        ]
    return found


def assemble(layout, rows, families):
    lower, upper = layout.bounds()
    row_lower, row_upper, row_place = rows.arrays()
    chart = Chart(layout.problem.system.space, layout.e)
    return Program(
        tuple(families),
        lower,
        upper,
        row_lower,
        row_upper,
        layout.place(),
        row_place,
        rows.label,
        chart,
    )
