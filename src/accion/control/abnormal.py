"""Abnormal extremals of control problems: costates with p1.a + p0.v stationary in the controls,
whatever the cost is (Vakonomic thesis, section 6.1, p0 = 0 in the maximum principle).
"""

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.abnormal import Abnormal, Ends, Linear, abnormal_of, judged, points_of
from accion.arguments import wrong
from accion.checks import refuse
from accion.control.hamiltonian import Hamiltonian
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.systems import Dynamics, System
from accion.types import Array, Configuration, Scalar, Vector


@abnormal_of.register
def _(
    problem: ControlProblem, motion: Any, t0: Any, t1: Any, tolerance: float, parts: int
) -> Abnormal:
    if not isinstance(motion, Solution) or motion.problem is not problem:
        wrong("motion", "a Solution of the problem", motion)
    if t0 is not None or t1 is not None:
        raise ValueError("abnormal takes a solution as a whole: leave out t0 and t1.")
    if problem.system.constraint is not None:
        why = "their states are a submanifold, on which costates are determined up to its normals"
        refuse("abnormal", "control problems of constrained systems", why)
    if any(
        np.any(np.isfinite(b)) for b in (*problem.u_bounds, *problem.q_bounds, *problem.v_bounds)
    ):
        refuse("abnormal", "control problems with bounds", "on them costates have a sign only")
    if problem.besides:
        refuse(
            "abnormal", f"control problems with {', '.join(problem.besides)}", "they ask for more"
        )
    if problem.path:
        refuse("abnormal", "control problems with path constraints", "their multipliers are more")
    t = np.asarray(motion.t)
    ts = points_of(t)
    found = motion.at(ts)
    own = linear_along(problem.system, problem, ts, found.q, found.v, motion.control(ts))
    return judged(t, own, free_ends(problem, motion), tolerance)


@singledispatch
def linear_along(
    system: Any, problem: ControlProblem, t: Any, q: Configuration, v: Any, u: Any
) -> Linear:
    """The linear equation of the changes (of q, of v) that changes of the controls make."""
    space = system.space
    H, n = Hamiltonian(problem.cost, problem.law), space.dim

    def one(t: Scalar, q: Configuration, v: Vector, u: Vector) -> Any:
        zero = jnp.zeros(n)

        def both(e: Vector, v: Vector, u: Vector) -> tuple[Array, Array]:
            at = (t, space.displace(q, e), v, u)
            return H.acceleration(system, *at), problem.cost(*at, system.params)

        (a_q, a_v, a_u), (C_q, C_v, C_u) = jax.jacfwd(both, (0, 1, 2))(zero, v, u)
        turn = jax.jacfwd(lambda eta: space.ad(v, eta))(zero)
        A = jnp.block([[-turn, jnp.eye(n)], [a_q, a_v]])
        B = jnp.concatenate([jnp.zeros((n, len(u))), a_u])
        return A, B, jnp.concatenate([C_q, C_v]), C_u

    found = (np.asarray(a) for a in jax.jit(jax.vmap(one))(t, q, v, u))
    return Linear(*found, lift=np.zeros((len(t), 0, 2 * n)))


@linear_along.register
def _(system: Dynamics, problem: ControlProblem, t: Any, q: Any, v: Any, u: Any) -> Linear:
    """Of states."""

    def one(t: Scalar, x: Vector, u: Vector) -> Any:
        A, B = jax.jacfwd(system.rates, (1, 2))(t, x, u)
        C = jax.grad(lambda x, u: problem.cost(t, x, x, u, system.params), (0, 1))(x, u)
        return A, B, *C

    found = (np.asarray(a) for a in jax.jit(jax.vmap(one))(t, q, u))
    return Linear(*found, lift=np.zeros((len(t), 0, q.shape[-1])))


def free_ends(problem: ControlProblem, motion: Solution) -> Ends:
    """What is free at the ends: components that are not given and, with a free duration, the rates
    of the state at the end.
    """
    # the velocities at the ends of states are none of theirs
    parts = 1 if problem.system.inputs else 2
    one = np.eye(parts * problem.system.space.dim)
    fixed = [np.concatenate([e.q_fixed, e.v_fixed][:parts]) for e in problem.ends]
    start, end = (one[:, ~each] for each in fixed)
    if problem.free_time:
        end = np.hstack([end, last_rates(problem.system, problem, motion)[:, None]])
    return Ends(start, end)


@singledispatch
def last_rates(system: System, problem: ControlProblem, motion: Solution) -> np.ndarray:
    """(v, a) at the end; the rates of states."""
    t, v = motion.t[-1], np.asarray(motion.v)[-1]
    q, u = jax.tree.map(lambda a: a[-1], motion.q), motion.control(motion.t[-1:])[0]
    H = Hamiltonian(problem.cost, problem.law)
    return np.concatenate([v, np.asarray(H.acceleration(system, t, q, v, u))])


@last_rates.register
def _(system: Dynamics, problem: ControlProblem, motion: Solution) -> np.ndarray:
    return np.asarray(motion.v)[-1]
