"""Where the nodes of a mesh are, as parts of the duration: at equal steps, or anywhere."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from accion.arguments import reals, shown
from accion.memory import rows

# a number of equal steps, or the places of the nodes from 0 to 1
Steps: TypeAlias = "int | np.ndarray"
FORM = "a number of steps, or the places of the nodes, increasing from 0 to 1"


def places_of(steps: Any) -> np.ndarray:
    """The places of the nodes, from 0 to 1."""
    return np.linspace(0.0, 1.0, steps + 1) if np.ndim(steps) == 0 else np.asarray(steps)


def count_of(steps: Any) -> int:
    """How many steps there are."""
    return int(steps) if np.ndim(steps) == 0 else len(np.asarray(steps)) - 1


def is_number(value: Any) -> bool:
    """Whether steps are given by their number, if anything."""
    array = isinstance(value, np.ndarray) and value.ndim > 0
    return not (array or isinstance(value, list | tuple))


def a_mesh(value: Any, name: str) -> Any:
    """A number of steps or places of nodes: the check of a `door`."""
    if is_number(value):
        return rows(100)(value, name)
    places = np.asarray(reals(value, name, FORM), dtype=float)
    if (
        places.ndim != 1
        or len(places) < 2
        or not np.all(np.diff(places) > 0)
        or abs(places[0]) > ENDS
        or abs(places[-1] - 1.0) > ENDS
    ):
        raise ValueError(f"{name} must be {FORM}; got {shown(value)}.")
    return np.concatenate([[0.0], places[1:-1], [1.0]])


ENDS = 1e-12  # by which the places of the ends may be rounded


def halved(places: np.ndarray) -> np.ndarray:
    """Each step in two."""
    return np.interp(np.arange(2 * len(places) - 1) / 2, np.arange(len(places)), places)


def with_nodes_at(steps: Steps, wanted: Sequence[float]) -> Steps:
    """`steps` with the nearest nodes between the ends moved to the `wanted` places, in their order.

    Raises:
        ValueError: where one node is the nearest to two of them.
    """
    mesh = places_of(steps).copy()
    nearest = [nearest_node(mesh, place) for place in wanted]
    if len(set(nearest)) < len(nearest):
        raise ValueError(
            f"via: a node is to stand at each of its times, and those of {count_of(steps)} steps"
            " are too far apart for that; take more steps, or give the places of the nodes."
        )
    if np.allclose(mesh[nearest], wanted, rtol=0.0, atol=ENDS):
        return steps
    mesh[nearest] = wanted
    return mesh


def nearest_node(mesh: np.ndarray, place: float) -> int:
    """The number of the node between the ends that is the nearest to a place."""
    return 1 + int(np.argmin(np.abs(mesh[1:-1] - place)))


def equal(places: np.ndarray) -> bool:
    """Whether all steps are, to rounding."""
    return bool(np.allclose(np.diff(places), 1.0 / (len(places) - 1), rtol=1e-9, atol=0.0))
