"""The generalized-alpha method of structural dynamics, on Lie groups: not variational, for
comparison.
"""

import numbers
from dataclasses import dataclass
from typing import Any

from accion.methods.base import Method, Sample, check_windows
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class GeneralizedAlpha(Method):
    """The generalized-alpha method on Lie groups (Bruels, Cardona and Arnold 2012), with the
    spectral radius `rho` at infinity, 0 <= rho <= 1.

        q1 = retract(q0, h (v0 + h (1/2 - beta) a0 + h beta a1))
        v1 = v0 + h (1 - gamma) a0 + h gamma a1
        (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) v1' + alpha_f v0'

    where v1' and the multipliers satisfy the continuous equations at the end of the step, with the
    constraint there. Order 2 for every rho; rho < 1 damps high frequencies, and with them energy.
    It has no discrete Lagrangian: `simulate` and `ensemble` take it, `discrete` does not.
    """

    rho: float = 0.8
    order = 2
    symmetric = False
    nodes = None
    variational = False

    def __post_init__(self) -> None:
        if (
            isinstance(self.rho, bool)
            or not isinstance(self.rho, numbers.Real)
            or not 0 <= self.rho <= 1
        ):
            raise ValueError(
                "GeneralizedAlpha(rho) needs a number 0 <= rho <= 1, the spectral radius at"
                f" infinity; got {self.rho!r}."
            )
        # any kind of number, one way of writing it
        object.__setattr__(self, "rho", float(self.rho))

    @property
    def alpha_m(self) -> Any:
        return (2 * self.rho - 1) / (self.rho + 1)

    @property
    def alpha_f(self) -> Any:
        return self.rho / (self.rho + 1)

    @property
    def gamma(self) -> Any:
        return 0.5 + self.alpha_f - self.alpha_m

    @property
    def beta(self) -> Any:
        return (self.gamma + 0.5) ** 2 / 4

    def check(self, system: Any) -> None:
        check_windows(self, system)
        if system.beside or system.enters_action:
            whom = system.kind if system.beside else "vakonomic systems"
            raise ValueError(f"GeneralizedAlpha does not support {whom}; try Midpoint().")

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
            "GeneralizedAlpha is not variational: it has no discrete Lagrangian. Use it in simulate"
            " or ensemble; try Midpoint here."
        )
