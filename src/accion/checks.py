"""What a user passes to a simulation, checked before anything is computed: bad input is a
ValueError that says what to do.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.methods import Adjoint, EnergyConsistent, FiniteDifference, GeneralizedAlpha, Method
from accion.spaces import Product, check_vector
from accion.systems import DiscreteThermalSystem, Entropic, HigherOrderSystem, System, ThermalSystem
from accion.systems.tree import join, split


class Start(NamedTuple):
    """Where a simulation starts: q0 and one of v0, p0, q1; with v0, a vakonomic system also lam0; a
    thermal system S0.

    Of a system of order r, v0 is (q', ..., q^(2r-1)), lam0 is (lam, ..., lam^(r-1)), and q1 the 2r
    - 1 configurations that follow.
    """

    q0: Any
    v0: Any = None
    p0: Any = None
    q1: Any = None
    lam0: Any = None
    S0: Any = None


def is_traced(tree):
    """Whether anything in `tree` is known to JAX only while it traces: then no value can be looked
    at, and nothing raised.
    """
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def check_kind(system):
    """Raise ValueError unless `system` is a system of any kind."""
    if isinstance(system, System | HigherOrderSystem | Entropic):
        return
    if isinstance(getattr(system, "system", None), System | HigherOrderSystem | Entropic):
        kind = type(system).__name__
        raise ValueError(
            f"the first argument must be a System; got a {kind}. Its system is its attribute"
            " `system`: pass that."
        )
    raise ValueError(f"the first argument must be a System; got {system!r}.")


def check_system(system, method, params=None, S0=None):
    """The system with `params` and as many entropies as `S0`, its numbers as arrays of definite
    type: a float and a numpy float must not compile twice.
    """
    check_kind(system)
    check_method(system, method)
    if params is not None:
        system = system.with_params(params)
    if isinstance(system, Entropic):
        system = system.with_entropies(S0)
    for leaf in jax.tree.leaves(system):
        if not is_traced(leaf) and not np.issubdtype(np.asarray(leaf).dtype, np.number):
            raise ValueError(
                f"the params of {system.name} must be numbers, texts, switches or functions; got"
                f" {leaf!r}."
            )
        if not is_traced(leaf) and not np.all(np.isfinite(leaf)):
            raise ValueError(f"the params of {system.name} must be finite; got {leaf!r}.")
    return jax.tree.map(
        lambda leaf: (
            leaf if isinstance(leaf, int) else jnp.asarray(leaf, dtype=jnp.result_type(leaf))
        ),
        system,
    )


def check_method(system, method):
    """Raise ValueError unless `method` can step `system`."""
    if isinstance(system, DiscreteThermalSystem):
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
    if isinstance(system, HigherOrderSystem) and method.nodes is None:
        raise ValueError(
            f"{type(method).__name__} does not support systems of higher order, whose windows are"
            " sampled at fractions of a step; try Midpoint() or Trapezoid()."
        )
    if isinstance(method, GeneralizedAlpha) and (
        isinstance(system, ThermalSystem) or system.vakonomic is not None
    ):
        raise ValueError(
            "GeneralizedAlpha does not support"
            f" {'thermal' if isinstance(system, ThermalSystem) else 'vakonomic'} systems; try"
            " Midpoint()."
        )
    if isinstance(method, EnergyConsistent) and not isinstance(system, ThermalSystem):
        raise ValueError(
            "EnergyConsistent is for a ThermalSystem, whose entropy takes up energy; try"
            f" {method.method!r}."
        )
    inner: Any = method
    while isinstance(inner, Adjoint | EnergyConsistent):
        inner = inner.method
    if isinstance(inner, FiniteDifference):
        inner.check(system.step_space)


def check_mechanical(system, what):
    """Raise ValueError unless `system` is a System, which is all that `what` knows of."""
    if not isinstance(system, System):
        raise ValueError(
            f"{what} is for a System, without entropies and higher derivatives; got {system!r}."
        )


def check_times(t0, h, steps, save_every):
    """`t0` and `h` as float64."""
    for name, value in (("t0", t0), ("h", h)):
        if not is_traced(value) and not is_finite_number(value):
            raise ValueError(f"{name} must be a finite number; got {value!r}.")
    if not is_traced(h) and h <= 0:
        raise ValueError(f"h, the step, must be positive; got {h!r}.")
    check_counts(steps, save_every)
    return jnp.asarray(t0, dtype=float), jnp.asarray(h, dtype=float)


def check_counts(steps, save_every):
    """Both as Python's own whole numbers, whatever kind they were."""
    steps, save_every = whole(steps, "steps"), whole(save_every, "save_every")
    if steps % save_every:
        raise ValueError(
            f"steps must be a multiple of save_every, so that the last step is kept; got {steps}"
            f" and {save_every}."
        )
    return steps, save_every


def whole(value, name, least=1):
    """`value` as an int of Python, if it is a whole number of any kind, `least` or more."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}.")


def is_finite_number(value):
    return (
        np.ndim(value) == 0
        and np.issubdtype(np.asarray(value).dtype, np.number)
        and np.isrealobj(value)
        and bool(np.isfinite(value))
    )


def check_start(system, start):
    """The start of one run, as float64 arrays."""
    check_given(system, start)
    checked = {
        name: checker(system, name)(value, name)
        for name, value in start._asdict().items()
        if value is not None
    }
    return Start(**checked)


def check_given(system, start):
    """Raise ValueError unless just what is needed is given."""
    if start.q0 is None:
        raise ValueError("q0, the configuration to start from, is missing.")
    given = [name for name in ("v0", "p0", "q1") if getattr(start, name) is not None]
    if len(given) != 1:
        words = " and ".join(given) or "none of them"
        raise ValueError(
            "give one of v0 (a velocity), p0 (momenta) or q1 (the second configuration); got"
            f" {words}."
        )
    if isinstance(system, Entropic) == (start.S0 is None):
        words = (
            "a thermal system needs S0, its entropy (or entropies) at the start"
            if isinstance(system, Entropic)
            else "S0 belongs to thermal systems"
        )
        raise ValueError(f"{words}; got {start.S0!r}.")
    if isinstance(system, HigherOrderSystem) and start.p0 is not None:
        count = 2 * system.order - 1
        raise ValueError(
            f"a system of order {system.order} starts from v0, its derivatives up to order {count},"
            " or from q1; not from p0."
        )
    if isinstance(system, DiscreteThermalSystem) and start.q1 is None:
        raise ValueError(
            f"{system.name} is given in discrete time: it starts from q0, S0 and q1, the second"
            " configuration."
        )
    if system.vakonomic is None and start.lam0 is not None:
        raise ValueError(
            "lam0 belongs to vakonomic systems, whose multipliers are part of the state; here they"
            " follow from q and v."
        )
    if system.vakonomic is not None and (start.lam0 is None) != (start.v0 is None):
        raise ValueError(
            "a vakonomic system that starts from v0 needs lam0, its multipliers at the start, and"
            " only then."
        )
    if system.vakonomic is not None and start.q1 is not None:
        raise ValueError(
            "a vakonomic system starts from v0 and lam0, or from p0: q0 and q1 do not determine its"
            " motion."
        )


def checker(system, name):
    """The function (value, name) that checks one part of a start."""
    if isinstance(system, HigherOrderSystem) and name != "q0":
        return lambda value, words: check_higher(system, name, value, words)
    if name in ("q0", "q1"):
        return system.space.check
    if name == "S0":
        return lambda value, name: check_entropy(system, value, name)
    length, kind = (
        (system.multipliers, "multiplier")
        if name == "lam0"
        else (system.space.dim, "degree of freedom")
    )
    return lambda value, name: check_vector(value, length, name, kind)


def check_higher(system, part, value, name):
    """The v0, lam0 or q1 of a system of higher order, as float64; `name` is what the user knows it
    by.
    """
    r, n = system.order, system.space.dim
    if part == "q1":
        return check_configurations(system.space, value, 2 * r - 1, name)
    rows, length, words = (
        (2 * r - 1, n, "q', ..., q^(2r-1)")
        if part == "v0"
        else (r, system.multipliers, "lam, ..., lam^(r-1)")
    )
    return check_rows(value, rows, length, name, f"{words} of a system of order r = {r}")


def check_rows(value, rows, length, name, words):
    """`value` as a float64 array of shape (rows, length), finite; one row may come without its
    axis.
    """
    try:
        array = jnp.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be an array of real numbers, shape ({rows}, {length}): {words}; got"
            f" {value!r}."
        ) from error
    if rows == 1 and array.shape == (length,):
        array = array[None]
    if array.shape != (rows, length):
        raise ValueError(
            f"{name} must have shape ({rows}, {length}), a row for each of {words}; got shape"
            f" {array.shape}."
        )
    if not is_traced(array) and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; got {np.asarray(array)}.")
    return array


def check_configurations(space, value, count, name):
    """`count` configurations, given one after the other or stacked along a leading axis, as one
    stack.
    """
    if isinstance(space, Product) and isinstance(value, tuple):
        value = [jax.tree.map(lambda a, i=i: a[i], value) for i in range(len(value[0]))]
    if (
        isinstance(value, str)
        or (np.ndim(value) == 0 and not isinstance(value, list | tuple))
        or len(value) != count
    ):
        given = (
            f"{len(value)} of them"
            if isinstance(value, list | tuple) or np.ndim(value)
            else repr(value)
        )
        raise ValueError(
            f"{name} must be {count} configurations, one after the other; got {given}."
        )
    return stacked([space.check(value[i], f"{name}[{i}]") for i in range(count)])


def stacked(configurations):
    """Configurations along a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *configurations)


