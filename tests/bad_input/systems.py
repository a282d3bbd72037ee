"""Small systems that all calls share, so that nothing is compiled twice."""

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac

MIDPOINT = ac.Midpoint()
Q, V = np.array([0.3, 0.4]), np.array([0.4, -0.3])
H, STEPS = 0.05, 4


def L(t, q, v, params):
    return 0.5 * v @ v - params["k"] * jnp.cos(q[0]) - 0.1 * q[1] ** 4


def force(t, q, v, params):
    return -0.1 * v


def monitor(q, params):
    return 1.0 + q @ q


def phi(t, q, params):
    return (q[0] ** 2 + q[1] ** 2 - 0.25)[None]


def kappa(t, q, v, params):
    return (v[1] + 0.75 * v[0] + q[0] - 0.3)[None]


def thermal_L(t, q, v, S, params):
    return 0.5 * v @ v - 0.5 * params["k"] * q @ q - jnp.exp(S)


def friction(t, q, v, S, params):
    return -0.2 * v


def contact_L(t, q, v, z, params):
    return L(t, q, v, params) - 0.3 * z


def contact_force(t, q, v, z, params):
    return -0.2 * v


def higher_L(t, q, v, a, params):
    return 0.5 * a @ a + 0.5 * v @ v - params["k"] * q @ q


def Ld(t, h, q0, q1, params):
    return h * L(t, q0, (q1 - q0) / h, params)


def work(t, h, q0, q1, params):
    return -0.1 * (q1 - q0), jnp.zeros(2)


def thermal_Ld(t, h, q0, q1, S0, S1, params):
    return Ld(t, h, q0, q1, params) - h * jnp.exp((S0 + S1) / 2)


def top_L(t, q, xi, params):
    return 0.5 * xi @ (jnp.array([1.0, 2.0, 3.0]) * xi) - params["k"] * q[2, 2]


def product_L(t, q, v, params):
    x, a = q
    return 0.5 * v @ v - params["k"] * x[0] ** 2 * jnp.cos(a[0])


PARAMS = {"k": 0.7}
PLANE = ac.Euclidean(2)


@cache
def system(kind: str) -> Any:
    """One of each kind."""
    match kind:
        case "free":
            return ac.System(L, PLANE, PARAMS, name="free")
        case "held":
            return ac.System(L, PLANE, PARAMS, holonomic=phi, name="held")
        case "vakonomic":
            return ac.System(L, PLANE, PARAMS, vakonomic=kappa, name="vakonomic")
        case "thermal":
            return ac.ThermalSystem(thermal_L, PLANE, PARAMS, friction=friction, name="thermal")
        case "contact":
            return ac.ContactSystem(contact_L, PLANE, PARAMS, name="contact")
        case "higher":
            return ac.HigherOrderSystem(higher_L, PLANE, PARAMS, name="higher")
        case "discrete":
            return ac.DiscreteSystem(Ld, PLANE, PARAMS, name="discrete")
        case "top":
            return ac.System(top_L, ac.SO3(), PARAMS, name="top")
        case "product":
            space = ac.Product(ac.Euclidean(1), ac.Torus(1))
            return ac.System(product_L, space, PARAMS, name="product")
    raise AssertionError(kind)


@cache
def trajectory(kind: str = "free") -> Any:
    """A run that all calls share."""
    starts = {
        "free": {"q0": Q, "v0": V},
        "thermal": {"q0": Q, "v0": V, "S0": 0.1},
        "top": {"q0": np.eye(3), "v0": np.array([0.1, 0.2, 0.3])},
    }
    return ac.simulate(system(kind), MIDPOINT, **starts[kind], h=H, steps=STEPS)
