"""Programs over single numbers that are carried out while they are made."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from accion.engines.arrays import entries
from accion.engines.errors import Unsupported
from accion.engines.interpreter import Interpreter
from accion.engines.primitives import RULES
from accion.engines.simplified import Simplified
from accion.engines.values import Value


class Numbers(Simplified):
    """All values are known: nothing is left of a program but its results."""

    def value(self, op: str, args: tuple[Any, ...], kind: str) -> NoReturn:
        raise Unsupported(f"the operation {op} on numbers")

    def unrolled(self, turns: int) -> bool:
        return True

    def loop(
        self,
        starts: Sequence[Value],
        test: Callable[[list[Value]], Value],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> list[Value]:
        values = list(starts)
        while test(values).args[0]:
            values = list(body(values))
        return values

    def branch(
        self, index: Value, branches: Sequence[Callable[[], Sequence[Value]]]
    ) -> list[Value]:
        return list(branches[min(max(index.args[0], 0), len(branches) - 1)]())

    def call(self, later: Any, types: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
        """What is compiled later elsewhere is carried out here at once."""
        closed = jax.make_jaxpr(later)(*[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types])
        sizes = np.cumsum([0, *[np.prod(t.shape, dtype=int) for t in types]])
        given = [
            np.array([*inputs[a:b], None], object)[:-1].reshape(t.shape)
            for a, b, t in zip(sizes, sizes[1:], types, strict=False)
        ]
        return entries(Interpreter(self, RULES).call(closed, given))
