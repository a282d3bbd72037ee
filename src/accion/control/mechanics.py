"""What steps and ends of a mechanical system add to the direct formulation: momentum balances and
constraints.

    D2 Ld(q_{k-1}, q_k) + Fd^+(u_{k-1}) + D1 Ld(q_k, q_{k+1}) + Fd^-(u_k) + h A^T lam_k = 0
    dL/dv(q_0, v_0) + D1 Ld(q_0, q_1) + Fd^- + h A^T lam_0 = 0
    D2 Ld(q_{N-1}, q_N) + Fd^+ + A^T lam_N - dL/dv(q_N, v_N) = 0
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.control.law import Law, driven
from accion.control.layout import Layout, split
from accion.control.problem import ControlProblem
from accion.control.span import Here, args_of, rows_of_steps, start_and_end
from accion.control.transcription import time_words
from accion.discretise.step import Step as Discrete, gradient, with_work
from accion.methods import Method
from accion.systems import System
from accion.types import Array, Configuration


@dataclass(frozen=True)
class Balances:
    """The shares of a step in the momentum balances at both ends, the balances of its inner points,
    and the discrete constraint.
    """

    method: Method
    law: Law

    def __call__(self, system: System, here: Here) -> list[Array]:
        t, h, q0, d, samples = here.t, here.h, here.q0, here.d, here.samples
        pushed = [driven(system, self.law, own) for own in here.u]
        forces = [one.F(s.t, s.q, s.v) for one, s in zip(pushed, samples, strict=True)]
        f = partial(with_work, forces, samples)
        minus, plus, *at_inner = gradient(f, system, self.method, t, h, q0, d, None, here.inner)
        form = Discrete(system, self.method)
        rows = [minus + form.reaction(t, h, q0, d / h, here.lam), plus]
        if at_inner:
            held = form.inner_reaction(t, h, q0, d, here.inner, here.inner_lam)
            rows.append(jnp.ravel(at_inner[0] + held))
        return [*rows, form.closure(t, h, q0, d, here.inner)]


@dataclass(frozen=True)
class Departure:
    """What the start adds to the momentum balance there: dL/dv(t0, q_0, v_0)."""

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, _ = args
        n = system.space.dim
        (base,), _ = data
        e, v = split(x, n)
        return jnp.zeros(()), system.legendre(t0, system.space.retract(base, e), v)


@dataclass(frozen=True)
class Arrival:
    """What the end adds to the momentum balance there, -dL/dv(T, q_N, v_N) + A^T lam_N, and what
    the constraint says of v_N.
    """

    free_time: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration = args
        n, constraint = system.space.dim, system.constraint
        (base,), _ = data
        e, lam, v, T = split(x, n, system.multipliers, n)
        t = t0 + (T[0] if self.free_time else duration)
        q = system.space.retract(base, e)
        p = -system.legendre(t, q, v)
        if constraint is None:
            return jnp.zeros(()), p
        reaction = constraint.reaction(system, t, q, v, lam)
        velocity = constraint.on_velocities(system, t, q, v)
        return jnp.zeros(()), jnp.concatenate([p + reaction, velocity])


@rows_of_steps.register
def _(
    system: System, problem: ControlProblem, method: Method, layout: Layout, rows: RowNumbers
) -> tuple[Balances, list[np.ndarray], np.ndarray]:
    steps, n, m, when = layout.steps, system.space.dim, system.multipliers, None
    when, nodes = time_words(problem, layout.mesh), np.arange(steps + 1)
    asked = np.full((steps + 1, n), True)
    asked[[0, -1]] = problem.boundary == "velocities"
    balance = rows.block(
        asked,
        nodes + 0.3,
        lambda k, j: f"the momentum balance of {system.names[j]} {when(k)}",
    )
    numbers = [balance[:-1], balance[1:]]
    if method.inner_points:
        places = method.places[1:-1]
        numbers.append(
            rows.block(
                np.full((steps, len(places) * n), True),
                nodes[:-1] + 0.5,
                lambda k, j: f"the balance of {system.names[j % n]} {when(k + places[j // n])}",
            )
        )
    if m:
        held_at = method.places[1:]
        block = rows.block(
            asked_closures(problem, steps, method.inner_points),
            nodes[:-1] + 0.6,
            lambda k, j: f"constraint {j % m} of {system.name} {when(k + held_at[j // m])}",
        )
        numbers.append(block)
    return Balances(method, problem.law), numbers, balance


@start_and_end.register
def _(
    system: System,
    problem: ControlProblem,
    layout: Layout,
    rows: RowNumbers,
    balance: np.ndarray,
    base: Configuration,
) -> list[Family]:
    m, nodes, args = system.multipliers, np.arange(layout.steps + 1), args_of(problem)
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
    arrival = Family(Arrival(problem.free_time), args, (), columns, numbers, nodes[-1:, None], base)
    return [departure, arrival]


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
