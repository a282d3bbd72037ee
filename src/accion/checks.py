"""What a user passes to a simulation, checked before anything is computed: bad input is a
ValueError that says what to do.
"""

import math
from functools import lru_cache, partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import WHOLE, Check, as_array, number, reals, shown, whole, wrong
from accion.memory import LITTLE, check_room, free
from accion.methods import Method
from accion.numerics.arrays import for_good
from accion.once import OncePerObject
from accion.spaces import Product, Space
from accion.systems import AbstractSystem, Start, System, check_alone
from accion.systems.arity import check_function, chosen
from accion.systems.frozen import frozen_params
from accion.systems.functions import evaluate
from accion.systems.start import is_traced
from accion.systems.tree import join, split
from accion.types import Configuration, Function, Params, Scalar


def check_kind(system: Any) -> Any:
    """Raise ValueError unless `system` is a system of any kind that moves by itself."""
    if isinstance(system, AbstractSystem):
        return check_alone(system)
    if isinstance(getattr(system, "system", None), AbstractSystem):
        kind = type(system).__name__
        raise ValueError(
            f"the first argument must be a System; got a {kind}. Its system is its attribute"
            " `system`: pass that."
        )
    raise ValueError(f"the first argument must be a System; got {shown(system)}.")


def a_system(value: Any, name: str) -> Any:
    """A system of any kind: the check of a `door`."""
    if not isinstance(value, AbstractSystem):
        wrong(name, "a System", value)
    return check_alone(value)


def a_function(arguments: str) -> Check:
    """A check for a function of these arguments, a text such as "t, q"."""

    def check(value: Any, name: str) -> Any:
        check_function(name, value, arguments)
        return value

    return check


def check_system(system: Any, method: Any, params: Params = None, S0: Any = None) -> Any:
    """The system with `params` and as many entropies as `S0`, its numbers as arrays of definite
    type: a float and a numpy float must not compile twice.
    """
    check_kind(system)
    check_method(system, method)
    return check_numbers(system, params, S0)


def check_numbers(system: Any, params: Params = None, S0: Any = None) -> Any:
    """The same where there is no method."""
    check_kind(system)
    if params is None and S0 is None:
        return CHECKED(system)
    if params is not None:
        system = system.with_params(params)
    return with_arrays(system.with_entropies(S0))


def with_arrays(system: Any) -> Any:
    """The system with its numbers as arrays, all of them finite."""
    for leaf in jax.tree.leaves(system):
        if not is_traced(leaf) and not np.all(np.isfinite(leaf)):
            raise ValueError(f"the params of {system.name} must be finite; got {shown(leaf)}.")
    numbers, frame = split(system.params)
    arrays = [a if is_traced(a) else for_good(np.array(a, dtype=float)) for a in numbers]
    return system.altered(params=join(arrays, frame)).divided()


CHECKED = OncePerObject(with_arrays)


def check_method(system: Any, method: Any) -> Any:
    """Raise ValueError unless `method` can step `system`."""
    if system.discrete_time:
        if method is not None:
            raise ValueError(
                f"{system.name} is given in discrete time already: the method must be None; got"
                f" {shown(method)}."
            )
        return
    if not isinstance(method, Method):
        given = (
            f"the class {method.__name__}: write {method.__name__}()"
            if isinstance(method, type)
            else shown(method)
        )
        raise ValueError(f"the second argument must be a method, such as Midpoint(); got {given}.")
    method.check(system)


def a_method(value: Any, name: str) -> Any:
    """A method: the check of a `door`."""
    if not isinstance(value, Method):
        wrong(name, "a method, such as Midpoint()", value)
    return value


def refuse(what: str, whom: str, why: str) -> NoReturn:
    """Raise the ValueError of a pair that there is not: an operation, and systems of some kind.

    Arguments:
        what: the operation, as the user calls it.
        whom: the systems, in words: `system.kind`, or what they have, "systems with a force".
        why: the reason, the rest of the sentence.
    """
    raise ValueError(f"{what} does not support {whom}: {why}.")


def check_mechanical(system: Any, what: str) -> None:
    """Raise ValueError unless `system` is a System, which is all that `what` knows of."""
    check_kind(system)
    if not isinstance(system, System):
        why = "no velocities" if system.discrete_time else "derivatives higher than the first"
        beside = {"S": "entropies", "z": "an action in their Lagrangian"}
        refuse(what, system.kind, f"they have {beside.get(system.beside, why)}")


def is_vector_space(space: Any) -> bool:
    """Whether configurations are vectors, which can be added: on Euclidean and Torus."""
    return space.flat and not isinstance(space.identity(), tuple)


def check_times(t0: Any, h: Scalar, steps: Any, save_every: Any) -> Any:
    """`t0` and `h` as float64."""
    t0, h = number(t0, "t0"), number(h, "h")
    if not is_traced(h) and h <= 0:
        raise ValueError(f"h, the step, must be positive; got {h!r}.")
    check_counts(steps, save_every)
    return of_definite_type(t0), of_definite_type(h)


