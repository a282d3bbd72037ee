"""What is allowed: bounds of controls, coordinates, velocities and durations, path constraints."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from accion import checks
from accion.arguments import as_array, reals, shown, wrong
from accion.control.actuation import coordinate_number
from accion.systems import System
from accion.types import Function

Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]  # (lower, upper)


def bounds_of(given: Any, count: int, where: str, names: Sequence[str]) -> Bounds:
    """(lower, upper), one for each of `count`; infinite where nothing, or None, is given."""
    if given is None:
        given = (None, None)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"{where} must be (lower, upper); got {shown(given)}.")
    words = f"(lower, upper), real numbers or {count} of them"
    lower, upper = (
        one_side(side, count, none, where, words)
        for side, none in zip(given, (-np.inf, np.inf), strict=True)
    )
    if np.any(np.isnan(lower)) or np.any(np.isnan(upper)) or np.any(lower > upper):
        raise ValueError(
            f"{where}: lower must not be above upper; got {given!r} for {', '.join(names)}."
        )
    return lower, upper


def control_bounds_of(given: Any, controls: Sequence[str]) -> Bounds:
    """(lower, upper) of the controls, which leave each of them some room."""
    lower, upper = bounds_of(given, len(controls), "control_bounds", controls)
    if np.any(lower == upper):
        fixed = [name for name, held in zip(controls, lower == upper, strict=True) if held]
        raise ValueError(
            f"control_bounds = {shown(given)} leaves no room to {', '.join(fixed)}: it is (lower,"
            " upper), each a number or one for each control, and not a pair for each; write ((-1,"
            " -2), (1, 2)) for a control between -1 and 1 and one between -2 and 2. A control that"
            " is fixed belongs into the force of the system."
        )
    return lower, upper


def one_side(side: Any, count: int, none: float, where: str, words: str) -> np.ndarray:
    """`count` numbers from one or so many, `none` where None is given."""
    items = side if isinstance(side, list | tuple) else [side]
    values = [np.array(none) if item is None else reals(item, where, words) for item in items]
    if any(np.shape(value) not in ((), (count,)) for value in values):
        wrong(where, words, side)
    joined = np.concatenate([np.atleast_1d(value) for value in values]) if values else np.zeros(0)
    if joined.shape not in ((1,), (count,)):
        wrong(where, words, side)
    return np.array(np.broadcast_to(joined, (count,)))


def named_bounds(system: System, given: Any, where: str) -> Bounds:
    """(lower, upper) of all coordinates, from a dictionary of some."""
    n = system.space.dim
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if given is None:
        return lower, upper
    if not isinstance(given, dict):
        wrong(where, f'a dictionary such as {{"{system.names[0]}": (-2.0, 2.0)}}', given)
    if where == "state_bounds" and not system.space.flat:
        raise ValueError(
            "state_bounds are for coordinates of a flat space; on a group say what is allowed by"
            " path={name: g(t, q, v, u, params) <= 0}."
        )
    for key, pair in given.items():
        i = coordinate_number(system, key, where)
        (lower[i],), (upper[i],) = bounds_of(pair, 1, f"{where}[{key!r}]", (str(key),))
    return lower, upper


def durations_of(given: Any) -> tuple[float, float]:
    """(least, most) of a duration, both the same where it is fixed."""
    array = as_array(given)
    real = array is not None and array.dtype.kind in tuple("fiu")
    pair = () if array is None or not real else (given, given) if array.ndim == 0 else tuple(given)
    if (
        len(pair) != 2
        or not all(checks.is_finite_number(d) for d in pair)
        or not 0 < pair[0] <= pair[1]
    ):
        raise ValueError(
            f"duration must be a positive number, or (least, most) for a free one; got"
            f" {shown(given)}."
        )
    return float(pair[0]), float(pair[1])


def path_of(given: Any) -> dict[str, Function]:
    """{name: g}; a function alone has its own name."""
    form = '{"name": g} with functions g(t, q, v, u, params) <= 0, or one such function'
    if given is None:
        return {}
    if callable(given):
        name = getattr(given, "__name__", "path")
        return {"path" if name == "<lambda>" else name: given}
    if not isinstance(given, dict):
        wrong("path", form, given)
    for name, g in given.items():
        if not isinstance(name, str) or not callable(g):
            raise ValueError(f"path must be {form}; got {shown(g)} for {name!r}.")
    return dict(given)
