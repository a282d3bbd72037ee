"""Which values of a program differ from lane to lane.

All real numbers are vectors: an operation on a vector costs what one on a number does. Whole
numbers and truth values that are the same in all lanes stay single, so that a loop over rows or
steps counts once for all, and needs no mask.
"""

from collections.abc import Collection

from accion.engines.fused import items_of
from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT
from accion.engines.needed import arguments
from accion.engines.values import Branches, Item, Loop, Value


def varying(graph: Graph, live: set[int], shared: Collection[str]) -> set[int]:
    """The ids of the values that are vectors; `shared` are the buffers that all lanes read."""
    found: set[int] = set()
    waiting = [item for item in items_of(graph.top) if item.id in live]
    for item in list(waiting):
        if isinstance(item, Loop):
            waiting.extend(c for c in item.carried if c.id in live)
    before = -1
    while len(found) > before:
        before = len(found)
        for item in waiting:
            if item.id not in found and differs(item, found, shared):
                found.add(item.id)
    return found


def differs(item: Item, found: set[int], shared: Collection[str]) -> bool:
    """Whether a value is a vector, as far as is known from those that were `found` to be such."""
    if not isinstance(item, Value) or item.op == "store":
        return False
    if item.kind == FLOAT or item.op == "argument":
        return item.kind == FLOAT
    if item.op == "load" and item.args[0] not in shared:
        return True
    above: list[Item] = list(arguments(item))
    if item.op == "carried":  # lanes leave a loop at different times
        above.append(item.args[0].test)
    elif item.op == "result":
        made = item.args[0]
        if not isinstance(made, Branches):  # calls are made for each lane
            return True
        above.append(made.index)
    return any(a.id in found for a in above)
