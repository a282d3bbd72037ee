"""The second-order vakonomic formulation: the controls are eliminated (Vakonomic thesis, sections
7.1 and 8.5, signs and cross terms corrected).

With R_k = D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^-, which is -h (d/dt dL/dv - dL/dq
- F) to second order, the control at node k is what the actuated components lack and the others are
constraints on three configurations:

    h B u_k = -R_k        u_k = -(B^T B)^-1 B^T R_k / h,        Phi_k = N^T R_k = 0,   N^T B = 0
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
from accion.control.actuation import Selected
from accion.control.layout import base_of, layout_of, split
from accion.control.problem import ControlProblem
from accion.control.transcription import Transcription, bounded_velocities, program_of, time_words
from accion.discretise.step import variation
from accion.methods import Method
from accion.types import Array, Configuration, Covector, Function, Scalar


@dataclass(frozen=True)
class Eliminated:
    """The controls and constraints that a momentum balance R leaves: constant B, as tuples so that
    it is compared by value.
    """

    inverse: tuple[tuple[float, ...], ...]  # (B^T B)^-1 B^T
    rest: tuple[tuple[float, ...], ...]  # N^T

    def u(self, R: Covector, h: Scalar) -> Array:
        return -jnp.asarray(self.inverse) @ R / h

    def Phi(self, R: Covector) -> Array:
        return jnp.asarray(self.rest).reshape(-1, len(R)) @ R


def elimination(problem: ControlProblem) -> Eliminated:
    """How to eliminate the controls of `problem`, or a ValueError where they cannot be."""
    system = problem.system
    if system.constraint is not None:
        raise ValueError(
            "the vakonomic formulation does not support constrained systems; try"
            ' formulation="direct".'
        )
    if problem.free_time:
        raise ValueError(
            'the vakonomic formulation does not support a free duration; try formulation="direct".'
        )
    if problem.path or np.any(bounded_velocities(problem)):
        raise ValueError(
            "the vakonomic formulation does not support path constraints and velocity bounds; try"
            ' formulation="direct".'
        )
    if not isinstance(problem.B, Selected):
        raise ValueError(
            "the vakonomic formulation needs actuated=[...], controls that act on coordinates"
            " (Vakonomic thesis,"
            ' section 7.1); try formulation="direct".'
        )
    from scipy.linalg import null_space  # takes long to import

    B = np.asarray(problem.B(0.0, None, None))

    def tuples(A: np.ndarray) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, A.tolist()))

    return Eliminated(
        tuples(np.linalg.pinv(B)),
        tuples(null_space(B.T).T if B.shape[1] < B.shape[0] else np.zeros((0, B.shape[0]))),
    )


@dataclass(frozen=True)
class Window:
    """What three configurations in a row add: the cost and the constraint Phi at the middle one;
    and u, where it has bounds.
    """

    method: Method
    cost: Function
    eliminated: Eliminated
    bounded: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration, steps = args
        base, k = data
        space, n = system.space, system.space.dim
        h = duration / steps
        t = t0 + k * h
        q0, q1, q2 = (space.retract(b, e) for b, e in zip(base, split(x, n, n, n), strict=False))
        x0, x1 = space.local(q0, q1), space.local(q1, q2)
        R = (
            variation(system, self.method, t - h, h, q0, x0)[1]
            + variation(system, self.method, t, h, q1, x1)[0]
        )
        u = self.eliminated.u(R, h)
        cost = h * self.cost(t, q1, (x0 + x1) / (2 * h), u, system.params)
        return cost, jnp.concatenate([self.eliminated.Phi(R), *([u] if self.bounded else [])])


@dataclass(frozen=True)
class HalfWindow:
    """What an end adds: its momenta dL/dv(q, v) and the one step there, the end node counting
    half.
    """

    method: Method
    cost: Function
    terminal: Function | None
    eliminated: Eliminated
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
        minus, plus = variation(system, self.method, t, h, q0, space.local(q0, q1))
        there, q = (t + h, q1) if self.last else (t, q0)
        p = system.legendre(there, q, v)
        R = plus - p if self.last else p + minus
        u = self.eliminated.u(R, h / 2)
        cost = h / 2 * self.cost(there, q, v, u, system.params)
        if self.last and self.terminal is not None:
            cost = cost + self.terminal(there, q, v, system.params)
        return cost, jnp.concatenate([self.eliminated.Phi(R), *([u] if self.bounded else [])])


def without_terminal(f: Any) -> HalfWindow:
    """What an end adds without the terminal cost."""
    return replace(f, terminal=None)


def transcribe(
    problem: ControlProblem, method: Method, steps: int, q: Configuration
) -> Transcription:
    """The vakonomic formulation, displacements measured from the configurations `q` at the steps +
    1 nodes.
    """
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
    eliminated, k, nowhere = elimination(problem), np.arange(steps + 1), np.zeros((0, 0), dtype=int)
    inner = Window(method, problem.cost, eliminated, bounded)
    triples = np.stack([k[:-2], k[1:-1], k[2:]], axis=1)
    found = [Family(inner, args, k[1:-1].astype(float), nowhere, nowhere, triples)]
    if problem.boundary == "velocities":
        for last, nodes in ((False, k[None, :2]), (True, k[None, -2:])):
            f = HalfWindow(method, problem.cost, problem.terminal, eliminated, bounded, last)
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
