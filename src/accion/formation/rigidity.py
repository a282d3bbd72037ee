"""Rigidity of a framework (graph, positions): its matrix and rank, edges that are redundant or
missing, congruence (Colombo-Gamonal, section 6.1).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from accion.arguments import door, finite, instance, not_negative, reals, whole, wrong
from accion.formation.graph import Graph
from accion.memory import check_room
from accion.types import ArrayLike

ROUNDOFF = 1e-10  # singular values below it, relative to the largest, count as zero


a_graph = instance(Graph, "a Graph")


def check_positions(graph: Graph, q: ArrayLike) -> np.ndarray:
    """`q` as an array of shape (n, d), from that or from a flat vector.

    Raises: ValueError where it is neither, or not finite.
    """
    a_graph(graph, "graph")
    points = np.asarray(reals(q, "q", "positions of agents"))
    if points.ndim == 1 and points.size % graph.n == 0:
        points = points.reshape(graph.n, -1)
    if points.ndim != 2 or len(points) != graph.n or points.shape[1] not in (1, 2, 3):
        raise ValueError(
            f"positions must have shape ({graph.n}, d) with d = 2 or 3; got shape {np.shape(q)}."
        )
    if not np.all(np.isfinite(points)):
        raise ValueError("positions q must be finite.")
    return points


def shape_of(edges: Any, positions: ArrayLike) -> tuple[Graph, np.ndarray, np.ndarray]:
    """(graph, positions, distances along its edges) of a shape.

    Raises: ValueError where positions are not of two agents or more, in the plane or in space.
    """
    points = np.asarray(finite(positions, "positions"))
    if points.ndim != 2 or len(points) < 2 or points.shape[1] not in (2, 3):
        raise ValueError(
            "positions must have shape (n, d), two agents or more in R^2 or R^3; got shape"
            f" {points.shape}."
        )
    graph = edges if isinstance(edges, Graph) else Graph(len(points), edges)
    return graph, points, np.linalg.norm(relative_positions(graph, points), axis=1)


def relative_positions(graph: Graph, q: ArrayLike) -> np.ndarray:
    """z = B^T q, the row q_i - q_j for each edge (i, j), shape (m, d)."""
    points = check_positions(graph, q)
    return points[graph.tails] - points[graph.heads]


def rigidity_matrix(graph: Graph, q: ArrayLike) -> np.ndarray:
    """R = D(z)^T Bbar^T, shape (m, n d): half the derivative of the squared distances
    (Colombo-Gamonal, section 6.1, where the transpose is missing).
    """
    z = relative_positions(graph, q)
    m, d = z.shape
    R = np.zeros((m, graph.n, d))
    rows = np.arange(m)
    R[rows, graph.tails] = z
    R[rows, graph.heads] = -z
    return R.reshape(m, graph.n * d)


def numerical_rank(R: np.ndarray) -> int:
    """The rank of a matrix, to roundoff."""
    s = np.linalg.svd(R, compute_uv=False)
    return int(np.sum(s > ROUNDOFF * s[0])) if s.size and s[0] > 0 else 0


def rank(graph: Graph, q: ArrayLike) -> int:
    """The rank of the rigidity matrix."""
    return numerical_rank(rigidity_matrix(graph, q))


def full_rank(n: int, d: int) -> int:
    """n d - d (d + 1)/2, the rank of a rigid framework: 2n - 3 in the plane, 3n - 6 in space; of
    fewer than d agents n (n - 1)/2.
    """
    return n * d - d * (d + 1) // 2 if n >= d else n * (n - 1) // 2


def infinitesimally_rigid(graph: Graph, q: ArrayLike) -> bool:
    """Whether only translations and rotations leave the distances as they are, to first order."""
    return rank(graph, q) == full_rank(*check_positions(graph, q).shape)


def minimally_rigid(graph: Graph, q: ArrayLike) -> bool:
    """Whether it is infinitesimally rigid and has no edge more than it needs."""
    return infinitesimally_rigid(graph, q) and graph.m == full_rank(
        *check_positions(graph, q).shape
    )


def redundant(graph: Graph, q: ArrayLike) -> list[int]:
    """The edges, by number, each of which could be taken away (alone) without loss of rank: those
    with a share in a self-stress.
    """
    R = rigidity_matrix(graph, q)
    u, s, _ = np.linalg.svd(R)
    r = int(np.sum(s > ROUNDOFF * s[0]))
    stresses = u[:, r:]  # w with w R = 0; an edge is redundant where some stress is not zero on it
    return (
        []
        if stresses.shape[1] == 0
        else np.flatnonzero(np.linalg.norm(stresses, axis=1) > ROUNDOFF**0.5).tolist()
    )


def missing(graph: Graph, q: ArrayLike) -> list[tuple[int, int]]:
    """The pairs of agents each of which would, as an edge, raise the rank."""
    points = check_positions(graph, q)
    R = rigidity_matrix(graph, q)
    _, s, v = np.linalg.svd(R)
    r = int(np.sum(s > ROUNDOFF * s[0]))
    free = v[r:].reshape(-1, *points.shape)  # motions that keep all distances to first order
    there = {tuple(sorted(edge)) for edge in graph.edges.tolist()}
    scale = np.max(np.linalg.norm(points - points.mean(axis=0), axis=1))
    found: list[tuple[int, int]] = []
    for i, j in combinations(range(graph.n), 2):
        stretch = np.sum((free[:, i] - free[:, j]) * (points[i] - points[j]), axis=1)
        if (i, j) not in there and np.linalg.norm(stretch) > ROUNDOFF**0.5 * scale:
            found.append((i, j))
    return found


@final
@dataclass(frozen=True)
class Congruence:
    """How two shapes compare: "same" (a translation and a rotation take one to the other),
    "mirrored" (with a reflection), or "different".

    `distance` is the largest that is left between corresponding agents after the best motion, with
    a reflection where that is better.
    """

    kind: str
    distance: float

    def __bool__(self) -> bool:
        return self.kind != "different"


@door(tolerance=not_negative)
def congruent(q1: ArrayLike, q2: ArrayLike, tolerance: float = 1e-6) -> Congruence:
    """Whether two configurations, each of shape (n, d), have all distances equal: up to
    translations, rotations and reflections.

    `tolerance` is relative to the size of the shape. The best motion is that of Kabsch (1976), with
    and without reflection. Shapes that are their own mirror image (all in a line or, in space, in a
    plane) are "same".

    Raises: ValueError where they have not the same shape (n, d).
    """
    a, b = np.asarray(finite(q1, "q1")), np.asarray(finite(q2, "q2"))
    if a.ndim != 2 or a.shape != b.shape or not a.size:
        raise ValueError(
            f"q1 and q2 must be two configurations of the same shape (n, d); got {a.shape} and"
            f" {b.shape}."
        )
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    best: dict[str, float] = {}
    for kind, sign in (("same", 1.0), ("mirrored", -1.0)):
        flip = np.ones(a.shape[1])
        flip[-1] = sign * np.linalg.det(u @ vt)
        best[kind] = float(np.max(np.linalg.norm(a @ ((u * flip) @ vt) - b, axis=1)))
    size = max(np.max(np.linalg.norm(a, axis=1)), np.max(np.linalg.norm(b, axis=1)))
    for kind in ("same", "mirrored"):
        if best[kind] <= tolerance * size:
            return Congruence(kind, best[kind])
    return Congruence("different", min(best.values()))


def pair_distances(q: ArrayLike) -> np.ndarray:
    """The distances of all pairs of agents, shape (..., n (n - 1)/2), of configurations of shape
    (..., n, d).
    """
    q = np.asarray(reals(q, "q"))
    if q.ndim < 2:
        wrong("q", "configurations of shape (..., n, d)", q)
    i, j = np.triu_indices(q.shape[-2], 1)
    return np.linalg.norm(q[..., i, :] - q[..., j, :], axis=-1)


def pair_angles(R: np.ndarray) -> np.ndarray:
    """The angles between all pairs of attitudes, shape (..., n (n - 1)/2), of rotations of shape
    (..., n, d, d).
    """
    i, j = np.triu_indices(R.shape[-3], 1)
    return angles_between(R[..., i, :, :], R[..., j, :, :])


def angles_between(R: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The angle of R^T S, of rotations of shape (..., d, d)."""
    # |R - S|^2 = 4 (1 - cos phi) = 8 sin^2(phi/2)
    half = np.sqrt(np.sum((R - S) ** 2, axis=(-2, -1)) / 8)
    return 2 * np.arcsin(np.minimum(half, 1.0))


def complete(n: int) -> Graph:
    """The graph with all edges."""
    check_room(whole(n, "n", 2) ** 2 * 64, f"n = {n}", "Take fewer agents.")
    return Graph(n, list(combinations(range(n), 2)))


def congruence_by_distances(shape: np.ndarray, points: np.ndarray, tolerance: float) -> str:
    """As `congruent`, by the rule of Colombo-Gamonal: all distances within `tolerance` of their
    own.

    The best motion reflects where the determinant is < 0.
    """
    wanted = pair_distances(shape)
    if np.any(np.abs(pair_distances(points) - wanted) > tolerance * wanted):
        return "different"
    turn = np.linalg.det((points - points.mean(axis=0)).T @ (shape - shape.mean(axis=0)))
    return "mirrored" if turn < 0 else "same"
