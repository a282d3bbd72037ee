"""Whether a step is too large for the motion, seen by the energy of a run that should keep it.

An autonomous system without forces keeps E = p.v - L, and what it exchanges between kinetic and
potential energy is at most its largest kinetic energy, which neither the unit nor a constant in the
potential changes. So a run is warned of where, at its saved times (of many, at some of them),

    max E - min E  >=  3/4 max T,        T = 1/2 |p.v|

(docs/theory.md, "When a step is too large").

Velocities and energies are not known in a step, and take as long to compile as it does. So they are
computed only where the increments x_k of the steps are not smooth in time:

    max |p.(x_k - 2 x_{k-1} + x_{k-2})|  >=  3/10 max |p.(x_k - x_{k-1})|

or an angle turns by a radian in one of them: the increments of a pendulum that is driven through
whole turns in each step, always faster, are smooth.

For an oscillation of frequency w the quotient is about 2 h w where h w is small, and not below 0.4
where h w > 0.3; for a motion of constant acceleration it is 0. Where every step is saved it is
computed after the run; else it is carried along, two products in a step; explicit steps are so
short that these would be felt, but their systems have velocities in closed form, so that energies
cost little, and are computed always.
"""

import warnings
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.errors import StepTooLarge
from accion.instant.constrained import legendre
from accion.numerics.dependence import depends

# of the first differences of the increments: where the second ones are larger, steps are not small
# for the motion
COARSE = 0.3
TURN = 1.0  # rad in one step, of which the same is said
LEAST = 4  # rows that have a second difference of the increments of steps
PART = 0.75  # of the largest kinetic energy
LOOKED_AT = 1000  # times of a long run
AT_ONCE = 8000  # rows
ROUNDING = 1e-9  # of the energy: a smaller change of it is not looked at


class Changes(NamedTuple):
    """The largest first and second difference of the increments of a run, paired with the
    momenta.
    """

    first: Any
    second: Any


NOTHING = Changes(np.zeros(()), np.zeros(()))


def with_step(before: Any, state: Any, n: Any) -> Any:
    """The state after a step, with the largest changes so far where they are carried along."""
    if before.changes == ():
        return state
    # The guess of a step is the last increment and its change once more.
    last, change = before.guess[:n] - before.x, state.x - before.x
    # Before the first step x is h v0, of an instant and not of a step.
    own = (
        jnp.sum(before.p * change),
        jnp.where(before.completed >= 2, jnp.sum(before.p * (change - last)), 0.0),
    )
    return state._replace(
        changes=Changes(
            *(
                jnp.maximum(most, jnp.abs(one))
                for most, one in zip(before.changes, own, strict=True)
            )
        )
    )


def is_kept(system: Any, method: Any) -> Any:
    """Whether the energy should be kept: no force, no vakonomic constraint, and no time in the
    Lagrangian or in a constraint.

    `GeneralizedAlpha` takes energy on purpose, and is not looked at.
    """
    if system.force is not None or system.enters_action or not method.variational:
        return False
    q, v, t = system.space.identity(), jnp.zeros(system.space.dim), jnp.zeros(())
    constraint = system.constraint
    return not depends(lambda t: system.L(t, q, v), t) and (
        constraint is None or not depends(lambda t: constraint.value(system, t, q, v), t)
    )


def constraints_do_no_work(system: Any, known: Any, x: Any) -> Any:
    """Whether A v = 0 at the start, where v satisfies kappa(q, v) = 0: just where kappa is
    homogeneous in v.

    Of a start from q1, which satisfies the constraint only as it is sampled, nearly. Where
    `variational` says what A is, nothing follows.
    """
    if system.constraint is None:
        return True
    A, x = np.asarray(known.matrix), np.asarray(x)
    work, most = (
        np.einsum("...ij,...j->...i", A, x),
        np.einsum("...ij,...j->...i", np.abs(A), np.abs(x)),
    )
    return system.variational is None and bool(np.all(np.abs(work) <= 0.1 * most))


def coarse(trajectory: Any, changes: Any, save_every: Any, explicit: Any) -> Any:
    """Whether the increments of each run are not smooth, shape (runs,)."""
    if save_every == 1:
        # The first row is h v0, of an instant and not of a step.
        x, p = np.asarray(trajectory.guess)[..., 1:, :], np.asarray(trajectory.p)[..., 1:-1, :]
        first, second = largest_changes(x, p)
    elif explicit:
        first, second = (
            np.zeros(np.shape(trajectory.success)),
            np.ones(np.shape(trajectory.success)),
        )
    else:
        first, second = changes
    # Runs that failed are NaN, and compare as False.
    first, second = np.atleast_1d(first), np.atleast_1d(second)
    uneven = (second >= COARSE * first) & (second > 0)
    return uneven | far_turned(trajectory, save_every)


