"""XLA's programs, kept by the structure of what they are given, and no more than so many.

`jax.jit` keeps every program for as long as its function lives, some 5 MB each. A program for other
structures (another system, another method) is here a function of its own, and those that were used
longest ago are dropped, with all that JAX holds of them.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any

import jax

PROGRAMS = 64  # of each function


class KeptJit:
    """`jax.jit(f)`, which keeps the programs of the last structures of its arguments only.

    Arguments that are static by number, or by name and given so, are part of the structure.
    """

    def __init__(self, f: Callable[..., Any], static_argnums: Any, static_argnames: Any) -> None:
        self.f, self.numbers, self.names = f, static_argnums, static_argnames
        self.programs: OrderedDict[Any, Any] = OrderedDict()
        self.lock = Lock()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.program(args, named)(*args, **named)

    def program(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The function that JAX compiled, or will, for such arguments."""
        static = [args[i] for i in self.numbers], [named[n] for n in self.names if n in named]
        key = (jax.tree.structure((args, named)), *map(tuple, static))
        with self.lock:
            found = self.programs.get(key)
            if found is None:
                found = self.programs[key] = self.new()
            self.programs.move_to_end(key)
            while len(self.programs) > PROGRAMS:
                self.programs.popitem(last=False)
        return found

    def new(self) -> Any:
        """The function, new to JAX."""

        @wraps(self.f)
        def own(*args: Any, **named: Any) -> Any:
            return self.f(*args, **named)

        return jax.jit(own, static_argnums=self.numbers, static_argnames=self.names)

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
