"""Lagrangians of known shape: mass, potential, magnetic term."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.systems.frozen import Examples, Untraced, freeze
from accion.systems.functions import check_returns
from accion.systems.mistakes import not_evaluable
from accion.types import Configuration, Covector, Params, Scalar, Vector


class Inertia(NamedTuple):
    """A constant mass M, kept as a number, a vector (its diagonal) or a matrix, with its inverse:
    no n x n system to solve.
    """

    mass: Any
    inverse: Any

    def solve(self, p: Covector) -> Any:
        """M^{-1} p."""
        if jnp.ndim(self.mass) < 2:
            return p / self.mass
        v = self.inverse @ p
        # One correction takes the error of the inverse back to roundoff.
        return v + self.inverse @ (p - self.mass @ v)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MechanicalLagrangian:
    """L = 1/2 v.M v + A(q).v - V(t, q), with constant mass M; times weight(t), where a system has
    one.
    """

    mass: Any
    potential: Callable[..., Any] | None
    magnetic: Callable[..., Any] | None
    weight: Callable[..., Any] | None = None
    # what it returns, in shape and type, once its parts are traced
    out: Any = field(default=None, metadata={"static": True})

    def inertia(self, params: Params) -> Any:
        M = jnp.asarray(self.mass(params) if callable(self.mass) else self.mass, dtype=float)
        if M.ndim < 2:
            return Inertia(M, None)
        # Only the symmetric part acts in 1/2 v.M v.
        M = (M + M.T) / 2
        return Inertia(M, jnp.linalg.inv(M))

    def w(self, t: Scalar, params: Params) -> Any:
        return 1.0 if self.weight is None else self.weight(t, params)

    def A(self, q: Configuration, params: Params) -> Any:
        return 0.0 if self.magnetic is None else self.magnetic(q, params)

    def velocity(self, t: Scalar, q: Configuration, p: Covector, params: Params) -> Vector:
        """v with dL/dv = weight (M v + A) = p."""
        return self.inertia(params).solve(p / self.w(t, params) - self.A(q, params))

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        M: Any = self.mass(params) if callable(self.mass) else self.mass
        kinetic = 0.5 * v @ (M @ v if jnp.ndim(M) == 2 else M * v)
        magnetic = 0.0 if self.magnetic is None else self.magnetic(q, params) @ v
        V = 0.0 if self.potential is None else self.potential(t, q, params)
        return self.w(t, params) * (kinetic + magnetic - V)


@singledispatch
def as_mechanical(lagrangian: Any, space: Any) -> MechanicalLagrangian | None:
    """A Lagrangian on a space as mass, potential and magnetic term, None where it is not known to
    be.
    """
    return None


@as_mechanical.register
def _(lagrangian: MechanicalLagrangian, space: Any) -> MechanicalLagrangian | None:
    return lagrangian


@singledispatch
def velocity_of(lagrangian: Any, system: Any, t: Scalar, q: Configuration, p: Covector) -> Any:
    """The velocity of a momentum, None where it must be solved for."""
    return None


@velocity_of.register
def _(
    lagrangian: MechanicalLagrangian, system: Any, t: Scalar, q: Configuration, p: Covector
) -> Vector:
    return system.mechanical.velocity(t, q, p, system.params)


# The functions that it may consist of, with their arguments.
PARTS = {
    "mass": "params",
    "potential": "t, q, params",
    "magnetic": "q, params",
}


def check_part(part: str, out: Any, n: int) -> None:
    """Raise ValueError unless a part returns what it should."""
    shapes = {"mass": ((), (n,), (n, n)), "magnetic": ((n,),)}.get(part, ((),))
    shape = next((s for s in shapes if getattr(out, "shape", None) == s), shapes[0])
    words = {(): "a scalar", (n,): f"a vector of shape ({n},)"}
    check_returns(
        part, out, shape, " or ".join(words.get(s, f"an array of shape {s}") for s in shapes)
    )


@freeze.register
def _(f: MechanicalLagrangian, name: str, arguments: str, examples: Examples) -> Any:
    """Part by part: explicit steps need them."""
    given = {part: getattr(f, part) for part in PARTS if callable(getattr(f, part))}
    parts = {
        part: freeze(function, f"{part} in the {name}", PARTS[part], examples)
        for part, function in given.items()
    }
    for part in parts.values():
        if isinstance(part, Untraced):
            return Untraced(f, part.error)
    (n,) = examples("v, params")[0].shape
    for part, function in parts.items():
        check_part(part, function.out, n)
    found = replace(f, **parts)
    try:
        return replace(found, out=jax.eval_shape(found, *examples(arguments)))
    except Exception as error:
        not_evaluable(name, error, f"({arguments})")
