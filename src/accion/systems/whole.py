"""What systems share whose state has more than a configuration: entropies, or an action."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from accion.spaces import Euclidean, Product, Space
from accion.systems.base import AbstractSystem, unit_of, word_of
from accion.systems.legendre import velocity
from accion.types import Array, Configuration, Covector, Params, Scalar, Vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OfWhole:
    """A function of (t, q, v, S, params) as one of (t, z, w, params), where z = (q, S) and w = (v,
    S'); S is what the state has besides q.
    """

    f: Callable[..., Any]
    frame: "Frame" = field(metadata={"static": True})

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        q, S = self.frame.parts(z)
        return self.f(t, q, w[: self.frame.n], self.frame.as_given(S), params)


@dataclass(frozen=True)
class Frame:
    """How configuration and entropies, or what else a state has besides q, are put together: z =
    (q, S), on a Product (q_1, q_2, ..., S).
    """

    space: Any
    entropies: tuple[str, ...] | None  # None where S is a scalar
    alone: str = "S [J/K]"  # the name of that scalar

    @property
    def n(self) -> int:
        return self.space.dim

    @property
    def m(self) -> int:
        return 1 if self.entropies is None else len(self.entropies)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.alone,) if self.entropies is None else self.entropies

    @property
    def temperatures(self) -> tuple[str, ...]:
        """Names of the temperatures: T, T_gas of S_gas."""
        names = []
        for name in self.names:
            word = word_of(name)
            own = "T" + word[1:] if word == "S" or word.startswith("S_") else f"T_{word}"
            names.append(f"{own} [K]" if unit_of(name) == "J/K" else own)
        return tuple(names)

    @property
    def whole(self) -> Any:
        factors = self.space.factors if isinstance(self.space, Product) else (self.space,)
        return Product(*factors, Euclidean(self.m))

    def join(self, q: Configuration, S: Any) -> Any:
        """z of a configuration and S as the user has them; S is 0 where it is None."""
        S = jnp.asarray(0.0 if S is None else S, dtype=float)
        S = S[..., None] if self.entropies is None else S
        return (*q, S) if isinstance(self.space, Product) else (q, S)

    def parts(self, z: Configuration) -> Any:
        """(q, S), with S of shape (m,)."""
        return (z[:-1] if isinstance(self.space, Product) else z[0]), z[-1]

    def as_given(self, S: Any) -> Any:
        """S, or anything with one number for each body, as the user sees it: a scalar where hers
        is.
        """
        return S[..., 0] if self.entropies is None else S

    def as_rows(self, F: Array) -> Any:
        """A force of shape (dim,) or (m, dim) as rows."""
        return jnp.reshape(F, (-1, self.n))


class Extended(AbstractSystem):
    """A system of order one, without constraints, whose state has more than q and p: a step moves z
    = (q, S), where S may be the entropies, or the action of a contact system.
    """

    order = 1
    constraint = None
    conformal = None
    mechanical = None
    multipliers = 0
    enters_action = False
    holds_positions = False
    holds_velocities = False

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """How configuration and S are put together."""

    @property
    def step_space(self) -> Space:
        return self.frame.whole

    def point(self, q: Configuration, S: Any) -> Configuration:
        return self.frame.join(q, S)

    def parts(self, z: Configuration) -> tuple[Configuration, Any]:
        q, S = self.frame.parts(z)
        return q, self.frame.as_given(S)


class InTime(Extended):
    """One in continuous time: functions of (t, z, v), with (q, S) for z."""

    @abstractmethod
    def L(self, t: Scalar, z: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """The Lagrangian."""

    def legendre(self, t: Scalar, z: Configuration, v: Vector, lam: Any = None) -> Covector:
        """The Legendre transform p = dL/dv."""
        return jax.grad(self.L, 2)(t, z, v)

    def energy(self, t: Scalar, z: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """E = dL/dv.v - L: all energy, the internal with it; the Hamiltonian of contact systems."""
        return jnp.sum(self.legendre(t, z, v) * v) - self.L(t, z, v)

    def velocity(
        self, t: Scalar, z: Configuration, p: Covector, guess: Any, lam: Any = None
    ) -> Vector:
        """The inverse Legendre transform: v with dL/dv(t, q, v, S) = p, from a guess.

        NaN where none was found.
        """
        return velocity(self, t, z, p, guess, lam)
