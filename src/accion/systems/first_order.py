"""A system of order r as one of first order: the same motion on T^(r-1)Q, whose points are z = (q,
q', ..., q^(r-1)), with q' = v, ... as constraints of the action.
"""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp

from accion.arguments import door, instance
from accion.spaces import Euclidean, Product, Space
from accion.systems.base import AbstractSystem, word_of
from accion.systems.higher import HigherOrderSystem
from accion.systems.system import System
from accion.types import Array, Configuration, Params, Scalar, Vector


@dataclass(frozen=True)
class Levels:
    """How q and its derivatives up to q^(r-1) are put together: z = (q, (q', ..., q^(r-1))), on a
    Product (q_1, q_2, ..., (q', ..., q^(r-1))).
    """

    space: Space
    order: int

    @property
    def n(self) -> int:
        return self.space.dim

    @property
    def whole(self) -> Space:
        if self.order == 1:
            return self.space
        factors = self.space.factors if isinstance(self.space, Product) else (self.space,)
        return Product(*factors, Euclidean((self.order - 1) * self.n))

    def join(self, q: Configuration, low: Array) -> Configuration:
        """z of a configuration and (q', ..., q^(r-1)), rows in the last two axes."""
        if self.order == 1:
            return q
        rates = jnp.reshape(low, (*jnp.shape(low)[:-2], (self.order - 1) * self.n))
        return (*q, rates) if isinstance(self.space, Product) else (q, rates)

    def parts(self, z: Configuration) -> tuple[Configuration, Array]:
        """(q, (q', ..., q^(r-1))), the derivatives as rows in the last two axes."""
        if self.order == 1:
            return z, jnp.zeros((0, self.n))
        q, rates = (z[:-1] if isinstance(self.space, Product) else z[0]), z[-1]
        return q, rates.reshape(*rates.shape[:-1], self.order - 1, self.n)

    def point(self, z: Configuration, w: Vector) -> tuple[Any, ...]:
        """(q, q', ..., q^(r)) at z with the velocity w = z'."""
        q, low = self.parts(z)
        return (q, *low, w[-self.n :])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OfLevels:
    """A function of (t, q, v, a, ..., params) as one of (t, z, w, params)."""

    f: Any
    levels: Levels = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        return self.f.out

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        return self.f(t, *self.levels.point(z, w), params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ForceOfLevels:
    """The force, which pushes q alone: (F, 0, ..., 0)."""

    f: Any
    levels: Levels = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        return jax.ShapeDtypeStruct((self.levels.order * self.levels.n,), jnp.float64)

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        F = self.f(t, *self.levels.point(z, w), params)
        return jnp.concatenate([F, jnp.zeros((self.levels.order - 1) * self.levels.n)])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Successive:
    """z'_s - z_{s+1}: each level is the derivative of the one before; then Phi, where there is
    one.
    """

    f: Any  # Phi, or None
    levels: Levels = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        m = 0 if self.f is None else self.f.out.shape[0]
        rows = (self.levels.order - 1) * self.levels.n
        return jax.ShapeDtypeStruct((rows + m,), jnp.float64)

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        kinematic = w[: -self.levels.n] - jnp.ravel(self.levels.parts(z)[1])
        if self.f is None:
            return kinematic
        return jnp.concatenate([kinematic, self.f(t, *self.levels.point(z, w), params)])


@door(system=instance(HigherOrderSystem, "a HigherOrderSystem"))
def first_order(system: HigherOrderSystem) -> System:
    """The vakonomic `System` on T^(r-1)Q that has the motions of a system of order r.

        L(t, z_0, ..., z_{r-1}, z'_{r-1}),        z_s' = z_{s+1},        s = 0, ..., r - 2

    A configuration is z = (q, (q', ..., q^(r-1))), the derivatives one after the other; of a
    Product (q_1, q_2, ..., (q', ..., q^(r-1))). Its momenta are those of Jacobi and Ostrogradsky,
    p_0, ..., p_{r-1}, one after the other; its multipliers p_0, ..., p_{r-2}, and then lam where
    the system has a constraint of its own.

    Arguments:
        system: of order r, on any space, with its force and its constraint.

    Returns:
        The `System`; of order one the same without further constraints.

    Reference: Vakonomic thesis, section 5.3: the presymplectic system on T*(T^(r-1)Q) + T^(r)Q is
    the one that this `System` has by section 4.2.
    """
    return as_first_order(system)


def as_first_order(system: HigherOrderSystem) -> System:
    """`first_order` without a look at its argument."""
    levels, held = Levels(system.space, system.order), system.vakonomic
    kinematic = system.order > 1 or held is not None
    names = [f"{word_of(name)}^({s})" for s in range(1, system.order) for name in system.names]
    return System.made_of(
        lagrangian=OfLevels(system.lagrangian, levels),
        space=levels.whole,
        params=system.params,
        force=None if system.force is None else ForceOfLevels(system.force, levels),
        vakonomic=Successive(held, levels) if kinematic else None,
        coordinates=(*(system.coordinates or ()), *names),
        name=system.name,
    )


@singledispatch
def of_first_order(system: AbstractSystem) -> AbstractSystem:
    """The system itself, of one of order r `first_order`."""
    return system


@of_first_order.register
def _(system: HigherOrderSystem) -> System:
    return as_first_order(system)
