"""Where a solver starts from: a line, a solution on another mesh, or chance."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import leaves, number, reals, shown, wrong
from accion.control.mesh import Steps, count_of, places_of
from accion.control.problem import ControlProblem
from accion.instant.constrained import project_at
from accion.results.trajectory import Trajectory
from accion.spaces import Space
from accion.systems import System
from accion.systems.start import stack_of
from accion.types import Configuration


class Guess(NamedTuple):
    """Configurations at the N + 1 nodes, controls of the N steps, at each of their places one after
    the other, and the duration.
    """

    q: Configuration
    u: np.ndarray
    duration: float

    @property
    def steps(self) -> int:
        return len(jax.tree.leaves(self.q)[0]) - 1


@runtime_checkable
class Resampled(Protocol):
    """What knows itself on another mesh: a `Solution`."""

    def resample(self, steps: Steps, places: Sequence[float]) -> Guess: ...


def straight_line(problem: ControlProblem, steps: Steps, places: Sequence[float]) -> Guess:
    """The straight (on a group: retracted) line between the ends, without controls; free components
    stay as they are at the other end.
    """
    space, (start, end) = problem.system.space, problem.ends
    if problem.boundary == "configurations":
        first, x = start.q, np.asarray(space.local(start.q, end.v))
    else:
        whole = np.asarray(space.local(start.q, end.q))
        first = space.retract(
            start.q, jnp.asarray(np.where(start.q_fixed, 0.0, whole * end.q_fixed))
        )
        x = np.where(end.q_fixed & start.q_fixed, whole, 0.0)
    nodes = places_of(steps)
    q = jax.vmap(lambda s: space.retract(first, s * jnp.asarray(x)))(jnp.asarray(nodes))
    if problem.boundary == "configurations":
        q = jax.tree.map(lambda a, b, c: a.at[1].set(b).at[-2].set(c), q, start.v, end.q)
    duration = sum(problem.durations) / 2
    times = problem.t0 + duration * nodes
    q = moved_to_constraint(problem.system, times, q)
    none = np.zeros((count_of(steps) * len(places), problem.control_count))
    return Guess(jax.tree.map(np.asarray, q), none, duration)


def moved_to_constraint(system: System, t: np.ndarray, q: Configuration) -> Configuration:
    """The configurations moved to where the holonomic constraint holds."""
    if not system.holds_positions:
        return q
    moved, _ = jax.vmap(lambda t, q: project_at(system, t, q, jnp.zeros(system.space.dim)))(
        jnp.asarray(t), q
    )
    return jax.tree.map(lambda a, b: jnp.where(jnp.isfinite(a), a, b), moved, q)


def perturbed(
    problem: ControlProblem, guess: Guess, size: np.ndarray, rng: np.random.Generator
) -> Guess:
    """`guess` with smooth random waves of the sizes `size`, shape (dim,), added; the ends stay."""
    space = problem.system.space
    s = np.linspace(0, 1, guess.steps + 1)[:, None]
    waves = sum(rng.normal(size=space.dim) / j * np.sin(j * np.pi * s) for j in range(1, 5))
    q = jax.vmap(space.retract)(guess.q, jnp.asarray(size * waves))
    q = moved_to_constraint(problem.system, problem.t0 + guess.duration * s[:, 0], q)
    return guess._replace(q=jax.tree.map(np.asarray, q))


class Sampled(NamedTuple):
    """A motion with controls on a mesh of its own."""

    t: np.ndarray
    q: Configuration
    t_u: np.ndarray
    u: np.ndarray
    duration: float


def resampled(
    space: Space, motion: Sampled, steps: Steps, t0: float, places: Sequence[float]
) -> Guess:
    """A motion on another mesh: configurations along the retraction between their nodes,
    controls, at `places` of the steps, piecewise linear.
    """
    times = t0 + motion.duration * places_of(steps)
    t = np.asarray(motion.t)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    part = (times - t[k]) / (t[k + 1] - t[k])
    before, after = (jax.tree.map(lambda a, i=i: np.asarray(a)[i], motion.q) for i in (k, k + 1))
    moved = jax.vmap(lambda a, b, s: space.retract(a, s * space.local(a, b)))(before, after, part)
    when = control_times(times, places)
    columns = [np.interp(when, motion.t_u, column) for column in np.asarray(motion.u).T]
    return Guess(jax.tree.map(np.asarray, moved), np.stack(columns, axis=1), motion.duration)


def control_times(t: Any, places: Sequence[float] | np.ndarray) -> Any:
    """When controls are given that stand at `places` of the steps between the times `t`."""
    return (t[:-1, None] + (t[1:] - t[:-1])[:, None] * np.asarray(places)).ravel()


def a_guess(value: Any, name: str) -> Any:
    """What may be looked into: the check of a `door`."""
    if isinstance(value, list | tuple) and leaves(value) is None:
        wrong(name, "(q, u), a Solution or a Trajectory", value)
    return value


def guess_of(
    problem: ControlProblem, given: Any, steps: Steps, places: Sequence[float] = (0.5,)
) -> Guess:
    """What the user passed as a guess, checked; controls at `places` of the steps, where they are
    given once for each step the same.
    """
    if given is None:
        return straight_line(problem, steps, places)
    space, count = problem.system.space, problem.control_count
    found = read(problem, given, steps, places)
    q, u = arrays_of(space, found)
    steps = count_of(steps)
    if u.shape == (steps, count):
        u = np.repeat(u, len(places), axis=0)
    lengths = {len(leaf) if leaf.ndim else 0 for leaf in jax.tree.leaves(q)}
    if lengths != {steps + 1} or u.shape != (steps * len(places), count):
        raise ValueError(
            f"guess must have {steps + 1} configurations and controls of shape ({steps}, {count}):"
            f" (q, u), a Solution or a Trajectory; got controls of shape {u.shape} and"
            f" {', '.join(map(str, sorted(lengths)))} configurations."
        )
    space.check(jax.tree.map(lambda leaf: leaf[0], q), "guess")
    if not all(np.all(np.isfinite(leaf)) for leaf in (*jax.tree.leaves(q), u)):
        raise ValueError("guess must be finite.")
    return Guess(q, u, float(np.clip(found.duration, *problem.durations)))


def read(problem: ControlProblem, given: Any, steps: Steps, places: Sequence[float]) -> Guess:
    """A guess from one of the things that the user may pass."""
    if isinstance(given, Guess):
        return given
    if isinstance(given, Trajectory):
        t = np.asarray(given.t)
        none = np.zeros((2, problem.control_count))
        motion = Sampled(t, given.q, t[[0, -1]], none, float(t[-1] - t[0]))
        return resampled(problem.system.space, motion, steps, float(t[0]), places)
    if isinstance(given, tuple | list):
        if len(given) not in (2, 3):
            raise ValueError(
                "guess must be (q, u), (q, u, duration), a Solution or a Trajectory; got a sequence"
                f" of {len(given)}."
            )
        duration = given[2] if len(given) == 3 else sum(problem.durations) / 2
        return Guess(given[0], given[1], number(duration, "guess[2], the duration,"))
    if isinstance(given, Resampled):
        return given.resample(steps, places)
    raise ValueError(f"guess must be (q, u), a Solution or a Trajectory; got {shown(given)}.")


def arrays_of(space: Space, found: Guess) -> tuple[Configuration, np.ndarray]:
    """(q, u) of a guess as arrays: q one for each leaf of a configuration, as on products of
    spaces.
    """
    words = "(q, u), arrays of real numbers"
    return stack_of(space, found.q, "guess"), np.asarray(reals(found.u, "guess", words))
