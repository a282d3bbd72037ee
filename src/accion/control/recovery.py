"""From the vector that a solver found to what a person reads: momenta, multipliers, costates.

What follows from a solution is computed when it is asked for; each formulation has its own way.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family, all_at_once
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.control import vakonomic
from accion.control.actuation import Actuation
from accion.control.details import Rows
from accion.control.direct import Step
from accion.control.elimination import Elimination
from accion.control.extras import Via
from accion.control.guess import control_times
from accion.control.layout import Layout
from accion.control.mesh import equal
from accion.control.path_constraints import PathPoint
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.discretise.step import variation
from accion.instant import constrained
from accion.methods import Method
from accion.numerics import newton
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.stepping.nodal import from_nodes
from accion.systems import System
from accion.types import (
    Array,
    Configuration,
    Covector,
    Function,
    Multipliers,
    Params,
    Scalar,
    Vector,
)

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class DirectDetails:
    """What follows from where a solver ended, in the direct formulation.

    Arguments:
        found: where it ended.
        layout: of its unknowns.
        balance: the numbers of the rows of the momentum balances, shape (times, dim).
    """

    found: Found
    layout: Layout
    balance: np.ndarray

    def controls(self, t: np.ndarray, q: Configuration, method: Method) -> Any:
        """(t_u, u): those of a step at its places, in the middle where there is one."""
        u = np.concatenate(self.found.x[self.layout.u])
        return control_times(t, method.control_places), u

    @property
    def inner(self) -> np.ndarray:
        """Increments of the inner points of the steps, shape (steps, inner points, dim)."""
        return self.found.x[self.layout.inner]

    def trajectory(self, solution: Solution) -> Trajectory:
        shares = self.found.program.families[0].values(self.found.x).rows
        return motion_of(solution, numbers_of(solution, self), shares)

    def multipliers(self, solution: Solution) -> np.ndarray:
        return np.append(self.found.lam, 0.0)[self.balance]

    def costates(self, solution: Solution) -> np.ndarray:
        s, slope = solution, slope_of(self.found, solution)
        point = (s.t, s.q, np.asarray(s.v))
        return np.asarray(at_times(costate, False, s.problem.system, *point, s.multipliers, slope))

    def cost_gradient(self, solution: Solution) -> Params:
        return params_gradient(self.found)

    def dataset(self, solution: Solution) -> "xr.Dataset":
        return solution.trajectory.to_xarray()

    def rates(self, solution: Solution) -> Array:
        return solution.trajectory.v

    def rows(self, solution: Solution, t: np.ndarray) -> Rows:
        found = solution.trajectory.at(t)
        return Rows(found.q, found.v)


def slope_of(found: Found, solution: Solution) -> np.ndarray:
    """dV/dq at fixed momenta, V the least cost that is left: what a step and all that follow say to
    a displacement of its start.
    """
    problem, steps = solution.problem, solution.steps
    n = problem.system.space.dim
    slope = np.zeros((steps + 1, n))
    for F in found.program.families:
        # (displacement of the start, ..., of the end, duration)
        if isinstance(F.f, Step | PathPoint | Via):
            nodes, pulled = np.asarray(F.nodes), pulled_back(found, F)
            after = pulled.shape[1] - n - int(problem.free_time)
            np.add.at(slope, nodes[:, 0], pulled[:, :n])
            last = nodes[:, 1] == steps
            slope[-1] -= np.sum(pulled[last, after : after + n], axis=0)
    return slope


@dataclass(frozen=True)
class VakonomicDetails:
    """The same in the vakonomic formulation; `balance` are the rows of what is not actuated."""

    found: Found
    layout: Layout
    balance: np.ndarray

    def controls(self, t: np.ndarray, q: Configuration, method: Method) -> Any:
        """(t_u, u): one at each node, at the inner nodes where the ends have no velocities."""
        ends = end_velocities(self)
        u = vakonomic.controls_of(self.layout.problem, method, q, ends)
        return (t[1:-1] if ends is None else t), u

    @property
    def inner(self) -> np.ndarray:
        """None: methods with inner points have no windows."""
        return self.found.x[self.layout.inner]

    def trajectory(self, solution: Solution) -> Trajectory:
        """Half of a control at a node comes before it; at ends without one that of the next."""
        s, problem, h = solution, solution.problem, solution.duration / solution.steps
        steps = (s.t[:-1], np.full(s.steps, h), part_of(s.q, 0, -1), part_of(s.q, 1, None))
        found = at_times(StepMomenta(s.method), False, problem.system, *steps)
        before, after = (np.array(a) for a in found)
        assert problem.B is not None  # or controls are not eliminated
        pushed = at_times(Pushed(problem.B), False, problem.system, s.t, s.q, s.control(s.t))
        pushed = h / 2 * np.asarray(pushed)
        given = numbers_of(s, self)
        p = node_momenta(given, before - pushed[:-1], after + pushed[1:])
        return trajectory_of(s, given, p)

    def dataset(self, solution: Solution) -> "xr.Dataset":
        return solution.trajectory.to_xarray()

    def rates(self, solution: Solution) -> Array:
        return solution.trajectory.v

    def rows(self, solution: Solution, t: np.ndarray) -> Rows:
        found = solution.trajectory.at(t)
        return Rows(found.q, found.v)

    def multipliers(self, solution: Solution) -> np.ndarray:
        mu = np.append(self.found.lam, 0.0)[self.balance]
        return all_multipliers(solution, mu)

    def costates(self, solution: Solution) -> np.ndarray:
        return discrete_momenta(solution, self.found)

    def cost_gradient(self, solution: Solution) -> Params:
        return params_gradient(self.found)


# ---------------------------------------------------------------- momenta and the trajectory

Details = DirectDetails | VakonomicDetails


def end_velocities(details: Details) -> np.ndarray | None:
    """The velocities at both ends, None where none are given."""
    return details.found.x[details.layout.v] if details.layout.v.size else None


@dataclass(frozen=True)
class StepMomenta:
    """(-(D1 Ld + Fd^-), D2 Ld + Fd^+) of the step from q0 to q1."""

    method: Method

    def __call__(
        self, system: System, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration
    ) -> tuple[Covector, Covector]:
        minus, plus = variation(system, self.method, t, h, q0, system.space.local(q0, q1))
        return -minus, plus


@dataclass(frozen=True)
class Pushed:
    """B(t, q) u."""

    B: Actuation

    def __call__(self, system: System, t: Scalar, q: Configuration, u: Array) -> Covector:
        return self.B(t, q, system.params) @ u


class Numbers(NamedTuple):
    """What a motion is made of: numbers, or what JAX traces in their place."""

    system: Any
    t: Any
    q: Configuration
    duration: Any
    x: Any  # all unknowns
    layout: Layout


def numbers_of(s: Solution, details: Details) -> Numbers:
    """Those of a solution."""
    return Numbers(s.problem.system, s.t, s.q, s.duration, details.found.x, details.layout)


def node_momenta(given: Numbers, before: Any, after: Any) -> Array:
    """The momenta at the nodes from those that each step starts and ends with; at ends with
    velocities they are dL/dv.
    """
    ends = [before[:1], after[-1:]]
    for i, number in enumerate(given.layout.v):
        q = jax.tree.map(lambda a, k=-i: a[k], given.q)
        ends[i] = given.system.legendre(given.t[-i], q, jnp.asarray(given.x[number]))[None]
    return jnp.concatenate([ends[0], after[:-1], ends[1]])


def part_of(q: Configuration, first: int, last: int | None) -> Configuration:
    """Some of the configurations of a path."""
    return jax.tree.map(lambda a: a[first:last], q)


def mean_velocities(system: System, t: Any, q: Configuration) -> Any:
    """The increment of each step over its duration, shape (steps, dim)."""
    before, after = part_of(q, 0, -1), part_of(q, 1, None)
    x = at_times(increment, False, system, t[:-1], before, after)
    return x / (t[1:] - t[:-1])[:, None]


def increment(system: System, t: Scalar, q0: Configuration, q1: Configuration) -> Vector:
    return system.space.local(q0, q1)


def trajectory_of(s: Solution, given: Numbers, p: Any) -> Trajectory:
    """The motion with momenta `p`, which under constraints are those of its velocities."""
    system, t, q = given.system, given.t, given.q
    h, v = t[1:] - t[:-1], mean_velocities(system, t, q)
    guess, lam = jnp.concatenate([v[:1], v]), None
    if system.constraint is not None:
        guess, p, _ = at_times(constrained.node, False, system, t, q, p, guess)
        # At the start the force acts in one step only; at the end the unknown is the impulse.
        share = s.method.end_weight * (jnp.append(h, 0.0) + jnp.append(0.0, h))
        lam = given.x[given.layout.lam] * (jnp.append(h, 1.0) / share)[:, None]
    return Trajectory(
        t=jnp.asarray(t),
        q=jax.tree.map(jnp.asarray, q),
        p=jnp.asarray(p),
        lam=None if lam is None else jnp.asarray(lam),
        h=jnp.asarray(given.duration / s.steps if equal(s.mesh) else h),
        system=system,
        method=s.method,
        controlled=True,
        guess=jnp.asarray(guess),
        success=jnp.array(s.success),
        steps_completed=jnp.array(s.steps),
        iterations=jnp.full(s.steps + 1, s.iterations),
    )


def motion_of(s: Solution, given: Numbers, shares: Any) -> Trajectory:
    """The motion of the direct formulation, from what its steps add to the momentum balances."""
    n = given.system.space.dim
    return trajectory_of(s, given, node_momenta(given, -shares[:, :n], shares[:, n : 2 * n]))


# ---------------------------------------------------------------- multipliers and costates


def pulled_back(found: Found, family: Family) -> np.ndarray:
    """d(cost + lam.rows)/dx of each element of a family, shape (elements, nv)."""
    # compiled already, as the slopes alone are not
    slopes = family.curvature(found.x, 1.0, found.lam)
    lam = np.append(found.lam, 0.0)[family.rows]
    return slopes.Dcost + np.einsum("kr,krv->kv", lam, slopes.Drows)


def params_gradient(found: Found) -> Params:
    """d(cost + lam.rows)/d params at a solution."""
    system = found.program.families[0].args[0]

    def lagrangian(params: Params) -> Array:
        return lagrangian_of(found.program, system.altered(params=params), found.x, found.lam)

    return jax.grad(lagrangian)(system.params)


def lagrangian_of(program: Program, system: Any, x: Any, lam: Any) -> Array:
    """cost + lam.rows of a program about `system` in the place of its own, as JAX traces it."""
    total, lam = jnp.zeros(()), jnp.append(lam, 0.0)
    for F in program.families:
        cost, rows = all_at_once(F.f, (system, *F.args[1:]), F.own_data, x[F.columns])
        total = total + jnp.sum(cost) + jnp.sum(lam[F.rows] * rows)
    return total


def costate(
    system: System, t: Scalar, q: Configuration, v: Vector, lam: Multipliers, slope: Covector
) -> Array:
    """-(dV/dq at fixed v, dV/dv) from dV/dq at fixed p and lam = dV/dp, with p = dL/dv(t, q, v)."""

    def pairing(e: Vector, v: Vector) -> Array:
        return lam @ system.legendre(t, system.space.displace(q, e), v)

    dq, dv = jax.grad(pairing, (0, 1))(jnp.zeros(system.space.dim), v)
    return -jnp.stack([slope + dq, dv])


@dataclass(frozen=True)
class NodeMultipliers:
    """The multipliers of all components of a balance, with [B K]^T lam = (-dC/du, mu), from those
    of its constraints.
    """

    cost: Function
    eliminated: Elimination

    def __call__(
        self, system: System, t: Scalar, q: Configuration, v: Vector, u: Array, mu: Array
    ) -> Covector:
        slope = jax.grad(lambda u: self.cost(t, q, v, u, system.params))(u)
        whole = self.eliminated.whole(t, q, system.params)
        return newton.solve(whole.T, jnp.concatenate([-slope, mu]))


def all_multipliers(s: Solution, mu: np.ndarray) -> np.ndarray:
    """The multipliers of all components of the momentum balances R, of which those of the actuated
    ones were eliminated; `mu` are those of c = -K^T R/h, at an end of -2 K^T R/h.
    """
    problem: ControlProblem = s.problem
    h = s.duration / s.steps
    eliminated, lam = (
        vakonomic.elimination(problem),
        np.zeros((s.steps + 1, problem.system.space.dim)),
    )
    inner = slice(None) if len(s.u) == len(s.t) else slice(1, -1)
    share = np.full((s.steps + 1, 1), -h)
    share[[0, -1]] /= 2
    q = jax.tree.map(lambda a: a[inner], s.q)
    point = (s.t[inner], q, np.asarray(s.v)[inner], s.u, (mu / share)[inner])
    found = NodeMultipliers(problem.cost, eliminated)
    lam[inner] = at_times(found, False, problem.system, *point)
    return lam


def momenta_between(system: System, t: Scalar, v: Vector, h: Scalar, P: Array) -> Array:
    """The momenta (of q, of v) in the middle of two nodes, from those of the nodes."""
    return from_nodes(system.space, v[None], h, P)


def discrete_momenta(s: Solution, found: Found) -> np.ndarray:
    """Costates of the vakonomic formulation: minus the momenta of the discrete Lagrangian Ld_k = h
    C_k + mu_k.Phi_k on windows of three nodes.

    They are the components of its Poincare-Cartan forms (Vakonomic thesis, eqs 8.5 and 8.6): with V
    the least cost of the windows around k + 1, k + 2, ..., what it says to displacements of q_k and
    q_{k+1} is

        (D1 Ld_{k+1}, D2 Ld_{k+1} + D1 Ld_{k+2}) = -(D2 Ld_k + D3 Ld_{k-1}, D3 Ld_k)

    the same by the discrete Euler-Lagrange equations. In the middle of the two nodes (dV/dq, dV/dv)
    follow, and between the middles a cubic spline. An end with a velocity has a V(q, v) of its own;
    one with two configurations goes on from the two steps next to it. Of a cyclic coordinate p0 is
    constant.
    """
    system, n = s.problem.system, s.problem.system.space.dim
    windows, *halves = found.program.families
    G, h = pulled_back(found, windows).reshape(-1, 3, n), np.full(s.steps, s.duration / s.steps)
    right = np.stack([G[:-1, 0], G[:-1, 1] + G[1:, 0]], axis=1)
    left = -np.stack([G[1:, 1] + G[:-1, 2], G[1:, 2]], axis=1)
    # the forms of the last two pairs of nodes from what is before them
    P = np.concatenate([right, left[-2:]])
    middle = -np.asarray(
        at_times(momenta_between, False, system, s.t[:-1], mean_velocities(system, s.t, s.q), h, P)
    )
    ends = [1.5 * middle[i] - 0.5 * middle[j] for i, j in ((0, 1), (-1, -2))]
    if halves:
        # V is the cost that is left before the end: without the terminal one.
        first, last = (replace(F, f=vakonomic.without_terminal(F.f)) for F in halves)
        (e0, _, v0), (_, e1, v1) = (pulled_back(found, F).reshape(3, n) for F in (first, last))
        ends = [-np.stack([e0 + G[0, 0], v0]), np.stack([e1 + G[-1, 2], v1])]
    times = np.concatenate([s.t[:1], (s.t[1:] + s.t[:-1]) / 2, s.t[-1:]])
    from scipy.interpolate import CubicSpline  # takes long to import

    return CubicSpline(times, np.concatenate([ends[0][None], middle, ends[1][None]]))(s.t)
