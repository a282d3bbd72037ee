"""The derivatives of a solution of `Equations` by what it depends on, through JAX.

    r(x, theta) = 0        dx = -(dr/dx)^-1 (dr/dtheta) dtheta

by the same band; any number of times, in forward and in reverse mode.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.banded import Banded
from accion.assembly.equations import Equations
from accion.assembly.scales import power_of_two
from accion.types import Array


def traced_residual(equations: Equations, x: Array) -> Array:
    """What is left of the equations at `x`, shape (m,), as JAX traces it."""
    m = len(equations.row_place)
    total = jnp.zeros(m + 1)  # the last for rows that are not asked for
    for F in equations.families:
        total = total.at[np.where(F.rows < 0, m, F.rows)].add(F.traced_rows(x))
    return total[:m]


def traced_entries(equations: Equations, x: Array) -> Array:
    """The derivatives of the rows by the unknowns that are not fixed, one after the other."""
    found = []
    for F in equations.sparsity.moving(equations.families):
        found.append(F.traced_slopes(x)[F.rows >= 0].ravel())
    _, columns = equations.sparsity.jacobian
    return jnp.concatenate(found)[~equations.fixed[columns]]


def solution_change(
    equations: Equations, x: Array, push: Array, entries: Array | None = None
) -> Array:
    """The change of all unknowns, shape (n,), that takes back a change `push` of what is left of
    the equations at `x`; fixed unknowns stay. `entries` are those of `traced_entries`, where they
    are known.
    """
    rows, columns = equations.places
    free = ~equations.fixed
    entries = traced_entries(equations, x) if entries is None else entries
    band = equations.sparsity.square

    def product(dx: Array, into: np.ndarray, out: np.ndarray) -> Array:
        return jnp.zeros_like(dx).at[into].add(entries * dx[out])

    def solver(transposed: bool) -> Callable[..., Array]:
        def solve(_: Callable[..., Array], right: Array) -> Array:
            host = partial(solved_on_host, band, (rows, columns), transposed)
            shape = jax.ShapeDtypeStruct(right.shape, right.dtype)
            return jax.pure_callback(host, shape, entries, right, vmap_method="expand_dims")

        return solve

    def matvec(dx: Array) -> Array:
        return product(dx, rows, columns)

    dx = jax.lax.custom_linear_solve(matvec, -push, solver(False), solver(True))
    return jnp.zeros(len(free)).at[np.flatnonzero(free)].add(dx)


def solved_on_host(
    band: Banded,
    places: tuple[np.ndarray, np.ndarray],
    transposed: bool,
    entries: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """The x with B x = right, or B^T x = right, for matrices and right sides with the same leading
    axes (or one of them of length 1); NaN where B is singular.
    """
    entries, right = np.asarray(entries), np.asarray(right)
    if entries.ndim > 1:
        shape = np.broadcast_shapes(entries.shape[:-1], right.shape[:-1])
        flat = right.reshape(-1, right.shape[-1])
        if np.prod(entries.shape[:-1]) == 1:  # one matrix for all
            return one_solved(band, places, transposed, entries.ravel(), flat.T).T.reshape(
                *shape, -1
            )
        pairs = np.broadcast_to(entries, (*shape, entries.shape[-1]))
        rights = np.broadcast_to(right, (*shape, right.shape[-1]))
        found = [
            one_solved(band, places, transposed, pairs[i], rights[i]) for i in np.ndindex(*shape)
        ]
        return np.reshape(found, (*shape, right.shape[-1]))
    return one_solved(band, places, transposed, entries, right)


def one_solved(
    band: Banded,
    places: tuple[np.ndarray, np.ndarray],
    transposed: bool,
    entries: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """The same for one matrix; columns and then rows are scaled first, so that units do not
    matter.
    """
    (rows, columns), n = places, band.size
    sizes = []
    for numbers in (columns, rows):
        largest = np.zeros(n)
        np.maximum.at(largest, numbers, np.abs(entries))
        sizes.append(power_of_two(largest))
        entries = entries / sizes[-1][numbers]
    column, row = sizes
    into, out = (column, row) if transposed else (row, column)
    factors = band.factor(entries)
    if factors is None:
        return np.full_like(right, np.nan)
    return (factors.solve((right.T / into).T, transposed).T / out).T
