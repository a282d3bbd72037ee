"""What holds a system: holonomic, nonholonomic and vakonomic constraints, behind one interface.

The multiplier `lam` is the constraint force, d/dt dL/dv - dL/dq = F + A^T lam, in every kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from accion.types import Configuration, Function, Scalar, Vector


class Constraint(ABC):
    """m equations that a motion satisfies, and the force that makes it.

    `name` is what a `System` calls them.
    """

    name: ClassVar[str]
    enters_action: Any  # whether its multipliers are part of the action and of the state
    holds_positions: Any  # whether it holds configurations, not only velocities

    @abstractmethod
    def value(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        """The equations as the user wrote them, at a point, shape (m,)."""

    @abstractmethod
    def on_velocities(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        """What they say about the velocity, shape (m,)."""

    @abstractmethod
    def reaction(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        """The constraint force A(t, q)^T lam, shape (dim,); zero where it is in the Lagrangian."""

    @abstractmethod
    def closure(self, system: Any, samples: Any, t1: Any, q1: Configuration) -> Any:
        """The discrete equations of a step that ends at (t1, q1), shape (m,)."""

    @abstractmethod
    def lagrangian(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        """What the constraint adds to the Lagrangian."""

    def matrix(self, system: Any, t: Scalar, q: Configuration, v: Vector, m: Any) -> Any:
        """A(t, q), shape (m, dim), whose transpose turns multipliers into forces; where they enter
        the action, dPhi/dv.
        """
        if self.enters_action:
            return jax.jacfwd(lambda v: self.value(system, t, q, v))(v)
        return jax.jacfwd(lambda lam: self.reaction(system, t, q, v, lam))(jnp.zeros(m)).T


def sampled(f: Function, samples: Any) -> Any:
    """sum_i w_i f(t_i, q_i, v_i)."""
    return sum(s.w * f(s.t, s.q, s.v) for s in samples)


@dataclass(frozen=True)
class Holonomic(Constraint):
    """phi(t, q) = 0 (Marsden and West 2001, part 3; Vakonomic thesis, Thm 8.2.1): A = dphi/dq, and
    q_{k+1} is on the constraint.
    """

    name: ClassVar[str] = "holonomic"
    enters_action = False
    holds_positions = True
    phi: Callable[..., Any]

    def value(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return self.phi(t, q, system.params)

    def on_velocities(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        zero = jnp.zeros(system.space.dim)

        def along(t: Scalar, e: Any) -> Any:
            return self.value(system, t, system.space.displace(q, e), v)

        return jax.jvp(along, (jnp.asarray(t, float), zero), (jnp.ones(()), v))[1]

    def reaction(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        zero = jnp.zeros(system.space.dim)
        return jax.vjp(lambda e: self.value(system, t, system.space.displace(q, e), v), zero)[1](
            lam
        )[0]

    def closure(self, system: Any, samples: Any, t1: Any, q1: Configuration) -> Any:
        return self.value(system, t1, q1, jnp.zeros(0))

    def lagrangian(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return 0.0


@dataclass(frozen=True)
class Nonholonomic(Constraint):
    """kappa(t, q, v) = 0 with virtual displacements A(t, q) dq = 0 (Cortes and Martinez 2001;
    Bonich, Def 2.23-2.31), where A may depend on v (`of_velocity`); without `A`, Chetaev's A =
    dkappa/dv.
    """

    name: ClassVar[str] = "nonholonomic"
    enters_action = False
    holds_positions = False
    kappa: Callable[..., Any]
    A: Callable[..., Any] | None
    of_velocity: bool = False

    def value(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return self.kappa(t, q, v, system.params)

    def on_velocities(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return self.value(system, t, q, v)

    def reaction(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        if self.A is not None:
            at = (t, q, v) if self.of_velocity else (t, q)
            return self.A(*at, system.params).T @ lam
        return jax.vjp(lambda v: self.value(system, t, q, v), v)[1](lam)[0]

    def closure(self, system: Any, samples: Any, t1: Any, q1: Configuration) -> Any:
        return sampled(lambda t, q, v: self.value(system, t, q, v), samples)

    def lagrangian(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return 0.0


@dataclass(frozen=True)
class Vakonomic(Constraint):
    """Phi(t, q, v) = 0 in the variational sense (Vakonomic thesis, Prop 4.1.2): the free motion of
    L + lam.Phi, with lam one more unknown.
    """

    name: ClassVar[str] = "vakonomic"
    enters_action = True
    holds_positions = False
    Phi: Callable[..., Any]

    def value(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return self.Phi(t, q, *system.derivatives(v), system.params)

    def on_velocities(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return self.value(system, t, q, v)

    def reaction(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return jnp.zeros(system.space.dim)

    def closure(self, system: Any, samples: Any, t1: Any, q1: Configuration) -> Any:
        return sampled(lambda t, q, v: self.value(system, t, q, v), samples)

    def lagrangian(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return jnp.sum(lam * self.value(system, t, q, v))


@dataclass(frozen=True)
class Combined(Constraint):
    """Several constraints, their multipliers joined into one vector; `sizes` says how many each
    has.
    """

    name: ClassVar[str] = "constraint"
    enters_action = False
    parts: tuple[Constraint, ...]
    sizes: tuple[int, ...]

    @property
    def holds_positions(self) -> Any:
        return any(part.holds_positions for part in self.parts)

    def shares(self, lam: Any) -> Any:
        ends = [sum(self.sizes[:i]) for i in range(len(self.sizes) + 1)]
        return [lam[a:b] for a, b in pairwise(ends)]

    def value(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return jnp.concatenate([part.value(system, t, q, v) for part in self.parts])

    def on_velocities(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
        return jnp.concatenate([part.on_velocities(system, t, q, v) for part in self.parts])

    def reaction(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return sum(
            part.reaction(system, t, q, v, share)
            for part, share in zip(self.parts, self.shares(lam), strict=True)
        )

    def closure(self, system: Any, samples: Any, t1: Any, q1: Configuration) -> Any:
        return jnp.concatenate([part.closure(system, samples, t1, q1) for part in self.parts])

    def lagrangian(self, system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        return sum(
            part.lagrangian(system, t, q, v, share)
            for part, share in zip(self.parts, self.shares(lam), strict=True)
        )
