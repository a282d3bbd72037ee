"""Where a step is symplectic: its states, its tangent map there, and the form that it keeps.

Of a system of order one the states are (q, p), with the canonical form dq ^ dp. Of one of order r
they are 2r configurations (and the multipliers of their r windows), with the discrete
Poincare-Cartan form. Under holonomic and nonholonomic constraints only those states count that
satisfy them.
"""

from collections.abc import Sequence
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.nodes import configurations, first_windows, opened
from accion.checks import check_start, refuse
from accion.discretise import discretise
from accion.engines.auto import small_jit, small_map
from accion.instant.constrained import first_velocity
from accion.spaces import Space
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, DiscreteSystem, HigherOrderSystem, Start, System
from accion.systems.rank import SWEEPS, scale_of
from accion.systems.weights import check_in_range
from accion.types import Array, Configuration, Covector, Scalar, Vector


class FormOfStep(NamedTuple):
    """What one step does to changes of a state, columns of numbers in local coordinates."""

    tangent: np.ndarray  # of the step, shape (N, N)
    before: np.ndarray  # the form where it starts, shape (N, N)
    after: np.ndarray  # the form where it ends, shape (N, N)
    allowed: np.ndarray | None  # changes that constraints allow, shape (N, k); None: all


def defect(step: FormOfStep) -> float:
    """The largest entry of T^T J1 T - J0 on the changes that are allowed, in units in which the
    sums of the sizes of their terms are one, at most: a number without units.
    """
    T, before, after, K = step
    off, terms = T.T @ after @ T - before, np.abs(T).T @ np.abs(after) @ np.abs(T) + np.abs(before)
    if K is None:
        units = own_units(terms)
    else:  # which have units of their own
        off, terms = K.T @ off @ K, np.abs(K).T @ terms @ np.abs(K)
        units = units_of(terms)
    return float(np.max(np.abs(off) * units * units[:, None]))


def form_defect(space: Space, T: np.ndarray, p0: Any, p1: Any) -> float:
    """`defect` of a map of all (q, p) with the canonical form."""
    return defect(FormOfStep(T, canonical(space, p0), canonical(space, p1), None))


