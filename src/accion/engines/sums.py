"""Primitives that sum, multiply or search along axes of arrays."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from accion.engines.arrays import Equation, ValueArray as Array, of_shape
from accion.engines.errors import Unsupported
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER, kind_of
from accion.engines.values import Value

REDUCE = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
}
EMPTY = {"add": 0, "mul": 1, "and": True, "or": False, "max": -np.inf, "min": np.inf}
CUMULATIVE = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}


def reduction(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    g, (a,), out = run.graph, x, equation.outvars[0].aval
    op, axes = REDUCE[equation.primitive.name], equation.params["axes"]
    kept = [i for i in range(a.ndim) if i not in axes]
    terms = int(np.prod([a.shape[i] for i in axes], dtype=int))
    rows = a.transpose([*kept, *axes]).reshape(int(np.prod(out.shape, dtype=int)), terms).tolist()
    kind = kind_of(out.dtype)
    if not terms and op in ("max", "min") and kind != FLOAT:
        raise Unsupported("the largest of no integers")
    return [
        of_shape(
            out.shape,
            [
                reduce(lambda u, v: g.binary(op, u, v), row) if row else g.constant(EMPTY[op], kind)
                for row in rows
            ],
        )
    ]


def cumulative(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    op, P = CUMULATIVE[equation.primitive.name], equation.params
    a = np.moveaxis(x[0], P["axis"], 0)
    a = a[::-1] if P["reverse"] else a
    sums = [a[0]] if len(a) else []
    for row in a[1:]:
        sums.append(
            run.each(
                lambda u, v: run.graph.binary(op, u, v),
                np.asarray(sums[-1], object),
                np.asarray(row, object),
            )
        )
    stacked = np.stack(sums[::-1] if P["reverse"] else sums) if sums else a
    return [np.moveaxis(stacked, 0, P["axis"])]


def product(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    g, (A, B) = run.graph, x
    (sum_a, sum_b), (batch_a, batch_b) = equation.params["dimension_numbers"]
    free_a = [i for i in range(A.ndim) if i not in (*sum_a, *batch_a)]
    free_b = [i for i in range(B.ndim) if i not in (*sum_b, *batch_b)]

    def size(a: Array, axes: Sequence[int]) -> int:
        return int(np.prod([a.shape[i] for i in axes], dtype=int))

    terms = size(A, sum_a)
    rows = (
        A.transpose([*batch_a, *free_a, *sum_a])
        .reshape(size(A, batch_a), size(A, free_a), terms)
        .tolist()
    )
    columns = (
        B.transpose([*batch_b, *free_b, *sum_b])
        .reshape(size(B, batch_b), size(B, free_b), terms)
        .tolist()
    )
    zero = g.constant(0, kind_of(equation.outvars[0].aval.dtype))

    def dot(row: list[Value], column: list[Value]) -> Value:
        return reduce(
            lambda sum, pair: g.binary("add", sum, g.binary("mul", *pair)),
            zip(row, column, strict=True),
            zero,
        )

    values = [
        dot(row, column)
        for some, others in zip(rows, columns, strict=True)
        for row in some
        for column in others
    ]
    return [of_shape(equation.outvars[0].aval.shape, values)]


def extremum(run: Interpreter, equation: Equation, x: list[Array]) -> list[Array]:
    """The first of the largest (argmax) or least (argmin); NaN counts as such."""
    g, (axis,) = run.graph, equation.params["axes"]
    a = np.moveaxis(x[0], axis, -1)
    least = equation.primitive.name == "argmin"

    def first(values: list[Value]) -> Value:
        values = [g.convert(v, INTEGER) if v.kind == BOOLEAN else v for v in values]
        best, at = values[0], g.constant(0, INTEGER)
        for i, v in enumerate(values[1:], start=1):
            one, other = (best, v) if least else (v, best)
            better = g.compare("gt", one, other)
            if v.kind == FLOAT:  # a NaN takes the place of a number, and keeps it
                better = g.binary(
                    "and", g.compare("above_or_nan", one, other), g.compare("eq", best, best)
                )
            best, at = g.select(better, v, best), g.select(better, g.constant(i, INTEGER), at)
        return at

    rows = a.reshape(int(np.prod(a.shape[:-1], dtype=int)), a.shape[-1]).tolist()
    return [of_shape(a.shape[:-1], [first(row) for row in rows])]


RULES: dict[str, Rule] = {
    "dot_general": product,
    "argmax": extremum,
    "argmin": extremum,
    **dict.fromkeys(REDUCE, reduction),
    **dict.fromkeys(CUMULATIVE, cumulative),
}
