"""Primitives that sum, multiply or search along axes of arrays."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from accion.engines.arrays import Equation, ValueArray as Array, of_shape
from accion.engines.errors import Unsupported
from accion.engines.interpreter import Interpreter, Rule

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


def rows_along(a: Array, axes: Sequence[int]) -> list[list[Any]]:
    """The entries along some axes, a row for each index of the others."""
    kept = [i for i in range(a.ndim) if i not in axes]
    return a.transpose([*kept, *axes]).reshape(size(a, kept), size(a, axes)).tolist()


def size(a: Array, axes: Sequence[int]) -> int:
    """How many entries an array has along these axes."""
    return int(np.prod([a.shape[i] for i in axes], dtype=int))


def reduction(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    op, out = REDUCE[equation.primitive.name], equation.outvars[0].aval
    rows = rows_along(x[0], equation.params["axes"])
    if rows and not rows[0]:
        if op in ("max", "min") and not np.issubdtype(out.dtype, np.floating):
            raise Unsupported("the largest of no integers")
        return [run.constant(np.full(out.shape, EMPTY[op], out.dtype))]
    return [of_shape(out.shape, [run.algebra.fold(op, row) for row in rows])]


def cumulative(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    fold, op, P = run.algebra.fold, CUMULATIVE[equation.primitive.name], equation.params
    a = np.moveaxis(x[0], P["axis"], -1)
    rows = rows_along(a[..., ::-1] if P["reverse"] else a, [a.ndim - 1])
    sums = of_shape(
        a.shape, [s for row in rows for s in accumulate(row, lambda u, v: fold(op, (u, v)))]
    )
    return [np.moveaxis(sums[..., ::-1] if P["reverse"] else sums, -1, P["axis"])]


def product(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    (A, B), out = x, equation.outvars[0].aval
    (sum_a, sum_b), (batch_a, batch_b) = equation.params["dimension_numbers"]
    free_a = [i for i in range(A.ndim) if i not in (*sum_a, *batch_a)]
    free_b = [i for i in range(B.ndim) if i not in (*sum_b, *batch_b)]
    terms = size(A, sum_a)
    if not terms:
        return [run.constant(np.zeros(out.shape, out.dtype))]
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
    fold, binary = run.algebra.fold, run.algebra.binary
    values = [
        fold("add", [binary("mul", u, v) for u, v in zip(row, column, strict=True)])
        for some, others in zip(rows, columns, strict=True)
        for row in some
        for column in others
    ]
    return [of_shape(out.shape, values)]


def found_by(first: Callable[[Any, list[Any], bool], Any]) -> Rule:
    """The rule of argmax and argmin; `first`, of an algebra, a row and whether the least is looked
    for, is an index.
    """

    def rule(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
        least, rows = equation.primitive.name == "argmin", rows_along(x[0], equation.params["axes"])
        found = [first(run.algebra, row, least) for row in rows]
        return [of_shape(equation.outvars[0].aval.shape, found)]

    return rule


RULES: dict[str, Rule] = {
    "dot_general": product,
    **dict.fromkeys(REDUCE, reduction),
    **dict.fromkeys(CUMULATIVE, cumulative),
}
