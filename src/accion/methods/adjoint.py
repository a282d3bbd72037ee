"""The adjoint of a method: the same step looked at from its end."""

from dataclasses import dataclass, field
from typing import Any

from accion.methods.base import Method, Sample
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class Adjoint(Method):
    """Ld*(t, h, q0, q1) = -Ld(t + h, -h, q1, q0).

    A step of it with -h undoes a step of `method` with h.
    """

    method: Method
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes: Any = field(init=False, repr=False)
    variational: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        nodes = self.method.nodes
        object.__setattr__(self, "order", self.method.order)
        object.__setattr__(self, "variational", self.method.variational)
        object.__setattr__(self, "symmetric", self.method.symmetric)
        object.__setattr__(
            self, "nodes", None if nodes is None else tuple((w, 1 - c) for w, c in nodes)
        )

    def check(self, system: Any) -> None:
        self.method.check(system)

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
        return self.method.samples(space, t + h, -h, space.retract(q0, x), -x, e1, e0)
