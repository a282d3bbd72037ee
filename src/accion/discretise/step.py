"""A step of a `System`: everything discrete is the pullback of something continuous by one
finite-difference map.

    Ld(t, h, q0, q1) = h sum_i w_i L(t_i, q_i, v_i)
    Fd^-.dq0 + Fd^+.dq1 = h sum_i w_i F(t_i, q_i, v_i).dq_i
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise.base import Blocks, Discretisation, Variation, discretise
from accion.methods import Method, Sample
from accion.numerics import newton
from accion.systems import System
from accion.types import Configuration, Function, Scalar, Vector


def samples_of(
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    e0: Any = None,
    e1: Any = None,
    inner: Any = None,
) -> Any:
    """Where a step looks at the system, its ends displaced by `e0` and `e1`."""
    step = (system.space, t, h, q0, x, e0, e1)
    return method.samples(*step) if inner is None else method.samples(*step, inner)


def action(
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    e0: Any,
    e1: Any,
    lam: Any = None,
    inner: Any = None,
) -> Any:
    """Ld of the step, the ends displaced by `e0` and `e1`; with `lam`, of L + lam.Phi."""
    samples = samples_of(system, method, t, h, q0, x, e0, e1, inner)
    return h * sum(s.w * system.L(s.t, s.q, s.v, lam) for s in samples)


def work(
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    e0: Any,
    e1: Any,
    lam: Any = None,
    inner: Any = None,
) -> Any:
    """The virtual work of the force when the ends are displaced by `e0` and `e1`, and inner points
    to `inner`.
    """
    here = samples_of(
        system, method, t, h, q0, x, inner=None if inner is None else jax.lax.stop_gradient(inner)
    )
    moved = samples_of(system, method, t, h, q0, x, e0, e1, inner)
    return h * sum(
        s.w * (system.F(s.t, s.q, s.v) @ system.space.displacement(s.q, m.q))
        for s, m in zip(here, moved, strict=True)
    )


def gradient(
    f: Function,
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    lam: Any = None,
    inner: Any = None,
) -> Any:
    """The derivatives of `f` (`action` or `work`) with respect to the two ends of the step, two
    covectors of shape (dim,), and to its inner points, where there are some.
    """
    zero = jnp.zeros_like(x)
    if inner is None:
        ends = jax.grad(lambda e0, e1: f(system, method, t, h, q0, x, e0, e1, lam), (0, 1))
        return ends(zero, zero)

    def displaced(e0: Any, e1: Any, inner: Any) -> Any:
        return f(system, method, t, h, q0, x, e0, e1, lam, inner)

    return jax.grad(displaced, (0, 1, 2))(zero, zero, inner)


def variation(
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    x: Vector,
    lam: Any = None,
    inner: Any = None,
) -> Any:
    """(D1 Ld + Fd^-, D2 Ld + Fd^+): what the step contributes to the momentum balance at its start
    and at its end (Marsden and West 2001, part 3; Bonich, eq 2.4); and what it says of inner
    points, where there are some.
    """

    def both(*step: Configuration) -> Any:
        return action(*step) + work(*step)

    # Both in one gradient: half the operations to compile of two.
    f = action if system.force is None else both
    return gradient(f, system, method, t, h, q0, x, lam, inner)


def sampled(f: Function, samples: Any) -> Any:
    """sum_i w_i f(t_i, q_i, v_i)."""
    return sum(s.w * f(s.t, s.q, s.v) for s in samples)


@dataclass(frozen=True)
class Step(Discretisation):
    """A step of a `System`, with its forces and constraints."""

    system: System
    method: Method

    @property
    def blocks(self) -> Blocks:
        n = self.system.space.dim
        return Blocks(x=n, inner=self.method.inner_points * n, lam=self.system.multipliers)

    def samples(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> list[Sample]:
        """Where the step looks at the system."""
        return self.method.samples(self.system.space, t, h, z, x)

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        zero = jnp.zeros_like(x)
        return action(self.system, self.method, t, h, z, x, zero, zero, lam, inner)

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        minus, plus, *more = variation(self.system, self.method, t, h, z, x, lam, inner)
        return Variation(minus, more[0] if more else jnp.zeros((0, len(x))), plus)

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        constraint, space = self.system.constraint, self.system.space
        if constraint is None:
            return jnp.zeros(0)
        return constraint.closure(self.system, self.samples(t, h, z, x), t + h, space.retract(z, x))

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        constraint = self.system.constraint
        return 0.0 if constraint is None else h * constraint.reaction(self.system, t, z, v, lam)

    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, J: Any, inner: Any = None
    ) -> Any:
        """The first is sqrt(|Ld| / |dr/dx|), which is h sqrt(energy / mass): large enough where
        strong forces cancel, whatever the coordinates.
        """
        Ld = jnp.abs(self.action(t, h, z, x, None, inner))
        own = jnp.sqrt(newton.own_size(Ld, jnp.diagonal(J)[: len(x)]))
        return own, self.system.space.magnitude(z)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        return action(self.system, self.method, t, h, z, x, e[0], e[1], lam)

    def between(self, nodes: Sequence[Configuration]) -> Any:
        q0, q1 = nodes
        return q0, self.system.space.local(q0, q1)

    def from_increments(self, x: Vector) -> Any:
        return x[0]


@discretise.register
def _(system: System, method: Any) -> Step:
    return Step(system, method)
