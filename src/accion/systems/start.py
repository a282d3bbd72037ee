"""Where a motion starts, as a user says it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.tree_util import tree_leaves

from accion.arguments import is_finite, reals, shown, wrong
from accion.spaces import Product, Space


class Start(NamedTuple):
    """Where a simulation starts: q0 and one of v0, p0, q1; with v0, a vakonomic system also lam0; a
    thermal system S0; a contact system z0, or else it starts from z = 0.

    Of a system of order r, v0 is (q', ..., q^(2r-1)), lam0 is (lam, ..., lam^(r-1)), and q1 the 2r
    - 1 configurations that follow; with momenta p0 = (p_0, ..., p_{r-1}), v0 is (q', ..., q^(r-1)).
    """

    q0: Any
    v0: Any = None
    p0: Any = None
    q1: Any = None
    lam0: Any = None
    S0: Any = None
    z0: Any = None

    @property
    def beside(self) -> Any:
        """What the state has besides q and p: S0 or z0, None where there is neither."""
        return self.S0 if self.z0 is None else self.z0


def is_traced(tree: Any) -> Any:
    """Whether anything in `tree` is known to JAX only while it traces: then no value can be looked
    at, and nothing raised.
    """
    if isinstance(tree, float | np.ndarray):
        return False
    return any(isinstance(leaf, Tracer) for leaf in tree_leaves(tree))


def check_rows(value: Any, rows: Any, length: Any, name: str, words: Any) -> Any:
    """`value` as a float64 array of shape (rows, length), finite; one row may come without its
    axis.
    """
    kind = f"an array of real numbers, shape ({rows}, {length}): {words}"
    array = reals(value, name, kind)
    if rows == 1 and array.shape == (length,):
        array = array[None]
    if array.shape != (rows, length):
        raise ValueError(
            f"{name} must have shape ({rows}, {length}), a row for each of {words}; got shape"
            f" {array.shape}."
        )
    if not is_finite(array):
        raise ValueError(f"{name} must be finite; got {np.asarray(array)}.")
    return array


def check_configurations(space: Space, value: Any, count: int, name: str) -> Any:
    """`count` configurations, given one after the other or stacked along a leading axis, as one
    stack.
    """
    words = f"{count} configurations, one after the other"
    if isinstance(space, Product) and isinstance(value, tuple):
        stacks = jax.tree.map(
            lambda part: reals(part, name, words), value, is_leaf=lambda a: isinstance(a, list)
        )
        lengths = {len(a) if np.ndim(a) else 0 for a in jax.tree.leaves(stacks)}
        value = [jax.tree.map(lambda a, i=i: a[i], stacks) for i in range(min(lengths, default=0))]
    elif not isinstance(value, list | tuple):
        value = reals(value, name, words)
        if np.ndim(value) == 0:
            wrong(name, words, value)
    if len(value) != count:
        raise ValueError(f"{name} must be {words}; got {len(value)} of them.")
    return stacked([space.check(value[i], f"{name}[{i}]") for i in range(count)])


def stack_of(space: Space, value: Any, name: str) -> Any:
    """Configurations along a leading axis, as the user has them: an array, on a Product a tuple of
    them; as arrays of NumPy with at least that axis.
    """
    leaves, frame = jax.tree.flatten(space.identity())
    alone = len(leaves) == 1 and not isinstance(value, tuple)
    is_leaf = None if isinstance(value, tuple) else lambda a: a is not value
    parts = [value] if alone else jax.tree.leaves(value, is_leaf=is_leaf)
    if len(parts) != len(leaves):
        raise ValueError(
            f"{name} must have configurations of {len(leaves)} arrays, as those of the space have;"
            f" got {len(parts)}."
        )
    arrays = [np.asarray(reals(part, name)) for part in parts]
    if not all(a.ndim for a in arrays):
        wrong(name, "configurations, one after the other", value)
    return jax.tree.unflatten(frame, arrays)


def stacked(configurations: Any) -> Any:
    """Configurations along a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *configurations)


def check_one_start(start: Start) -> None:
    """Raise ValueError unless q0 is given, with just one of v0, p0, q1."""
    if start.q0 is None:
        raise ValueError("q0, the configuration to start from, is missing.")
    given = [name for name in ("v0", "p0", "q1") if getattr(start, name) is not None]
    if len(given) != 1:
        words = " and ".join(given) or "none of them"
        raise ValueError(
            "give one of v0 (a velocity), p0 (momenta) or q1 (the second configuration); got"
            f" {words}."
        )


def check_no_entropy(start: Start) -> None:
    """Raise ValueError where S0 or z0 is given to a system whose state has neither."""
    if start.S0 is not None:
        raise ValueError(f"S0 belongs to thermal systems; got {shown(start.S0)}.")
    check_no_action(start)


def check_no_action(start: Start) -> None:
    """Raise ValueError where z0 is given to a system that is no contact system."""
    if start.z0 is not None:
        raise ValueError(f"z0 belongs to contact systems; got {shown(start.z0)}.")


def check_multipliers_given(start: Start, enters_action: bool) -> None:
    """Raise ValueError unless lam0 is given just where multipliers are part of the state."""
    if not enters_action:
        if start.lam0 is not None:
            raise ValueError(
                "lam0 belongs to vakonomic systems, whose multipliers are part of the state; here"
                " they follow from q and v."
            )
        return
    motion = start.v0 is not None and start.p0 is None
    if (start.lam0 is not None) != motion:
        raise ValueError(
            "a vakonomic system that starts from v0 needs lam0, its multipliers at the start, and"
            " only then."
        )
    if start.q1 is not None:
        raise ValueError(
            "a vakonomic system starts from v0 and lam0, or from p0: q0 and q1 do not determine its"
            " motion."
        )
