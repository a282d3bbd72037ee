"""A method for thermal systems that keeps both laws, whatever the step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from accion.methods.base import Method, Sample, check_free
from accion.methods.quadrature import Midpoint
from accion.methods.symmetry import asymmetry, is_symmetric
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class EnergyEntropyConsistent(Method):
    """A step of order 2 of a `ThermalSystem` that keeps the first law to roundoff and the second
    for every step size.

    With H(q, p, S) = p.v - L it is, body by body in the last line,

        q1 - q0 = h v                        v = D_p H
        p1 - p0 = h (-D_q H + F_fr + F_ext)
        S1 - S0 = h (-F_fr.v + P_H) / T      T = D_S H

    where (D_q, D_p, D_S) H are means of the derivatives of H along the straight way from (q0, p0,
    S0) to (q1, p1, S1), a discrete gradient (Harten, Lax and van Leer 1983; McLachlan, Quispel and
    Robidoux 1999): what H changes is the sum of what they say, so the three lines add up to the
    work of external forces and the heat from outside. Means of positive temperatures are
    positive. Friction and heat are taken in the middle of the step, at the velocity v and at those
    entropies at which the temperatures are T: so -F_fr.v is what friction takes, and of
    conduction G (T_2 - T_1) each exchange makes the entropy h G (T_2 - T_1)^2 / (T_1 T_2).

    It rests on what the second law does: T > 0, friction with F_fr.v <= 0, heat that flows by
    temperatures, and temperatures that grow with entropy. Means are taken at `points` Gauss points:
    the first law holds to roundoff where a step changes temperatures by less than a factor of two,
    with the default. Of the momenta those of displacements along coordinates are kept, angular
    momentum on flat spaces to order 2 only. It has no discrete Lagrangian: `simulate` and
    `ensemble` take it, `discrete` does not.
    """

    points: int = 8
    order = 2
    symmetric = True
    nodes = None
    variational = False

    def __post_init__(self) -> None:
        whole = isinstance(self.points, int | np.integer) and not isinstance(self.points, bool)
        if not whole or not 1 <= self.points <= 64:
            raise ValueError(
                "EnergyEntropyConsistent(points) needs a whole number of Gauss points, from 1 to"
                f" 64; got {self.points!r}."
            )
        object.__setattr__(self, "points", int(self.points))

    @property
    def way(self) -> list[tuple[float, float]]:
        """(weight, place) of the points at which means along a step are taken."""
        x, w = np.polynomial.legendre.leggauss(self.points)
        return list(zip(w / np.sum(w), (1 + x) / 2, strict=True))

    def check(self, system: Any) -> None:
        if not system.entropic or system.discrete_time:
            raise ValueError(
                "EnergyEntropyConsistent is for a ThermalSystem, in continuous time: it shares"
                " energy between motion and heat; try Midpoint()."
            )
        check_free(self, system)
        if not is_symmetric(Midpoint(), system.step_space):
            raise ValueError(
                "EnergyEntropyConsistent needs a straight way between the ends of a step, which the"
                f" retraction of {system.space} has not: half a step twice is not the whole one."
                " Try retraction='exp'."
            )

    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> list[Sample]:
        raise ValueError(
            "EnergyEntropyConsistent is not variational: it has no discrete Lagrangian. Use it in"
            " simulate or ensemble; try Midpoint() here."
        )


@asymmetry.register
def _(method: EnergyEntropyConsistent, system: Any) -> str:
    return "inner steps that go back in time would take entropy away"
