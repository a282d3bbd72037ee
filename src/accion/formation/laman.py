"""Rigidity of a graph in the plane by counting: the pebble game (Jacobs and Hendrickson 1997), O(n
m).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from accion.arguments import door, instance
from accion.formation.graph import Graph
from accion.told import Told


@final
@dataclass(frozen=True, repr=False)
class Laman(Told):
    """Whether a graph has 2n - 3 edges of which no k agents span more than 2k - 3 (Laman 1970):
    generically minimally rigid in the plane.

    `independent` and `dependent` are edges by number: a largest set of which every k agents span at
    most 2k - 3, and the rest. `overcounted` are agents that span too many edges, empty where there
    are none.
    """

    n: int
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    overcounted: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether it is a Laman graph."""
        return not self.dependent and self.rigid

    @property
    def rigid(self) -> bool:
        """Whether the graph is generically rigid: it has 2n - 3 independent edges."""
        return len(self.independent) == 2 * self.n - 3

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"the graph is a Laman graph: {2 * self.n - 3} edges, all independent."
        words: list[str] = []
        if self.overcounted:
            k = len(self.overcounted)
            words.append(
                f"agents {', '.join(map(str, self.overcounted))} have more than 2*{k} - 3 ="
                f" {2 * k - 3} edges among them"
            )
        missing = 2 * self.n - 3 - len(self.independent)
        if missing:
            words.append(f"{missing} of {2 * self.n - 3} independent edges are missing")
        return f"not a Laman graph: {'; '.join(words)}."


@door(graph=instance(Graph, "a Graph"))
def laman(graph: Graph) -> Laman:
    """The count of Laman for a `Graph` in the plane, by the pebble game.

    Each agent has two pebbles, one for each coordinate; an edge that is accepted takes one from an
    end. An edge is independent of those before it where four pebbles can be brought to its ends.
    """
    # of each agent, the heads of the edges that its pebbles lie on
    covered: list[list[int]] = [[] for _ in range(graph.n)]
    independent: list[int] = []
    dependent: list[int] = []
    overcounted: tuple[int, ...] = ()
    for w, (a, b) in enumerate(graph.edges.tolist()):
        while len(covered[a]) > 0 and fetch(covered, a, b):
            pass
        while len(covered[b]) > 0 and fetch(covered, b, a):
            pass
        if len(covered[a]) + len(covered[b]) == 0:
            covered[a].append(b)
            independent.append(w)
            continue
        dependent.append(w)
        if not overcounted:
            overcounted = tuple(sorted(reach(covered, (a, b))))
    return Laman(graph.n, tuple(independent), tuple(dependent), overcounted)


def fetch(covered: list[list[int]], root: int, other: int) -> bool:
    """Bring one pebble to `root` along a path of covered edges, leaving those of `other` where they
    are. False where none is free.
    """
    parent: dict[int, int | None] = {root: None, other: None}
    stack = [root]
    while stack:
        i = stack.pop()
        for j in covered[i]:
            if j in parent:
                continue
            parent[j] = i
            if len(covered[j]) < 2:
                while (before := parent[j]) is not None:  # turn the edges of the path round
                    covered[before].remove(j)
                    covered[j].append(before)
                    j = before
                return True
            stack.append(j)
    return False


def reach(covered: list[list[int]], roots: Iterable[int]) -> set[int]:
    """All agents that the covered edges lead to from `roots`: they hold 3 free pebbles, so that
    they have 2k - 3 edges without the new one.
    """
    found, stack = set(roots), list(roots)
    while stack:
        for j in covered[stack.pop()]:
            if j not in found:
                found.add(j)
                stack.append(j)
    return found


def spanned(graph: Graph, agents: Iterable[int]) -> int:
    """How many edges have both ends among `agents`."""
    inside = np.isin(graph.edges, np.asarray(list(agents), dtype=int))
    return int(np.sum(inside.all(axis=1)))
