"""Where a solver starts from: a line, a solution on another mesh, or chance."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from accion.instant.constrained import project_at
from accion.results.trajectory import Trajectory


class Guess(NamedTuple):
    """Configurations at the N + 1 nodes, controls of the N steps, and the duration."""

    q: Any
    u: np.ndarray
    duration: float


@runtime_checkable
class Resampled(Protocol):
    """What knows itself on another mesh: a `Solution`."""

    def resample(self, steps: int) -> Guess: ...


def line(problem, steps):
    """The straight (on a group: retracted) line between the ends, without controls; free components
    stay as they are at the other end.
    """
    space = problem.system.space
    start, end = problem.ends
    qa, qb = (start.q, start.v) if problem.boundary == "configurations" else (start.q, None)
    x = np.asarray(space.local(start.q, end.q if problem.boundary == "velocities" else end.v))
    if problem.boundary == "velocities":
        x = np.where(end.q_fixed & start.q_fixed, x, 0.0)
        qa = space.retract(
            start.q,
            jnp.asarray(
                np.where(start.q_fixed, 0.0, np.asarray(space.local(start.q, end.q)) * end.q_fixed)
            ),
        )
    q = jax.vmap(lambda s: space.retract(qa, s * jnp.asarray(x)))(jnp.linspace(0, 1, steps + 1))
    if qb is not None:  # two configurations are given at each end
        q = jax.tree.map(lambda a, *given: a.at[1].set(given[0]).at[-2].set(given[1]), q, qb, end.q)
    duration = sum(problem.durations) / 2
    q = on_constraint(problem.system, problem.t0 + duration * np.linspace(0, 1, steps + 1), q)
    return Guess(jax.tree.map(np.asarray, q), np.zeros((steps, problem.count)), duration)


def on_constraint(system, t, q):
    """The configurations moved to where the holonomic constraint holds."""
    if not system.holds_positions:
        return q
    moved, _ = jax.vmap(lambda t, q: project_at(system, t, q, jnp.zeros(system.space.dim)))(
        jnp.asarray(t), q
    )
    return jax.tree.map(lambda a, b: jnp.where(jnp.isfinite(a), a, b), moved, q)


def shaken(problem, guess, spread, rng):
    """`guess` with smooth random waves added, of the size of its own motion times `spread`; the
    ends stay.
    """
    space = problem.system.space
    steps = len(guess.u)
    s = np.linspace(0, 1, steps + 1)[:, None]
    ends = [jax.tree.map(lambda a, k=k: a[k], guess.q) for k in (0, -1)]
    size = spread * np.maximum(1.0, np.abs(np.asarray(space.local(*ends))))
    waves = sum(rng.normal(size=space.dim) / j * np.sin(j * np.pi * s) for j in range(1, 5))
    q = jax.vmap(space.retract)(guess.q, jnp.asarray(size * waves))
    q = on_constraint(problem.system, problem.t0 + guess.duration * s[:, 0], q)
    return guess._replace(q=jax.tree.map(np.asarray, q))


def resampled(space, t, q, u, u_times, duration, steps, t0):
    """A `Guess` on another mesh: configurations along the retraction between their nodes, controls
    piecewise linear.
    """
    times = t0 + duration * np.linspace(0, 1, steps + 1)
    t = np.asarray(t)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    part = (times - t[k]) / (t[k + 1] - t[k])
    before, after = (jax.tree.map(lambda a, i=i: np.asarray(a)[i], q) for i in (k, k + 1))
    moved = jax.vmap(lambda a, b, s: space.retract(a, s * space.local(a, b)))(before, after, part)
    middles = (times[1:] + times[:-1]) / 2
    u = np.stack([np.interp(middles, u_times, column) for column in np.asarray(u).T], axis=1)
    return Guess(jax.tree.map(np.asarray, moved), u, duration)


def guess_of(problem, given, steps):
    """What the user passed as a guess, checked."""
    if given is None:
        return line(problem, steps)
    space = problem.system.space
    if isinstance(given, Guess):
        found = given
    elif isinstance(given, Trajectory):
        t = np.asarray(given.t)
        found = resampled(
            space,
            t,
            given.q,
            np.zeros((2, problem.count)),
            t[[0, -1]],
            float(t[-1] - t[0]),
            steps,
            float(t[0]),
        )
    elif isinstance(given, tuple | list):
        if len(given) != 2:
            raise ValueError(
                f"guess must be (q, u), a Solution or a Trajectory; got a sequence of {len(given)}."
            )
        found = Guess(given[0], given[1], sum(problem.durations) / 2)
    elif isinstance(given, Resampled):
        found = given.resample(steps)
    else:
        raise ValueError(f"guess must be (q, u), a Solution or a Trajectory; got {given!r}.")
    q, u = arrays_of(space, found)
    lengths = {len(leaf) if leaf.ndim else 0 for leaf in jax.tree.leaves(q)}
    if lengths != {steps + 1} or u.shape != (steps, problem.count):
        raise ValueError(
            f"guess must have {steps + 1} configurations and controls of shape ({steps},"
            f" {problem.count}): (q, u), a Solution or a Trajectory; got controls of shape"
            f" {u.shape} and {', '.join(map(str, sorted(lengths)))} configurations."
        )
    space.check(jax.tree.map(lambda leaf: leaf[0], q), "guess")
    if not all(np.all(np.isfinite(leaf)) for leaf in (*jax.tree.leaves(q), u)):
        raise ValueError("guess must be finite.")
    return Guess(q, u, float(np.clip(found.duration, *problem.durations)))


def arrays_of(space, found):
    """(q, u) of a guess as arrays: q one for each leaf of a configuration, as on products of
    spaces.
    """
    leaves, frame = jax.tree.flatten(space.identity())
    given = (
        [found.q]
        if len(leaves) == 1 and not isinstance(found.q, tuple)
        else jax.tree.leaves(found.q)
    )
    try:
        parts, u = (
            [np.asarray(part, dtype=float) for part in given],
            np.asarray(found.u, dtype=float),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"guess must be (q, u), arrays of numbers; got q = {found.q!r} and u = {found.u!r}."
        ) from error
    if len(parts) != len(leaves):
        raise ValueError(
            f"guess must have configurations of {len(leaves)} arrays, as those of the space have;"
            f" got {len(parts)}."
        )
    return jax.tree.unflatten(frame, parts), u
