"""The members of a chunk as machine code of single numbers, for small systems.

Three programs, each over rows in memory, some of them side by side in the lanes of a vector: the
members' beginnings, some of their steps, their ends.
What a member carries stands in memory between them, so the digits do not depend on where its steps
were cut, nor on who is run together with it.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from accion.campaign.chunks import Carry, Given, Members, Raised
from accion.campaign.plans import digest
from accion.engines import auto
from accion.engines.xla import of_leaves
from accion.progress import fitting
from accion.systems.content import content_of

FIRST = 256  # steps, before it is known how long they take


class Rows:
    """A function (constants, row) of one member, made ready for the rows of many.

    Raises:
        ValueError: where `engine` is "native" and it does not serve; None is its program where it
            is "auto".
    """

    def __init__(
        self, name: Hashable, f: Callable[[Any, Any], Any], constants: Any, row: Any, engine: str
    ) -> None:
        leaves, tree = jax.tree.flatten((constants, row))
        jaxpr, found = jax.make_jaxpr(of_leaves(f, tree), return_shape=True)(*leaves)
        self.found, self.digest = found, content_of(jaxpr).digest
        # Only evaluated from now on: tracing the steps of a motion takes long.
        flat, out = jaxpr_as_fun(jaxpr), jax.tree.structure(found)

        def again(constants: Any, row: Any) -> Any:
            return jax.tree.unflatten(out, flat(*jax.tree.leaves((constants, row))))

        # Kept by what was traced: reductions are other functions each time that they are made.
        name = ("campaign", name, self.digest, out)
        self.program = auto.native("mapped", name, again, constants, row, engine=engine)

    def __call__(self, constants: Any, rows: Any, count: int) -> Any:
        """The results of the first `count` rows."""
        return self.program(constants, rows, count)

    def zeros(self) -> Any:
        """Something like its results of one row."""
        return jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), self.found)


def by_native(given: Given, engine: str) -> "ByNative | None":
    """The members by the native engine; None where XLA must serve.

    Raises:
        ValueError: where `engine` is "native" and it does not serve.
    """
    runner, numbers, rows, name, *_ = given
    row = [column[0] for column in rows]
    large = auto.size((numbers, row)) > auto.LARGEST  # known before anything is traced
    if engine == "xla" or not auto.AVAILABLE or (large and engine == "auto"):
        return None

    def begin(numbers: Any, row: Any) -> Carry:
        return runner(numbers, row).begin()

    def march(constants: Any, row: Any) -> Carry:
        numbers, first, last = constants
        own, carry = row
        return jax.lax.fori_loop(first, last, runner(numbers, own).turn, carry)

    def end(numbers: Any, row: Any) -> Any:
        own, carry = row
        return runner(numbers, own).end(carry)

    # One by one: what cannot be translated is seldom in one of them alone.
    begins = Rows(name, begin, numbers, row, engine)
    if begins.program is None:
        return None
    step, under_way = np.asarray(0), (row, begins.zeros())
    marches = Rows(name, march, (numbers, step, step), under_way, engine)
    if marches.program is None:
        return None
    ends = Rows(name, end, numbers, under_way, engine)
    return None if ends.program is None else ByNative(given, (begins, marches, ends))


class ByNative(Members):
    """Machine code, used by all threads; see `by_native`."""

    engine = "native"

    def __init__(self, given: Given, parts: Sequence[Rows]) -> None:
        self.given, self.parts, self.shapes = given, parts, parts[-1].found
        self.budget = FIRST

    @property
    def digest(self) -> str:
        """Of the operations with the constants in them, the numbers, and the functions of the
        system, of which some are used in code that is traced when it is first needed.
        """
        words = [part.digest for part in self.parts]
        words += [f.trace.content.digest for f in self.given.functions]
        words.append(str(jax.tree.structure(self.shapes)))
        return digest("\n".join(words).encode() + self.given.bytes)

    def run(
        self, rows: list[np.ndarray], count: int, go_on: Callable[[], None]
    ) -> tuple[Any, Raised]:
        begins, marches, ends = self.parts
        numbers, steps = self.given.numbers, self.given.steps
        found, done = [], 0
        while done < count:
            # So many together that their steps fill the time until it returns; one that is longer
            # alone.
            size = max(1, min(count - done, self.budget // steps))
            own = [column[done : done + size] for column in rows]
            carry, k = begins(numbers, own, size), 0
            while k < steps:
                go_on()
                last = min(steps, k + max(1, self.budget // size))
                began = time.perf_counter()
                given = (numbers, np.asarray(k), np.asarray(last))
                carry = marches(given, (own, carry), size)
                self.budget = fitting(size * (last - k), time.perf_counter() - began)
                k = last
            found.append(ends(numbers, (own, carry), size))
            done += size
        return jax.tree.map(lambda *parts: np.concatenate(parts), *found), {}
