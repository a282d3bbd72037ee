"""Where controls lead near a state, by Lie brackets of the drift and of their fields."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import at_least, door, number, shown
from accion.control.linear import COUPLED, allowed, complement, normed, units_of
from accion.control.problem import ControlProblem
from accion.control.states import Slopes, acceleration, constraints
from accion.engines.xla import kept_jit
from accion.numerics.batches import at_times
from accion.spaces import check_vector
from accion.systems import System
from accion.told import Told
from accion.types import Array

Field = Callable[[Array], Array]
DEEPEST = 8  # factors of a bracket: each doubles what is compiled


@dataclass(frozen=True, repr=False)
class Reach(Told):
    """The directions of brackets at a state, each a change z = (e, w) of it, as for `linearise`.

    q, v:       the state
    dimension:  of the states that constraints allow
    brackets:   the names of those that were needed, such as "[f, [f, g0]]", f being the motion
                without controls and g0, g1, ... what the controls add to it
    vectors:    their directions, (brackets, 2 dim)
    rank:       of all brackets with a control in them
    accessible: whether that is the dimension: what is reached in any short time is then a set with
                an interior (Sussmann and Jurdjevic 1972). Whether the state itself is inside it, so
                that one can go anywhere near, brackets of this kind do not say; `linearise` does,
                where its answer is yes.
    depth:      factors of the longest bracket that was looked at
    missing:    a basis of the directions that no bracket has, (2 dim, count)
    """

    problem: ControlProblem
    q: Any
    v: np.ndarray
    dimension: int
    brackets: tuple[str, ...]
    vectors: np.ndarray
    depth: int
    missing: np.ndarray

    @cached_property
    def rank(self) -> int:
        return len(self.brackets)

    @property
    def accessible(self) -> bool:
        return self.rank == self.dimension

    def __str__(self) -> str:
        words = "accessible" if self.accessible else f"not accessible by brackets of {self.depth}"
        return (
            f"{self.problem.name}: {self.rank} of {self.dimension} directions, {words}:"
            f" {', '.join(self.brackets)}"
        )


@dataclass(frozen=True)
class Bracket:
    """[X, Y] = DY X - DX Y."""

    X: Field
    Y: Field

    def __call__(self, y: Array) -> Array:
        x, z = self.X(y), self.Y(y)
        return jax.jvp(self.Y, (y,), (x,))[1] - jax.jvp(self.X, (y,), (z,))[1]


@door(t=number, depth=at_least(1))
def reach(
    problem: ControlProblem, *, at: Any = None, t: float | None = None, depth: int = 4
) -> Reach:
    """The rank of the brackets of the drift f and the fields g_j of the controls,

        q' = v,   v' = a(t, q, v, 0) + sum_j da/du_j u_j

    at a state: of g_j, [f, g_j], [g_i, [f, g_j]], ..., each new one with f or some g_i in front,
    until they span all directions, or have `depth` factors. Where the system depends on time, f is
    that of (t, q, v).

    Arguments:
        problem: says what the controls act on; forces must be affine in them.
        at: the state (q, v), v None for zero; the start where nothing is given.
        t: when; t0 where it is not given.
        depth: the most factors of a bracket, up to 8.

    References: Bullo and Lewis, Geometric Control of Mechanical Systems, 2004, chapter 7.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem must be a ControlProblem; got {shown(problem)}.")
    if depth > DEEPEST:
        raise ValueError(f"depth must be at most {DEEPEST}; got {depth}.")
    t = problem.t0 if t is None else t
    q, v = state_of(problem, at)
    system, n, count = problem.system, problem.system.space.dim, problem.control_count
    check_affine(problem, t, q, v)
    units, frame = frame_of(problem, t, q, v)
    names: tuple[str, ...] = ("f", *(f"g{j}" for j in range(count)))
    level = [(name, (j,)) for j, name in enumerate(names)]
    basis, kept, vectors = np.zeros((frame.shape[1], 0)), [], []
    for factors in range(1, depth + 1):
        words = tuple(word for _, word in level)
        values = np.asarray(evaluated(problem.B, words, system, t, q, v))[:, 1:]
        for (name, word), z in zip(level, values, strict=True):
            y = normed(((frame.T / units) @ z)[:, None])
            left = y - basis @ (basis.T @ y)
            # f alone is no direction that a control chooses
            if word != (0,) and np.linalg.norm(left) > COUPLED**0.5:
                basis = np.concatenate([basis, normed(left)], axis=1)
                kept.append(name)
                vectors.append(z)
        if len(kept) == frame.shape[1] or factors == depth:
            break
        level = [
            (f"[{names[j]}, {name}]", (j, *word))
            for name, word in level
            for j in range(len(names))
            if not (len(word) == 1 and j >= word[0])  # [X, X] = 0, and [Y, X] = -[X, Y]
        ]
    missing = units[:, None] * (frame @ complement(basis))
    found = np.array(vectors).reshape(-1, 2 * n)
    return Reach(problem, q, v, frame.shape[1], tuple(kept), found, factors, missing)


