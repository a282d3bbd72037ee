"""Trajectories of the continuous equations by an explicit method of order 8, SciPy's DOP853: where
no program for collocation can be had.
"""

from typing import Any

import numpy as np

from accion.engines.auto import callable_of
from accion.instant.collocation import EPS, FAR, Allowed, Rates

TIGHTEST = 100 * EPS  # relative tolerance of SciPy


class Explicit:
    """A motion that is integrated from one time to the next; as `collocation.Marching`."""

    def __init__(
        self, f: Rates, system: Any, z: Any, t: float, y: Any, h: float, allowed: Allowed, most: int
    ) -> None:
        self.t, self.y, self.h, self.most, self.count = t, y, h, most, 0
        self.rtol = max(float(allowed.rtol), TIGHTEST)
        self.atol = allowed.atol * allowed.scales
        rate = callable_of("rates", f, system, np.float64(t), y, z)
        self.rate = lambda t, y: np.asarray(rate(system, np.float64(t), y, z))

    def to(self, end: float) -> bool:
        """Whether the time `end` was reached."""
        from scipy.integrate import solve_ivp  # takes long to import, and is not always needed

        if end <= self.t:  # of two times that are next to each other there is no half
            return True
        # SciPy's own interpolation between steps is less accurate: each time asked for is the end
        # of a run.
        found = solve_ivp(
            self.rate,
            (self.t, end),
            self.y,
            method="DOP853",
            rtol=self.rtol,
            atol=self.atol,
            first_step=min(self.h, end - self.t),
        )
        self.count += len(found.t) - 1
        self.t, self.y = end, found.y[:, -1]
        self.h = max(np.diff(found.t)[:-1], default=self.h)
        return bool(found.status == 0 and np.all(np.abs(self.y) < FAR) and self.count <= self.most)

    def put(self, y: np.ndarray) -> None:
        """Go on from another state at the same time."""
        self.y = y