def check_steps(system: Any, method: Any, t0: Any, h: Any, steps: Any, save_every: Any) -> Any:
    """`t0` and `h`, which may have one length for each step, as float64."""
    array = as_array(h)
    if array is None or array.ndim != 1:
        t0, h = check_times(t0, h, steps, save_every)
        check_time_moves(t0, h, whole(steps, "steps"))
        return t0, h
    t0, lengths = number(t0, "t0"), reals(h, "h")
    steps, _ = check_counts(steps, save_every)
    if lengths.shape != (steps,):
        raise ValueError(
            f"h must be a finite number, or one for each of the {steps} steps; got"
            f" {lengths.shape[0]}."
        )
    if system.order > 1 and not (method is not None and method.on_levels):
        refuse("h with one length for each step", system.kind, "windows span steps of one length")
    if not is_traced(lengths):
        lengths = np.array(lengths, float)
        bad = ~(np.isfinite(lengths) & (lengths > 0))
        if np.any(bad):
            i = int(np.argmax(bad))
            raise ValueError(f"h[{i}], a step, must be positive and finite; got {lengths[i]}.")
        check_time_moves(t0, np.max(lengths), steps)
        check_time_moves(t0 + np.sum(lengths), np.min(lengths), 1)
    return of_definite_type(t0), lengths


def of_definite_type(value: Any) -> Any:
    """A number of 64 bits: JAX compiles again for a float of Python."""
    return np.float64(value) if type(value) is float or not is_traced(value) else value


def check_counts(steps: Any, save_every: Any) -> Any:
    """Both as Python's own whole numbers, whatever kind they were."""
    steps, save_every = whole(steps, "steps"), whole(save_every, "save_every")
    if steps > WHOLE:
        raise ValueError(f"steps must be at most 2^53, to be told apart; got {steps}.")
    if steps % save_every:
        raise ValueError(
            f"steps must be a multiple of save_every, so that the last step is kept; got {steps}"
            f" and {save_every}."
        )
    return steps, save_every


def check_rows_fit(system: Any, steps: int, save_every: int, members: int = 1) -> None:
    """Raise ValueError where the rows that are kept of a run do not fit into memory."""
    point = entries_of(system.space)
    # t, iterations; q and its increment; p, v and the guess of it; multipliers and entropies
    numbers = 2 + point + 4 * system.order * system.space.dim + 2 * system.multipliers
    per_row = 2 * 8 * numbers * members  # while parts are joined there are two of them
    rows = steps // save_every + 1
    if rows * per_row <= LITTLE:
        return
    every = 10 ** math.ceil(math.log10(max(1.0, steps * per_row / max(1, free()))))
    of_all = "" if members == 1 else f" of {members} members"
    check_room(
        rows * per_row,
        f"steps = {steps} with save_every = {save_every}, {rows} rows{of_all},",
        f"Keep fewer rows: save_every={every}, with steps a multiple of it.",
    )


