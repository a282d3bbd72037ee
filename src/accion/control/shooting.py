"""The necessary conditions as a boundary value problem, by multiple shooting: as many equations as
unknowns.

A duration T that is free is one more unknown, with one more condition at the end,

    H(T) = d terminal/dt,    which is 0 without a terminal cost that sees the time
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.charts import Chart
from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.assembly.program import Program
from accion.assembly.scales import Scales, power_of_two
from accion.assembly.sqp import Found, feasible
from accion.control.flow import flow
from accion.control.hamiltonian import Hamiltonian
from accion.control.layout import base_of, displacements, split
from accion.control.problem import ControlProblem
from accion.errors import OptimizeFailed
from accion.instant.sizes import largest, sizes_of
from accion.systems import System
from accion.types import Array, Configuration, Function, Scalar, Vector


@dataclass(frozen=True)
class Shot:
    """One interval of multiple shooting: what is missing between the end of its trajectory and the
    next node.

    Each node has a duration of its own, all the same, so that an interval sees its two nodes only.
    """

    hamiltonian: Hamiltonian

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, count, substeps = args
        (base0, base1), (k, guess) = data
        space, n = system.space, system.space.dim
        e0, v0, p0, p1, T0, e1, v1, r0, r1, T1 = split(x, n, n, n, n, 1, n, n, n, n)
        start, h = (space.retract(base0, e0), v0, p0, p1, jnp.zeros(())), T0[0] / count
        q, v, a, b, cost = flow(
            partial(self.hamiltonian.rates, system, guess), t0 + k * h, start, h, substeps
        )
        gap = space.local(space.retract(base1, e1), q)
        return cost, jnp.concatenate([gap, v - v1, a - r0, b - r1, T0 - T1])


@dataclass(frozen=True)
class Transversal:
    """At an end: p0 + d terminal/dq and p1 + d terminal/dv, zero where q and v are free; d
    terminal/dt - H, zero at the end of a free duration.
    """

    hamiltonian: Hamiltonian
    terminal: Function | None
    last: bool
    free_time: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, _, _ = args
        space, n = system.space, system.space.dim
        (base,), guess = data
        e, v, p0, p1, T = split(x, n, n, n, n)
        t, q = t0 + T[0] if self.last else t0, space.retract(base, e)
        value, (dt, dq, dv) = self.terminal_slopes(system, t, q, v)
        rows = [p0 + dq, p1 + dv]
        if self.last and self.free_time:
            u = self.hamiltonian.control(system, t, q, v, p1, guess)
            rows.append((dt - self.hamiltonian.H(system, t, q, v, u, p0, p1))[None])
        return value, jnp.concatenate(rows)

    def terminal_slopes(
        self, system: System, t: Scalar, q: Configuration, v: Vector
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """The terminal cost and its derivatives by t, q and v."""
        last, zero = self.terminal, jnp.zeros_like(v)
        if last is None:
            return jnp.zeros(()), (jnp.zeros(()), zero, zero)

        def cost(t: Scalar, d: Vector, v: Vector) -> Array:
            return last(t, system.space.displace(q, d), v, system.params)

        return jax.value_and_grad(cost, (0, 1, 2))(t, zero, v)


class Nodes(NamedTuple):
    """What shooting starts from: configurations, states and costates (v, p0, p1) at the nodes,
    controls of the intervals, and the duration.
    """

    q: Configuration
    v: np.ndarray
    p0: np.ndarray
    p1: np.ndarray
    u: np.ndarray
    duration: float

    @property
    def intervals(self) -> int:
        return len(self.v) - 1


def unknown_numbers(n: int, intervals: int) -> np.ndarray:
    """Where the unknowns (displacement, v, p0, p1, duration) of each node are, shape (nodes, 4 dim
    + 1).
    """
    return np.arange((intervals + 1) * (4 * n + 1)).reshape(intervals + 1, 4 * n + 1)


def solved(
    problem: ControlProblem, hamiltonian: Hamiltonian, nodes: Nodes, substeps: int, free: bool
) -> Found:
    """The necessary conditions solved near `nodes`; `free` says whether the duration is unknown.

    Raises:
        OptimizeFailed: where they are not solved from there.
    """
    program = shooting(problem, hamiltonian, nodes, substeps, free)
    space = problem.system.space
    numbers, x = unknown_numbers(space.dim, nodes.intervals), np.zeros(program.n)
    x[numbers[:, :-1]] = np.concatenate(
        [displacements(space, nodes.q), nodes.v, nodes.p0, nodes.p1], axis=1
    )
    x[numbers[:, -1]] = nodes.duration
    found = feasible(program.with_scales(scales_of(problem, program, nodes)), x)
    if not found.success:
        raise OptimizeFailed(
            f"the necessary conditions were not solved: {found.message}; they are off by"
            f" {found.violation:.3g} of their terms. Start from a finer mesh.",
            found=found,
        )
    return found


def scales_of(problem: ControlProblem, program: Program, nodes: Nodes) -> Scales:
    """The sizes of unknowns and of rows: of costates that of the cost over those of q and v, which
    is the largest that they say themselves.

    What an interval lacks is of the size of the unknowns of the next node, what an end lacks of
    that of costates, and of the cost over the duration.
    """
    t = problem.t0 + nodes.duration * np.linspace(0, 1, len(nodes.v))
    sizes, n = sizes_of(problem.system, t, nodes.q, nodes.v), problem.system.space.dim
    said = [largest(p) * size for p, size in ((nodes.p0, sizes.q), (nodes.p1, sizes.v))]
    cost = float(np.max(said)) or 1.0
    unknowns = np.concatenate([sizes.q, sizes.v, cost / sizes.q, cost / sizes.v, [sizes.T]])
    rows = np.zeros(program.m)
    for F in program.families:
        own = unknowns if isinstance(F.f, Shot) else np.append(unknowns[2 * n : -1], cost / sizes.T)
        wanted = F.rows >= 0
        rows[F.rows[wanted]] = np.broadcast_to(own[: F.rows.shape[1]], F.rows.shape)[wanted]
    x = np.tile(unknowns, nodes.intervals + 1)
    return Scales(power_of_two(x), power_of_two(rows), float(power_of_two(cost)))


def shooting(
    problem: ControlProblem, hamiltonian: Hamiltonian, nodes: Nodes, substeps: int, free: bool
) -> Program:
    """Rows for each interval and for what is free at the ends."""
    system, n, count = problem.system, problem.system.space.dim, nodes.intervals
    numbers, rows = unknown_numbers(n, count), RowNumbers()
    args = (system, np.float64(problem.t0), np.float64(count), np.int64(substeps))

    def name(k: int, j: int) -> str:
        return f"the canonical equations at t = {problem.t0 + k * nodes.duration / count:.4g}"

    asked = np.full((count, 4 * n + 1), True)
    asked[:, -1] = free
    k, base, u = np.arange(count + 1), base_of(system.space, nodes.q), np.asarray(nodes.u)
    shots = Family(
        Shot(hamiltonian),
        args,
        (k[:-1].astype(float), u),
        np.concatenate([numbers[:-1], numbers[1:]], axis=1),
        rows.block(asked, np.arange(count) + 0.5, name),
        np.stack([k[:-1], k[1:]], axis=1),
        base,
    )
    ends = []
    for last, (end, node) in enumerate(zip(problem.ends, (0, -1), strict=True)):
        open_ = ~np.concatenate([end.q_fixed, end.v_fixed])
        missing = rows.block(
            np.append(open_, np.full(int(last and free), True))[None],
            [count + 0.1 if last else 0.1],
            lambda k, j: "the transversality of a free end",
        )
        f = Transversal(hamiltonian, problem.terminal if last else None, bool(last), free)
        at = k[[node]][:, None]
        ends.append(Family(f, args, u[[node]], numbers[[node]], missing, at, base))
    lower, upper = bounds_of_unknowns(problem, nodes, free)
    row_lower, row_upper, row_place = rows.arrays()
    place = np.repeat(np.arange(count + 1.0), 4 * n + 1)
    bounds = (lower, upper, row_lower, row_upper)
    chart = Chart(system.space, numbers[:, :n])
    return Program((shots, *ends), *bounds, place, row_place, rows.label, chart)


def bounds_of_unknowns(
    problem: ControlProblem, nodes: Nodes, free: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper), the same for what is fixed: components at the ends, a given duration."""
    space, n = problem.system.space, problem.system.space.dim
    numbers = unknown_numbers(n, nodes.intervals)
    lower, upper = np.full(numbers.size, -np.inf), np.full(numbers.size, np.inf)
    if not free:
        lower[numbers[:, -1]] = upper[numbers[:, -1]] = nodes.duration
    for end, node in zip(problem.ends, (0, -1), strict=True):
        fixed = np.concatenate([end.q_fixed, end.v_fixed])
        q = jax.tree.map(lambda a: np.asarray(a)[None], end.q)
        values = np.concatenate([displacements(space, q)[0], end.v])
        where = numbers[node][: 2 * n][fixed]
        lower[where] = upper[where] = values[fixed]
    return lower, upper


def with_substeps(program: Program, substeps: int) -> Program:
    """The same shooting, each interval integrated in so many steps."""
    first = program.families[0]
    finer = replace(first, args=(*first.args[:3], np.int64(substeps)))
    return program.with_families((finer, *program.families[1:]))
