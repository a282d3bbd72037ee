"""Elements: functions of a few unknowns, whose sums are the cost and the rows of a problem.

All elements of a family are one function, traced once, whatever their number: derivatives are those
of a function of a few variables, put in their places.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_map
from accion.engines.xla import kept_jit
from accion.types import Array

# Elements that XLA evaluates at once: few numbers of them, so that problems of all lengths share
# what is compiled.
BATCHES = (1, 64, 256)


class Values(NamedTuple):
    """Of K elements: cost (K,) and rows (K, nr)."""

    cost: np.ndarray
    rows: np.ndarray


class Slopes(NamedTuple):
    """`Values` and their derivatives, by nv unknowns: (K, nv) and (K, nr, nv)."""

    cost: np.ndarray
    rows: np.ndarray
    Dcost: np.ndarray
    Drows: np.ndarray


class Curvature(NamedTuple):
    """`Slopes` and the second derivatives of weight * cost + lam.rows, (K, nv, nv)."""

    cost: np.ndarray
    rows: np.ndarray
    Dcost: np.ndarray
    Drows: np.ndarray
    H: np.ndarray


class Compiled(NamedTuple):
    """The functions of a family, of what is the same for all elements and of what is each one's."""

    values: Callable[..., Any]  # ((numbers of args,), (data, x))
    slopes: Callable[..., Any]  # the same
    curvature: Callable[..., Any]  # ((numbers of args, weight), (data, x, lam))


@lru_cache(maxsize=256)
def compiled(f: Callable[..., Any], frame: Any) -> Compiled:
    """The functions of elements `f`, whose args have the tree `frame`."""

    def element(numbers: Any, data: Any, x: Array) -> tuple[Array, Array]:
        return f(jax.tree.unflatten(frame, numbers), data, x)

    def slopes(numbers: Any, data: Any, x: Array) -> tuple[Array, Array, Array, Array]:
        def twice(x: Array) -> Any:
            out = element(numbers, data, x)
            return out, out

        (Dcost, Drows), (cost, rows) = jax.jacfwd(twice, has_aux=True)(x)
        return cost, rows, Dcost, Drows

    def everything(numbers: Any, data: Any, x: Array, weight: Array, lam: Array) -> Any:
        def lagrangian(x: Array) -> Array:
            cost, rows = element(numbers, data, x)
            return weight * cost + lam @ rows

        # Column by column in a loop: a third of the operations to compile, and faster than all
        # columns at once.
        bend = jax.lax.map(lambda e: jax.jvp(jax.grad(lagrangian), (x,), (e,))[1], jnp.eye(len(x)))
        return *slopes(numbers, data, x), bend

    return Compiled(
        small_map(lambda fixed, own: element(*fixed, *own), BATCHES),
        small_map(lambda fixed, own: slopes(*fixed, *own), BATCHES),
        small_map(
            lambda fixed, own: everything(fixed[0], own[0], own[1], fixed[1], own[2]), BATCHES
        ),
    )


@partial(kept_jit, static_argnums=(0,))
def all_at_once(f: Callable[..., Any], args: Any, data: Any, x: Array) -> tuple[Array, Array]:
    """(cost, rows) of all elements, through which derivatives go."""
    return jax.vmap(f, (None, 0, 0))(args, data, x)


@partial(kept_jit, static_argnums=(0,))
def all_slopes(f: Callable[..., Any], args: Any, data: Any, x: Array) -> Array:
    """The derivatives of the rows of all elements, the same."""
    return jax.vmap(jax.jacfwd(lambda x, data: f(args, data, x)[1]))(x, data)


@dataclass(frozen=True)
class Family:
    """K elements f(args, data_k, x[columns_k]) -> (cost, rows), each with a few entries of the
    unknowns x and of the rows of a problem.

    Arguments:
        f: compared by value and compiled in; what it returns are a scalar and shape (nr,).
        args: a pytree of numbers, one for all elements.
        data: a pytree of numbers with leading axis K.
        columns: which unknowns each element sees, shape (K, nv).
        rows: where its rows are added, shape (K, nr); -1 nowhere.
        nodes: of elements between nodes of a path, which ones, shape (K, w). They see
            (configurations of `base` there, data_k): unknowns are displacements from them.
        base: the configurations at all nodes, a pytree with their axis in front.
    """

    f: Callable[..., Any]
    args: Any
    data: Any
    columns: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray | None = None
    base: Any = None

    def values(self, x: np.ndarray) -> Values:
        """What the elements add at the unknowns `x`."""
        return Values(*self.evaluate(self.functions.values, x))

    def slopes(self, x: np.ndarray) -> Slopes:
        """What they add, and its first derivatives."""
        return Slopes(*self.evaluate(self.functions.slopes, x))

    def curvature(self, x: np.ndarray, weight: float, lam: np.ndarray) -> Curvature:
        """What they add, its first derivatives, and the second ones of weight * cost + lam.rows."""
        fixed, own = (self.numbers, np.float64(weight)), np.append(lam, 0.0)[self.rows]
        found = self.functions.curvature(fixed, (self.own_data, x[self.columns], own))
        return Curvature(*(np.asarray(a) for a in found))

    def traced_rows(self, x: Any) -> Array:
        """The rows that the elements add, shape (K, nr), as JAX traces them."""
        return all_at_once(self.f, self.args, self.data, x[self.columns])[1]

    def traced_slopes(self, x: Array) -> Array:
        """Their derivatives, shape (K, nr, nv)."""
        return all_slopes(self.f, self.args, self.data, x[self.columns])

    def evaluate(self, function: Callable[..., Any], x: np.ndarray) -> list[np.ndarray]:
        found = function((self.numbers,), (self.own_data, x[self.columns]))
        return [np.asarray(a) for a in found]

    @cached_property
    def functions(self) -> Compiled:
        return compiled(self.f, jax.tree.structure(self.args))

    @cached_property
    def numbers(self) -> list[Any]:
        """The numbers of `args`, as functions take them."""
        return jax.tree.map(np.asarray, jax.tree.leaves(self.args))

    @cached_property
    def own_data(self) -> Any:
        """What the elements are given besides unknowns."""
        own = jax.tree.map(np.asarray, self.data)
        if self.nodes is None:
            return own
        base = jax.tree.map(np.asarray, self.base)
        return tuple(jax.tree.map(lambda a, k=k: a[k], base) for k in self.nodes.T), own
