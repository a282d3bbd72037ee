"""Primitives that move entries about: slices, gathers, scatters, with indices that are constants or
values.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from accion.engines.arrays import Equation, ValueArray as Array, of_shape
from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import FLOAT, INTEGER, kind_of
from accion.engines.values import Value


def look_up(g: Graph, a: Array, index: tuple[int | Value, ...]) -> Value:
    """a[index], the indices being integer values within range: a chain of selections where they are
    not constants.
    """
    for axis, i in enumerate(index):
        if not isinstance(i, int):
            if i.is_constant:
                return look_up(g, a, (*index[:axis], i.args[0], *index[axis + 1 :]))
            low, high = span(i, a.shape[axis])
            found = look_up(g, a, (*index[:axis], high, *index[axis + 1 :]))
            for j in range(high - 1, low - 1, -1):
                here = g.compare("eq", i, g.constant(j, INTEGER))
                found = g.select(here, look_up(g, a, (*index[:axis], j, *index[axis + 1 :])), found)
            return found
    return a[index]


def span(i: Value, size: int) -> tuple[int, int]:
    """The least and the largest index that `i` can be on an axis of this size."""
    low, high = i.bounds or (0, size - 1)
    return max(0, low), min(size - 1, high)


def put(g: Graph, a: Array, index: Sequence[Value], value: Value, combine: str | None) -> None:
    """a[index] = value, or combined with what is there; nothing where the index is out of range."""
    spans: list[range] = []
    for i, size in zip(index, a.shape, strict=True):
        low, high = span(i, size)
        spans.append(range(low, high + 1))
    for where in np.ndindex(*[len(s) for s in spans]):
        at = tuple(s[k] for s, k in zip(spans, where, strict=True))
        tests = [g.compare("eq", i, g.constant(k, INTEGER)) for i, k in zip(index, at, strict=True)]
        here = reduce(lambda u, v: g.binary("and", u, v), tests) if tests else g.constant(True, "b")
        a[at] = g.select(here, value if combine is None else g.binary(combine, a[at], value), a[at])


def broadcast(g: Graph, equation: Equation, x: list[Array]) -> Array:
    shape, dims = equation.params["shape"], equation.params["broadcast_dimensions"]
    return np.broadcast_to(
        x[0].reshape([x[0].shape[dims.index(i)] if i in dims else 1 for i in range(len(shape))]),
        shape,
    )


def reshape(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return x[0].reshape(equation.outvars[0].aval.shape)


def transpose(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return x[0].transpose(equation.params["permutation"])


def static_slice(g: Graph, equation: Equation, x: list[Array]) -> Array:
    P = equation.params
    steps = P["strides"] or (1,) * x[0].ndim
    return x[0][
        tuple(slice(*s) for s in zip(P["start_indices"], P["limit_indices"], steps, strict=True))
    ]


def concatenate(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return np.concatenate(x, axis=equation.params["dimension"])


def stack(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return np.stack(x, axis=equation.params["axis"])


def tile(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return np.tile(x[0], equation.params["reps"])


def reverse(g: Graph, equation: Equation, x: list[Array]) -> Array:
    return np.flip(x[0], equation.params["dimensions"])


def iota(g: Graph, equation: Equation, x: list[Array]) -> Array:
    shape, axis = equation.params["shape"], equation.params["dimension"]
    kind = kind_of(equation.params["dtype"])
    numbers = np.broadcast_to(
        np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )
    return of_shape(shape, [g.constant(i, kind) for i in numbers.ravel().tolist()])


def pad(g: Graph, equation: Equation, x: list[Array]) -> Array:
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


def dynamic_slice(g: Graph, equation: Equation, x: list[Array]) -> Array:
    a, sizes = x[0], equation.params["slice_sizes"]
    starts = [g.clamp(i[()], 0, n - m) for i, n, m in zip(x[1:], a.shape, sizes, strict=True)]
    values = []
    for offset in np.ndindex(*sizes):
        index = tuple(
            g.binary("add", s, g.constant(k, INTEGER)) for s, k in zip(starts, offset, strict=True)
        )
        values.append(look_up(g, a, index))
    return of_shape(sizes, values)


def dynamic_update_slice(g: Graph, equation: Equation, x: list[Array]) -> Array:
    a, new = np.array(x[0], object), x[1]
    starts = [g.clamp(i[()], 0, n - m) for i, n, m in zip(x[2:], a.shape, new.shape, strict=True)]
    for offset in np.ndindex(new.shape):
        index = tuple(
            g.binary("add", s, g.constant(k, INTEGER)) for s, k in zip(starts, offset, strict=True)
        )
        put(g, a, index, new[offset], None)
    return a


def gather(g: Graph, equation: Equation, x: list[Array]) -> Array:
    (a, indices), P = x, equation.params
    d, sizes, shape = P["dimension_numbers"], P["slice_sizes"], equation.outvars[0].aval.shape
    fill = "FILL" in str(P["mode"])
    filling = P.get("fill_value")
    within = [
        i
        for i in range(a.ndim)
        if i not in d.collapsed_slice_dims and i not in d.operand_batching_dims
    ]
    values = []
    for o in np.ndindex(*shape):
        batch = tuple(o[i] for i in range(len(o)) if i not in d.offset_dims)
        at, inside = [g.constant(0, INTEGER)] * a.ndim, g.constant(True, "b")
        for j, axis in enumerate(d.start_index_map):
            i, last = indices[(*batch, j)], a.shape[axis] - sizes[axis]
            if fill:
                inside = g.binary("and", inside, g.compare("ge", i, g.constant(0, INTEGER)))
                inside = g.binary("and", inside, g.compare("le", i, g.constant(last, INTEGER)))
            at[axis] = g.clamp(i, 0, last)
        for j, axis in enumerate(d.operand_batching_dims):
            at[axis] = g.constant(batch[d.start_indices_batching_dims[j]], INTEGER)
        for axis, j in zip(within, d.offset_dims, strict=True):
            at[axis] = g.binary("add", at[axis], g.constant(o[j], INTEGER))
        value = look_up(g, a, tuple(at))
        values.append(g.select(inside, value, filler(g, value.kind, filling)) if fill else value)
    return of_shape(shape, values)


def filler(g: Graph, kind: str, given: Any) -> Value:
    """What JAX fills with: NaN, or the least integer, or True."""
    if given is not None:
        return g.constant(given, kind)
    return g.constant({FLOAT: np.nan, INTEGER: np.iinfo(np.int64).min}.get(kind, True), kind)


def scatter(g: Graph, equation: Equation, x: list[Array]) -> Array:
    (a, indices, updates), P = x, equation.params
    d, name = P["dimension_numbers"], equation.primitive.name.replace("_", "-")
    combine = {
        "scatter": None,
        "scatter-add": "add",
        "scatter-mul": "mul",
        "scatter-min": "min",
        "scatter-max": "max",
    }[name]
    if name == "scatter" and P["update_jaxpr"] is not None:
        raise Unsupported("a scatter with a function of its own")
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
        at, inside = [g.constant(0, INTEGER)] * a.ndim, g.constant(True, "b")
        for j, axis in enumerate(d.scatter_dims_to_operand_dims):
            i, last = indices[(*batch, j)], a.shape[axis] - window.get(axis, 1)
            # A window that leaves the array is dropped as a whole, or moved into it.
            inside = g.binary("and", inside, g.compare("ge", i, g.constant(0, INTEGER)))
            inside = g.binary("and", inside, g.compare("le", i, g.constant(last, INTEGER)))
            at[axis] = g.clamp(i, 0, last)
        for j, axis in enumerate(d.operand_batching_dims):
            at[axis] = g.constant(batch[d.scatter_indices_batching_dims[j]], INTEGER)
        for axis, j in zip(within, d.update_window_dims, strict=True):
            at[axis] = g.binary("add", at[axis], g.constant(u[j], INTEGER))
        before = result.copy() if not (clip or inside.is_constant) else result
        if inside.is_constant and not inside.args[0] and not clip:
            continue
        put(g, result, tuple(at), updates[u], combine)
        if before is not result:
            for k in np.ndindex(result.shape):
                if result[k] is not before[k]:
                    result[k] = g.select(inside, result[k], before[k])
    return result


def split(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    return np.split(
        x[0],
        np.cumsum([int(k) for k in equation.params["sizes"]])[:-1],
        axis=equation.params["axis"],
    )


def unstack(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    rows = np.moveaxis(x[0], equation.params["axis"], 0)
    return [
        of_shape(rows.shape[1:], rows[i].ravel().tolist() if rows.ndim > 1 else [rows[i]])
        for i in range(len(rows))
    ]


ONE_RESULT: dict[str, Callable[[Graph, Equation, list[Array]], Array]] = {
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
    "iota": iota,
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


def only(rule: Callable[[Graph, Equation, list[Array]], Array]) -> Rule:
    """The rule of a primitive that has one result."""
    return lambda run, equation, x: [rule(run.graph, equation, x)]


RULES: dict[str, Rule] = {
    **{name: only(rule) for name, rule in ONE_RESULT.items()},
    "split": split,
    "unstack": unstack,
}
