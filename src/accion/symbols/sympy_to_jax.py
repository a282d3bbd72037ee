"""From SymPy to a System: expressions become functions that JAX can trace.

No text is ever run as code.
"""

from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
import sympy as sp

from accion.errors import Untranslatable
from accion.spaces import Euclidean
from accion.systems import System

FUNCTIONS: dict[Any, Any] = {
    sp.sin: jnp.sin,
    sp.cos: jnp.cos,
    sp.tan: jnp.tan,
    sp.asin: jnp.arcsin,
    sp.acos: jnp.arccos,
    sp.atan: jnp.arctan,
    sp.atan2: jnp.arctan2,
    sp.sinh: jnp.sinh,
    sp.cosh: jnp.cosh,
    sp.tanh: jnp.tanh,
    sp.asinh: jnp.arcsinh,
    sp.acosh: jnp.arccosh,
    sp.atanh: jnp.arctanh,
    sp.sec: lambda x: 1 / jnp.cos(x),
    sp.csc: lambda x: 1 / jnp.sin(x),
    sp.cot: lambda x: 1 / jnp.tan(x),
    sp.exp: jnp.exp,
    sp.log: jnp.log,
    sp.Abs: jnp.abs,
    sp.sign: jnp.sign,
    sp.floor: jnp.floor,
    sp.ceiling: jnp.ceil,
    sp.erf: jax.scipy.special.erf,
    sp.erfc: jax.scipy.special.erfc,
    sp.erfinv: jax.scipy.special.erfinv,
    sp.gamma: jax.scipy.special.gamma,
    sp.loggamma: jax.scipy.special.gammaln,
    sp.polygamma: lambda n, x: jax.scipy.special.polygamma(int(n), x),
    sp.Mod: jnp.mod,
    sp.sinc: lambda x: jnp.sinc(x / jnp.pi),
    sp.Heaviside: lambda x, middle=0.5: jnp.heaviside(x, middle),
    sp.Max: lambda *xs: fold(jnp.maximum, xs),
    sp.Min: lambda *xs: fold(jnp.minimum, xs),
    sp.Add: lambda *xs: fold(lambda a, b: a + b, xs),
    sp.Mul: lambda *xs: fold(lambda a, b: a * b, xs),
    sp.StrictLessThan: lambda a, b: a < b,
    sp.LessThan: lambda a, b: a <= b,
    sp.StrictGreaterThan: lambda a, b: a > b,
    sp.GreaterThan: lambda a, b: a >= b,
    sp.Equality: lambda a, b: a == b,
    sp.Unequality: lambda a, b: a != b,
    sp.And: lambda *xs: fold(jnp.logical_and, xs),
    sp.Or: lambda *xs: fold(jnp.logical_or, xs),
    sp.Xor: lambda *xs: fold(jnp.logical_xor, xs),
    sp.Not: jnp.logical_not,
    sp.ITE: jnp.where,
}


def fold(f, xs):
    total = xs[0]
    for x in xs[1:]:
        total = f(total, x)
    return total


def compute(expr, known):
    """The value of `expr`, where `known` has those of its symbols and, on the way, of its parts."""
    if expr in known:
        return known[expr]
    if expr.is_Number or expr.is_NumberSymbol:
        value = float(expr)
    elif expr in (sp.true, sp.false):
        value = bool(expr)
    elif isinstance(expr, sp.Pow):
        value = power(expr, known)
    elif isinstance(expr, sp.Piecewise):
        value = jnp.nan
        for pair in reversed(expr.args):
            value = jnp.where(compute(pair.args[1], known), compute(pair.args[0], known), value)
    elif expr.func in FUNCTIONS:
        value = FUNCTIONS[expr.func](*(compute(part, known) for part in expr.args))
    else:
        raise Untranslatable(f"{expr.func.__name__} in {expr} has no counterpart in jax.numpy.")
    known[expr] = value
    return value


def power(expr, known):
    base, exponent = expr.args
    if base is sp.E:
        return jnp.exp(compute(exponent, known))
    x = compute(base, known)
    if exponent.is_Integer:
        return x ** int(exponent)
    if exponent == sp.Rational(1, 2):
        return jnp.sqrt(x)
    if exponent == -sp.Rational(1, 2):
        return 1 / jnp.sqrt(x)
    return x ** compute(exponent, known)


@dataclass(frozen=True)
class Expression:
    """A function (t, q, v, params) whose value is an expression, or a vector or matrix of them
    (tuples), in `symbols`.
    """

    expr: Any
    t: Any
    q: tuple[Any, ...]
    v: tuple[Any, ...]
    names: tuple[tuple[Any, str], ...]

    def __call__(self, t, q, *rest):
        *v, params = rest
        flat = jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(q)])
        known = (
            {self.t: t}
            | dict(zip(self.q, flat, strict=True))
            | {symbol: params[name] for symbol, name in self.names}
        )
        known |= dict(zip(self.v, v[0], strict=True)) if v else {}

        def value(expr):
            return (
                jnp.stack([value(e) for e in expr])
                if isinstance(expr, tuple)
                else jnp.asarray(compute(expr, known), dtype=float)
            )

        return value(self.expr)


