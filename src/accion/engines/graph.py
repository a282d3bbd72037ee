"""Programs over single numbers: each entry of each array is a value; loops and branches are nested
regions.

Equal terms are computed once, and a term that does not change in a loop is computed before it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from accion.engines.kinds import FLOAT, INTEGER, kind_of
from accion.engines.simplified import Simplified
from accion.engines.values import Abreast, Branches, Call, DenseSolve, Loop, Region, Value

UNROLLED = 64  # turns of a loop of fixed length that are written out
COMMUTES = {"add", "mul", "max", "min", "and", "or", "xor", "eq", "ne"}


class Graph(Simplified):
    """A program under construction."""

    # ------------------------------------------------------------------ values

    def home(self, args: Sequence[Value]) -> tuple[Region, int]:
        """(the outermost region in which the value is computed no more often than here, the depth
        of its arguments).
        """
        depth = max((a.region.depth for a in args), default=0)
        region = self.current
        while True:
            outside = region.outside
            if outside is None or depth > outside.depth:
                return region, depth
            region = outside

    def value(self, op: str, args: tuple[Value, ...], kind: str) -> Value:
        """The operation on these values, in the region where it is computed least often."""
        if op in COMMUTES and args[0].id > args[1].id:
            args = (args[1], args[0])
        region, depth = self.home(args)
        key = (op, kind, *[a.id for a in args])
        where = region
        while where is not None and where.depth >= depth:
            if key in where.computed:
                return where.computed[key]
            where = where.parent
        found = region.computed[key] = self.fresh(op, args, kind, region)
        region.items.append(found)
        return found

    def load(self, buffer: str, slot: int | Value, kind: str) -> Value:
        """The number in `slot` (a number or an integer value) of a buffer."""
        found = self.fresh("load", (buffer, slot), kind, self.current)
        self.current.items.append(found)
        return found

    def store(self, buffer: str, slot: int | Value, value: Value) -> None:
        """Write a value to the `slot` of a buffer."""
        self.current.items.append(
            self.fresh("store", (buffer, slot, value), value.kind, self.current)
        )

    def argument(self, name: str, kind: str = INTEGER) -> Value:
        """An argument of the whole program."""
        found = self.fresh("argument", (name,), kind, self.top)
        self.top.items.append(found)
        return found

    def give(self, results: Sequence[Value]) -> None:
        """End a program that is a function of numbers, with its results."""
        self.top.items.append(self.fresh("give", tuple(results), FLOAT, self.top))

    # ------------------------------------------------------------------ control flow

    def unrolled(self, turns: int) -> bool:
        return turns <= UNROLLED

    def loop(
        self,
        starts: Sequence[Value],
        test: Callable[[list[Value]], Value],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """The values after `while test(values): values = body(values)`."""
        outer = self.current
        header = Region(outer, "header")
        self.count += 1
        made = Loop(self.count, list(starts), header, Region(header, "body"))
        made.carried = [
            self.fresh("carried", (made, i), v.kind, header) for i, v in enumerate(starts)
        ]
        self.current = header
        made.test = test(made.carried)
        self.current = made.body
        made.ends = list(body(made.carried))
        self.current = outer
        outer.items.append(made)
        results = [self.fresh("after", (c,), c.kind, outer) for c in made.carried]
        outer.items.extend(results)
        return results

    def branch(
        self, index: Value, branches: Sequence[Callable[[], Sequence[Value]]]
    ) -> list[Value]:
        """The values of the branch, a function without arguments, that the integer `index` names;
        the last one beyond them.
        """
        if index.is_constant:
            return list(branches[min(max(index.args[0], 0), len(branches) - 1)]())
        outer, regions, outcomes = self.current, [], []
        for f in branches:
            self.current = Region(outer, "branch")
            regions.append(self.current)
            outcomes.append(list(f()))
            self.current = outer
        self.count += 1
        made = Branches(self.count, index, regions, outcomes)
        outer.items.append(made)
        made.results = [
            self.fresh("result", (made, i), v.kind, outer) for i, v in enumerate(outcomes[0])
        ]
        outer.items.extend(made.results)
        return made.results

    def dense_solve(self, inputs: list[Value], size: int) -> list[Value]:
        """x with A x = b of `size` unknowns; `inputs` are the rows of A, then b."""
        self.count += 1
        made = DenseSolve(self.count, size, inputs)
        self.current.items.append(made)
        made.results = [self.fresh("result", (made, i), FLOAT, self.current) for i in range(size)]
        self.current.items.extend(made.results)
        return made.results

    def abreast(
        self,
        inner: "Graph",
        shared: Sequence[Value],
        rows: Sequence[Sequence[Value]],
        table: Sequence[Sequence[Any]],
        kinds: Sequence[str],
    ) -> list[Value]:
        """What the program `inner` gives for each row, numbers of these kinds; see `Abreast`."""
        self.count += 1
        made = Abreast(
            self.count, inner, list(shared), list(map(list, rows)), list(map(list, table))
        )
        self.current.items.append(made)
        made.results = [
            self.fresh("result", (made, i), k, self.current)
            for i, k in enumerate([*kinds] * len(made.rows))
        ]
        self.current.items.extend(made.results)
        return made.results

    def call(self, later: Any, types: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
        """The entries of what the function `later` of arrays of these types gives."""
        self.count += 1
        made = Call(self.count, later, list(types), list(inputs))
        self.current.items.append(made)
        kinds = [kind_of(t.dtype) for t in later.types for _ in range(math.prod(t.shape))]
        made.results = [
            self.fresh("result", (made, i), k, self.current) for i, k in enumerate(kinds)
        ]
        self.current.items.extend(made.results)
        return made.results