@lru_cache
def entries_of(space: Any) -> int:
    """How many numbers a configuration has."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(space.identity()))


def is_finite_number(value: Any) -> bool:
    """Whether it is a single real number, finite."""
    array = as_array(value)
    return (
        array is not None
        and array.ndim == 0
        and array.dtype.kind in tuple("fiu")
        and bool(np.isfinite(np.asarray(array, dtype=float)))
    )


def check_start(system: Any, start: Start) -> Any:
    """The start of one run, as float64 arrays."""
    system.check_given(start)
    checked = {
        name: system.check_part(name, value, name)
        for name, value in start._asdict().items()
        if value is not None
    }
    return Start(**checked)


def check_field(X: Function, t: Any, q: Configuration, dim: Any) -> Function:
    """A vector field as a function of (t, q): one of q, or of (t, q), that returns `dim` numbers,
    or of several fields at once a matrix with a column for each.
    """
    if not callable(X):
        wrong("X", f"a function X(q) that returns a vector of shape ({dim},)", X)
    form = chosen("X", X, "q", "t, q")
    field = (lambda t, q: X(q)) if form == "q" else X
    found = evaluate("X", field, t, q, takes=f"({form}), q a configuration")
    is_array = isinstance(found, jax.ShapeDtypeStruct)
    real = is_array and jnp.issubdtype(found.dtype, jnp.floating)
    if not real or found.shape[:1] != (dim,) or len(found.shape) > 2:
        given = f"shape {found.shape}, {found.dtype}" if is_array else repr(found)
        raise ValueError(
            f"X must be a vector field X({form}) -> (dim,), or some of them as the columns of a"
            f" matrix, here of shape ({dim},); it returned {given}."
        )
    return field


# A step beyond these has a square that is no number, or none that keeps its digits.
SHORTEST, LONGEST = 1e-150, 1e150
APART = 100  # times the distance of neighbouring numbers: what times must be apart


def check_time_moves(t0: Any, h: Scalar, steps: int) -> None:
    """Raise ValueError where the times t0 + k h of a run are not those that were meant: too close
    to each other, or beyond all numbers.
    """
    if is_traced(t0) or is_traced(h):
        return
    t0, h = float(t0), float(h)
    if not SHORTEST <= h <= LONGEST:
        raise ValueError(
            f"h, the step, must be between {SHORTEST:g} and {LONGEST:g}, so that h^2 is a number;"
            f" got {h:.6g}. Choose another unit of time."
        )
    end = t0 + steps * h
    if not np.isfinite(end):
        raise ValueError(
            f"the time t0 + steps h = {t0:.6g} + {steps} * {h:.6g} is beyond all numbers: choose a"
            " smaller h, or fewer steps."
        )
    apart = float(np.spacing(max(abs(t0), abs(end))))
    if h < APART * apart:
        raise ValueError(
            f"time would stand still: near t = {max(t0, end, key=abs):.6g} neighbouring numbers are"
            f" {apart:.3g} apart, and h is {h:.6g}. Count from another t0, or take a larger"
            " h."
        )


# ---------------------------------------------------------------- ensembles


def check_ensemble(system: Any, params: Params, start: Start) -> Any:
    """A system and a start whose every number has the leading axis of the ensemble, with its first
    member's system.
    """
    system.check_given(start)
    lengths = {}
    many = {}
    for name, value in start._asdict().items():
        if value is not None:
            many[name] = check_batch(
                value, name, system.space, partial(system.check_part, name), lengths
            )
    first, wide_params = check_params(system, params, lengths)
    if len(set(lengths.values())) != 1:
        words = ", ".join(f"{length} on {name}" for name, length in lengths.items()) or "none"
        raise ValueError(
            "an ensemble needs a leading axis of one length on q0, v0, p0, q1 or params; got"
            f" {words}."
        )
    (length,) = set(lengths.values())

    def widen(leaf: Any) -> Any:
        return jnp.broadcast_to(leaf, (length, *np.shape(leaf)))

    many = {
        name: value if name in lengths else jax.tree.map(widen, value)
        for name, value in many.items()
    }
    wide = jax.tree.map(widen, first)
    numbers, frame = split(first.params)
    batched = [
        a if np.ndim(a) > np.ndim(b) else widen(b)
        for a, b in zip(wide_params, numbers, strict=True)
    ]
    return wide.altered(params=join(batched, frame)), Start(**many), first


def check_batch(value: Any, name: str, space: Space, check: Any, lengths: Any) -> Any:
    """`value` as float64: one configuration or vector, or one for each member, in which case
    `lengths` takes down how many.
    """
    parts = isinstance(value, tuple | list) and name in ("q0", "q1") and isinstance(space, Product)
    arrays = (
        tuple(jnp.asarray(reals(part, f"{name}[{i}]")) for i, part in enumerate(value))
        if parts
        else jnp.asarray(reals(value, name))
    )
    leaves = jax.tree.leaves(arrays)
    try:
        return check(arrays, name)
    except ValueError:
        members = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves}
        if len(members) != 1 or members == {0}:
            raise
        check(jax.tree.map(lambda leaf: leaf[0], arrays), f"{name}[0]")
    if not is_traced(arrays) and not all(np.all(np.isfinite(leaf)) for leaf in leaves):
        raise ValueError(f"{name} must be finite.")
    (lengths[name],) = members
    return arrays


def check_params(system: Any, params: Params, lengths: Any) -> Any:
    """The system of the first member, and the numbers of `params`, some of them with the axis of
    the ensemble.
    """
    if params is None:
        return system, split(system.params)[0]
    numbers, frame = split(frozen_params(params, system.name))
    numbers = [jnp.asarray(a) for a in numbers]
    if system.params is None:
        batched = [True] * len(numbers)
    else:
        own, own_frame = split(system.params)
        if own_frame != frame:
            raise ValueError(
                f"params must be built like the system's own, {shown(system.params)}; got"
                f" {shown(params)}."
            )
        batched = [is_batched(a, b) for a, b in zip(numbers, own, strict=True)]
    for a, wide in zip(numbers, batched, strict=True):
        if wide and a.ndim == 0:
            raise ValueError(
                "the system has no params of its own to compare with, so each number of params"
                " needs the axis of the ensemble."
            )
        if wide and lengths.setdefault("params", len(a)) != len(a):
            raise ValueError(
                f"the leading axes of params differ: {lengths['params']} and {len(a)}."
            )
    return (
        system.with_params(
            join([a[0] if wide else a for a, wide in zip(numbers, batched, strict=True)], frame)
        ),
        numbers,
    )


def is_batched(a: Any, b: Any) -> Any:
    extra = np.ndim(a) - np.ndim(b)
    if extra not in (0, 1) or np.shape(a)[extra:] != np.shape(b):
        raise ValueError(
            f"a number of params must have the shape of the system's own, {np.shape(b)}, or one"
            f" leading axis more; got {np.shape(a)}."
        )
    return extra == 1
