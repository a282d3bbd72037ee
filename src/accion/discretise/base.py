"""What a system becomes under a method: the only thing that steps, two-point problems, control,
campaigns and printed equations know of it.

A step is given by its start z0 and its increment x, not by its two ends: velocities keep all their
digits that way. Derivatives are taken in local coordinates, with respect to displacements of the
start, of inner points and of the end, so that the same lines serve every space.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.methods import Method
from accion.systems import AbstractSystem
from accion.types import Array, Configuration, Multipliers, Scalar, Vector


class Blocks(NamedTuple):
    """The unknowns of a step, block after block: how many numbers each of them has."""

    x: int  # the increment of the configuration
    S: int = 0  # the increments of the entropies, of a contact system that of its action
    inner: int = 0  # inner points of the step
    lam: int = 0  # multipliers

    @property
    def moved(self) -> int:
        """How many numbers the increment of z has: x and S."""
        return self.x + self.S

    def increment(self, unknowns: Array) -> Array:
        """The increment of z = (q, S)."""
        return unknowns[: self.x + self.S]

    def inner_points(self, unknowns: Array) -> Array | None:
        """Their increments from the start, one row for each; None where there are none."""
        own = unknowns[self.moved : self.moved + self.inner]
        return jnp.reshape(own, (-1, self.x)) if self.inner else None

    def multipliers(self, unknowns: Array) -> Multipliers:
        """The multipliers, the last of the unknowns."""
        first = self.moved + self.inner
        return unknowns[first : first + self.lam]


class Variation(NamedTuple):
    """The derivatives of the discrete Lagrangian with the forces', by displacements: covectors.

    Of a window of r steps `start` belongs to its first configuration, and `end`, with one row more
    for each step, to those that follow.
    """

    start: Array
    inner: Array
    end: Array


class Discretisation(ABC):
    """A system under a method, as functions of a step from z at the time t with the length h.

    `x` is the increment of z, of a window of r steps the differences of its increments, shape (r,
    dim); `lam` are the multipliers of the step, which matter where they are in the action; `inner`
    says where its inner points are, where it has some.
    """

    system: Any
    method: Any

    @property
    @abstractmethod
    def blocks(self) -> Blocks:
        """The unknowns of a step."""

    @abstractmethod
    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, lam: Any = None, inner: Any = None
    ) -> Scalar:
        """The discrete Lagrangian Ld, with what constraints add to it."""

    @abstractmethod
    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, lam: Any = None, inner: Any = None
    ) -> Variation:
        """Its derivatives, with the forces', by displacements."""

    @abstractmethod
    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Array, inner: Any = None) -> Array:
        """Further equations of a step: discrete constraints, entropy balances; shape (k,)."""

    @abstractmethod
    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Multipliers) -> Any:
        """What constraint forces add to the momentum balance at the start, h A(t, q)^T lam; zero
        where multipliers are in the action. `v` is a velocity near the start.
        """

    @abstractmethod
    def inner_reaction(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, inner: Array, lam: Multipliers
    ) -> Any:
        """What constraint forces add to the balances of inner points, where there are some."""

    @abstractmethod
    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, J: Array, inner: Any = None
    ) -> tuple[Array, Array]:
        """The size of an increment that matters, and of what it is added to, shapes (dim,); J are
        the derivatives of the equations of a step.
        """

    @property
    def own(self) -> int:
        """How many unknowns a window has besides its configurations: inner points and multipliers,
        where these are in the action; others follow from the configurations.
        """
        return self.blocks.inner + self.blocks.lam if self.system.enters_action else 0

    def window(
        self, t: Scalar, h: Scalar, q: Configuration, x: Array, own: Any
    ) -> tuple[Array, Array]:
        """(D_1 Ld, ..., D_{r+1} Ld), shape (r + 1, dim), of r steps with increments `x`, shape (r,
        dim), and the equations of its `own` unknowns: balances of inner points, and constraints.
        """
        d, inner, lam = self.from_increments(x), None, None
        if self.system.enters_action:
            points, lam = own[: self.blocks.inner], own[self.blocks.inner :]
            inner = jnp.reshape(points, (-1, x.shape[-1])) if self.blocks.inner else None
        found = self.variation(t, h, q, d, lam, inner)
        G = jnp.concatenate([found.start[None], jnp.reshape(found.end, (len(x), -1))])
        if not self.system.enters_action:
            return G, jnp.zeros(0)
        return G, jnp.concatenate([jnp.ravel(found.inner), self.closure(t, h, q, d, inner)])

    @abstractmethod
    def between(self, nodes: Sequence[Configuration]) -> tuple[Configuration, Array]:
        """(z, x) of a step, or of a window, through these configurations."""

    @abstractmethod
    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, e: Array, lam: Any = None
    ) -> Scalar:
        """Ld with the configurations displaced by the rows of `e`."""

    def derivatives(
        self, t: Scalar, h: Scalar, z: Configuration, x: Array, lam: Any = None
    ) -> Array:
        """D_1 Ld, D_2 Ld, ..., one row for each configuration, without the forces."""
        zero = jnp.zeros((self.system.order + 1, self.system.step_space.dim))
        return jax.grad(lambda e: self.displaced_action(t, h, z, x, e, lam))(zero)

    @abstractmethod
    def from_increments(self, x: Array) -> Array:
        """The `x` of the other functions from the increments of r steps, shape (r, dim)."""


@singledispatch
def discretise(system: AbstractSystem, method: Method | None) -> Discretisation:
    """What `system` becomes under `method`; each kind of system registers its own."""
    raise ValueError(f"{type(system).__name__} has no discretisation.")


def moved_nodes(space: Any, nodes: Sequence[Configuration], e: Array) -> list[Configuration]:
    """Configurations after displacements, shape (len(nodes), dim)."""
    return [space.displace(q, e[i]) for i, q in enumerate(nodes)]
