"""The audit of thermal stepping: the two laws over a million steps."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac

METHODS = (
    ac.LeftRectangle(),
    ac.RightRectangle(),
    ac.Midpoint(),
    ac.Trapezoid(),
    ac.Alpha(0.3),
    ac.EnergyConsistent(ac.Midpoint()),
    ac.EnergyEntropyConsistent(),
)


@dataclass(frozen=True)
class Problem:
    """An isolated system: its run of a million steps has weak friction, so that it still moves at
    the end.
    """

    name: str
    system: ac.ThermalSystem
    start: dict[str, Any]
    h: float = 0.05

    @property
    def weak(self):
        return self.system.params | {"mu": 1e-5}


def oscillator():
    """Everything is coupled: the mass depends on S, friction on S and q, T on q."""

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

    params = {"m": 1.3, "k": 2.0, "mu": 0.4, "C": 2.0}
    return ac.ThermalSystem(lagrangian, ac.Euclidean(2), params, friction=friction)


def piston(gas):
    """A piston between a gas and a constant pressure."""

    def lagrangian(t, q, v, S, p):
        return 0.5 * v @ v - p["gas"].U(S, q[0]) - q[0]

    def friction(t, q, v, S, p):
        return -p["mu"] * v

    return ac.ThermalSystem(lagrangian, ac.Euclidean(1), {"gas": gas, "mu": 0.3}, friction=friction)


def bodies():
    """Two bodies: one rubs on the other, and they exchange heat."""

    def lagrangian(t, q, v, S, p):
        return 0.5 * v @ v - 0.5 * q @ q - 0.1 * q[0] ** 4 - jnp.sum(p["body"].U(S))

    def friction(t, q, v, S, p):
        return -p["mu"] * jnp.array([0.7, 0.3])[:, None] * v

    def heat(t, q, v, S, p):
        return ac.thermo.conduction(p["body"].T(S), 0.2)

    body = ac.thermo.Solid(jnp.array([1.0, 3.0]), jnp.array([2.0, 1.0]))
    return ac.ThermalSystem(
        lagrangian,
        ac.Euclidean(1),
        {"body": body, "mu": 0.3},
        friction=friction,
        heat=heat,
        entropies=2,
    )


GAS = ac.thermo.IdealGas(1.0, 1.5)
REAL = ac.thermo.VanDerWaals(1.0, 1.0, a=0.3, b=0.1)
PROBLEMS = (
    Problem("oscillator", oscillator(), {"q0": [0.4, -0.2], "v0": [0.3, 0.8], "S0": 0.2}),
    Problem("ideal gas", piston(GAS), {"q0": [1.6], "v0": [0.1], "S0": 0.1}),
    Problem("real gas", piston(REAL), {"q0": [1.6], "v0": [0.1], "S0": 0.1}),
    Problem("two bodies", bodies(), {"q0": [1.0], "v0": [0.2], "S0": [0.0, 0.1]}),
)
CASES = [(problem, method) for problem in PROBLEMS for method in METHODS]


@dataclass(frozen=True)
class Row:
    problem: str
    method: str
    claimed: int
    order: float
    energy: float  # largest relative error of the total energy over 10^6 steps of 0.05
    growth: float  # that in the last half over that in the first
    energy_order: float | None  # how the error of the energy falls with h, None at roundoff
    least: float  # least change of the entropy in a step
    push: float  # largest energy that friction gave in a step


def measure(problem, method, steps=1_000_000):
    """One line of the audit; the warning of a second law that is broken is for the caller to
    expect.
    """
    system, start, h = problem.system, problem.start, problem.h
    found = ac.analysis.order(system, method, **start, duration=1.0, h=[0.04, 0.02, 0.01])
    weak = {"params": problem.weak, **start}
    traj = ac.simulate(system, method, **weak, h=h, steps=steps, save_every=steps // 1000)
    error = np.abs(np.asarray(traj.first_law() / traj.energy()[0]))
    growth = float(np.max(error[500:]) / np.max(error[:500]))
    runs = [
        ac.simulate(system, method, **weak, h=h / n, steps=2000 * n, save_every=2 * n)
        for n in (1, 2)
    ]
    errors = [float(jnp.max(jnp.abs(run.first_law()))) for run in runs]
    law = None if errors[0] < 1e-12 else float(np.log2(errors[0] / errors[1]))
    return Row(
        problem.name,
        str(method).replace("method=Midpoint()", "").replace("points=8", "").removesuffix("()"),
        method.order,
        found.slope,
        float(np.max(error)),
        growth,
        law,
        float(traj.laws.least),
        float(traj.laws.push),
    )
