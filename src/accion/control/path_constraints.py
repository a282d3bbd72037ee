"""Path constraints between the samples of a method: looked at along the whole motion, and asked for
where they are broken.

A step goes along q(s) = retract(q_k, s x) with the velocity x/h, 0 <= s <= 1, the path that methods
sample, or along the polynomial through its inner points. The constraints g <= 0 are asked for at
the samples first; where g along the solution is largest and above zero, points are added, and the
problem is solved again from there, until no g is above its tolerance (the exchange method of
semi-infinite programs).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.program import Program
from accion.assembly.sqp import Found
from accion.control.layout import Layout
from accion.control.polynomial import between, on_the_way
from accion.control.problem import ControlProblem
from accion.control.span import Span, columns_of, span_of
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.systems import System
from accion.types import Array, Configuration, Function, Scalar

INTERVALS = 16  # of each step, at whose ends g is looked at
ROUNDS = 20  # of added points
# a g may be above zero by so much of its size, or by ten times what the solver left of its rows
SMALL = 1e-6


class Worst(NamedTuple):
    """The largest value of a path constraint along a motion, <= 0 where it holds, and when it has
    it.
    """

    value: float
    t: float


@dataclass(frozen=True)
class OnStep:
    """All g at the fraction s of a step from q0 to q1 in the time h, one after the other."""

    path: tuple[Function, ...]
    method: Method

    def __call__(
        self,
        system: System,
        t: Scalar,
        h: Scalar,
        s: Scalar,
        q0: Configuration,
        q1: Configuration,
        controls: Array,
        inner: Array,
    ) -> Array:
        """`controls` and `inner` points have one row for each."""
        d = system.space.local(q0, q1)
        q, v = on_the_way(self.method, system.space, h, q0, d, inner, s)
        u = between(self.method.control_places, controls, s)
        found = [jnp.atleast_1d(g(t + s * h, q, v, u, system.params)) for g in self.path]
        return jnp.concatenate(found)


@dataclass(frozen=True)
class AtState:
    """All g at a state."""

    path: tuple[Function, ...]

    def __call__(self, system: System, t: Scalar, q: Configuration, v: Array, u: Array) -> Array:
        return jnp.concatenate([jnp.atleast_1d(g(t, q, v, u, system.params)) for g in self.path])


@dataclass(frozen=True)
class PathPoint:
    """The same as an element of the program."""

    on_step: OnStep
    span: Span

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        base, (span, s) = data
        here, system = self.span(args, base, span, x), args[0]
        inner = jnp.zeros((0, system.space.dim)) if here.inner is None else here.inner
        step = (here.t, here.h, s, here.q0, here.q1, here.controls, inner)
        return jnp.zeros(()), self.on_step(system, *step)


@dataclass(frozen=True)
class StateOnStep:
    """(q, v) at the fraction s of a step."""

    method: Method

    def __call__(
        self,
        system: System,
        t: Scalar,
        h: Scalar,
        s: Scalar,
        q0: Configuration,
        q1: Configuration,
        inner: Array,
    ) -> tuple[Configuration, Array]:
        return on_the_way(self.method, system.space, h, q0, system.space.local(q0, q1), inner, s)


class Broken(NamedTuple):
    """Points where a path constraint is broken: fractions `s` of the steps `k`, and which of the
    rows of `OnStep` are broken there.
    """

    k: np.ndarray
    s: np.ndarray
    which: np.ndarray

    def and_also(self, other: "Broken") -> "Broken":
        """These points and others."""
        return Broken(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def components(problem: ControlProblem) -> dict[str, int]:
    """How many components each path constraint has."""
    system, zero = problem.system, jnp.zeros(problem.system.space.dim)
    at = (0.0, system.space.identity(), zero, jnp.zeros(problem.control_count))

    def count(g: Function) -> int:
        return jax.eval_shape(lambda: jnp.atleast_1d(g(*at, system.params))).size

    return {name: count(g) for name, g in problem.path.items()}


def names_of(problem: ControlProblem) -> list[str]:
    """The name of each row of `OnStep`."""
    return [name for name, count in components(problem).items() for _ in range(count)]


class Motion(NamedTuple):
    """The nodes, the controls (steps, places, controls) and the inner points (steps, points, dim)
    of a discrete solution of `problem`.
    """

    problem: ControlProblem
    method: Method
    t: np.ndarray
    q: Configuration
    u: np.ndarray
    inner: np.ndarray

    @property
    def names(self) -> list[str]:
        """The name of each row of `OnStep`."""
        return names_of(self.problem)

    def values(self, k: np.ndarray, s: np.ndarray) -> np.ndarray:
        """All g at the fractions s of the steps k, shape (len(k), rows)."""
        q0, q1 = (jax.tree.map(lambda a, i=i: np.asarray(a)[i], self.q) for i in (k, k + 1))
        f, h = OnStep(tuple(self.problem.path.values()), self.method), np.diff(self.t)[k]
        rows = (h, s, q0, q1, self.u[k], self.inner[k])
        return np.asarray(at_times(f, False, self.problem.system, self.t[k], *rows))

    def states(self, k: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) at the fractions s of the steps k."""
        q0, q1 = (jax.tree.map(lambda a, i=i: np.asarray(a)[i], self.q) for i in (k, k + 1))
        rows = (np.diff(self.t)[k], s, q0, q1, self.inner[k])
        return at_times(StateOnStep(self.method), False, self.problem.system, self.t[k], *rows)

    def peaks(self) -> tuple[np.ndarray, np.ndarray]:
        """(s, g), each (steps, rows): where in each step each g is largest, and how large.

        The largest of `INTERVALS` + 1 values, and the top of the parabola through it and its
        neighbours.
        """
        steps = len(self.t) - 1
        grid = np.linspace(0.0, 1.0, INTERVALS + 1)
        k, s = np.repeat(np.arange(steps), INTERVALS + 1), np.tile(grid, steps)
        g = self.values(k, s).reshape(steps, INTERVALS + 1, -1)
        j = np.clip(np.argmax(g, axis=1), 1, INTERVALS - 1)

        def at(shift: int) -> np.ndarray:
            return np.take_along_axis(g, (j + shift)[:, None], axis=1)[:, 0]

        bend = 2 * at(0) - at(-1) - at(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(bend > 0, np.clip((at(1) - at(-1)) / (2 * bend), -1.0, 1.0), 0.0)
        s = (j + shift) / INTERVALS
        top = np.stack(
            [self.values(np.arange(steps), column)[:, i] for i, column in enumerate(s.T)], axis=1
        )
        best = np.max(g, axis=1)
        return np.where(top > best, s, grid[np.argmax(g, axis=1)]), np.maximum(top, best)

    def worst(self) -> dict[str, Worst]:
        """{name: Worst} of each path constraint."""
        if not self.problem.path:
            return {}
        s, g = self.peaks()
        found: dict[str, Worst] = {}
        for i, name in enumerate(self.names):
            k = int(np.argmax(g[:, i]))
            here = Worst(float(g[k, i]), float(self.t[k] + s[k, i] * (self.t[k + 1] - self.t[k])))
            found[name] = max(found.get(name, here), here)
        return found

    def broken(self, violation: float, sizes: np.ndarray, begun: np.ndarray) -> Broken:
        """Where a g is above its tolerance; `violation` is what the solver left of its rows,
        `sizes` are those of the rows of `OnStep`, and `begun` is what they may be on the first
        step.
        """
        s, g = self.peaks()
        most = max(SMALL, 10 * violation) * np.broadcast_to(sizes, g.shape)
        most[0] += begun
        over = ~(g <= most)  # what is no number does not hold either
        # A node between two steps that are both broken there is asked for once.
        again = np.zeros_like(over)
        again[:-1] = over[:-1] & over[1:] & (s[:-1] == 1.0) & (s[1:] == 0.0)
        k, i = np.nonzero(over & ~again)
        return Broken(k, s[k, i], np.arange(g.shape[1]) == i[:, None])


def path_at(problem: ControlProblem, t: Any, q: Any, v: Any, u: Any) -> np.ndarray:
    """All g at some states, shape (len(t), rows)."""
    f = AtState(tuple(problem.path.values()))
    return np.asarray(at_times(f, False, problem.system, t, q, v, u))


def motion_of(problem: ControlProblem, method: Method, layout: Layout, found: Found) -> Motion:
    """The motion that a solver found."""
    T = found.x[layout.T[0]] if problem.free_time else problem.longest
    t = found.program.families[0].args[1] + T * layout.mesh
    q, own = found.program.configurations(found.x), (found.x[layout.u], found.x[layout.inner])
    return Motion(problem, method, t, q, *own)


def with_points(
    layout: Layout,
    method: Method,
    program: Program,
    points: Broken,
    names: list[str],
    sizes: np.ndarray,
    begun: np.ndarray,
) -> Program:
    """`program` with the path constraints at `points` besides; `names` and `sizes` are those of the
    rows of `OnStep`, and `begun` is what they may be on the first step.
    """
    problem, (k, s, which) = layout.problem, points
    numbers = np.full(which.shape, -1)
    count = np.count_nonzero(which)
    numbers[which] = program.m + np.arange(count)
    f = PathPoint(OnStep(tuple(problem.path.values()), method), span_of(problem, method))
    first, pairs = program.families[0], np.stack([k, k + 1], axis=1)
    data = (tuple(side[k] for side in layout.spans), s)
    family = Family(f, first.args, data, columns_of(layout, k), numbers, pairs, first.base)
    point, row = np.nonzero(which)

    def label(i: int) -> str:
        if i < program.m:
            return program.row_label(i)
        j = point[i - program.m]
        first, last = (side[k[j]] for side in layout.spans)
        t = problem.t0 + (first + s[j] * (last - first)) * problem.longest
        return f"{names[row[i - program.m]]} between samples at t = {t:.4g}"

    return replace(
        program,
        families=(*program.families, family),
        row_lower=np.append(program.row_lower, np.full(count, -np.inf)),
        row_upper=np.append(program.row_upper, np.where(k[point] == 0, begun[row], 0.0)),
        row_place=np.append(program.row_place, k[point] + 0.6),
        row_label=label,
        scales=program.scaled.scales.with_rows(sizes[row]),
    )


def parted(program: Program) -> tuple[Program, Broken | None]:
    """(program, points): a program without the points that were added, and these; None where there
    are none.
    """
    last = program.families[-1]
    if not isinstance(last.f, PathPoint):
        return program, None
    assert last.nodes is not None
    assert program.scales is not None
    points = Broken(last.nodes[:, 0], last.data[1], last.rows >= 0)
    m = program.m - np.count_nonzero(points.which)
    plain = replace(
        program,
        families=program.families[:-1],
        row_lower=program.row_lower[:m],
        row_upper=program.row_upper[:m],
        row_place=program.row_place[:m],
        scales=program.scales._replace(rows=program.scales.rows[:m]),
    )
    return plain, points


def held_between_samples(
    layout: Layout,
    method: Method,
    found: Found,
    solve: Callable[[Program, np.ndarray], Found],
    path_sizes: Callable[[Layout, Program], np.ndarray],
    begun: np.ndarray | None = None,
) -> Found:
    """`found`, or what `solve(program, x)` finds with points added until the path constraints hold
    between samples too; `path_sizes(layout, program)` are the sizes of the rows of `OnStep`, and
    `begun` is what they may be on the first step where it is not zero.

    A motion that breaks them after all rounds is no success, and the message says where.
    """
    problem = layout.problem
    if not problem.path:
        return found
    (program, points), iterations = parted(found.program), found.iterations
    sizes = path_sizes(layout, program)
    begun = np.zeros(len(sizes)) if begun is None else begun
    for _ in range(ROUNDS):
        if not found.success:
            return found
        motion = motion_of(problem, method, layout, found)
        new = motion.broken(found.violation, sizes, begun)
        if not len(new.k):
            return found
        points = new if points is None else points.and_also(new)
        plain = program.with_base(found.program.base)
        asked = with_points(layout, method, plain, points, motion.names, sizes, begun)
        found = solve(asked, found.x)
        iterations += found.iterations
        found = found._replace(iterations=iterations)
    motion = motion_of(problem, method, layout, found)
    if not found.success or not len(motion.broken(found.violation, sizes, begun).k):
        return found
    name, worst = max(motion.worst().items(), key=lambda pair: pair[1])
    words = (
        f"{name} is broken between samples, by {worst.value:.3g} at t = {worst.t:.4g}, after"
        f" {ROUNDS} rounds of points added there"
    )
    return found._replace(success=False, message=words)
