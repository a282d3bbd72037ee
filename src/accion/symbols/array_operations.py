"""The operations of JAX on arrays, carried out on NumPy arrays of SymPy expressions.

Each rule takes the operation and its arguments, and returns the list of its results.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import sympy as sp
from jax.extend.core import JaxprEqn

from accion.symbols.exact_numbers import exact
from accion.symbols.linear_algebra import Undecided, cholesky, determinant, each, triangular
from accion.symbols.primitives import CUMULATIVE, REDUCTIONS, as_number, is_condition
from accion.symbols.source_lines import Unknown, is_used_by_jax

# An array of expressions.
Expressions = np.ndarray
Rule = Callable[..., list[Any]]


def exact_array(array: Any) -> Any:
    """An array of numbers as exact SymPy numbers."""
    array = np.asarray(array)
    if np.iscomplexobj(array):
        return Unknown("complex", None, "complex numbers are not real")
    out = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        out[index] = exact(array[index])
    return out


def elementwise(f: Callable[..., Any], *arrays: Expressions) -> Expressions:
    """`f` entry by entry."""
    return np.asarray(np.frompyfunc(f, len(arrays), 1)(*arrays), dtype=object)


def plain_integers(array: Expressions) -> np.ndarray:
    """The entries as integers of Python; raises Undecided where one is not known."""
    if not all(x.is_Integer for x in array.flat):
        raise Undecided("an index or a count depends on the variables")
    return np.array([int(x) for x in array.flat], dtype=np.int64).reshape(array.shape)


def dtype_of(atom: Any) -> np.dtype:
    """The kind of numbers of an argument or a result."""
    return np.dtype(atom.aval.dtype)


def moved(eqn: JaxprEqn, *arguments: Expressions, indices: Sequence[int] = ()) -> list[Any]:
    """An operation that only moves entries about, done once on their numbers to see where they go;
    `indices` are arguments by value.
    """
    pool, stand_ins = [], []
    for i, argument in enumerate(arguments):
        if i in indices:
            stand_ins.append(plain_integers(argument).astype(dtype_of(eqn.invars[i])))
            continue
        stand_ins.append(
            np.arange(len(pool), len(pool) + argument.size, dtype=np.int64).reshape(argument.shape)
        )
        pool.extend(argument.flat)
    out = eqn.primitive.bind(*map(jax.numpy.asarray, stand_ins), **eqn.params)
    outs = out if eqn.primitive.multiple_results else [out]
    return [take(pool, np.asarray(o)) for o in outs]


def take(pool: Sequence[Any], where: np.ndarray) -> Expressions:
    """The entries of `pool` at the indices `where`."""
    out = np.empty(where.shape, dtype=object)
    for index in np.ndindex(where.shape):
        k = int(where[index])
        if not 0 <= k < len(pool):
            raise Undecided("an index is out of bounds")
        out[index] = pool[k]
    return out


def by_value(*positions: int) -> Rule:
    """A rule: move entries, with the arguments at `positions` taken by value."""
    return lambda eqn, *arguments: moved(eqn, *arguments, indices=positions)


def dynamic_slice(eqn: JaxprEqn, operand: Expressions, *starts: Expressions) -> list[Any]:
    return moved(eqn, operand, *starts, indices=range(1, 1 + len(starts)))


def dynamic_update_slice(
    eqn: JaxprEqn, operand: Expressions, update: Expressions, *starts: Expressions
) -> list[Any]:
    return moved(eqn, operand, update, *starts, indices=range(2, 2 + len(starts)))


def scatter_add(
    eqn: JaxprEqn, operand: Expressions, indices: Expressions, updates: Expressions
) -> list[Any]:
    """Where each update lands is seen by sending them one at a time."""
    where = jax.numpy.asarray(plain_integers(indices).astype(dtype_of(eqn.invars[1])))
    zero = jax.numpy.zeros(operand.shape)
    out = operand.copy()
    for index in np.ndindex(updates.shape):
        one = jax.numpy.zeros(updates.shape).at[index].set(1.0)
        for target in np.argwhere(np.asarray(eqn.primitive.bind(zero, where, one, **eqn.params))):
            out[tuple(target)] += updates[index]
    return [out]


def broadcast_in_dim(eqn: JaxprEqn, operand: Expressions, *_: Any) -> list[Any]:
    shape = eqn.params["shape"]
    middle = [1] * len(shape)
    for axis, target in enumerate(eqn.params["broadcast_dimensions"]):
        middle[target] = operand.shape[axis]
    return [np.broadcast_to(operand.reshape(middle), shape)]


def slice_(eqn: JaxprEqn, operand: Expressions) -> list[Any]:
    starts, limits, strides = (
        eqn.params[key] for key in ("start_indices", "limit_indices", "strides")
    )
    return [operand[tuple(map(slice, starts, limits, strides or [1] * operand.ndim))]]


def dot_general(eqn: JaxprEqn, x: Expressions, y: Expressions) -> list[Any]:
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    free_x = [i for i in range(x.ndim) if i not in (*cx, *bx)]
    free_y = [i for i in range(y.ndim) if i not in (*cy, *by)]
    batch = [x.shape[i] for i in bx]
    shape = batch + [x.shape[i] for i in free_x] + [y.shape[i] for i in free_y]
    size = int(np.prod([x.shape[i] for i in cx], dtype=int))
    X = x.transpose([*bx, *free_x, *cx]).reshape(int(np.prod(batch, dtype=int)), -1, size)
    Y = y.transpose([*by, *free_y, *cy]).reshape(int(np.prod(batch, dtype=int)), -1, size)
    out = np.empty((X.shape[0], X.shape[1], Y.shape[1]), dtype=object)
    for b, i, j in np.ndindex(out.shape):
        out[b, i, j] = sp.Add(*(p * q for p, q in zip(X[b, i], Y[b, j], strict=True)))
    return [out.reshape(shape)]


def reduction(f: Callable[..., Any]) -> Rule:
    """A rule: `f` of the entries along some axes."""

    def rule(eqn: JaxprEqn, x: Expressions) -> list[Any]:
        axes = eqn.params["axes"]
        rest = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose([*rest, *axes]).reshape(
            int(np.prod([x.shape[i] for i in rest], dtype=int)), -1
        )
        out = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            out[i] = f(row)
        return [out.reshape([x.shape[i] for i in rest])]

    return rule


def cumulative(f: Callable[..., Any]) -> Rule:
    """A rule: `f` of the first entries along an axis, of one, two, three, ..."""

    def rule(eqn: JaxprEqn, x: Expressions) -> list[Any]:
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        rows = np.moveaxis(x, axis, -1)
        rows = rows[..., ::-1] if reverse else rows
        out = np.empty(rows.shape, dtype=object)
        for index in np.ndindex(rows.shape):
            out[index] = f(rows[index[:-1]][: index[-1] + 1])
        return [np.moveaxis(out[..., ::-1] if reverse else out, -1, axis)]

    return rule


def divide(eqn: JaxprEqn, x: Expressions, y: Expressions) -> list[Any]:
    if not np.issubdtype(dtype_of(eqn.outvars[0]), np.integer):
        return [elementwise(lambda a, b: a / b, x, y)]
    return [elementwise(lambda a, b: sp.sign(a / b) * sp.floor(sp.Abs(a / b)), x, y)]


def convert(eqn: JaxprEqn, x: Expressions) -> list[Any]:
    kind = np.dtype(eqn.params["new_dtype"])
    if np.issubdtype(kind, np.floating):
        return [elementwise(as_number, x)]
    if np.issubdtype(kind, np.bool_):
        return [elementwise(lambda a: a if is_condition(a) else sp.Ne(a, 0), x)]
    if np.issubdtype(kind, np.integer):
        return [
            elementwise(
                lambda a: sp.sign(a) * sp.floor(sp.Abs(a)) if not a.is_integer else a,
                elementwise(as_number, x),
            )
        ]
    raise Undecided(f"numbers of type {kind} are not real")


def iota(eqn: JaxprEqn, *_: Any) -> list[Any]:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    return [
        exact_array(
            np.broadcast_to(
                np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]),
                shape,
            )
        )
    ]


def stop_gradient(eqn: JaxprEqn, x: Expressions) -> list[Any]:
    """Nothing in JAX's own functions, which use it where the derivative is the same; a user's own
    means another derivative.
    """
    if any(a.free_symbols for a in x.flat) and not is_used_by_jax(eqn, "stop_gradient"):
        raise Undecided("its derivative would not be that of its value")
    return [x]


def platform_index(eqn: JaxprEqn) -> list[Any]:
    """Which of the versions for several kinds of machine is that of a CPU."""
    platforms = eqn.params["platforms"]
    found = next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
    return [exact_array(np.asarray(found))]


# Functions of jax.numpy, with the number of their arguments, that are simpler than what they are
# made of.
NAMED: dict[Any, Callable[..., Any]] = {
    ("hypot", 2): lambda x, y: elementwise(lambda a, b: sp.sqrt(a**2 + b**2), x, y),
    ("det", 1): lambda A: each(determinant, A),
}
ARRAY_RULES: dict[str, Rule] = {
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": lambda eqn, x, *_: [x.reshape(eqn.params["new_sizes"])],
    "squeeze": lambda eqn, x: [x.reshape(eqn.outvars[0].aval.shape)],
    "expand_dims": lambda eqn, x: [x.reshape(eqn.outvars[0].aval.shape)],
    "transpose": lambda eqn, x: [x.transpose(eqn.params["permutation"])],
    "slice": slice_,
    "rev": lambda eqn, x: [np.flip(x, eqn.params["dimensions"])],
    "concatenate": lambda eqn, *xs: [np.concatenate(xs, axis=eqn.params["dimension"])],
    "split": by_value(),
    "stack": by_value(),
    "unstack": by_value(),
    "tile": by_value(),
    "device_put": lambda eqn, *xs: list(xs),
    "optimization_barrier": lambda eqn, *xs: list(xs),
    "pad": by_value(),
    "gather": by_value(1),
    "scatter": by_value(1),
    "scatter-add": scatter_add,
    "scatter_add": scatter_add,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "integer_pow": lambda eqn, x: [elementwise(lambda a: a ** eqn.params["y"], x)],
    "dot_general": dot_general,
    "div": divide,
    "convert_element_type": convert,
    "iota": iota,
    "cholesky": lambda eqn, A: [each(cholesky, A)],
    "triangular_solve": lambda eqn, A, b: [each(lambda T, c: triangular(T, c, eqn.params), A, b)],
    "stop_gradient": stop_gradient,
    "platform_index": platform_index,
    **{name: reduction(f) for name, f in REDUCTIONS.items()},
    **{name: cumulative(f) for name, f in CUMULATIVE.items()},
}
