"""A call of what is seldom needed, such as a root that is looked for again.

    rarely(f, like, *args)     f(*args), whose results have the shapes and types of `like`

What it calls is neither traced nor compiled with what is around it. XLA compiles it where it
stands; the native engine when it is called for the first time, as a function of its own, so that a
program in which it is never called costs nothing for it, neither time to compile nor registers.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

NAME = "accion_rarely"


class Later:
    """A function of arrays that is traced when it is wanted; its results have these types.

    It must hold nothing that is traced. The structure of its arguments is kept here, where JAX does
    not see it.
    """

    def __init__(self, f: Callable[..., Any], tree: Any, types: tuple[Any, ...]) -> None:
        self.f, self.tree, self.types = f, tree, types

    def __call__(self, *leaves: Any) -> list[Any]:
        found = jax.tree.leaves(self.f(*jax.tree.unflatten(self.tree, leaves)))
        return [jnp.asarray(a, t.dtype) for a, t in zip(found, self.types, strict=True)]


def rarely(f: Callable[..., Any], like: Any, *args: Any) -> Any:
    """f(*args), whose results are arrays like those of the pytree `like`; see above."""
    leaves, tree = jax.tree.flatten(args)
    wanted, out = jax.tree.flatten(like)
    types = tuple(ShapedArray(jnp.shape(a), jax.typeof(a).dtype) for a in wanted)
    return jax.tree.unflatten(out, call.bind(*leaves, later=Later(f, tree, types)))


call = Primitive(NAME)
call.multiple_results = True
call.def_impl(lambda *leaves, later: later(*leaves))
call.def_abstract_eval(lambda *leaves, later: list(later.types))
mlir.register_lowering(
    call, mlir.lower_fun(lambda *leaves, later: later(*leaves), multiple_results=True)
)


def side_by_side(leaves: Any, axes: Any, *, later: Later) -> tuple[Any, Any]:
    """The call for each row of a batch."""
    return jax.vmap(later, axes)(*leaves), [0] * len(later.types)


def differentiated(leaves: Any, tangents: Any, *, later: Later) -> tuple[Any, Any]:
    """The call with its derivative, where rules for what is around it are gone."""
    slopes = [ad.instantiate_zeros(a) for a in tangents]
    found, changes = jax.jvp(later, tuple(leaves), tuple(slopes))
    none = jax.dtypes.float0
    return found, [ad.Zero(jax.typeof(a)) if a.dtype == none else a for a in changes]


batching.primitive_batchers[call] = side_by_side
ad.primitive_jvps[call] = differentiated
