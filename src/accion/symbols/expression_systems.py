"""A `System`, or a `HigherOrderSystem`, from SymPy expressions."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import sympy as sp
from sympy.core.function import AppliedUndef

from accion.arguments import leaves, shown, wrong
from accion.spaces import Euclidean, Space
from accion.symbols.sympy_to_jax import Expression, check_counterparts
from accion.systems import HigherOrderSystem, System

FIRST_ORDER_ONLY = ("holonomic", "nonholonomic", "variational")
FIELDS = ("force", "holonomic", "nonholonomic", "variational", "vakonomic")


def build(
    expr: Any,
    coordinates: Any,
    params: Any,
    velocities: Any,
    t: Any,
    space: Space | None,
    name: str | None,
    functions: Mapping[str, Any],
) -> System | HigherOrderSystem:
    """The system whose Lagrangian is `expr`; the arguments are those of `accion.from_sympy`."""
    coordinates = listed(coordinates)
    expressions = checked_all(expr, functions)
    if t is not None and not isinstance(t, sp.Symbol):
        wrong("t", "the symbol of time", t)
    t, q, rates, replaced = letters(coordinates, velocities, t, expressions)
    moving = [v for row in rates for v in row]
    if len({t, *q, *moving}) < 1 + len(q) + len(moving):
        raise ValueError(
            f"coordinates, velocities and time must be different symbols; got {coordinates} and"
            f" {velocities or 'their derivatives'}."
        )
    expressions = {field: replace_in(value, replaced) for field, value in expressions.items()}
    free = set().union(*(symbols_in(value) for value in expressions.values())) - {t, *q, *moving}
    names = tuple(sorted(((symbol, symbol.name) for symbol in free), key=lambda pair: pair[1]))
    numbers = numbers_of(params, free)
    for value in expressions.values():
        check_counterparts(value)
    made: dict[str, Any] = {
        field: Expression(value, t, q, rates, names) for field, value in expressions.items()
    }
    labels = tuple(str(x.func) if isinstance(x, AppliedUndef) else str(x) for x in coordinates)
    space = Euclidean(len(q)) if space is None else space
    own = {"coordinates": labels, "name": name} | made
    if len(rates) == 1:
        return System(own.pop("lagrangian"), space, numbers, **own)
    beyond = sorted(set(own) & set(FIRST_ORDER_ONLY))
    if beyond:
        raise ValueError(
            f"{beyond[0]} does not go with a Lagrangian of order {len(rates)}, whose constraints"
            " are `vakonomic`."
        )
    return HigherOrderSystem(own.pop("lagrangian"), space, numbers, order=len(rates), **own)


def listed(coordinates: Any, name: str = "coordinates") -> tuple[Any, ...]:
    """The coordinates, or the velocities, as a tuple."""
    found = coordinates.flat() if isinstance(coordinates, sp.MatrixBase) else coordinates
    if not isinstance(found, list | tuple | sp.Tuple):
        wrong(name, "a list of functions of time x(t), or of symbols", coordinates)
    return tuple(found)


def checked_all(expr: Any, functions: Mapping[str, Any]) -> dict[str, Any]:
    """The expressions by the fields of a `System`, each as `checked` gives it."""
    unknown = set(functions) - set(FIELDS)
    found = {"lagrangian": checked("the Lagrangian", expr)}
    if unknown:
        raise ValueError(
            f"from_sympy does not know {sorted(unknown)}; try force, holonomic, nonholonomic,"
            " variational or vakonomic."
        )
    for field, value in functions.items():
        if value is not None:
            expression = checked(field, value)
            found[field] = expression if isinstance(expression, tuple) else (expression,)
    return found


def numbers_of(params: Any, free: set[Any]) -> dict[str, float]:
    """The numbers of the symbols in `free`, by their names in alphabetical order."""
    if not isinstance(params, dict | None):
        wrong("params", "a dictionary of numbers, by symbol or by name", params)
    values = {str(symbol): value for symbol, value in (params or {}).items()}
    missing = sorted(symbol.name for symbol in free if symbol.name not in values)
    if missing:
        raise ValueError(f"params must give a number to {', '.join(missing)}.")
    return {name: to_number(name, values[name]) for name in sorted({s.name for s in free})}


def checked(what: str, value: Any) -> Any:
    """SymPy expressions, in tuples where there are several; equations are taken as left minus
    right.
    """
    if isinstance(value, sp.MatrixBase) and what == "the Lagrangian" and value.shape == (1, 1):
        value = value[0, 0]
    if isinstance(value, sp.MatrixBase):
        value = value.tolist() if min(value.shape) > 1 or what == "variational" else value.flat()
    if isinstance(value, list | tuple) and what != "the Lagrangian":
        if leaves(value) is None:
            wrong(what, "SymPy expressions, in lists of finite depth", value)
        return tuple(checked(what, part) for part in value)
    if isinstance(value, sp.Equality):
        left, right = (cast(sp.Expr, side) for side in value.args)
        value = left - right
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = sp.sympify(value)
    if not isinstance(value, sp.Expr):
        raise ValueError(
            f"{what} must be a SymPy expression; got {shown(value)}. Text is not evaluated: build"
            " it with sympy.symbols and functions."
        )
    # d/dt sin(x(t)), an integral or a sum may be written and not yet carried out.
    return value.doit() if value.has(sp.Derivative, sp.Integral, sp.Sum) else value


def to_number(label: str, value: Any) -> float:
    """The number of the parameter `label`."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ValueError(f"params must give numbers; {label} is {shown(value)}.") from error


