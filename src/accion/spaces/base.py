"""The configuration space, as everything else sees it."""

from abc import ABC, abstractmethod

import jax
import jax.numpy as jnp

from accion.types import Array, Configuration, Covector, Vector


def many_runs(name: str, given: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """What to do where a start has a row for each of many runs, "" where it has not."""
    batched = name in ("q0", "v0", "p0") and given[1:] == wanted
    return " Many runs at once, a row for each, are ensemble(...)." if batched else ""


class Space(ABC):
    """Where a system lives: a manifold with a retraction, a map from small vectors to nearby
    configurations.

    A configuration is an array (on a `Product`, a tuple); velocities, momenta and increments are
    flat vectors of length `dim`. Spaces are immutable and compare by value, so compiled code is
    shared between equal ones.
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
    def identity(self) -> Configuration:
        """A configuration to start from: the origin."""

    @abstractmethod
    def check(self, q: Configuration, name: str = "q") -> Configuration:
        """`q` as float64 array(s) of the right shape.

        Arguments: `q`, whatever `jnp.asarray` takes; `name`, what an error calls it.
        Raises: ValueError that says what is wrong with it.
        """

    @abstractmethod
    def retract(self, q: Configuration, eta: Vector) -> Configuration:
        """The configuration reached from `q` by the increment `eta`, shape (dim,)."""

    @abstractmethod
    def local(self, q0: Configuration, q1: Configuration) -> Vector:
        """The increment that leads from `q0` to `q1`: the inverse of `retract`, shape (dim,)."""

    @abstractmethod
    def difference(self, q0: Configuration, q1: Configuration) -> Vector:
        """`local(q0, q1)` of two configurations of one motion, whose angles count whole turns: on
        flat spaces it does not go the short way round.
        """

    @abstractmethod
    def displace(self, q: Configuration, e: Vector) -> Configuration:
        """`retract(q, e)` to second order in `e`, which is what derivatives by a displacement of
        `q` need.
        """

    @abstractmethod
    def relative(self, x: Vector, e0: Vector, e1: Vector) -> Vector:
        """`local(displace(q, e0), displace(retract(q, x), e1))`, which does not depend on `q`; to
        first order in each of `e0` and `e1`.

        The increment `x` of a step after its ends are displaced by `e0` and `e1`, without the
        cancellation of `q1 - q0`.
        """

    @abstractmethod
    def displacement(self, q: Configuration, moved: Configuration) -> Vector:
        """`local(q, moved)` to first order, for one that is moved by next to nothing: a virtual
        displacement, shape (dim,).
        """

    @abstractmethod
    def velocity(self, x: Vector, rate: Vector) -> Vector:
        """The velocity of retract(q, x(t)) where x changes at the given rate, shape (dim,): linear
        in `rate`, and the same for every `q`.
        """

    @abstractmethod
    def rate(self, x: Vector, v: Vector) -> Vector:
        """The rate of x(t) with which retract(q, x(t)) has the velocity `v`, shape (dim,): the
        inverse of `velocity`.
        """

    @abstractmethod
    def ad(self, xi: Vector, eta: Vector) -> Vector:
        """The Lie bracket [xi, eta] of two velocities, shape (dim,); zero on a flat space."""

    def coad(self, xi: Vector, mu: Covector) -> Covector:
        """ad*_xi mu, the covector with (ad*_xi mu)(eta) = mu([xi, eta]), shape (dim,)."""
        return jax.grad(lambda eta: mu @ self.ad(xi, eta))(jnp.zeros_like(mu))

    def tangent(self, q: Configuration, v: Vector) -> Configuration:
        """dq/dt of a motion through `q` with velocity `v`, built like `q`."""
        return jax.jvp(lambda e: self.displace(q, e), (jnp.zeros_like(v),), (v,))[1]

    @abstractmethod
    def project(self, q: Configuration) -> Configuration:
        """The configuration nearest to `q`, which has the right shape but may be off the space."""

    @abstractmethod
    def stretched(self, x: Vector) -> Vector:
        """h v, shape (dim,), for the velocity v whose momentum a step with the increment `x` has
        along x: `x` itself, unless the tangent of the retraction stretches it.
        """

    @abstractmethod
    def within(self, x: Vector) -> Array | bool:
        """Whether a motion by `x` = h v in one step, shape (dim,), is inside the chart of the
        retraction; True where it has no end.
        """

    @property
    @abstractmethod
    def chart(self) -> str:
        """Where the chart of the retraction ends, in words; "" where it does not."""

    @abstractmethod
    def beyond(self, x: Vector) -> str | None:
        """How far `x` = h v is beyond it, and where it ends, in words; None inside."""

    def check_increment(self, x: Vector) -> None:
        """Look whether a motion by `x` = h v in one step, shape (dim,), is inside the chart.

        Raises: ValueError where it is beyond it.
        """
        words = self.beyond(x)
        if words is not None:
            raise ValueError(f"{words}.")

    @abstractmethod
    def accumulate(self, q: Configuration, c: Vector, x: Vector) -> tuple[Configuration, Vector]:
        """`retract(q, x)` by compensated summation: the new configuration and what it lost to
        rounding, `c`, shape (dim,).
        """

    @abstractmethod
    def magnitude(self, q: Configuration) -> Vector:
        """The size of `q` against which the roundoff of an increment is measured, shape (dim,)."""

    @abstractmethod
    def in_letters(self) -> "Space":
        """The same space for expressions in letters: its retraction is one formula, without series
        for small increments.

        Raises: ValueError where there is none.
        """

    @abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """Names for the components of a velocity, used where the user gives none."""
