"""Numbers of the rows of a program, given out block by block, with their bounds, places in time and
names.
"""

import numpy as np


class Rows:
    def __init__(self):
        self.lower, self.upper, self.place, self.names, self.count = [], [], [], [], 0

    def block(self, wanted, place, name, lower=0.0, upper=0.0):
        """Numbers for a block of rows, shape of `wanted` (places, rows at each), -1 where one is
        not wanted; `name(k, j)` names them.
        """
        wanted = np.asarray(wanted, dtype=bool)
        numbers = np.full(wanted.shape, -1)
        numbers[wanted] = self.count + np.arange(np.count_nonzero(wanted))
        self.count += int(np.count_nonzero(wanted))
        places = np.broadcast_to(np.asarray(place, dtype=float)[:, None], wanted.shape)
        for kept, values in ((self.lower, lower), (self.upper, upper), (self.place, places)):
            kept.append(np.broadcast_to(values, wanted.shape)[wanted])
        self.names.append((numbers, name))
        return numbers

    def label(self, i):
        """The name and the time of a row."""
        numbers, name = next(pair for pair in self.names if np.any(pair[0] == i))
        return name(*map(int, np.argwhere(numbers == i)[0]))

    def arrays(self):
        """(lower, upper, place) of all rows."""
        return tuple(np.concatenate(part) for part in (self.lower, self.upper, self.place))
