"""Which row of a problem is which: numbers given out block by block, with bounds, places in time
and names.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


class RowNumbers:
    """The rows that were asked for so far."""

    def __init__(self) -> None:
        self.lower: list[np.ndarray] = []
        self.upper: list[np.ndarray] = []
        self.place: list[np.ndarray] = []
        self.names: list[tuple[np.ndarray, Callable[[int, int], str]]] = []
        self.count = 0

    def block(
        self,
        wanted: Any,
        place: Any,
        name: Callable[[int, int], str],
        lower: Any = 0.0,
        upper: Any = 0.0,
    ) -> np.ndarray:
        """Numbers for a block of rows, shape of `wanted`; -1 where one is not wanted.

        Arguments:
            wanted: which rows there are, shape (places, rows at each).
            place: when they act, shape (places,).
            name: name(k, j) names the j-th row of the k-th place.
            lower, upper: their bounds, of the shape of `wanted` or one that is broadcast to it.
        """
        wanted = np.asarray(wanted, dtype=bool)
        numbers = np.full(wanted.shape, -1)
        numbers[wanted] = self.count + np.arange(np.count_nonzero(wanted))
        self.count += int(np.count_nonzero(wanted))
        places = np.broadcast_to(np.asarray(place, dtype=float)[:, None], wanted.shape)
        for known, values in ((self.lower, lower), (self.upper, upper), (self.place, places)):
            known.append(np.broadcast_to(values, wanted.shape)[wanted])
        self.names.append((numbers, name))
        return numbers

    def label(self, i: int) -> str:
        """The name and the time of a row."""
        numbers, name = next(pair for pair in self.names if np.any(pair[0] == i))
        k, j = np.argwhere(numbers == i)[0]
        return name(int(k), int(j))

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(lower, upper, place) of all rows."""
        lower, upper, place = (
            np.concatenate(part) for part in (self.lower, self.upper, self.place)
        )
        return lower, upper, place
