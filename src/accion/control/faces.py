"""A control problem without its controls: a Lagrangian system of second order, in continuous and in
discrete time (Vakonomic thesis, sections 7.1, 8.5 and 8.6, signs and cross terms corrected).

    L~(t, q, v, a) = C(t, q, v, u),    Phi(t, q, v, a) = 0,    B u + K Phi = d/dt dL/dv - dL/dq - F

    Ld(q_0, q_1, q_2) = h C(t_1, q_1, v_1, u),    c(q_0, q_1, q_2) = 0,    v_1 = (q_2 - q_0)/2h
    B u + K c = -R/h,    R = D2 Ld(q_0, q_1) + Fd^+ + D1 Ld(q_1, q_2) + Fd^-

With as many controls as coordinates there is no constraint.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import wrong
from accion.control.elimination import OTHER, Elimination, elimination_of, force_balance
from accion.discretise.step import variation
from accion.methods import Method
from accion.systems import DiscreteSystem, HigherOrderSystem, System
from accion.systems.start import stacked
from accion.types import Array, Configuration, Function, Params, Scalar, Vector

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem


@runtime_checkable
class Moved(Protocol):
    """What has configurations at some times: a `Solution`, an `Extremal`, a `Trajectory`."""

    t: Any
    q: Any


# ---------------------------------------------------------------- what has other faces


def check_unconstrained(problem: "ControlProblem", what: str) -> None:
    """Raise ValueError where the system has no Lagrangian, or constraints: their forces would be
    controls more.
    """
    if problem.system.inputs:
        raise ValueError(f"{what} does not support a Dynamics, which has no Lagrangian; {OTHER}.")
    if problem.system.constraint is not None:
        raise ValueError(f"{what} does not support constrained systems; {OTHER}.")


def check_smooth(problem: "ControlProblem", what: str) -> None:
    """Raise ValueError unless the optima of a problem are motions of one smooth system."""
    check_unconstrained(problem, what)
    if problem.besides:
        raise ValueError(
            f"{what} does not support {', '.join(problem.besides)}; leave them out, or {OTHER}."
        )
    bounds = (problem.u_bounds, problem.q_bounds, problem.v_bounds)
    if problem.path or any(np.any(np.isfinite(side)) for pair in bounds for side in pair):
        raise ValueError(
            f"{what} does not support path constraints and bounds: where one is reached, other"
            f" equations hold. Leave them out, or {OTHER}."
        )


def check_windows(method: Method) -> None:
    """Raise ValueError unless the steps of a method meet in one control at each node."""
    if not method.variational:
        raise ValueError(f"the method {type(method).__name__} is not variational; try Midpoint().")
    if method.inner_points:
        raise ValueError(
            f"the vakonomic formulation does not support {type(method).__name__}: the balance at a"
            " node has the controls of both steps, each several, so that none of them can be"
            ' eliminated there; try formulation="direct", or Midpoint().'
        )


# ---------------------------------------------------------------- in continuous time


@dataclass(frozen=True)
class RunningCost:
    """L~(t, q, v, a) = C(t, q, v, u(t, q, v, a))."""

    system: System
    cost: Function
    eliminated: Elimination

    def __call__(self, t: Scalar, q: Configuration, v: Vector, a: Vector, params: Params) -> Scalar:
        E = force_balance(self.system.altered(params=params), t, q, v, a)
        return self.cost(t, q, v, self.eliminated.split(t, q, params, E)[0], params)

    def is_of(self, problem: "ControlProblem") -> bool:
        """Whether it is what `problem` minimises."""
        return self.cost is problem.cost and self.eliminated.B == problem.B


@dataclass(frozen=True)
class Unactuated:
    """Phi(t, q, v, a): what the equations of motion lack where no control acts."""

    system: System
    eliminated: Elimination

    def __call__(self, t: Scalar, q: Configuration, v: Vector, a: Vector, params: Params) -> Array:
        E = force_balance(self.system.altered(params=params), t, q, v, a)
        return self.eliminated.split(t, q, params, E)[1]


def vakonomic(problem: "ControlProblem") -> HigherOrderSystem:
    """See `ControlProblem.vakonomic`."""
    check_smooth(problem, "vakonomic()")
    system, eliminated = problem.system, elimination_of(problem)
    return HigherOrderSystem(
        RunningCost(system, problem.cost, eliminated),
        system.space,
        system.params,
        order=2,
        vakonomic=Unactuated(system, eliminated) if eliminated.count else None,
        coordinates=system.coordinates,
        name=f"{problem.name}, vakonomic",
    )


# ---------------------------------------------------------------- in discrete time


@dataclass(frozen=True)
class Node:
    """What a node between two steps adds, for `WindowCost`, `WindowConstraint` and the vakonomic
    formulation of `optimize`.
    """

    cost: Function
    eliminated: Elimination
    method: Method

    def __call__(
        self,
        system: System,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
    ) -> tuple[Array, Array, Array]:
        """(h C, u, c) at q1, the node of the time t + h."""
        x = system.space.local(q0, q1), system.space.local(q1, q2)
        before = variation(system, self.method, t, h, q0, x[0])[1]
        R = before + variation(system, self.method, t + h, h, q1, x[1])[0]
        u, c = self.eliminated.split(t + h, q1, system.params, -R / h)
        return h * self.cost(t + h, q1, (x[0] + x[1]) / (2 * h), u, system.params), u, c


@dataclass(frozen=True)
class WindowCost:
    """Ld(t, h, q0, q1, q2) = h C at the node in the middle."""

    system: System
    node: Node

    def __call__(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
        params: Params,
    ) -> Scalar:
        return self.node(self.system.altered(params=params), t, h, q0, q1, q2)[0]

    def is_of(self, problem: "ControlProblem") -> bool:
        """Whether it is what `problem` minimises."""
        return self.node.cost is problem.cost and self.node.eliminated.B == problem.B


@dataclass(frozen=True)
class WindowConstraint:
    """c(t, h, q0, q1, q2), what the balance lacks at the node in the middle."""

    system: System
    node: Node

    def __call__(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
        params: Params,
    ) -> Array:
        return self.node(self.system.altered(params=params), t, h, q0, q1, q2)[2]


def discrete(problem: "ControlProblem", method: Method) -> DiscreteSystem:
    """See `ControlProblem.discrete`."""
    check_smooth(problem, "discrete()")
    check_windows(method)
    system, eliminated = problem.system, elimination_of(problem)
    node = Node(problem.cost, eliminated, method)
    return DiscreteSystem(
        WindowCost(system, node),
        system.space,
        system.params,
        order=2,
        constraint=WindowConstraint(system, node) if eliminated.count else None,
        coordinates=system.coordinates,
        name=f"{problem.name}, discrete by {type(method).__name__}",
    )


def face_of(system: Any) -> RunningCost | WindowCost | None:
    """What a system was made of, where it is a face of a control problem; else None."""
    if not isinstance(system, HigherOrderSystem | DiscreteSystem):
        return None
    own: Any = system.lagrangian  # traced
    return own.source if isinstance(own.source, RunningCost | WindowCost) else None


# ---------------------------------------------------------------- the ends


def conditions(problem: "ControlProblem", motion: Any) -> dict[str, Any]:
    """See `ControlProblem.conditions`."""
    if motion is not None:
        return pairs_of(problem, motion)
    start, end = problem.ends
    given = {"duration": problem.longest, "t0": problem.t0}
    if problem.free_time:
        raise ValueError(
            "connect does not support a free duration: give `duration` as a number, or the motion"
            " of a solution, problem.conditions(solution)."
        )
    if problem.terminal is not None:
        raise ValueError(
            "connect does not support a terminal cost: its ends are given, and with them the cost"
            " there. Leave out `terminal`, or take the ends of a solution:"
            " problem.conditions(solution)."
        )
    if problem.boundary == "configurations":
        return given | {"qa": stacked([start.q, start.v]), "qb": stacked([end.q, end.v])}
    for words, one in (("start", start), ("end", end)):
        if not (np.all(one.q_fixed) and np.all(one.v_fixed)):
            raise ValueError(
                f"connect does not support free components at an end: give the {words} whole, or"
                " take the ends of a solution: problem.conditions(solution)."
            )
    rates = {"va": jnp.asarray(start.v)[None], "vb": jnp.asarray(end.v)[None]}
    return given | {"qa": start.q, "qb": end.q} | rates


def pairs_of(problem: "ControlProblem", motion: Any) -> dict[str, Any]:
    """The first and the last two configurations of a motion, its times, and itself as the guess."""
    if not isinstance(motion, Moved):
        wrong("motion", "a Solution or a Trajectory", motion)
    q = jax.tree.map(np.asarray, motion.q)
    t, lengths = np.asarray(motion.t), {len(leaf) for leaf in jax.tree.leaves(q)}
    same = jax.tree.structure(q) == jax.tree.structure(problem.system.space.identity())
    if not same or lengths != {len(t)} or len(t) < 4:
        wrong("motion", f"one of {problem.system.name}, of four times or more", motion)
    head, tail = (jax.tree.map(lambda a, s=s: a[s], q) for s in (slice(2), slice(-2, None)))
    return {"qa": head, "qb": tail, "t0": float(t[0]), "duration": float(t[-1] - t[0]), "guess": q}
