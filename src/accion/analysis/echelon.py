"""Null spaces of linear equations whose solutions are simple numbers."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

SMALL = 1e-9  # a singular value of equations whose terms are of size one, that counts as zero
FITS = 1e-8  # so does a residual of them
LARGEST_DENOMINATOR = 12


def in_units(rows: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Finite rows, divided by the size of the terms that they are sums of: what is left by
    cancellation is then small.
    """
    good = np.all(np.isfinite(rows), axis=1) & (size > 0)
    return rows[good] / size[good, None]


def beside(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What is left of rows when combinations of columns are taken away."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    U = U[:, s > SMALL * s[0]]
    return rows - U @ (U.T @ rows)


def fractions(numbers: np.ndarray) -> np.ndarray:
    """The same, those near simple fractions made so."""
    clean = np.array([float(Fraction(x).limit_denominator(LARGEST_DENOMINATOR)) for x in numbers])
    return np.where(np.abs(clean - numbers) < 1e-6, clean, numbers) + 0.0  # no -0


def null_space(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the solutions, as rows."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, Vt = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    rank = int(np.sum(s > SMALL * np.sqrt(len(rows))))
    return Vt[rank:]


def also_solving(
    basis: np.ndarray, units: np.ndarray, rows: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Of vectors whose entries are in some units, the combinations that also solve equations in
    other units; as rows.
    """
    turned = basis * (units / other)
    size = np.max(np.abs(turned), axis=1, keepdims=True)
    found = null_space(rows @ (turned / size).T) / size.T @ basis
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def solves(rows: np.ndarray, u: np.ndarray) -> bool:
    """Whether `u` solves the equations."""
    return bool(np.max(np.abs(rows @ u), initial=0.0) < FITS * np.linalg.norm(u))


def simple(basis: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The same space by reduced echelon form, entries near simple fractions made so."""
    basis = basis.copy()
    row = 0
    for column in range(basis.shape[1]):
        if row == len(basis):
            break
        k = row + int(np.argmax(np.abs(basis[row:, column])))
        if abs(basis[k, column]) < 1e-7:
            continue
        basis[[row, k]] = basis[[k, row]]
        basis[row] /= basis[row, column]
        others = np.arange(len(basis)) != row
        basis[others] -= np.outer(basis[others, column], basis[row])
        row += 1
    return [clean if solves(rows, clean := fractions(u)) else u for u in basis[:row]]


def in_own_units(u: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Coefficients that were found in other units, the first of them one."""
    if np.all(units == 1):
        return u
    u = u * units
    return u / np.max(np.abs(u[np.flatnonzero(u)[:1]]))


def different(
    basis: list[np.ndarray], values: Callable[[np.ndarray], np.ndarray], rank: Callable[..., Any]
) -> list[np.ndarray]:
    """Fields that are different from each other and from zero where they were looked at; of
    several that are equal there the simplest.

    Arguments:
        basis: coefficients of the fields.
        values: the values of a field, from its coefficients.
        rank: what the simplest has least of, a function of coefficients.
    """
    found, seen = [], None
    for u in sorted(basis, key=rank):
        value = np.ravel(values(u))[None]
        if np.max(np.abs(value)) < 1e-9 * np.max(np.abs(u)):
            continue  # as a turn of space and the opposite one of the body in the plane
        more = value if seen is None else np.vstack([seen, value])
        if np.linalg.matrix_rank(more, tol=1e-7 * np.max(np.abs(more))) > len(found):
            found.append(u)
            seen = more
    return found
