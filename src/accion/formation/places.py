"""Where the agents of a map of attraction are placed, and how they are turned: what is asked for,
and what its axes are called.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from accion.arguments import finite, reals, shown, wrong
from accion.formation.formation import Formation
from accion.formation.rigid import RigidFormation
from accion.formation.rigidity import relative_positions
from accion.formation.teams import Team
from accion.types import ArrayLike

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset


ANGLES = {2: ("angle",), 3: ("rx", "ry", "rz")}  # the axes of an attitude, in radians


def axis_names(agents: Sequence[int], dimension: int, turned: bool = False) -> tuple[str, ...]:
    """The axes of a grid, in order; those of attitudes too, where agents are `turned`."""
    letters = (*"xyz"[:dimension], *(ANGLES[dimension] if turned else ()))
    return letters if len(agents) == 1 else tuple(f"{c}{a + 1}" for a in agents for c in letters)


def own_names(ds: "Dataset") -> tuple[str, ...]:
    """The axes of the whole map of which this is one, or a slice."""
    return axis_names(placed(ds), ds.sizes["axis"], is_turned(ds))


def is_turned(ds: "Dataset") -> bool:
    """Whether a map has axes of attitudes."""
    return bool(ds.attrs.get("turned", False))


def check_shape(formation: Formation | RigidFormation, shape: ArrayLike | None) -> np.ndarray:
    """The desired shape, (n, d).

    Raises: ValueError where there is none, or it has not the distances of the formation.
    """
    own = formation.distances  # of a formation that keeps its shape
    desired = formation.shape if shape is None else formation.points(shape, "shape")
    if desired is None:
        raise ValueError(
            "attraction needs the desired shape: make the formation with from_shape, or pass"
            " shape=positions."
        )
    found = np.linalg.norm(relative_positions(formation.graph, desired), axis=1)
    if np.any(np.abs(found - own) > 1e-6 * own):
        raise ValueError("the desired shape does not have the distances of the formation.")
    return desired


def check_attitudes(team: Team, attitudes: Any) -> np.ndarray | None:
    """Those of all agents at the start, shape (n, d, d), where they are given.

    Raises: ValueError where agents have none, or these are no rotations.
    """
    if attitudes is None:
        return None
    n, d = team.graph.n, team.dimension
    if not team.turns:
        raise ValueError(
            "attitudes are those of bodies, of a RigidFormation; the agents of a Formation have"
            " none."
        )
    R = np.asarray(finite(attitudes, "attitudes"))
    if R.shape != (n, d, d):
        raise ValueError(f"attitudes must have shape ({n}, {d}, {d}); got {R.shape}.")
    off = np.max(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(d)), axis=(1, 2))
    wrong_ones = np.flatnonzero((off > 1e-9) | (np.linalg.det(R) < 0))
    if len(wrong_ones):
        raise ValueError(f"attitudes[{wrong_ones[0]}] is no rotation.")
    return R


def rotations(vectors: np.ndarray) -> np.ndarray:
    """Rotations by angles, shape (..., 1), or by rotation vectors, shape (..., 3)."""
    space = np.zeros((*vectors.shape[:-1], 3))
    space[..., -vectors.shape[-1] :] = vectors
    d = 2 if vectors.shape[-1] == 1 else 3
    R = Rotation.from_rotvec(space.reshape(-1, 3)).as_matrix()
    return R[:, :d, :d].reshape(*vectors.shape[:-1], d, d)


def check_agents(n: int, agent: Any) -> tuple[int, ...]:
    """The agents that are placed, by number, of `n`.

    Raises: ValueError where there is no such agent, or one is named twice.
    """
    agents = tuple(agent) if isinstance(agent, list | tuple) else (agent,)
    known = all(
        isinstance(a, int | np.integer) and not isinstance(a, bool) and 0 <= a < n for a in agents
    )
    if not known or len(agents) == 0 or len(set(agents)) < len(agents):
        raise ValueError(
            f"agent must be a number from 0 to {n - 1}, or a tuple of different ones; got"
            f" {shown(agent)}."
        )
    return tuple(map(int, agents))


def placed(ds: "Dataset") -> tuple[int, ...]:
    """The agents that are placed in a map."""
    agent = json.loads(str(ds.attrs["agent"]))
    return tuple(agent) if isinstance(agent, list) else (agent,)


def check_velocities(team: Team, agents: tuple[int, ...], v0: Any) -> np.ndarray | None:
    """Velocities of all agents at the start, shape (n, `team.speeds`), from theirs or from those of
    the agents that are placed; None at rest.

    Raises: ValueError where they have another shape.
    """
    if v0 is None:
        return None
    n, d, k = team.graph.n, team.speeds, len(agents)
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
    team: Team, agents: tuple[int, ...], grid: Sequence[ArrayLike]
) -> tuple[list[np.ndarray], bool]:
    """The axes of a grid for these agents, and whether they are turned, too.

    Raises: ValueError where an axis does not increase, or their number is another.
    """
    d, k = team.dimension, len(agents)
    counts = [d * k, (d + len(ANGLES[d])) * k][: 2 if team.turns else 1]
    words = f"{counts[0]} vectors that increase"
    if not isinstance(grid, list | tuple) and (
        not isinstance(grid, np.ndarray) or np.ndim(grid) == 0
    ):
        wrong("grid", words, grid)
    axes = [np.atleast_1d(reals(axis, "grid")) for axis in grid]
    if len(axes) not in counts or any(
        axis.ndim != 1 or np.any(np.diff(axis) <= 0) or not np.all(np.isfinite(axis))
        for axis in axes
    ):
        whose = "the agent" if k == 1 else f"each of the {k} agents in turn"
        more = "" if len(counts) == 1 else f" (or {counts[1]}: after its coordinates the angles)"
        raise ValueError(
            f"grid must be {counts[0]} vectors of increasing coordinates, those of {whose}{more},"
            f" such as [np.linspace(-2, 2, 50)] * {counts[0]}."
        )
    return axes, len(axes) > counts[0]
