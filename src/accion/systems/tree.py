"""A pytree divided into its numbers, which compiled code takes as arguments, and the rest, which is
compiled in.
"""

import jax


def is_number(leaf):
    """False for what can only be compiled in: functions, text and switches."""
    return not (isinstance(leaf, str | bytes | bool) or callable(leaf))


def split(tree, taken=is_number):
    """The numbers of `tree`, or what is `taken` for them, and a frame that `join` puts them back
    into.
    """
    leaves, treedef = jax.tree.flatten(tree)
    numbers = [leaf for leaf in leaves if taken(leaf)]
    return numbers, (treedef, tuple(None if taken(leaf) else leaf for leaf in leaves))


def join(numbers, frame):
    treedef, rest = frame
    numbers = iter(numbers)
    return jax.tree.unflatten(treedef, [next(numbers) if leaf is None else leaf for leaf in rest])
