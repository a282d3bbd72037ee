"""What is computed once for each object."""

import weakref
from collections.abc import Callable
from typing import Any

import jax
from jax.core import Tracer


class OncePerObject:
    """`f(given)`, computed once for each object that is given, and kept as long as that lives; not
    where JAX is tracing. `f` makes a new object.
    """

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f
        self.kept: dict[int, tuple[Any, Any]] = {}

    def __call__(self, given: Any) -> Any:
        key = id(given)
        alive, found = self.kept.get(key, (None, None))
        if alive is not None and alive() is given:
            return found
        found = self.f(given)
        if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(found)):
            alive = weakref.ref(given, lambda _: self.kept.pop(key, None))
            self.kept[key] = alive, found
        return found
