"""Equations of state: slopes of U, closed forms, and bodies given by other variables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.thermo import R

NR = 2 * R
GAS = ac.thermo.IdealGas.moles(2.0, 300.0, 0.05, c=2.5)
VDW = ac.thermo.VanDerWaals(NR, 300.0, a=0.55, b=6e-5, V_ref=1e-3, S_ref=1.0)
P_REF = NR * 300 / 0.05


def free_energy(T, V):
    return 2.5 * NR * T - T * GAS.S_of_T(T, V)


def enthalpy(S, P):
    return 3.5 * NR * 300 * jnp.exp(S / (3.5 * NR)) * (P / P_REF) ** (1 / 3.5)


def free_enthalpy(T, P):
    return 3.5 * NR * T - T * NR * (3.5 * jnp.log(T / 300) - jnp.log(P / P_REF))


@pytest.mark.parametrize(
    ("body", "S", "V"),
    [(GAS, 4.0, 0.03), (VDW, 4.0, 8e-4), (ac.thermo.Radiation(0.7), 1.3, 2.0)],
    ids=["ideal", "van der Waals", "radiation"],
)
def test_temperature_and_pressure_are_slopes_of_the_energy(body, S, V):
    assert_allclose(body.T(S, V), jax.grad(body.U, 0)(S, V), rtol=1e-13)
    assert_allclose(body.P(S, V), -jax.grad(body.U, 1)(S, V), rtol=1e-13)
    assert_allclose(body.S_of_T(body.T(S, V), V), S, rtol=1e-12)


def test_van_der_waals():
    """P and U of the two equations, typed; and an ideal gas where a = b = 0."""
    S, V = 4.0, 8e-4
    T = VDW.T(S, V)
    assert_allclose(VDW.P(S, V), NR * T / (V - 6e-5) - 0.55 / V**2, rtol=1e-13)
    assert_allclose(VDW.U(S, V), 1.5 * NR * T - 0.55 / V, rtol=1e-13)
    assert_allclose(VDW.T(1.0, 1e-3), 300.0, rtol=1e-14)
    bare = ac.thermo.VanDerWaals(NR, 300.0, 0.0, 0.0, V_ref=0.05, c=2.5)
    assert_allclose(bare.U(4.0, 0.03), GAS.U(4.0, 0.03), rtol=1e-13)


@pytest.mark.parametrize("gas", [GAS, VDW], ids=["ideal", "van der Waals"])
def test_amounts(gas):
    """U is of degree one in (S, V, N), and mu its slope by N."""
    S, V, N = 4.0, 0.02, 1.3
    assert_allclose(gas.U(2 * S, 2 * V, 2 * N), 2 * gas.U(S, V, N), rtol=1e-13)
    assert_allclose(gas.U(S, V, 2.0), gas.U(S, V), rtol=1e-13)
    assert_allclose(gas.mu(S, V, N), jax.grad(gas.U, 2)(S, V, N), rtol=1e-11)
    assert_allclose(gas.T(S, V, N), jax.grad(gas.U, 0)(S, V, N), rtol=1e-12)
    assert_allclose(gas.P(S, V, N), -jax.grad(gas.U, 1)(S, V, N), rtol=1e-12)


def test_polytropic_gas():
    gas = ac.thermo.IdealGas.polytropic(1.4, 3.0, 300.0, 0.2)
    P = jnp.array([gas.P(0.7, V) * V**1.4 for V in (0.1, 0.2, 0.5)])
    assert_allclose(P, P[0], rtol=1e-13)
    assert_allclose(gas.P(0.0, 0.2) * 0.2, 3.0 * 300.0, rtol=1e-13)


def test_radiation():
    """U = a V T^4, of Stefan and Boltzmann."""
    light = ac.thermo.Radiation()
    S = light.S_of_T(5772.0, 2.0)
    assert_allclose(light.U(S, 2.0), 7.565733e-16 * 2 * 5772.0**4, rtol=1e-6)
    assert_allclose(light.P(S, 2.0), light.U(S, 2.0) / 6, rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "of"), [(free_energy, "TV"), (enthalpy, "SP"), (free_enthalpy, "TP"), (GAS.U, "SV")]
)
def test_a_gas_by_each_potential(f, of):
    """U(S, V), T and P of F, H and G, typed, are those of the gas."""
    given = (lambda S, V: f(S, V)) if of == "SV" else f
    body = ac.thermo.from_potential(given, of)
    look = jax.jit(lambda S, V: (body.U(S, V), body.T(S, V), body.P(S, V), jax.grad(body.U)(S, V)))
    for S, V in ((4.0, 0.04), (-20.0, 0.3)):
        T = GAS.T(S, V)
        assert_allclose(look(S, V), (GAS.U(S, V), T, GAS.P(S, V), T), rtol=1e-12)


def test_a_body_by_its_energy_and_entropy():
    """C = C_0 + C_1 T: U and S typed; S(T) has no inverse in closed form."""
    body = ac.thermo.from_temperature(
        lambda T, p: p["C0"] * T + p["C1"] * T**2 / 2,
        lambda T, p: p["C0"] * jnp.log(T / 300) + p["C1"] * (T - 300),
        {"C0": 2.0, "C1": 0.01},
    )
    T = 340.0
    S = 2.0 * np.log(T / 300) + 0.01 * (T - 300)
    assert_allclose(body.T(S), T, rtol=1e-14)
    assert_allclose(body.U(S), 2 * T + 0.005 * T**2, rtol=1e-14)
    assert_allclose(jax.grad(body.U)(S), T, rtol=1e-13)
    assert_allclose(body.S_of_T(T), S, rtol=1e-13)
    assert_allclose(body.T(jnp.array([S, 0.0])), [T, 300.0], rtol=1e-14)


def test_a_run_of_a_body_that_is_inverted_on_the_way():
    """The heat of a sliding mass, taken by C(T): the same as by U(S) in closed form."""

    def heated(body):
        return ac.ThermalSystem(
            lambda t, q, v, S, p: 0.5 * v @ v - p.U(S),
            ac.Euclidean(1),
            body,
            friction=lambda t, q, v, S, p: -0.5 * v,
        )

    solid = ac.thermo.Solid(0.2, 300.0)
    other = ac.thermo.from_temperature(lambda T: 0.2 * T, lambda T: 0.2 * jnp.log(T / 300))
    start = {"q0": [0.0], "v0": [20.0], "S0": 0.0, "h": 0.1, "steps": 20}
    runs = [ac.simulate(heated(body), ac.Midpoint(), **start) for body in (solid, other)]
    assert_allclose(runs[1].S, runs[0].S, rtol=1e-11)
    assert_allclose(runs[1].q, runs[0].q, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ac.thermo.from_temperature(lambda T: 2 * T, lambda T: 3 * jnp.log(T)),
            "belong to no body: dU/dT must be T dS/dT",
        ),
        (lambda: ac.thermo.from_temperature(3.0, lambda T: T), "U must be a function"),
        (
            lambda: ac.thermo.from_temperature(lambda *T: {}["C"], lambda T: T),
            r"U could not be evaluated \(KeyError: 'C'\): line",
        ),
        (lambda: ac.thermo.from_temperature(lambda T: T, lambda T, V: T), "S takes 1 argument"),
        (lambda: ac.thermo.from_potential(free_energy, "VT"), "of must be"),
        (lambda: ac.thermo.from_potential(lambda T: T, "TV"), "f takes 2 arguments"),
        (lambda: ac.thermo.from_potential(lambda T, V: jnp.log(-T), "TV"), "number at some T, V"),
        (lambda: ac.thermo.from_potential(enthalpy, "SP").S_of_T(300.0), "given by SP"),
    ],
)
def test_bad_bodies(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_energy_and_entropy_belong_together_at_every_volume():
    """At V = 1 these do; a gas that has no volume of one is taken."""
    with pytest.raises(ValueError, match=r"belong to no body.* at T = 240, V = 0\.001"):
        ac.thermo.from_temperature(
            lambda T, V: 2 * T + T * (V - 1), lambda T, V: 2 * jnp.log(T) + jnp.log(V)
        )
    wide = ac.thermo.from_temperature(
        lambda T, V: 2 * T - 1 / V, lambda T, V: 2 * jnp.log(T) + jnp.log(V - 2)
    )
    np.testing.assert_allclose(wide.T(12.0, 3.0), np.exp(6.0), rtol=1e-12)
    gas = ac.thermo.VanDerWaals(8.3, 300.0, 0.1, 0.02, V_ref=0.05)
    assert np.isnan(gas.T(5.3, 0.01))  # less than the molecules take
