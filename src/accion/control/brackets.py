"""Where controls lead near a state, by Lie brackets of the drift and of their fields.

Fields are their Taylor series at the state, as symmetric tensors, one for each degree: brackets of
these are sums of products. The series are those of derivatives along directions, many short
programs in one, where all derivatives at once, or brackets of functions, take minutes to compile.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, permutations
from math import factorial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import at_least, door, number, shown
from accion.checks import check_mechanical
from accion.control.linear import allowed, complement, normed, units_of
from accion.control.problem import ControlProblem
from accion.control.states import Slopes, acceleration, constraints, law_of
from accion.memory import check_room
from accion.numerics.batches import at_times
from accion.spaces import check_vector
from accion.systems import System
from accion.told import Told
from accion.types import Array, Configuration, Function, Scalar, Vector

Series = list[np.ndarray]  # symmetric tensors of the degrees 0, 1, ..., (components, size, ...)
DEEPEST = 6  # factors of a bracket
NEW = 1e-7  # of its length, the least by which a bracket must leave the directions of the others
ROUNDED = 1e-11  # of what cancels, which counts as nothing


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
        depth: the most factors of a bracket, up to 6.

    References: Bullo and Lewis, Geometric Control of Mechanical Systems, 2004, chapter 7.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem must be a ControlProblem; got {shown(problem)}.")
    check_mechanical(problem.system, "reach")
    if depth > DEEPEST:
        raise ValueError(f"depth must be at most {DEEPEST}; got {depth}.")
    t = problem.t0 if t is None else t
    q, v = state_of(problem, at)
    count = problem.control_count
    check_affine(problem, t, q, v)
    units, frame = frame_of(problem, t, q, v)
    fields = series_of(problem, depth - 1, t, q, v, units)
    names: tuple[str, ...] = ("f", *(f"g{j}" for j in range(count)))
    level = [(name, (j,), fields[j]) for j, name in enumerate(names)]
    basis, kept, vectors, factors = np.zeros((frame.shape[1], 0)), [], [], 1
    for factors in range(1, depth + 1):
        for name, word, X in level:
            y = normed(frame.T @ X[0][1:, None])
            left = y - basis @ (basis.T @ y)
            # f alone is no direction that a control chooses
            if word != (0,) and np.linalg.norm(left) > NEW:
                basis = np.concatenate([basis, normed(left)], axis=1)
                kept.append(name)
                vectors.append(units * X[0][1:])
        if len(kept) == frame.shape[1] or factors == depth:
            break
        level = [
            (f"[{names[j]}, {name}]", (j, *word), bracket(fields[j], X))
            for name, word, X in level
            for j in range(count + 1)
            if not (len(word) == 1 and j >= word[0])  # [X, X] = 0, and [Y, X] = -[X, Y]
        ]
        level = [each for each in level if any(np.any(part) for part in each[2])]
    missing = units[:, None] * (frame @ complement(basis))
    found = np.array(vectors).reshape(-1, len(units))
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
        np.asarray(a) for a in at_times(Slopes(law_of(problem)), False, problem.system, *point)
    )
    off = np.asarray(constraints(problem.system, t, q, jnp.asarray(v), jnp.zeros(2 * len(v))))
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
        return acceleration(law_of(problem), system, t, q, jnp.asarray(v), u)

    u = 0.1 + jnp.arange(count)
    straight = a(jnp.zeros(count)) + jax.jvp(a, (jnp.zeros(count),), (u,))[1]
    if np.max(np.abs(a(u) - straight)) > 1e-9 * np.max(np.abs(a(u)) + np.abs(straight)):
        raise ValueError(
            f"reach is for controls that forces are affine in; those of {problem.name} are not."
        )


# ---------------------------------------------------------------- Taylor series


@dataclass(frozen=True)
class Along:
    """The derivatives of f and g_j of the orders 0, 1, ..., (orders, fields, 1 + 2 dim), along a
    direction of y = (t, x, w), where q* = retract(q, x) and v* = v + w.
    """

    law: Function
    controls: int
    order: int

    def __call__(
        self, system: System, direction: Array, t: Scalar, q: Configuration, v: Vector
    ) -> Array:
        space, n, count = system.space, system.space.dim, self.controls

        def whole(y: Array, u: Array) -> Array:
            x, speed = y[1 : n + 1], v + y[n + 1 :]
            a = acceleration(self.law, system, t + y[0], space.retract(q, x), speed, u)
            return jnp.concatenate([jnp.ones(1), space.rate(x, speed), a])

        def fields(s: Array) -> Array:
            drift, add = jax.linearize(lambda u: whole(s * direction, u), jnp.zeros(count))
            return jnp.concatenate([drift[None], jax.vmap(add)(jnp.eye(count))])

        found, f = [], fields
        for _ in range(self.order + 1):
            found.append(f(jnp.zeros(())))
            f = jax.jacfwd(f)
        return jnp.stack(found)


def series_of(
    problem: ControlProblem, order: int, t: float, q: Any, v: np.ndarray, units: np.ndarray
) -> list[Series]:
    """The Taylor series of f and the g_j at a state, in coordinates (t, x, w) over their units."""
    count, n = problem.control_count, len(units) // 2
    units = np.concatenate([units[:1] / units[n : n + 1], units])
    size, degrees = len(units), range(order + 1)
    points = [multisets(size, k) for k in degrees]
    check_room(
        16 * size * (size**order + len(points[-1]) ** 2), f"depth = {order + 1}", "Take less."
    )
    directions = np.concatenate(points) * units
    given = jax.tree.map(
        lambda a: np.broadcast_to(np.asarray(a, dtype=float), (len(directions), *np.shape(a))),
        (t, q, v),
    )
    f = Along(law_of(problem), count, order)
    found = np.asarray(at_times(f, False, problem.system, directions, *given)) / units
    ends = np.cumsum([len(each) for each in points])
    rows = np.split(found, ends[:-1])
    series = []
    for j in range(count + 1):
        parts = [tensor(points[k], rows[k][:, k, j], size) for k in degrees]
        largest = max(float(np.max(np.abs(part))) for part in parts) or 1.0
        series.append([tidied(part, largest) for part in parts])
    return series


def multisets(size: int, degree: int) -> np.ndarray:
    """The exponents of all monomials of a degree, one in each row."""
    chosen = combinations_with_replacement(range(size), degree)
    return np.array([np.bincount(one, minlength=size) for one in chosen], dtype=float)


def tensor(points: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """The symmetric tensor T, (components, size, size, ...), with T(p, p, ...) = the derivatives
    `values` / degree! at the directions `points`, which are the exponents of the degree.
    """
    degree = round(points[0].sum())
    monomials = np.prod(points[:, None] ** points[None], axis=2)
    found = np.linalg.solve(monomials, values / factorial(degree)).T
    equal = [factorial(degree) / np.prod([factorial(int(k)) for k in one]) for one in points]
    whole = np.zeros((values.shape[1], *(size,) * degree))
    for c, one in zip((found / equal).T, points.astype(int), strict=True):
        for index in set(permutations(np.repeat(np.arange(size), one))):
            whole[(slice(None), *index)] = c
    return whole


def tidied(part: np.ndarray, size: Any) -> np.ndarray:
    """Without what rounding left of numbers of this size."""
    return np.where(np.abs(part) > ROUNDED * size, part, 0.0)


def bracket(X: Series, Y: Series) -> Series:
    """[X, Y] = DY X - DX Y, of one degree less."""
    found = []
    for degree in range(min(len(X), len(Y)) - 1):
        total = terms = 0.0
        for i in range(degree + 1):
            j = degree + 1 - i
            for sign, A, B in ((1, X, Y), (-1, Y, X)):
                part = j * np.tensordot(B[j], A[i], (j, 0))
                total, terms = total + sign * part, terms + np.abs(part)
        found.append(tidied(symmetric(total), symmetric(terms)))
    return found


def symmetric(a: Any) -> np.ndarray:
    """The mean over all orders of the axes but the first."""
    orders = list(permutations(range(1, np.ndim(a))))
    return np.mean([np.transpose(a, (0, *order)) for order in orders], axis=0)
