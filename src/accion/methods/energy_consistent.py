"""A method whose entropy balance is replaced by that of the energy."""

from dataclasses import dataclass, field
from typing import Any

from accion.methods.base import Method, Sample, check_free
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class EnergyConsistent(Method):
    """`method` for thermal systems, with entropies such that the energy is kept to roundoff.

    The motion is sampled as `method` does. In place of the sampled entropy balance, S_{k+1} is such
    that

        E(t_{k+1}, q_{k+1}, p_{k+1}, S_{k+1}) = E(t_k, q_k, p_k, S_k) + work of external forces +
        heat

    so that the first law holds to roundoff, for every step size. Several bodies share the
    difference to their sampled balances as their heat capacities are. What is given up is the
    second law where friction is weak: entropy also takes up the error that the method makes in the
    mechanical energy, which may be of either sign.
    """

    method: Method
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes: Any = field(init=False, repr=False)
    variational: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise ValueError(
                f"EnergyConsistent(method) needs a method, such as Midpoint(); got {self.method!r}."
            )
        for name in ("order", "symmetric", "nodes", "variational"):
            object.__setattr__(self, name, getattr(self.method, name))

    def check(self, system: Any) -> None:
        if not system.entropic:
            raise ValueError(
                "EnergyConsistent is for a ThermalSystem, whose entropy takes up energy; try"
                f" {self.method!r}."
            )
        check_free(self, system)
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
        return self.method.samples(space, t, h, q0, x, e0, e1)
