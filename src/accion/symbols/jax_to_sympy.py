"""From a JAX function to SymPy: its operations (the jaxpr), carried out on arrays of
expressions.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
import sympy as sp
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal

from accion.errors import Untranslatable
from accion.symbols.array_operations import ARRAY_RULES, NAMED, elementwise, exact_array
from accion.symbols.control_flow import CONTROL_RULES
from accion.symbols.linear_algebra import Undecided
from accion.symbols.primitives import ELEMENTWISE
from accion.symbols.source_lines import Unknown, is_of_jax, located, place

# operations in an expression; a loop that uses its state twice doubles it in each turn
LARGEST = 50_000
# Calls of functions that change nothing.
TRANSPARENT = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat",
    "checkpoint",
}
LENIENT = {"custom_linear_solve"}  # looks at what it needs only


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
    values = evaluate(closed, leaves)
    for value in values:
        if isinstance(value, Unknown):
            where = f" ({value.where})" if value.where else ""
            raise Untranslatable(
                f"the operation `{value.primitive}`{where} cannot be written as an expression:"
                f" {value.reason}."
            )
    return jax.tree.unflatten(jax.tree.structure(out), values)


def evaluate(closed: Any, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a (closed) jaxpr."""
    jaxpr, consts = (
        (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, [])
    )
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, map(exact_array, consts), strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return exact_array(atom.val) if isinstance(atom, Literal) else known[atom]

    for eqn in jaxpr.eqns:
        outs = [limited(out, eqn) for out in apply(eqn, [read(atom) for atom in eqn.invars])]
        known.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


@lru_cache(maxsize=4 * LARGEST)
def size(expr: sp.Basic) -> int:
    """The number of operations in an expression written out."""
    return 1 + sum(map(size, expr.args))


def limited(value: Any, eqn: JaxprEqn) -> Any:
    """`value`, unknown where it is too long to be of use."""
    if isinstance(value, Unknown):
        return located(value, eqn)
    if any(size(x) > LARGEST for x in value.flat):
        return Unknown(
            eqn.primitive.name, place(eqn), f"it would have more than {LARGEST} operations"
        )
    return value


def apply(eqn: JaxprEqn, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of one operation."""
    name, params = eqn.primitive.name, eqn.params
    known_rule = name in ARRAY_RULES or name in CONTROL_RULES
    inner = next(
        (params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params), None
    )
    if name in TRANSPARENT or (not known_rule and inner is not None):
        return call(eqn, inner, arguments)
    if name not in LENIENT:
        for argument in arguments:
            if isinstance(argument, Unknown):
                return [argument] * len(eqn.outvars)
    try:
        if name in ARRAY_RULES:
            return ARRAY_RULES[name](eqn, *arguments)
        if name in CONTROL_RULES:
            return CONTROL_RULES[name](evaluate, eqn, *arguments)
        if name in ELEMENTWISE:
            return [elementwise(ELEMENTWISE[name], *arguments)]
        reason = "there is no SymPy counterpart"
    except Undecided as error:
        reason = str(error)
    return [Unknown(name, place(eqn), reason)] * len(eqn.outvars)


def call(eqn: JaxprEqn, inner: Any, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a function that is called; some of JAX's own are known by their names."""
    name = (eqn.params.get("name"), len(arguments))
    known = not any(isinstance(argument, Unknown) for argument in arguments)
    # Its derivatives go by the same name, with other numbers of arguments and results.
    if known and is_of_jax(inner) and name in NAMED and len(eqn.outvars) == 1:
        return [NAMED[name](*arguments)]
    return evaluate(inner, arguments)
