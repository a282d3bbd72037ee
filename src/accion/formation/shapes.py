"""Ready shapes: each returns (edges, positions), for `Formation.from_shape`."""

from typing import TypeAlias

import numpy as np

from accion.formation.graph import Graph
from accion.formation.rigidity import infinitesimally_rigid

# (edges, positions): pairs of agents, and an array of shape (n, d).
Shape: TypeAlias = tuple[list[tuple[int, int]], np.ndarray]


def circle(n: int, radius: float) -> np.ndarray:
    """`n` points on a circle about the origin, shape (n, 2)."""
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def polygon(n: int, radius: float = 1.0) -> Shape:
    """A regular polygon with 2n - 3 edges: its sides and the diagonals from agent 0.

    Minimally rigid. Raises: ValueError for fewer than three agents.
    """
    if n < 3:
        raise ValueError(f"a polygon has at least 3 agents; got {n}.")
    sides = [(i, (i + 1) % n) for i in range(n)]
    return sides + [(0, i) for i in range(2, n - 1)], circle(n, radius)


def square(side: float = 1.0) -> Shape:
    """Four agents, four sides and a diagonal: 5 = 2n - 3 edges (Colombo-Gamonal, section 6.3,
    Figure 6).
    """
    return [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], side * np.array(
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    )


def hexagon(radius: float = 1.0) -> Shape:
    """Six agents and 9 = 2n - 3 edges (the numbers of Colombo-Gamonal section 6.4, which does not
    draw them): the sides and a zigzag of diagonals.

    With the three long diagonals in its place the graph is K_{3,3}, which is not rigid here: the
    corners lie on a circle.
    """
    return [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 5), (1, 4), (2, 4)], circle(
        6, radius
    )


def pyramid(side: float = 1.0) -> Shape:
    """Four agents in space, all six distances equal: K_4, 6 = 3n - 6 edges (Colombo-Gamonal, Figure
    4).
    """
    points = np.array(
        [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    ) / np.sqrt(8)
    return [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], side * points


def cube(side: float = 1.0) -> Shape:
    """Eight agents in space, 12 sides and a diagonal of each face, all six forming a tetrahedron:
    18 = 3n - 6 edges.
    """
    points = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    apart = {pair: int(np.sum(np.abs(points[pair[0]] - points[pair[1]]))) for pair in pairs}
    even = np.sum(points, axis=1) % 2 == 0
    edges = [p for p in pairs if apart[p] == 1] + [p for p in pairs if apart[p] == 2 and even[p[0]]]
    return edges, side * points


def henneberg(
    n: int, dimension: int = 2, *, seed: int = 0, split: float = 0.5, spacing: float = 1.0
) -> Shape:
    """A random minimally rigid graph by Henneberg's moves, with positions about `spacing` apart.

    Each move adds an agent: joined to d others, or, with probability `split`, in the place of an
    edge whose two ends and d - 1 others it is joined to. An agent joins those nearby, so that edges
    stay short; the cost is O(n log n).
    """
    if dimension not in (2, 3) or n < dimension + 1:
        raise ValueError(
            f"henneberg needs dimension 2 or 3 and more agents than that; got n = {n!r}, dimension"
            f" = {dimension!r}."
        )
    from scipy.spatial import KDTree

    rng = np.random.default_rng(seed)
    d = dimension
    width = spacing * n ** (1 / d)
    points = rng.uniform(0, width, (n, d))
    # In the order of distance from a corner each new agent finds earlier ones beside it.
    points = points[np.argsort(np.linalg.norm(points, axis=1))]
    start = d + 1
    edges = {(i, j) for j in range(start) for i in range(j)}
    own: list[list[int]] = [[] for _ in range(n)]  # edges of each agent, for the second move
    for i, j in edges:
        own[i].append(j)
        own[j].append(i)
    tree, grown = None, 0
    for k in range(start, n):
        if tree is None or k > 2 * grown or k - grown > 200:
            tree, grown = KDTree(points[:k]), k
        near = np.unique(np.atleast_1d(tree.query(points[k], k=min(2 * d + 2, grown))[1]))
        near = near[np.argsort(np.linalg.norm(points[near] - points[k], axis=1))]
        removed = None
        if rng.uniform() < split:
            removed = next(((int(i), j) for i in near for j in own[i] if j in near), None)
        if removed is None:
            ends = [int(i) for i in near[:d]]
        else:
            i, j = removed
            own[i].remove(j)
            own[j].remove(i)
            edges.discard((min(i, j), max(i, j)))
            ends = [i, j, *[int(m) for m in near if m not in removed][: d - 1]]
        for i in ends:
            edges.add((i, k))
            own[i].append(k)
            own[k].append(i)
    return sorted(edges), points


def rigid(edges: list[tuple[int, int]], positions: np.ndarray) -> bool:
    """Whether (edges, positions) is infinitesimally rigid."""
    return infinitesimally_rigid(Graph(len(positions), edges), positions)
