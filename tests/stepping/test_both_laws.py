"""EnergyEntropyConsistent: both laws of thermodynamics for every step, and what it costs."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.stepping.thermal_cases import START, by_hand, driven, isolated, two_bodies

METHOD = ac.EnergyEntropyConsistent()
PAIR, AT_REST = two_bodies(), {"q0": [1.0], "v0": [0.0], "S0": [0.0, 0.5]}
J = np.array([1.0, 2.0, 3.0])
TOP = ac.ThermalSystem(
    lambda t, q, v, S, p: (
        0.5 * jnp.sum(J * v**2) - 2 * q[2, 2] - jnp.exp(S) * (1 + 0.1 * q[0, 2] ** 2)
    ),
    ac.SO3(),
    friction=lambda t, q, v, S, p: -p * v,
    params=0.2,
    name="warm top",
)
TURNING = {"q0": ac.SO3().identity(), "v0": [1.0, 0.2, 0.6], "S0": 0.1}


@cache
def coarse(h):
    """One long run for each step, shared by what is looked at."""
    return ac.simulate(isolated, METHOD, **START, h=h, steps=400)


@pytest.mark.parametrize("h", [0.1, 0.5, 1.0])
def test_both_laws_at_any_step(h):
    """Also at steps of a sixth of a period; until the motion has ended, where differences of
    entropies lose their digits.
    """
    traj = coarse(h)
    assert np.max(np.abs(traj.first_law())) < 2e-14
    assert np.all(np.diff(traj.S) >= 0)
    assert float(traj.laws.least) >= 0
    assert float(traj.laws.push) <= 0
    assert_allclose(traj.v[-1], 0, atol=1e-3)


def test_the_other_methods_break_one_of_them():
    """The laws can fail: by Midpoint the first, by EnergyConsistent without friction the second."""
    run = {**START, "h": 0.5, "steps": 20}
    assert np.max(np.abs(ac.simulate(isolated, ac.Midpoint(), **run).first_law())) > 1e-4
    free = isolated.with_params(isolated.params | {"mu": 0.0})
    with pytest.warns(ac.SecondLawViolated):
        ac.simulate(free, ac.EnergyConsistent(ac.Midpoint()), **run)
    kept = ac.simulate(free, METHOD, **run)
    assert_allclose(kept.S, START["S0"], rtol=1e-14)
    assert np.max(np.abs(kept.first_law())) < 1e-14


def test_it_has_order_two():
    """With work, heat and friction, on vectors, and on a group."""
    run = {"duration": 1.0, "h": [0.1, 0.05, 0.025]}
    for system, start in ((driven, START), (TOP, TURNING)):
        assert abs(ac.analysis.order(system, METHOD, **start, **run).slope - 2) < 0.05


def test_work_and_heat_are_in_the_balance():
    traj = ac.simulate(driven, METHOD, **START, h=0.1, steps=40)
    assert np.max(np.abs(traj.supplied)) > 0.05
    assert np.max(np.abs(traj.first_law())) < 1e-14
    fine = ac.simulate(driven, METHOD, **START, h=0.005, steps=400)
    arrays = zip(*map(np.asarray, (fine.t, fine.q, fine.v, fine.S)), strict=True)
    rows = [by_hand(*row) for row in arrays]
    drive, heat = (np.stack([row[i] for row in rows]) for i in (4, 5))
    power = np.sum(drive * fine.v, axis=1) + heat
    assert_allclose(fine.supplied[-1], np.trapezoid(power, fine.t), rtol=1e-4)


def test_a_step_is_the_equations_on_paper():
    """Means by another quadrature of H = |p|^2/(2m(q, S)) + V, written by hand."""
    p = isolated.params
    traj = ac.simulate(isolated, METHOD, **START, h=0.3, steps=1)
    (q0, q1), (p0, p1), (S0, S1) = map(np.asarray, (traj.q, traj.p, traj.S))
    x, w = np.polynomial.legendre.leggauss(40)
    v, dH, T = np.zeros(2), np.zeros(2), 0.0
    for c, weight in zip((1 + x) / 2, w / 2, strict=True):
        q, mom, S = q0 + c * (q1 - q0), p0 + c * (p1 - p0), S0 + c * (S1 - S0)
        m, k = p["m"] * (1 + 0.2 * S + 0.3 * q[0] ** 2), mom @ mom
        _, dq, temperature, *_ = by_hand(0.0, q, mom / m, S, p)
        v += weight * mom / m
        dH -= weight * dq
        T += weight * temperature
        assert_allclose(temperature, by_hand(0.0, q, mom / m, S, p)[2])
        assert k > 0
    middle = (q0 + q1) / 2
    assert_allclose(q1 - q0, 0.3 * v, atol=1e-14)
    # the entropy at which the temperature is T, by bisection
    low, S, high = S0 - 1, S0, S1 + 1
    for _ in range(60):
        S = (low + high) / 2
        low, high = (S, high) if by_hand(0.0, middle, v, S, p)[2] < T else (low, S)
    F = by_hand(0.0, middle, v, S, p)[3]
    found = p1 - p0 - 0.3 * (F - dH), S1 - S0 + 0.3 * F @ v / T
    assert_allclose(np.concatenate([found[0], [found[1]]]), 0, atol=1e-13)


@pytest.mark.parametrize("h", [0.2, 1.0])
def test_two_bodies_come_to_one_temperature(h):
    """As two bodies do, from the energy alone; the entropy of both together grows in each step
    though that of one falls.
    """
    traj = ac.simulate(PAIR, METHOD, **AT_REST, h=h, steps=600)
    body = PAIR.params["body"]
    T = (0.5 + float(np.sum(body.U(np.array([0.0, 0.5]))))) / 4.0
    assert_allclose(traj.temperature()[-1], T, rtol=1e-12)
    assert np.min(np.diff(traj.S, axis=0)) < -1e-3
    assert np.all(np.diff(np.sum(traj.S, axis=1)) > -1e-15)
    assert float(traj.laws.least) > -1e-16  # where nothing happens any more


def test_a_bath_has_one_temperature_whatever_its_entropy():
    """Its temperature says nothing of its entropy: the conduction into it still makes some."""
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q - 2.0 * jnp.exp(S[0] / 2) - 1.5 * S[1],
        ac.Euclidean(1),
        friction=lambda t, q, v, S, p: jnp.stack([-0.3 * v, 0 * v]),
        heat=lambda t, q, v, S, p: ac.thermo.conduction(jnp.stack([jnp.exp(S[0] / 2), 1.5]), 0.4),
        entropies=("S_body [J/K]", "S_bath [J/K]"),
    )
    traj = ac.simulate(system, METHOD, q0=[1.0], v0=[0.0], S0=[0.0, 0.0], h=0.5, steps=400)
    assert_allclose(traj.temperature()[-1], 1.5, rtol=1e-12)
    assert np.max(np.abs(traj.first_law())) < 1e-14
    assert float(traj.laws.least) > -1e-16


def test_on_a_group():
    traj = ac.simulate(TOP, METHOD, **TURNING, h=0.1, steps=200)
    assert np.max(np.abs(traj.first_law())) < 2e-14
    assert np.all(np.diff(traj.S) > 0)
    free = ac.simulate(TOP, METHOD, **TURNING, h=0.1, steps=50, params=0.0)
    assert_allclose(free.S, 0.1, rtol=1e-14)


def test_momenta_along_coordinates_are_kept():
    """Two particles and a spring that friction heats: that of the whole stays, to rounding."""
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: (
            0.5 * (v[0] ** 2 + 3 * v[1] ** 2) - (q[1] - q[0] - 1) ** 4 - jnp.exp(S)
        ),
        ac.Euclidean(2),
        friction=lambda t, q, v, S, p: -0.3 * (v[0] - v[1]) * jnp.array([1.0, -1.0]),
    )
    traj = ac.simulate(system, METHOD, q0=[0.0, 2.0], v0=[0.5, 0.1], S0=0.0, h=0.5, steps=100)
    assert_allclose(np.sum(traj.p, axis=1), 0.8, rtol=1e-14)
    assert np.max(np.abs(traj.first_law())) < 1e-14


def test_it_goes_on_between_the_steps_and_after_the_end():
    traj = coarse(0.1)
    found = traj.at(0.05)
    exact = ac.reference(isolated, **START, ts=[0.0, 0.05])
    for here, true in zip((found.q, found.v, found.S), exact, strict=True):
        assert_allclose(here, true[-1], atol=2e-4)
    half = ac.simulate(isolated, METHOD, **START, h=0.1, steps=200).extend(200)
    assert np.array_equal(half.q, traj.q)
    assert np.array_equal(half.S, traj.S)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ac.EnergyEntropyConsistent(0), "from 1 to 64; got 0"),
        (lambda: ac.EnergyEntropyConsistent(2.5), "whole number of Gauss points"),
        (
            lambda: ac.simulate(
                ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1)),
                METHOD,
                q0=[0.0],
                v0=[1.0],
                h=0.1,
                steps=1,
            ),
            "is for a ThermalSystem",
        ),
        (
            lambda: ac.simulate(
                ac.ThermalSystem(
                    lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S), ac.SO3(retraction="cayley")
                ),
                METHOD,
                **TURNING,
                h=0.1,
                steps=1,
            ),
            "Try retraction='exp'",
        ),
        (
            lambda: ac.simulate(isolated, ac.Composition(METHOD, 4), **START, h=0.1, steps=1),
            "inner steps that go back in time would take entropy away",
        ),
        (
            lambda: ac.discrete(isolated, METHOD).Ld(0.0, 0.1, [0.0, 0.0], [0.1, 0.1], 0.0, 0.0),
            "is not variational",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
