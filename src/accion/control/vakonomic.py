"""The second-order vakonomic formulation: the controls are eliminated (004 sections 7.1 and 8.5, signs and cross terms corrected).

With R_k = D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^-, which is -h (d/dt dL/dv - dL/dq - F) to second order, the control at
node k is what the actuated components lack and the others are constraints on three configurations:

    h B u_k = -R_k        u_k = -(B^T B)^-1 B^T R_k / h,        Phi_k = N^T R_k = 0,   N^T B = 0
    minimise  sum_k h C(t_k, q_k, v_k, u_k),    v_k = (q_{k+1} - q_{k-1}) / 2h

At ends with velocities dL/dv takes the place of the missing step, and the end node counts half.
"""  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

from accion.control.direct import Transcription, assemble, limited, parts
from accion.control.layout import base_of, displaced, layout_of
from accion.control.problem import Selected
from accion.control.program import VALUES, Family
from accion.control.rows import Rows
from accion.pullback import variation


@dataclass(frozen=True)
class Eliminated:
    """The controls and constraints that a momentum balance R leaves: constant B, as tuples so that it is compared by value."""

    inverse: tuple[tuple[float, ...], ...]  # (B^T B)^-1 B^T
    rest: tuple[tuple[float, ...], ...]  # N^T

    def u(self, R, h):
        return -jnp.asarray(self.inverse) @ R / h

    def Phi(self, R):
        return jnp.asarray(self.rest).reshape(-1, len(R)) @ R


def elimination(problem):
    """How to eliminate the controls of `problem`, or a ValueError where they cannot be."""
    system = problem.system
    if system.constraint is not None:
        raise ValueError('the vakonomic formulation does not support constrained systems; try formulation="direct".')
    if problem.free_time:
        raise ValueError('the vakonomic formulation does not support a free duration; try formulation="direct".')
    if problem.path or np.any(limited(problem)):
        raise ValueError('the vakonomic formulation does not support path constraints and velocity bounds; try formulation="direct".')
    if not isinstance(problem.B, Selected):
        raise ValueError(
            'the vakonomic formulation needs actuated=[...], controls that act on coordinates (004 section 7.1); try formulation="direct".'
        )
    B = np.asarray(problem.B(0.0, None, None))
    tuples = lambda A: tuple(map(tuple, A.tolist()))  # noqa: E731
    return Eliminated(tuples(np.linalg.pinv(B)), tuples(null_space(B.T).T if B.shape[1] < B.shape[0] else np.zeros((0, B.shape[0]))))


@dataclass(frozen=True)
class Window:
    """What three configurations in a row add: the cost and the constraint Phi at the middle one; and u, where it has bounds."""

    method: Any
    cost: Callable[..., Any]
    eliminated: Eliminated
    bounded: bool

    def __call__(self, args, data, x):
        system, t0, duration, steps = args
        k, *base = data
        space, n = system.space, system.space.dim
        h = duration / steps
        t = t0 + k * h
        q0, q1, q2 = (space.retract(b, e) for b, e in zip(base, parts(x, n, n, n), strict=False))
        x0, x1 = space.local(q0, q1), space.local(q1, q2)
        R = variation(system, self.method, t - h, h, q0, x0)[1] + variation(system, self.method, t, h, q1, x1)[0]
        u = self.eliminated.u(R, h)
        cost = h * self.cost(t, q1, (x0 + x1) / (2 * h), u, system.params)
        return cost, jnp.concatenate([self.eliminated.Phi(R), *([u] if self.bounded else [])])


@dataclass(frozen=True)
class HalfWindow:
    """What an end adds: its momenta dL/dv(q, v) and the one step there, the end node counting half."""

    method: Any
    cost: Callable[..., Any]
    terminal: Callable[..., Any] | None
    eliminated: Eliminated
    bounded: bool
    last: bool

    def __call__(self, args, data, x):
        system, t0, duration, steps = args
        space, n = system.space, system.space.dim
        h = duration / steps
        e0, e1, v, _ = parts(x, n, n, n)
        q0, q1 = (space.retract(b, e) for b, e in zip(data, (e0, e1), strict=True))
        t = t0 + duration - h if self.last else t0
        minus, plus = variation(system, self.method, t, h, q0, space.local(q0, q1))
        there, q = (t + h, q1) if self.last else (t, q0)
        p = system.momentum(there, q, v)
        R = plus - p if self.last else p + minus
        u = self.eliminated.u(R, h / 2)
        cost = h / 2 * self.cost(there, q, v, u, system.params)
        if self.last and self.terminal is not None:
            cost = cost + self.terminal(there, q, v, system.params)
        return cost, jnp.concatenate([self.eliminated.Phi(R), *([u] if self.bounded else [])])


