"""The start and the end of a control problem, with components that may be free."""

from typing import Any, NamedTuple

import numpy as np

from accion.arguments import finite, reals, shown
from accion.spaces import Euclidean, Product, Space, Torus
from accion.types import Configuration


class End(NamedTuple):
    """One end: the configuration and velocity there, and which components of them are fixed.

    With two configurations at each end, `v` is the second one.
    """

    q: Configuration
    v: Any
    q_fixed: np.ndarray
    v_fixed: np.ndarray


def end_of(space: Space, boundary: str, given: Any, name: str) -> End:
    """The end as arrays, free components at their guess of zero.

    Arguments:
        space: where it is.
        boundary: "velocities" or "configurations", see `ControlProblem`.
        given: what the user gave.
        name: what the user calls it, for messages.
    """
    if not isinstance(given, tuple | list) or len(given) != 2:
        words = "(q, v)" if boundary == "velocities" else "two configurations"
        raise ValueError(f"{name} must be {words}; got {shown(given)}.")
    q, q_fixed = configuration_of(space, given[0], f"{name}[0]")
    if boundary == "configurations":
        q1, fixed = configuration_of(space, given[1], f"{name}[1]")
        if not (np.all(q_fixed) and np.all(fixed)):
            raise ValueError(
                f'{name}: with boundary="configurations" both configurations are given whole.'
            )
        return End(q, q1, q_fixed, fixed)
    v, v_fixed = vector_of(space.dim, given[1], f"{name}[1]")
    return End(q, v, q_fixed, v_fixed)


def vector_of(n: int, given: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(values, fixed) of a vector of n components, None where one is free."""
    if given is None:
        return np.zeros(n), np.zeros(n, dtype=bool)
    words = f"{n} real numbers, None where a component is free"
    listed = isinstance(given, list | tuple)
    items = list(given) if listed else list(np.atleast_1d(reals(given, name, words)))
    fixed = np.array([item is not None for item in items], dtype=bool)
    whole = [0.0 if item is None else item for item in items]
    values = np.asarray(finite(whole, name, words))
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have {n} components (None where one is free); got {shown(given)}."
        )
    return values, fixed


def configuration_of(space: Space, given: Any, name: str) -> tuple[Configuration, np.ndarray]:
    """(q, fixed): flat spaces component by component, others whole."""
    if given is None:
        return space.identity(), np.zeros(space.dim, dtype=bool)
    if isinstance(space, Euclidean | Torus):
        values, fixed = vector_of(space.dim, given, name)
        return space.check(values, name), fixed
    if (
        isinstance(space, Product)
        and isinstance(given, tuple | list)
        and len(given) == len(space.factors)
    ):
        parts = [
            configuration_of(s, g, f"{name}[{i}]")
            for i, (s, g) in enumerate(zip(space.factors, given, strict=True))
        ]
        return tuple(part[0] for part in parts), np.concatenate([part[1] for part in parts])
    return space.check(given, name), np.ones(space.dim, dtype=bool)
