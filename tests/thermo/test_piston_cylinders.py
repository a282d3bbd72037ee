"""The three piston-cylinders of Bajo, de Leon and Lopez-Gordon (2025), adiabatically closed: a
damped oscillator, an ideal gas, a van der Waals gas. Both laws, measured.

The equations and numbers are our own: m x'' = -dU/dx - mu x', T S' = mu x'^2.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.thermo import R

MU, M, AREA, OUTSIDE = 0.4, 1.0, 0.1, 1e3
OSCILLATOR = {"k": 4.0, "C": 2.0, "T": 300.0}
NR = 0.1 * R
IDEAL = ac.thermo.IdealGas.moles(0.1, 300.0, 0.1)
VDW = ac.thermo.VanDerWaals(NR, 300.0, a=40.0, b=0.01, V_ref=0.1)


def oscillator():
    """L = m x'^2/2 - k x^2/2 - C T_0 e^{S/C}."""

    def L(t, q, v, S, p):
        return 0.5 * M * v @ v - 0.5 * p["k"] * q @ q - p["C"] * p["T"] * jnp.exp(S / p["C"])

    return ac.ThermalSystem(L, ac.Euclidean(1), OSCILLATOR, friction=lambda t, q, v, S, p: -MU * v)


def piston(gas):
    """A piston at x on a gas of the volume A x, the pressure outside is constant."""
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * M * v @ v - p.U(S, AREA * q[0]) - OUTSIDE * AREA * q[0],
        ac.Euclidean(1),
        gas,
        friction=lambda t, q, v, S, p: -30 * MU * v,
    )


CASES = {
    "oscillator": (oscillator(), {"q0": [1.0], "v0": [0.0], "S0": 0.0}, 0.05, 400),
    "ideal gas": (piston(IDEAL), {"q0": [2.0], "v0": [0.0], "S0": 0.0}, 0.005, 600),
    "van der Waals": (piston(VDW), {"q0": [2.0], "v0": [0.0], "S0": 0.0}, 0.005, 600),
}


@pytest.fixture(scope="module")
def runs():
    """By midpoints with two steps, and with the energy kept."""
    found = {}
    for name, (system, start, h, steps) in CASES.items():
        found[name] = [
            ac.simulate(system, ac.Midpoint(), **start, h=h / n, steps=n * steps, save_every=n)
            for n in (1, 2)
        ]
        exact = ac.EnergyConsistent(ac.Midpoint())
        found[name].append(ac.simulate(system, exact, **start, h=h, steps=steps))
    return found


@pytest.mark.parametrize("name", CASES)
def test_both_laws(runs, name):
    """Sampled, the energy is off with h^2; kept, by rounding; entropy grows in every step."""
    coarse, fine, exact = runs[name]
    off = [np.max(np.abs(run.first_law())) for run in (coarse, fine)]
    assert np.log2(off[0] / off[1]) == pytest.approx(2.0, abs=0.1)
    assert np.max(np.abs(exact.first_law())) < 1e-12 * np.max(np.abs(exact.energy()))
    rounding = 1e-13 * np.max(np.abs(exact.energy())) / np.min(exact.temperature())
    for run, slack in ((coarse, 0.0), (fine, 0.0), (exact, rounding)):
        laws = ac.thermo.laws(run)
        assert laws.least >= -slack
        assert laws.push <= 0
        assert run.S[-1] > run.S[0] + 1e-3


def test_the_oscillator_is_the_damped_one(runs):
    """x = e^{-mu t/2m} (cos wt + mu/(2 m w) sin wt), and C T is what the rest lost."""
    _, fine, exact = runs["oscillator"]
    t, rate = fine.t, MU / (2 * M)
    w = np.sqrt(OSCILLATOR["k"] / M - rate**2)
    x = np.exp(-rate * t) * (np.cos(w * t) + rate / w * np.sin(w * t))
    assert_allclose(fine.q[:, 0], x, atol=2e-3)
    kinetic = 0.5 * M * exact.v[:, 0] ** 2 + 0.5 * OSCILLATOR["k"] * exact.q[:, 0] ** 2
    gained = OSCILLATOR["C"] * (exact.temperature() - OSCILLATOR["T"])
    assert_allclose(gained, 0.5 * OSCILLATOR["k"] - kinetic, atol=1e-10)


@pytest.mark.parametrize("name", ["ideal gas", "van der Waals"])
def test_the_piston_stops_where_the_pressures_are_equal(runs, name):
    """At rest P = P_outside, and the enthalpy U + P_outside V is that of the start."""
    gas, exact = (IDEAL if name == "ideal gas" else VDW), runs[name][2]
    V, S = AREA * float(exact.q[-1, 0]), float(exact.S[-1])
    assert abs(float(exact.v[-1, 0])) < 1e-3
    assert_allclose(gas.P(S, V), OUTSIDE, rtol=1e-4)
    assert_allclose(gas.U(S, V) + OUTSIDE * V, gas.U(0.0, 0.2) + OUTSIDE * 0.2, rtol=1e-8)
    if name == "ideal gas":
        # (c + 1) N R T = H: the final temperature in closed form.
        H = float(gas.U(0.0, 0.2) + OUTSIDE * 0.2)
        assert_allclose(gas.T(S, V), H / (2.5 * NR), rtol=1e-4)
