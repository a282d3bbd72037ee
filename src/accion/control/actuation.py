"""What controls act on: coordinates, the columns of B(t, q), or a function of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.arguments import shown
from accion.systems import System
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, describe, evaluate
from accion.types import Array, Configuration, Params, Scalar

# B(t, q, params), shape (dim, controls)
Actuation = Callable[..., Any]


@dataclass(frozen=True)
class Selected:
    """Controls that are forces on some of the coordinates: B has a 1 for each of them."""

    chosen: tuple[int, ...]
    n: int

    def __call__(self, t: Scalar, q: Configuration, params: Params) -> Array:
        return jnp.asarray(np.eye(self.n)[:, list(self.chosen)])


def actuation_of(system: System, actuated: Any, actuation: Any) -> Actuation:
    """B from what the user gave: coordinates, or a function."""
    if actuation is not None:
        check_function("actuation", actuation, "t, q, params")
        return actuation
    if callable(actuated):
        raise ValueError(
            "actuated names coordinates; a function B(t, q, params) is given as actuation=B."
        )
    given = list(actuated) if isinstance(actuated, list | tuple | range) else [actuated]
    if isinstance(actuated, np.ndarray) and actuated.ndim == 1:
        given = actuated.tolist()
    if not given:
        raise ValueError(
            "actuated is empty: there is no control. Name the coordinates that the controls act on."
        )
    chosen = tuple(coordinate_number(system, item, "actuated") for item in given)
    for i in chosen:
        if chosen.count(i) > 1:
            raise ValueError(f"actuated names {system.names[i]} twice; name each coordinate once.")
    return Selected(chosen, system.space.dim)


def coordinate_number(system: System, item: Any, where: str) -> int:
    """The number of a coordinate that is given by its name or its number."""
    if isinstance(item, str) and item in system.names:
        return system.names.index(item)
    if (
        isinstance(item, int | np.integer)
        and not isinstance(item, bool)
        and 0 <= item < system.space.dim
    ):
        return int(item)
    raise ValueError(
        f"{where}: {shown(item)} is no coordinate of {system.name}. Try one of:"
        f" {', '.join(system.names)}."
    )


def count_controls(system: System, B: Actuation) -> int:
    """How many columns B has."""
    found = evaluate(
        "actuation",
        lambda s, t, q: B(t, q, s.params),
        system,
        jnp.zeros(()),
        system.space.identity(),
        takes="(t, q, params)",
    )
    n, shape = system.space.dim, getattr(found, "shape", ())
    if len(shape) == 2 and shape[0] == n and shape[1] >= 1:
        check_returns("actuation", found, shape, "real numbers")
    else:
        raise ValueError(
            f"actuation must return an array of shape ({n}, controls), a row for each coordinate"
            f" and a column for each control; it returned {describe(found)}."
        )
    return shape[1]


def control_names(system: System, B: Actuation, given: Any) -> tuple[str, ...]:
    """The names of the controls: those that the user gave, or made from what they act on."""
    count = count_controls(system, B)
    if given is None:
        if isinstance(B, Selected):
            return tuple(f"u_{system.names[i]}" for i in B.chosen)
        return tuple(f"u_{i}" for i in range(count))
    names = names_of(given)
    if names is None or len(names) != count:
        raise ValueError(f"controls must be {count} names, one for each control; got {given!r}.")
    return names


def names_of(given: Any) -> tuple[str, ...] | None:
    """Names as a tuple; None where they are something else."""
    names = tuple(given) if isinstance(given, tuple | list) else (given,)
    return names if names and all(isinstance(name, str) for name in names) else None
