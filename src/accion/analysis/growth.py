"""How allowed displacements grow with their brackets: the growth vector of a distribution."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.instant.split import Split
from accion.systems import System
from accion.types import Array, Configuration, Scalar

# Fields of displacements, their component by time first, as columns: of (t, q), with the sizes of
# the terms of which they are the sum.
Fields = Callable[[Scalar, Configuration], tuple[Array, Array]]


def brackets(system: System, X: Fields, Y: Fields) -> Fields:
    """[X_i, Y_j] of all columns, one after the other."""
    space = system.space
    zero = jnp.zeros(1 + space.dim)

    def at(t: Scalar, q: Configuration) -> tuple[Array, Array]:
        def moved(F: Fields) -> Any:
            def by(e: Array) -> tuple[Array, Array]:
                value = F(t + e[0], space.displace(q, e[1:]))[0]
                return value, value

            return jax.jacfwd(by, has_aux=True)(zero)

        (DX, x), (DY, y) = moved(X), moved(Y)
        there, back = jnp.einsum("cjl,li->cij", DY, x), jnp.einsum("cil,lj->cij", DX, y)
        ad = jax.vmap(jax.vmap(space.ad, (None, 1), 1), (1, None), 1)(x[1:], y[1:])
        turned = jnp.concatenate([0 * there[:1], ad])
        size = jnp.einsum("cjl,li->cij", jnp.abs(DY), jnp.abs(x))
        size = size + jnp.einsum("cil,lj->cij", jnp.abs(DX), jnp.abs(y)) + jnp.abs(turned)
        count = len(zero)
        return (there - back + turned).reshape(count, -1), size.reshape(count, -1)

    return at


def columns(F: Fields, chosen: list[int]) -> Fields:
    """Some of the fields."""
    index = jnp.asarray(chosen, int)

    def at(t: Scalar, q: Configuration) -> tuple[Array, Array]:
        value, size = F(t, q)
        return value[:, index], size[:, index]

    return at


def new_directions(
    known: np.ndarray, found: np.ndarray, sizes: np.ndarray, tolerance: float
) -> tuple[np.ndarray, list[int]]:
    """An orthonormal basis with those of the columns that add to it, and which these are; what is
    left of a column is compared with the size of its terms.
    """
    basis, chosen = known, []
    for j in range(found.shape[1]):
        rest = found[:, j] - basis @ (basis.T @ found[:, j])
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > tolerance * float(np.linalg.norm(sizes[:, j])):
            basis = np.column_stack([basis, rest / length])
            chosen.append(j)
    return basis, chosen


def growth_of(
    system: System, split: Split, found: Any, tolerance: float, guess: Callable[..., Array]
) -> tuple[int, ...]:
    """The dimensions of allowed displacements, of these with their brackets, with the brackets of
    those, and so on, at a random point; time is not counted.
    """
    units = np.append(found.time, found.rates * found.time)
    t, q = float(found.t[0]), jax.tree.map(lambda a: jnp.asarray(a[0]), found.q)
    start = guess(t, q, jnp.asarray(found.v[0]))
    return growth_at(system, split, t, q, start, units, tolerance)


def growth_at(
    system: System, split: Split, t: float, q: Any, start: Array, units: Any, tolerance: float
) -> tuple[int, ...]:
    """`growth_of` at one point."""
    n = system.space.dim

    def first(t: Scalar, q: Configuration) -> tuple[Array, Array]:
        X = split.fields(system, t, q, start)
        return X, jnp.abs(X)

    X: Fields = first
    new, basis, dimensions = X, np.zeros((1 + n, 0)), []
    while True:
        value, size = (np.asarray(a) / units[:, None] for a in small_jit(new)(t, q))
        length = np.linalg.norm(value, axis=0)
        one = np.where(length > 0, length, 1.0) if not dimensions else 1.0
        before = basis.shape[1]
        basis, chosen = new_directions(basis, value / one, size / one, tolerance)
        if basis.shape[1] == before:
            return tuple(dimensions)
        dimensions.append(basis.shape[1] - 1)
        if dimensions[-1] == n:
            return tuple(dimensions)
        new = brackets(system, X, columns(new, chosen))
