"""What a user passes to a simulation, checked before anything is computed: bad input is a
ValueError that says what to do.
"""

from functools import partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from accion.methods import Method
from accion.spaces import Product, Space
from accion.systems import AbstractSystem, Start, System
from accion.systems.start import is_traced
from accion.systems.tree import join, split
from accion.types import Configuration, Function, Params, Scalar


def check_kind(system: Any) -> Any:
    """Raise ValueError unless `system` is a system of any kind."""
    if isinstance(system, AbstractSystem):
        return
    if isinstance(getattr(system, "system", None), AbstractSystem):
        kind = type(system).__name__
        raise ValueError(
            f"the first argument must be a System; got a {kind}. Its system is its attribute"
            " `system`: pass that."
        )
    raise ValueError(f"the first argument must be a System; got {system!r}.")


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
    if params is not None:
        system = system.with_params(params)
    system = system.with_entropies(S0)
    for leaf in jax.tree.leaves(system):
        if not is_traced(leaf) and not np.all(np.isfinite(leaf)):
            raise ValueError(f"the params of {system.name} must be finite; got {leaf!r}.")
    numbers, frame = split(system.params)
    return system.altered(params=join([jnp.asarray(a, dtype=float) for a in numbers], frame))


def check_method(system: Any, method: Any) -> Any:
    """Raise ValueError unless `method` can step `system`."""
    if system.discrete_time:
        if method is not None:
            raise ValueError(
                f"{system.name} is given in discrete time already: the method must be None; got"
                f" {method!r}."
            )
        return
    if not isinstance(method, Method):
        given = (
            f"the class {method.__name__}: write {method.__name__}()"
            if isinstance(method, type)
            else repr(method)
        )
        raise ValueError(f"the second argument must be a method, such as Midpoint(); got {given}.")
    method.check(system)


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
        refuse(what, system.kind, f"they have {'entropies' if system.entropic else why}")


def is_vector_space(space: Any) -> bool:
    """Whether configurations are vectors, which can be added: on Euclidean and Torus."""
    return space.flat and not isinstance(space.identity(), tuple)


def check_times(t0: Any, h: Scalar, steps: Any, save_every: Any) -> Any:
    """`t0` and `h` as float64."""
    for name, value in (("t0", t0), ("h", h)):
        if not is_traced(value) and not is_finite_number(value):
            raise ValueError(f"{name} must be a finite number; got {value!r}.")
    if not is_traced(h) and h <= 0:
        raise ValueError(f"h, the step, must be positive; got {h!r}.")
    check_counts(steps, save_every)
    return jnp.asarray(t0, dtype=float), jnp.asarray(h, dtype=float)


def check_counts(steps: Any, save_every: Any) -> Any:
    """Both as Python's own whole numbers, whatever kind they were."""
    steps, save_every = whole(steps, "steps"), whole(save_every, "save_every")
    if steps % save_every:
        raise ValueError(
            f"steps must be a multiple of save_every, so that the last step is kept; got {steps}"
            f" and {save_every}."
        )
    return steps, save_every


def whole(value: Any, name: str, least: Any = 1) -> Any:
    """`value` as an int of Python, if it is a whole number of any kind, `least` or more."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}.")


def is_finite_number(value: Any) -> Any:
    return (
        np.ndim(value) == 0
        and np.issubdtype(np.asarray(value).dtype, np.number)
        and np.isrealobj(value)
        and bool(np.isfinite(value))
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


def check_field(X: Function, q: Configuration, dim: Any) -> Any:
    """Raise ValueError unless `X` is a vector field: a function of a configuration, such as `q`,
    that returns `dim` numbers.
    """
    if not callable(X):
        raise ValueError(
            f"X must be a function X(q) that returns a vector of shape ({dim},); got {X!r}."
        )
    found = jax.eval_shape(X, q)
    if not isinstance(found, jax.ShapeDtypeStruct) or found.shape != (dim,):
        given = f"shape {found.shape}" if isinstance(found, jax.ShapeDtypeStruct) else repr(found)
        raise ValueError(
            f"X must be a vector field X(q) -> (dim,), here of shape ({dim},); it returned {given}."
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
    try:
        parts = (
            isinstance(value, tuple | list) and name in ("q0", "q1") and isinstance(space, Product)
        )
        arrays = (
            tuple(jnp.asarray(part, dtype=float) for part in value)
            if parts
            else jnp.asarray(value, dtype=float)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers; got {value!r}.") from error
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
    numbers, frame = split(params)
    numbers = [jnp.asarray(a) for a in numbers]
    if system.params is None:
        batched = [True] * len(numbers)
    else:
        own, own_frame = split(system.params)
        if own_frame != frame:
            raise ValueError(
                f"params must be built like the system's own, {system.params!r}; got {params!r}."
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
