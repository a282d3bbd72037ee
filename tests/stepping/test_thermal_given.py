"""Thermomechanical systems: equations, steps, laws, hypotheses, derivatives, bad input."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.stepping.thermal_cases import (
    GIVEN,
    isolated,
    plain,
    run,
    two_bodies,
    without_trajectory,
)


def test_ex_3_29_with_a_solution():
    traj = ac.simulate(without_trajectory(-1.0), None, **GIVEN, steps=2)
    assert_allclose(traj.q[2, 0], np.tan(-(-1.0 + 2.0) - np.arctan(0.4)) - 0.1, rtol=1e-14)
    assert_allclose(traj.S, 0.0)
    first, second = ac.discrete(without_trajectory(-1.0), None).matrices(
        0.0, 1.0, *traj.q[:2], *traj.S[:2]
    )
    assert_allclose(first, [[-1 / (1 + 0.4**2), 0], [0, 1]], rtol=1e-14)
    assert_allclose(second, [[1 / (1 + 0.4**2), 0], [0, 1]], rtol=1e-14)
    with pytest.raises(ValueError, match="given in discrete time: it has no velocities"):
        _ = traj.v


@pytest.mark.parametrize("alpha", [-3.0, -2.0, -1.0, -3.3])
def test_ex_3_29_is_followed_as_far_as_it_goes(alpha):
    """q_{k+1} = tan(-(alpha + 2) - atan(q_{k-1} + q_k)) - q_k jumps to and fro, so that the last
    increments are no guess of the next.
    """
    q = [0.3, 0.1]
    for _ in range(6):
        q.append(np.tan(-(alpha + 2.0) - np.arctan(q[-2] + q[-1])) - q[-1])
    assert_allclose(
        ac.simulate(without_trajectory(alpha), None, **GIVEN, steps=7).q[:, 0], q, rtol=1e-12
    )


def test_ex_3_29_is_regular_and_has_no_trajectory():
    with pytest.raises(
        ac.StepFailed,
        match=(
            r"step 1 of 5 .* No solution exists nearby: by least squares the equations are still"
            r" off by 4.81"
        ),
    ) as caught:
        ac.simulate(without_trajectory(4.0), None, **GIVEN, steps=5)
    assert caught.value.step == 1
    lost = ac.simulate(without_trajectory(4.0), None, **GIVEN, steps=5, throw=False)
    assert np.all(np.isnan(lost.q[2:]))
    assert not lost.success


def test_a_loaded_run_of_several_bodies_knows_how_many(tmp_path):
    system = two_bodies()
    traj = ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.5], S0=[0.0, 0.1], h=0.1, steps=4)
    traj.save(tmp_path / "run.zarr")
    again = ac.load(tmp_path / "run.zarr", system=system)
    assert_allclose(again.entropy_production(), traj.entropy_production(), rtol=1e-13)
    assert again.heat().shape == (5, 2)
    alone = ac.load(tmp_path / "run.zarr")
    assert_allclose(alone.temperature(), traj.temperature(), rtol=1e-14)
    assert len(alone.plot().axes) == 4
    with pytest.raises(ValueError, match="loaded without its system"):
        alone.heat()
    with pytest.raises(ValueError, match="other entropies"):
        ac.load(tmp_path / "run.zarr", system=dataclasses.replace(system, entropies=("S_a", "S_b")))
    with pytest.raises(ValueError, match="which must be the number of a body"):
        ac.thermo.states(traj, ac.thermo.Solid(3.0, 1.0), which=2)


def test_energy_measured_from_a_reference():
    """U = C (T - T_ref): the energy is rounded as C T is, though it is small itself."""
    body = ac.thermo.Solid(1000.0, 293.0)
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - (p.U(S) - p.C * 293.0),
        ac.Euclidean(1),
        body,
        friction=lambda t, q, v, S, p: -0.2 * v,
    )
    traj = ac.simulate(
        system, ac.EnergyConsistent(ac.Midpoint()), q0=[0.0], v0=[2.0], S0=0.0, h=0.1, steps=400
    )
    assert_allclose(traj.S[-1], 1000 * np.log1p(2 / 293e3), rtol=1e-6)


def test_the_reference_looks_at_temperatures_and_at_the_size_of_entropies():
    hot = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v + jnp.exp(S), ac.Euclidean(1))
    with pytest.raises(ValueError, match="must be positive"):
        ac.reference(hot, q0=[0.0], v0=[1.0], S0=0.0, ts=[0.0, 1.0])
    cooled = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * S**2,
        ac.Euclidean(1),
        heat=lambda t, q, v, S, p: -1.0,
    )
    with pytest.raises(RuntimeError, match="could not be integrated"):
        ac.reference(cooled, q0=[0.0], v0=[1.0], S0=0.5, ts=[0.0, 0.2])
    # Two bodies of some molecules: T_1 - T_2 falls as e^{-G (1/C_1 + 1/C_2) t}.
    k = 1e-23
    tiny = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5e-26 * v @ v - jnp.sum(p.U(S)),
        ac.Euclidean(1),
        ac.thermo.Solid(np.array([1.0, 3.0]) * k, np.array([400.0, 200.0])),
        heat=lambda t, q, v, S, p: ac.thermo.conduction(p.T(S), k),
        entropies=2,
    )
    S = ac.reference(tiny, q0=[0.0], v0=[0.0], S0=[0.0, 0.0], ts=[0.0, 2.0])[2][-1]
    T = 250 + 200 * np.exp(-4 / 3 * 2.0) * np.array([0.75, -0.25])
    assert_allclose(S / k, [np.log(T[0] / 400), 3 * np.log(T[1] / 200)], rtol=1e-8)


def test_the_second_law_is_watched_where_it_can_be_told():
    body = ac.thermo.Solid(10.0, np.array([1000.0, 300.0]))
    start = {"q0": [1.0], "v0": [0.0], "S0": [0.0, 0.0], "h": 0.1, "steps": 5}

    def heated(heat):
        return ac.ThermalSystem(
            lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q - jnp.sum(p.U(S)),
            ac.Euclidean(1),
            body,
            heat=heat,
        )

    # A hot body in a furnace and a cold one in a cooler: the heat is not theirs.
    ac.simulate(heated(lambda t, q, v, S, p: jnp.array([5.0, -4.0])), ac.Midpoint(), **start)
    # Heat from cold to hot, and a little cooling that does not excuse it.
    with pytest.warns(ac.SecondLawViolated, match="only among themselves"):
        ac.simulate(
            heated(
                lambda t, q, v, S, p: -ac.thermo.conduction(p.T(S), 0.3) - jnp.array([1e-4, 0.0])
            ),
            ac.Midpoint(),
            **start,
        )
    # A force across the velocity does no work; its rounding is no push.
    across = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S),
        ac.Euclidean(2),
        friction=lambda t, q, v, S, p: 0.3 * jnp.array([v[1], -v[0]]),
    )
    ac.simulate(across, ac.Midpoint(), q0=[0.0, 0.0], v0=[1.0, 0.3], S0=0.0, h=0.1, steps=30)
    pushed = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S),
        ac.Euclidean(1),
        {"mu": 1.0},
        friction=lambda t, q, v, S, p: -p["mu"] * v,
    )
    with pytest.warns(ac.SecondLawViolated, match="in member 1, step"):
        ac.ensemble(
            pushed,
            ac.Midpoint(),
            q0=[0.0],
            v0=[1.0],
            S0=0.0,
            h=0.1,
            steps=5,
            params={"mu": jnp.array([1.0, -0.1])},
        )


def test_numbers_as_people_write_them():
    assert ac.accelerations(isolated)(0.0, jnp.zeros(2), jnp.ones(2), 1)[1].shape == ()
    with pytest.raises(ValueError, match="must be a"):
        run(plain(), S0=True)
    with pytest.raises(ValueError, match="must be symmetric"):
        ac.thermo.conduction([1.0, 2.0], [[0.0, 0.5], [0.0, 0.0]])
    with pytest.raises(ValueError, match="needs its volume"):
        ac.thermo.states(run(plain(), steps=1), ac.thermo.IdealGas(1.0, 1.0))
    names = ac.ThermalSystem(
        lambda t, q, v, S, p: v[0], ac.Euclidean(1), entropies=("Steel [J/K]", "S_gas [J/K]", "S")
    ).frame.temperatures
    assert names == ("T_Steel [K]", "T_gas [K]", "T")


def test_a_system_given_in_discrete_time_is_saved_and_drawn(tmp_path):
    traj = ac.simulate(without_trajectory(-1.0), None, **GIVEN, steps=2)
    traj.save(tmp_path / "run.zarr")
    np.testing.assert_array_equal(ac.load(tmp_path / "run.zarr").S, traj.S)
    assert [ax.get_ylabel() for ax in traj.plot().axes] == ["q1", "S [J/K]"]


def test_where_nothing_heats_the_temperature_may_be_zero():
    """Lemma 3.8 asks for dL/dS only where there is friction: without, S stays where it is."""
    cold = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q,
        ac.Euclidean(1),
    )
    bare = ac.System(lambda t, q, v, p: 0.5 * v @ v - 0.5 * q @ q, ac.Euclidean(1))
    start = {"q0": [0.3], "v0": [1.0], "h": 0.1, "steps": 4}
    run = ac.simulate(cold, ac.Midpoint(), **start, S0=0.3)
    assert_allclose(run.q, ac.simulate(bare, ac.Midpoint(), **start).q, rtol=1e-14)
    assert_allclose(run.S, 0.3, rtol=0)
    with pytest.raises(ValueError, match="must be positive"):
        ac.simulate(cold, ac.EnergyConsistent(ac.Midpoint()), **start, S0=0.3)
    rubbed = dataclasses.replace(cold, friction=lambda t, q, v, S, p: -v)
    with pytest.raises(ValueError, match="must be positive, or friction cannot heat"):
        ac.simulate(rubbed, ac.Midpoint(), **start, S0=0.3)


def test_a_smaller_step_is_advised_only_where_there_is_one():
    """Example 3.29 has no h."""
    with pytest.raises(ac.StepFailed) as caught:
        ac.simulate(without_trajectory(4.0), None, **GIVEN, steps=5)
    assert caught.value.smaller is None
    assert "smaller" not in str(caught.value)