def check_entropy(system, S, name):
    """`S` as a float64 scalar, or a vector with one entropy for each body."""
    if system.entropies is not None:
        return check_vector(S, len(system.entropies), name, "body")
    try:
        value = jnp.asarray(S, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number, the entropy; got {S!r}.") from error
    if (
        value.shape != ()
        or isinstance(S, bool)
        or (not is_traced(value) and not np.isfinite(value))
    ):
        raise ValueError(
            f"{name} must be a finite number, the entropy; got {S!r}. For several bodies say so:"
            " ThermalSystem(..., entropies=2)."
        )
    return value


def check_field(X, q, dim):
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


def check_many(system, params, start):
    """A system and a start whose every number has the leading axis of the ensemble, with its first
    member's system.
    """
    check_given(system, start)
    lengths = {}
    many = {}
    for name, value in start._asdict().items():
        if value is not None:
            many[name] = check_batch(value, name, system.space, checker(system, name), lengths)
    first, wide_params = check_params(system, params, lengths)
    if len(set(lengths.values())) != 1:
        words = ", ".join(f"{length} on {name}" for name, length in lengths.items()) or "none"
        raise ValueError(
            "an ensemble needs a leading axis of one length on q0, v0, p0, q1 or params; got"
            f" {words}."
        )
    (length,) = set(lengths.values())

    def widen(leaf):
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
    return wide.with_params(join(batched, frame)), Start(**many), first


def check_batch(value, name, space, check, lengths):
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


def check_params(system, params, lengths):
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


def is_batched(a, b):
    extra = np.ndim(a) - np.ndim(b)
    if extra not in (0, 1) or np.shape(a)[extra:] != np.shape(b):
        raise ValueError(
            f"a number of params must have the shape of the system's own, {np.shape(b)}, or one"
            f" leading axis more; got {np.shape(a)}."
        )
    return extra == 1
