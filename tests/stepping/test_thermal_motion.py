"""Thermomechanical systems: equations, steps, laws, hypotheses, derivatives, bad input."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import accion as ac
from tests.stepping.thermal_cases import PARAMS, START, by_hand, driven, isolated


def field(t, y):
    """The continuous equations of the coupled system, typed from paper (Bonich, Thm 3.9)."""
    q, v, S = y[:2], y[2:4], y[4]
    _, dq, T, F, Fe, P = by_hand(t, q, v, S)
    dS = (P - F @ v) / T
    m = PARAMS["m"]
    mass, dmass = m * (1 + 0.2 * S + 0.3 * q[0] ** 2), m * (0.2 * dS + 0.6 * q[0] * v[0])
    return np.concatenate([v, (dq + F + Fe - dmass * v) / mass, [dS]])


def stack(start):
    return np.array([*start["q0"], *start["v0"], start["S0"]])


def test_accelerations_and_entropy_rates_are_those_on_paper():
    y = stack(START)
    a, dS = ac.accelerations(driven)(0.3, jnp.array(y[:2]), jnp.array(y[2:4]), y[4])
    right = field(0.3, y)
    assert_allclose(a, right[2:4], rtol=1e-13)
    assert_allclose(dS, right[4], rtol=1e-13)


def test_reference_against_another_integrator():
    q, v, S = ac.reference(driven, **START, ts=[0.0, 1.0, 3.0])
    other = solve_ivp(
        field, (0, 3), stack(START), t_eval=[0, 1, 3], rtol=1e-12, atol=1e-13, method="DOP853"
    ).y.T
    assert_allclose(np.column_stack([q, v, S]), other, rtol=1e-9, atol=1e-10)


def test_the_continuous_motion_keeps_the_first_law():
    q, v, S = ac.reference(isolated, **START, ts=[0.0, 0.5, 2.0])
    E = [isolated.energy(0.0, isolated.point(q[i], S[i]), v[i]) for i in range(3)]
    assert_allclose(E, E[0], rtol=1e-11)
    assert np.all(np.diff(S) > 0)


def test_symbols_are_the_numbers():
    eqs = ac.symbolic(driven)
    y, t = stack(START), 0.3
    values = {eqs.t: t, **eqs.values}
    values |= dict(zip([*eqs.v, *eqs.q], [*y[2:4], field(t, y)[4], *y[:2], y[4]], strict=True))

    def number(e):
        return float(
            e.xreplace({k: v for k, v in values.items() if k.is_Derivative})
            .xreplace(values)
            .evalf(30)
        )

    right = field(t, y)
    assert_allclose(
        [number(e) for e in (*eqs.accelerations, *eqs.entropy_rates)], right[2:], rtol=1e-12
    )
    assert_allclose(number(eqs.temperatures[0]), by_hand(t, y[:2], y[2:4], y[4])[2], rtol=1e-12)
    assert "entropy balance" in eqs.text()


def midpoint_by_hand(t, h, q0, p0, S0):
    """One step of the midpoint rule, its equations typed from paper; and p at its end."""

    def parts(x):
        q1, S1 = q0 + x[:2], S0 + x[2]
        v, q, S, s = x[:2] / h, (q0 + q1) / 2, (S0 + S1) / 2, t + h / 2
        return v, x[2] / h, by_hand(s, q, v, S)

    def equations(x):
        v, dS, (p, dq, T, F, Fe, P) = parts(x)
        return np.concatenate([p0 - p + h / 2 * (dq + F + Fe), [-T * dS - F @ v + P]])

    guess = np.array([h * 0.3, h * 0.8, 0.0])
    x = fsolve(equations, guess, xtol=1e-14)
    p, dq, _, F, Fe, _ = parts(x)[2]
    return q0 + x[:2], p + h / 2 * (dq + F + Fe), S0 + x[2]


def test_a_step_is_the_one_on_paper():
    h = 0.05
    traj = ac.simulate(driven, ac.Midpoint(), **START, h=h, steps=2)
    q, p, S = (
        np.array(START["q0"]),
        by_hand(0.0, np.array(START["q0"]), np.array(START["v0"]), START["S0"])[0],
        START["S0"],
    )
    assert_allclose(traj.p[0], p, rtol=1e-14)
    for k in range(2):
        q, p, S = midpoint_by_hand(k * h, h, q, p, S)
        assert_allclose(traj.q[k + 1], q, rtol=1e-11)
        assert_allclose(traj.p[k + 1], p, rtol=1e-11)
        assert_allclose(traj.S[k + 1], S, rtol=1e-11)


def test_order_with_the_printed_start():
    """q1 = q0 + h v0 makes the midpoint rule first order in S too."""
    q0, v0 = np.array(START["q0"]), np.array(START["v0"])
    found = ac.analysis.order(
        driven, ac.Midpoint(), **START, duration=1.0, h=[0.04, 0.02, 0.01], q1=lambda h: q0 + h * v0
    )
    assert abs(found.slope - 1) < 0.1, found


def test_a_map_of_the_users_own_acts_on_configuration_and_entropy():
    """psi is a finite-difference map of Q x R (Bonich, eq 3.16): q and v hold the entropy last."""

    def psi(h, z0, z1):
        return [
            (
                1.0,
                0.5,
                tuple((a + b) / 2 for a, b in zip(z0, z1, strict=True)),
                jnp.concatenate([z1[0] - z0[0], z1[1] - z0[1]]) / h,
            )
        ]

    run = {**START, "h": 0.05, "steps": 4}
    own, ours = (
        ac.simulate(driven, method, **run) for method in (ac.FiniteDifference(psi), ac.Midpoint())
    )
    assert_allclose(own.S, ours.S, rtol=1e-13)
    assert_allclose(own.q, ours.q, rtol=1e-12)


@pytest.fixture(scope="module")
def short():
    return ac.simulate(driven, ac.Midpoint(), **START, h=0.05, steps=4)


def step(traj, k):
    return traj.t[k], traj.h, traj.q[k], traj.q[k + 1], traj.S[k], traj.S[k + 1]


def test_discrete_objects(short):
    """D1 to D4 are derivatives of Ld; forces, rho and Legendre transforms satisfy Bonich, eq
    3.10-3.14 along a trajectory.
    """
    d = ac.discrete(driven, ac.Midpoint())
    t, h, q0, q1, S0, S1 = (np.asarray(a) for a in step(short, 1))

    def Ld(q0, q1, S0, S1):
        return float(d.Ld(t, h, q0, q1, S0, S1))

    e = 1e-6
    for i, D in enumerate((d.D1, d.D2)):
        for j in range(2):
            shift = [np.zeros(2), np.zeros(2)]
            shift[i][j] = e
            slope = (
                Ld(q0 + shift[0], q1 + shift[1], S0, S1) - Ld(q0 - shift[0], q1 - shift[1], S0, S1)
            ) / (2 * e)
            assert_allclose(D(t, h, q0, q1, S0, S1)[j], slope, rtol=1e-7)
    assert_allclose(
        d.D3(t, h, q0, q1, S0, S1),
        (Ld(q0, q1, S0 + e, S1) - Ld(q0, q1, S0 - e, S1)) / (2 * e),
        rtol=1e-7,
    )
    assert_allclose(
        d.D4(t, h, q0, q1, S0, S1),
        (Ld(q0, q1, S0, S1 + e) - Ld(q0, q1, S0, S1 - e)) / (2 * e),
        rtol=1e-7,
    )
    assert abs(float(d.rho(t, h, q0, q1, S0, S1))) < 1e-14
    assert_allclose(d.legendre_minus(t, h, q0, q1, S0, S1)[1], short.p[1], rtol=1e-13)
    assert_allclose(d.legendre_plus(t, h, q0, q1, S0, S1)[1], short.p[2], rtol=1e-13)
    residual = d.euler_lagrange(t, h, q0, q1, short.q[3], S0, S1, short.S[3])
    assert np.max(np.abs(residual)) < 1e-13
    # The midpoint rule halves the force (the document prints it whole).
    q, v, S = (q0 + q1) / 2, (q1 - q0) / h, (S0 + S1) / 2
    F = by_hand(t + h / 2, q, v, S)
    assert_allclose(d.force_minus(t, h, q0, q1, S0, S1), h / 2 * (F[3] + F[4]), rtol=1e-12)
    assert_allclose(d.force_plus(t, h, q0, q1, S0, S1), h / 2 * (F[3] + F[4]), rtol=1e-12)


def test_regularity_matrices_against_differences(short):
    found = ac.analysis.thermal_regularity(short)
    d = ac.discrete(driven, ac.Midpoint())
    t, h, q0, q1, S0, S1 = step(short, 2)
    e = 1e-6

    def pair(which, dz):
        if which == 0:
            args = (t, h, q0, q1 + dz[:2], S0, S1 + dz[2])
            return np.append(d.legendre_minus(*args)[1], d.rho(*args))
        args = (t, h, q0 + dz[:2], q1, S0 + dz[2], S1)
        return np.append(d.legendre_plus(*args)[1], d.rho(*args))

    for which, matrix in ((0, found.forward[2]), (1, found.backward[2])):
        slopes = np.column_stack(
            [(pair(which, e * u) - pair(which, -e * u)) / (2 * e) for u in np.eye(3)]
        )
        assert_allclose(matrix, slopes, rtol=1e-6, atol=1e-7)
    assert found.regular
    assert found.conditions.shape == (4, 2)
    assert "regular" in str(found)


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.EnergyConsistent(ac.Midpoint())], ids=str)
def test_derivatives_against_differences(method):
    def final(mu, S0):
        traj = ac.simulate(
            driven,
            method,
            q0=START["q0"],
            v0=START["v0"],
            S0=S0,
            h=0.05,
            steps=10,
            params=PARAMS | {"mu": mu},
        )
        return traj.S[-1] + traj.q[-1, 0]

    derivative = jax.grad if method == ac.Midpoint() else jax.jacfwd
    slopes = jax.jit(derivative(final, (0, 1)))(0.4, 0.2)
    e = 1e-5
    differences = [
        (final(0.4 + e, 0.2) - final(0.4 - e, 0.2)) / (2 * e),
        (final(0.4, 0.2 + e) - final(0.4, 0.2 - e)) / (2 * e),
    ]
    assert_allclose(slopes, differences, rtol=1e-7)


def test_nothing_is_compiled_when_only_numbers_change():
    from accion.solve.loop import ONE

    march: Any = ONE.march
    run = {"h": 0.05, "steps": 3}
    ac.simulate(driven, ac.Midpoint(), **START, **run)
    before = march.count()
    ac.simulate(driven, ac.Midpoint(), **(START | {"S0": 0.3}), **run, params=PARAMS | {"mu": 0.7})
    assert march.count() == before


def test_save_load_and_plot(tmp_path, short):
    short.save(tmp_path / "run.zarr")
    again = ac.load(tmp_path / "run.zarr", system=driven)
    for name in ("S", "supplied", "q", "p"):
        np.testing.assert_array_equal(getattr(again, name), getattr(short, name))
    assert_allclose(again.temperature(), short.temperature(), rtol=1e-13)
    assert_allclose(again.first_law(), short.first_law(), atol=1e-14)
    assert again.laws.least_step == short.laws.least_step
    data = short.to_xarray()
    assert data.S.attrs["units"] == "J/K"
    assert data["T"].attrs["units"] == "K"
    figure = short.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "coordinates",
        "S [J/K]",
        "T [K]",
        "energy - first value\n- from outside [J]",
    ]
    assert ac.load(tmp_path / "run.zarr").S.shape == short.S.shape


def test_an_ensemble_is_its_members(short):
    runs = ac.ensemble(
        driven, ac.Midpoint(), q0=START["q0"], v0=START["v0"], S0=[0.2, 0.3], h=0.05, steps=4
    )
    assert_allclose(runs.S[0], short.S, rtol=1e-13)
    assert runs.temperature().shape == (2, 5)
    assert runs.laws.least.shape == (2,)
