"""The continuous side: accelerations, and trajectories of the continuous equations to high
accuracy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial, singledispatch
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import count, door, finite, not_negative, number, positive, switch
from accion.checks import check_kind, check_numbers, check_start, refuse
from accion.engines.auto import by_chosen_engine, callable_of, native, small_jit, small_map
from accion.engines.xla import kept_jit, kept_jit_of
from accion.instant.collocation import EPS, Allowed, Marching, Rates
from accion.instant.constrained import inertias, project_at
from accion.instant.explicit import TIGHTEST, Explicit
from accion.systems import AbstractSystem, Start
from accion.types import Configuration, Scalar, Vector

# of the whole time at least, after each of which a constrained motion is put back on its constraint
PIECES = 40
OUTSIDE = 1e100  # a rate that no step can take
NOISE = 1e-3  # of a number, far above its rounding and far below it
SMALLEST = 1e-280  # scale, of a number that is zero and stays so
FIRST = 1e-3  # of the shortest time of the motion: a first step that is surely short enough
COARSER = (10.0, 3.0)  # tolerances of the runs that tell the error
NO_MOTION = "they have no continuous motion"


class ContinuousEquations(ABC):
    """The equations of motion of a kind of system, as first-order ones for (z, v, lam)."""

    @abstractmethod
    def accelerations(self, system: Any) -> Callable[..., Any]:
        """What `accelerations` returns."""

    @abstractmethod
    def check_start(self, system: Any, t: Any, z: Any, start: Start) -> None:
        """Raise ValueError where no motion can start."""

    @abstractmethod
    def rates(self, system: Any, t: Any, y: Any, z: Any) -> Any:
        """The right-hand side; `z` is a configuration to take the shapes from."""

    @abstractmethod
    def inertia(self, system: Any, t: Any, z: Any, v: Any) -> Any:
        """The second derivatives of L by the highest derivative of q, shape (dim, dim)."""

    @abstractmethod
    def is_projected(self, system: Any) -> bool:
        """Whether a motion is put back on its constraint on the way."""

    @abstractmethod
    def obstacle(self, system: Any, t: Any, z: Any, v: Any) -> str:
        """Why a motion cannot be followed to the time t, in words; "" where nothing is known."""

    @abstractmethod
    def result(self, system: Any, q: Any, v: Any, lam: Any, S: Any) -> tuple[Any, ...]:
        """What `reference` returns."""


@singledispatch
def continuous(system: AbstractSystem) -> ContinuousEquations:
    """The continuous equations of a system; each kind registers its own."""
    refuse("the continuous equations", system.kind, NO_MOTION)


def check_continuous(system: Any, what: str) -> None:
    """Raise ValueError where a system, being given in discrete time, has no continuous motion."""
    check_kind(system)
    if system.discrete_time:
        refuse(what, system.kind, NO_MOTION)


@door()
def accelerations(system: Any) -> Callable[..., Any]:
    """The function (t, q, v) -> a, shape (dim,), from the Euler-Lagrange equations with force

        d2L/dv2 a = dL/dq + ad*_v dL/dv + F + A^T lam - d/dq(dL/dv).v - d/dt(dL/dv)

    (Colombo-Eyrea, eq 2; Colombo-Gamonal, eq 1).

    On a group v is the velocity of the body, q' = q hat(v), and a its derivative; on a flat space
    ad* is zero. With holonomic or nonholonomic constraints it returns (a, lam), from the constraint
    differentiated in time (index 1). For a vakonomic system, whose multipliers are part of the
    state, it is (t, q, v, lam) -> (a, dlam/dt); for a thermal system (t, q, v, S) -> (a, dS/dt),
    with dL/dS dS/dt = F_fr.v - P_H (Bonich, Thm 3.9), under constraints (a, lam, dS/dt); for a
    contact system (t, q, v, z) -> (a, L), with dL/dz dL/dv on the right-hand side besides
    (Herglotz). For a system of order r it is (t, q, jets) -> q^(2r), `jets` being (q', ...,
    q^(2r-1)), shape (2r - 1, dim); with a constraint (t, q, jets, lams) -> (q^(2r), lam^(r)),
    `lams` being (lam, ..., lam^(r-1)).
    """
    check_continuous(system, "accelerations")
    return door(t=number)(continuous(system).accelerations(check_numbers(system)))


@door(ts=finite, rtol=positive, atol=not_negative, max_steps=count, with_error=switch)
@by_chosen_engine
def reference(
    system: Any,
    *,
    q0: Any,
    v0: Any,
    ts: Any,
    S0: Any = None,
    lam0: Any = None,
    z0: Any = None,
    rtol: float = 1e-12,
    atol: float = 1e-12,
    max_steps: int = 1_000_000,
    with_error: bool = False,
    engine: str = "auto",
) -> tuple[Any, ...]:
    """The continuous trajectory through (q0, v0) at time ts[0], at the times `ts`: (q, v), one row
    for each time.

    Integrated by collocation at Gauss points (order 24), to rounding and in milliseconds, where
    the native engine serves; for large systems (more than about 30 numbers) and by XLA by an
    explicit Runge-Kutta method of order 8 (SciPy's DOP853). Both control their steps: the error of
    each number of the state in one step is kept below `rtol` of its value plus `atol` of its scale,
    which is taken from the start, so that units do not matter (`scales_of`); what is asked for
    beyond rounding ends at rounding. They do not bound the error of the trajectory, which grows
    with time as the errors of the steps add up and neighbouring motions part: a planet is off by
    about 1e-12 after 16 revolutions, by the explicit method 1e-8, a chaotic motion by anything
    after long enough.

    `with_error=True` adds the accuracy that was reached to what is returned, one number for each
    time: twice the largest distance of any number of the state to two other runs, which have
    larger tolerances and other steps, or the rounding of the largest number. A force that acts for
    a shorter time than a step may be missed: let `ts` have the times when it begins and ends.
    `engine`, as for `simulate`, is that of the right-hand side. A constrained motion is projected
    onto its constraint many times on the way. For a vakonomic system `lam0` is needed, and
    (q, v, lam) is returned; for a thermal system `S0`, and (q, v, S); of a contact system, which
    starts from `z0` or from 0, (q, v, z). For a system of order r, v and v0 are (q', ...,
    q^(2r-1)), lam and lam0 (lam, ..., lam^(r-1)).
    """
    check_continuous(system, "reference")
    system = check_numbers(system, S0=S0)
    equations = continuous(system)
    system.check()
    start = check_start(system, Start(q0, v0, lam0=lam0, S0=S0, z0=z0))
    whole0 = system.point(start.q0, start.beside)
    ts = jnp.asarray(ts)
    if ts.ndim != 1 or len(ts) < 2 or not bool(jnp.all(jnp.diff(ts) > 0)):
        raise ValueError(
            "ts must be at least two increasing times, the first one that of q0; got"
            f" {np.asarray(ts)}."
        )
    equations.check_start(system, ts[0], whole0, start)
    lam0 = jnp.zeros(0) if lam0 is None else start.lam0

    def motion(coarser: float, more: int) -> Any:
        tolerances = coarser * rtol, coarser * atol
        return integrate(system, whole0, start.v0, lam0, ts, *tolerances, max_steps, more)

    states = motion(1.0, 0)
    if states is None:
        why = equations.obstacle(system, ts[-1], whole0, start.v0)
        raise RuntimeError(
            f"the continuous equations could not be integrated to t = {float(ts[-1]):g} with rtol ="
            f" {rtol:g}: "
            + (why or "the solution may not exist that far, or max_steps is too small")
            + "."
        )
    z, v, lam = jax.tree.map(jnp.asarray, unflat(states, whole0, start.v0.size))
    q, S = system.parts(z if system.space.flat else on_the_space(system, z))
    found = equations.result(system, q, v, lam, S)
    return (*found, estimated_error(motion, rtol, states)) if with_error else found


def estimated_error(motion: Callable[[float, int], Any], rtol: float, states: Any) -> Any:
    """How far the states may be from the true ones, shape (times,): twice the distance to those of
    two other runs, with larger tolerances, and in other steps, so that what rounding did is seen
    too.

    Arguments: `motion(coarser, more)`, the states with tolerances so many times as large, and so
    many more pieces between two times.
    """
    least, apart = max(1.0, TIGHTEST / rtol), np.zeros(len(states))
    for more, coarser in enumerate(COARSER, 1):
        other = motion(coarser * least, more)
        if other is None:
            raise RuntimeError(
                "the error of the continuous trajectory cannot be estimated: with rtol ="
                f" {coarser * least * rtol:g} it is not integrated to the end."
            )
        apart = np.maximum(apart, np.max(np.abs(states - other), axis=1))
    rounding = np.where(np.arange(len(states)) > 0, EPS * np.max(np.abs(states), axis=1), 0.0)
    return np.maximum.accumulate(2 * apart + rounding)


def flat(z: Configuration, v: Vector, lam: Any) -> Any:
    """The state of the continuous equations as one vector: configuration (on a group the entries of
    its matrix), velocity, multipliers.
    """
    return jnp.concatenate(
        [*(jnp.ravel(leaf) for leaf in jax.tree.leaves(z)), jnp.ravel(v), jnp.ravel(lam)]
    )


def unflat(y: Any, z: Configuration, n: Any) -> Any:
    """(z, v, lam) of a state or of rows of them, `z` a configuration to take the shapes from and n
    the length of v.
    """
    leaves, treedef = jax.tree.flatten(z)
    ends = np.cumsum([0, *(leaf.size for leaf in leaves)])
    parts = [
        y[..., a:b].reshape(*y.shape[:-1], *leaf.shape)
        for a, b, leaf in zip(ends[:-1], ends[1:], leaves, strict=True)
    ]
    return (
        jax.tree.unflatten(treedef, parts),
        y[..., ends[-1] : ends[-1] + n],
        y[..., ends[-1] + n :],
    )


on_the_space = small_map(lambda system, z: system.step_space.project(z), (2, 16, 128, 1024))


@small_jit
def roots_of_inertia(system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
    """With which coordinates of different units can be compared, shape (dim,)."""
    return inertias(continuous(system).inertia(system, t, z, v), system.space.dim)


def rates(system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
    """The right-hand side of the continuous equations."""
    return continuous(system).rates(system, t, y, z)


@kept_jit
def put_back(system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
    """The state nearest to y that satisfies the constraint."""
    q, v, lam = unflat(y, z, system.space.dim)
    q, v = project_at(system, t, system.step_space.project(q), v)
    return flat(q, v, lam)


def slope(
    f: Rates, system: Any, t: Scalar, y: Any, z: Configuration, dt: Scalar, dy: Any
) -> tuple[Any, Any]:
    """(y', how y' changes with t and y) of the continuous equations y' = f."""
    return jax.jvp(lambda t, y: f(system, t, y, z), (t, y), (dt, dy))


def slope_of_rates(*args: Any) -> tuple[Any, Any]:
    return slope(rates, *args)


def moved_by_velocity(system: Any, z: Configuration) -> Any:
    """By which each coordinate of the velocity moves the entries of the configuration."""
    still, none = jnp.zeros(system.step_space.dim), jnp.zeros(0)
    return jax.jacfwd(lambda eta: flat(system.step_space.retract(z, eta), none, none))(still)


def growth(f: Rates, system: Any, t: Any, y: np.ndarray, z: Configuration) -> Iterator[np.ndarray]:
    """y', y'', d(y')/dy of the continuous equations, and by which each coordinate of the velocity
    moves the entries of the configuration.
    """
    zero, one = np.zeros(()), np.ones(())
    program = native("compiled", "slope", partial(slope, f), system, t, y, z, zero, y)
    own = partial(program or kept_jit_of(slope_of_rates), system, t, y, z)
    change = np.asarray(own(zero, y)[0])
    yield change
    yield np.asarray(own(one, change)[1])
    yield np.stack([own(zero, dy)[1] for dy in np.eye(len(y))], axis=1)
    yield np.asarray(callable_of("moved", moved_by_velocity, system, z)(system, z))


def scales_of(
    f: Rates, system: Any, t: Any, y: np.ndarray, z: Configuration, v: Any, duration: float
) -> tuple[np.ndarray, float]:
    """The scale of each number of the state, from its start y, positive, and the time T that they
    belong to.

    A scale is the largest of |y|, |y'| T and |y''| T^2, with T the shortest time of the linearised
    equations, 1/|eigenvalue|, or all the time there is. Rounding of other numbers reaches each of
    them as well: by d(y')/dy, and later on, when the motion has left a symmetric start, from any
    velocity to any other, compared by their inertias. It shall not look like motion where a number
    is zero but for that.
    """
    found = growth(f, system, t, y, z)
    change, rate, J, moved = (np.where(np.abs(a) < OUTSIDE, a, 0.0) for a in found)
    fastest = float(np.max(np.abs(np.linalg.eigvals(J)), initial=0.0))
    T = min(duration, 1 / fastest) if fastest > 0 else duration
    scales = np.max(np.abs([y, change * T, rate * T**2]), axis=0)
    for _ in range(3):  # from one number to the next, and on
        scales = np.maximum(scales, NOISE * T * np.abs(J) @ scales)
    n, entries = system.space.dim, moved.shape[0]
    roots = np.asarray(roots_of_inertia(system, t, z, v))
    first = slice(entries, entries + n)  # the velocity, the first of its derivatives
    floor = NOISE * np.max(roots * scales[first], initial=0.0) / roots
    scales[first] = np.maximum(scales[first], floor)
    scales[:entries] = np.maximum(scales[:entries], T * np.abs(moved[:, :n]) @ floor)
    return np.maximum(scales, SMALLEST), T


def integrate(
    system: Any,
    z0: Configuration,
    v0: Any,
    lam0: Any,
    ts: Any,
    rtol: Any,
    atol: Any,
    max_steps: Any,
    more: int = 0,
) -> Any:
    """The states at the times `ts`, one row for each, or None where the equations could not be
    integrated so far; with so many `more` pieces between two times than there must be.
    """
    projected, ts = continuous(system).is_projected(system), np.asarray(ts, float)
    pieces = more + (1 if not projected else max(2, -(-PIECES // (len(ts) - 1))))
    y = np.asarray(flat(z0, v0, lam0))
    f = jax.jit(lambda *args: rates(*args))  # traced once, for all native programs of it
    scales, time = scales_of(f, system, ts[0], y, z0, v0, float(ts[-1] - ts[0]))
    allowed = Allowed(np.float64(rtol), np.float64(atol), scales, np.float64(time))
    start = (system, z0, ts[0], y, FIRST * time, allowed, max_steps)
    try:
        motion = Marching(f, *start)
    except LookupError:
        motion = Explicit(rates, *start)
    rows = [y]
    for a, b in pairwise(ts):
        for end in np.linspace(a, b, pieces + 1)[1:]:
            if not motion.to(end):
                return None
            if projected:
                motion.put(np.asarray(put_back(system, end, motion.y, z0)))
        rows.append(motion.y)
    return np.stack(rows)
