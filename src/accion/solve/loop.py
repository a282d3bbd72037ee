"""The only time loop: one run or many, by the engine that serves."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import native, native_with
from accion.engines.xla import kept_jit
from accion.numerics.arrays import with_head
from accion.progress import fitting, progress_bar
from accion.stepping import Scheme
from accion.systems import Start
from accion.types import Array, Configuration, Covector, Scalar, Vector

PARTS = 100  # of a run that shows its progress
ROWS = 2**16  # that are saved in one call
ROOM = 256  # rows that any run has room for, if they are not more than so many
NUMBERS = 16_384


class Saved(NamedTuple):
    """What is saved of a step."""

    z: Configuration
    p: Covector
    x: Vector
    iterations: Array
    more: Any  # what the scheme saves besides


def begin(scheme: Scheme, t0: Any, h: Scalar, start: Start) -> Any:
    """The state before the first step, and what is known there."""
    return scheme.begin(t0, h, start)


def saver(
    scheme: Scheme,
    t0: Any,
    h: Scalar,
    first: Any,
    save_every: Any,
    every_step: Any,
    start: Any = None,
) -> Any:
    """The function (state, j) -> (state, what is saved) that makes the steps up to the j-th save;
    `every_step` says that `save_every` is 1, and `start` is where the run began, for derivatives.
    """
    step = scheme.step if start is None else partial(step_of_the_living, scheme, start)

    def one(i: Any, carry: Any) -> Any:
        before, most = carry
        state, iterations = step(before, t0 + i * h, h)
        return scheme.watched(before, state), jnp.maximum(most, iterations)

    def save(state: Any, j: int) -> Any:
        i = first + j * save_every
        if every_step:
            state, iterations = step(state, t0 + i * h, h)
        else:
            state, iterations = jax.lax.fori_loop(
                0, save_every, lambda k, carry: one(i + k, carry), (state, jnp.array(0))
            )
        return state, Saved(state.q, state.p, state.x, iterations, scheme.saved(state))

    return save


def step_of_the_living(scheme: Scheme, start: Any, state: Any, t: Scalar, h: Scalar) -> Any:
    """`scheme.step`, of which a state after a failure takes no part, as derivatives need it: a step
    from NaN is one from `start`, and is not looked at.
    """
    alive = jnp.all(jnp.stack([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(state[:2])]))

    def chosen(a: Any, b: Any) -> Any:
        return jax.tree.map(lambda a, b: jnp.where(alive, a, b), a, b)

    after, iterations = scheme.step(chosen(state, start), t, h)
    return chosen(after, state), jnp.where(alive, iterations, 1)


def march(
    scheme: Any,
    state: Any,
    t0: Any,
    h: Scalar,
    first: Any,
    save_every: Any,
    saves: Any,
    every_step: Any,
    room: Any,
) -> Any:
    """`saves` times `save_every` steps from step number `first`: the last state and what was saved,
    in an array with `room` rows.

    Both numbers are arguments of what is compiled, so that runs of other lengths compile nothing
    while they have room.
    """
    save = saver(scheme, t0, h, first, save_every, every_step)
    row = jax.eval_shape(save, state, 0)[1]

    def write(j: int, carry: Any) -> Any:
        state, rows = carry
        state, row = save(state, j)
        return state, jax.tree.map(lambda a, b: a.at[j].set(b), rows, row)

    empty = jax.tree.map(lambda a: jnp.zeros((room, *a.shape), a.dtype), row)
    return jax.lax.fori_loop(0, saves, write, (state, empty))


def fixed_march(
    scheme: Any,
    state: Any,
    t0: Any,
    h: Scalar,
    first: Any,
    save_every: Any,
    saves: Any,
    every_step: Any,
    room: Any,
) -> Any:
    """As `march`, with numbers that are fixed: what reverse-mode derivatives need."""
    save = saver(scheme, t0, h, first, save_every, every_step, state)
    return jax.lax.scan(save, state, jnp.arange(saves))


def begin_all(scheme: Any, t0: Any, h: Scalar, start: Start) -> Any:
    """`begin` for an ensemble."""
    return jax.vmap(lambda scheme, start: begin(scheme, t0, h, start))(scheme, start)


def of_all(march: Any) -> Any:
    """`march` for an ensemble."""
    return lambda scheme, state, **rest: jax.vmap(
        lambda scheme, state: march(scheme, state, **rest)
    )(scheme, state)


class Loop(NamedTuple):
    """The loop, compiled: `march` for any number of steps and saves, `fixed_march` for numbers that
    derivatives go through. The time is an axis of what is saved.
    """

    begin: Callable[..., Any]
    march: Callable[..., Any]
    fixed_march: Callable[..., Any]
    time_axis: int

    @property
    def is_ensemble(self) -> bool:
        return self.time_axis == 1


def compiled(begin: Any, march: Any, fixed_march: Any, time_axis: Any) -> Loop:
    static = ("every_step", "room")
    return Loop(
        kept_jit(begin),
        kept_jit(march, static_argnames=static),
        kept_jit(fixed_march, static_argnames=(*static, "saves", "save_every")),
        time_axis,
    )


ONE = compiled(begin, march, fixed_march, 0)
ENSEMBLE = compiled(begin_all, of_all(march), of_all(fixed_march), 1)


# ---------------------------------------------------------------- by the native engine


def first_of(*trees: Any) -> Any:
    """The trees of the first member of an ensemble."""
    return jax.tree.map(lambda a: np.asarray(a)[0], trees)


def native_begin(loop: Any, scheme: Any, t0: Any, h: Scalar, start: Start, engine: Any) -> Any:
    """`begin` by the native engine, or None where XLA must serve."""
    if engine == "xla":
        return None
    if not loop.is_ensemble:
        program = native_with(scheme, "compiled", "begin", begin, t0, h, start, engine=engine)
        return None if program is None else program(t0, h, start)

    def begin_one(times: Any, own: Any, carry: Any, step: Any, row: Any) -> Any:
        (scheme, start), (t0, h) = own, times
        return carry, begin(scheme, t0, h, start)

    times, own = (t0, h), (scheme, start)
    examples = (times, first_of(*own), (), (), ())
    program = native("side_by_side", "begin", begin_one, *examples, engine=engine)
    if program is None:
        return None
    found = program(times, own, (), (), (), 1)[1]
    return jax.tree.map(lambda a: a[:, 0], found)


def native_march(loop: Any, scheme: Any, state: Any, t0: Any, h: Scalar, engine: Any) -> Any:
    """`march` by the native engine, or None where XLA must serve."""
    if engine == "xla":
        return None

    def save(shared: Any, scheme: Any, state: Any, j: Any, row: Any) -> Any:
        t0, h, first, save_every = shared
        return saver(scheme, t0, h, first, save_every, every_step=False)(state, j)

    def save_alone(constants: Any, state: Any, j: Any) -> Any:
        scheme, *shared = constants
        return save(shared, scheme, state, j, ())

    shared = (t0, h, 0, 1)
    if not loop.is_ensemble:
        one = native_with(scheme, "folded", "march", save_alone, shared, state, 0, engine=engine)
        return None if one is None else OneRun(one, t0, h)
    examples = (shared, *first_of(scheme, state), 0, ())
    program = native("side_by_side", "march", save, *examples, engine=engine)
    if program is None:
        return None

    def march(state: Any, save_every: Any, first: Any, saves: Any, room: Any) -> Any:
        shared = (t0, h, first, save_every)
        return program(shared, scheme, state, np.arange(saves), (), saves)

    return march


class OneRun(NamedTuple):
    """The march of one run by the native engine."""

    program: Any
    t0: Any
    h: Any

    @property
    def numbers(self) -> int:
        """How many a state has."""
        return self.program.made.layouts["state"].width

    def __call__(self, state: Any, save_every: int, first: int, saves: int, room: int) -> Any:
        shared = (self.t0, self.h, first, save_every)
        return self.program(shared, state, np.arange(saves), saves)


class InPlace:
    """Saved rows where machine code writes them, behind the row of the start."""

    def __init__(self, march: OneRun, saves: int) -> None:
        self.run, self.rows, self.done = march, march.program.rows(1 + saves), 1

    def march(self, state: Any, first: int, every: int, saves: int, room: int) -> Any:
        """The state after some saves from the step `first` on."""
        run = self.run
        shared = (run.t0, run.h, first, every)
        return run.program.run(shared, state, np.arange(saves), saves, self.rows, self.done)

    def iterations(self) -> np.ndarray:
        """Those of the row that was made last, before it is added."""
        return self.rows.part(self.done, self.done + 1).iterations

    def add(self, count: int, most: Any = None) -> None:
        """What was made last, `count` rows; of one row, the most iterations, if they are more."""
        if most is not None:
            self.iterations()[:] = most
        self.done += count

    def after(self, head: Saved, own: Any) -> Saved:
        """All rows after the row of the start."""
        self.rows.put(0, head)
        return self.rows.part(0, self.done)


class Joined:
    """Saved rows that are made in parts and then joined along an axis."""

    def __init__(self, march: Any, axis: int) -> None:
        self.run, self.axis = march, axis
        self.parts: list[Saved] = []
        self.last: Any = None

    def march(self, state: Any, first: int, every: int, saves: int, room: int) -> Any:
        """The state after some saves from the step `first` on."""
        state, self.last = self.run(state, first=first, save_every=every, saves=saves, room=room)
        return state

    def iterations(self) -> np.ndarray:
        """Those of the row that was made last, before it is added."""
        return np.asarray(self.last.iterations)

    def add(self, count: int, most: Any = None) -> None:
        """What was made last, `count` rows; of one row, the most iterations, if they are more."""
        part = self.last if most is None else self.last._replace(iterations=most)
        self.parts.append(filled(part, self.axis, count))

    def after(self, head: Saved, own: Any) -> Saved:
        """All rows after the row of the start, by the module `own`, NumPy or JAX's."""
        axis, (rows, *more) = self.axis, self.parts or [self.last]
        if more:
            rows = jax.tree.map(lambda *a: np.concatenate(a, axis=axis), *self.parts)
        return jax.tree.map(partial(with_head, axis=axis, own=own), head, rows)


