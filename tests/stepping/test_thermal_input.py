"""Thermomechanical systems: equations, steps, laws, hypotheses, derivatives, bad input."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.methods import GeneralizedAlpha
from tests.stepping.thermal_cases import GIVEN, ONE_BODY, plain, run, without_trajectory


def test_ideal_gas():
    gas = ac.thermo.IdealGas.moles(2.0, 300.0, 0.05, S_ref=1.0)
    S, V = 4.0, 0.03
    T, P = jax.grad(gas.U, 0)(S, V), -jax.grad(gas.U, 1)(S, V)
    assert_allclose(gas.T(S, V), T, rtol=1e-13)
    assert_allclose(gas.P(S, V), P, rtol=1e-13)
    assert_allclose(P * V, 2 * ac.thermo.R * T, rtol=1e-13)  # C.5
    assert_allclose(gas.U(S, V), 1.5 * 2 * ac.thermo.R * T, rtol=1e-13)  # C.6
    assert_allclose(gas.S(gas.U(S, V), V), S, rtol=1e-13)  # C.8 and C.9
    assert_allclose(gas.S_of_T(T, V), S, rtol=1e-13)
    # C.7
    assert_allclose(gas.P(S, V) * V ** (5 / 3), gas.P(S, 2 * V) * (2 * V) ** (5 / 3), rtol=1e-13)
    assert_allclose(gas.T(1.0, 0.05), 300.0, rtol=1e-13)
    assert_allclose(gas.U(S, V, N=2.0), gas.U(S, V), rtol=1e-13)
    # Twice of everything has twice the energy and the same temperature and pressure.
    for f, factor in ((gas.U, 2), (gas.T, 1), (gas.P, 1)):
        assert_allclose(f(2 * S, 2 * V, N=4.0), factor * f(S, V), rtol=1e-13)


def test_solid():
    body = ac.thermo.Solid(2.0, 300.0, 1.0)
    assert_allclose(body.T(1.7), jax.grad(body.U)(1.7), rtol=1e-14)
    assert_allclose(body.S_of_T(body.T(1.7)), 1.7, rtol=1e-13)
    assert_allclose(body.U(1.7), 2.0 * body.T(1.7), rtol=1e-14)


def test_conduction_and_bath():
    G = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [2.0, 0.5, 0.0]])
    T = np.array([1.0, 2.0, 4.0])
    assert_allclose(ac.thermo.conduction(T, G), [1 * 1 + 2 * 3, -1 + 0.5 * 2, -6 - 1], rtol=1e-15)
    assert float(jnp.sum(ac.thermo.conduction(T, G))) == 0
    assert_allclose(ac.thermo.conduction([1.0, 3.0], 0.5), [1.0, -1.0])
    assert ac.thermo.bath(2.0, 5.0, 0.1) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="symmetric matrix of shape"):
        ac.thermo.conduction(T, 1.0)


def test_states_along_a_trajectory():
    gas = ac.thermo.IdealGas(1.0, 1.5)
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - p.U(S, 1 - q[0]) - 5 * (1 - q[0]) ** 2,
        ac.Euclidean(1),
        gas,
    )
    traj = ac.simulate(system, ac.Midpoint(), q0=[0.3], v0=[0.0], S0=0.0, h=0.02, steps=10)
    found = ac.thermo.states(traj, gas, lambda q: 1 - q[0])
    assert_allclose(found["T"], traj.temperature(), rtol=1e-13)
    assert_allclose(found["P"] * found["V"], found["T"], rtol=1e-13)
    assert_allclose(
        found["U"], traj.energy() - 0.5 * traj.v[:, 0] ** 2 - 5 * found["V"] ** 2, rtol=1e-12
    )
    with pytest.raises(ValueError, match="must return a number"):
        ac.thermo.states(traj, gas, lambda q: 1 - q)


FREE = ac.System(lambda t, q, v, p: v @ v, ac.Euclidean(1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: run(plain(), S0=None), "needs S0"),
        (lambda: run(plain(), S0="warm"), "must be a number"),
        (lambda: run(plain(), S0=np.nan), "finite number"),
        (
            lambda: run(plain(), S0=[0.0, 0.0]),
            r"friction must return a row for each body that it heats, shape \(2, 1\)",
        ),
        (lambda: run(plain(entropies=2, friction=None), S0=0.0), "one number for each body"),
        (
            lambda: run(plain(entropies=2, friction=None), S0=[0.0, 0.0, 0.0]),
            "one number for each body",
        ),
        (lambda: run(plain(friction=lambda t, q, v, S, p: jnp.zeros(2))), "friction must return"),
        (lambda: run(plain(external=lambda t, q, v, S, p: 1.0)), "external must return"),
        (lambda: run(plain(heat=lambda t, q, v, S, p: v)), "heat must return a scalar"),
        (
            lambda: run(plain(friction=3.0)),
            r"friction must be a function friction\(t, q, v, S, params\)",
        ),
        (lambda: run(plain(friction=lambda t, q, v: -v)), "friction takes 5 arguments"),
        (lambda: plain(entropies=0), "entropies must be names"),
        (lambda: plain(entropies=(1, 2)), "entropies must be names"),
        (lambda: plain(coordinates=("x", "y")), "coordinates must be 1 names"),
        (lambda: ac.ThermalSystem(lambda t, q, v, S, p: v[0], 3), "space must be a Space"),
        (
            lambda: run(plain(), method=GeneralizedAlpha()),
            "GeneralizedAlpha does not support thermal systems",
        ),
        (
            lambda: run(plain(), method=ac.EnergyConsistent(ac.Midpoint()), v0=None, q1=[0.1]),
            "EnergyConsistent starts from v0 or p0",
        ),
        (lambda: ac.EnergyConsistent(3), "needs a method"),
        (
            lambda: ac.connect(plain(), ac.Midpoint(), qa=[0.0], qb=[1.0], duration=1.0, steps=10),
            "needs its entropy at one end",
        ),
        (
            lambda: ac.analysis.symplecticity(plain(), ac.Midpoint(), q0=[0.0], v0=[1.0], h=0.1),
            "symplecticity does not support thermal systems: ",
        ),
        (
            lambda: ac.analysis.audit(plain(), ac.Midpoint(), q0=[0.0], v0=[1.0], h=0.1),
            "needs S0",
        ),
        (
            lambda: ac.analysis.modified_hamiltonian(plain(), ac.Midpoint()),
            "modified_hamiltonian does not support thermal systems: ",
        ),
        (
            lambda: ac.analysis.step_bound(plain(), q0=[0.0], v0=[1.0]),
            "step_bound does not support thermal systems: ",
        ),
        (
            lambda: ac.analysis.exact_discrete_lagrangian(plain()),
            "exact_discrete_lagrangian does not support thermal systems: ",
        ),
        (lambda: run(without_trajectory(0.0)), "the method must be None"),
        (lambda: run(without_trajectory(0.0), method=None), "starts from q0, S0 and q1"),
        (lambda: ac.thermo.laws(run(FREE, S0=None, steps=1)), "ThermalSystem"),
        (lambda: run(FREE), "S0 belongs to thermal systems"),
        (
            lambda: run(FREE, method=ac.EnergyConsistent(ac.Midpoint()), S0=None),
            "is for a ThermalSystem",
        ),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_wrong_sign_of_the_internal_energy_is_named():
    hot = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v + jnp.exp(S), ac.Euclidean(1))
    with pytest.raises(
        ValueError,
        match=r"T = -dL/dS that belongs to S \[J/K\] is -1 at the start; it must be positive",
    ):
        run(hot)
    cold = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v, ac.Euclidean(1), **ONE_BODY)
    with pytest.raises(ValueError, match=r"is -?0 at the start"):
        run(cold)
    system = ac.DiscreteThermalSystem(
        lambda t, h, q0, q1, S0, S1, p: (q1[0] - q0[0]) ** 2 / h,
        ac.Euclidean(1),
        kinematic=lambda t, h, q0, q1, S0, S1, p: S1 - S0,
        friction=lambda t, h, q0, q1, S0, S1, p: (q0 - q1, q0 - q1),
    )
    with pytest.raises(ValueError, match=r"D3 Ld and D4 Ld, .* are both zero"):
        ac.simulate(system, None, **GIVEN, steps=2)


def test_a_temperature_that_becomes_negative_ends_the_run():
    """U = S^2/2, cooled at a constant rate: T = S reaches zero at t = S0^2/2 = 0.5, and there is no
    motion after it.
    """
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * S**2,
        ac.Euclidean(1),
        heat=lambda t, q, v, S, p: -1.0,
    )
    with pytest.raises(ac.StepFailed, match="T = ") as caught:
        run(system, S0=1.0, steps=20, h=0.03)
    assert caught.value.t == pytest.approx(0.48)
    passes = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * S**2,
        ac.Euclidean(1),
        heat=lambda t, q, v, S, p: -S,
    )
    with pytest.raises(ac.StepFailed, match=r"temperature .* is not positive where it leads"):
        run(passes, method=ac.LeftRectangle(), S0=0.5, h=0.6, steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lost = run(passes, method=ac.LeftRectangle(), S0=0.5, h=0.6, steps=2, throw=False)
    assert not lost.success
    assert np.all(np.isnan(lost.S[1:]))
