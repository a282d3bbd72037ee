"""How large the terms are of which a result is the sum, so that what is left of them by
cancellation can be called small.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from accion.engines.xla import of_leaves
from accion.numerics.products import apply
from accion.types import Array, Function


class Terms(NamedTuple):
    """The sizes of what the entries of a result f are made of, each of the shape of f."""

    given: Array  # sum |df/da| |a| over the numbers a that f is given
    inner: Array  # the same over all numbers that are computed on the way


def terms(f: Function, *arguments: Any) -> Terms:
    """The sizes of the terms of f(*arguments), a vector.

    A part eps of each a, or of each number on the way (rounding), changes f by eps times these at
    most; both are in the units of f. Numbers inside loops and branches are not looked at.
    """
    leaves, tree = jax.tree.flatten(arguments)
    leaves = [jnp.asarray(leaf) for leaf in leaves]
    closed = jax.make_jaxpr(of_leaves(f, tree))(*leaves)
    jaxpr = closed.jaxpr

    def replayed(given: list[Array], inner: list[Array] | None) -> tuple[Any, list[Array]]:
        """f with each number times 1 + what is given for it, and the shapes of those on the
        way.
        """
        own = [grown(a, part) for a, part in zip(leaves, given, strict=True)]
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *own), strict=True))
        seen: list[Array] = []
        for eqn in jaxpr.eqns:
            values = [atom.val if isinstance(atom, Literal) else known[atom] for atom in eqn.invars]
            for var, value in zip(eqn.outvars, apply(eqn, values), strict=True):
                known[var] = value if inner is None else grown(value, inner[len(seen)])
                seen.append(jnp.zeros(jnp.shape(value)))
        (atom,) = jaxpr.outvars
        return atom.val if isinstance(atom, Literal) else known[atom], seen

    zeros = [jnp.zeros(jnp.shape(leaf)) for leaf in leaves]
    parts = zeros, replayed(zeros, None)[1]
    by = jax.jacrev(lambda parts: replayed(*parts)[0])(parts)
    return Terms(*(added(part, jnp.shape(jaxpr.outvars[0].aval)) for part in by))


def grown(a: Array, part: Array) -> Array:
    return a * (1 + part) if jnp.issubdtype(jnp.result_type(a), jnp.floating) else a


def added(slopes: list[Array], shape: tuple[int, ...]) -> Array:
    """The sum of the sizes of derivatives, for each entry of what they are of; where there is none,
    as of a root at zero, it says nothing.
    """
    found = jnp.zeros(shape)
    for slope in slopes:
        size = jnp.where(jnp.isfinite(slope), jnp.abs(slope), 0.0)
        found = found + jnp.sum(size.reshape(*shape, -1), axis=-1)
    return found
