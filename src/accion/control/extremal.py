"""What a motion of states, costates and controls has."""

from typing import NamedTuple

import numpy as np

from accion.control.hamiltonian import is_regular
from accion.types import Configuration


class Extremal(NamedTuple):
    """A motion on W1: a solution of the necessary conditions, at the nodes of multiple shooting, or
    what another face of the problem says of one.

    `costates` (times, 2, dim) are (p0, p1); `H` the Hamiltonian, constant where nothing depends on
    time, and then 0 where the duration is free and no terminal cost sees it; `optimality` the
    largest |dH/du|; `gap` the largest of the equations that were solved, as part of their terms;
    `error` an estimate of the error of `cost`; `regularity` d2H/du2 at the nodes. `gap` and `error`
    are NaN where nothing tells them.
    """

    t: np.ndarray
    q: Configuration
    v: np.ndarray
    u: np.ndarray
    costates: np.ndarray
    cost: float
    H: np.ndarray
    optimality: float
    gap: float
    error: float
    regularity: np.ndarray
    iterations: int

    @property
    def duration(self) -> float:
        """From the first to the last time."""
        return float(self.t[-1] - self.t[0])

    @property
    def drift(self) -> float:
        """How much the Hamiltonian changes along the solution."""
        return float(np.ptp(self.H))

    @property
    def symplectic(self) -> bool:
        """Whether W1 is symplectic along the solution (Vakonomic thesis, Prop 7.1.2): det d2H/du2
        is nowhere zero.
        """
        return bool(np.all(is_regular(self.regularity)))

    @property
    def minimal(self) -> bool:
        """Whether H has a maximum in u all along (the condition of Legendre and Clebsch): d2H/du2
        negative definite.
        """
        return bool(np.all(np.linalg.eigvalsh(self.regularity) < 0))
