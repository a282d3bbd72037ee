"""From the vector that a solver found to a solution that a person reads."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

from accion.assembly.program import ALL, VALUES
from accion.control import vakonomic
from accion.control.between import Point
from accion.control.direct import Step
from accion.control.solution import Solution
from accion.discretise.step import variation
from accion.instant import constrained
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.stepping.nodal import from_nodes


class Refined(NamedTuple):
    """A solution on the finest mesh, the cost extrapolated to h = 0 with an estimate of its error,
    and the meshes on the way.
    """

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
        return (
            lam
            if s.formulation == "direct"
            else whole_multipliers(s.problem, lam, s.t, s.q, np.asarray(s.v), s.u)
        )

    def costates(self, s):
        if s.formulation == "vakonomic":
            return discrete_momenta(s, self.found)
        return np.asarray(
            at_times(
                costate,
                False,
                s.problem.system,
                s.t,
                s.q,
                np.asarray(s.v),
                s.multipliers,
                self.slope(s),
            )
        )

    def slope(self, s):
        """dV/dq at fixed momenta, V the least cost that is left: what a step and all that follow
        say to a displacement of its start.
        """
        n = s.problem.system.space.dim
        found = np.zeros((s.steps + 1, n))
        for F in self.found.program.families:
            # (displacement of the start, ..., of the end, duration)
            if isinstance(F.f, Step | Point):
                pulled = pulled_back(self.found, F)
                after = pulled.shape[1] - n - int(s.problem.free_time)
                k, last = F.nodes[:, 0], F.nodes[:, 1] == s.steps
                np.add.at(found, k, pulled[:, :n])
                found[-1] -= np.sum(pulled[last, after : after + n], axis=0)
        return found


def pulled_back(found, family):
    """d(cost + lam.rows)/dx of each element of a family, shape (elements, nv)."""
    # compiled already, as the slopes alone are not
    _, _, Dcost, Drows, _ = family.evaluate(ALL, found.x, 1.0, found.lam)
    return Dcost + np.einsum("kr,krv->kv", np.append(found.lam, 0.0)[family.rows], Drows)


def solution_of(problem, method, formulation, layout, balance, found, solver):
    x, details = found.x, Details(found, layout, balance)
    duration = float(x[layout.T[0]]) if problem.free_time else problem.longest
    t = problem.t0 + duration / layout.steps * np.arange(layout.steps + 1)
    q = found.program.configurations(x)
    if formulation == "direct":
        u, t_u = x[layout.u], (t[1:] + t[:-1]) / 2
    else:
        u, t_u = (
            vakonomic.controls_of(problem, method, q, details.ends),
            (t if layout.v.size else t[1:-1]),
        )
    return Solution(
        problem=problem,
        method=method,
        formulation=formulation,
        t=t,
        q=q,
        t_u=t_u,
        u=u,
        cost=found.cost,
        duration=duration,
        solver=solver,
        iterations=found.iterations,
        success=found.success,
        message=found.message,
        violation=found.violation,
        stationarity=found.stationarity,
        details=details,
    )


@dataclass(frozen=True)
class StepMomenta:
    """(-(D1 Ld + Fd^-), D2 Ld + Fd^+) of the step from q0 to q1."""

    method: Any

    def __call__(self, system, t, h, q0, q1):
        minus, plus = variation(system, self.method, t, h, q0, system.space.local(q0, q1))
        return -minus, plus


def momenta(s, details):
    """The momenta at the nodes; where controls belong to nodes, half of each comes before its node,
    at ends without one that of the next.
    """
    problem, system, t, q, n = s.problem, s.problem.system, s.t, s.q, s.problem.system.space.dim
    h, ends, found = s.duration / s.steps, details.ends, details.found
    if s.formulation == "direct":
        _, shares = found.program.families[0].evaluate(VALUES, found.x)
        before, after = -shares[:, :n], shares[:, n : 2 * n]
    else:
        steps = (t[:-1], np.full(s.steps, h), cut(q, 0, -1), cut(q, 1, None))
        before, after = (
            np.array(a) for a in at_times(StepMomenta(s.method), False, system, *steps)
        )
        pushed = h / 2 * s.control(t) @ np.asarray(problem.B(0.0, None, None)).T
        before, after = before - pushed[:-1], after + pushed[1:]
    p = np.concatenate([before[:1], after])
    if ends is not None:
        for node, v in ((0, ends[0]), (-1, ends[1])):
            p[node] = np.asarray(
                system.legendre(t[node], jax.tree.map(lambda a, k=node: a[k], q), jnp.asarray(v))
            )
    return p


def cut(q, first, last):
    return jax.tree.map(lambda a: a[first:last], q)


def trajectory_of(s, details, p):
    system, t, q, h = s.problem.system, s.t, s.q, s.duration / s.steps
    x = np.asarray(at_times(increment, False, system, t[:-1], cut(q, 0, -1), cut(q, 1, None))) / h
    guess = np.concatenate([x[:1], x])
    lam = None
    if system.constraint is not None:
        guess, p, _ = at_times(constrained.node, False, system, t, q, p, guess)
        lam = np.array(details.found.x[details.layout.lam])
        # At the start the force acts for half a step; at the end the unknown is the impulse itself.
        lam[0] *= 2
        lam[-1] *= 2 / h
    done: dict[str, Any] = {
        "success": jnp.array(s.success),
        "steps_completed": jnp.array(s.steps),
        "iterations": jnp.full(s.steps + 1, s.iterations),
    }
    t, q, p, lam, h, guess = jax.tree.map(jnp.asarray, (t, q, p, lam, h, guess))
    return Trajectory(
        t=t, q=q, p=p, lam=lam, h=h, system=system, method=s.method, guess=guess, **done
    )


def increment(system, t, q0, q1):
    return system.space.local(q0, q1)


def costate(system, t, q, v, lam, slope):
    """-(dV/dq at fixed v, dV/dv) from dV/dq at fixed p and lam = dV/dp, with p = dL/dv(t, q, v)."""

    def pairing(e, v):
        return lam @ system.legendre(t, system.space.displace(q, e), v)

    dq, dv = jax.grad(pairing, (0, 1))(jnp.zeros(system.space.dim), v)
    return -jnp.stack([slope + dq, dv])


@dataclass(frozen=True)
class ByControls:
    """dC/du."""

    cost: Any

    def __call__(self, system, t, q, v, u):
        return jax.grad(lambda u: self.cost(t, q, v, u, system.params))(u)


def whole_multipliers(problem, mu, t, q, v, u):
    """lam = N mu - B (B^T B)^-1 dC/du: the multipliers of all components, where those of the
    actuated ones were eliminated.
    """
    eliminated = vakonomic.elimination(problem)
    rest, inverse = (
        np.array(eliminated.rest).reshape(-1, problem.system.space.dim),
        np.array(eliminated.inverse),
    )
    lam = mu @ rest
    inner = slice(None) if len(u) == len(t) else slice(1, -1)
    slopes = at_times(
        ByControls(problem.cost),
        False,
        problem.system,
        t[inner],
        jax.tree.map(lambda a: a[inner], q),
        v[inner],
        u,
    )
    lam[inner] -= np.asarray(slopes) @ inverse
    return lam


def middle(system, t, v, h, P):
    """The momenta (of q, of v) in the middle of two nodes, from those of the nodes."""
    return from_nodes(system.space, v[None], h, P)


def discrete_momenta(s, found):
    """Costates of the vakonomic formulation: minus the momenta of the discrete Lagrangian Ld_k = h
    C_k + mu_k.Phi_k on windows of three nodes.

    They are the components of its Poincare-Cartan forms (004 eqs 8.5 and 8.6): with V the least
    cost of the windows around k + 1, k + 2, ..., what it says to displacements of q_k and q_{k+1}
    is

        (D1 Ld_{k+1}, D2 Ld_{k+1} + D1 Ld_{k+2}) = -(D2 Ld_k + D3 Ld_{k-1}, D3 Ld_k)

    the same by the discrete Euler-Lagrange equations. In the middle of the two nodes (dV/dq, dV/dv)
    follow, and between the middles a cubic spline. An end with a velocity has a V(q, v) of its own;
    one with two configurations goes on from the two steps next to it. Of a cyclic coordinate p0 is
    constant.
    """
    n, (windows, *halves) = s.problem.system.space.dim, found.program.families
    G, h = pulled_back(found, windows).reshape(-1, 3, n), np.full(s.steps, s.duration / s.steps)
    right = np.stack([G[:-1, 0], G[:-1, 1] + G[1:, 0]], axis=1)
    left = -np.stack([G[1:, 1] + G[:-1, 2], G[1:, 2]], axis=1)
    # the forms of the last two pairs of nodes from what is before them
    P = np.concatenate([right, left[-2:]])
    v = (
        np.asarray(
            at_times(
                increment, False, s.problem.system, s.t[:-1], cut(s.q, 0, -1), cut(s.q, 1, None)
            )
        )
        / h[:, None]
    )
    between = -np.asarray(at_times(middle, False, s.problem.system, s.t[:-1], v, h, P))
    ends = [1.5 * between[i] - 0.5 * between[j] for i, j in ((0, 1), (-1, -2))]
    if halves:
        first, last = (
            F if F.f.terminal is None else replace(F, f=replace(F.f, terminal=None)) for F in halves
        )
        (e0, _, v0), (_, e1, v1) = (pulled_back(found, F).reshape(3, n) for F in (first, last))
        ends = [-np.stack([e0 + G[0, 0], v0]), np.stack([e1 + G[-1, 2], v1])]
    times = np.concatenate([s.t[:1], (s.t[1:] + s.t[:-1]) / 2, s.t[-1:]])
    return CubicSpline(times, np.concatenate([ends[0][None], between, ends[1][None]]))(s.t)
