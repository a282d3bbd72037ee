"""A step of a `System`: everything discrete is the pullback of something continuous by one
finite-difference map.

    Ld(t, h, q0, q1) = h sum_i w_i L(t_i, q_i, v_i)
    Fd^-.dq0 + Fd^+.dq1 = h sum_i w_i F(t_i, q_i, v_i).dq_i
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise.base import Blocks, Discretisation, Variation, discretise
from accion.engines.xla import kept_jit
from accion.methods import Method, Sample
from accion.numerics import newton
from accion.numerics.terms import terms
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


def of_samples(system: Any, method: Any, lam: Any, samples: Sequence[Sample]) -> Any:
    """The multipliers that each sample has in the action: those of the step, or where it has inner
    points those of its own.
    """
    if lam is None or not (system.enters_action and method.inner_points):
        return [lam] * len(samples)
    return list(jnp.reshape(lam, (len(samples), -1)))


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
    e: Any = 0.0,
) -> Any:
    """Ld of the step, the ends displaced by `e0` and `e1` and inner points by `e`; with `lam`, of L
    + lam.Phi.
    """
    inner = None if inner is None else inner + e
    samples = samples_of(system, method, t, h, q0, x, e0, e1, inner)
    pairs = zip(samples, of_samples(system, method, lam, samples), strict=True)
    return h * sum(s.w * system.L(s.t, s.q, s.v, own) for s, own in pairs)


def with_work(
    forces: Any,
    here: Sequence[Sample],
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
    e: Any = 0.0,
) -> Any:
    """The action, and the virtual work of the `forces` at the samples `here`, those of the step as
    it is, when the ends are displaced by `e0` and `e1` and inner points by `e`.
    """
    inner = None if inner is None else inner + e
    moved = samples_of(system, method, t, h, q0, x, e0, e1, inner)
    lams = of_samples(system, method, lam, moved)
    return h * sum(
        m.w * (system.L(m.t, m.q, m.v, own) + F @ system.space.displacement(s.q, m.q))
        for s, m, F, own in zip(here, moved, forces, lams, strict=True)
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
    """The derivatives of `f` (such as `action`) with respect to the two ends of the step, two
    covectors of shape (dim,), and to its inner points, where there are some.
    """
    zero = jnp.zeros_like(x)
    if inner is None:
        ends = jax.grad(lambda e0, e1: f(system, method, t, h, q0, x, e0, e1, lam), (0, 1))
        return ends(zero, zero)

    def displaced(e0: Any, e1: Any, e: Any) -> Any:
        return f(system, method, t, h, q0, x, e0, e1, lam, inner, e)

    return jax.grad(displaced, (0, 1, 2))(zero, zero, jnp.zeros_like(inner))


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
    if system.force is None:
        return gradient(action, system, method, t, h, q0, x, lam, inner)
    here = samples_of(system, method, t, h, q0, x, inner=inner)
    forces = [system.F(s.t, s.q, s.v) for s in here]
    # Both in one gradient of the same samples: a third of the operations to compile of two.
    return gradient(partial(with_work, forces, here), system, method, t, h, q0, x, lam, inner)


# Traced once for a system and a method: the program of a step asks for it three times.
varied = kept_jit(variation, static_argnums=(1,))


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
        n, count = self.system.space.dim, self.method.inner_points
        # A constraint holds, and has a multiplier, at each inner point and at the end.
        return Blocks(x=n, inner=count * n, lam=(count + 1) * self.system.multipliers)

    def samples(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None
    ) -> list[Sample]:
        """Where the step looks at the system."""
        return samples_of(self.system, self.method, t, h, z, x, inner=inner)

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        zero, inner = jnp.zeros_like(x), self.between_ends(t, h, z, x, lam, inner)
        return action(self.system, self.method, t, h, z, x, zero, zero, lam, inner)

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        inner = self.between_ends(t, h, z, x, lam, inner)
        minus, plus, *more = varied(self.system, self.method, t, h, z, x, lam, inner)
        return Variation(minus, more[0] if more else jnp.zeros((0, len(x))), plus)

    def between_ends(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any, inner: Any
    ) -> Any:
        """Inner points of a step of which the ends alone are given: those that make the action
        stationary, on the constraint where one holds configurations. None where there are none.
        """
        if inner is not None or not self.method.inner_points:
            return inner
        if self.system.enters_action:
            raise ValueError(
                f"{type(self.method).__name__} has multipliers at the inner points of a step of a"
                " vakonomic system, which its two ends do not give: simulate, connect and the"
                " flow of (q, p) take it; functions of two ends take Midpoint()."
            )
        places, m = self.method.places[1:-1], self.system.multipliers
        equations = InnerEquations(self.method, m * len(places))
        guess = jnp.concatenate([*(c * x for c in places), jnp.zeros(m * len(places))])
        found = newton.root(equations, guess, (self.system, t, h, z, x))
        points = jnp.where(found.converged, found.x, jnp.nan)[: len(places) * len(x)]
        return points.reshape(len(places), len(x))

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        constraint, space = self.system.constraint, self.system.space
        if constraint is None:
            return jnp.zeros(0)
        samples = self.samples(t, h, z, x, inner)
        if inner is None:
            return constraint.closure(self.system, samples, t + h, space.retract(z, x))
        method: Any = self.method
        nodes = method.held(space, t, h, z, x, inner)
        return jnp.concatenate(
            [
                constraint.closure(self.system, [sample], node.t, node.q)
                for sample, node in zip(samples[-len(nodes) :], nodes, strict=True)
            ]
        )

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        constraint, m = self.system.constraint, self.system.multipliers
        if constraint is None:
            return 0.0
        return h * constraint.reaction(self.system, t, z, v, lam[:m])

    def inner_reaction(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any, lam: Any
    ) -> Any:
        constraint, method, rows = self.system.constraint, self.method, []
        if constraint is None:
            return 0.0
        each = jnp.reshape(lam, (-1, self.system.multipliers))[-self.method.inner_points :]
        nodes = method.held(self.system.space, t, h, z, x, inner)[:-1]  # pyright: ignore
        for node, own in zip(nodes, each, strict=True):
            rows.append(h * node.w * constraint.reaction(self.system, node.t, node.q, node.v, own))
        return jnp.stack(rows)

    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, J: Any, inner: Any = None
    ) -> Any:
        """The first is sqrt(|Ld| / |dr/dx|), which is h sqrt(energy / mass): large enough where
        strong forces cancel, whatever the coordinates. A coordinate without mass that a constraint
        of the action moves is as large as what cancels in that constraint.
        """
        Ld = jnp.abs(self.action(t, h, z, x, None, inner))
        own = jnp.sqrt(newton.own_size(Ld, jnp.diagonal(J)[: len(x)]))
        if self.system.enters_action:
            found = terms(self.closure, t, h, z, x, inner).inner
            moved = jax.vmap(newton.own_size, (0, 0))(found, J[-len(found) :, : len(x)])
            own = jnp.where(own > 0, own, jnp.max(moved, axis=0))
        return own, self.system.space.magnitude(z)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        if not self.method.inner_points:
            return action(self.system, self.method, t, h, z, x, e[0], e[1], lam)
        space = self.system.space
        return self.action(t, h, space.displace(z, e[0]), space.relative(x, e[0], e[1]), lam)

    def between(self, nodes: Sequence[Configuration]) -> Any:
        q0, q1 = nodes
        return q0, self.system.space.local(q0, q1)

    def from_increments(self, x: Vector) -> Any:
        return x[0]


@dataclass(frozen=True)
class InnerEquations(newton.Equations):
    """What determines the inner points of a step whose ends are given; the arguments are (system,
    t, h, z, x).
    """

    method: Any
    multipliers: int

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, h, z, x = args
        form, count = Step(system, self.method), self.method.inner_points
        inner = jnp.reshape(unknowns[: count * len(x)], (count, len(x)))
        left = varied(system, self.method, t, h, z, x, None, inner)[2]
        if not self.multipliers:
            return jnp.ravel(left)
        held = form.inner_reaction(t, h, z, x, inner, unknowns[count * len(x) :])
        # The last of the constraints is that of the end.
        closed = form.closure(t, h, z, x, inner)[: self.multipliers]
        return jnp.concatenate([jnp.ravel(left + held), closed])

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        system, t, h, z, x = args
        count = self.method.inner_points
        Ld = jnp.abs(action(system, self.method, t, h, z, x, None, None))
        own = jnp.sqrt(newton.own_size(Ld, jnp.diagonal(J)[: count * len(x)]))
        return own, jnp.tile(system.space.magnitude(z), count)


@discretise.register
def _(system: System, method: Any) -> Step:
    return Step(system, method)
