"""Thermomechanical systems: equations, steps, laws, hypotheses, derivatives, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.stepping.thermal_cases import (
    PARAMS,
    START,
    by_hand,
    driven,
    friction,
    isolated,
    lagrangian,
    two_bodies,
)


def test_first_law_of_both_discretisations():
    """With friction, heat and work: the document's balance has an error of order 2, the
    energy-consistent one none.
    """
    errors = {}
    for method in (ac.Midpoint(), ac.EnergyConsistent(ac.Midpoint())):
        runs = [ac.simulate(driven, method, **START, h=2.0 / n, steps=n) for n in (40, 80)]
        errors[method.__class__] = [float(jnp.max(jnp.abs(run.first_law()))) for run in runs]
        assert all(float(jnp.max(jnp.abs(run.supplied))) > 0.05 for run in runs)
    coarse, fine = errors[ac.Midpoint]
    assert 1.9 < np.log2(coarse / fine) < 2.1
    assert max(errors[ac.EnergyConsistent]) < 1e-13


def test_supplied_energy_is_work_and_heat():
    """The trapezoid sum of F_ext.v + P_H over a fine run."""
    traj = ac.simulate(driven, ac.Midpoint(), **START, h=0.005, steps=400)
    rows = [
        by_hand(float(t), np.asarray(q), np.asarray(v), float(S))
        for t, q, v, S in zip(traj.t, traj.q, traj.v, traj.S, strict=True)
    ]
    F, drive = (np.stack([row[i] for row in rows]) for i in (3, 4))
    power = np.sum(drive * traj.v, axis=1) + np.asarray(traj.heat())
    assert_allclose(traj.supplied[-1], np.trapezoid(power, traj.t), rtol=1e-4)
    assert_allclose(traj.dissipation(), -np.sum(F * traj.v, axis=1), rtol=1e-12)
    assert_allclose(traj.entropy_production(), traj.dissipation() / traj.temperature(), rtol=1e-14)


def test_entropy_production_is_that_of_friction_and_of_exchanged_heat():
    """Against mu v^2/T_1 + G (T_1 - T_2)^2/(T_1 T_2), and the slopes of the total entropy along the
    run; heat from outside makes none.
    """
    mu, G, power = 0.3, 0.4, 0.2
    bodies = [ac.thermo.Solid(3.0, 1.0), ac.thermo.Solid(2.0, 1.0)]

    def temperatures(S):
        return jnp.stack([body.T(S[i]) for i, body in enumerate(bodies)])

    def system(outside):
        return ac.ThermalSystem(
            lambda t, q, v, S, p: (
                0.5 * v @ v - 0.5 * q @ q - sum(body.U(S[i]) for i, body in enumerate(bodies))
            ),
            ac.Euclidean(1),
            friction=lambda t, q, v, S, p: jnp.stack([-mu * v, jnp.zeros(1)]),
            heat=lambda t, q, v, S, p: (
                ac.thermo.conduction(temperatures(S), G) + jnp.array([0.0, outside])
            ),
            entropies=2,
        )

    run = {"q0": [1.0], "v0": [0.5], "S0": [0.0, 0.8], "h": 0.01, "steps": 40}
    for outside in (0.0, power):
        traj = ac.simulate(system(outside), ac.Midpoint(), **run)
        S, v, t = np.asarray(traj.S), np.asarray(traj.v)[:, 0], np.asarray(traj.t)
        T = np.stack([np.exp(S[:, 0] / 3.0), np.exp(S[:, 1] / 2.0)], axis=1)
        made = mu * v**2 / T[:, 0] + G * (T[:, 0] - T[:, 1]) ** 2 / (T[:, 0] * T[:, 1])
        found = traj.entropy_production(
            outside=None if outside == 0 else lambda t, q, v, S, p: jnp.array([0.0, power])
        )
        assert found.shape == (41, 2)
        assert_allclose(np.sum(found, axis=1), made, rtol=1e-12)
        # the hot body loses entropy, less than the cold one gains
        assert np.all(np.asarray(found)[:, 1] < 0)
        slopes = np.gradient(np.sum(S, axis=1), t)[1:-1]
        # differences over 2h, of order h^2
        assert_allclose(slopes, (made + outside / T[:, 1])[1:-1], atol=3e-5)
    with pytest.raises(
        ValueError,
        match=r"heat comes from outside: the powers into the bodies add up to 0.2 W .*outside=",
    ):
        traj.entropy_production()


def test_energy_of_a_lagrangian_that_depends_on_time():
    """E' = -dL/dt: the spring's stiffness grows, and the work of whoever stiffens it is part of the
    supply.
    """

    def stiffening(t, q, v, S, p):
        return 0.5 * v @ v - 0.5 * (1 + 0.3 * t) * q @ q - jnp.exp(S)

    system = ac.ThermalSystem(stiffening, ac.Euclidean(1), friction=lambda t, q, v, S, p: -0.2 * v)
    traj = ac.simulate(
        system, ac.EnergyConsistent(ac.Midpoint()), q0=[1.0], v0=[0.0], S0=0.0, h=0.05, steps=100
    )
    assert float(traj.supplied[-1]) > 0.1
    assert float(jnp.max(jnp.abs(traj.first_law()))) < 1e-13
    S = ac.reference(system, q0=[1.0], v0=[0.0], S0=0.0, ts=[0.0, 5.0])[2]
    assert_allclose(traj.S[-1], S[-1], rtol=2e-3)


def test_the_energy_consistent_balance_may_break_the_second_law_and_says_so():
    """Without friction entropy takes up the error in the mechanical energy, of either sign; the
    document's balance keeps it constant.
    """
    system = isolated.with_params(PARAMS | {"mu": 0.0})
    run = {**START, "h": 0.1, "steps": 50}
    with pytest.warns(ac.SecondLawViolated, match="total entropy became less by .* in step"):
        traj = ac.simulate(system, ac.EnergyConsistent(ac.Midpoint()), **run)
    k = int(traj.laws.least_step)
    assert_allclose(traj.S[k + 1] - traj.S[k], traj.laws.least, rtol=1e-9)
    assert float(traj.laws.least) == pytest.approx(np.min(np.diff(traj.S)), rel=1e-9)
    with pytest.warns(ac.SecondLawViolated):
        fine = ac.simulate(
            system, ac.EnergyConsistent(ac.Midpoint()), **(run | {"h": 0.05, "steps": 100})
        )
    assert 2.7 < np.log2(float(traj.laws.least / fine.laws.least)) < 3.3  # O(h^3) in a step
    assert_allclose(ac.simulate(system, ac.Midpoint(), **run).S, START["S0"], rtol=1e-14)


def test_friction_that_gives_energy_is_warned_of():
    system = ac.ThermalSystem(
        lagrangian,
        ac.Euclidean(2),
        PARAMS,
        friction=lambda t, q, v, S, p: jnp.where(t < 0.12, -0.1, 0.1) * v,
    )
    with pytest.warns(
        ac.SecondLawViolated, match=r"friction gives energy .* in step [234] .*external"
    ):
        ac.simulate(system, ac.Midpoint(), **START, h=0.05, steps=5)


def test_a_cooled_body_loses_entropy_without_a_warning():
    system = ac.ThermalSystem(
        lagrangian,
        ac.Euclidean(2),
        PARAMS,
        friction=friction,
        heat=lambda t, q, v, S, p: -0.5 * jnp.exp(S),
    )
    traj = ac.simulate(system, ac.Midpoint(), **START, h=0.05, steps=20)
    assert np.all(np.diff(traj.S) < 0)
    assert float(traj.laws.least) == np.inf


def test_laws_in_words():
    kept = ac.thermo.laws(ac.simulate(isolated, ac.Midpoint(), **START, h=0.05, steps=4))
    assert kept.first < 1e-4
    assert kept.least > 0 > kept.push
    assert str(kept).startswith("first law:  |E - E_0 - energy from outside| <= ")


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.EnergyConsistent(ac.Trapezoid())], ids=str)
def test_two_bodies_come_to_one_temperature(method):
    """T from the energy, E = (C1 + C2) T, and the entropies from it; total entropy grows although
    one body loses some.
    """
    traj = ac.simulate(
        two_bodies(), method, q0=[1.0], v0=[0.0], S0=[0.0, 0.0], h=0.05, steps=4000, save_every=10
    )
    T = (0.5 + 2.0 + 3.0) / 4.0
    exact = np.array([np.log(T / 2.0), 3 * np.log(T / 1.0)])
    tolerance = 1e-12 if isinstance(method, ac.EnergyConsistent) else 2e-4
    assert_allclose(traj.temperature()[-1], T, rtol=tolerance)
    assert_allclose(traj.S[-1], exact, rtol=1e-3)
    assert np.min(np.diff(traj.S[:, 0])) < 0
    assert np.all(np.diff(np.sum(traj.S, axis=1)) > -1e-14)
    assert float(traj.laws.least) > -1e-14


def test_entropies_of_several_bodies_are_said_by_S0_or_by_name():
    named = ac.ThermalSystem(
        **{
            f: getattr(two_bodies(), f)
            for f in ("lagrangian", "space", "params", "friction", "heat")
        },
        entropies=("S_a [J/K]", "S_b [J/K]"),
    )
    run = {"q0": [1.0], "v0": [0.0], "h": 0.1, "steps": 3}
    a, b = (
        ac.simulate(system, ac.Midpoint(), S0=[0.0, 0.1], **run) for system in (named, two_bodies())
    )
    assert_allclose(a.S, b.S, rtol=1e-15)
    assert a.system.frame.names == ("S_a [J/K]", "S_b [J/K]")
    many = ac.ensemble(named, ac.Midpoint(), S0=[[0.0, 0.1], [0.2, 0.3]], **run)
    assert many.S.shape == (2, 4, 2)
    assert_allclose(many.S[0], a.S, rtol=1e-13)


@pytest.mark.slow
def test_on_a_group():
    """A body that turns and is slowed down.

    Its temperature does not act on it: it moves as the mechanical system does; S follows by hand.
    """
    J, h = np.array([1.0, 2.0, 3.0]), 0.05
    space = ac.SO3(retraction="cayley")
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * jnp.sum(J * v**2) - jnp.exp(S),
        space,
        friction=lambda t, q, v, S, p: -0.2 * v,
    )
    mechanical = ac.System(
        lambda t, q, v, p: 0.5 * jnp.sum(J * v**2), space, force=lambda t, q, v, p: -0.2 * v
    )
    run = {"q0": space.identity(), "v0": [1.0, 0.2, 0.6], "h": h, "steps": 10}
    traj, free = (
        ac.simulate(system, ac.Midpoint(), S0=0.1, **run),
        ac.simulate(mechanical, ac.Midpoint(), **run),
    )
    assert_allclose(traj.q, free.q, atol=1e-14)
    assert_allclose(traj.p, free.p, atol=1e-14)
    xi = np.asarray(jax.vmap(space.local)(traj.q[:-1], traj.q[1:])) / h
    S = np.asarray(traj.S)
    assert_allclose(
        np.exp((S[1:] + S[:-1]) / 2) * np.diff(S) / h, 0.2 * np.sum(xi**2, axis=1), rtol=1e-11
    )


def test_a_step_that_is_not_solved_leaves_what_was_written_of_the_laws():
    """Against a run that ends before it; a wall at q = 1 ends the motion."""
    walled = ac.ThermalSystem(
        lambda t, q, v, S, params: 0.5 * v[0] ** 2 + jnp.log(1 - q[0]) - jnp.exp(S),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, params: -0.1 * v,
    )
    start = {"q0": [0.0], "v0": [3.0], "S0": 0.1, "h": 0.4}
    run = ac.simulate(walled, ac.Midpoint(), **start, steps=30, throw=False)
    k = int(run.steps_completed)
    assert 0 < k < 30
    before = ac.simulate(walled, ac.Midpoint(), **start, steps=k)
    for array in (run.q, run.p, run.S, run.supplied):
        assert np.all(np.isfinite(array[: k + 1]))
        assert np.all(np.isnan(array[k + 1 :]))
    assert np.isnan(run.laws.supplied)
    for name in set(run.laws._fields) - {"supplied"}:
        assert np.array_equal(getattr(run.laws, name), getattr(before.laws, name)), name
