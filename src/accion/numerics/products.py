"""Small products of matrices, written out.

XLA on a CPU calls a library for a product, however small, and a loop that contains such a call is
not compiled into one function: a Lagrangian with v @ M @ v makes a step several times slower than
the same with sums (`benchmarks/products.py`). So the equations of a step are traced, and their
small products replaced by multiplications and sums.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from accion.engines.tracing import BY_ENTRIES
from accion.engines.xla import of_leaves
from accion.numerics.following import StepEquations
from accion.numerics.newton import Equations
from accion.types import Array

LARGEST = 1024  # multiplications; beyond it the library is faster
CALLS = ("pjit", "jit", "closed_call", "core_call")  # what only calls a function


# An equation of a jaxpr, `jax.extend.core.JaxprEqn`, whose own types do not know of shapes.
Equation: TypeAlias = Any
# ((axes of a, axes of b) that are summed over, (axes of a, axes of b) of a batch)
Axes: TypeAlias = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def written_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with its small products as multiplications and sums; for use inside jax.jit."""

    def g(*arguments: Any) -> Any:
        if BY_ENTRIES.get():
            return f(*arguments)
        leaves, tree = jax.tree.flatten(arguments)
        closed, shape = jax.make_jaxpr(of_leaves(f, tree), return_shape=True)(*leaves)
        outs = evaluate(closed.jaxpr, closed.consts, leaves)
        return jax.tree.unflatten(jax.tree.structure(shape), outs)

    return g


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of a jaxpr, its small products written out."""
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))
    for eqn in jaxpr.eqns:
        values = [atom.val if isinstance(atom, Literal) else known[atom] for atom in eqn.invars]
        known.update(zip(eqn.outvars, apply(eqn, values), strict=True))
    return [atom.val if isinstance(atom, Literal) else known[atom] for atom in jaxpr.outvars]


def apply(eqn: Equation, values: Sequence[Any]) -> Sequence[Any]:
    """The results of one equation of a jaxpr."""
    if eqn.primitive.name == "dot_general" and size(eqn, values[0]) <= LARGEST:
        a, b = values
        return [product(a, b, eqn.params["dimension_numbers"]).astype(eqn.outvars[0].aval.dtype)]
    inner = eqn.params.get("jaxpr")
    if eqn.primitive.name in CALLS and isinstance(inner, ClosedJaxpr):
        return evaluate(inner.jaxpr, inner.consts, values)
    bound = eqn.primitive.get_bind_params(eqn.params)
    # A pair before JAX 0.10.
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    out = eqn.primitive.bind(*functions, *values, **params)
    return out if eqn.primitive.multiple_results else [out]


def size(eqn: Equation, a: Array) -> int:
    """The number of multiplications: entries of the result times the length of what is summed
    over.
    """
    (summed, _), _ = eqn.params["dimension_numbers"]
    count = eqn.outvars[0].aval.size
    for axis in summed:
        count *= jnp.shape(a)[axis]
    return count


def product(a: Array, b: Array, dimension_numbers: Axes) -> Array:
    """The sum over the contracted axes of a b, the result in the order of dot_general: batch axes,
    the rest of a, the rest of b.
    """
    (sum_a, sum_b), (batch_a, batch_b) = dimension_numbers
    rest_a = [i for i in range(jnp.ndim(a)) if i not in (*sum_a, *batch_a)]
    rest_b = [i for i in range(jnp.ndim(b)) if i not in (*sum_b, *batch_b)]
    a = jnp.transpose(a, (*batch_a, *rest_a, *sum_a))
    b = jnp.transpose(b, (*batch_b, *rest_b, *sum_b))
    a = jnp.expand_dims(
        a, tuple(range(len(batch_a) + len(rest_a), len(batch_a) + len(rest_a) + len(rest_b)))
    )
    b = jnp.expand_dims(b, tuple(range(len(batch_b), len(batch_b) + len(rest_a))))
    n = len(batch_a) + len(rest_a) + len(rest_b)
    return jnp.sum(a * b, axis=tuple(range(n, n + len(sum_a))))


@dataclass(frozen=True)
class WrittenOut(Equations):
    """Equations with their small products as multiplications and sums."""

    equations: Equations
    multipliers: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "multipliers", self.equations.multipliers)

    def residual(self, unknowns: Array, args: Any) -> Array:
        return written_out(self.equations.residual)(unknowns, args)

    def sizes(self, unknowns: Array, J: Array, args: Any) -> tuple[Array, Array]:
        return written_out(self.equations.sizes)(unknowns, J, args)


@final
@dataclass(frozen=True)
class WrittenOutStep(WrittenOut, StepEquations):
    """Those of a step."""

    equations: StepEquations

    def shorter(self, args: Any, s: Any) -> Any:
        return self.equations.shorter(args, s)

    def powers(self, count: int) -> np.ndarray:
        return self.equations.powers(count)
