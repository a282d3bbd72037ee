"""Symmetries and what they conserve (Colombo-Gamonal, sections 2 and 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.natural import natural_units
from accion.arguments import door, seed
from accion.checks import check_field, check_mechanical, refuse
from accion.errors import in_function
from accion.memory import rows
from accion.methods import Method
from accion.results.trajectory import Trajectory, a_trajectory
from accion.spaces import Group, Space
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, System
from accion.systems.arity import check_function
from accion.types import Array, Configuration, Covector, Scalar, Vector

Field = Callable[[Configuration], Vector]

ROUNDOFF = 1e-12  # what counts as no motion, relative to the size of a configuration


def complete_lift(X: Field) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
    """X^C on TQ of a flat space, as a function of (q, v): (X(q), dX(q).v)."""
    check_function("X", X, "q")

    def lift(q: Configuration, v: Vector) -> Any:
        with in_function("X"):
            return jax.jvp(X, (q,), (v,))

    return lift


def vertical_lift(X: Field) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
    """X^V on TQ of a flat space, as a function of (q, v): (0, X(q))."""

    check_function("X", X, "q")

    def lift(q: Configuration, v: Vector) -> Any:
        with in_function("X"):
            return jnp.zeros_like(v), X(q)

    return lift


@dataclass(frozen=True)
class Symmetry:
    """A vector field `X(q) -> (dim,)` and, where the Lagrangian changes by a total derivative, its
    `f(t, q) -> scalar`.

    X is a (Noether) symmetry of a system where X^C(L) = df/dt, of its discretisation where D1
    Ld.X(q0) + D2 Ld.X(q1) = f(t + h, q1) - f(t, q0). Then p.X - f is conserved, on discrete
    trajectories to roundoff (Colombo-Gamonal, Thm 3.3, where f has the other sign).
    """

    X: Field
    f: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        check_function("X", self.X, "q")
        check_function("f", self.f, "t, q", optional=True)

    @staticmethod
    def from_action(
        action: Callable[..., Any], space: Space, f: Callable[..., Any] | None = None
    ) -> "Symmetry":
        """The symmetry of a one-parameter action on a space: X(q) is the derivative of
        space.local(q, action(s, q)) by s at s = 0.

        Arguments:
            action: `action(s, q)` returns a configuration, with action(0, q) = q.
            space: where q lives.
            f: `f(t, q)`, where the Lagrangian changes by df/dt along the action.
        """
        check_action(action, space)

        def X(q: Configuration) -> Any:
            return jax.jvp(
                lambda s: space.local(q, action(s, q)), (jnp.zeros(()),), (jnp.ones(()),)
            )[1]

        return Symmetry(X, f)

    def change(self, t: Scalar, q: Configuration) -> Scalar:
        """f(t, q), zero where none was given."""
        return jnp.zeros(()) if self.f is None else self.f(t, q)

    def defect(self, system: System, t: Scalar, q: Configuration, v: Vector) -> Scalar:
        """X^C(L) - df/dt, and the power F.X of the force where there is one: the rate at which p.X
        - f changes (Colombo-Gamonal, Def 2.2).

        X^C(L) = dL/dq.X + dL/dv.(dX/dt + ad_v X), where ad, the bracket of velocities in the body,
        is zero on flat spaces.
        """
        zero, place = jnp.zeros_like(v), partial(system.space.retract, q)
        X, dX = jax.jvp(lambda e: self.X(place(e)), (zero,), (v,))
        rate = jax.jvp(
            lambda e, v: system.L(t, place(e), v), (zero, v), (X, dX + system.space.ad(v, X))
        )[1]
        return (
            rate
            - jax.jvp(lambda t, e: self.change(t, place(e)), (t, zero), (jnp.ones_like(t), v))[1]
            + system.F(t, q, v) @ X
        )

    def momentum(self, system: System, t: Scalar, q: Configuration, v: Vector) -> Scalar:
        """X^V(L) - f = p.X - f."""
        return system.legendre(t, q, v) @ self.X(q) - self.change(t, q)

    def discrete_defect(
        self,
        system: AbstractSystem,
        method: Method | None,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
    ) -> Scalar:
        """What one step adds to p.X - f: D1 Ld.X(q0) + D2 Ld.X(q1) - f(t + h, q1) + f(t, q0), with
        the discrete forces (Colombo-Gamonal, Def 3.2).
        """
        d = discrete(system, method)
        start = (d.D1(t, h, q0, q1) + d.force_minus(t, h, q0, q1)) @ self.X(q0)
        end = (d.D2(t, h, q0, q1) + d.force_plus(t, h, q0, q1)) @ self.X(q1)
        return start + end - self.change(t + h, q1) + self.change(t, q0)

    def discrete_momentum(
        self,
        system: AbstractSystem,
        method: Method | None,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
    ) -> Scalar:
        """-D1 Ld.X(q0) - Fd^-.X(q0) - f(t, q0): the same on the step from q0 to q1."""
        p = discrete(system, method).legendre_minus(t, h, q0, q1)[1]
        return p @ self.X(q0) - self.change(t, q0)

    def along(self, trajectory: Trajectory) -> Array:
        """p.X - f at each saved time of a trajectory."""
        J = trajectory.momentum(self.X)
        return J if self.f is None else J - jax.vmap(self.change)(trajectory.t, trajectory.q)

    def drift(self, trajectory: Trajectory) -> float:
        """The largest change of p.X - f along a trajectory, relative to its size."""
        J = np.asarray(self.along(trajectory))
        scale = np.max(np.abs(J)) + np.max(np.abs(np.asarray(trajectory.momentum(self.X))))
        return float(np.max(np.abs(J - J[0])) / (scale if scale > 0 else 1.0))


def check_action(action: Callable[..., Any], space: Space, samples: int = 2, seed: int = 0) -> None:
    """A ValueError where `action` changes the shape of a configuration, or moves the origin or some
    random configurations at s = 0.
    """
    origin = space.identity()
    points = [
        origin,
        *(
            space.retract(origin, jnp.asarray(e))
            for e in np.random.default_rng(seed).normal(size=(samples, space.dim))
        ),
    ]
    for q in points:
        moved = action(jnp.zeros(()), q)
        given, expected = (jax.tree.map(jnp.shape, x) for x in (moved, q))
        if given != expected:
            raise ValueError(
                f"action(s, q) must return a configuration, shape {expected}; got {given}."
            )
        if not np.max(np.abs(space.local(q, moved))) <= ROUNDOFF * (1 + np.max(space.magnitude(q))):
            raise ValueError(
                f"action(0, q) must be q; from q = {written(q)} it leads to {written(moved)}. Let s"
                " = 0 be where nothing moves."
            )


def written(q: Configuration) -> Any:
    """A configuration as lists of numbers."""
    return jax.tree.map(lambda x: np.asarray(x).tolist(), q)


@door(trajectory=a_trajectory)
def spatial_momentum(trajectory: Trajectory) -> Array:
    """The momentum in space Ad*_(g^-1) p at each saved time of a trajectory on a group.

    Its component zeta, p(Ad_(g^-1) zeta), is the momentum map of the motions of space g -> exp(s
    zeta) g, and kept where L does not see them. On SO(3) it is R p, the angular momentum; on SE(3)
    (angular momentum about the origin, linear momentum).

    Arguments:
        trajectory: one run of a system of order one on a group.

    Returns:
        An array of shape (times, dim).
    """
    trajectory.check_system()
    group = trajectory.system.space
    if not isinstance(group, Group):
        raise ValueError(f"spatial_momentum needs a group, such as SO3(); got {group}.")
    if trajectory.p.ndim > 2:
        kind = trajectory.system.kind
        refuse("spatial_momentum", kind, "it takes one momentum for each time of one run")
    return jax.jit(jax.vmap(lambda g, p: group.Ad(group.inverse(g)).T @ p))(
        trajectory.q, trajectory.p
    )


@dataclass(frozen=True)
class Decay:
    """The rate of an exponential law, measured and predicted."""

    measured: float
    predicted: float

    def __str__(self) -> str:
        return f"e^({self.measured:.9g} t), predicted e^({self.predicted:.9g} t)"


@door(samples=rows(1000), seed=seed)
def decay_rate(system: System, *, samples: int = 20, seed: int = 0) -> float:
    """kappa of a Lagrangian L = e^{-kappa t} L0(q, v).

    Arguments:
        system: in continuous time, of order one.
        samples, seed: how many random points are looked at, and which.

    Raises:
        ValueError: where L is not of that form.
    """
    check_mechanical(system, "decay_rate")
    space, rng, natural = system.space, np.random.default_rng(seed), natural_units(system)
    t, (x, v) = rng.uniform(0, 2, samples), rng.normal(size=(2, samples, space.dim))
    t, x, v = natural.t * t, natural.x * x, natural.rates[0] * v
    q = jax.vmap(lambda x: space.retract(space.identity(), x))(x)
    L, dL = jax.jit(jax.vmap(lambda *z: (system.L(*z), jax.grad(system.L)(*z))))(t, q, v)
    L, dL = np.asarray(L), np.asarray(dL)
    kappa = -float(dL @ L / (L @ L))
    if not np.max(np.abs(dL + kappa * L)) <= 1e-9 * np.max(np.abs(dL) + np.abs(kappa * L)):
        raise ValueError(
            f"the Lagrangian of {system.name} is not e^(-kappa t) times one that does not depend on"
            " time."
        )
    return kappa


@door(trajectory=a_trajectory)
def decay(trajectory: Trajectory, X: Field) -> Decay:
    """The law |J0(t)| = e^{kappa t} |J0(0)| of J0 = dL0/dv.X for L = e^{-kappa t} L0 with the
    symmetry X.

    It is e^{-kappa t} J0 = p.X that is conserved. The measured rate is the slope of log|J0|, J0
    from the velocities of the trajectory.

    Arguments:
        trajectory: one run of a `System` with such a Lagrangian.
        X: a field `X(q) -> (dim,)`.

    Reference: Colombo-Gamonal, eq 9, with the right sign.
    """
    trajectory.check_system()
    system = trajectory.system
    kappa = decay_rate(system)
    check_field(X, jax.tree.map(lambda a: a[0], trajectory.q), system.space.dim)

    def momentum(q: Configuration, v: Vector) -> Covector:
        return system.legendre(0.0, q, v) @ X(q)

    J0 = np.asarray(jax.jit(jax.vmap(momentum))(trajectory.q, trajectory.v))
    if not np.all(np.isfinite(J0)):
        raise ValueError("X must be finite all along the trajectory; dL/dv.X is not.")
    if np.any(J0 == 0) or np.any(np.sign(J0) != np.sign(J0[0])):
        raise ValueError("the momentum is zero somewhere on the trajectory; it has no rate.")
    return Decay(float(np.polyfit(np.asarray(trajectory.t), np.log(np.abs(J0)), 1)[0]), kappa)
