"""A jaxpr carried out on arrays of values of a `Graph`: every primitive of JAX that the functions
of mechanics use.

What is not known raises `Unsupported` with the name of the primitive; XLA then serves.
"""

from functools import reduce

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from accion.engines import moves
from accion.engines.arrays import entries, of_shape, unpack
from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER, kind_of

DENSE_SOLVE = "accion_dense_solve"  # the name of the function that solves A x = b
WRITTEN_OUT = 4  # unknowns of a dense solver; beyond, it is a function of its own
UNROLLED = 64  # turns of a loop of fixed length that are written out
UNARY = {
    "neg",
    "abs",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "floor",
    "ceil",
    "tanh",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "log1p",
    "expm1",
    "cbrt",
    "erf",
    "erfc",
    "exp2",
}
BINARY = {
    "add": "add",
    "add_any": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "max": "max",
    "min": "min",
    "rem": "rem",
    "atan2": "atan2",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
COMPARE = {
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "lt_to": "lt",
    "le_to": "le",
}
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
# Primitives that are a call of another jaxpr, which is the parameter named.
CALLS = {
    "pjit": "jaxpr",
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}
CONTROL = {"cond", "while", "scan"}
SAME = {"copy", "copy_p", "stop_gradient", "optimization_barrier"}


class Interpreter:
    """Carries out jaxprs; `graph` makes the values."""

    def __init__(self, graph: Graph, most=None):
        self.graph, self.most = graph, most

    def constant(self, array):
        array = np.asarray(array)
        kind = kind_of(array.dtype)
        return of_shape(array.shape, [self.graph.constant(x, kind) for x in array.ravel().tolist()])

    def call(self, closed, args):
        """The results, arrays of values, of a closed jaxpr."""
        jaxpr, consts = (
            (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
        )
        known = dict(zip(jaxpr.constvars, map(self.constant, consts), strict=True))
        known.update(zip(jaxpr.invars, args, strict=True))

        def read(v):
            return self.constant(v.val) if isinstance(v, Literal) else known[v]

        for equation in jaxpr.eqns:
            known.update(
                zip(
                    equation.outvars,
                    self.carry_out(equation, [read(v) for v in equation.invars]),
                    strict=True,
                )
            )
            if self.most is not None and self.graph.count > self.most:
                raise Unsupported(f"programs of more than {self.most} operations")
        return [read(v) for v in jaxpr.outvars]

    def each(self, f, *arrays):
        """`f` of each entry."""
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        lists = [
            (a if a.shape == shape else np.broadcast_to(a, shape)).ravel().tolist() for a in arrays
        ]
        return of_shape(shape, [f(*row) for row in zip(*lists, strict=True)])

    def carry_out(self, equation, x):
        """The results of one equation of a jaxpr on the arrays x; integers of 32 bits stay such."""
        results = self.results(equation, x)
        if equation.primitive.name in CALLS or equation.primitive.name in CONTROL:
            return results
        pairs = zip(equation.outvars, results, strict=True)
        return [
            self.each(self.graph.narrow, a) if v.aval.dtype == np.int32 else a for v, a in pairs
        ]

    def results(self, equation, x):
        name, P, g = equation.primitive.name, equation.params, self.graph
        if name in CALLS:
            # What is left of a solver after differentiation has its name, and other results.
            shapes = [v.aval.shape for v in equation.outvars]
            solver = P.get("name") == DENSE_SOLVE and shapes == [
                v.aval.shape for v in equation.invars[1:2]
            ]
            return self.called(P[CALLS[name]], solver, x)
        if name in BINARY:
            return [self.each(lambda a, b: self.checked(BINARY[name], a, b), *x)]
        if name in UNARY:
            return [self.each(lambda a: g.unary(name, a), x[0])]
        if name in COMPARE:
            return [self.each(lambda a, b: g.compare(COMPARE[name], a, b), *x)]
        if name in SAME:
            return x
        if name in moves.RULES:
            return [moves.RULES[name](g, equation, x)]
        rule = RULES.get(name)
        if rule is None:
            raise Unsupported(f"the primitive {name}")
        return rule(self, equation, x)

    def called(self, closed, solver, x):
        """A call: written out where it stands, but a dense solver of several unknowns, which is one
        function of the program.
        """
        solver = solver and len(x) == 2 and x[1].ndim == 1 and x[0].shape == 2 * x[1].shape
        if solver and x[1].size > WRITTEN_OUT and not all(v.is_constant for v in entries(x)):
            return [of_shape(x[1].shape, self.graph.dense_solve(entries(x), x[1].size))]
        return self.call(closed, x)

    def checked(self, op, a, b):
        """Integer division by zero stops the processor: only constants other than zero divide."""
        if a.kind == INTEGER and op in ("div", "rem") and not (b.is_constant and b.args[0] != 0):
            raise Unsupported("integer division by what is not a constant")
        return self.graph.binary(op, a, b)


# ---------------------------------------------------------------------- entry by entry


def power(self, equation, x):
    g = self.graph
    exponent = self.each(lambda a: g.convert(a, FLOAT), x[1])
    return [self.each(lambda a, b: g.binary("pow", a, b), x[0], exponent)]


def integer_power(self, equation, x):
    return [self.each(lambda a: self.graph.power(a, equation.params["y"]), x[0])]


def square(self, equation, x):
    return [self.each(lambda a: self.graph.binary("mul", a, a), x[0])]


def inverse_root(self, equation, x):
    g = self.graph
    return [self.each(lambda a: g.binary("div", g.constant(1, FLOAT), g.unary("sqrt", a)), x[0])]


def logistic(self, equation, x):
    g = self.graph
    one = g.constant(1, FLOAT)
    return [
        self.each(
            lambda a: g.binary("div", one, g.binary("add", one, g.unary("exp", g.unary("neg", a)))),
            x[0],
        )
    ]


def sign(self, equation, x):
    g = self.graph

    def of(a):
        zero, one = g.constant(0, a.kind), g.constant(1, a.kind)
        # zero and NaN are themselves
        below = g.select(g.compare("lt", a, zero), g.unary("neg", one), a)
        return g.select(g.compare("gt", a, zero), one, below)

    return [self.each(of, x[0])]


def rounded(self, equation, x):
    op = "round" if int(equation.params["rounding_method"]) == 1 else "round_away"
    return [self.each(lambda a: self.graph.unary(op, a), x[0])]


def finite(self, equation, x):
    return [self.each(self.graph.is_finite, x[0])]


def negation(self, equation, x):
    if x[0].size and x[0].ravel()[0].kind != BOOLEAN:
        raise Unsupported("bitwise negation")
    return [self.each(self.graph.negation, x[0])]


def converted(self, equation, x):
    g, kind = self.graph, kind_of(equation.params["new_dtype"])
    result = self.each(lambda a: g.convert(a, kind), x[0])
    if equation.params["new_dtype"] == np.int32 and x[0].size and x[0].ravel()[0].kind == FLOAT:
        result = self.each(lambda a: g.clamp(a, -(2**31), 2**31 - 1), result)
    return [result]


def chosen(self, equation, x):
    g, shape = self.graph, equation.outvars[0].aval.shape
    which, cases = np.broadcast_to(x[0], shape), x[1:]
    if which.size and which.ravel()[0].kind == BOOLEAN:
        return [self.each(g.select, which, cases[1], cases[0])]
    result = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        number = g.constant(i, INTEGER)
        result = self.each(
            lambda w, a, b, n=number: g.select(g.compare("le", w, n), a, b), which, cases[i], result
        )
    return [result]


def clamped(self, equation, x):
    g = self.graph
    return [self.each(lambda low, a, high: g.binary("min", g.binary("max", a, low), high), *x)]


def precision(self, equation, x):
    if (equation.params["exponent_bits"], equation.params["mantissa_bits"]) != (11, 52):
        raise Unsupported("reduced precision")
    return x


# ---------------------------------------------------------------------- sums and products


def reduction(self, equation, x):
    g, (a,), out = self.graph, x, equation.outvars[0].aval
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


def cumulative(self, equation, x):
    op, P = CUMULATIVE[equation.primitive.name], equation.params
    a = np.moveaxis(x[0], P["axis"], 0)
    a = a[::-1] if P["reverse"] else a
    sums = [a[0]] if len(a) else []
    for row in a[1:]:
        sums.append(
            self.each(
                lambda u, v: self.graph.binary(op, u, v),
                np.asarray(sums[-1], object),
                np.asarray(row, object),
            )
        )
    stacked = np.stack(sums[::-1] if P["reverse"] else sums) if sums else a
    return [np.moveaxis(stacked, 0, P["axis"])]


def product(self, equation, x):
    g, (A, B) = self.graph, x
    (sum_a, sum_b), (batch_a, batch_b) = equation.params["dimension_numbers"]
    free_a = [i for i in range(A.ndim) if i not in (*sum_a, *batch_a)]
    free_b = [i for i in range(B.ndim) if i not in (*sum_b, *batch_b)]

    def size(a, axes):
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

    def dot(row, column):
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


def extremum(self, equation, x):
    """The first of the largest (argmax) or least (argmin); NaN counts as such."""
    g, (axis,) = self.graph, equation.params["axes"]
    a = np.moveaxis(x[0], axis, -1)
    least = equation.primitive.name == "argmin"

    def first(values):
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


# ---------------------------------------------------------------------- control flow


def platform(self, equation, x):
    platforms = equation.params["platforms"]
    return [
        self.constant(
            np.int32(
                next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
            )
        )
    ]


def empty(self, equation, x):
    return [self.constant(np.zeros(v.aval.shape, v.aval.dtype)) for v in equation.outvars]


def conditional(self, equation, x):
    branches = [
        lambda closed=closed: entries(self.call(closed, x[1:]))
        for closed in equation.params["branches"]
    ]
    results = self.graph.branch(x[0][()], branches)
    return unpack(results, [v.aval.shape for v in equation.outvars])


def while_loop(self, equation, x):
    P = equation.params
    a, b = P["cond_nconsts"], P["cond_nconsts"] + P["body_nconsts"]
    for_test, for_body, starts = x[:a], x[a:b], x[b:]
    inner = P["body_jaxpr"].jaxpr
    # What the body hands on as it is, is no part of the loop.
    moving = [
        end is not start for end, start in zip(inner.outvars, inner.invars[b - a :], strict=True)
    ]
    shapes = [s.shape for s, m in zip(starts, moving, strict=True) if m]

    def whole(values):
        changed = iter(unpack(values, shapes))
        return [next(changed) if m else s for s, m in zip(starts, moving, strict=True)]

    g = self.graph

    def going(values):
        return self.call(P["cond_jaxpr"], [*for_test, *whole(values)])[0]

    def test(values):  # of a batch: while one goes on
        return reduce(
            lambda u, v: g.binary("or", u, v), entries([going(values)]), g.constant(False, BOOLEAN)
        )

    def body(values):
        after = self.call(P["body_jaxpr"], [*for_body, *whole(values)])
        new = [e for e, m in zip(after, moving, strict=True) if m]
        if P["cond_jaxpr"].out_avals[0].shape:  # those of a batch that are done stay
            which, old = going(values), unpack(values, shapes)
            chosen = [which.reshape(which.shape + (1,) * (o.ndim - which.ndim)) for o in old]
            new = [self.each(g.select, c, e, o) for c, e, o in zip(chosen, new, old, strict=True)]
        return entries(new)

    ends = g.loop(entries([s for s, m in zip(starts, moving, strict=True) if m]), test, body)
    return whole(ends)


def scan(self, equation, x):
    P, g = equation.params, self.graph
    a, b, length, closed = (
        P["num_consts"],
        P["num_consts"] + P["num_carry"],
        P["length"],
        P["jaxpr"],
    )
    constants, carry, rows = x[:a], x[a:b], x[b:]
    outputs = len(equation.outvars) - P["num_carry"]
    if length > UNROLLED and (rows or outputs):
        raise Unsupported(f"a loop of {length} turns over rows")
    if length > UNROLLED:
        shapes = [c.shape for c in carry]
        ends = g.loop(
            [g.constant(0, INTEGER), *entries(carry)],
            lambda v: g.compare("lt", v[0], g.constant(length, INTEGER)),
            lambda v: [
                g.binary("add", v[0], g.constant(1, INTEGER)),
                *entries(self.call(closed, [*constants, *unpack(v[1:], shapes)])),
            ],
        )
        return unpack(ends[1:], shapes)
    made = {}
    for i in reversed(range(length)) if P["reverse"] else range(length):
        here = [np.asarray(row[i], object) if row.ndim == 1 else row[i] for row in rows]
        results = self.call(closed, [*constants, *carry, *here])
        carry, made[i] = results[: P["num_carry"]], results[P["num_carry"] :]
    stacked = []
    for k in range(outputs):
        shape = equation.outvars[P["num_carry"] + k].aval.shape
        stacked.append(of_shape(shape, entries([made[i][k] for i in range(length)])))
    return [*carry, *stacked]


RULES = {
    "pow": power,
    "integer_pow": integer_power,
    "square": square,
    "rsqrt": inverse_root,
    "logistic": logistic,
    "sign": sign,
    "round": rounded,
    "is_finite": finite,
    "not": negation,
    "convert_element_type": converted,
    "select_n": chosen,
    "clamp": clamped,
    "reduce_precision": precision,
    "dot_general": product,
    "argmax": extremum,
    "argmin": extremum,
    "platform_index": platform,
    "empty": empty,
    "empty2": empty,
    "cond": conditional,
    "while": while_loop,
    "scan": scan,
    **dict.fromkeys(REDUCE, reduction),
    **dict.fromkeys(CUMULATIVE, cumulative),
    **{
        name: (lambda self, equation, x, rule=rule: rule(equation, x))
        for name, rule in moves.SEVERAL.items()
    },
}
