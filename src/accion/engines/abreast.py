"""A function of many rows, such as the stages of a step, side by side.

    abreast(f, shared, rows)     f(shared, row) for each row of `rows`, whose first axis counts them

XLA sees it as `jax.vmap` does. The native engine compiles f once, as a function of vectors whose
lanes are rows, and calls it for some rows at a time: a step of twelve stages is not twelve times as
long a program, and takes a third of the time.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from accion.engines.tracing import BY_ENTRIES
from accion.engines.xla import of_leaves

NAME = "accion_abreast"


def abreast(f: Callable[[Any, Any], Any], shared: Any, rows: Any) -> Any:
    """f(shared, row) for each row; see above. `f` must hold nothing that is traced."""
    if not BY_ENTRIES.get():
        return jax.vmap(f, in_axes=(None, 0))(shared, rows)
    common, lines = jax.tree.leaves(shared), jax.tree.leaves(rows)
    like = [jax.ShapeDtypeStruct(jnp.shape(a), jnp.result_type(a)) for a in common]
    one = [jax.ShapeDtypeStruct(jnp.shape(a)[1:], jnp.result_type(a)) for a in lines]
    tree = jax.tree.structure((shared, rows))
    closed, shape = jax.make_jaxpr(of_leaves(f, tree), return_shape=True)(*like, *one)
    found = call.bind(*common, *lines, closed=Rows(closed, len(common)))
    return jax.tree.unflatten(jax.tree.structure(shape), found)


class Rows:
    """What was traced for one row: the first `shared` arguments are the same for all."""

    def __init__(self, closed: ClosedJaxpr, shared: int) -> None:
        self.closed, self.shared = closed, shared

    def __call__(self, *leaves: Any) -> list[Any]:
        """For all rows, as JAX knows it."""
        axes = [None] * self.shared + [0] * (len(leaves) - self.shared)
        return jax.vmap(jaxpr_as_fun(self.closed), axes)(*leaves)

    def types(self, rows: int) -> list[Any]:
        return [ShapedArray((rows, *a.shape), a.dtype) for a in self.closed.out_avals]


call = Primitive(NAME)
call.multiple_results = True
call.def_impl(lambda *leaves, closed: closed(*leaves))
call.def_abstract_eval(lambda *leaves, closed: closed.types(leaves[-1].shape[0]))
mlir.register_lowering(
    call, mlir.lower_fun(lambda *leaves, closed: closed(*leaves), multiple_results=True)
)


def batched(leaves: Any, axes: Any, *, closed: Rows) -> tuple[Any, Any]:
    found = jax.vmap(closed, axes)(*leaves)
    return found, [0] * len(found)


def differentiated(leaves: Any, tangents: Any, *, closed: Rows) -> tuple[Any, Any]:
    slopes = [ad.instantiate_zeros(a) for a in tangents]
    return jax.jvp(closed, tuple(leaves), tuple(slopes))


batching.primitive_batchers[call] = batched
ad.primitive_jvps[call] = differentiated