def far_turned(trajectory: Any, save_every: Any) -> Any:
    """Whether an angle of each run turns by a radian or more in one step, where every one is saved:
    such steps meet a force that repeats with the angle always at the same place, and look smooth.
    """
    angles = [i for i, unit in enumerate(trajectory.system.units) if unit == "rad"]
    if save_every > 1 or not angles:
        return False
    rate = np.asarray(trajectory.guess)[..., 1:, angles]
    return np.max(np.abs(trajectory.h)) * np.max(np.abs(rate), axis=(-2, -1), initial=0.0) >= TURN


def largest_changes(x: np.ndarray, p: np.ndarray) -> tuple[Any, Any]:
    """The largest first and second difference of increments, paired with the momenta before them.

    A part of the rows at a time: memory that is used again is twice as fast as new one.
    """
    first: Any = 0.0
    second: Any = 0.0
    for k in range(0, p.shape[-2], AT_ONCE):
        rows = slice(max(0, k - 1), k + AT_ONCE)  # with the last one of the part before
        here, own = x[..., rows.start : rows.stop + 1, :], p[..., rows, :]
        change = here[..., 1:, :] - here[..., :-1, :]
        first = np.maximum(first, largest_pairing(own, change))
        bend = change[..., 1:, :] - change[..., :-1, :]
        second = np.maximum(second, largest_pairing(own[..., 1:, :], bend))
    return first, second


def largest_pairing(p: np.ndarray, change: np.ndarray) -> Any:
    """The largest |p . change| of all rows, summed column by column: there are few."""
    found = sum(p[..., i] * change[..., i] for i in range(p.shape[-1]))
    return np.max(np.abs(found), axis=-1, initial=0.0)


@lru_cache
def some_of(count: int) -> np.ndarray:
    """The numbers of some of so many rows, at random, the first and the last with them."""
    some = np.random.default_rng(0).choice(count, LOOKED_AT, replace=False)
    return np.union1d(some, [0, count - 1])


def sampled(trajectory: Any) -> Any:
    """A long trajectory at some of its times, taken at random: an energy that goes up and down from
    step to step would look constant at every second one.
    """
    count = len(trajectory.t)
    if count <= LOOKED_AT:
        return trajectory
    chosen = some_of(count)
    axis = int(trajectory.is_ensemble)
    names = [
        name
        for name in ("q", "p", "guess", "lam", "reduced")
        if getattr(trajectory, name) is not None
    ]
    at_times = {
        name: jax.tree.map(
            lambda a: np.take(np.asarray(a), chosen, axis), getattr(trajectory, name)
        )
        for name in names
    }
    # What a file says is of all times.
    return replace(trajectory, t=np.asarray(trajectory.t)[chosen], stored=None, **at_times)


def energies_of(trajectory: Any) -> tuple[Any, Any]:
    """(E, p.v/2) at each saved time."""
    if trajectory.weighted or trajectory.stored is not None:
        p, v = np.asarray(trajectory.p), np.asarray(trajectory.v)
        return trajectory.energy(), np.sum(p * v, axis=-1) / 2
    more = () if trajectory.lam is None else (trajectory.lam,)
    return trajectory.each(energies, trajectory.points, trajectory.p, trajectory.guess, *more)


def energies(system: Any, t: Any, z: Any, p: Any, guess: Any, lam: Any = None) -> tuple[Any, Any]:
    """The same at one time, as one program."""
    v = legendre(system, t, z, p, guess)[0]
    return system.energy(t, z, v, lam), jnp.sum(p * v) / 2


def warn_of_step(trajectory: Any, changes: Any, save_every: Any, explicit: Any) -> Any:
    """Warn where the energy of a run changes by as much as the motion has to exchange; `changes`
    are those of its increments.
    """
    if save_every == 1 and len(trajectory.t) < LEAST:
        return
    if not coarse(trajectory, changes, save_every, explicit).any():
        return
    runs = len(trajectory.success) if trajectory.is_ensemble else 1
    trajectory = sampled(trajectory)

    def rows(a: Any) -> Any:
        return np.asarray(a).reshape(runs, -1)

    with np.errstate(all="ignore"):  # a run may be on its way to overflow
        E, T = map(rows, energies_of(trajectory))
        # By methods of arrays: a short run takes longer to be looked at than to be made.
        error, most = E.max(axis=1) - E.min(axis=1), abs(T).max(axis=1)
        bad = (error >= PART * most) & (error > ROUNDING * abs(E).max(axis=1))
    if not bad.any():
        return
    i = int(np.argmax(bad))
    who = f"member {i} ({int(np.sum(bad))} of {runs}): " if trajectory.is_ensemble else ""
    h = float(np.max(trajectory.h))
    message = (
        f"{who}the step h = {h:.3g} is too large for the motion: the energy changes by"
        f" {error[i]:.3g} along the run, where it should be kept and where the largest kinetic"
        f" energy is {most[i]:.3g}. Try a smaller h, such as {h / 4:.3g}."
    )
    warnings.warn(message, StepTooLarge, stacklevel=5)
