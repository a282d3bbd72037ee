"""What each elementwise operation of JAX is in SymPy."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from accion.symbols.linear_algebra import Undecided
from accion.symbols.source_lines import Unknown


def if_known(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, unknown where one of its arguments is."""

    def known(*xs: Any) -> Any:
        for x in xs:
            if isinstance(x, Unknown):
                return x
        return f(*xs)

    return known


def select(which: Any, *cases: Any) -> Any:
    """cases[which]; a Piecewise where `which` is not known."""
    if isinstance(which, Unknown):
        return which
    if which in (sp.true, sp.false):
        return cases[1] if which == sp.true else cases[0]
    if which.is_Integer:
        return cases[int(which)]
    unknown = next((x for x in cases if isinstance(x, Unknown)), None)
    if unknown is not None:
        return unknown
    if is_condition(which):
        return sp.Piecewise((cases[1], which), (cases[0], True))
    if which.is_Piecewise and all(value.is_Integer for value, _ in which.args):
        return sp.Piecewise(*((cases[int(value)], condition) for value, condition in which.args))
    return sp.Piecewise(
        *((case, sp.Eq(which, i)) for i, case in enumerate(cases[:-1])), (cases[-1], True)
    )


def is_condition(x: Any) -> bool:
    """Whether x is true or false and not a number; SymPy counts symbols as both."""
    return isinstance(x, sp.logic.boolalg.Boolean) and not isinstance(x, sp.Expr)


def as_number(x: Any) -> Any:
    """1 or 0 for a condition; numbers as they are."""
    if is_condition(x):
        return select(x, sp.Integer(0), sp.Integer(1))
    return x


def first_largest(row: Sequence[Any]) -> Any:
    """The index of the first largest entry; of conditions, of the first that is true."""
    if is_condition(row[0]):
        return sp.Piecewise(*((sp.Integer(i), x) for i, x in enumerate(row)), (sp.Integer(0), True))
    return sp.Piecewise(
        *((sp.Integer(i), sp.And(*(x >= y for y in row))) for i, x in enumerate(row[:-1])),
        (sp.Integer(len(row) - 1), True),
    )


def remainder(x: Any, y: Any) -> Any:
    """The remainder that has the sign of x, as in C."""
    return x - y * sp.sign(x / y) * sp.floor(sp.Abs(x / y))


def logical(f: Callable[..., Any], on_integers: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of conditions, `on_integers` of whole numbers, bit by bit."""

    def rule(*xs: Any) -> Any:
        if all(map(is_condition, xs)):
            return f(*xs)
        if all(x.is_Integer for x in xs):
            return sp.Integer(on_integers(*map(int, xs)))
        raise Undecided("its bits depend on the variables")

    return rule


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "add_any": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "max": sp.Max,
    "min": sp.Min,
    "rem": remainder,
    "pow": lambda x, y: x**y,
    "square": lambda x: x**2,
    "sqrt": sp.sqrt,
    "rsqrt": lambda x: 1 / sp.sqrt(x),
    "cbrt": lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
    "exp": sp.exp,
    "exp2": lambda x: sp.Integer(2) ** x,
    "expm1": lambda x: sp.exp(x) - 1,
    "log": sp.log,
    "log1p": lambda x: sp.log(1 + x),
    "logistic": lambda x: 1 / (1 + sp.exp(-x)),
    "sin": sp.sin,
    "cos": sp.cos,
    "tan": sp.tan,
    "asin": sp.asin,
    "acos": sp.acos,
    "atan": sp.atan,
    "atan2": sp.atan2,
    "sinh": sp.sinh,
    "cosh": sp.cosh,
    "tanh": sp.tanh,
    "asinh": sp.asinh,
    "acosh": sp.acosh,
    "atanh": sp.atanh,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "erf_inv": sp.erfinv,
    "lgamma": lambda x: sp.log(sp.Abs(sp.gamma(x))),
    "digamma": lambda x: sp.polygamma(0, x),
    "abs": sp.Abs,
    "sign": sp.sign,
    "floor": sp.floor,
    "ceil": sp.ceiling,
    "is_finite": lambda x: sp.false if x in (sp.oo, -sp.oo, sp.nan) else sp.true,
    "lt": lambda x, y: sp.Lt(x, y),
    "le": lambda x, y: sp.Le(x, y),
    "gt": lambda x, y: sp.Gt(x, y),
    "ge": lambda x, y: sp.Ge(x, y),
    "eq": lambda x, y: sp.Eq(as_number(x), as_number(y)),
    "ne": lambda x, y: sp.Ne(as_number(x), as_number(y)),
    "lt_to": lambda x, y: sp.Lt(x, y),
    "le_to": lambda x, y: sp.Le(x, y),
    "and": logical(sp.And, operator.and_),
    "or": logical(sp.Or, operator.or_),
    "not": logical(sp.Not, operator.invert),
    "xor": logical(sp.Xor, operator.xor),
    "clamp": lambda low, x, high: sp.Min(sp.Max(x, low), high),
    "reduce_precision": lambda x: x,
}
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{name: if_known(f) for name, f in OPERATIONS.items()},
    "select_n": select,
}
