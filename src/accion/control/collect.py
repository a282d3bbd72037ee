"""From the vector that a solver found to a solution that a person reads."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import nodes
from accion.control import vakonomic
from accion.control.pontryagin import Hamiltonian
from accion.control.program import ALL, VALUES
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


class Details(NamedTuple):
    """What a solver found, and what follows from it when it is asked for."""

    found: Any
    layout: Any
    balance: np.ndarray

    @property
    def ends(self):
        """The velocities at both ends, None where none are given."""
        return self.found.x[self.layout.v] if self.layout.v.size else None

    def trajectory(self, s):
        p = momenta(s, self)
        return trajectory_of(s, self, p)

    def multipliers(self, s):
        lam = np.append(self.found.lam, 0.0)[self.balance]
        return lam if s.formulation == "direct" else whole_multipliers(s.problem, lam, s.t, s.q, np.asarray(s.v), s.u)

    def costates(self, s):
        if s.formulation == "vakonomic":
            return differenced(s.problem, s.multipliers, s.t, s.q, np.asarray(s.v), s.u)
        return np.asarray(rows(costate, False, s.problem.system, s.t, s.q, np.asarray(s.v), s.multipliers, self.slope(s)))

    def slope(self, s):
        """dV/dq at fixed momenta, V the least cost that is left: what a step and all that follow say to a displacement of its start."""
        F, n = self.found.program.families[0], s.problem.system.space.dim
        _, _, Dcost, Drows, _ = F.evaluate(ALL, self.found.x, 1.0, self.found.lam)  # compiled already, as the slopes alone are not
        pulled = Dcost + np.einsum("kr,krv->kv", np.append(self.found.lam, 0.0)[F.rows], Drows)
        after = n + s.problem.system.multipliers + s.problem.count
        return np.concatenate([pulled[:, :n], -pulled[-1:, after : after + n]])


def solution_of(problem, method, formulation, layout, balance, found, solver):
    x, details = found.x, Details(found, layout, balance)
    duration = float(x[layout.T[0]]) if problem.free_time else problem.longest
    t = problem.t0 + duration / layout.steps * np.arange(layout.steps + 1)
    q = found.program.configurations(x)
    if formulation == "direct":
        u, t_u = x[layout.u], (t[1:] + t[:-1]) / 2
    else:
        u, t_u = vakonomic.controls_of(problem, method, q, details.ends), t if layout.v.size else t[1:-1]
    return Solution(
        problem=problem, method=method, formulation=formulation, t=t, q=q, t_u=t_u, u=u, cost=found.cost, duration=duration, solver=solver,
        iterations=found.iterations, success=found.success, message=found.message, violation=found.violation, stationarity=found.stationarity,
        details=details,
    )  # fmt: skip


@dataclass(frozen=True)
class StepMomenta:
    """(-(D1 Ld + Fd^-), D2 Ld + Fd^+) of the step from q0 to q1."""

    method: Any

    def __call__(self, system, t, h, q0, q1):
        minus, plus = variation(system, self.method, t, h, q0, system.space.local(q0, q1))
        return -minus, plus


def momenta(s, details):
    """The momenta at the nodes; where controls belong to nodes, half of each comes before its node."""
    problem, system, t, q, n = s.problem, s.problem.system, s.t, s.q, s.problem.system.space.dim
    h, ends, found = s.duration / s.steps, details.ends, details.found
    if s.formulation == "direct":
        _, shares = found.program.families[0].evaluate(VALUES, found.x)
        before, after = -shares[:, :n], shares[:, n : 2 * n]
    else:
        steps = (t[:-1], np.full(s.steps, h), cut(q, 0, -1), cut(q, 1, None))
        before, after = (np.array(a) for a in rows(StepMomenta(s.method), False, system, *steps))
        after[:-1] += h / 2 * (s.u[1:-1] if ends is not None else s.u) @ np.asarray(problem.B(0.0, None, None)).T
    p = np.concatenate([before[:1], after])
    if ends is not None:
        for node, v in ((0, ends[0]), (-1, ends[1])):
            p[node] = np.asarray(system.momentum(t[node], jax.tree.map(lambda a, k=node: a[k], q), jnp.asarray(v)))
    return p


def cut(q, first, last):
    return jax.tree.map(lambda a: a[first:last], q)


def trajectory_of(s, details, p):
    system, t, q, h = s.problem.system, s.t, s.q, s.duration / s.steps
    x = np.asarray(rows(increment, False, system, t[:-1], cut(q, 0, -1), cut(q, 1, None))) / h
    guess = np.concatenate([x[:1], x])
    lam = None
    if system.constraint is not None:
        guess, p, _ = rows(nodes.node, False, system, t, q, p, guess)
        lam = np.array(details.found.x[details.layout.lam])
        # At the start the force acts for half a step; at the end the unknown is the impulse itself.
        lam[0] *= 2
        lam[-1] *= 2 / h
    done = {"success": jnp.array(s.success), "steps_completed": jnp.array(s.steps), "iterations": jnp.full(s.steps + 1, s.iterations)}
    t, q, p, lam, h, guess = jax.tree.map(jnp.asarray, (t, q, p, lam, h, guess))
    return Trajectory(t=t, q=q, p=p, lam=lam, h=h, system=system, method=s.method, guess=guess, **done)


def increment(system, t, q0, q1):
    return system.space.local(q0, q1)


def costate(system, t, q, v, lam, slope):
    """-(dV/dq at fixed v, dV/dv) from dV/dq at fixed p and lam = dV/dp, with p = dL/dv(t, q, v)."""
    pairing = lambda e, v: lam @ system.momentum(t, system.space.displace(q, e), v)  # noqa: E731
    dq, dv = jax.grad(pairing, (0, 1))(jnp.zeros(system.space.dim), v)
    return -jnp.stack([slope + dq, dv])


@dataclass(frozen=True)
class ByControls:
    """dC/du."""

    cost: Any

    def __call__(self, system, t, q, v, u):
        return jax.grad(lambda u: self.cost(t, q, v, u, system.params))(u)


@dataclass(frozen=True)
class ByVelocities:
    """dH/dv at p0 = 0."""

    hamiltonian: Hamiltonian

    def __call__(self, system, t, q, v, u, p1):
        return jax.grad(lambda v: self.hamiltonian.H(system, t, q, v, u, jnp.zeros_like(v), p1))(v)


def whole_multipliers(problem, mu, t, q, v, u):
    """lam = N mu - B (B^T B)^-1 dC/du: the multipliers of all components, where those of the actuated ones were eliminated."""
    eliminated = vakonomic.elimination(problem)
    rest, inverse = np.array(eliminated.rest).reshape(-1, problem.system.space.dim), np.array(eliminated.inverse)
    lam = mu @ rest
    inner = slice(None) if len(u) == len(t) else slice(1, -1)
    slopes = rows(ByControls(problem.cost), False, problem.system, t[inner], jax.tree.map(lambda a: a[inner], q), v[inner], u)
    lam[inner] -= np.asarray(slopes) @ inverse
    return lam


def differenced(problem, lam, t, q, v, u):
    """Costates from the multipliers: p1 = -M lam, and p0 = -p1' - dH/dv (at p0 = 0) by differences."""
    if len(u) != len(t):
        u = np.concatenate([u[:1], u, u[-1:]])
    p1 = np.asarray(rows(costate, False, problem.system, t, q, v, lam, np.zeros_like(lam)))[:, 1]
    rest = rows(ByVelocities(Hamiltonian(problem.cost, problem.B)), False, problem.system, t, q, v, u, p1)
    p0 = -np.gradient(p1, t, axis=0, edge_order=2) - np.asarray(rest)
    return np.stack([p0, p1], axis=1)
