"""XLA's programs, kept by the structure of what they are given, and no more than so many.

`jax.jit` keeps every program for as long as its function lives, some 5 MB each. A program for other
structures (another system, another method) is here a function of its own, and those that were used
longest ago are dropped, with all that JAX holds of them.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any

import jax

PROGRAMS = 64  # of each function


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
        self.programs: OrderedDict[Any, Any] = OrderedDict()
        self.lock = Lock()

    def __call__(self, *args: Any, **named: Any) -> Any:
        places = (*enumerate(args), *named.items())
        fixed = {at: value for at, value in places if at in self.numbers or at in self.names}
        given = {at: value for at, value in places if at not in fixed}
        leaves, tree = jax.tree.flatten(list(given.values()))
        key = (tree, tuple(given), tuple(fixed.items()))
        return self.program(key, fixed)(*leaves)

    def program(self, key: Any, fixed: dict[Any, Any]) -> Any:
        """The function that JAX compiled, or will, for such arguments."""
        with self.lock:
            found = self.programs.get(key)
            if found is None:
                found = self.programs[key] = self.new(key[0], key[1], fixed)
            self.programs.move_to_end(key)
            while len(self.programs) > PROGRAMS:
                self.programs.popitem(last=False)
        return found

    def new(self, tree: Any, places: tuple[Any, ...], fixed: dict[Any, Any]) -> Any:
        """A program that is not there yet."""

        def called(*given: Any) -> Any:
            values = dict(zip(places, given, strict=True)) | fixed
            named = {at: value for at, value in values.items() if isinstance(at, str)}
            return self.f(*(values[i] for i in range(len(values) - len(named))), **named)

        return jax.jit(of_leaves(called, tree))

    def count(self) -> int:
        """How many programs there are."""
        return sum(program._cache_size() for program in self.programs.values())


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
