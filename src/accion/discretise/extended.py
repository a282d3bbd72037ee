"""A step of a system whose state has more than q: its two ends are z = (q, S) on a larger space."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from accion.discretise.base import Blocks, Discretisation
from accion.discretise.step import action, variation
from accion.methods import Sample
from accion.numerics import newton
from accion.types import Array, Configuration, Scalar, Vector


class ExtendedDiscretisation(Discretisation):
    """What thermal and contact systems share; S are the entropies, or the action."""

    @property
    def blocks(self) -> Blocks:
        system = self.system
        return Blocks(x=system.space.dim, S=system.frame.m, lam=system.multipliers)

    @abstractmethod
    def whole_variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector
    ) -> tuple[Array, Array]:
        """((D1 Ld + Fd^-, D3 Ld), (D2 Ld + Fd^+, D4 Ld)), each of shape (dim + m,)."""

    @abstractmethod
    def size_beside(self, h: Scalar, Ld: Scalar, slopes: Array) -> Array:
        """The size of a change of S that matters, shape (m,), where the action of a step has the
        size `Ld` and `slopes` are the sizes of the derivatives of the closure by S.
        """

    def inner_reaction(
        self, t: Scalar, h: Scalar, z: Configuration, x: Any, inner: Any, lam: Any
    ) -> Any:
        return 0.0

    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, J: Any, inner: Any = None
    ) -> Any:
        """Of q as for any system; of S see `size_beside`."""
        n = self.system.space.dim
        Ld = jnp.abs(self.action(t, h, z, x))
        diagonal = jnp.abs(jnp.diagonal(J)[: len(x)]) + newton.TINY
        own = jnp.concatenate([jnp.sqrt(Ld / diagonal[:n]), self.size_beside(h, Ld, diagonal[n:])])
        return jnp.where(jnp.isfinite(own), own, 0.0), self.system.step_space.magnitude(z)

    def between(self, nodes: Sequence[Configuration]) -> Any:
        z0, z1 = nodes
        return z0, self.system.step_space.local(z0, z1)

    def from_increments(self, x: Vector) -> Any:
        return x[0]


class SampledOnWhole(ExtendedDiscretisation):
    """That of a method, which looks at the system on the larger space."""

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        zero = jnp.zeros_like(x)
        return action(self.system.whole, self.method, t, h, z, x, zero, zero)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        return action(self.system.whole, self.method, t, h, z, x, e[0], e[1])

    def whole_variation(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        return variation(self.system.whole, self.method, t, h, z, x)

    def samples(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> list[Sample]:
        """Where the step looks at the system."""
        return self.method.samples(self.system.step_space, t, h, z, x)
