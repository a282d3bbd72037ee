"""From the vector that a solver found to a solution that a person reads."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import nodes
from accion.control import direct, vakonomic
from accion.control.layout import displaced
from accion.control.pontryagin import Hamiltonian
from accion.control.program import in_pieces, slopes
from accion.control.solution import Solution
from accion.pullback import variation
from accion.trajectory import Trajectory, rows


class Refined(NamedTuple):
    """A solution on the finest mesh, the cost extrapolated to h = 0 with an estimate of its error, and the meshes on the way."""

    solution: Solution
    cost: float
    error: float
    steps: tuple[int, ...]
    costs: tuple[float, ...]


def solution_of(problem, method, formulation, layout, balance, found, solver):
    space, steps = problem.system.space, layout.steps
    x = found.x
    duration = float(x[layout.T[0]]) if problem.free_time else problem.longest
    h = duration / steps
    t = problem.t0 + h * np.arange(steps + 1)
    module = direct if formulation == "direct" else vakonomic
    q = displaced(space, module.base_now(found.program), x[layout.e])
    ends = x[layout.v] if layout.v.size else None
    if formulation == "direct":
        u, t_u = x[layout.u], (t[1:] + t[:-1]) / 2
        pushes = u
    else:
        u = vakonomic.controls_of(problem, method, layout, q, ends)
        t_u = t if ends is not None else t[1:-1]
        pushes = None
    p = momenta(problem, method, h, t, q, u, pushes, ends)
    trajectory = trajectory_of(problem, method, h, t, q, p, ends, found, layout)
    multipliers, costates = duals(problem, formulation, layout, balance, found, trajectory, t, q, u, h)
    return Solution(
        problem=problem, method=method, formulation=formulation, trajectory=trajectory, t_u=t_u, u=u, cost=found.cost, costates=costates,
        multipliers=multipliers, duration=duration, iterations=found.iterations, success=found.success, message=found.message,
        violation=found.violation, stationarity=found.stationarity, solver=solver,
    )  # fmt: skip


@partial(jax.jit, static_argnums=(0, 1))
def step_momenta(method, B, system, h, t, q, u):
    """(-(D1 Ld + Fd^-), D2 Ld + Fd^+) of each step, with the controls `u` of the steps."""
    from dataclasses import replace

    from accion.control.problem import Push

    a, b = (jax.tree.map(lambda leaf, s=s: leaf[s], q) for s in (slice(None, -1), slice(1, None)))

    def one(t, a, b, u):
        minus, plus = variation(replace(system, force=Push(system.force, B, u)), method, t, h, a, system.space.local(a, b))
        return -minus, plus

    return jax.vmap(one)(t[:-1], a, b, u)


def momenta(problem, method, h, t, q, u, pushes, ends):
    """The momenta at the nodes; where controls belong to nodes, half of each comes before its node."""
    system, steps = problem.system, len(t) - 1
    none = np.zeros((steps, problem.count))
    before, after = (np.asarray(a) for a in step_momenta(method, problem.B, system, h, t, q, none if pushes is None else pushes))
    p = np.concatenate([before[:1], after])
    if pushes is None:
        impulses = np.asarray(jax.vmap(lambda t, q, u: problem.B(t, q, system.params) @ u)(t[1:-1], cut(q, 1, -1), u[1:-1] if ends is not None else u))
        p[1:-1] += h / 2 * impulses
    if ends is not None:
        for node, v in ((0, ends[0]), (-1, ends[1])):
            p[node] = np.asarray(system.momentum(t[node], jax.tree.map(lambda a, k=node: a[k], q), jnp.asarray(v)))
    return p


def cut(q, first, last):
    return jax.tree.map(lambda a: a[first:last], q)


def trajectory_of(problem, method, h, t, q, p, ends, found, layout):
    system, steps = problem.system, layout.steps
    x = np.asarray(jax.vmap(system.space.local)(cut(q, 0, -1), cut(q, 1, None))) / h
    guess = np.concatenate([x[:1], x])
    lam = None
    if system.constraint is not None:
        _, p, _ = rows(nodes.node, False, system, t, q, p, guess)
        lam = np.array(found.x[layout.lam])
        # At the start the force acts for half a step; at the end the unknown is the impulse itself.
        lam[0] *= 2
        lam[-1] *= 2 / h
    done = {"success": jnp.array(found.success), "steps_completed": jnp.array(steps), "iterations": jnp.full(steps + 1, found.iterations)}
    as_jax = lambda tree: jax.tree.map(jnp.asarray, tree)  # noqa: E731
    return Trajectory(t=jnp.asarray(t), q=as_jax(q), p=jnp.asarray(p), lam=as_jax(lam), h=jnp.asarray(h), system=system, method=method,
                      guess=jnp.asarray(guess), **done)  # fmt: skip


def duals(problem, formulation, layout, balance, found, trajectory, t, q, u, h):
    """(multipliers of the momentum balances, costates): with V the least cost that is left, lam_k = dV/dp, and (p0, p1) = -(dV/dq, dV/dv)."""
    lam = np.append(found.lam, 0.0)[balance]
    system, n = problem.system, problem.system.space.dim
    v = np.asarray(trajectory.v)
    if formulation == "vakonomic":
        lam = whole_multipliers(problem, lam, t, q, v, u)
        return lam, differenced(problem, lam, t, q, v, u)
    F = found.program.families[0]
    _, _, Dcost, Drows = in_pieces(slopes, F, found.x[F.columns])
    weights = np.append(found.lam, 0.0)[F.rows]
    pulled = Dcost + np.einsum("kr,krv->kv", weights, Drows)
    m, c = system.multipliers, problem.count
    left, right = pulled[:, :n], pulled[:, n + m + c : 2 * n + m + c]
    slope = np.concatenate([left, -right[-1:]])
    return lam, np.asarray(costates_at(system, t, q, v, lam, slope))


@jax.jit
def costates_at(system, t, q, v, lam, slope):
    """-(dV/dq at fixed v, dV/dv) from dV/dq at fixed p and lam = dV/dp, with p = dL/dv(t, q, v)."""
    space = system.space

    def one(t, q, v, lam, slope):
        pairing = lambda e, v: lam @ system.momentum(t, space.displace(q, e), v)  # noqa: E731
        dq, dv = jax.grad(pairing, (0, 1))(jnp.zeros(space.dim), v)
        return -jnp.stack([slope + dq, dv])

    return jax.vmap(one)(jnp.asarray(t), q, v, lam, slope)


def whole_multipliers(problem, mu, t, q, v, u):
    """lam = N mu - B (B^T B)^-1 dC/du: the multipliers of all components, where those of the actuated ones were eliminated."""
    eliminated = vakonomic.elimination(problem)
    rest, inverse = np.array(eliminated.rest).reshape(-1, problem.system.space.dim), np.array(eliminated.inverse)
    lam = mu @ rest
    inner = slice(None) if len(u) == len(t) else slice(1, -1)
    slopes_u = jax.vmap(lambda t, q, v, u: jax.grad(lambda u: problem.cost(t, q, v, u, problem.system.params))(u))
    lam[inner] -= np.asarray(slopes_u(t[inner], jax.tree.map(lambda a: a[inner], q), v[inner], u)) @ inverse
    return lam


def differenced(problem, lam, t, q, v, u):
    """Costates from the multipliers: p1 = -M lam, and p0 = -p1' - dH/dv (at p0 = 0) by differences."""
    if len(u) != len(t):
        u = np.concatenate([u[:1], u, u[-1:]])
    hamiltonian, system = Hamiltonian(problem.cost, problem.B), problem.system
    zero = np.zeros_like(lam)
    p1 = np.asarray(costates_at(system, t, q, v, lam, zero))[:, 1]
    rest = jax.vmap(lambda t, q, v, u, p1: jax.grad(lambda v: hamiltonian.H(system, t, q, v, u, jnp.zeros_like(v), p1))(v))
    p0 = -np.gradient(p1, t, axis=0, edge_order=2) - np.asarray(rest(t, q, v, u, p1))
    return np.stack([p0, p1], axis=1)
