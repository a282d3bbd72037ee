"""The audit of thermal stepping: the two laws over a million steps."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import accion as ac

# Everything is coupled: the mass depends on S, friction on S and q. Isolated.
PARAMS = {"m": 1.3, "k": 2.0, "mu": 0.4, "C": 2.0}
WEAK = PARAMS | {"mu": 1e-5}  # so that it still moves after a million steps
START = {"q0": [0.4, -0.2], "v0": [0.3, 0.8], "S0": 0.2}
METHODS = (
    ac.LeftRectangle(),
    ac.RightRectangle(),
    ac.Midpoint(),
    ac.Trapezoid(),
    ac.Alpha(0.3),
    ac.EnergyConsistent(ac.Midpoint()),
    ac.EnergyEntropyConsistent(),
)


def lagrangian(t, q, v, S, p):
    mass = p["m"] * (1 + 0.2 * S + 0.3 * q[0] ** 2)
    return (
        0.5 * mass * v @ v
        - 0.5 * p["k"] * q @ q
        - q[0] ** 4
        - p["C"] * jnp.exp(S / p["C"]) * (1 + 0.1 * q[1] ** 2)
    )


def friction(t, q, v, S, p):
    return -p["mu"] * (1 + 0.5 * S) * (1 + q[0] ** 2) * v


system = ac.ThermalSystem(
    lagrangian, ac.Euclidean(2), PARAMS, friction=friction, name="oscillator with entropy"
)


@dataclass(frozen=True)
class Row:
    method: str
    claimed: int
    order: float
    energy: float  # largest relative error of the total energy over 10^6 steps of 0.05
    growth: float  # that in the last half over that in the first
    energy_order: float | None  # how the error of the energy falls with h, None at roundoff
    least: float  # least change of the entropy in a step
    push: float  # largest energy that friction gave in a step


def measure(method, steps=1_000_000):
    """One line of the audit; the warning of a second law that is broken is for the caller to
    expect.
    """
    found = ac.analysis.order(system, method, **START, duration=1.0, h=[0.04, 0.02, 0.01])
    traj = ac.simulate(
        system, method, **START, h=0.05, steps=steps, save_every=steps // 1000, params=WEAK
    )
    error = np.abs(np.asarray(traj.first_law() / traj.energy()[0]))
    growth = float(np.max(error[500:]) / np.max(error[:500]))
    runs = [
        ac.simulate(
            system, method, **START, h=0.05 / n, steps=2000 * n, save_every=2 * n, params=WEAK
        )
        for n in (1, 2)
    ]
    errors = [float(jnp.max(jnp.abs(run.first_law()))) for run in runs]
    law = None if errors[0] < 1e-12 else float(np.log2(errors[0] / errors[1]))
    return Row(
        str(method),
        method.order,
        found.slope,
        float(np.max(error)),
        growth,
        law,
        float(traj.laws.least),
        float(traj.laws.push),
    )
