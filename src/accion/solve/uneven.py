"""Steps of unequal lengths: h is an array, with one entry for each step.

Each step is a row (t, h, r, gap): when it begins, how long it is, and what it is to those before,
see `Scheme.resized`. Rows are read one by one in either engine; of those that are not to be saved
the results are dropped after each call.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import native
from accion.engines.xla import kept_jit
from accion.solve import loop as loops
from accion.systems.start import is_traced
from accion.types import Array


def times_of(t0: Any, h: Any) -> Any:
    """t0 and the ends of all steps, shape (steps + 1,); each rounded once."""
    if is_traced((t0, h)):
        return t0 + jnp.concatenate([jnp.zeros(1), jnp.cumsum(h)])
    found = np.cumsum(np.concatenate([[t0], h]))
    # What each sum has lost, after Knuth; a million steps would lose four digits.
    before, after = found[:-1], found[1:]
    added = after - before
    lost = (before - (after - added)) + (h - added)
    return found + np.concatenate([[0.0], np.cumsum(lost)])


def rows_of(t0: Any, h: Any) -> tuple[Any, Any, Any, Any]:
    """(t, h, r, gap) of each step."""
    own = jnp if is_traced((t0, h)) else np
    before = own.concatenate([h[:1], h[:-1]])
    apart = (before + h) / 2
    return times_of(t0, h)[:-1], h, h / before, apart / own.concatenate([apart[:1], apart[:-1]])


def stepped(scheme: Any, state: Any, row: Any, start: Any = None) -> Any:
    """One step, and what is saved of it; `start` is where the run began, for derivatives."""
    t, h, r, gap = row
    step = scheme.step if start is None else partial(loops.step_of_the_living, scheme, start)
    before = scheme.resized(state, r, gap)
    state, iterations = step(before, t, h)
    state = scheme.watched(before, state)
    saved = loops.Saved(state.q, state.p, state.x, iterations, scheme.saved(state))
    return state, saved


def march(scheme: Any, state: Any, rows: Any, count: Any) -> Any:
    """The first `count` of the steps in `rows`: the last state and what was saved, in an array with
    as many rows; those of other lengths compile nothing while they have room.
    """
    first = jax.tree.map(lambda a: a[0], rows)
    like = jax.eval_shape(stepped, scheme, state, first)[1]

    def write(j: Any, carry: Any) -> Any:
        state, saved = carry
        state, row = stepped(scheme, state, jax.tree.map(lambda a: a[j], rows))
        return state, jax.tree.map(lambda a, b: a.at[j].set(b), saved, row)

    room = len(rows[0])
    empty = jax.tree.map(lambda a: jnp.zeros((room, *a.shape), a.dtype), like)
    return jax.lax.fori_loop(0, count, write, (state, empty))


def fixed_march(scheme: Any, state: Any, rows: Any, count: Any) -> Any:
    """The same for all of them: what reverse-mode derivatives need."""
    return jax.lax.scan(lambda own, row: stepped(scheme, own, row, state), state, rows)


def for_all(march: Any) -> Any:
    """`march` for an ensemble."""

    def of_all(scheme: Any, state: Any, rows: Any, count: Any) -> Any:
        one = jax.vmap(lambda scheme, state: march(scheme, state, rows, count))
        return one(scheme, state)

    return of_all


MARCHES = {
    (many, traced): kept_jit(for_all(f) if many else f)
    for many in (False, True)
    for traced, f in ((False, march), (True, fixed_march))
}


def by_native(loop: Any, scheme: Any, state: Any, rows: Any, engine: str) -> Any:
    """The function (state, rows, count) of the native engine, or None where XLA must serve."""
    if engine == "xla":
        return None
    first = tuple(np.float64(a[0]) for a in rows)
    if loop.is_ensemble:

        def one(shared: Any, scheme: Any, state: Any, row: Any, none: Any) -> Any:
            return stepped(scheme, state, row)

        examples = ((), *loops.first_of(scheme, state), first, ())
        program = native("side_by_side", "uneven", one, *examples, engine=engine)
        if program is None:
            return None
        return lambda state, rows, count: program((), scheme, state, rows, (), count)
    program = native("folded", "uneven", stepped, scheme, state, first, engine=engine)
    return None if program is None else partial(program, scheme)


def marching(loop: Any, scheme: Any, first: Any, t0: Any, h: Array, engine: str) -> Any:
    """(march, engine): the function of `loops.in_parts` for steps of these lengths."""
    rows, traced = rows_of(t0, h), is_traced((scheme, first, t0, h))
    program = None if traced else by_native(loop, scheme, first, rows, engine)
    compiled, axis = MARCHES[loop.is_ensemble, traced], loop.time_axis

    def some(state: Any, own: Any, count: int) -> Any:
        if program is not None:
            return program(state, own, count)
        if traced:
            return compiled(scheme, state, own, count)
        room = 2 ** (count - 1).bit_length()
        wide = tuple(np.concatenate([a, np.repeat(a[-1:], room - count)]) for a in own)
        state, saved = compiled(scheme, state, wide, count)
        return state, jax.tree.map(lambda a: a[(slice(None),) * axis + (slice(count),)], saved)

    def march(state: Any, save_every: int, first: int, saves: int, room: int) -> Any:
        count = saves * save_every
        own = tuple(a[first : first + count] for a in rows)
        state, saved = some(state, own, count)
        return state, every(saved, save_every, axis)

    return march, "xla" if program is None else "native"


def every(saved: Any, count: int, axis: int) -> Any:
    """Each `count`-th of the rows that were saved, with the most iterations since the last."""
    if count == 1:
        return saved

    def last(a: Any) -> Any:
        return a[(slice(None),) * axis + (slice(count - 1, None, count),)]

    most = saved.iterations.reshape(*saved.iterations.shape[:axis], -1, count).max(axis=-1)
    return jax.tree.map(last, saved)._replace(iterations=most)


def at_rows(t0: Any, h: Any, save_every: int) -> tuple[Any, Any]:
    """(times, lengths of the steps that led there) of the rows of a trajectory, shapes (rows,) and
    (rows, 1).
    """
    own = jnp if is_traced((t0, h)) else np
    lengths = own.concatenate([h[:1], h[save_every - 1 :: save_every]])
    return times_of(t0, h)[::save_every], lengths[:, None]