def transcribe(problem, method, steps, q):
    """The vakonomic formulation, displacements measured from the configurations `q` at the steps + 1 nodes."""
    eliminated = elimination(problem)
    layout, rows = layout_of(problem, steps, controls=False), Rows()
    system = problem.system
    free = len(eliminated.rest)
    ends = problem.boundary == "velocities"
    bounded = bool(np.any(np.isfinite(problem.u_bounds)))
    when = lambda k: f"at t = {problem.t0 + k * problem.longest / steps:.4g}"  # noqa: E731
    nodes = np.arange(steps + 1)
    inner = np.full((steps + 1, 1), True)
    inner[[0, -1]] = ends
    wanted = [
        rows.block(np.broadcast_to(inner, (steps + 1, free)), nodes + 0.3, lambda k, j: f"the unactuated equation {j} of {system.name} {when(k)}")
    ]
    if bounded:
        limits = np.broadcast_to(inner, (steps + 1, problem.count))
        wanted.append(rows.block(limits, nodes + 0.4, lambda k, j: f"{problem.controls[j]} {when(k)}", *problem.u_bounds))
    numbers = np.concatenate(wanted, axis=1)
    args = (system, np.float64(problem.t0), np.float64(problem.longest), np.float64(steps))
    base = base_of(system.space, q)
    windows, first, last = window_data(base)
    columns = np.concatenate([layout.e[:-2], layout.e[1:-1], layout.e[2:]], axis=1)
    families = [Family(Window(method, problem.cost, eliminated, bounded), args, windows, columns, numbers[1:-1])]
    if ends:
        for data, (a, b), v, number, late in ((first, (0, 1), 0, 0, False), (last, (-2, -1), 1, -1, True)):
            columns = np.concatenate([layout.e[a], layout.e[b], layout.v[v]])[None]
            f = HalfWindow(method, problem.cost, problem.terminal, eliminated, bounded, late)
            families.append(Family(f, args, data, columns, numbers[[number]]))
    return Transcription(assemble(layout, rows, families, recentred if not system.space.flat else None), layout, wanted[0])


def window_data(base):
    """For the inner nodes their number and three configurations; for each end two."""
    count = len(jax.tree.leaves(base)[0])
    cut = lambda a, b: jax.tree.map(lambda leaf: leaf[a:b], base)  # noqa: E731
    inner = (np.arange(1.0, count - 1), cut(0, count - 2), cut(1, count - 1), cut(2, count))
    return inner, (cut(0, 1), cut(1, 2)), (cut(count - 2, count - 1), cut(count - 1, count))


def recentred(layout, program, x):
    """The same point with its nodes as the origin of the charts."""
    base = displaced(layout.problem.system.space, base_now(program), x[layout.e])
    moved = x.copy()
    moved[layout.e] = 0.0
    return program.with_families(tuple(replace(F, data=d) for F, d in zip(program.families, window_data(base), strict=False))), moved


def base_now(program):
    """The configurations that displacements are measured from."""
    _, before, here, after = program.families[0].data
    return jax.tree.map(lambda a, b, c: np.concatenate([a[:1], b, c[-1:]]), before, here, after)


def controls_of(problem, method, layout, q, v):
    """The controls at the nodes: shape (N + 1, controls), or (N - 1, controls) where the ends are two configurations each."""
    eliminated, n = elimination(problem), problem.system.space.dim
    args = (problem.system, np.float64(problem.t0), np.float64(problem.longest), np.float64(layout.steps))
    windows, first, last = window_data(q)

    def rows_of(f, data, x):
        count = len(jax.tree.leaves(data)[0])
        return Family(f, args, data, np.tile(np.arange(len(x)), (count, 1)), np.zeros((count, 1), dtype=int)).evaluate(VALUES, x)[1]

    found = [rows_of(Window(method, problem.cost, eliminated, True), windows, np.zeros(3 * n))]
    if problem.boundary == "velocities":
        ends = [
            rows_of(HalfWindow(method, problem.cost, problem.terminal, eliminated, True, late), data, np.append(np.zeros(2 * n), end))
            for data, end, late in ((first, v[0], False), (last, v[1], True))
        ]
        found = [ends[0], *found, ends[1]]
    return np.concatenate(found)[:, len(eliminated.rest) :]