def build(expr, coordinates, params, velocities, t, space, name, functions):
    coordinates = coordinates.flat() if isinstance(coordinates, sp.MatrixBase) else coordinates
    if not isinstance(coordinates, list | tuple | sp.Tuple):
        raise ValueError(
            "coordinates must be a list of functions of time x(t), or of symbols; got"
            f" {coordinates!r}."
        )
    coordinates = tuple(coordinates)
    expressions = {"lagrangian": checked("the Lagrangian", expr)}
    unknown = set(functions) - {"force", "holonomic", "nonholonomic", "variational", "vakonomic"}
    if unknown:
        raise ValueError(
            f"from_sympy does not know {sorted(unknown)}; try force, holonomic, nonholonomic,"
            " variational or vakonomic."
        )
    for field, value in functions.items():
        if value is not None:
            expression = checked(field, value)
            expressions[field] = expression if isinstance(expression, tuple) else (expression,)
    t, q, v, replaced = letters(coordinates, velocities, t, expressions)
    if len({t, *q, *v}) < 1 + 2 * len(q):
        raise ValueError(
            f"coordinates, velocities and time must be different symbols; got {coordinates} and"
            f" {velocities or 'their derivatives'}."
        )
    expressions = {field: replace_in(value, replaced) for field, value in expressions.items()}
    if not isinstance(params, dict | None):
        raise ValueError(
            f"params must be a dictionary of numbers, by symbol or by name; got {params!r}."
        )
    values = {str(symbol): value for symbol, value in (params or {}).items()}
    free = set().union(*(symbols_in(value) for value in expressions.values())) - {t, *q, *v}
    missing = sorted(symbol.name for symbol in free if symbol.name not in values)
    if missing:
        raise ValueError(f"params must give a number to {', '.join(missing)}.")
    names = tuple(sorted(((symbol, symbol.name) for symbol in free), key=lambda pair: pair[1]))
    numbers = {
        label: to_number(label, values[label]) for label in sorted({label for _, label in names})
    }
    made: dict[str, Any] = {
        field: Expression(value, t, q, v, names) for field, value in expressions.items()
    }
    labels = tuple(
        str(x.func) if isinstance(x, sp.core.function.AppliedUndef) else str(x) for x in coordinates
    )
    return System(
        made.pop("lagrangian"),
        space or Euclidean(len(q)),
        numbers,
        coordinates=labels,
        name=name,
        **made,
    )


def checked(what, value):
    """SymPy expressions, in tuples where there are several; equations are taken as left minus
    right.
    """
    if isinstance(value, sp.MatrixBase) and what == "the Lagrangian" and value.shape == (1, 1):
        value = value[0, 0]
    if isinstance(value, sp.MatrixBase):
        value = value.tolist() if min(value.shape) > 1 or what == "variational" else value.flat()
    if isinstance(value, list | tuple):
        return tuple(checked(what, part) for part in value)
    if isinstance(value, sp.Equality):
        left, right = (cast(sp.Expr, side) for side in value.args)
        value = left - right
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = sp.sympify(value)
    if not isinstance(value, sp.Expr):
        raise ValueError(
            f"{what} must be a SymPy expression; got {value!r}. Text is not evaluated: build it"
            " with sympy.symbols and functions."
        )
    # d/dt sin(x(t)), an integral or a sum may be written and not yet carried out.
    return value.doit() if value.has(sp.Derivative, sp.Integral, sp.Sum) else value


def to_number(label, value):
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"params must give numbers; {label} is {value!r}.") from error


def letters(coordinates, velocities, t, expressions):
    """Symbols for time, coordinates and velocities, and what they replace."""
    if not coordinates:
        raise ValueError("from_sympy needs the coordinates: functions of time x(t), or symbols.")
    applied = [x for x in coordinates if isinstance(x, sp.core.function.AppliedUndef)]
    if len(applied) == len(coordinates) and velocities is None:
        times = {x.args for x in applied}
        if len(times) != 1 or len(applied[0].args) != 1:
            raise ValueError(
                f"the coordinates must be functions of the same time; got {coordinates}."
            )
        time = applied[0].args[0]
        # Symbols of a name that no parameter has, and the same each time: equal expressions make
        # equal systems.
        q = tuple(sp.Symbol(str(x)) for x in applied)
        v = tuple(sp.Symbol(f"{x}'") for x in applied)
        return (
            time,
            q,
            v,
            [
                dict(zip((x.diff(time) for x in applied), v, strict=True)),
                dict(zip(applied, q, strict=True)),
            ],
        )
    if applied or velocities is None or len(velocities) != len(coordinates):
        raise ValueError(
            "coordinates must all be functions of time x(t), or all be symbols, with `velocities` a"
            " symbol for each."
        )
    if not all(isinstance(x, sp.Symbol) for x in (*coordinates, *velocities)):
        raise ValueError(
            f"coordinates and velocities must be symbols; got {coordinates} and {velocities}."
        )
    if t is None:
        named = {
            symbol
            for value in expressions.values()
            for symbol in symbols_in(value)
            if symbol.name == "t"
        }
        t = named.pop() if len(named) == 1 else sp.Symbol("t")
    return t, coordinates, tuple(velocities), []


def replace_in(value, replaced):
    if isinstance(value, tuple):
        return tuple(replace_in(part, replaced) for part in value)
    for table in replaced:
        value = value.xreplace(table)
    strange = value.atoms(sp.Derivative, sp.core.function.AppliedUndef)
    if strange:
        raise ValueError(
            f"{', '.join(map(str, sorted(strange, key=str)))} is neither a coordinate nor its"
            " velocity."
        )
    return value


def symbols_in(value) -> set[Any]:
    return set().union(*map(symbols_in, value)) if isinstance(value, tuple) else value.free_symbols
