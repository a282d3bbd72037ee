"""Primitives that move entries about: slices, gathers, scatters, with indices that are constants or
values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from accion.engines.algebra import Algebra
from accion.engines.arrays import Equation, ValueArray as Array, entries, of_shape
from accion.engines.errors import Unsupported
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import INTEGER

# Primitives that change nothing.
SAME = {"copy", "copy_p", "device_put", "name", "optimization_barrier"}
# An index of an array: a number, or a value that is one when the program runs.
Index: TypeAlias = Any


def known(g: Algebra[Any], i: Any) -> Index:
    """An integer as a number, where it is one already."""
    low, high = g.bounds(i) or (0, 1)
    return low if low == high else i


def shifted(g: Algebra[Any], i: Index, k: int) -> Index:
    """i + k."""
    return i + k if isinstance(i, int) else known(g, g.binary("add", i, g.constant(k, INTEGER)))


def clamped(g: Algebra[Any], i: Index, high: int) -> Index:
    """The index put between zero and `high`."""
    return min(max(i, 0), high) if isinstance(i, int) else known(g, g.clamp(i, 0, high))


def inside(g: Algebra[Any], indices: Iterable[tuple[Index, int]]) -> Any:
    """Whether each index is between zero and the number beside it: True, False, or a value."""
    tests = []
    for i, last in indices:
        if isinstance(i, int):
            if not 0 <= i <= last:
                return False
        else:
            tests.append(g.compare("ge", i, g.constant(0, INTEGER)))
            tests.append(g.compare("le", i, g.constant(last, INTEGER)))
    return g.fold("and", tests) if tests else True


def look_up(g: Algebra[Any], a: Array, index: tuple[Index, ...]) -> Any:
    """a[index], the indices being within range: a chain of selections where they are not known."""
    for axis, i in enumerate(index):
        if not isinstance(i, int):
            places = span(g, i, a.shape[axis])
            found = look_up(g, a, (*index[:axis], places[-1], *index[axis + 1 :]))
            for j in reversed(places[:-1]):
                here = g.compare("eq", i, g.constant(j, INTEGER))
                found = g.select(here, look_up(g, a, (*index[:axis], j, *index[axis + 1 :])), found)
            return found
    return a[index]


def span(g: Algebra[Any], i: Index, size: int) -> range:
    """The places that an index can be on an axis of this size."""
    low, high = (i, i) if isinstance(i, int) else g.bounds(i) or (0, size - 1)
    return range(max(0, low), min(size - 1, high) + 1)


def put(g: Algebra[Any], a: Array, index: Sequence[Index], value: Any, combine: str | None) -> None:
    """a[index] = value, or combined with what is there; nothing where the index is out of range."""
    spans = [span(g, i, size) for i, size in zip(index, a.shape, strict=True)]
    for where in np.ndindex(*[len(s) for s in spans]):
        at = tuple(s[k] for s, k in zip(spans, where, strict=True))
        new = value if combine is None else g.binary(combine, a[at], value)
        tests = [
            g.compare("eq", i, g.constant(k, INTEGER))
            for i, k in zip(index, at, strict=True)
            if not isinstance(i, int)
        ]
        a[at] = g.select(g.fold("and", tests), new, a[at]) if tests else new


def broadcast(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    shape, dims = equation.params["shape"], equation.params["broadcast_dimensions"]
    return np.broadcast_to(
        x[0].reshape([x[0].shape[dims.index(i)] if i in dims else 1 for i in range(len(shape))]),
        shape,
    )


def reshape(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return x[0].reshape(equation.outvars[0].aval.shape)


def transpose(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return x[0].transpose(equation.params["permutation"])


def static_slice(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    P = equation.params
    steps = P["strides"] or (1,) * x[0].ndim
    return x[0][
        tuple(slice(*s) for s in zip(P["start_indices"], P["limit_indices"], steps, strict=True))
    ]


def concatenate(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return np.concatenate(x, axis=equation.params["dimension"])


def stack(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return np.stack(x, axis=equation.params["axis"])


def tile(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return np.tile(x[0], equation.params["reps"])


def reverse(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    return np.flip(x[0], equation.params["dimensions"])


def pad(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    a, value = x[0], x[1][()]
    for axis, (low, high, inner) in enumerate(equation.params["padding_config"]):
        n = a.shape[axis]
        size = low + high + n + max(0, n - 1) * inner
        padded = np.empty((*a.shape[:axis], size, *a.shape[axis + 1 :]), object)
        padded[...] = value
        to, source = np.moveaxis(padded, axis, 0), np.moveaxis(a, axis, 0)
        for i in range(n):
            j = low + i * (inner + 1)
            if 0 <= j < size:
                to[j] = source[i]
        a = padded
    return a


def starts(g: Algebra[Any], given: list[Array], whole: Array, part: Sequence[int]) -> list[Index]:
    """Where a part of an array begins, moved so that it is inside."""
    return [
        clamped(g, known(g, i[()]), n - m) for i, n, m in zip(given, whole.shape, part, strict=True)
    ]


def dynamic_slice(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    sizes = equation.params["slice_sizes"]
    begin, values = starts(g, x[1:], x[0], sizes), []
    for offset in np.ndindex(*sizes):
        index = tuple(shifted(g, i, k) for i, k in zip(begin, offset, strict=True))
        values.append(look_up(g, x[0], index))
    return of_shape(sizes, values)


def dynamic_update_slice(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    a, new = np.array(x[0], object), x[1]
    begin = starts(g, x[2:], a, new.shape)
    for offset in np.ndindex(new.shape):
        index = tuple(shifted(g, i, k) for i, k in zip(begin, offset, strict=True))
        put(g, a, index, new[offset], None)
    return a


def gather(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    (a, given), P, out = x, equation.params, equation.outvars[0].aval
    d, sizes, fill = P["dimension_numbers"], P["slice_sizes"], "FILL" in str(P["mode"])
    indices = of_shape(given.shape, [known(g, i) for i in entries([given])])
    within = [
        i
        for i in range(a.ndim)
        if i not in d.collapsed_slice_dims and i not in d.operand_batching_dims
    ]
    values = []
    for o in np.ndindex(*out.shape):
        batch = tuple(o[i] for i in range(len(o)) if i not in d.offset_dims)
        at: list[Index] = [0] * a.ndim
        wanted: list[tuple[Index, int]] = []
        for j, axis in enumerate(d.start_index_map):
            i, last = indices[(*batch, j)], a.shape[axis] - sizes[axis]
            wanted.append((i, last))
            at[axis] = clamped(g, i, last)
        for j, axis in enumerate(d.operand_batching_dims):
            at[axis] = batch[d.start_indices_batching_dims[j]]
        for axis, j in zip(within, d.offset_dims, strict=True):
            at[axis] = shifted(g, at[axis], o[j])
        found = inside(g, wanted) if fill else True
        value = None if found is False else look_up(g, a, tuple(at))
        values.append(
            value if found is True else filled(g, found, value, out.dtype, P.get("fill_value"))
        )
    return of_shape(out.shape, values)


def filled(g: Algebra[Any], found: Any, value: Any, dtype: Any, given: Any) -> Any:
    """What JAX fills with, where the index was not found inside."""
    filler = g.filler(dtype) if given is None else g.constant(given, g.kind(dtype))
    return filler if found is False else g.select(found, value, filler)


def scatter(g: Algebra[Any], equation: Equation, x: list[Array]) -> Array:
    (a, given, updates), P = x, equation.params
    d, combine = P["dimension_numbers"], equation.primitive.name[len("scatter_") :] or None
    if combine is None and P["update_jaxpr"] is not None:
        raise Unsupported("a scatter with a function of its own")
    indices = of_shape(given.shape, [known(g, i) for i in entries([given])])
    clip = "CLIP" in str(P["mode"])
    within = [
        i
        for i in range(a.ndim)
        if i not in d.inserted_window_dims and i not in d.operand_batching_dims
    ]
    window = {axis: updates.shape[j] for axis, j in zip(within, d.update_window_dims, strict=True)}
    result: Array = np.array(a, object)
    for u in np.ndindex(updates.shape):
        batch = tuple(u[i] for i in range(len(u)) if i not in d.update_window_dims)
        at: list[Index] = [0] * a.ndim
        wanted: list[tuple[Index, int]] = []
        for j, axis in enumerate(d.scatter_dims_to_operand_dims):
            i, last = indices[(*batch, j)], a.shape[axis] - window.get(axis, 1)
            wanted.append((i, last))
            at[axis] = clamped(g, i, last)
        for j, axis in enumerate(d.operand_batching_dims):
            at[axis] = batch[d.scatter_indices_batching_dims[j]]
        for axis, j in zip(within, d.update_window_dims, strict=True):
            at[axis] = shifted(g, at[axis], u[j])
        # A window that leaves the array is dropped as a whole, or moved into it.
        found = True if clip else inside(g, wanted)
        if found is False:
            continue
        before = result if found is True else result.copy()
        put(g, result, at, updates[u], combine)
        if found is not True:
            for k in np.ndindex(result.shape):
                if result[k] is not before[k]:
                    result[k] = g.select(found, result[k], before[k])
    return result


def iota(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    shape, axis = equation.params["shape"], equation.params["dimension"]
    column = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return [run.constant(np.broadcast_to(column, shape).astype(equation.params["dtype"]))]


def same(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    return x


def split(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    return np.split(
        x[0],
        np.cumsum([int(k) for k in equation.params["sizes"]])[:-1],
        axis=equation.params["axis"],
    )


def unstack(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    rows = np.moveaxis(x[0], equation.params["axis"], 0)
    return [
        of_shape(rows.shape[1:], rows[i].ravel().tolist() if rows.ndim > 1 else [rows[i]])
        for i in range(len(rows))
    ]


ONE_RESULT: dict[str, Callable[[Algebra[Any], Equation, list[Array]], Array]] = {
    "broadcast_in_dim": broadcast,
    "reshape": reshape,
    "squeeze": reshape,
    "expand_dims": reshape,
    "transpose": transpose,
    "slice": static_slice,
    "concatenate": concatenate,
    "stack": stack,
    "tile": tile,
    "rev": reverse,
    "pad": pad,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "gather": gather,
    "scatter": scatter,
    "scatter-add": scatter,
    "scatter_add": scatter,
    "scatter-mul": scatter,
    "scatter_mul": scatter,
    "scatter-min": scatter,
    "scatter-max": scatter,
    "scatter_min": scatter,
    "scatter_max": scatter,
}


def only(rule: Callable[[Algebra[Any], Equation, list[Array]], Array]) -> Rule:
    """The rule of a primitive that has one result."""
    return lambda run, equation, x: [rule(run.algebra, equation, x)]


RULES: dict[str, Rule] = {
    **{name: only(rule) for name, rule in ONE_RESULT.items()},
    **dict.fromkeys(SAME, same),
    "iota": iota,
    "split": split,
    "unstack": unstack,
}
