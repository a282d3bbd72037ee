"""Path constraints between the samples of a method: looked at along the whole motion, and asked for
where they are broken.

A step goes along q(s) = retract(q_k, s x) with the velocity x/h, 0 <= s <= 1: the path that methods
sample. The constraints g <= 0 are asked for at the samples first; where g along the solution is
largest and above zero, points are added, and the problem is solved again from there, until no g is
above its tolerance (the exchange method of semi-infinite programs).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.program import Family
from accion.control.direct import parts
from accion.numerics.batches import at_times

LOOKS = 16  # at each step, besides its start
ROUNDS = 20  # of added points
# a g may be above zero by so much, or by ten times what the solver left of its rows: it is absolute
# there too
SMALL = 1e-6


class Worst(NamedTuple):
    """The largest value of a path constraint along a motion, <= 0 where it holds, and when it has
    it.
    """

    value: float
    t: float


@dataclass(frozen=True)
class Along:
    """All g at the fraction s of a step from q0 to q1 in the time h, one after the other."""

    path: tuple[Callable[..., Any], ...]

    def __call__(self, system, t, h, s, q0, q1, u):
        d = system.space.local(q0, q1)
        q = system.space.retract(q0, s * d)
        found = [jnp.atleast_1d(g(t + s * h, q, d / h, u, system.params)) for g in self.path]
        return jnp.concatenate(found)


@dataclass(frozen=True)
class Point:
    """The same as an element of the program."""

    along: Along
    controls: int
    free_time: bool

    def __call__(self, args, data, x):
        system, t0, duration, steps = args
        (base0, base1), (k, s) = data
        space, n = system.space, system.space.dim
        e0, u, e1, T = parts(x, n, self.controls, n)
        h = (T[0] if self.free_time else duration) / steps
        q0, q1 = space.retract(base0, e0), space.retract(base1, e1)
        return jnp.zeros(()), self.along(system, t0 + k * h, h, s, q0, q1, u)


class Motion(NamedTuple):
    """The nodes and the controls of a discrete solution of `problem`."""

    problem: Any
    t: np.ndarray
    q: Any
    u: np.ndarray

    @property
    def names(self):
        """The name of each row of `Along`."""
        problem, zero = self.problem, jnp.zeros(self.problem.system.space.dim)
        at = (0.0, problem.system.space.identity(), zero, jnp.zeros(problem.count))

        def size(g):
            return jax.eval_shape(lambda: jnp.atleast_1d(g(*at, problem.system.params))).size

        return [name for name, g in problem.path.items() for _ in range(size(g))]

    def values(self, k, s):
        """All g at the fractions s of the steps k, shape (len(k), rows)."""
        q0, q1 = (jax.tree.map(lambda a, i=i: np.asarray(a)[i], self.q) for i in (k, k + 1))
        h = np.diff(self.t)[k]
        f = Along(tuple(self.problem.path.values()))
        return np.asarray(
            at_times(f, False, self.problem.system, self.t[k], h, s, q0, q1, self.u[k])
        )

    def peaks(self):
        """(s, g), each (steps, rows): where in each step each g is largest, and how large.

        The largest of `LOOKS` + 1 values, and the top of the parabola through it and its
        neighbours.
        """
        steps = len(self.t) - 1
        grid = np.linspace(0.0, 1.0, LOOKS + 1)
        g = self.values(np.repeat(np.arange(steps), LOOKS + 1), np.tile(grid, steps)).reshape(
            steps, LOOKS + 1, -1
        )
        j = np.clip(np.argmax(g, axis=1), 1, LOOKS - 1)

        def at(shift):
            return np.take_along_axis(g, (j + shift)[:, None], axis=1)[:, 0]

        bend = 2 * at(0) - at(-1) - at(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(bend > 0, np.clip((at(1) - at(-1)) / (2 * bend), -1.0, 1.0), 0.0)
        s = (j + shift) / LOOKS
        top = np.stack(
            [self.values(np.arange(steps), column)[:, i] for i, column in enumerate(s.T)], axis=1
        )
        best = np.max(g, axis=1)
        return np.where(top > best, s, grid[np.argmax(g, axis=1)]), np.maximum(top, best)

    def worst(self):
        """{name: Worst} of each path constraint."""
        if not self.problem.path:
            return {}
        s, g = self.peaks()
        found = {}
        for i, name in enumerate(self.names):
            k = int(np.argmax(g[:, i]))
            here = Worst(float(g[k, i]), float(self.t[k] + s[k, i] * (self.t[k + 1] - self.t[k])))
            found[name] = max(found.get(name, here), here)
        return found

    def broken(self, violation):
        """(k, s, wanted): the points where a g is above its tolerance, and which of them are;
        `violation` is what the solver left of its rows.
        """
        s, g = self.peaks()
        over = ~(g <= max(SMALL, 10 * violation))  # what is no number does not hold either
        # A node between two steps that are both broken there is asked for once.
        again = np.zeros_like(over)
        again[:-1] = over[:-1] & over[1:] & (s[:-1] == 1.0) & (s[1:] == 0.0)
        k, i = np.nonzero(over & ~again)
        return k, s[k, i], np.arange(g.shape[1]) == i[:, None]


def motion_of(problem, layout, found):
    """The motion that a solver found."""
    T = found.x[layout.T[0]] if problem.free_time else problem.longest
    t = problem.t0 + T / layout.steps * np.arange(layout.steps + 1)
    return Motion(problem, t, found.program.configurations(found.x), found.x[layout.u])


def asked(problem, layout, program, points, names):
    """`program` with the path constraints at `points` besides: (steps, fractions, which of the
    rows).
    """
    k, s, wanted = points
    numbers = np.full(wanted.shape, -1)
    count = np.count_nonzero(wanted)
    numbers[wanted] = program.m + np.arange(count)
    T = np.broadcast_to(layout.T, (len(k), layout.T.size))
    columns = np.concatenate([layout.e[k], layout.u[k], layout.e[k + 1], T], axis=1)
    f = Point(Along(tuple(problem.path.values())), problem.count, problem.free_time)
    first = program.families[0]
    family = Family(
        f,
        first.args,
        (k.astype(float), s),
        columns,
        numbers,
        np.stack([k, k + 1], axis=1),
        first.base,
    )

    def more(a, b):
        return np.concatenate([a, b])

    at, which = np.nonzero(wanted)

    def when(i):
        return problem.t0 + (k[at[i]] + s[at[i]]) * problem.longest / layout.steps

    def own(i):
        return f"{names[which[i]]} between samples at t = {when(i):.4g}"

    return replace(
        program,
        families=(*program.families, family),
        row_lower=more(program.row_lower, np.full(count, -np.inf)),
        row_upper=more(program.row_upper, np.zeros(count)),
        row_place=more(program.row_place, k[at] + 0.6),
        row_label=lambda i: program.row_label(i) if i < program.m else own(i - program.m),
    )


def held(problem, layout, found, solve):
    """`found`, or what `solve(program, x)` finds with points added until the path constraints hold
    between samples too.

    A motion that breaks them after all rounds is no success, and the message says where.
    """
    if not problem.path:
        return found
    program, points, iterations = found.program, None, found.iterations
    for _ in range(ROUNDS):
        if not found.success:
            return found
        motion = motion_of(problem, layout, found)
        new = motion.broken(found.violation)
        if not len(new[0]):
            return found
        points = (
            new
            if points is None
            else tuple(np.concatenate(pair) for pair in zip(points, new, strict=True))
        )
        plain = program.with_families(
            tuple(replace(F, base=found.program.base) for F in program.families)
        )
        found = solve(asked(problem, layout, plain, points, motion.names), found.x)
        iterations += found.iterations
        found = found._replace(iterations=iterations)
    motion = motion_of(problem, layout, found)
    if not found.success or not len(motion.broken(found.violation)[0]):
        return found
    name, worst = max(motion.worst().items(), key=lambda pair: pair[1])
    words = (
        f"{name} is broken between samples, by {worst.value:.3g} at t = {worst.t:.4g}, after"
        f" {ROUNDS} rounds of points added there"
    )
    return found._replace(success=False, message=words)
