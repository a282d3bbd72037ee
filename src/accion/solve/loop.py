"""The only time loop: one run or many, by the engine that serves."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import native
from accion.engines.xla import kept_jit
from accion.progress import progress_bar
from accion.stepping import Scheme
from accion.systems import Start
from accion.types import Array, Configuration, Covector, Scalar, Vector

PARTS = 100  # of a run that shows its progress
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


def saver(scheme: Scheme, t0: Any, h: Scalar, first: Any, save_every: Any, every_step: Any) -> Any:
    """The function (state, j) -> (state, what is saved) that makes the steps up to the j-th save;
    `every_step` says that `save_every` is 1.
    """

    def one(i: Any, carry: Any) -> Any:
        before, most = carry
        state, iterations = scheme.step(before, t0 + i * h, h)
        return scheme.watched(before, state), jnp.maximum(most, iterations)

    def save(state: Any, j: int) -> Any:
        i = first + j * save_every
        if every_step:
            state, iterations = scheme.step(state, t0 + i * h, h)
        else:
            state, iterations = jax.lax.fori_loop(
                0, save_every, lambda k, carry: one(i + k, carry), (state, jnp.array(0))
            )
        return state, Saved(state.q, state.p, state.x, iterations, scheme.saved(state))

    return save


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
    return jax.lax.scan(
        saver(scheme, t0, h, first, save_every, every_step), state, jnp.arange(saves)
    )


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


def members(*trees: Configuration) -> Any:
    """The trees of each member of an ensemble."""
    trees = jax.tree.map(np.asarray, trees)
    count = len(jax.tree.leaves(trees)[0])
    return [jax.tree.map(lambda a, i=i: a[i], trees) for i in range(count)]


def stacked(results: Any) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *results)


def runs_of(loop: Any, *trees: Configuration) -> Any:
    """(trees, ...) of each run."""
    return members(*trees) if loop.is_ensemble else [trees]


def native_begin(loop: Any, scheme: Any, t0: Any, h: Scalar, start: Start, engine: Any) -> Any:
    """`begin` by the native engine, or None where XLA must serve."""
    runs = runs_of(loop, scheme, start)
    first, own = runs[0]
    program = native("compiled", "begin", begin, first, t0, h, own, engine=engine)
    if program is None:
        return None
    found = [program(scheme, t0, h, start) for scheme, start in runs]
    return stacked(found) if loop.is_ensemble else found[0]


def native_march(loop: Any, scheme: Any, state: Any, t0: Any, h: Scalar, engine: Any) -> Any:
    """`march` by the native engine, or None where XLA must serve."""

    def save(constants: Any, state: Any, j: int) -> Any:
        scheme, t0, h, first, save_every = constants
        return saver(scheme, t0, h, first, save_every, every_step=False)(state, j)

    first_scheme, first_state = runs_of(loop, scheme, state)[0]
    example = (first_scheme, t0, h, 0, 1)
    program = native("folded", "march", save, example, first_state, 0, engine=engine)
    if program is None:
        return None

    def march(state: Any, save_every: Any, first: Any, saves: Any, room: Any) -> Any:
        j = np.arange(saves)
        found = [
            program((scheme, t0, h, first, save_every), state, j, saves)
            for scheme, state in runs_of(loop, scheme, state)
        ]
        return stacked(found) if loop.is_ensemble else found[0]

    return march


# ---------------------------------------------------------------- some steps at a time


def room_for(saves: Any, state: Any) -> Any:
    """How many rows a run is given room for: a round number, so that runs of similar length share
    what is compiled, and little memory is lost.
    """
    few = min(
        ROOM,
        2 ** int(math.log2(max(1, NUMBERS // sum(leaf.size for leaf in jax.tree.leaves(state))))),
    )
    grain = 2 ** max(0, saves.bit_length() - 4) if saves > ROOM else 2 ** (saves - 1).bit_length()
    return max(few, -(-saves // grain) * grain)


def in_parts(
    march: Any, state: Any, steps: Any, save_every: Any, progress: Any, traced: Any, axis: Any
) -> Any:
    """The whole march in one call, or with a progress bar in about a hundred."""
    saves = steps // save_every
    size = max(1, saves // PARTS) if progress else saves
    room = room_for(size, jax.tree.map(lambda a: a[0], state) if axis else state)
    if traced:
        return march(state, first=0, saves=saves, room=room)
    parts = []
    with progress_bar("simulating", steps) if progress else nullcontext(lambda _: None) as advance:
        for done in range(0, saves, size):
            count = min(size, saves - done)
            state, part = march(state, first=done * save_every, saves=count, room=room)
            filled = (slice(None),) * axis + (slice(count),)
            parts.append(jax.tree.map(lambda a, filled=filled: np.asarray(a)[filled], part))
            advance(count * save_every)
    return state, (
        parts[0]
        if len(parts) == 1
        else jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=axis), *parts)
    )
