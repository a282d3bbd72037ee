"""Whether a system is regular: the rank of d2L/dv2, bordered by its constraints, whatever the
units.

    K = [[d2L/dv2, A^T],
         [C,       0  ]]

with C the derivative of what the constraints say of velocities, and A^T lam their force (for a
vakonomic system L + lam.Phi in place of L, and A = C = dPhi/dv, the test 4.11 of the Vakonomic
thesis). Without constraints it is d2L/dv2. Velocities, and with them accelerations and multipliers,
follow from momenta just where K is regular: a coordinate may be without mass if a constraint ties
it to one that has, and a mass matrix that is regular is not enough where it vanishes along the
motions that a constraint allows.
"""

import math
from typing import Any

import numpy as np

from accion.numerics import newton
from accion.numerics.arrays import determinant

TINY_RANK = 1e-300
SWEEPS = 30  # of scaling: each halves the distance to 1 of the logarithms of rows and columns


def equilibrated(K: Any, n: Any) -> Any:
    """(scaled K, column scales): each row and column of a matrix, or of a stack of them, with
    largest entry 1, so that units do not matter.

    The first n rows and columns are those of d2L/dv2. Each coordinate is measured by its own
    inertia first; what is rounding beside those is no inertia, and is not to be scaled up to one.
    """
    K = np.array(K, dtype=float)
    with np.errstate(all="ignore"):  # one that is not finite stays so, and is told by whoever asked
        return balanced(K, n)


def balanced(K: Any, n: Any) -> Any:
    """What `equilibrated` returns."""
    H = K[..., :n, :n]
    size = np.sqrt(np.abs(np.diagonal(H, axis1=-2, axis2=-1)))
    largest = np.sqrt(np.max(np.abs(H), axis=(-2, -1)))[..., None]
    size = np.where(size > 0, size, np.where(largest > 0, largest, 1.0))
    H = H / (size[..., :, None] * size[..., None, :])
    if K.shape[-1] == n:
        return H, 1 / size
    K[..., :n, :n] = np.where(np.abs(H) <= newton.EPS, 0.0, H)
    K[..., n:, :n] /= size[..., None, :]
    K[..., :n, n:] /= size[..., :, None]
    # Equations and multipliers by themselves: what has inertia keeps the scale that it gives.
    K[..., n:, :] *= inverse_of(largest_of(K[..., n:, :n], K[..., n:, n:], -1))[..., :, None]
    more = inverse_of(largest_of(K[..., :n, n:], K[..., n:, n:], -2))
    K[..., :, n:] *= more[..., None, :]
    columns = np.concatenate([1 / size, more], axis=-1)
    for _ in range(SWEEPS):
        K, column = swept(K)
        columns = columns * column
    return K, columns


def largest_of(first: Any, second: Any, axis: int) -> Any:
    """The largest entries of one part of rows or columns, or of the other where that is zero."""
    found, other = (np.max(np.abs(part), axis=axis) for part in (first, second))
    return np.where(found > 0, found, other)


def inverse_of(largest: Any) -> Any:
    return 1 / np.where(largest > 0, largest, 1.0)


def swept(K: Any) -> Any:
    """K with its rows and columns nearer to having the largest entry 1, and by what its columns
    were multiplied.
    """
    row, column = (scale_of(np.max(np.abs(K), axis=axis)) for axis in (-1, -2))
    return K * row[..., :, None] * column[..., None, :], column


def evened(K: np.ndarray) -> np.ndarray:
    """Any matrix with each row and column of largest entry 1, so that units do not matter."""
    for _ in range(SWEEPS):
        K, _ = swept(K)
    return K


def scale_of(largest: Any) -> Any:
    return np.sqrt(inverse_of(largest))


def relative_rank(K: Any, n: Any = None) -> tuple[int, Any]:
    """The rank of K after scaling, and its null direction: velocities, then multipliers."""
    scaled, columns = equilibrated(K, len(K) if n is None else n)
    _, s, Vt = np.linalg.svd(scaled)
    direction = Vt[-1] * columns
    moving = direction if n is None or not np.any(np.abs(Vt[-1][:n]) > 1e-8) else direction[:n]
    direction = direction / moving[np.argmax(np.abs(moving))]
    return int(np.sum(s > 8 * newton.EPS * len(s) * max(s[0], TINY_RANK))), direction


SURELY = 1e-9  # far above what `relative_rank` takes for zero


def surely_regular(K: Any) -> bool:
    """Whether `relative_rank` of a matrix without constraints is full, seen sooner: False where
    that is not certain.

    The least singular number of K is at least |det K| over the largest product that the others can
    have with |K|; and that of K scaled by its diagonal, over the largest, no less than by the ratio
    of the diagonal's ends.
    """
    K = np.asarray(K)
    n, square = len(K), float(np.vdot(K, K))
    if not 0 < square < math.inf:
        return False
    K = K / math.sqrt(square)
    diagonal = [abs(a) for a in K.diagonal().tolist()]
    others = (1 / max(1, n - 1)) ** ((n - 1) / 2)
    return abs(determinant(K)) * min(diagonal) > SURELY * others * max(diagonal)


def condition(K: Any, n: Any = None) -> float:
    """The condition number of K after scaling."""
    return float(np.linalg.cond(equilibrated(K, len(K) if n is None else n)[0]))


def direction_words(system: Any, direction: Any) -> str:
    """A direction of velocities in the names of coordinates."""
    return " + ".join(
        f"{c:.3g} d{name}"
        for c, name in zip(direction, system.names, strict=False)
        if abs(c) > 1e-8
    )


def regular_or_raise(system: Any, K: Any, where: Any = "at the initial data") -> None:
    """Raise ValueError where K, the bordered d2L/dv2 of a system, is not finite, or singular,
    naming the direction without inertia.
    """
    n = system.space.dim
    if len(K) == n and surely_regular(K):
        return
    if not np.all(np.isfinite(K)):
        raise ValueError(
            f"the Lagrangian of {system.name} is not finite {where}: d2L/dv2 ="
            f" {np.asarray(K)[:n, :n].tolist()}."
        )
    rank, direction = relative_rank(K, n)
    if rank == len(K):
        return
    words = direction_words(system, direction[:n])
    if len(K) == n:
        raise ValueError(
            f"the Lagrangian of {system.name} is singular: d2L/dv2 has rank {rank} of {n} {where}."
            f" The velocity direction {words} has no inertia, so no acceleration follows from L."
            " Give it a mass, or leave it out."
        )
    what = (
        f"{system.name} is not regular under its constraints: the matrix [[d2L/dv2, A^T], [A, 0]]"
        f" has rank {rank} of {len(K)} {where}."
    )
    if not words:
        raise ValueError(
            f"{what} The constraints depend on each other: leave out what the others say already."
        )
    raise ValueError(
        f"{what} The velocity direction {words}, which the constraints allow, has no inertia among"
        " those that they allow, so that accelerations and multipliers do not follow. Give it a"
        " mass, or leave it out; analysis.constraint_algorithm says more of a vakonomic system."
    )
