"""The configuration space, as everything else sees it."""

from abc import ABC, abstractmethod
from typing import Any

import jax


class Space(ABC):
    """Where a system lives: a manifold with a retraction, a map from small vectors to nearby configurations.

    A configuration is an array (on a `Product`, a tuple); velocities, momenta and increments are flat vectors of length `dim`.
    Spaces are immutable and compare by value, so compiled code is shared between equal ones.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of degrees of freedom."""

    @property
    @abstractmethod
    def flat(self) -> bool:
        """True where a retraction is a sum, so that increments add up and commute."""

    @abstractmethod
    def identity(self) -> Any:
        """A configuration to start from: the origin."""

    @abstractmethod
    def check(self, q, name="q") -> Any:
        """`q` as float64 array(s) of the right shape, or a ValueError that says what is wrong with it."""

    @abstractmethod
    def retract(self, q, eta) -> Any:
        """The configuration reached from `q` by the increment `eta`, shape (dim,)."""

    @abstractmethod
    def local(self, q0, q1) -> jax.Array:
        """The increment that leads from `q0` to `q1`: the inverse of `retract`, shape (dim,)."""

    @abstractmethod
    def relative(self, x, e0, e1) -> jax.Array:
        """`local(retract(q, e0), retract(retract(q, x), e1))`, which does not depend on `q`.

        The increment `x` of a step after its ends are displaced by `e0` and `e1`, without the cancellation of `q1 - q0`.
        """

    @abstractmethod
    def accumulate(self, q, c, x) -> tuple[Any, jax.Array]:
        """`retract(q, x)` by compensated summation: the new configuration and what it lost to rounding, `c`, shape (dim,)."""

    @abstractmethod
    def magnitude(self, q) -> jax.Array:
        """The size of `q` against which the roundoff of an increment is measured, shape (dim,)."""

    @abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """Names for the components of a velocity, used where the user gives none."""
