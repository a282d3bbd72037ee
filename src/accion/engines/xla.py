"""XLA's programs, kept by the structure of what they are given, and no more than so many.

`jax.jit` keeps every program for as long as its function lives, some 5 MB each. A program for other
structures (another system, another method) is here a function of its own, and those that were used
longest ago are dropped, with all that JAX holds of them.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakSet

import jax

PROGRAMS = 64  # of each function
ALL = 256  # of all functions, of which there are many


def of_leaves(f: Callable[..., Any], tree: Any) -> Callable[..., Any]:
    """`f` as a function of the leaves of its arguments, whose structure is `tree`.

    JAX keeps structures that it has seen, and a system with them, for longer than what it compiled:
    so it is shown none.
    """
    return lambda *leaves: f(*jax.tree.unflatten(tree, leaves))


class KeptJit:
    """`jax.jit(f)`, which keeps the programs of the last structures of its arguments only.

    Arguments that are static, by their number or by a name that they are given by, are compared by
    value.
    """

    def __init__(self, f: Callable[..., Any], static_argnums: Any, static_argnames: Any) -> None:
        self.f, self.numbers, self.names = f, frozenset(static_argnums), frozenset(static_argnames)
        # each with the time when it was used last, that used longest ago first
        self.programs: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        with LOCK:
            ALIVE.add(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        places = (*enumerate(args), *named.items())
        fixed = {at: value for at, value in places if at in self.numbers or at in self.names}
        given = {at: value for at, value in places if at not in fixed}
        leaves, tree = jax.tree.flatten(list(given.values()))
        key = (tree, tuple(given), tuple(fixed.items()))
        return self.program(key, fixed)(*leaves)

    def program(self, key: Any, fixed: dict[Any, Any]) -> Any:
        """The function that JAX compiled, or will, for such arguments."""
        with LOCK:
            found, used = self.programs.get(key, (None, 0))
            if found is None:
                found = self.new(key[0], key[1], fixed)
            self.programs[key] = found, next(CLOCK)
            self.programs.move_to_end(key)
            if not used:
                self.drop_oldest()
        return found

    def drop_oldest(self) -> None:
        """Drop what was used longest ago, of this function and of all."""
        while len(self.programs) > PROGRAMS:
            self.programs.popitem(last=False)
        for _ in range(sum(len(each.programs) for each in ALIVE) - ALL):
            kept = [each.programs for each in ALIVE if each.programs]
            oldest = min(kept, key=lambda programs: next(iter(programs.values()))[1])
            oldest.popitem(last=False)

    def new(self, tree: Any, places: tuple[Any, ...], fixed: dict[Any, Any]) -> Any:
        """A program that is not there yet."""

        def called(*given: Any) -> Any:
            values = dict(zip(places, given, strict=True)) | fixed
            named = {at: value for at, value in values.items() if isinstance(at, str)}
            return self.f(*(values[i] for i in range(len(values) - len(named))), **named)

        return jax.jit(of_leaves(called, tree))

    def count(self) -> int:
        """How many programs there are."""
        return sum(program._cache_size() for program, _ in self.programs.values())


LOCK = Lock()
CLOCK = count(1)
ALIVE: WeakSet[KeptJit] = WeakSet()


def kept_jit(
    f: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...] = (),
    static_argnames: tuple[str, ...] = (),
) -> KeptJit:
    """`f`, compiled by XLA for each structure of its arguments; see `KeptJit`."""
    return KeptJit(f, static_argnums, static_argnames)


@lru_cache(maxsize=PROGRAMS)
def kept_jit_of(f: Callable[..., Any]) -> KeptJit:
    """The same for all who ask for `f`."""
    return kept_jit(f)
