"""What is allowed: bounds of controls, coordinates, velocities and durations, path constraints."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from accion import checks
from accion.control.actuation import coordinate_number
from accion.systems import System
from accion.types import Function

Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]  # (lower, upper)


def bounds_of(given: Any, count: int, where: str, names: Sequence[str]) -> Bounds:
    """(lower, upper), one for each of `count`; infinite where nothing, or None, is given."""
    if given is None:
        given = (None, None)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"{where} must be (lower, upper); got {given!r}.")
    try:
        lower, upper = (
            one_side(side, count, none) for side, none in zip(given, (-np.inf, np.inf), strict=True)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{where} must be (lower, upper), numbers or {count} of them; got {given!r}."
        ) from error
    if np.any(np.isnan(lower)) or np.any(np.isnan(upper)) or np.any(lower > upper):
        raise ValueError(
            f"{where}: lower must not be above upper; got {given!r} for {', '.join(names)}."
        )
    return lower, upper


def one_side(side: Any, count: int, none: float) -> np.ndarray:
    """`count` numbers from one or so many, `none` where None is given."""
    items = np.atleast_1d(np.asarray(side, dtype=object))
    values = np.array([none if item is None else float(item) for item in items])
    return np.array(np.broadcast_to(values, (count,)))


def named_bounds(system: System, given: Any, where: str) -> Bounds:
    """(lower, upper) of all coordinates, from a dictionary of some."""
    n = system.space.dim
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if given is None:
        return lower, upper
    if not isinstance(given, dict):
        raise ValueError(
            f'{where} must be a dictionary such as {{"{system.names[0]}": (-2.0, 2.0)}}; got'
            f" {given!r}."
        )
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
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if (
        given is None
        or len(pair) != 2
        or not all(checks.is_finite_number(d) for d in pair)
        or not 0 < pair[0] <= pair[1]
    ):
        raise ValueError(
            f"duration must be a positive number, or (least, most) for a free one; got {given!r}."
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
        raise ValueError(f"path must be {form}; got {given!r}.")
    for name, g in given.items():
        if not isinstance(name, str) or not callable(g):
            raise ValueError(f"path must be {form}; got {g!r} for {name!r}.")
    return dict(given)
