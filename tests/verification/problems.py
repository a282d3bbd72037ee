"""The nonlinear systems on which every method is audited, with what is known of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

import accion as ac
from accion.gallery import double_pendulum


@dataclass(frozen=True)
class Problem:
    """A system with data for each measurement."""

    name: str
    system: ac.System
    q0: Any
    v0: Any
    duration: float
    h: tuple[float, ...]  # for the order
    symmetric_params: Any  # with which X is a symmetry
    X: Callable[..., Any]
    long_params: Any  # with which the invariant is constant over a long time
    long_h: float
    invariant: Callable[..., Any]  # (system, t, q, v) -> a constant of the continuous motion


def decaying(t, q, v, params):
    """L = e^{gamma t} |v|^2/2 - e^{2 gamma t} |q|^4/4.

    With Q = e^{gamma t/2} q this is an autonomous system, L = |Q'|^2/2 + gamma^2 |Q|^2/8 - |Q|^4/4
    up to a total derivative, whose energy is a constant of the motion that L itself, which depends
    on time, does not have.
    """
    growth = jnp.exp(params["gamma"] * t)
    return growth * jnp.sum(v**2) / 2 - growth**2 * jnp.sum(q**2) ** 2 / 4


def decaying_invariant(system, t, q, v):
    gamma = system.params["gamma"]
    root = jnp.exp(gamma * t / 2)
    Q, dQ = root * q, root * (v + gamma / 2 * q)
    return jnp.sum(dQ**2) / 2 - gamma**2 / 8 * jnp.sum(Q**2) + jnp.sum(Q**2) ** 2 / 4


def growth(t, params):
    return jnp.exp(params["gamma"] * t)


def quartic(t, q, params):
    return jnp.exp(params["gamma"] * t) * jnp.sum(q**2) ** 2 / 4


def rotation(q):
    return jnp.array([-q[1], q[0]])


DOUBLE_PENDULUM = Problem(
    name="double pendulum",
    system=double_pendulum.system,
    q0=[1.0, 1.5],
    v0=[0.0, 0.0],
    duration=1.0,
    h=(1 / 200, 1 / 400, 1 / 800, 1 / 1600),
    symmetric_params=double_pendulum.system.params | {"gravity": 0.0},
    X=jnp.ones_like,
    long_params=double_pendulum.system.params,
    long_h=0.01,
    invariant=ac.System.energy,
)
DECAYING = Problem(
    name="decaying quartic (time-dependent)",
    system=ac.System(decaying, ac.Euclidean(2), {"gamma": 0.3}, name="decaying quartic"),
    q0=[1.0, 0.2],
    v0=[-0.3, 0.9],
    duration=2.0,
    h=(1 / 50, 1 / 100, 1 / 200, 1 / 400),
    symmetric_params={"gamma": 0.3},
    X=rotation,
    long_params={"gamma": 1e-3},
    long_h=0.01,
    invariant=decaying_invariant,
)
EXPLICIT = Problem(
    name="decaying quartic, explicit steps",
    system=ac.mechanical(
        1.0, quartic, 2, weight=growth, params={"gamma": 0.3}, name="decaying quartic"
    ),
    **{
        key: getattr(DECAYING, key)
        for key in (
            "q0",
            "v0",
            "duration",
            "h",
            "symmetric_params",
            "X",
            "long_params",
            "long_h",
            "invariant",
        )
    },
)
PROBLEMS = (DOUBLE_PENDULUM, DECAYING, EXPLICIT)
METHODS = (ac.LeftRectangle(), ac.RightRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3))
EXPLICIT_METHODS = (ac.LeftRectangle(), ac.RightRectangle(), ac.Trapezoid())
CASES = [(p, m) for p in PROBLEMS for m in (EXPLICIT_METHODS if p is EXPLICIT else METHODS)]
