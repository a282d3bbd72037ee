"""Nonlinear systems of each kind, with a symmetry each; all numbers are sums of powers of two, so
that they are the same to twenty digits.

Without `tilt` there is a momentum map, which is kept, or grows at the rate `TORQUE` where a torque
of that size acts: that of turning in a plane, about a vertical axis, or with a shaft. With it,
orders are measured on motions that have none.

At order ten there is little room between steps that are too long for it and rounding; these motions
were chosen among others so that it is seen. docs/audit.md says how, and what others show.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac

TILT = {"tilt": 0.25}
INERTIA = np.array([1.0, 1.625, 2.125])
LEVER = np.array([0.125, 0.25, -1.0])
TORQUE = 1 / 512
PLANE = {"q0": [0.5, 0.25], "v0": [-0.25, 0.5]}
TURNING = {"q0": [0.5, 0.25, 0.0], "v0": [-0.25, 0.5, 0.0625]}
BACK = {"q0": [0.5, 0.25, 0.0], "v0": [-0.25, -0.5, 0.0625]}


def well(t, q, params):
    """Quadratic and quartic, with three valleys where it is tilted."""
    r2 = q[0] ** 2 + q[1] ** 2
    return r2 / 2 + r2**2 / 8 + params["tilt"] * (q[0] ** 2 * q[1] - q[1] ** 3 / 3)


def around(q):
    """The velocity of turning about the last axis of space, or about the origin of a plane."""
    return jnp.zeros_like(q).at[:2].set(jnp.array([-q[1], q[0]]))


def governor(t, q, v, params):
    """A mass in a plane that turns, q[2] being the angle: the further out, the more inertia."""
    inertia = 1 + q[:2] @ q[:2] / 2
    return (v[:2] @ v[:2] + inertia * v[2] ** 2) / 2 - well(t, q, params)


def resistance(q, v):
    """To moving in or out."""
    return -(q[:2] @ v[:2]) * q.at[2].set(0.0) / 8


def turned(t, q, v, params):
    return resistance(q, v).at[2].set(TORQUE)


def hanging(t, q, v, params):
    return v @ v / 2 - q[2] - params["tilt"] * q[0] * q[1]


def sphere(t, q, params):
    return (q @ q - 1.25**2)[None] / 2


def in_space(t, q, v, params):
    return v @ v / 2 - well(t, q, params) - q[2] ** 2 / 2 - (q[:2] @ q[:2]) * q[2] ** 2 / 4


def climbs(t, q, v, params):
    """It rises as it moves away from the axis, at a slope that depends on where it is."""
    return (v[2] - (1 + q[0]) / 8 * (q[0] * v[0] + q[1] * v[1]))[None]


def top(t, R, v, params):
    return v @ (INERTIA * v) / 2 - R[2] @ LEVER


def body(t, g, v, params):
    """A heavy body on a spring, whose turning and moving are coupled as in a fluid."""
    x, coupling = g[:3, 3], v[0] * v[4] / 4
    height = g[2, :3] @ LEVER
    spring = (x @ x) / 2 + (x @ x) ** 2 / 8 + params["tilt"] * x[0] * x[1]
    return v[:3] @ (INERTIA * v[:3]) / 2 + v[3:] @ v[3:] / 2 + coupling - height - spring


def warm(t, q, v, S, params):
    return governor(t, q, v, params) - jnp.exp(S) * (1 + q[:2] @ q[:2] / 8) / 4


def rubbing(t, q, v, S, params):
    return resistance(q, v)


def torque(t, q, v, S, params):
    return jnp.array([0.0, 0.0, TORQUE])


def about_the_vertical(R):
    """The body velocity of turning in space."""
    return R[2]


def about_the_vertical_on_se3(g):
    return jnp.concatenate([g[2, :3], g[:3, :3].T @ jnp.array([-g[1, 3], g[0, 3], 0.0])])


def of_the_shaft(q):
    return jnp.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Motion:
    """A system and its start."""

    make: Callable[[], Any]
    start: dict[str, Any]
    X: Callable[..., Any]  # a symmetry without tilt
    torque: float = 0.0  # at which its momentum grows
    symplectic: bool = False  # whether a step is
    composed: Any = field(default_factory=ac.Midpoint)  # what compositions are made of
    steps: float = 1.0  # how many, in units of what is usual


def system(L: Any, space: Any, **more: Any) -> Any:
    return lambda: ac.System(L, space, TILT, **more)


SPIN = [0.5, 0.25, 0.5]
BESIDE = np.array([[1.0, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
DURATION = 32.0
MOTIONS = {
    "flat": Motion(
        lambda: ac.mechanical(1.0, well, 2, params=TILT),
        PLANE,
        around,
        symplectic=True,
        composed=ac.Trapezoid(),
        steps=1.125,
    ),
    "SO(3)": Motion(
        system(top, ac.SO3()),
        {"q0": np.eye(3), "v0": SPIN},
        about_the_vertical,
        symplectic=True,
        steps=0.75,
    ),
    "SE(3)": Motion(
        system(body, ac.SE3()),
        {"q0": BESIDE, "v0": [*SPIN, 0.25, 0.5, 0.125]},
        about_the_vertical_on_se3,
        symplectic=True,
    ),
    "forced": Motion(
        system(governor, ac.Euclidean(3), force=turned),
        BACK,
        of_the_shaft,
        TORQUE,
        composed=ac.Trapezoid(),
    ),
    "holonomic": Motion(
        system(hanging, ac.Euclidean(3), holonomic=sphere),
        {"q0": [0.75, 0.0, -1.0], "v0": [0.0, 0.75, 0.0]},
        around,
        symplectic=True,
    ),
    "nonholonomic": Motion(
        system(in_space, ac.Euclidean(3), nonholonomic=climbs),
        {"q0": [0.5, 0.25, 0.25], "v0": [-0.25, 0.5, 0.0]},
        around,
        composed=ac.Trapezoid(),
    ),
    "thermal": Motion(
        lambda: ac.ThermalSystem(warm, ac.Euclidean(3), TILT, friction=rubbing, external=torque),
        TURNING | {"S0": 0.25},
        of_the_shaft,
        TORQUE,
        composed=ac.Trapezoid(),
    ),
}


@cache
def system_of(name: str) -> Any:
    """The one system of that kind; everything shares it."""
    return MOTIONS[name].make()
