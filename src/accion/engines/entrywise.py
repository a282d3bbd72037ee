"""Primitives that work on each entry by itself, as operations of a `Graph`."""

import math

import numpy as np

from accion.engines.arrays import Equation, ValueArray as Array
from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER, kind_of
from accion.engines.moves import same
from accion.engines.values import Value

# The operation of `Graph` that a primitive is.
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


def unary(op: str) -> Rule:
    """The rule of a primitive that is an operation on one number."""

    def rule(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
        return [run.each(lambda a: run.algebra.unary(op, a), x[0])]

    return rule


def binary(op: str) -> Rule:
    """The rule of a primitive that is an operation on two numbers."""

    def rule(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
        return [run.each(lambda a, b: checked(run, op, a, b), *x)]

    return rule


def comparison(op: str) -> Rule:
    """The rule of a primitive that compares two numbers."""

    def rule(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
        return [run.each(lambda a, b: run.algebra.compare(op, a, b), *x)]

    return rule


def checked(run: Interpreter[Graph], op: str, a: Value, b: Value) -> Value:
    """Integer division by zero stops the processor: only constants other than zero divide."""
    if a.kind == INTEGER and op in ("div", "rem") and not (b.is_constant and b.args[0] != 0):
        raise Unsupported("integer division by what is not a constant")
    return run.algebra.binary(op, a, b)


def power(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra
    exponent = run.each(lambda a: g.convert(a, FLOAT), x[1])
    return [run.each(lambda a, b: g.binary("pow", a, b), x[0], exponent)]


def integer_power(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    return [run.each(lambda a: multiplied(run.algebra, a, equation.params["y"]), x[0])]


def multiplied(g: Graph, a: Value, n: int) -> Value:
    """a^n by multiplications; n an integer."""
    if n < 0:
        return g.binary("div", g.constant(1, a.kind), multiplied(g, a, -n))
    result = None
    while n:
        if n & 1:
            result = a if result is None else g.binary("mul", result, a)
        n >>= 1
        if n:
            a = g.binary("mul", a, a)
    return g.constant(1, a.kind) if result is None else result


def square(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    return [run.each(lambda a: run.algebra.binary("mul", a, a), x[0])]


def inverse_root(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra
    return [run.each(lambda a: g.binary("div", g.constant(1, FLOAT), g.unary("sqrt", a)), x[0])]


def logistic(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra
    one = g.constant(1, FLOAT)
    return [
        run.each(
            lambda a: g.binary("div", one, g.binary("add", one, g.unary("exp", g.unary("neg", a)))),
            x[0],
        )
    ]


def sign(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra

    def of(a: Value) -> Value:
        zero, one = g.constant(0, a.kind), g.constant(1, a.kind)
        # zero and NaN are themselves
        below = g.select(g.compare("lt", a, zero), g.unary("neg", one), a)
        return g.select(g.compare("gt", a, zero), one, below)

    return [run.each(of, x[0])]


def rounded(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    op = "round" if int(equation.params["rounding_method"]) == 1 else "round_away"
    return [run.each(lambda a: run.algebra.unary(op, a), x[0])]


def finite(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra
    end = g.constant(math.inf, FLOAT)
    return [run.each(lambda a: g.compare("lt", g.unary("abs", a), end), x[0])]


def negation(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    if x[0].size and x[0].ravel()[0].kind != BOOLEAN:
        raise Unsupported("bitwise negation")
    return [run.each(run.algebra.negation, x[0])]


def converted(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g, kind = run.algebra, kind_of(equation.params["new_dtype"])
    result = run.each(lambda a: g.convert(a, kind), x[0])
    if equation.params["new_dtype"] == np.int32 and x[0].size and x[0].ravel()[0].kind == FLOAT:
        result = run.each(lambda a: g.clamp(a, -(2**31), 2**31 - 1), result)
    return [result]


def chosen(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g, shape = run.algebra, equation.outvars[0].aval.shape
    which, cases = np.broadcast_to(x[0], shape), x[1:]
    if which.size and which.ravel()[0].kind == BOOLEAN:
        return [run.each(g.select, which, cases[1], cases[0])]
    result = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        number = g.constant(i, INTEGER)
        result = run.each(
            lambda w, a, b, n=number: g.select(g.compare("le", w, n), a, b), which, cases[i], result
        )
    return [result]


def clamped(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    g = run.algebra
    return [run.each(lambda low, a, high: g.binary("min", g.binary("max", a, low), high), *x)]


def precision(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    if (equation.params["exponent_bits"], equation.params["mantissa_bits"]) != (11, 52):
        raise Unsupported("reduced precision")
    return x


RULES: dict[str, Rule] = {
    **{name: unary(name) for name in UNARY},
    **{name: binary(op) for name, op in BINARY.items()},
    **{name: comparison(op) for name, op in COMPARE.items()},
    "stop_gradient": same,
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
}
