"""Symplecticity, by tangent maps: of one step, along a trajectory, of time-dependent systems, and
of loops.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_every_step, check_vectors, row
from accion.analysis.nodes import configurations
from accion.analysis.phase import (
    FormOfStep,
    acts_by_forces,
    allowed_changes,
    canonical,
    checked_start,
    defect,
    first_increment,
    form_of_step,
    phase_point,
    tangent_map,
)
from accion.arguments import door, number, shown
from accion.checks import a_function, check_counts, check_kind, check_method, check_times, refuse
from accion.engines.auto import small_jit, small_map
from accion.memory import rows
from accion.methods import Method
from accion.results.trajectory import Trajectory, a_trajectory
from accion.stepping.views import discrete
from accion.systems import AbstractSystem
from accion.systems.functions import check_returns, evaluate
from accion.types import ArrayLike, Configuration, Covector, Scalar


@door(t0=number, h=number)
def symplecticity(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    lam0: ArrayLike | None = None,
    t0: float = 0.0,
    h: float,
) -> float:
    """The defect of T^T J T = J of one step, T its tangent map: the largest entry of T^T J T - J,
    relative to the sums of the sizes of their terms. Zero, to roundoff, for every variational
    method on a system without force, in any units.

    T is computed by automatic differentiation in local coordinates at both ends. J is the canonical
    form on (q, p) (on a group left trivialised); of a system of order r, the discrete
    Poincare-Cartan form on 2r configurations and the multipliers of their windows. Under
    constraints the form is taken on the submanifold of the states that satisfy them: its pullback
    to the changes of the state that are tangent to it.

    Arguments:
        system: of any kind whose state has no entropies and no action.
        method: None for a system that is given in discrete time.
        q0, v0, p0, q1, lam0: a start, as those of `simulate`.
        t0, h: the time and the length of the step.

    Reference: Colombo-Gamonal, Cor 1, corrected; Vakonomic thesis, section 8.4; Marsden & West
    2001, section 1.3.
    """
    check_kind(system)
    check_method(system, method)
    system.check()
    t, h = check_times(t0, h, 1, 1)
    start = checked_start(system, "symplecticity", q0=q0, v0=v0, p0=p0, q1=q1, lam0=lam0)
    return defect(form_of_step(system, method, t, h, start))


@dataclass(frozen=True)
class Along:
    """Along a trajectory: the defect of each step and of all steps up to it, and the volume det T
    of each step.
    """

    steps: np.ndarray
    accumulated: np.ndarray
    volume: np.ndarray


@door(trajectory=a_trajectory)
def symplecticity_along(trajectory: Trajectory) -> Along:
    """The defects of the form dq ^ dp along a trajectory of which every step is kept, and the
    volume that each step makes of a unit one.

    Arguments:
        trajectory: one run of a system of order one without entropies.

    Raises:
        ValueError: where steps were left out, or states are not (q, p).
    """
    check_every_step(trajectory, "symplecticity_along")
    system, t, q, p = trajectory.system, trajectory.t, trajectory.q, trajectory.p
    if p.ndim > 2 or system.beside:
        refuse("symplecticity_along", system.kind, "their states are not (q, p)")
    tangent = tangent_map(system, trajectory.method)
    starts = jax.tree.map(lambda a: a[:-1], (t, q, p))
    ends = jax.tree.map(lambda a: a[1:], q)

    def one(h: Scalar, step: Any) -> Any:
        (t, q, p), end = step
        return tangent(t, h, q, p, system.space.local(q, end))[1]

    maps = np.asarray(small_map(one)(trajectory.h, (starts, ends)))
    forms = [canonical(system.space, each) for each in p]
    total, steps, accumulated = np.eye(maps.shape[1]), [], []
    for i, T in enumerate(maps):
        total = T @ total
        steps.append(defect(FormOfStep(T, forms[i], forms[i + 1], changes_at(trajectory, i))))
        whole = FormOfStep(total, forms[0], forms[i + 1], changes_at(trajectory, 0))
        accumulated.append(defect(whole))
    return Along(np.array(steps), np.array(accumulated), np.linalg.det(maps))


def changes_at(trajectory: Trajectory, i: int) -> np.ndarray | None:
    """The changes of (q, p) that constraints allow at a row of a trajectory, None: all."""
    system = trajectory.system
    if not acts_by_forces(system):
        return None
    place = row((trajectory.t, trajectory.q, trajectory.p, trajectory.v), i)
    return allowed_changes(system, *place)


@dataclass(frozen=True)
class Cosymplectic:
    """What one step on (t, q, p) does to the pair (dt, dq ^ dp): the defect of each, and the
    one-form beta of what time brings in.

    The pullback of dq ^ dp is dq ^ dp + beta ^ dt: on slices of equal time the form is kept.
    Defects of the form are those of `symplecticity`, under constraints on their submanifold.
    """

    time: float
    form: float
    beta: np.ndarray


@door(t0=number, h=number)
def cosymplecticity(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    t0: float = 0.0,
    h: float,
) -> Cosymplectic:
    """The step of a time-dependent system on the extended phase space (t, q, p), whose structure is
    the pair (dt, dq ^ dp).

    Arguments:
        system: without entropies; of order r, q are the r configurations of a window.
        method: None for a system that is given in discrete time.
        q0, v0, p0, q1, t0, h: as those of `symplecticity`.

    Reference: Colombo-Gamonal, section 4.
    """
    check_kind(system)
    check_method(system, method)
    t, h = check_times(t0, h, 1, 1)
    start = checked_start(system, "cosymplecticity", q0=q0, v0=v0, p0=p0, q1=q1)
    q, p = phase_point(system, method, t, h, start, "cosymplecticity")
    space = configurations(system, method)
    n = space.dim
    step = discrete(system, method).hamiltonian_flow
    guess = first_increment(system, method, t, h, start)
    end, p1 = small_jit(step)(t, h, q, p, guess)

    def extended(z: Configuration) -> Any:
        place, momentum = step(t + z[0], h, space.retract(q, z[1 : n + 1]), p + z[n + 1 :], guess)
        return jnp.concatenate([z[:1] + t + h, space.displacement(end, place), momentum])

    T = np.asarray(small_jit(jax.jacfwd(extended))(jnp.zeros(2 * n + 1)))
    J, after = canonical(space, p), canonical(space, p1)
    pulled = T[1:].T @ after @ T[1:]  # of dq ^ dp, on (t, q, p)
    time = np.max(np.abs(T[0] - np.eye(2 * n + 1)[0]))
    allowed = allowed_changes(system, t, q, p, start.v0)
    off = defect(FormOfStep(T[1:, 1:], J, after, allowed))
    return Cosymplectic(float(time), off, pulled[1:, 0])


@door(loop=a_function("s"), t0=number, h=number, points=rows(1000))
def poincare_invariant(
    system: AbstractSystem,
    method: Method | None,
    loop: Callable[[Any], tuple[Configuration, Covector]],
    *,
    t0: float = 0.0,
    h: float,
    steps: int,
    points: int = 64,
) -> tuple[float, float]:
    """(before, after): the integral of p dq over a closed loop of initial data and over its image
    after `steps` steps.

    Arguments:
        system, method: as those of `symplecticity`; configurations are vectors.
        loop: `loop(s)`, 0 <= s < 1, returns (q, p); smooth and periodic, so that sums over its
            `points` are accurate beyond any power.
        t0, h, steps: when the loop starts, and how it is stepped.
    """
    check_kind(system)
    check_vectors(system, "poincare_invariant", "the integral of p dq is taken in coordinates")
    step = discrete(system, method).hamiltonian_flow
    steps, _ = check_counts(steps, 1)
    n = system.space.dim
    found = evaluate("loop", loop, jnp.zeros(()), takes="(s), from 0 to 1")
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise ValueError(f"loop must return the pair (q, p); it returned {shown(found)}.")
    for part in found:
        check_returns("loop", part, (n,), f"(q, p), each of shape ({n},)")
    q, p = jax.vmap(loop)(jnp.arange(points) / points)

    @small_map
    def end(count: int, z: Configuration) -> Any:
        return jax.lax.fori_loop(0, count, lambda k, z: step(t0 + k * h, h, *z), z)

    return area(q, p), area(*end(steps, (q, p)))


def area(q: Any, p: Any) -> float:
    """The integral of p dq over a periodic curve; q is differentiated by its Fourier series."""
    q, p = np.asarray(q), np.asarray(p)
    n = len(q)
    k = np.fft.fftfreq(n, 1 / n)
    k[n // 2] = 0  # the highest frequency has no derivative
    slope = np.real(np.fft.ifft(2j * np.pi * k[:, None] * np.fft.fft(q, axis=0), axis=0))
    return float(np.sum(p * slope) / n)
