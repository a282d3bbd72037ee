"""A pytree divided into its numbers, which compiled code takes as arguments, and the rest, which is
compiled in.
"""

import jax


def is_number(leaf):
    """False for what can only be compiled in: functions, text and switches."""
    return not (isinstance(leaf, str | bytes | bool) or callable(leaf))


def split(tree):
    """The numbers of `tree` and a hashable frame that `join` puts them back into."""
    leaves, treedef = jax.tree.flatten(tree)
    numbers = [leaf for leaf in leaves if is_number(leaf)]
    return numbers, (treedef, tuple(None if is_number(leaf) else leaf for leaf in leaves))


def join(numbers, frame):
    treedef, rest = frame
    numbers = iter(numbers)
    return jax.tree.unflatten(treedef, [next(numbers) if leaf is None else leaf for leaf in rest])
