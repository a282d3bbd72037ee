"""Problems of optimal control with answers from elsewhere: the swing-up of the Vakonomic thesis,
sections 7.2 and 8.6, Kelly's cart-pole, blocks, a satellite.
"""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import accion as ac

# Of the continuous problem by indirect shooting to 1e-12, and of the discrete one of the Vakonomic
# thesis, section 8.6 by another program.
SWING = json.loads((Path(__file__).parents[1] / "data" / "swing_up.json").read_text())


def slope(steps, errors):
    """The order at which `errors` go to zero with the number of steps."""
    return -np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0]


def half_square(t, q, v, u, p):
    return 0.5 * u @ u


def square(t, q, v, u, p):
    return u @ u


# ---------------------------------------------------------------- cart-pole


def cart_pole_lagrangian(t, q, v, p):
    kinetic = (
        0.5 * (p["M"] + p["m"]) * v[0] ** 2
        + p["m"] * p["l"] * v[0] * v[1] * jnp.cos(q[1])
        + 0.5 * p["m"] * p["l"] ** 2 * v[1] ** 2
    )
    return kinetic - p["m"] * p["gravity"] * p["l"] * jnp.cos(q[1])


cart_pole = ac.System(
    cart_pole_lagrangian,
    ac.Euclidean(2),
    {"M": 1.0, "m": 0.3, "l": 0.5, "gravity": 9.81},
    coordinates=("x [m]", "theta [rad]"),
    name="cart-pole",
)


def swing_up(**changes):
    """Vakonomic thesis, section 7.2: from hanging to upright at the same place, at rest."""
    given = {
        "cost": half_square,
        "actuated": ["x"],
        "start": ([0, np.pi], [0, 0]),
        "end": ([0, 0], [0, 0]),
        "duration": 2.0,
    }
    return ac.ControlProblem(cart_pole, **(given | changes))


def swing_up_between_configurations():
    """Vakonomic thesis, section 8.6: two configurations are given at each end."""
    return swing_up(start=([0, np.pi], [0, np.pi]), end=([0, 0], [0, 0]), boundary="configurations")


def kelly(**changes):
    """Kelly 2017, section 6: the angle is zero when the pole hangs."""
    given = {
        "cost": square,
        "start": ([0, np.pi], [0, 0]),
        "end": ([1, 0], [0, 0]),
        "control_bounds": (-20, 20),
        "state_bounds": {"x": (-2, 2)},
    }
    return swing_up(**(given | changes))


FORWARD = ac.FiniteDifference(lambda h, q0, q1: [(1.0, 0.0, q0, (q1 - q0) / h)])


# ---------------------------------------------------------------- blocks


def block_lagrangian(t, q, v, p):
    return 0.5 * p["m"] * v @ v


block_system = ac.System(
    block_lagrangian, ac.Euclidean(1), {"m": 1.0}, coordinates=("x [m]",), name="block"
)


def block(**changes):
    given = {
        "system": block_system,
        "cost": half_square,
        "actuated": ["x"],
        "start": ([0.0], [0.0]),
        "end": ([1.0], [0.0]),
        "duration": 1.0,
    }
    return ac.ControlProblem(**(given | changes))


def distance(t, q, v, u, p):
    return 0.5 * q @ q


def quartic(t, q, v, u, p):
    return 0.25 * u[0] ** 4


def growing(t, q, v, u, p):
    return 0.5 * jnp.exp(t) * u @ u


def mixed(t, q, v, u, p):
    return 0.5 * u @ u + jnp.sin(t) * q @ q + q @ v


def weighted(t, q, v, u, p):
    return 0.5 * p["w"] * u @ u


def one(t, q, v, u, p):
    return jnp.ones(())


def near_rest_at_1(t, q, v, p):
    return 4.0 * (q[0] - 1) ** 2 + 1.5 * v[0] ** 2


def wall(t, q, v, u, p):
    return q[0] - 1 / 9


def drag(t, q, v, p):
    return -0.8 * v


damped_system = ac.System(
    block_lagrangian,
    ac.Euclidean(1),
    {"m": 1.0},
    force=drag,
    coordinates=("x [m]",),
    name="damped block",
)


def swelling_lagrangian(t, q, v, p):
    return 0.5 * jnp.exp(0.7 * t) * v @ v


swelling_system = ac.System(
    swelling_lagrangian, ac.Euclidean(1), coordinates=("x [m]",), name="block that gains mass"
)


# ---------------------------------------------------------------- in the plane


def disc(t, q, v, u, p):
    return 0.16 - (q[0] - 1) ** 2 - (q[1] - 0.1) ** 2


plane_system = ac.System(block_lagrangian, ac.Euclidean(2), {"m": 1.0}, name="block in the plane")


def bob_lagrangian(t, q, v, p):
    return 0.5 * v @ v - 9.81 * q[1]


def circle(t, q, p):
    return jnp.array([q @ q - 1])


def tangent(t, q, p):
    return jnp.stack([-q[1:], q[:1]])


bob_system = ac.System(bob_lagrangian, ac.Euclidean(2), holonomic=circle, name="bob on a rope")


def angle_lagrangian(t, q, v, p):
    return 0.5 * v[0] ** 2 + 9.81 * jnp.cos(q[0])


angle_system = ac.System(angle_lagrangian, ac.Torus(1), name="pendulum")


def edge(t, q, v, p):
    return jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])])


def thrust_and_turn(t, q, p):
    return jnp.array([[jnp.cos(q[2]), 0.0], [jnp.sin(q[2]), 0.0], [0.0, 1.0]])


skate_system = ac.System(
    block_lagrangian,
    ac.Euclidean(3),
    {"m": 1.0},
    nonholonomic=edge,
    coordinates=("x [m]", "y [m]", "a [rad]"),
    name="skate",
)


# ---------------------------------------------------------------- groups

INERTIA = np.array([1.0, 2.0, 3.0])


def body_lagrangian(t, q, v, p):
    return 0.5 * v @ (p["I"] * v)


def satellite(space=None):
    return ac.System(
        body_lagrangian, space or ac.SO3(retraction="cayley"), {"I": INERTIA}, name="satellite"
    )