def canonical(space: Space, p: Any) -> np.ndarray:
    """The matrix J of the canonical form dq ^ dp at the momentum `p`, in displacements of the body
    and momenta.

    On a group it is J((e1, p1), (e2, p2)) = e1.p2 - e2.p1 + p.[e1, e2]; the last term is zero on a
    flat space.
    """
    n = space.dim
    brackets = np.zeros((n, n)) if space.flat else structure_constants(space) @ np.asarray(p)
    return np.block([[brackets, np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


@lru_cache(maxsize=64)
def structure_constants(space: Space) -> np.ndarray:
    """[e_i, e_j]_k, shape (n, n, n)."""
    with jax.ensure_compile_time_eval():  # also where JAX is tracing
        one = np.eye(space.dim)
        columns = small_map(lambda b, a: jax.vmap(lambda b: space.ad(a, b))(b))
        return np.asarray(columns(one, one))


# ---------------------------------------------------------------- states (q, p)


def check_no_state_beside(system: AbstractSystem, what: str) -> None:
    """Raise ValueError where states are more than (q, p), so that steps keep no form dq ^ dp."""
    if system.entropic:
        refuse(what, system.kind, "friction and heat keep no symplectic form")
    if system.contact:
        why = "they keep the contact form dz - p.dq up to `discrete(system, method).factor`"
        refuse(what, system.kind, why)


@singledispatch
def phase_point(
    system: AbstractSystem, method: Any, t: Scalar, h: Scalar, start: Start, what: str
) -> tuple[Configuration, Covector]:
    """(q, p) of a start, for the operation `what`; each kind that has such states registers its
    own.
    """
    check_no_state_beside(system, what)
    refuse(what, system.kind, "their states are not (q, p)")


@phase_point.register
def _(system: System, method: Any, t: Any, h: Any, start: Start, what: str) -> Any:
    check_in_range(system, t, what)
    q, v = start.q0, start.v0
    p = start.p0 if v is None else system.legendre(t, q, v, start.lam0)
    return q, leading_to(system, method, t, h, start, None) if p is None else p


@phase_point.register
def _(system: DiscreteSystem, method: Any, t: Any, h: Any, start: Start, what: str) -> Any:
    if system.order > 1:
        return opened(system, method, t, h, start)[:2]
    lam = start.lam0 if start.lam0 is None else start.lam0[0]
    p = start.p0
    return start.q0, leading_to(system, method, t, h, start, lam) if p is None else p


@phase_point.register
def _(system: HigherOrderSystem, method: Any, t: Any, h: Any, start: Start, what: str) -> Any:
    return opened(system, method, t, h, start)[:2]


def leading_to(system: Any, method: Any, t: Any, h: Any, start: Start, lam: Any) -> Covector:
    """The momentum with which the first step leads to q1."""
    form = discretise(system, method)
    return -jnp.reshape(form.variation(t, h, *form.between([start.q0, start.q1]), lam).start, -1)


def step_and_tangent(
    system: AbstractSystem, method: Any, t: Scalar, h: Scalar, q: Configuration, p: Any, guess: Any
) -> tuple[Configuration, Covector, Array]:
    """(q1, p1, T): where one step from (q, p) leads, and its tangent map in local coordinates at
    both ends, shape (2 dim, 2 dim); `guess` is one of the increment.
    """
    space = configurations(system, method)
    n, step = space.dim, discrete(system, method).hamiltonian_flow

    def local_step(z: Configuration) -> Any:
        end, momentum = step(t, h, space.retract(q, z[:n]), p + z[n:], guess)
        shift = space.displacement(jax.tree.map(jax.lax.stop_gradient, end), end)
        return jnp.concatenate([shift, momentum]), (end, momentum)

    T, (end, momentum) = jax.jacfwd(local_step, has_aux=True)(jnp.zeros(2 * n))
    return end, momentum, T


def tangent_map(system: AbstractSystem, method: Any) -> Any:
    """A compiled function (t, h, q, p, guess) -> (p1, T): the momentum after one step and its
    tangent map, see `step_and_tangent`.
    """

    @small_jit
    def tangent(t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any) -> Any:
        return step_and_tangent(system, method, t, h, q, p, guess)[1:]

    return tangent


def first_increment(system: Any, method: Any, t: Scalar, h: Scalar, start: Start) -> Vector:
    """A guess of the increment of the first step."""
    if configurations(system, method) is not system.space:
        return opened(system, method, t, h, start).x
    if start.q1 is not None:
        return system.space.local(start.q0, start.q1)
    if start.v0 is not None:
        return h * start.v0
    if system.discrete_time:
        return jnp.zeros(system.space.dim)
    return h * first_velocity(system, t, start.q0, start.p0)[0]


@small_jit
def slopes_at(system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
    """The derivatives by changes of (q, v) of what constraints say, and of (q, p)."""
    n, space = system.space.dim, system.space
    held = [part for part in system.kinds_of_constraint if part.holds_positions]

    def equations(z: Configuration) -> Any:
        place, velocity = space.displace(q, z[:n]), v + z[n:]
        found = [part.value(system, t, place, None) for part in held]
        return jnp.concatenate(
            [*found, system.constraint.on_velocities(system, t, place, velocity)]
        )

    def state(z: Configuration) -> Any:
        return jnp.concatenate([z[:n], system.legendre(t, space.displace(q, z[:n]), v + z[n:])])

    return jax.jacfwd(equations)(jnp.zeros(2 * n)), jax.jacfwd(state)(jnp.zeros(2 * n))


def acts_by_forces(system: Any) -> bool:
    """Whether a constraint acts by its forces, in continuous time."""
    forces = system.constraint is not None and not system.enters_action
    return forces and not system.discrete_time


def allowed_changes(system: Any, t: Any, q: Any, p: Any, v: Any = None) -> np.ndarray | None:
    """The changes of (q, p) that keep the constraints, as columns, shape (2 dim, k); None where no
    constraint acts by a force in continuous time.

    With phi = 0 on configurations and c = 0 on velocities they are the (dq, dp = d(dL/dv)) of the
    (dq, dv) with dphi = 0 and dc = 0.
    """
    if not acts_by_forces(system):
        return None
    v = first_velocity(system, t, q, p)[0] if v is None else v
    C, state = map(np.asarray, slopes_at(system, t, q, v))
    return state @ allowed_by(C, state)


def allowed_by(C: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The changes of (q, v) that C takes to zero, as columns; `state` says what they do to (q, p).

    Coordinates are measured by their inertias, and velocities in a time in which rows that see
    both see them alike: the rank does not depend on units.
    """
    n = C.shape[1] // 2
    inertia = np.abs(np.diagonal(state[n:, n:]))
    inertia = np.where(inertia > 0, inertia, np.max(inertia))
    length = 1 / np.sqrt(np.where(inertia > 0, inertia, 1.0))
    at, moving = (np.max(np.abs(part) * length, axis=1) for part in (C[:, :n], C[:, n:]))
    both = (at > 0) & (moving > 0)
    rate = np.max(at[both] / moving[both], initial=0.0)
    return null_space(C, np.concatenate([length, length * (rate if rate > 0 else 1.0)]))


def null_space(C: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The changes that C takes to zero, as columns, orthonormal in the given units."""
    scaled = C * units
    size = np.max(np.abs(scaled), axis=1, keepdims=True)
    from scipy import linalg  # takes long to import

    return units[:, None] * linalg.null_space(scaled / np.where(size > 0, size, 1.0))


def units_of(form: np.ndarray) -> np.ndarray:
    """Units in which the entries of a form are of size one, in every row."""
    return balanced(form, np.ones(len(form)))


def own_units(terms: np.ndarray) -> np.ndarray:
    """The same for sums of sizes, whatever units they came in: of all such units those that follow
    from units in which the logarithms of all entries are least together.
    """
    there = terms > 0
    sizes = np.log(terms, where=there, out=np.zeros(terms.shape))
    pairs = there + np.diag(np.sum(there, axis=1))
    start = np.exp(-np.linalg.lstsq(pairs, np.sum(sizes, axis=1), rcond=1e-12)[0])
    return balanced(terms, start)


def balanced(form: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Units with which every row of a form has entries of size one, from others."""
    for _ in range(2 * SWEEPS):
        units = units * scale_of(np.max(np.abs(form) * units * units[:, None], axis=1))
    return units


def on_phase_space(system: Any, method: Any, t: Any, h: Any, start: Start) -> FormOfStep:
    """The step of a system of order one."""
    q, p = phase_point(system, method, t, h, start, "symplecticity")
    p1, T = tangent_map(system, method)(t, h, q, p, first_increment(system, method, t, h, start))
    space = configurations(system, method)
    J0, J1 = canonical(space, p), canonical(space, p1)
    return FormOfStep(np.asarray(T), J0, J1, allowed_changes(system, t, q, p, start.v0))


# ---------------------------------------------------------------- states of 2r configurations


def on_windows(system: Any, method: Any, t: Any, h: Any, start: Start) -> FormOfStep:
    """The step of a system of order r, on 2r configurations and the multipliers of r windows."""
    d, space, r = discrete(system, method), system.space, system.order
    n, m, form = space.dim, system.multipliers, discretise(system, method)
    nodes, lam = first_windows(system, method, t, h, start)

    def moved(z: Configuration) -> Any:
        places = z[: 2 * r * n].reshape(2 * r, n)
        there = [space.retract(q, e) for q, e in zip(nodes, places, strict=True)]
        return there, lam + z[2 * r * n :].reshape(r, m)

    def flow(nodes: Sequence[Configuration], lam: Any) -> Any:
        found = d.flow(t, h, *nodes, lam=lam if m else None)
        return found if m else (found, lam)

    end, after = small_jit(flow)(nodes, lam)

    def step(z: Configuration) -> Any:
        there, own = flow(*moved(z))
        shifts = [space.displacement(a, b) for a, b in zip(end, there, strict=True)]
        return jnp.concatenate([*shifts, jnp.ravel(own)])

    def constraints(z: Configuration) -> Any:
        places = moved(z)[0]
        windows = [form.between(places[i : i + r + 1]) for i in range(r)]
        return jnp.concatenate([form.closure(t + i * h, h, *w) for i, w in enumerate(windows)])

    zero = jnp.zeros(2 * r * n + r * m)
    T = np.asarray(small_jit(jax.jacfwd(step))(zero))
    omega = small_jit(lambda t, nodes, lam: d.omega(t, h, *nodes, lam=lam if m else None))
    before, behind = omega(t, nodes, lam), omega(t + h, list(end), after)
    before, behind = np.asarray(before), np.asarray(behind)
    K = null_space(np.asarray(jax.jacfwd(constraints)(zero)), units_of(before)) if m else None
    return FormOfStep(T, before, behind, K)


# ---------------------------------------------------------------- which of them


@singledispatch
def form_of_step(system: AbstractSystem, method: Any, t: Any, h: Any, start: Start) -> FormOfStep:
    """The tangent map of one step and the form that it may keep, by the kind of the system."""
    return on_phase_space(system, method, t, h, start)


@form_of_step.register
def _(system: HigherOrderSystem, method: Any, t: Any, h: Any, start: Start) -> FormOfStep:
    own = on_phase_space if method.on_levels else on_windows
    return own(system, method, t, h, start)


@form_of_step.register
def _(system: DiscreteSystem, method: Any, t: Any, h: Any, start: Start) -> FormOfStep:
    own = on_windows if system.order > 1 else on_phase_space
    return own(system, method, t, h, start)


def checked_start(system: AbstractSystem, what: str, **given: Any) -> Start:
    """A start, as float64 arrays."""
    check_no_state_beside(system, what)
    return check_start(system, Start(**given))
