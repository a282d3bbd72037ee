"""A function of one time, at every time of a trajectory and in every run of an ensemble."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.tree_util import tree_flatten, tree_leaves, tree_unflatten

from accion.engines.auto import native, native_with
from accion.engines.xla import kept_jit
from accion.numerics.arrays import for_good
from accion.types import Array

LARGEST = 256  # times that are taken at once, if their numbers are not more than so many
NUMBERS = 16_384


def at_times(
    f: Callable[..., Any],
    ensemble: bool,
    system: Any,
    t: Any,
    *arrays: Any,
    engine: str = "auto",
) -> Any:
    """`f(system, t, *arrays)` at each time, for an ensemble in each run.

    Times are taken some at once, as many as `batch_size` says, the last of them repeated to fill it
    up: so trajectories of all lengths share what is compiled.

    Arguments:
        f: a function of the system, one time and what the arrays have there.
        ensemble: whether the numbers of `system` and the arrays have an axis of runs in front.
        system: a pytree, the first argument of `f` at every time.
        t: the times, shape (times,).
        arrays: pytrees whose leaves have an axis of times, after that of the runs.
        engine: "auto", "native" or "xla", see `simulate`.

    Returns:
        What `f` returns, with an axis of times (after that of the runs) in front of every leaf.
    """
    if any(isinstance(leaf, Tracer) for leaf in tree_leaves((system, t, arrays))):
        return in_a_fixed_loop(f, ensemble, system, t, *arrays)
    found = by_native_code(f, ensemble, system, t, arrays, engine)
    if found is not None:
        return found
    count, axis = len(t), int(ensemble)
    size = batch_size(arrays, axis)

    def batch(a: Any, first: int, axis: int) -> np.ndarray:
        which = np.minimum(np.arange(first, first + size), count - 1)
        return np.take(np.asarray(a), which, axis=axis)

    batches = []
    for first in range(0, count, size):
        here = jax.tree.map(lambda a, first=first: batch(a, first, axis), arrays)
        filled = np.asarray(min(size, count - first))
        batches.append(of_batch(f, ensemble, filled, system, batch(t, first, 0), *here))
    all_times = (slice(None),) * axis + (slice(count),)
    # Within a transformation of JAX what is computed is traced, even from numbers.
    join = jnp.concatenate if isinstance(jax.tree.leaves(batches)[0], Tracer) else np.concatenate
    if join is jnp.concatenate:
        return jax.tree.map(lambda *a: join(a, axis=axis)[all_times], *batches)
    return jax.tree.map(lambda *a: for_good(join(a, axis=axis)[all_times]), *batches)


def by_native_code(
    f: Callable[..., Any], ensemble: bool, system: Any, t: Any, arrays: tuple[Any, ...], engine: str
) -> Any:
    """`at_times` by the native engine, or None where XLA must serve."""
    leaves, tree = tree_flatten(arrays)
    t, leaves = np.asarray(t), [np.asarray(a) for a in leaves]
    arrays = tree_unflatten(tree, leaves)
    one = tree_unflatten(tree, [a[0, 0] if ensemble else a[0] for a in leaves])
    if ensemble:
        member = jax.tree.map(lambda a: np.asarray(a)[0], system)
        program = native(
            "side_by_side",
            f,
            lambda _, system, carry, t, here: (carry, f(system, t, *here)),
            *((), member, (), t[0], one),
            engine=engine,
        )
        found = program and program((), system, (), t, arrays, len(t))[1]
    else:
        program = native_with(
            system,
            "mapped",
            f,
            lambda system, here: f(system, *here),
            (t[0], *one),
            engine=engine,
        )
        found = program and program((t, *arrays), len(t))
    return None if program is None else jax.tree.map(for_good, found)


def batch_size(arrays: Any, axis: int) -> int:
    """How many times are taken at once: by the numbers at one time (of all runs) alone, so that it
    does not depend on how many times there are.
    """
    leaves = jax.tree.leaves(arrays)
    numbers = sum(np.size(a) // max(1, np.shape(a)[axis]) for a in leaves)
    return min(LARGEST, 2 ** int(math.log2(max(1, NUMBERS // max(1, numbers)))))


@partial(kept_jit, static_argnums=(0, 1))
def of_batch(
    f: Callable[..., Any], ensemble: bool, count: Array, system: Any, t: Array, *arrays: Any
) -> Any:
    """`f` at the first `count` times of a batch, zero at the others."""

    def over_time(system: Any, arrays: Any) -> Any:
        # With a jit of its own `f` is traced once, for the shapes of its results and for the loop.
        one = jax.jit(lambda here: f(system, *here))

        def pick(j: Any) -> Any:
            return jax.tree.map(
                lambda a: jax.lax.dynamic_index_in_dim(a, j, keepdims=False), (t, *arrays)
            )

        found = jax.eval_shape(one, pick(0))
        empty = jax.tree.map(lambda a: jnp.zeros((len(t), *a.shape), a.dtype), found)

        def write(j: Array, out: Any) -> Any:
            return jax.tree.map(lambda a, b: a.at[j].set(b), out, one(pick(j)))

        return jax.lax.fori_loop(0, count, write, empty)

    return over_runs(over_time, ensemble, system, arrays)


@partial(kept_jit, static_argnums=(0, 1))
def in_a_fixed_loop(
    f: Callable[..., Any], ensemble: bool, system: Any, t: Array, *arrays: Any
) -> Any:
    """`at_times` in a loop of fixed length, which derivatives go through.

    Under vmap Newton's method would run its rare branches at every time.
    """

    def over_time(system: Any, arrays: Any) -> Any:
        rows = (t, *arrays)
        first = jax.tree.map(lambda a: a[0], rows)
        return jax.lax.map(lambda here: of_the_living(f, system, first, here), rows)

    return over_runs(over_time, ensemble, system, arrays)


def of_the_living(f: Callable[..., Any], system: Any, first: Any, here: Any) -> Any:
    """f(system, *here); NaN without derivatives where a row is NaN that is not so in the `first`
    one, after a failure: NaN times zero would go on into the numbers of the system.
    """

    def lost(a: Array, b: Array) -> Array:
        return jnp.any(~jnp.isfinite(a)) & jnp.all(jnp.isfinite(b))

    dead = jnp.any(jnp.stack(jax.tree.leaves(jax.tree.map(lost, here, first))))
    found = f(system, *jax.tree.map(lambda a, b: jnp.where(dead, b, a), here, first))
    return jax.tree.map(lambda a: jnp.where(dead, jnp.full_like(a, jnp.nan), a), found)


def over_runs(over_time: Callable[..., Any], ensemble: bool, system: Any, arrays: Any) -> Any:
    """`over_time(system, arrays)`, of an ensemble in each run, one after the other."""
    if not ensemble:
        return over_time(system, arrays)
    return jax.lax.map(lambda run: over_time(*run), (system, arrays))
