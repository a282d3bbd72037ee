"""What tells a minimum from a point that a solver stopped at: Pontryagin's principle with controls
on their bounds, and the second-order sufficient conditions.

    H(t, x, u, p) = p.x' - C - mu.g

has at each time its largest value, of all controls that are allowed, at u; mu are the multipliers
of the integrals of g that are given. Along a motion of a problem that does not see the time it is
constant, and where the duration is free

    H(T) = d terminal/dt + nu.d at_end/dt

with the multipliers nu of at_end: 0 where neither sees the time. Of the problem on its mesh the
second derivatives of cost + lam.rows are positive on all changes that keep what is active to first
order (Nocedal and Wright, theorem 12.6).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door, instance
from accion.assembly.program import Program
from accion.control.direct import integral_multipliers
from accion.control.extras import Goal
from accion.control.hamiltonian import Hamiltonian
from accion.control.problem import ControlProblem
from accion.control.scaling import middles
from accion.control.solution import Solution
from accion.systems import Dynamics, System
from accion.types import Array, Configuration, Function, Scalar, Vector

SAMPLES = 64  # controls besides the corners of their bounds, at which H is looked at
CORNERS = 6  # controls, up to which all corners are
FAR = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)  # times as far as the controls that were found reach
NONE = 1e-9  # of what controls may be, those that are this small do not act
NEAR = 1e-4  # of the width of its bounds, a control this near to one is on it
ACTIVE = 1e-7  # of its size, a row or an unknown this near to a bound is on it
FLAT = 1e-10  # a curvature below this is none
LARGEST = 3000  # unknowns, of which the second derivatives are one full matrix


class Arc(NamedTuple):
    """A time in which a control is on one of its bounds, or between: "upper", "lower", "inside"."""

    control: str
    where: str
    start: float
    end: float


@dataclass(frozen=True)
class Certificate:
    """How well the conditions of a minimum hold.

    t, H:        the Hamiltonian at the nodes; `drift` is how much it changes there,
                 `H_end` what H - d terminal/dt - nu.d at_end/dt is at the last of them, where the
                 duration is free, else None
    gain:        the most by which H grows if another control that is allowed is taken at one time,
                 of some hundred that are tried, as part of how much H depends on near ones: 0 at a
                 minimum, on a mesh of the size of its error
    tried:       {control: (least, most)} of those: all within bounds; without bounds a thousand
                 times as far as the controls that were found reach, ever less densely
    arcs:        when each control is on its bounds: the switching structure
    curvature:   the least curvature of cost + lam.rows along changes that keep what is active, in
                 the problem's own sizes; infinite where there are no such changes
    """

    t: np.ndarray
    H: np.ndarray
    H_end: float | None
    gain: float
    tried: dict[str, tuple[float, float]]
    arcs: tuple[Arc, ...]
    curvature: float

    @property
    def drift(self) -> float:
        return float(np.ptp(self.H))

    @property
    def strict(self) -> bool:
        """Whether the second-order sufficient conditions hold: a strict local minimum on the
        mesh.
        """
        return self.curvature > FLAT

    @property
    def switches(self) -> list[tuple[str, float]]:
        """(control, t) where one goes from one bound to another, or leaves or reaches one."""
        pairs = pairwise(self.arcs)
        return [(a.control, b.start) for a, b in pairs if a.control == b.control]

    def __str__(self) -> str:
        end = "" if self.H_end is None else f", H(T) is {self.H_end:.2g} off what a free time asks"
        which = "a strict local minimum" if self.strict else "no strict local minimum"
        tried = ", ".join(f"{u} from {a:.2g} to {b:.2g}" for u, (a, b) in self.tried.items())
        return (
            f"{which} on its mesh (least curvature {self.curvature:.2g}); another control would"
            f" raise H by {self.gain:.2g} of its range (tried: {tried}); H changes by"
            f" {self.drift:.2g}{end}; {len(self.switches)} switches"
        )


def running_cost(solution: Any) -> Function:
    """C + mu.g, the cost with the integrals that are given."""
    problem, details = solution.problem, solution.details
    mu = integral_multipliers(details.layout, details.found.program, details.found.lam)
    totals = [g for g, _ in problem.totals.values()]

    def cost(*at: Any) -> Array:
        parts = [m @ jnp.atleast_1d(g(*at)) for m, g in zip(mu, totals, strict=False)]
        return jnp.asarray(problem.cost(*at)) + sum(parts)

    return cost


@singledispatch
def pre_hamiltonian(system: Any, problem: ControlProblem, cost: Function) -> Callable[..., Array]:
    """H(t, q, v, p, u), with costates p as a `Solution` has them."""
    raise TypeError(system)


@pre_hamiltonian.register
def _(system: System, problem: ControlProblem, cost: Function) -> Callable[..., Array]:
    own = Hamiltonian(cost, problem.law)

    def H(t: Scalar, q: Configuration, v: Vector, p: Array, u: Vector) -> Array:
        return own.H(system, t, q, v, u, p[0], p[1])

    return H


@pre_hamiltonian.register
def _(system: Dynamics, problem: ControlProblem, cost: Function) -> Callable[..., Array]:
    def H(t: Scalar, q: Vector, v: Vector, p: Array, u: Vector) -> Array:
        return p @ system.rates(t, q, u) - cost(t, q, v, u, system.params)

    return H


@door(solution=instance(Solution, "a Solution, as optimize returns it"))
def certify(solution: Solution) -> Certificate:
    """How well the necessary conditions of Pontryagin and the second-order sufficient conditions
    hold at a solution, with controls on their bounds or not.

    H is that at the nodes, with their costates and the controls of the steps after them; other
    controls are tried at the times of the controls, with costates between nodes. What is on its
    mesh a strict minimum may still be one of several: `starts=` of `optimize` finds others.

    Raises:
        ValueError: for the vakonomic formulation, systems with constraints, costs and bounds of the
            rates of controls, points on the way of a Dynamics, and more unknowns than one full
            matrix holds.
    """
    problem, system = solution.problem, solution.problem.system
    if solution.formulation != "direct":
        raise ValueError('certify is for solutions of formulation="direct".')
    if system.constraint is not None:
        raise ValueError(
            "certify does not support systems with constraints, whose costates are not unique."
        )
    if problem.rate_cost is not None or "rate_bounds" in problem.besides:
        raise ValueError(
            "certify does not support rate_cost and rate_bounds: controls whose rates cost or are"
            " bounded do not make H largest at each time."
        )
    if problem.points and system.inputs:
        raise ValueError(
            "certify does not support via of a Dynamics: its costates jump there, and those between"
            " nodes are not known."
        )
    details: Any = solution.details
    curvature = least_curvature(details.found)
    # Where dH/du = 0, and where a control is on its bound, H does not see how controls are cut off.
    t, u = solution.t, np.clip(solution.control(solution.t), *problem.u_bounds)
    point = (t, solution.q, np.asarray(solution.v), np.asarray(solution.costates))
    H = jax.jit(jax.vmap(pre_hamiltonian(system, problem, running_cost(solution))))
    here = np.asarray(H(*point, u))
    rows, p = solution.at(solution.t_u), between_nodes(solution, solution.t_u)
    unit = np.max(details.found.program.scaled.scales.x[details.layout.u], axis=(0, 1))
    tried = candidates(problem, solution.u, unit)
    gain = most_gained(problem, H, (solution.t_u, rows.q, rows.v, p), solution.u, tried)
    ends = np.min(tried[-1], axis=0).tolist(), np.max(tried[-1], axis=0).tolist()
    looked = dict(zip(problem.controls, zip(*ends, strict=True), strict=True))
    end = None
    on_bound = np.any(np.isclose(solution.duration, problem.durations, rtol=1e-6, atol=0.0))
    if problem.free_time and not on_bound:
        end = float(here[-1]) - by_time(solution)
    return Certificate(t, here, end, gain, looked, arcs_of(solution), curvature)


def between_nodes(solution: Solution, t: np.ndarray) -> np.ndarray:
    """The costates at times `t`, piecewise linear."""
    p = np.asarray(solution.costates)
    columns = [np.interp(t, solution.t, column) for column in p.reshape(len(p), -1).T]
    return np.stack(columns, axis=1).reshape(len(t), *p.shape[1:])


def by_time(solution: Any) -> float:
    """d terminal/dt + nu.d at_end/dt at the end."""
    s, found = solution, solution.details.found
    system, t = s.problem.system, float(s.t[-1])
    q, v = jax.tree.map(lambda a: jnp.asarray(a)[-1], (s.q, s.v))
    lam, slope = np.append(found.lam, 0.0), 0.0
    for family in found.program.families:
        if isinstance(family.f, Goal):
            nu = jnp.asarray(lam[family.rows[0]])
            slope = float(jax.grad(partial(family.f.price, system))(t, q, v, nu))
    return slope


# ---------------------------------------------------------------- the principle


def candidates(problem: ControlProblem, u: np.ndarray, unit: np.ndarray) -> list[np.ndarray]:
    """Controls that H is compared at, near ones first: the corners of their bounds and some
    between; without bounds those around the controls `u` that were found, `FAR` times as far as
    these reach; of shape (candidates, controls). `unit` is how large controls may be where none
    act.
    """
    lower, upper = problem.u_bounds
    middle, half = (np.asarray(a) for a in middles(problem))
    known = np.isfinite(half)
    reach = np.ptp(u, axis=0) + np.max(np.abs(u), axis=0)
    reach = np.where(reach > NONE * unit, reach, unit)
    centre = np.where(known, middle, np.mean(u, axis=0))
    rng, count = np.random.default_rng(0), problem.control_count
    parts = rng.uniform(-1, 1, (SAMPLES, count))
    if count <= CORNERS:
        corners = np.array(np.meshgrid(*[(-1.0, 0.0, 1.0)] * count)).reshape(count, -1).T
        parts = np.concatenate([corners, parts])
    sizes = [np.where(known, half, far * reach) for far in ((1.0,) if np.all(known) else FAR)]
    return [np.clip(centre + parts * size, lower, upper) for size in sizes]


def most_gained(
    problem: ControlProblem, H: Any, point: Any, u: np.ndarray, tried: list[np.ndarray]
) -> float:
    """By how much H is larger at other controls that are allowed, over the range of H at the near
    ones, the first of those that are `tried`.
    """
    t, q, v, _ = point
    here = np.asarray(H(*point, u))
    most, least = here.copy(), here.copy()

    def allowed(t: Scalar, q: Configuration, v: Vector, u: Vector) -> Array:
        at = (t, q, v, u, problem.system.params)
        return jnp.max(jnp.concatenate([jnp.atleast_1d(g(*at)) for g in problem.path.values()]))

    looked = jax.jit(jax.vmap(allowed)) if problem.path else None
    before = np.zeros(len(t)) if looked is None else np.asarray(looked(t, q, v, u))
    size = 0.0
    for others in tried:
        for other in others:
            row = np.tile(other, (len(t), 1))
            found = np.asarray(H(*point, row))
            good = np.isfinite(found)
            if looked is not None:
                # no worse than the control that was found there
                good &= np.asarray(looked(t, q, v, row)) <= np.maximum(before, 0.0)
            found = np.where(good, found, here)
            most, least = np.maximum(most, found), np.minimum(least, found)
        size = size or float(np.max(most - least))
    return float(np.max(most - here)) / size if size > 0 else 0.0


def arcs_of(solution: Solution) -> tuple[Arc, ...]:
    """When each control is on its bounds."""
    problem, s = solution.problem, solution
    lower, upper = problem.u_bounds
    edges = control_edges(solution)
    found = []
    for j, name in enumerate(problem.controls):
        width = upper[j] - lower[j]
        near = NEAR * (width if np.isfinite(width) else np.ptp(s.u[:, j]) + 1e-300)
        u = s.u[:, j]
        below = np.where(u <= lower[j] + near, "lower", "inside")
        where = np.where(u >= upper[j] - near, "upper", below)
        cuts = [0, *(np.flatnonzero(where[1:] != where[:-1]) + 1), len(where)]
        for a, b in pairwise(cuts):
            found.append(Arc(name, str(where[a]), float(edges[a]), float(edges[b])))
    return tuple(found)


def control_edges(solution: Solution) -> np.ndarray:
    """The times between which each control holds: half way to its neighbours."""
    t = solution.t_u
    return np.concatenate([solution.t[:1], (t[1:] + t[:-1]) / 2, solution.t[-1:]])


# ---------------------------------------------------------------- second order


def least_curvature(found: Any) -> float:
    """The least eigenvalue of the second derivatives of cost + lam.rows, in the sizes of the
    problem, on the changes that keep what is active to first order.
    """
    program: Program = found.program
    if program.n > LARGEST:
        raise ValueError(
            f"certify takes the second derivatives as one full matrix, of {LARGEST} unknowns at"
            f" most; there are {program.n}. Give it a solution on a coarser mesh."
        )
    sparsity, scales = program.sparsity, program.scaled.scales
    summed, bend = program.all_derivatives(found.x, 1.0, found.lam)
    H, J = np.zeros((program.n, program.n)), np.zeros((program.m, program.n))
    np.add.at(H, sparsity.hessian, bend)
    np.add.at(J, sparsity.jacobian, summed.J)
    slope = summed.gradient + J.T @ found.lam
    held = on_bounds(program, found, slope)
    rows = active_rows(program, found)
    D = scales.x[~held]
    A = (J[rows][:, ~held] * D) / scales.rows[rows][:, None]
    H = H[np.ix_(~held, ~held)] * np.outer(D, D) / scales.cost
    from scipy.linalg import null_space  # takes long to import

    Z = null_space(A, rcond=1e-9) if len(A) else np.eye(len(D))
    if Z.shape[1] == 0:
        return float("inf")
    return float(np.min(np.linalg.eigvalsh(Z.T @ H @ Z)))


def on_bounds(program: Program, found: Any, slope: np.ndarray) -> np.ndarray:
    """Unknowns that are fixed, or pushed against a bound."""
    x, size, cost = found.x, program.scaled.scales.x, program.scaled.scales.cost
    near = (x - program.lower <= ACTIVE * 1e2 * size) | (program.upper - x <= ACTIVE * 1e2 * size)
    return program.fixed | (near & (np.abs(slope) * size / cost > ACTIVE))


def active_rows(program: Program, found: Any) -> np.ndarray:
    """Equations, and inequalities that push."""
    lam, size, cost = found.lam, program.scaled.scales.rows, program.scaled.scales.cost
    equal = program.row_lower == program.row_upper
    return equal | (np.abs(lam) * size / cost > ACTIVE)
