"""Which products are added with one rounding.

Chosen here and not by LLVM: it looks at one block of machine code at a time, and chooses otherwise
where the same program has other blocks, or vectors in the place of numbers. So a program has the
same digits for one run and for many side by side.
"""

from collections import Counter
from collections.abc import Iterator

from accion.engines.kinds import FLOAT
from accion.engines.needed import arguments
from accion.engines.values import Branches, Item, Loop, Region, Value


def items_of(region: Region) -> Iterator[Item]:
    """All that stands in a region and in those inside it, in the order of computation."""
    for item in region.items:
        yield item
        if isinstance(item, Loop):
            yield from items_of(item.header)
            yield from items_of(item.body)
        elif isinstance(item, Branches):
            for inner in item.regions:
                yield from items_of(inner)


def fused(top: Region, live: set[int]) -> dict[int, Value]:
    """The product that is a part of each sum or difference, by the number of the sum.

    Only one that nothing else uses, and that is computed as often as the sum: the first of two.
    """
    needed = [item for item in items_of(top) if item.id in live]
    uses = Counter(a.id for item in needed for a in arguments(item))
    # What is carried is no item of its own, and is used where it starts and ends.
    for loop in needed:
        if isinstance(loop, Loop):
            uses.update(a.id for c in loop.carried if c.id in live for a in arguments(c))

    def alone(a: Value, region: Region) -> bool:
        return a.op == "mul" and a.kind == FLOAT and a.region is region and uses[a.id] == 1

    found: dict[int, Value] = {}
    for item in needed:
        if isinstance(item, Value) and item.op in ("add", "sub") and item.kind == FLOAT:
            for a in item.args:
                if alone(a, item.region):
                    found[item.id] = a
                    break
    return found
