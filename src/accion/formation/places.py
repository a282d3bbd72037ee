"""Where the agents of a map of attraction are placed: what is asked for, and what its axes are
called.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.arguments import finite, reals, shown, wrong
from accion.formation.formation import Formation
from accion.types import ArrayLike

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset


def axis_names(agents: Sequence[int], dimension: int) -> tuple[str, ...]:
    """The axes of a grid, in order."""
    letters = "xyz"[:dimension]
    return (
        tuple(letters)
        if len(agents) == 1
        else tuple(f"{c}{a + 1}" for a in agents for c in letters)
    )


def check_shape(formation: Formation, shape: ArrayLike | None) -> np.ndarray:
    """The desired shape, (n, d).

    Raises: ValueError where there is none, or it has not the distances of the formation.
    """
    own = formation.distances  # of a formation that keeps its shape
    if formation.force is not None:
        raise ValueError(
            "attraction looks where agents come to rest under their bonds and damping alone; leave"
            " out the force of this formation."
        )
    desired = formation.shape if shape is None else formation.points(shape, "shape")
    if desired is None:
        raise ValueError(
            "attraction needs the desired shape: make the formation with Formation.from_shape, or"
            " pass shape=positions."
        )
    if np.any(np.abs(formation.errors(desired.ravel())) > 1e-6 * own):
        raise ValueError("the desired shape does not have the distances of the formation.")
    return desired


def check_agents(formation: Formation, agent: Any) -> tuple[int, ...]:
    """The agents that are placed, by number.

    Raises: ValueError where there is no such agent, or one is named twice.
    """
    agents = tuple(agent) if isinstance(agent, list | tuple) else (agent,)
    known = all(
        isinstance(a, int | np.integer) and not isinstance(a, bool) and 0 <= a < formation.n
        for a in agents
    )
    if not known or len(agents) == 0 or len(set(agents)) < len(agents):
        raise ValueError(
            f"agent must be a number from 0 to {formation.n - 1}, or a tuple of different ones; got"
            f" {shown(agent)}."
        )
    return tuple(map(int, agents))


def placed(ds: "Dataset") -> tuple[int, ...]:
    """The agents that are placed in a map."""
    agent = json.loads(str(ds.attrs["agent"]))
    return tuple(agent) if isinstance(agent, list) else (agent,)


def check_velocities(formation: Formation, agents: tuple[int, ...], v0: Any) -> np.ndarray | None:
    """Velocities of all agents at the start, shape (n, d), from theirs or from those of the agents
    that are placed; None at rest.

    Raises: ValueError where they have another shape.
    """
    if v0 is None:
        return None
    n, d, k = formation.n, formation.dimension, len(agents)
    given = np.asarray(finite(v0, "v0", "velocities"))
    if given.shape not in ((n, d), (n * d,), (k, d), (k * d,)):
        raise ValueError(
            f"v0 must have shape ({n}, {d}), velocities of all agents, or ({k}, {d}), of those that"
            f" are placed; got shape {given.shape}."
        )
    if given.size == n * d:
        return given.reshape(n, d)
    found = np.zeros((n, d))
    found[list(agents)] = given.reshape(k, d)
    return found


def check_grid(
    formation: Formation, agents: tuple[int, ...], grid: Sequence[ArrayLike]
) -> list[np.ndarray]:
    """The axes of a grid for these agents.

    Raises: ValueError where an axis does not increase, or their number is another.
    """
    count = formation.dimension * len(agents)
    if not isinstance(grid, list | tuple) and (
        not isinstance(grid, np.ndarray) or np.ndim(grid) == 0
    ):
        wrong("grid", f"{count} vectors that increase", grid)
    axes = [np.atleast_1d(reals(axis, "grid")) for axis in grid]
    if len(axes) != count or any(
        axis.ndim != 1 or np.any(np.diff(axis) <= 0) or not np.all(np.isfinite(axis))
        for axis in axes
    ):
        words = "the agent" if len(agents) == 1 else f"each of the {len(agents)} agents in turn"
        raise ValueError(
            f"grid must be {count} vectors of increasing coordinates, those of {words}, such as"
            f" [np.linspace(-2, 2, 50)] * {count}."
        )
    return axes