def state_of(problem: ControlProblem, at: Any) -> tuple[Any, np.ndarray]:
    """(q, v) from what the user gave, or the start of the problem."""
    space = problem.system.space
    if at is None:
        start = problem.ends[0]
        at = (start.q, start.v if problem.boundary == "velocities" else None)
    if not isinstance(at, tuple | list) or len(at) != 2:
        raise ValueError(f"at must be a state (q, v), v None for zero; got {shown(at)}.")
    q = jax.tree.map(np.asarray, space.check(at[0], "at[0]"))
    v = np.zeros(space.dim) if at[1] is None else check_vector(at[1], space.dim, "at[1]")
    return q, np.asarray(v, dtype=float)


def frame_of(problem: ControlProblem, t: float, q: Any, v: np.ndarray) -> Any:
    """(units, basis): sizes of z by which its components compare, and an orthonormal basis of what
    the constraints allow.
    """
    point = jax.tree.map(
        lambda a: np.asarray(a, dtype=float)[None], (t, q, v, np.zeros(problem.control_count))
    )
    A, _, held = (
        np.asarray(a) for a in at_times(Slopes(problem.B), False, problem.system, *point)
    )
    off = np.asarray(constraints(problem.system, t, q, v, np.zeros(2 * len(v))))
    units = units_of(problem, point, A)
    size = np.abs(held[0]) @ units
    if np.any(np.abs(off) > 1e-6 * size):
        raise ValueError(
            f"at: the state q = {q}, v = {v} is off the constraints of {problem.system.name} by"
            f" {np.max(np.abs(off)):.3g}; accion.project moves it there."
        )
    return units, allowed(held[0] * units)


def check_affine(problem: ControlProblem, t: float, q: Any, v: np.ndarray) -> None:
    """Raise ValueError where accelerations are not affine in the controls."""
    system, count = problem.system, problem.control_count

    def a(u: Array) -> Array:
        return acceleration(problem.B, system, t, q, jnp.asarray(v), u)

    u = 0.1 + jnp.arange(count)
    straight = a(jnp.zeros(count)) + jax.jvp(a, (jnp.zeros(count),), (u,))[1]
    if np.max(np.abs(a(u) - straight)) > 1e-9 * np.max(np.abs(a(u)) + np.abs(straight)):
        raise ValueError(
            f"reach is for controls that forces are affine in; those of {problem.name} are not."
        )


def fields_of(B: Any, system: System, q: Any, v: Array) -> list[Field]:
    """f and g_j in coordinates y = (t, x, w) about a state: q* = retract(q, x), v* = v + w."""
    space, n = system.space, system.space.dim

    def whole(y: Array, u: Array) -> Array:
        t, x, speed = y[0], y[1 : n + 1], v + y[n + 1 :]
        a = acceleration(B, system, t, space.retract(q, x), speed, u)
        return jnp.concatenate([jnp.ones(1), space.rate(x, speed), a])

    count = jax.eval_shape(lambda: B(0.0, q, system.params)).shape[1]

    def drift(y: Array) -> Array:
        return whole(y, jnp.zeros(count))

    def control(y: Array, j: int) -> Array:
        one = jnp.zeros(count).at[j].set(1.0)
        return jax.jvp(lambda u: whole(y, u), (jnp.zeros(count),), (one,))[1]

    return [drift, *(lambda y, j=j: control(y, j) for j in range(count))]


def values_of(B: Any, words: Any, system: System, t: Array, q: Any, v: Array) -> Array:
    """The brackets of these words at a state, (words, 1 + 2 dim); the word (i, j, k) is [X_i, [X_j,
    X_k]].
    """
    fields = fields_of(B, system, q, v)

    def field(word: tuple[int, ...]) -> Field:
        first, *rest = word
        return Bracket(fields[first], field(tuple(rest))) if rest else fields[first]

    y = jnp.concatenate([jnp.reshape(t, 1), jnp.zeros(2 * system.space.dim)])
    return jnp.stack([field(word)(y) for word in words])


evaluated = kept_jit(values_of, static_argnums=(0, 1))
