"""The second-order vakonomic formulation: the controls are eliminated (Vakonomic thesis, sections
7.1 and 8.5, signs and cross terms corrected).

With R_k = D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^-, which is -h (d/dt dL/dv - dL/dq
- F) to second order, the control at node k is what the actuated components lack and the others are
constraints on three configurations (`control.elimination`):

    B u_k + K c_k = -R_k / h,    c_k = 0
    minimise  sum_k h C(t_k, q_k, v_k, u_k),    v_k = (q_{k+1} - q_{k-1}) / 2h

At ends with velocities dL/dv takes the place of the missing step, and the end node counts half.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.control.elimination import Elimination, elimination_of
from accion.control.faces import Node, check_unconstrained
from accion.control.layout import base_of, layout_of, split
from accion.control.problem import ControlProblem
from accion.control.transcription import Transcription, bounded_velocities, program_of, time_words
from accion.discretise.step import variation
from accion.methods import Method
from accion.types import Array, Configuration, Function


def elimination(problem: ControlProblem) -> Elimination:
    """How to eliminate the controls of `problem`, or a ValueError where they cannot be."""
    check_unconstrained(problem, "the vakonomic formulation")
    if problem.free_time:
        raise ValueError(
            'the vakonomic formulation does not support a free duration; try formulation="direct".'
        )
    if problem.besides:
        raise ValueError(
            f"the vakonomic formulation does not support {', '.join(problem.besides)}; try"
            ' formulation="direct".'
        )
    if problem.path or np.any(bounded_velocities(problem)):
        raise ValueError(
            "the vakonomic formulation does not support path constraints and velocity bounds; try"
            ' formulation="direct".'
        )
    return elimination_of(problem)


@dataclass(frozen=True)
class Window:
    """What three configurations in a row add: the cost and the constraint at the middle one; and u,
    where it has bounds. It is a window of `ControlProblem.discrete`.
    """

    node: Node
    bounded: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration, steps = args
        base, k = data
        space, n = system.space, system.space.dim
        h = duration / steps
        q = (space.retract(b, e) for b, e in zip(base, split(x, n, n, n), strict=False))
        cost, u, c = self.node(system, t0 + (k - 1) * h, h, *q)
        return cost, jnp.concatenate([c, *([u] if self.bounded else [])])


@dataclass(frozen=True)
class HalfWindow:
    """What an end adds: its momenta dL/dv(q, v) and the one step there, the end node counting
    half.
    """

    node: Node
    terminal: Function | None
    bounded: bool
    last: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration, steps = args
        space, n = system.space, system.space.dim
        h = duration / steps
        e0, e1, v, _ = split(x, n, n, n)
        base, _ = data
        q0, q1 = (space.retract(b, e) for b, e in zip(base, (e0, e1), strict=True))
        t = t0 + duration - h if self.last else t0
        minus, plus = variation(system, self.node.method, t, h, q0, space.local(q0, q1))
        there, q = (t + h, q1) if self.last else (t, q0)
        p = system.legendre(there, q, v)
        R = plus - p if self.last else p + minus
        u, c = self.node.eliminated.split(there, q, system.params, -2 * R / h)
        cost = h / 2 * self.node.cost(there, q, v, u, system.params)
        if self.last and self.terminal is not None:
            cost = cost + self.terminal(there, q, v, system.params)
        return cost, jnp.concatenate([c, *([u] if self.bounded else [])])


def without_terminal(f: Any) -> HalfWindow:
    """What an end adds without the terminal cost."""
    return replace(f, terminal=None)


def transcribe(
    problem: ControlProblem, method: Method, steps: int, q: Configuration
) -> Transcription:
    """The vakonomic formulation, displacements measured from the configurations `q` at the steps +
    1 nodes.
    """
    if np.ndim(steps):
        raise ValueError(
            "the vakonomic formulation has equal steps; give their number, or try"
            ' formulation="direct".'
        )
    layout, rows = layout_of(problem, steps), RowNumbers()
    system, when = problem.system, time_words(problem, steps)
    bounded = bool(np.any(np.isfinite(problem.u_bounds)))
    nodes = np.arange(steps + 1)
    inner = np.full((steps + 1, 1), True)
    inner[[0, -1]] = problem.boundary == "velocities"
    balance = rows.block(
        np.broadcast_to(inner, (steps + 1, system.space.dim - problem.control_count)),
        nodes + 0.3,
        lambda k, j: f"the unactuated equation {j} of {system.name} {when(k)}",
    )
    numbers = balance
    if bounded:
        limits = rows.block(
            np.broadcast_to(inner, (steps + 1, problem.control_count)),
            nodes + 0.4,
            lambda k, j: f"{problem.controls[j]} {when(k)}",
            *problem.u_bounds,
        )
        numbers = np.concatenate([balance, limits], axis=1)
    base, families = base_of(system.space, q), []
    for family, v, own in zip(
        families_of(problem, method, steps, bounded),
        (None, 0, 1),
        (numbers[1:-1], numbers[:1], numbers[-1:]),
        strict=False,
    ):
        at = np.asarray(family.nodes)
        columns = layout.e[at].reshape(len(at), -1)
        columns = columns if v is None else np.append(columns, layout.v[[v]], axis=1)
        families.append(replace(family, columns=columns, rows=own, base=base))
    return Transcription(program_of(layout, rows, families), layout, balance)


def families_of(problem: ControlProblem, method: Method, steps: int, bounded: bool) -> list[Family]:
    """The windows around the inner nodes and, where velocities are given, the two at the ends; not
    yet with places among unknowns and rows, nor a base.
    """
    args = (problem.system, np.float64(problem.t0), np.float64(problem.longest), np.float64(steps))
    node = Node(problem.cost, elimination(problem), method)
    k, nowhere = np.arange(steps + 1), np.zeros((0, 0), dtype=int)
    inner = Window(node, bounded)
    triples = np.stack([k[:-2], k[1:-1], k[2:]], axis=1)
    found = [Family(inner, args, k[1:-1].astype(float), nowhere, nowhere, triples)]
    if problem.boundary == "velocities":
        for last, nodes in ((False, k[None, :2]), (True, k[None, -2:])):
            f = HalfWindow(node, problem.terminal, bounded, last)
            found.append(Family(f, args, (), nowhere, nowhere, nodes))
    return found


def controls_of(
    problem: ControlProblem, method: Method, q: Configuration, v: np.ndarray | None
) -> np.ndarray:
    """The controls at the nodes: shape (N + 1, controls), or (N - 1, controls) where the ends are
    two configurations each; `v` are the velocities at the ends.
    """
    n, steps = problem.system.space.dim, len(jax.tree.leaves(q)[0]) - 1
    inner, *ends = families_of(problem, method, steps, True)

    def controls(family: Family, x: np.ndarray) -> np.ndarray:
        count = len(np.asarray(family.nodes))
        columns = np.tile(np.arange(len(x)), (count, 1))
        placed = replace(family, columns=columns, rows=np.zeros((count, 1), dtype=int), base=q)
        return placed.values(x).rows[:, -problem.control_count :]

    found = [controls(inner, np.zeros(3 * n))]
    if ends and v is not None:
        first, last = (
            controls(end, np.append(np.zeros(2 * n), velocity))
            for end, velocity in zip(ends, v, strict=True)
        )
        found = [first, *found, last]
    return np.concatenate(found)
