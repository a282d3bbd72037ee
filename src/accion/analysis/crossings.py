"""Where motions cross a surface g = 0: steps in which g changes its sign, and the times in them.

A run goes from one crossing to the next in machine code, and only the steps that cross are kept. In
such a step the motion at the time t_k + tau is the method's own step of the length tau from there,
as `Trajectory.at` has it, so what is found is as accurate as the method.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import native
from accion.engines.xla import kept_jit
from accion.numerics.batches import at_times
from accion.solve import loop as loops
from accion.stepping.rows import Row, Shorter, row_at
from accion.systems.weights import in_full
from accion.types import Array, Scalar

ROWS = 64  # crossings of each run that are looked for in one call
MOST = 4096  # steps for one row, after which Python sees Ctrl-C
EPS = float(np.finfo(float).eps)
ITERATIONS = 100
JUMP = 1e-6  # of g at the ends of a step: what is left of it at a crossing is less, at a jump not


class Brackets(NamedTuple):
    """Steps in which g changes its sign, an entry for each."""

    run: np.ndarray
    t: np.ndarray  # when it begins
    width: np.ndarray
    before: np.ndarray  # g at its ends
    after: np.ndarray


class Points(NamedTuple):
    """A motion at some times; S may be the action of a contact system."""

    q: Any
    v: Any
    p: Any
    S: Any


class Seen(NamedTuple):
    """What a run saw of g."""

    least: Any
    most: Any
    undefined: Any  # the number of the first step after which it is NaN, -1 where it never is


class Carry(NamedTuple):
    """What is carried from one crossing to the next."""

    state: Any
    made: Any  # steps
    g: Any
    seen: Seen


class Crossing(NamedTuple):
    """A step that crosses, or (not `found`) none."""

    found: Any
    made: Any  # steps before it
    row: Row
    before: Any
    after: Any


def value(section: Any, system: Any, t: Scalar, z: Any, v: Any) -> Array:
    """g(t, q, v, params), of a thermal system g(t, q, v, S, params), of a contact system g(t, q, v,
    z, params).
    """
    q, S = system.parts(z)
    return section(t, q, v, *(() if S is None else (S,)), system.params)


def crosses(before: Any, after: Any, direction: Any) -> Any:
    """Whether g goes from one sign to the other, in the direction that is looked for."""
    rises, falls = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return (rises & (direction >= 0)) | (falls & (direction <= 0))


def opened(shared: Any, scheme: Any, state: Any) -> Carry:
    """What is carried at the start of a run."""
    t0, h, section, *_ = shared
    row = row_at(scheme, t0, h, state)
    g = value(section, scheme.system, t0, row.z, row.v)
    undefined = jnp.where(jnp.isnan(g), 0, -1)
    return Carry(state, jnp.array(0), g, Seen(g, g, undefined))


def next_crossing(shared: Any, scheme: Any, carry: Carry, step: Any, row: Any) -> Any:
    """The steps up to the next crossing, to the end of the run, or as many as fill a row."""
    t0, h, section, steps, direction = shared
    last = jnp.minimum(carry.made + MOST, steps)

    def goes_on(own: Any) -> Any:
        _, now, found = own
        return (now.made < last) & ~found

    def one(own: Any) -> Any:
        _, now, _ = own
        state, _ = scheme.step(now.state, t0 + now.made * h, h)
        made = now.made + 1
        shown = row_at(scheme, t0 + made * h, h, state)
        g = value(section, scheme.system, t0 + made * h, shown.z, shown.v)
        lost = jnp.isnan(g) & (state.completed == made) & (now.seen.undefined < 0)
        seen = Seen(
            jnp.fmin(now.seen.least, g),
            jnp.fmax(now.seen.most, g),
            jnp.where(lost, made, now.seen.undefined),
        )
        return now, Carry(state, made, g, seen), crosses(now.g, g, direction)

    before, now, found = jax.lax.while_loop(goes_on, one, (carry, carry, jnp.array(False)))
    shown = row_at(scheme, t0 + before.made * h, h, before.state)
    return now, Crossing(found, before.made, shown, before.g, now.g)


@kept_jit
def opened_all(shared: Any, scheme: Any, state: Any) -> Any:
    return jax.vmap(partial(opened, shared))(scheme, state)


@partial(kept_jit, static_argnames=("count",))
def crossings_of_all(shared: Any, scheme: Any, carry: Any, count: int) -> Any:
    """The next `count` crossings of each run, by XLA."""

    def of_one(scheme: Any, carry: Any) -> Any:
        return jax.lax.scan(
            lambda own, _: next_crossing(shared, scheme, own, (), ()), carry, length=count
        )

    return jax.vmap(of_one)(scheme, carry)


class Ran(NamedTuple):
    """What came of the runs: their crossings, the last that each carried, and the time of the last
    crossing that was asked for, infinite where there were fewer.
    """

    found: "Found"
    last: Carry
    until: np.ndarray


def found_by_runs(
    shared: Any, scheme: Any, state: Any, most: int | None, method: Any, engine: str
) -> Ran:
    """The crossings of all runs, `most` for each, in the order of the runs; `shared` is (t0, h,
    section, steps, direction).
    """
    steps = shared[3]
    member, first = loops.first_of(scheme, state)

    def begin(shared: Any, scheme: Any, state: Any, step: Any, row: Any) -> Any:
        return state, opened(shared, scheme, state)

    program = native("side_by_side", "opened", begin, shared, member, first, (), (), engine=engine)
    if program is None:
        carry = opened_all(shared, scheme, state)
    else:
        carry = jax.tree.map(lambda a: a[:, 0], program(shared, scheme, state, (), (), 1)[1])
    own = loops.first_of(carry)[0]
    onward = native(
        "side_by_side", "crossings", next_crossing, shared, member, own, (), (), engine=engine
    )
    crossing, found = [], []
    counts = np.zeros(len(np.asarray(carry.made)), dtype=int)
    while np.any((np.asarray(carry.made) < steps) & (counts < (most or np.inf))):
        if onward is None:
            carry, part = crossings_of_all(shared, scheme, carry, count=ROWS)
        else:
            carry, part = onward(shared, scheme, carry, (), (), ROWS)
        part = jax.tree.map(np.asarray, part)
        runs, rows = np.nonzero(part.found)
        crossing.append((runs, jax.tree.map(lambda a, r=runs, k=rows: a[r, k], part)))
        if most is not None:  # what jumps is not among them
            here = crossings_in(shared, scheme, method, engine, [crossing.pop()])
            number = (
                counts[here.run] + np.arange(len(here.run)) - np.searchsorted(here.run, here.run)
            )
            found.append(jax.tree.map(lambda a, good=number < most: a[good], here))
            counts += np.bincount(found[-1].run, minlength=len(counts))
    if most is None:
        found = [crossings_in(shared, scheme, method, engine, crossing)]
    last = [part for part in found if len(part.t)] or found[:1]
    whole = in_order(jax.tree.map(lambda *a: np.concatenate(a), *last))
    until = np.full(len(counts), np.inf)
    if most is not None:
        for run in np.flatnonzero(counts == most):
            until[run] = whole.t[whole.run == run][-1]
    return Ran(whole, carry, until)


def in_order(found: "Found") -> "Found":
    """Crossings run after run."""
    order = np.argsort(found.run, kind="stable")
    return jax.tree.map(lambda a: a[order], found)


def crossings_in(
    shared: Any, scheme: Any, method: Any, engine: str, parts: list[tuple[np.ndarray, Crossing]]
) -> "Found":
    """The crossings in steps at whose ends g has different signs, by (runs, what was found)."""
    t0, h, section, *_ = shared
    runs = np.concatenate([runs for runs, _ in parts])
    order = np.argsort(runs, kind="stable")
    found = jax.tree.map(lambda *a: np.concatenate(a)[order], *(part for _, part in parts))
    t = float(t0) + found.made * float(h)
    brackets = Brackets(runs[order], t, np.full(len(t), float(h)), found.before, found.after)
    return located(brackets, within_steps(found.row, brackets, method, scheme, section, engine))


# ---------------------------------------------------------------- the time in a step

At = Callable[[np.ndarray, np.ndarray], tuple[Points, np.ndarray]]


@dataclass(frozen=True)
class Located:
    """What is shown a time tau after a row, and g there."""

    method: Any

    def __call__(self, section: Any, t: Scalar, tau: Scalar, row: Row, system: Any) -> Any:
        there = Shorter(self.method)(system, t, tau, row)
        q, S = system.parts(there.z)
        g = value(section, system, t + tau, there.z, there.v)
        return Points(q, there.v, in_full(system, t + tau, there.p), S), g


def within_steps(
    rows: Row, brackets: Brackets, method: Any, scheme: Any, section: Any, engine: str
) -> At:
    """The function (which, tau) -> (points, g) in steps that cross, by a shorter step."""
    systems = jax.tree.map(np.asarray, scheme.system)

    def at(which: np.ndarray, tau: np.ndarray) -> Any:
        here = jax.tree.map(lambda a: a[which], rows)
        own = jax.tree.map(lambda a: a[brackets.run[which]], systems)
        t = brackets.t[which]
        return at_times(Located(method), False, section, t, tau, here, own, engine=engine)

    return at


def times_in(brackets: Brackets, at: At) -> np.ndarray:
    """When g is zero, since the step began: by inverse quadratic interpolation and bisection, to
    rounding.
    """
    from scipy.optimize import elementwise  # takes long to import

    def g(tau: np.ndarray, which: np.ndarray) -> np.ndarray:
        which = which.astype(int)
        found = np.where(tau > 0, brackets.after[which], brackets.before[which])
        inside = np.flatnonzero((tau > 0) & (tau < brackets.width[which]))
        if len(inside):
            found[inside] = np.asarray(at(which[inside], tau[inside])[1])
        return found

    count = len(brackets.t)
    # Far from t = 0 neighbouring times are further apart than those of a step.
    apart = 4 * EPS * np.max(np.abs(brackets.t) + brackets.width)
    found = elementwise.find_root(
        g,
        (np.zeros(count), brackets.width),
        args=(np.arange(count, dtype=float),),
        tolerances={"xatol": apart, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
        maxiter=ITERATIONS,
    )
    return np.clip(found.x, apart, brackets.width)


class Found(NamedTuple):
    """Crossings, an entry for each."""

    t: np.ndarray
    points: Points
    run: np.ndarray
    rises: np.ndarray
    g: np.ndarray  # what is left of it


def located(brackets: Brackets, at: At) -> Found:
    """Where there is a crossing; a jump of g from one sign to the other is none."""
    if not len(brackets.t):
        none = np.zeros(0)
        runs = np.zeros(0, dtype=int)
        return Found(none, Points(none, none, none, none), runs, none, none)
    tau = times_in(brackets, at)
    points, left = jax.tree.map(np.asarray, at(np.arange(len(tau)), tau))
    size = np.maximum(np.abs(brackets.before), np.abs(brackets.after))
    found = Found(brackets.t + tau, points, brackets.run, brackets.before < 0, left)
    # Late times are known to so much of a step.
    late = 16 * EPS * (np.abs(brackets.t) + brackets.width) / brackets.width
    good = np.flatnonzero(np.abs(left) <= (JUMP + late) * size)
    return jax.tree.map(lambda a: a[good], found)
