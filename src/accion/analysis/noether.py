"""Symmetries and what they conserve (Colombo-Gamonal, sections 2 and 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import lengths
from accion.errors import in_function
from accion.methods import Method
from accion.results.trajectory import Trajectory
from accion.spaces import Euclidean, Group, Product, Space
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, System
from accion.systems.arity import chosen
from accion.types import Array, Configuration, Scalar, Vector

Field = Callable[..., Vector]  # X(q) or X(t, q)

ROUNDOFF = 1e-12  # what counts as no motion, relative to the size of a configuration


def at_any_time(X: Field) -> tuple[Callable[[Scalar, Configuration], Vector], bool]:
    """A field as a function of (t, q), and whether it takes the time."""
    timed = chosen("X", X, "q", "t, q") == "t, q"
    return X if timed else lambda t, q: X(q), timed


def complete_lift(X: Field, space: Space | None = None) -> Callable[..., tuple[Vector, Vector]]:
    """X^C on TQ, as a function of (q, v): (X, dX/dt + ad_v X), with dX/dt = dX(q).v.

    Arguments:
        X: `X(q)`, or `X(t, q)`; of that the lift, on R x TQ, is a function of (t, q, v), and dX/dt
            has the change with time.
        space: where q lives, flat where it is not given. On a group X and v are velocities of the
            body, and ad is their bracket.
    """
    field, timed = at_any_time(X)
    space = space or FLAT

    def lift(*point: Any) -> Any:
        t, q, v = point if timed else (jnp.zeros(()), *point)
        with in_function("X"):
            here, rate = along_motion(space, field, t, q, v)
        return here, rate + bracket(space, v, here)

    return lift


def bracket(space: Space, v: Vector, X: Any) -> Any:
    """ad_v X, of several fields column by column."""
    return jax.vmap(partial(space.ad, v), -1, -1)(X) if X.ndim == 2 else space.ad(v, X)


def vertical_lift(X: Field) -> Callable[..., tuple[Vector, Vector]]:
    """X^V on TQ, as a function of (q, v): (0, X(q)); of a field X(t, q) one of (t, q, v)."""
    field, timed = at_any_time(X)

    def lift(*point: Any) -> Any:
        t, q, _ = point if timed else (jnp.zeros(()), *point)
        with in_function("X"):
            here = field(t, q)
        return jnp.zeros_like(here), here

    return lift


def along_motion(space: Space, f: Any, t: Scalar, q: Configuration, v: Vector) -> tuple[Any, Any]:
    """f(t, q) and its rate along the motion through q with velocity v."""
    return jax.jvp(
        lambda t, e: f(t, space.displace(q, e)),
        (jnp.asarray(t, float), jnp.zeros_like(v)),
        (jnp.ones(()), v),
    )


@dataclass(frozen=True)
class Symmetry:
    """A vector field `X` and, where the Lagrangian changes by a total derivative, its `f`.

    X is a (Noether) symmetry of a system where X^C(L) = df/dt, of its discretisation where D1
    Ld.X(q0) + D2 Ld.X(q1) = f(t + h, q1) - f(t, q0). Then p.X - f is conserved, on discrete
    trajectories to roundoff (Colombo-Gamonal, Thm 3.3 and 3.4, where f has the other sign).

    Arguments:
        X: `X(q)` or `X(t, q)`, of shape (dim,); of k fields at once, such as those of a group,
            (dim, k), and then there are k momenta.
        f: `f(t, q)`, or `f(t, h, q)` of a discretisation with steps of length h, whose f for the
            continuous system is that with h = 0; a number, or one for each field.
    """

    X: Field
    f: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        chosen("X", self.X, "q", "t, q")
        if self.f is not None:
            chosen("f", self.f, "t, q", "t, h, q")

    @staticmethod
    def from_action(
        action: Callable[..., Any],
        space: Space,
        f: Callable[..., Any] | None = None,
        group: Space | None = None,
    ) -> "Symmetry":
        """The symmetry of an action on a space: X(q) is the derivative of space.local(q, action(s,
        q)) by s where nothing moves.

        Arguments:
            action: `action(s, q)` returns a configuration, with action(0, q) = q.
            space: where q lives.
            f: `f(t, q)`, where the Lagrangian changes by df/dt along the action.
            group: what acts, where it is more than one number: `action(g, q)` then takes one of its
                elements, X has a column for each direction of its algebra, and p.X is the momentum
                map into the dual of that.
        """
        acting = Euclidean(1) if group is None else group
        moving = (lambda e, q: action(e[0], q)) if group is None else action
        check_action(moving, space, acting)

        def X(q: Configuration) -> Any:
            def moved(e: Vector) -> Any:
                return space.local(q, moving(acting.retract(acting.identity(), e), q))

            found = jax.jacfwd(moved)(jnp.zeros(acting.dim))
            return found[:, 0] if group is None else found

        return Symmetry(X, f)

    @staticmethod
    def of_space(space: Space) -> "Symmetry":
        """All motions of space at once: on a group g -> exp(s zeta) g, with the momenta Ad*_(g^-1)
        p, on vectors translations; on a product those of each factor.
        """
        return Symmetry(partial(motions_of_space, space))

    @staticmethod
    def of_body(space: Space) -> "Symmetry":
        """All motions of the body at once: on a group g -> g exp(s b), whose momenta are p."""
        return Symmetry(lambda q: jnp.eye(space.dim))

    def field(self, t: Scalar, q: Configuration) -> Any:
        """X at a time."""
        return at_any_time(self.X)[0](t, q)

    def change(self, t: Scalar, q: Configuration, h: Scalar = 0.0) -> Any:
        """f, zero where none was given."""
        if self.f is None:
            return jnp.zeros(())
        return self.f(t, h, q) if self.of_steps else self.f(t, q)

    @property
    def of_steps(self) -> bool:
        """Whether f is that of a discretisation."""
        return self.f is not None and chosen("f", self.f, "t, q", "t, h, q") == "t, h, q"

    def defect(self, system: System, t: Scalar, q: Configuration, v: Vector) -> Any:
        """X^C(L) - df/dt, and the power F.X of the force where there is one: the rate at which p.X
        - f changes (Colombo-Gamonal, Def 2.2).

        X^C(L) = dL/dq.X + dL/dv.(dX/dt + ad_v X), where ad, the bracket of velocities in the body,
        is zero on flat spaces.
        """
        space = system.space
        X, rate = along_motion(space, self.field, t, q, v)
        Lq, Lv = jax.grad(lambda e, v: system.L(t, space.displace(q, e), v), (0, 1))(
            jnp.zeros_like(v), v
        )
        _, df = along_motion(space, self.change, t, q, v)
        return (Lq + system.F(t, q, v)) @ X + Lv @ (rate + bracket(space, v, X)) - df

    def momentum(self, system: System, t: Scalar, q: Configuration, v: Vector) -> Any:
        """X^V(L) - f = p.X - f."""
        return system.legendre(t, q, v) @ self.field(t, q) - self.change(t, q)

    def discrete_defect(
        self,
        system: AbstractSystem,
        method: Method | None,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
    ) -> Any:
        """What one step adds to p.X - f: D1 Ld.X(q0) + D2 Ld.X(q1) - f(t + h, q1) + f(t, q0), with
        the discrete forces (Colombo-Gamonal, Def 3.2).
        """
        d = discrete(system, method)
        start = (d.D1(t, h, q0, q1) + d.force_minus(t, h, q0, q1)) @ self.field(t, q0)
        end = (d.D2(t, h, q0, q1) + d.force_plus(t, h, q0, q1)) @ self.field(t + h, q1)
        return start + end - self.change(t + h, q1, h) + self.change(t, q0, h)

    def discrete_momentum(
        self,
        system: AbstractSystem,
        method: Method | None,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
    ) -> Any:
        """-D1 Ld.X(q0) - Fd^-.X(q0) - f(t, q0): the same on the step from q0 to q1."""
        p = discrete(system, method).legendre_minus(t, h, q0, q1)[1]
        return p @ self.field(t, q0) - self.change(t, q0, h)

    def along(self, trajectory: Trajectory) -> Array:
        """p.X - f at each saved time of a trajectory."""
        J = trajectory.momentum(self.X)
        return J if self.f is None else J - self.changes(trajectory)

    def changes(self, trajectory: Trajectory) -> Array:
        """f at each saved time of a trajectory."""
        own = trajectory.method is not None and trajectory.method.own_lengths
        if self.of_steps and (own or np.ndim(trajectory.h)):
            long = "of lengths of their own" if own else f"{lengths(trajectory.h)} long"
            raise ValueError(
                "f(t, h, q) is that of steps of one length; those of this trajectory are"
                f" {long}. Give f(t, q)."
            )
        h = trajectory.h
        return trajectory.each(lambda system, t, q: self.change(t, q, h), trajectory.q)

    def drift(self, trajectory: Trajectory) -> float:
        """The largest change of p.X - f along a trajectory, relative to its size."""
        J = np.asarray(self.along(trajectory))
        scale = np.max(np.abs(J)) + np.max(np.abs(np.asarray(trajectory.momentum(self.X))))
        axis = int(trajectory.is_ensemble)
        start = np.take(J, [0], axis)
        return float(np.max(np.abs(J - start)) / (scale if scale > 0 else 1.0))


FLAT = Euclidean(1)  # for its bracket, which is zero


def motions_of_space(space: Space, q: Configuration) -> Array:
    """The fields of the motions of space at q, a column for each, shape (dim, dim)."""
    if isinstance(space, Product):
        each = zip(space.factors, q, strict=True)
        return jax.scipy.linalg.block_diag(*(motions_of_space(*part) for part in each))
    return space.Ad(space.inverse(q)) if isinstance(space, Group) else jnp.eye(space.dim)


def check_action(
    action: Callable[..., Any], space: Space, acting: Space, samples: int = 2, seed: int = 0
) -> None:
    """A ValueError where `action` changes the shape of a configuration, or moves the origin or some
    random configurations where nothing should move.
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
        moved = action(acting.identity(), q)
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
