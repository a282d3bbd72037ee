"""The audit of constrained stepping: what is kept over a million steps, and what is not."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac
from accion.gallery import rods, skate, sleigh


@dataclass(frozen=True)
class Held:
    """A constrained system with data for each measurement."""

    name: str
    system: ac.System
    start: dict[str, Any]
    conserves: bool  # whether the energy must stay bounded


LEVEL = skate.PARAMS | {"slope": 0.0}
HELD = (
    Held("double pendulum on rods (holonomic)", rods.system, rods.entry.start, True),
    Held(
        "skate on an incline (nonholonomic)",
        skate.system,
        {"q0": [0.0, 0.0, 0.3], "v0": [np.cos(0.3), np.sin(0.3), 0.7]},
        False,
    ),
    Held("Chaplygin sleigh (nonholonomic)", sleigh.system, sleigh.entry.start, False),
    # On an incline the multiplier grows without bound, and with it the rate at which the skate
    # swings: no step is small enough for ever.
    Held(
        "skate on level ice (vakonomic)",
        skate.vakonomic.with_params(LEVEL),
        {"q0": skate.Q0, "v0": [0.5, 0.0, 1.0], "lam0": [0.3]},
        True,
    ),
)
METHODS = (ac.Midpoint(), ac.Trapezoid())


@dataclass(frozen=True)
class Row:
    problem: str
    method: str
    order: float
    residual: float  # of the constraint, the largest over the long run
    energy: float  # largest relative error over the long run
    drift: float  # change of the mean energy over the run, in units of that error
    reversal: float


def measure(held, method, steps=1_000_000):
    residual, energy, drift = long_run(held, method, steps)
    return Row(
        held.name, str(method), order(held, method), residual, energy, drift, reversal(held, method)
    )


def order(held, method, duration=0.5):
    """The order against the continuous motion; `analysis.order` for all but vakonomic systems,
    whose state has multipliers.
    """
    start = dict(held.start)
    hs = (0.01, 0.005, 0.0025)
    exact = ac.reference(held.system, **start, ts=[0.0, duration])[0][-1]
    errors = []
    for h in hs:
        n = round(duration / h)
        run = ac.simulate(held.system, method, **start, h=h, steps=n, save_every=n)
        errors.append(float(jnp.max(jnp.abs(run.q[-1] - exact))))
    return float(np.polyfit(np.log(hs), np.log(errors), 1)[0])


def long_run(held, method, steps):
    h = 0.01
    run = ac.simulate(held.system, method, **held.start, h=h, steps=steps, save_every=steps // 2000)
    system, constraint = held.system, held.system.constraint
    value = jax.jit(jax.vmap(lambda t, q, v: constraint.value(system, t, q, v)))(
        run.t, run.q, run.v
    )
    # A coordinate that has grown to 1e4 cannot be rounded better than to 1e-12.
    size = 1 + jnp.max(jnp.abs(run.q), axis=1, keepdims=True)
    E = np.asarray(run.energy())
    error = np.max(np.abs(E - E[0]))
    slope = np.polyfit(np.linspace(0, 1, len(E)), E, 1)[0]
    scale = np.max(
        np.abs(
            np.asarray(
                jax.vmap(lambda t, q, v: 0.5 * system.legendre(t, q, v) @ v)(run.t, run.q, run.v)
            )
        )
    )
    return float(jnp.max(jnp.abs(value) / size)), float(error / scale), float(slope / error)


def reversal(held, method, steps=100, h=0.02):
    """How far from its start a motion ends that is turned round (v -> -v) half-way; for vakonomic
    systems lam -> -lam too.
    """
    ahead = ac.simulate(held.system, method, **held.start, h=h, steps=steps, save_every=steps)
    start = (
        {"q0": ahead.q[-1], "p0": -ahead.p[-1]}
        if held.system.vakonomic is not None
        else {"q0": ahead.q[-1], "v0": -ahead.v[-1]}
    )
    back = ac.simulate(held.system, method, **start, h=h, steps=steps, save_every=steps)
    return float(jnp.max(jnp.abs(back.q[-1] - ahead.q[0])))