def letters(
    coordinates: tuple[Any, ...], velocities: Any, t: Any, expressions: Mapping[str, Any]
) -> tuple[Any, tuple[Any, ...], tuple[tuple[Any, ...], ...], list[dict[Any, Any]]]:
    """Symbols for time, coordinates and their derivatives, a row for each order, and what they
    replace.
    """
    if not coordinates:
        raise ValueError("from_sympy needs the coordinates: functions of time x(t), or symbols.")
    applied = [x for x in coordinates if isinstance(x, AppliedUndef)]
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
        rates = tuple(
            tuple(sp.Symbol(f"{x}{chr(39) * k}") for x in applied)
            for k in range(1, order_in(expressions, applied) + 1)
        )
        moving = {
            x.diff(time, k): symbol
            for k, row in enumerate(rates, 1)
            for x, symbol in zip(applied, row, strict=True)
        }
        return time, q, rates, [moving, dict(zip(applied, q, strict=True))]
    velocities = () if velocities is None else listed(velocities, "velocities")
    several = bool(velocities) and all(isinstance(row, list | tuple) for row in velocities)
    rates = tuple(tuple(row) for row in velocities) if several else (velocities,)
    if applied or any(len(row) != len(coordinates) for row in rates):
        raise ValueError(
            "coordinates must all be functions of time x(t), or all be symbols, with `velocities` a"
            " symbol for each, or a row of symbols for each order of the derivatives."
        )
    if not all(isinstance(x, sp.Symbol) for row in (coordinates, *rates) for x in row):
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
    return t, coordinates, rates, []


def order_in(expressions: Mapping[str, Any], coordinates: Sequence[Any]) -> int:
    """Of the highest derivative of a coordinate in the Lagrangian or a vakonomic constraint, one or
    more.

    Raises:
        ValueError: where a force or another constraint takes a higher one.
    """
    orders = {field: highest_in(value, coordinates) for field, value in expressions.items()}
    order = max(1, orders["lagrangian"], orders.get("vakonomic", 0))
    for field, found in orders.items():
        if found > order:
            raise ValueError(
                f"{field} takes derivatives of order {found}, and the Lagrangian those up to order"
                f" {order}: it may take no higher ones."
            )
    return order


def highest_in(value: Any, coordinates: Sequence[Any]) -> int:
    """The order of the highest derivative of a coordinate in an expression, or in several."""
    if isinstance(value, tuple):
        return max((highest_in(part, coordinates) for part in value), default=0)
    own = [d for d in value.atoms(sp.Derivative) if d.expr in coordinates]
    return max((d.derivative_count for d in own), default=0)


def replace_in(value: Any, replaced: Sequence[Mapping[Any, Any]]) -> Any:
    """Expressions with coordinates and velocities replaced; nothing else may depend on time."""
    if isinstance(value, tuple):
        return tuple(replace_in(part, replaced) for part in value)
    for table in replaced:
        value = value.xreplace(table)
    strange = value.atoms(sp.Derivative, AppliedUndef)
    if strange:
        raise ValueError(
            f"{', '.join(map(str, sorted(strange, key=str)))} is neither a coordinate nor its"
            " velocity."
        )
    return value


def symbols_in(value: Any) -> set[Any]:
    """The symbols of an expression, or of several."""
    return set().union(*map(symbols_in, value)) if isinstance(value, tuple) else value.free_symbols
