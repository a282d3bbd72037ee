"""Rigid bodies: the kinetic energy of one, from where it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from accion.arguments import wrong
from accion.errors import in_function
from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.motion import check_numbers, floating, motion, read
from accion.types import Configuration, Params, Scalar, Vector

POSES = (
    "(x, y, angle), shape (3,), in the plane; a homogeneous matrix, shape (4, 4), or a pair (R, r),"
    " shapes (3, 3) and (3,), in space"
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RigidBody:
    """T = 1/2 m |dr/dt|^2 + 1/2 w.I w of a body with centre of mass r."""

    mass: Any
    inertia: Any
    pose: Callable[..., Any]
    space: Space | None = field(default=None, metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        if self.space is None and (isinstance(q, tuple) or jnp.shape(q) != jnp.shape(v)):
            raise ValueError(
                "a rigid body whose q is not a vector like v needs to know where q lives: give"
                " rigid_body the system's `space`."
            )
        where, rate = motion(self.located, self.space, t, q, v, params)
        mass = read("mass of a rigid body", self.mass, params, [()], "a number")
        if isinstance(where, tuple):
            words = (
                "the moments about the body's axes, shape (3,), or a matrix of shape (3, 3), for a"
                " body in space"
            )
            I = read("inertia of a rigid body", self.inertia, params, [(3,), (3, 3)], words)
            w, u = body_rate(where[0], rate[0]), rate[1]
            spin = w @ (I @ w if I.ndim == 2 else I * w)
        else:
            I = read(
                "inertia of a rigid body",
                self.inertia,
                params,
                [()],
                "a number, about the centre of mass, for a body in the plane",
            )
            u, spin = rate[:2], I * rate[2] ** 2
        return 0.5 * mass * (u @ u) + 0.5 * spin

    def located(self, t: Scalar, q: Configuration, params: Params) -> Any:
        """The pose as one array (x, y, angle) or as the pair (R, r)."""
        with in_function("pose"):
            pose: Any = self.pose(t, q, params)
            pair = isinstance(pose, tuple) and len(pose) == 2
            pose = tuple(map(floating, pose)) if pair else floating(pose)
            if any(map(jnp.iscomplexobj, jax.tree.leaves(pose))):
                raise ValueError("pose must return real numbers")
        if pair:
            R, r = pose
            if R.shape == (3, 3) and r.shape == (3,):
                return R, r
            raise ValueError(
                f"pose must return {POSES}; it returned a pair of shapes {R.shape} and {r.shape}."
            )
        if pose.shape == (4, 4):
            return pose[:3, :3], pose[:3, 3]
        if pose.shape != (3,):
            raise ValueError(f"pose must return {POSES}; it returned shape {pose.shape}.")
        return pose


def body_rate(R: Any, dR: Any) -> Any:
    """The angular velocity w in the body's axes: R^T dR/dt = skew(w), of which the skew part is
    taken.
    """
    W = R.T @ dR
    return 0.5 * jnp.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def rigid_body(mass: Any, inertia: Any, pose: Any, *, space: Space | None = None) -> Any:
    """The kinetic energy T(t, q, v, params) of a rigid body, a function to be used in a Lagrangian
    or given to `particles(bodies=[...])`:

        T = 1/2 m |dr/dt|^2 + 1/2 w.I w

    with the centre of mass r and the angular velocity w in the axes of the body.

    `pose(t, q, params)` says where the body is. In the plane: (x, y, angle), shape (3,); `inertia`
    is the moment about the centre of mass. In space: a homogeneous matrix, shape (4, 4), or a pair
    (R, r) of a rotation (3, 3) from body to space and the centre (3,); `inertia` is (3, 3), or (3,)
    along its principal axes. `mass` and `inertia` are numbers or functions of params; a body that
    turns about a fixed centre of mass may have mass 0. `space` is that of the system and is needed
    only where q is not a vector; `particles` supplies it.

    Reference: Romero, section 2, the paragraph before Ex 2.1.
    """
    check_function("pose", pose, "t, q, params")
    if space is not None and not isinstance(space, Space):
        wrong("space", "a Space, such as Product(Euclidean(2), Torus(1)), or None", space)
    mass = check_numbers("mass of a rigid body", mass, "a number")
    inertia = check_numbers(
        "inertia of a rigid body",
        inertia,
        "a number (in the plane), or a vector of 3 or a matrix (3, 3) (in space)",
    )
    check_shapes(mass, inertia)
    return RigidBody(mass, inertia, pose, space)


def check_shapes(mass: Any, inertia: Any) -> Any:
    if not callable(mass) and mass.shape != ():
        raise ValueError(f"mass of a rigid body must be a number; got shape {mass.shape}.")
    if callable(inertia):
        return
    if inertia.shape not in ((), (3,), (3, 3)):
        raise ValueError(
            "inertia of a rigid body must be a number (plane), or of shape (3,) or (3, 3) (space);"
            f" got shape {inertia.shape}."
        )
    if (
        inertia.ndim == 2
        and not isinstance(inertia, Tracer)
        and not jnp.allclose(inertia, inertia.T, rtol=1e-12, atol=0)
    ):
        raise ValueError(
            "an inertia matrix must be symmetric; only its symmetric part acts in 1/2 w.I w: pass"
            " (I + I.T)/2."
        )
