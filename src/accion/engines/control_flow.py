"""Primitives that choose and repeat."""

from typing import Any

import numpy as np

from accion.engines.arrays import Equation, ValueArray as Array, entries, of_shape, unpack
from accion.engines.errors import Unsupported
from accion.engines.interpreter import CALLS, Interpreter, Rule
from accion.engines.kinds import BOOLEAN, INTEGER
from accion.jaxprs import parameters


def called(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    """A call: written out where it stands."""
    return run.call(equation.params[CALLS[equation.primitive.name]], x)


def platform(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    platforms = equation.params["platforms"]
    return [
        run.constant(
            np.int32(
                next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
            )
        )
    ]


def empty(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    return [run.constant(np.zeros(v.aval.shape, v.aval.dtype)) for v in equation.outvars]


def conditional(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    branches = [
        lambda closed=closed: entries(run.call(closed, x[1:]))
        for closed in equation.params["branches"]
    ]
    results = run.algebra.branch(x[0][()], branches)
    return unpack(results, [v.aval.shape for v in equation.outvars])


def while_loop(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    P = equation.params
    a, b = P["cond_nconsts"], P["cond_nconsts"] + P["body_nconsts"]
    for_test, for_body, starts = x[:a], x[a:b], x[b:]
    inner = P["body_jaxpr"].jaxpr
    # What the body hands on as it is, is no part of the loop.
    moving = [
        end is not start for end, start in zip(inner.outvars, inner.invars[b - a :], strict=True)
    ]
    shapes = [s.shape for s, m in zip(starts, moving, strict=True) if m]

    def whole(values: list[Any]) -> list[Array]:
        changed = iter(unpack(values, shapes))
        return [next(changed) if m else s for s, m in zip(starts, moving, strict=True)]

    g = run.algebra

    def going(values: list[Any]) -> Array:
        return run.call(P["cond_jaxpr"], [*for_test, *whole(values)])[0]

    def test(values: list[Any]) -> Any:  # of a batch: while one goes on
        tests = entries([going(values)])
        return g.fold("or", tests) if tests else g.constant(False, BOOLEAN)

    def body(values: list[Any]) -> list[Any]:
        after = run.call(P["body_jaxpr"], [*for_body, *whole(values)])
        new = [e for e, m in zip(after, moving, strict=True) if m]
        if P["cond_jaxpr"].out_avals[0].shape:  # those of a batch that are done stay
            which, old = going(values), unpack(values, shapes)
            chosen = [which.reshape(which.shape + (1,) * (o.ndim - which.ndim)) for o in old]
            new = [run.each(g.select, c, e, o) for c, e, o in zip(chosen, new, old, strict=True)]
        return entries(new)

    ends = g.loop(entries([s for s, m in zip(starts, moving, strict=True) if m]), test, body)
    return whole(ends)


def scan(run: Interpreter[Any], equation: Equation, x: list[Array]) -> list[Array]:
    P, g = parameters(equation), run.algebra
    a, b, length, closed = (
        P["num_consts"],
        P["num_consts"] + P["num_carry"],
        P["length"],
        P["jaxpr"],
    )
    constants, carry, rows = x[:a], x[a:b], x[b:]
    outputs = len(equation.outvars) - P["num_carry"]
    unrolled = g.unrolled(length)
    if not unrolled and (rows or outputs):
        raise Unsupported(f"a loop of {length} turns over rows")
    if not unrolled:
        shapes = [c.shape for c in carry]
        ends = g.loop(
            [g.constant(0, INTEGER), *entries(carry)],
            lambda v: g.compare("lt", v[0], g.constant(length, INTEGER)),
            lambda v: [
                g.binary("add", v[0], g.constant(1, INTEGER)),
                *entries(run.call(closed, [*constants, *unpack(v[1:], shapes)])),
            ],
        )
        return unpack(ends[1:], shapes)
    made: dict[int, list[Array]] = {}
    for i in reversed(range(length)) if P["reverse"] else range(length):
        here = [np.asarray(row[i], object) if row.ndim == 1 else row[i] for row in rows]
        results = run.call(closed, [*constants, *carry, *here])
        carry, made[i] = results[: P["num_carry"]], results[P["num_carry"] :]
    stacked = []
    for k in range(outputs):
        shape = equation.outvars[P["num_carry"] + k].aval.shape
        stacked.append(of_shape(shape, entries([made[i][k] for i in range(length)])))
    return [*carry, *stacked]


RULES: dict[str, Rule] = {
    **dict.fromkeys(CALLS, called),
    "platform_index": platform,
    "empty": empty,
    "empty2": empty,
    "cond": conditional,
    "while": while_loop,
    "scan": scan,
}
