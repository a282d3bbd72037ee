"""What controls do to a system: generalised forces f(t, q, v, u) beside its own."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.control.actuation import Actuation, actuation_of, control_names, names_of
from accion.systems import System
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector

# f(t, q, v, u, params), shape (dim,)
Law = Function
TAKES = "t, q, v, u, params"


class Acting(NamedTuple):
    """What the controls do, their names, and B where they do B(t, q) u; None where they do
    something else.
    """

    law: Law
    names: tuple[str, ...]
    B: Actuation | None


@dataclass(frozen=True)
class Affine:
    """B(t, q) u."""

    B: Actuation

    def __call__(
        self, t: Scalar, q: Configuration, v: Vector, u: Array, params: Params
    ) -> Covector:
        return self.B(t, q, params) @ u


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Push:
    """The force of a system with the controls' added to it: F(t, q, v) + f(t, q, v, u)."""

    force: Any
    law: Law
    u: Array

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Covector:
        pushed = jnp.asarray(self.law(t, q, v, self.u, params))
        return pushed if self.force is None else pushed + self.force(t, q, v, params)


def driven(system: System, law: Law, u: Array) -> System:
    """The system with the forces of the controls `u` added to its own."""
    return system.altered(force=Push(system.force, law, u))


@dataclass(frozen=True)
class Slope:
    """df/du at the controls `u`, by which their sizes are known; shape (dim, controls)."""

    law: Law
    u: tuple[float, ...]

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Array:
        def force(u: Array) -> Array:
            return jnp.asarray(self.law(t, q, v, u, params))

        return jax.jacfwd(force)(jnp.array(self.u))


def acting(
    system: System, actuated: Any, actuation: Any, control_force: Any, controls: Any
) -> Acting:
    """What the controls do, from what the user gave: coordinates, B, or a function."""
    if sum(given is not None for given in (actuated, actuation, control_force)) != 1:
        raise ValueError(
            "say what the controls act on: actuated=[...], coordinates by name or number, or"
            " actuation=B(t, q, params), or control_force=f(t, q, v, u, params), one of them."
        )
    if control_force is None:
        B = actuation_of(system, actuated, actuation)
        return Acting(Affine(B), control_names(system, B, controls), B)
    check_function("control_force", control_force, TAKES)
    names = names_of(controls)
    if names is None:
        raise ValueError(
            "control_force needs the names of its controls, controls=[...]: nothing else says how"
            f" many there are; got {controls!r}."
        )
    n = system.space.dim
    point = (jnp.zeros(()), system.space.identity(), jnp.zeros(n), jnp.zeros(len(names)))
    out = evaluate(
        "control_force",
        lambda s, *at: control_force(*at, s.params),
        system,
        *point,
        takes=f"({TAKES})",
    )
    check_returns("control_force", out, (n,), f"a covector of shape ({n},)")
    return Acting(control_force, names, None)
