"""Methods that sample the straight (on a group: the retracted) path from q0 to q1 at fixed
fractions c_i of the step.
"""

import numbers
from dataclasses import dataclass, field
from typing import Any

from accion.arguments import shown
from accion.methods.base import Method, Sample
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


class Quadrature(Method):
    """What they share: v_i = x/h and q_i = retract(q0, c_i x), with weights w_i."""

    variational = True

    def check(self, system: Any) -> None:
        """Every system can be stepped."""

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
        d, start = (x, q0) if e0 is None else (space.relative(x, e0, e1), space.displace(q0, e0))
        return [
            Sample(w, t + c * h, start if c == 0 else space.retract(start, c * d), d / h)
            for w, c in self.nodes
        ]


@dataclass(frozen=True)
class LeftRectangle(Quadrature):
    """Ld = h L(t, q0, (q1 - q0)/h).

    Order 1; explicit for `mechanical` systems (symplectic Euler).
    """

    order = 1
    symmetric = False
    nodes = ((1.0, 0.0),)


@dataclass(frozen=True)
class RightRectangle(Quadrature):
    """Ld = h L(t + h, q1, (q1 - q0)/h), the adjoint of `LeftRectangle`.

    Order 1; explicit for `mechanical` systems.
    """

    order = 1
    symmetric = False
    nodes = ((1.0, 1.0),)


@dataclass(frozen=True)
class Midpoint(Quadrature):
    """Ld = h L(t + h/2, (q0 + q1)/2, (q1 - q0)/h). Order 2, symmetric, implicit."""

    order = 2
    symmetric = True
    nodes = ((1.0, 0.5),)


@dataclass(frozen=True)
class Trapezoid(Quadrature):
    """Ld = h/2 L(t, q0, v) + h/2 L(t + h, q1, v), v = (q1 - q0)/h. Order 2, symmetric; explicit for
    `mechanical` systems (Stoermer-Verlet).
    """

    order = 2
    symmetric = True
    nodes = ((0.5, 0.0), (0.5, 1.0))


@dataclass(frozen=True)
class Alpha(Quadrature):
    """Ld = h L(t + a h, (1 - a) q0 + a q1, (q1 - q0)/h), 0 <= a <= 1.

    Order 1, or 2 at a = 1/2 (`Midpoint`).
    """

    a: float
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.a, bool) or not isinstance(self.a, numbers.Real) or not 0 <= self.a <= 1:
            raise ValueError(
                "Alpha(a) needs a number 0 <= a <= 1, where in the step the sample lies; got"
                f" {shown(self.a)}."
            )
        object.__setattr__(self, "a", float(self.a))  # any kind of number, one way of writing it
        middle = self.a == 0.5
        object.__setattr__(self, "order", 2 if middle else 1)
        object.__setattr__(self, "symmetric", middle)
        object.__setattr__(self, "nodes", ((1.0, self.a),))
