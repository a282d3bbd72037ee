"""What of a program is needed: the rest is not written."""

from collections.abc import Sequence

from accion.engines.graph import Graph
from accion.engines.values import Abreast, Branches, Call, DenseSolve, Item, Loop, Region, Value


def needed(graph: Graph) -> set[int]:
    """The ids of all that what is stored or given needs."""
    live: set[int] = set()
    waiting: list[Item] = []

    def roots(region: Region, around: list[Item]) -> None:
        for item in region.items:
            if isinstance(item, Value):
                if item.op in ("store", "give"):
                    waiting.extend([item, *around])
            elif isinstance(item, Loop):
                roots(item.header, [*around, item])
                roots(item.body, [*around, item])
            elif isinstance(item, Branches):
                for inner in item.regions:
                    roots(inner, [*around, item])

    roots(graph.top, [])
    while waiting:
        item = waiting.pop()
        if item.id not in live:
            live.add(item.id)
            waiting.extend(arguments(item))
    return live


def arguments(item: Item) -> Sequence[Item]:
    """What a value, a loop or a branch is computed from."""
    if isinstance(item, Loop):
        return [item.test]
    if isinstance(item, Branches):
        return [item.index]
    if isinstance(item, DenseSolve | Call | Abreast):
        return item.inputs
    if item.op == "carried":
        loop, i = item.args
        return [loop, loop.starts[i], loop.ends[i]]
    if item.op == "result":
        made, i = item.args
        return [made, *([o[i] for o in made.outcomes] if isinstance(made, Branches) else [])]
    if item.op in ("constant", "argument"):
        return []
    return [a for a in item.args if isinstance(a, Value)]
