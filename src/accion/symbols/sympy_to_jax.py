"""From SymPy to JAX: expressions become functions that JAX can trace.

No text is ever run as code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair

from accion.errors import Untranslatable
from accion.types import Array, Configuration, Scalar

FUNCTIONS: dict[Any, Callable[..., Any]] = {
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


# What `compute` has rules of its own for, and the pairs of a Piecewise.
OWN_RULES = (sp.Pow, sp.Piecewise, ExprCondPair)


def fold(f: Callable[[Any, Any], Any], xs: Sequence[Any]) -> Any:
    """f(... f(f(x_1, x_2), x_3) ..., x_n)."""
    total = xs[0]
    for x in xs[1:]:
        total = f(total, x)
    return total


def compute(expr: Any, known: dict[Any, Any]) -> Any:
    """The value of `expr`, where `known` has those of its symbols and, on the way, of its parts.

    Raises:
        Untranslatable: where a function of SymPy has no counterpart in jax.numpy.
    """
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
        raise without_counterpart(expr)
    known[expr] = value
    return value


def without_counterpart(expr: sp.Basic) -> Untranslatable:
    """The error of a function of SymPy that jax.numpy does not have."""
    return Untranslatable(f"{expr.func.__name__} in {expr} has no counterpart in jax.numpy.")


def check_counterparts(expr: Any) -> None:
    """Raise Untranslatable unless jax.numpy has every function in an expression, or in several."""
    for part in expr if isinstance(expr, tuple) else expr.args:
        check_counterparts(part)
    if isinstance(expr, sp.Basic) and expr.args and expr.func not in (*FUNCTIONS, *OWN_RULES):
        raise without_counterpart(expr)


def power(expr: sp.Pow, known: dict[Any, Any]) -> Any:
    """A power, by the function of JAX that is meant for its exponent."""
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
    """A function (t, q, v, a, ..., params) whose value is an expression, or a vector or matrix of
    them (tuples), in symbols; those of the derivatives of q are the rows of `rates`.
    """

    expr: Any
    t: Any
    q: tuple[Any, ...]
    rates: tuple[tuple[Any, ...], ...]
    names: tuple[tuple[Any, str], ...]

    def __call__(self, t: Scalar, q: Configuration, *rest: Any) -> Array:
        *rates, params = rest
        flat = jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(q)])
        known = (
            {self.t: t}
            | dict(zip(self.q, flat, strict=True))
            | {symbol: params[name] for symbol, name in self.names}
        )
        for symbols, values in zip(self.rates, rates, strict=False):
            known |= dict(zip(symbols, values, strict=True))

        def value(expr: Any) -> Array:
            return (
                jnp.stack([value(e) for e in expr])
                if isinstance(expr, tuple)
                else jnp.asarray(compute(expr, known), dtype=float)
            )

        return value(self.expr)
