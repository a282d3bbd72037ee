"""The adjoint of a method: the same step looked at from its end."""

from dataclasses import dataclass, field
from typing import Any

from accion.methods.base import Method


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

    def __post_init__(self):
        nodes = self.method.nodes
        object.__setattr__(self, "order", self.method.order)
        object.__setattr__(self, "variational", self.method.variational)
        object.__setattr__(self, "symmetric", self.method.symmetric)
        object.__setattr__(
            self, "nodes", None if nodes is None else tuple((w, 1 - c) for w, c in nodes)
        )

    def check(self, system):
        self.method.check(system)

    def samples(self, space, t, h, q0, x, e0=None, e1=None):
        return self.method.samples(space, t + h, -h, space.retract(q0, x), -x, e1, e0)
