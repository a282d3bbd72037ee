"""The linear systems of a minimum under constraints: symmetric and indefinite."""

from typing import NamedTuple

import numpy as np

from accion.assembly.banded import Banded, Factors


class Saddle:
    """The matrix [[H + delta, J^T], [J, -gamma]] of n unknowns, the fixed ones held, and m rows."""

    def __init__(
        self,
        hessian: tuple[np.ndarray, np.ndarray],
        jacobian: tuple[np.ndarray, np.ndarray],
        fixed: np.ndarray,
        place: np.ndarray,
        row_place: np.ndarray,
    ) -> None:
        n, m = len(place), len(row_place)
        self.n, self.m = n, m
        self.held = np.concatenate([fixed, np.zeros(m, dtype=bool)])
        rows, columns = jacobian
        i = np.concatenate([hessian[0], rows + n, columns])
        j = np.concatenate([hessian[1], columns, rows + n])
        self.wanted = ~(self.held[i] | self.held[j])
        diagonal, places = np.arange(n + m), np.concatenate([place, row_place])
        self.matrix = Banded(
            np.concatenate([i[self.wanted], diagonal]),
            np.concatenate([j[self.wanted], diagonal]),
            places,
            places,
        )
        # Directions taken by chance, in which it is asked whether a cost bends upwards.
        self.probes = np.random.default_rng(0).normal(size=(2, n)) * ~fixed

    def factor(
        self, H: np.ndarray, J: np.ndarray, delta: float = 0.0, gamma: float = 0.0
    ) -> "SaddleFactors | None":
        """The factors, for entries of H and J in their places; None where it is singular."""
        diagonal = np.where(self.held, 1.0, np.repeat(np.array([delta, -gamma]), [self.n, self.m]))
        entries = np.concatenate([np.concatenate([H, J, J])[self.wanted], diagonal])
        factors = self.matrix.factor(entries)
        return None if factors is None else SaddleFactors(self, factors)


class SaddleFactors(NamedTuple):
    saddle: Saddle
    factors: Factors

    @property
    def even(self) -> bool:
        """Whether the number of negative eigenvalues is."""
        return self.factors.positive

    def solve(self, top: np.ndarray, bottom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dx, dlam) with [[H + delta, J^T], [J, -gamma]] (dx, dlam) = (top, bottom), vectors or
        columns of them.
        """
        right = np.concatenate([top, bottom])
        right[self.saddle.held] = 0.0
        x = self.factors.solve(right)
        return x[: self.saddle.n], x[self.saddle.n :]
