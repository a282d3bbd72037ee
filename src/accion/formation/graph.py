"""Who measures the distance to whom: an undirected graph with ordered edges (Colombo-Gamonal,
section 6.1).
"""

from functools import cached_property
from typing import Any, final

import numpy as np

from accion.arguments import as_array, reals, shown
from accion.memory import check_room


@final
class Graph:
    """`n` agents, numbered from 0, and edges (tail, head): an array of shape (m, 2).

    It does not change, and is compared by value.
    """

    def __init__(self, n: int, edges: Any) -> None:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
            raise ValueError(f"a graph needs a number of agents n >= 2; got {shown(n)}.")
        check_room(int(n) * 64, f"n = {n}", "Take fewer agents.")
        self.n = int(n)
        self.edges = check_edges(self.n, edges)

    def __repr__(self) -> str:
        return f"Graph({self.n} agents, {self.m} edges)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Graph)
            and self.n == other.n
            and np.array_equal(self.edges, other.edges)
        )

    @cached_property
    def _hash(self) -> int:
        return hash((self.n, self.edges.tobytes()))

    def __hash__(self) -> int:
        return self._hash

    @property
    def m(self) -> int:
        """The number of edges."""
        return len(self.edges)

    @property
    def tails(self) -> np.ndarray:
        """The agents that the edges begin at, shape (m,)."""
        return self.edges[:, 0]

    @property
    def heads(self) -> np.ndarray:
        """The agents that the edges end at, shape (m,)."""
        return self.edges[:, 1]

    def incidence(self) -> np.ndarray:
        """B, shape (n, m): +1 at the tail of an edge, -1 at its head.

        For eyes and small graphs; nothing in a step uses it.
        """
        B = np.zeros((self.n, self.m))
        B[self.tails, np.arange(self.m)] = 1
        B[self.heads, np.arange(self.m)] = -1
        return B

    def laplacian_bound(self) -> float:
        """The largest eigenvalue of B B^T; beyond 500 agents the bound max (degree of tail + degree
        of head).
        """
        if self.n <= 500:
            B = self.incidence()
            return float(np.linalg.eigvalsh(B @ B.T)[-1])
        return float(np.max(self.degrees[self.tails] + self.degrees[self.heads]))

    @cached_property
    def degrees(self) -> np.ndarray:
        """How many neighbours each agent has, shape (n,)."""
        return np.bincount(self.edges.ravel(), minlength=self.n)

    def neighbours(self, i: int) -> np.ndarray:
        """The agents that `i` has an edge with, in increasing order.

        Raises: ValueError where there is no such agent.
        """
        if not 0 <= i < self.n:
            raise ValueError(f"there is no agent {i}; they are numbered from 0 to {self.n - 1}.")
        return np.sort(np.concatenate([self.heads[self.tails == i], self.tails[self.heads == i]]))

    @cached_property
    def connected(self) -> bool:
        """Whether every agent can be reached from every other."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        links = coo_array((np.ones(self.m), (self.tails, self.heads)), shape=(self.n, self.n))
        return int(connected_components(links, directed=False, return_labels=False)) == 1


def check_edges(n: int, edges: Any) -> np.ndarray:
    """`edges` as a read-only array of integers, shape (m, 2).

    Raises: ValueError that names the first that is wrong.
    """
    given = as_array(edges)
    if (
        given is None
        or given.ndim != 2
        or given.shape[1] != 2
        or len(given) == 0
        or not np.issubdtype(given.dtype, np.integer)
    ):
        raise ValueError(
            f"edges must be pairs (tail, head) of agents, such as [(0, 1), (1, 2)]; got"
            f" {shown(edges)}."
        )
    given = np.asarray(given)
    outside = np.flatnonzero(np.any((given < 0) | (given >= n), axis=1))
    if len(outside):
        w = outside[0]
        raise ValueError(
            f"edge {w} is {tuple(given[w].tolist())}, but the {n} agents are numbered from 0 to"
            f" {n - 1}."
        )
    found = np.array(given, dtype=np.int32)
    loops = np.flatnonzero(found[:, 0] == found[:, 1])
    if len(loops):
        raise ValueError(f"edge {loops[0]} joins agent {found[loops[0], 0]} with itself.")
    _, first, count = np.unique(
        np.sort(found, axis=1), axis=0, return_index=True, return_counts=True
    )
    if np.any(count > 1):
        pair = np.sort(found[first[np.argmax(count > 1)]])
        raise ValueError(
            f"the edge between agents {pair[0]} and {pair[1]} is there twice; one is enough, in"
            " either direction."
        )
    found.flags.writeable = False
    return found


def check_numbers(what: str, values: Any, count: int, of: str, *, zero: bool = False) -> np.ndarray:
    """One number for each of `count` things, from as many or from one for all; all above zero, or
    `zero` too.

    Raises: ValueError that says which is wrong.
    """
    given = np.asarray(reals(values, what, f"a number, or one for each {of}"))
    if given.shape not in ((), (count,)):
        raise ValueError(
            f"{what} must be one number, or one for each of the {count} {of}s; got shape"
            f" {given.shape}."
        )
    found = np.broadcast_to(given, (count,)).copy()
    wrong = np.flatnonzero(~(np.isfinite(found) & ((found > 0) | (zero & (found == 0)))))
    if len(wrong):
        words = "zero or above" if zero else "above 0"
        raise ValueError(
            f"{what} must be finite and {words}; got {found[wrong[0]]} for {of} {wrong[0]}."
        )
    found.flags.writeable = False
    return found


def graph_of(edges: Any, agents: int | None) -> Graph:
    """A graph as it is given, or of pairs of agents; their number is the largest that is named,
    where it is not given.
    """
    if isinstance(edges, Graph):
        return edges
    given: Any = as_array(edges)
    if agents is None:
        agents = 2
        if given is not None and given.size and np.issubdtype(given.dtype, np.integer):
            agents = max(2, int(np.max(given)) + 1)
    return Graph(agents, edges)
