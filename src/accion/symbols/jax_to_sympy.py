"""From a JAX function to SymPy: its operations (the jaxpr), carried out on arrays of
expressions.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from accion.engines.arrays import entries
from accion.engines.interpreter import Interpreter
from accion.errors import Untranslatable
from accion.symbols.algebra import Expressions
from accion.symbols.operations import RULES
from accion.symbols.source_lines import Unknown


def translate(f: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of JAX returns, in letters.

    Arguments:
        f: any function that JAX can trace at arrays of the shapes of `arguments`.
        arguments: arrays (or pytrees) of SymPy expressions.

    Returns:
        A NumPy array of SymPy expressions, or a pytree of them.

    Raises:
        Untranslatable: where an operation cannot be written as an expression, with its line.
    """
    leaves, tree = jax.tree.flatten(arguments)
    leaves = [np.asarray(leaf, dtype=object) for leaf in leaves]
    shapes = [jax.ShapeDtypeStruct(leaf.shape, np.dtype(np.float64)) for leaf in leaves]
    closed, out = jax.make_jaxpr(f, return_shape=True)(*jax.tree.unflatten(tree, shapes))
    results = Interpreter(Expressions(), RULES).call(closed, leaves)
    for value in entries(results):
        if isinstance(value, Unknown):
            where = f" ({value.where})" if value.where else ""
            raise Untranslatable(
                f"the operation `{value.primitive}`{where} cannot be written as an expression:"
                f" {value.reason}."
            )
    return jax.tree.unflatten(jax.tree.structure(out), results)
