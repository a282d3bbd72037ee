"""Forces that come from a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from accion.errors import in_function
from accion.systems.arity import check_function
from accion.types import Configuration, Params, Scalar, Vector


@dataclass(frozen=True)
class Rayleigh:
    dissipation: Callable[..., Any]

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        with in_function("dissipation"):
            return -jax.grad(self.dissipation, 2)(t, q, v, params)


def rayleigh(dissipation: Any) -> Any:
    """The friction force F = -dPhi/dv of a dissipation function Phi(t, q, v, params) -> scalar
    (Romero, eq 22-25).
    """
    check_function("dissipation", dissipation, "t, q, v, params")
    return Rayleigh(dissipation)
