"""Nonlinear systems of every kind and space, on which `Galerkin` is measured."""

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac

INERTIA = np.array([1.0, 2.2, 2.9])
Q0, V0 = [1.0, 0.2], [0.1, 0.7]


def quartic(t, q, v, params):
    return 0.5 * v @ v - 0.25 * (q @ q) ** 2 - 0.3 * q[0] * q[1]


def driven(t, q, v, params):
    return quartic(t, q, v, params) + 0.1 * jnp.cos(t) * q[0] * v[1]


def drag(t, q, v, params):
    return -0.2 * v * (1 + v @ v)


def top(t, q, v, params):
    return 0.5 * v @ (INERTIA * v) - 0.8 * q[2] @ jnp.array([0.1, 0.3, 1.0])


def floating(t, q, v, params):
    turning = 0.5 * v[:3] @ (INERTIA * v[:3]) + 0.2 * v[0] * v[4]
    return turning + 0.5 * v[3:] @ v[3:] - 0.5 * q[:3, 3] @ q[:3, 3] * (1 + 0.2 * q[0, 3])


def relativistic(t, q, v, params):
    return -jnp.sqrt(1 - v @ v) - 0.5 * q @ q - 0.1 * q[0] ** 4


def uneven(t, q, v, params):
    bend = 0.2 * v[0] * v[1] * jnp.sin(q[2])
    return 0.5 * v @ v - 0.5 * (q[0] ** 2 + 2 * q[1] ** 2) - 0.1 * q[2] ** 3 + bend


def rolls(t, q, v, params):
    return jnp.array([v[2] - q[1] * v[0] - 0.3 * q[2] * v[1]])


def rod(t, q, params):
    return jnp.array([0.5 * (q @ q - 1)])


def falling(t, q, v, params):
    return 0.5 * v @ v - 9.81 * q[1]


def warm(t, q, v, S, params):
    return 0.5 * v @ v - 0.5 * q @ q - 0.1 * q[0] ** 4 - jnp.exp(S) * (1 + 0.1 * q[0] ** 2)


def rubbing(t, q, v, S, params):
    return -0.3 * v * (1 + 0.2 * v**2) * (1 + 0.1 * S)


def heating(t, q, v, S, params):
    return 0.1 * (1.5 - jnp.exp(S))


FREE = ac.System(quartic, ac.Euclidean(2))
FORCED = ac.System(driven, ac.Euclidean(2), force=drag)
TOP = ac.System(top, ac.SO3())
PLACE = [0.7, 0.4, 0.2]
ROLLING = [0.5, 0.6, 0.4 * 0.5 + 0.3 * 0.2 * 0.6]
HANGING = {"q0": [np.sin(1.5), -np.cos(1.5)], "v0": [0.3 * np.cos(1.5), 0.3 * np.sin(1.5)]}
FLAT = {"q0": Q0, "v0": V0}
TURNING = {"q0": np.eye(3), "v0": [0.4, 0.9, 0.3]}
HELD = ac.System(falling, ac.Euclidean(2), holonomic=rod)
THERMAL = ac.ThermalSystem(warm, ac.Euclidean(1), friction=rubbing, heat=heating)
ROLLS = ac.System(uneven, ac.Euclidean(3), nonholonomic=rolls)
FEW = ("SE3", "nonholonomic", "holonomic", "SO3, cayley")  # of which order eight is not seen
CASES = {
    "forced": (FORCED, FLAT, 2.0),
    "nonlinear in v": (
        ac.System(relativistic, ac.Euclidean(2)),
        {"q0": [0.5, 0.1], "v0": [0.1, 0.6]},
        3.0,
    ),
    "vakonomic": (
        ac.System(uneven, ac.Euclidean(3), vakonomic=rolls),
        {"q0": PLACE, "v0": ROLLING, "lam0": [0.3]},
        2.0,
    ),
    "nonholonomic": (
        ROLLS,
        {"q0": PLACE, "v0": ROLLING},
        3.0,
    ),
    "holonomic": (HELD, HANGING, 1.0),
    "thermal": (THERMAL, {"q0": [1.0], "v0": [0.5], "S0": 0.1}, 3.0),
    "SO3": (TOP, TURNING, 4.0),
    "SO3, cayley": (ac.System(top, ac.SO3("cayley")), TURNING, 4.0),
    "SE3": (
        ac.System(floating, ac.SE3()),
        {"q0": np.eye(4), "v0": [0.4, 0.9, 0.3, 0.2, -0.1, 0.4]},
        3.0,
    ),
}


def run(system, s, start, duration, steps, quadrature="gauss", **more):
    method = ac.Galerkin(s, quadrature)
    return ac.simulate(system, method, h=duration / steps, steps=steps, **start, **more)


def ends(trajectory):
    """The last row of all that a trajectory has, as one vector."""
    rows = (trajectory.q, trajectory.v, trajectory.p, trajectory.S)
    return np.concatenate([np.ravel(a[-1]) for a in jax.tree.leaves(rows)])


def orders(system, start, duration, s, counts, exact, quadrature="gauss"):
    errors = [
        np.max(np.abs(ends(run(system, s, start, duration, n, quadrature)) - exact)) for n in counts
    ]
    return np.diff(np.log(errors)) / -np.diff(np.log(counts))


def measured(name, s):
    """The order of `Galerkin(s)` on a system, to the same motion by many more points."""
    system, start, duration = CASES[name]
    few = name in FEW
    exact = ends(run(system, 4 if few else 6, start, duration, 160 if few else 80))
    meshes = {2: (25, 50), 3: (16, 28)} if few else {2: (25, 50), 3: (12, 25), 4: (14, 22)}
    return orders(system, start, duration, s, meshes[s], exact)[0]