# ---------------------------------------------------------------- some steps at a time


def room_for(saves: Any, numbers: int) -> Any:
    """How many rows a run, whose state has so many numbers, is given room for: a round number, so
    that runs of similar length share what is compiled, and little memory is lost.
    """
    few = min(ROOM, 2 ** int(math.log2(max(1, NUMBERS // numbers))))
    grain = 2 ** max(0, saves.bit_length() - 4) if saves > ROOM else 2 ** (saves - 1).bit_length()
    return max(few, -(-saves // grain) * grain)


def in_parts(
    march: Any, state: Any, steps: int, save_every: int, progress: bool, traced: bool, axis: int
) -> tuple[Any, Any]:
    """The whole march: a short one in one call, a long one in several, each of a fraction of a
    second, so that Ctrl-C ends it; with a progress bar in about a hundred. The last state, and what
    was saved, an `InPlace` or a `Joined`.
    """
    saves = steps // save_every
    one = isinstance(march, OneRun)
    runs, numbers = (1, march.numbers) if one else sizes_of(state, axis)
    if traced:
        rows = Joined(march, axis)
        return rows.march(state, 0, save_every, saves, room_for(saves, numbers)), rows
    rows = InPlace(march, saves) if one else Joined(march, axis)
    even = math.ceil(saves / math.ceil(saves / ROWS))
    size = max(1, saves // PARTS) if progress else even
    room, few = room_for(size, numbers), first_steps(runs, numbers)
    done = 0
    with progress_bar("simulating", steps) if progress else nullcontext(lambda _: None) as advance:
        while done < saves:
            count = min(size, saves - done)
            if count * save_every > few + few // 2:
                count = max(1, few // save_every)
            began, first = perf_counter(), done * save_every
            if count == 1 and save_every > few:
                state, most, few = one_save(rows, state, first, save_every, room, few)
                rows.add(1, most)
            else:
                state = rows.march(state, first, save_every, count, room)
                rows.add(count)
                few = fitting(count * save_every, perf_counter() - began)
            done += count
            advance(count * save_every)
    return state, rows


def one_save(rows: Any, state: Any, first: int, save_every: int, room: int, few: int) -> Any:
    """The steps up to one save, `few` at a time, from step number `first` on: the state, the most
    iterations, and how many steps fill a call.
    """
    made, most = 0, 0
    while True:
        now, began = min(few, save_every - made), perf_counter()
        state = rows.march(state, first + made, now, 1, room)
        most = np.maximum(most, rows.iterations())
        made, few = made + now, fitting(now, perf_counter() - began)
        if made == save_every:
            return state, most, few


def filled(part: Any, axis: int, count: int) -> Any:
    """What was saved, without the room that was left."""
    if all(type(a) is np.ndarray and a.shape[axis] == count for a in jax.tree.leaves(part)):
        return part
    rows = (slice(None),) * axis + (slice(count),)
    return jax.tree.map(lambda a: np.asarray(a)[rows], part)


def sizes_of(state: Any, axis: int) -> tuple[int, int]:
    """How many runs a state is of, along its first axis where there is one, and how many numbers
    that of one run has.
    """
    leaves = jax.tree.leaves(state)
    runs = leaves[0].shape[0] if axis else 1
    return runs, sum(leaf.size for leaf in leaves) // runs


def first_steps(runs: int, numbers: int) -> int:
    """How many steps are made at first, before it is known how long they take: about 20 ms of an
    ordinary system; `numbers` are those of the state of one run.
    """
    return max(16, min(2**14, 2**22 // numbers**2) // runs)
