"""Nonlinear systems of each kind, on which orders of compositions are measured.

At high orders, with steps that are short enough for the order to be seen, errors of a short run are
below what can be told. So runs are long; errors are those to the same method with steps of which
errors are roundoff, and where these lead is compared with the continuous motion.
"""

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac


def henon_heiles(q):
    return (q @ q) / 2 + q[0] ** 2 * q[1] - q[1] ** 3 / 3


def potential(t, q, params):
    return henon_heiles(q)


def free(t, q, v, params):
    return v @ v / 2 - henon_heiles(q)


def driven(t, q, v, params):
    return (1 + 0.3 * jnp.sin(t)) * v @ v / 2 - henon_heiles(q)


def drag(t, q, v, params):
    return -0.1 * (1 + q @ q) * v


def skating(t, q, v, params):
    x, y, theta = q
    return (1 + 0.2 * jnp.cos(y)) * (v[0] ** 2 + v[1] ** 2) / 2 + v[2] ** 2 / 2 - jnp.cos(x - theta)


def blade(t, q, v, params):
    return (jnp.sin(q[2]) * v[0] - jnp.cos(q[2]) * v[1])[None]


def swinging(t, q, v, params):
    return v @ v / 2 - q[2]


def length(t, q, params):
    return (q @ q - 1)[None]


def turning(t, R, v, params):
    return v @ (jnp.array([1.0, 1.6, 2.1]) * v) / 2 - R[2, 2] - 0.3 * R[0, 2] ** 2


def gas(t, q, v, S, params):
    return (
        (1 + 0.1 * jnp.sin(S)) * (v @ v) / 2 - henon_heiles(q) - 0.1 * jnp.exp(S) * (1 + 0.1 * q[0])
    )


def friction(t, q, v, S, params):
    return -0.1 * (1 + q @ q) * v


FLAT = {"q0": [0.1, 0.25], "v0": [0.35, 0.1]}
PLANE = ac.Euclidean(2)
SKATE = {"q0": [0.3, 0.1, 0.4], "v0": [0.8 * np.cos(0.4), 0.8 * np.sin(0.4), 0.5]}

# Numbers of steps for each order, and the duration.
STEPS: dict[str, tuple[float, dict[int, tuple[int, ...]]]] = {
    "flat": (20.0, {4: (80, 113, 160), 6: (60, 85, 120), 8: (60, 76, 96), 10: (32, 38, 45)}),
    "explicit": (20.0, {4: (80, 113, 160), 6: (60, 85, 120), 8: (60, 76, 96), 10: (44, 52, 60)}),
    "time-dependent": (20.0, {6: (60, 85, 120)}),
    "forced": (20.0, {6: (60, 85, 120), 10: (30, 35, 41)}),
    "holonomic": (20.0, {4: (80, 113, 160), 8: (60, 76, 96)}),
    "nonholonomic": (8.0, {6: (80, 113, 160), 8: (48, 57, 68)}),
    "vakonomic": (4.0, {6: (24, 32, 45)}),
    "SO(3)": (20.0, {4: (80, 113, 160), 8: (80, 95, 113)}),
    "thermal": (20.0, {4: (80, 113, 160), 8: (60, 76, 96)}),
}
FINE = 5  # times as many steps: errors are roundoff
MAKERS = {
    "flat": lambda: (ac.System(free, PLANE), FLAT),
    "explicit": lambda: (ac.mechanical(1.0, potential, 2), FLAT),
    "time-dependent": lambda: (ac.System(driven, PLANE), FLAT),
    "forced": lambda: (ac.System(free, PLANE, force=drag), FLAT),
    "holonomic": lambda: (
        ac.System(swinging, ac.Euclidean(3), holonomic=length),
        {"q0": [0.6, 0.0, -0.8], "v0": [0.0, 0.7, 0.0]},
    ),
    "nonholonomic": lambda: (ac.System(skating, ac.Euclidean(3), nonholonomic=blade), SKATE),
    "vakonomic": lambda: (
        ac.System(skating, ac.Euclidean(3), vakonomic=blade),
        SKATE | {"lam0": [0.2]},
    ),
    "SO(3)": lambda: (
        ac.System(turning, ac.SO3(retraction="exp")),
        {"q0": np.eye(3), "v0": [0.4, 0.9, 0.3]},
    ),
    "thermal": lambda: (ac.ThermalSystem(gas, PLANE, friction=friction), FLAT | {"S0": 0.2}),
}


@cache
def system_of(name: str) -> tuple[Any, dict[str, Any]]:
    """(system, start); everything shares it."""
    return MAKERS[name]()


def method_of(name: str, order: int) -> ac.Composition:
    return ac.Composition(ac.Trapezoid() if name == "explicit" else ac.Midpoint(), order)


def end(name: str, order: int, steps: int) -> list[np.ndarray]:
    """(q, v) and, of a thermal system, S at the end."""
    (system, start), duration = system_of(name), STEPS[name][0]
    run = ac.simulate(
        system,
        method_of(name, order),
        **start,
        h=duration / steps,
        steps=steps,
        save_every=steps,
    )
    rest = [] if run.S is None else [run.S]
    return [np.ravel(np.asarray(part[-1])) for part in (run.q, run.v, *rest)]


def distance(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return max(float(np.max(np.abs(x - y))) for x, y in zip(a, b, strict=True))


def measured(name: str, order: int) -> float:
    """The slope of log(error) over log(h)."""
    steps = STEPS[name][1][order]
    exact = end(name, order, FINE * steps[-1])
    errors = [distance(end(name, order, count), exact) for count in steps]
    assert 1e-13 < errors[-1] < errors[0] < 1e-3, errors
    return -float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
