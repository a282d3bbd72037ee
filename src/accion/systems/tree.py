"""A pytree divided into its numbers, which compiled code takes as arguments, and the rest, which is
compiled in.
"""

from typing import Any

import jax


def is_number(leaf: Any) -> bool:
    """False for what can only be compiled in: functions, text and switches."""
    return not (isinstance(leaf, str | bytes | bool) or callable(leaf))


def split(tree: Any, taken: Any = is_number) -> Any:
    """The numbers of `tree`, or what is `taken` for them, and a frame that `join` puts them back
    into.
    """
    leaves, treedef = jax.tree.flatten(tree)
    numbers = [leaf for leaf in leaves if taken(leaf)]
    return numbers, (treedef, tuple(None if taken(leaf) else leaf for leaf in leaves))


def join(numbers: Any, frame: Any) -> Any:
    treedef, rest = frame
    numbers = iter(numbers)
    return jax.tree.unflatten(treedef, [next(numbers) if leaf is None else leaf for leaf in rest])
