"""Two formulas compared, exactly or at numbers, and the Lagrangians that several entries share."""

from functools import cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

import accion as ac

t: Any = sp.Symbol("t")
h: Any = sp.Symbol("h")
t_k: Any = sp.Symbol("t_k")


def function(name) -> Any:
    """A coordinate, a function of time."""
    return sp.Function(name)(t)


def symbols(names) -> Any:
    return sp.symbols(names)


def nodes(name) -> Any:
    """The coordinate `name` at t_k - h, t_k and t_k + h, as the discrete equations of accion call
    it.
    """
    return tuple(sp.Symbol(f"{name}_{k}") for k in ("k-1", "k", "k+1"))


def side(equation) -> Any:
    """Left minus right."""
    return equation.lhs - equation.rhs


def at_numbers(expr, shift=0) -> Any:
    """The value of `expr` with a rational number for each derivative, coordinate and symbol, to 40
    digits.
    """
    expr = sp.sympify(expr)
    count = 0
    # Derivatives first: they contain the coordinates. No number twice, lest x y' - y x' be zero,
    # and none is 1.
    for kind in (sp.Derivative, AppliedUndef, sp.Symbol):
        parts = sorted(expr.atoms(kind), key=str)
        expr = expr.xreplace(
            {
                part: sp.Rational(3 + (7 * i + 5 * shift) % 29, 37)
                for i, part in enumerate(parts, count)
            }
        )
        count += len(parts)
    return sp.N(expr, 40)


def same(left, right):
    """Whether two expressions are identical."""
    return sp.simplify(left - right) == 0


def agree(left, right):
    """Whether two expressions are equal at three points: for those that take long to simplify."""
    return all(abs(at_numbers(left - right, shift)) < sp.Float("1e-30") for shift in range(3))


def differ(left, right):
    """Whether two expressions are apart at a point, and by more than rounding."""
    return abs(at_numbers(left - right)) > sp.Float("1e-3")


def derivative(expr, x) -> Any:
    """The partial derivative by a coordinate or by a velocity."""
    plain = sp.Dummy()
    if isinstance(x, sp.Derivative):
        return expr.xreplace({x: plain}).diff(plain).xreplace({plain: x})
    # Velocities first, for they contain the coordinate.
    fixed = {v: sp.Dummy() for v in expr.atoms(sp.Derivative)}
    back = {dummy: v for v, dummy in fixed.items()} | {plain: x}
    inside = expr.xreplace(fixed).xreplace({x: plain}).diff(plain)
    return inside.xreplace({plain: x}).xreplace(back)


kappa, a, b = symbols("kappa a b")
x, y = function("x"), function("y")


def V(x, y=0):
    """A potential with rotational symmetry."""
    return a * (x**2 + y**2) / 2 + b * (x**2 + y**2) ** 2 / 4


@cache
def exponential():
    """L = e^{-kappa t} (1/2 |q'|^2 - V(q)) in the plane: Colombo-Eyrea, Ex 1; Colombo-Gamonal, Ex 1
    and 2.
    """
    L = sp.exp(-kappa * t) * ((x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - V(x, y))
    return ac.from_sympy(L, (x, y), {"kappa": -0.3, "a": 1.0, "b": 0.5}, name="exponential")


@cache
def exponential_equations() -> Any:
    return ac.symbolic(exponential())


@cache
def exponential_trapezoid() -> Any:
    return exponential_equations().discrete(ac.Trapezoid())


def along(expr, equations):
    """d/dt of an expression of t, q and q' along the motion."""
    accelerations = {
        v.diff(t): acceleration
        for v, acceleration in zip(equations.v, equations.accelerations, strict=True)
    }
    return sp.sympify(expr).diff(t).xreplace(accelerations)


def integral(expr, start: Any = 0, end: Any = 1) -> Any:
    return sp.integrate(sp.expand(expr), (t, start, end))
