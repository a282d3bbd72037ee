"""What each entry of a result is computed from: by the operations that are left once constants are
folded and factors of zero have vanished, not by values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from accion.engines.arrays import entries
from accion.engines.errors import Traced, Unsupported
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter
from accion.engines.needed import arguments
from accion.engines.primitives import RULES
from accion.engines.programs import MOST, loaded, slots, traced
from accion.engines.values import Value


class Entry(NamedTuple):
    """One number of a result: what it is where it is known, and which entries of which arguments
    (leaf, index) it is computed from.
    """

    constant: float | None
    sources: frozenset[tuple[int, int]]

    def sees(self, leaf: int) -> bool:
        """Whether it is computed from the argument of this number."""
        return any(each == leaf for each, _ in self.sources)


def reached(f: Callable[..., Any], *examples: Any) -> list[Entry] | None:
    """An `Entry` for each number that `f` returns, its arguments counted by their leaves; None
    where it has operations that cannot be taken apart.
    """
    try:
        closed, _ = traced(f, *examples)
        graph = Graph()
        given = loaded(graph, "inputs", closed.in_avals)
        results = Interpreter(graph, RULES, 4 * MOST).call(closed, given)
    except (Traced, Unsupported):
        return None
    sizes = slots(closed.in_avals)
    places = [(leaf, i) for leaf, size in enumerate(sizes) for i in range(size)]
    return [entry_of(value, places) for value in entries(results)]


def entry_of(value: Any, places: list[tuple[int, int]]) -> Entry:
    """What one value is, and what it is computed from."""
    if value.is_constant:
        return Entry(float(value.args[0]), frozenset())
    seen: set[int] = set()
    found: set[tuple[int, int]] = set()
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if item.id in seen:
            continue
        seen.add(item.id)
        if isinstance(item, Value) and item.op == "load":
            found.add(places[item.args[1]])
        waiting.extend(arguments(item))
    return Entry(None, frozenset(found))
