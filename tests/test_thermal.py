"""Thermomechanical systems: equations, steps, laws, hypotheses, derivatives, bad input."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import accion as ac
from accion.methods import GeneralizedAlpha

# A nonlinear system in which everything is coupled: the mass depends on S, friction on S and q,
# heat flows in from a bath, a force drives.
PARAMS = {"m": 1.3, "k": 2.0, "mu": 0.4, "C": 2.0, "G": 0.05, "drive": 0.3}
START = {"q0": [0.4, -0.2], "v0": [0.3, 0.8], "S0": 0.2}


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


def external(t, q, v, S, p):
    return p["drive"] * jnp.array([jnp.cos(2 * t), 0.0])


def heat(t, q, v, S, p):
    return p["G"] * (2.0 - jnp.exp(S / p["C"]))


driven = ac.ThermalSystem(
    lagrangian,
    ac.Euclidean(2),
    PARAMS,
    friction=friction,
    external=external,
    heat=heat,
    name="coupled",
)
isolated = ac.ThermalSystem(lagrangian, ac.Euclidean(2), PARAMS, friction=friction, name="isolated")


def by_hand(t, q, v, S, p=PARAMS):
    """(p, dL/dq, T, F_fr, F_ext, P_H), typed from paper."""
    mass = p["m"] * (1 + 0.2 * S + 0.3 * q[0] ** 2)
    e = np.exp(S / p["C"])
    dq = (
        0.3 * p["m"] * q[0] * (v @ v) * np.array([1, 0])
        - p["k"] * q
        - np.array([4 * q[0] ** 3, 0.2 * p["C"] * e * q[1]])
    )
    T = e * (1 + 0.1 * q[1] ** 2) - 0.1 * p["m"] * (v @ v)
    F = -p["mu"] * (1 + 0.5 * S) * (1 + q[0] ** 2) * v
    return mass * v, dq, T, F, p["drive"] * np.array([np.cos(2 * t), 0.0]), p["G"] * (2 - e)


def field(t, y):
    """The continuous equations of the coupled system, typed from paper (001 Thm 3.9)."""
    q, v, S = y[:2], y[2:4], y[4]
    _, dq, T, F, Fe, P = by_hand(t, q, v, S)
    dS = (P - F @ v) / T
    m = PARAMS["m"]
    mass, dmass = m * (1 + 0.2 * S + 0.3 * q[0] ** 2), m * (0.2 * dS + 0.6 * q[0] * v[0])
    return np.concatenate([v, (dq + F + Fe - dmass * v) / mass, [dS]])


def stack(start):
    return np.array([*start["q0"], *start["v0"], start["S0"]])


# ---------------------------------------------------------------- continuous


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


# ---------------------------------------------------------------- discrete


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
    """psi is a finite-difference map of Q x R (001 eq 3.16): q and v hold the entropy last."""

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
    """D1 to D4 are derivatives of Ld; forces, rho and Legendre transforms satisfy 001 eq 3.10-3.14
    along a trajectory.
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


# ---------------------------------------------------------------- the laws


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


# ---------------------------------------------------------------- several bodies, other spaces


def two_bodies(G=0.3):
    body = ac.thermo.Solid(jnp.array([1.0, 3.0]), jnp.array([2.0, 1.0]))
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q - jnp.sum(p["body"].U(S)),
        ac.Euclidean(1),
        {"body": body, "G": G},
        friction=lambda t, q, v, S, p: -jnp.array([0.2, 0.1])[:, None] * v,
        heat=lambda t, q, v, S, p: ac.thermo.conduction(p["body"].T(S), p["G"]),
    )


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


# ---------------- given in discrete time, 001 Ex 3.29


def primitive(x):
    return x * jnp.arctan(x) - 0.5 * jnp.log1p(x**2)


def without_trajectory(alpha):
    return ac.DiscreteThermalSystem(
        lambda t, h, q0, q1, S0, S1, p: primitive(q0[0] + q1[0]) + p["alpha"] * q1[0] + S0,
        ac.Euclidean(1),
        {"alpha": alpha},
        kinematic=lambda t, h, q0, q1, S0, S1, p: S0 + S1,
        friction=lambda t, h, q0, q1, S0, S1, p: (jnp.exp(S0)[None], jnp.exp(S1)[None]),
        name="001 Ex 3.29",
    )


GIVEN = {"q0": [0.3], "q1": [0.1], "S0": 0.0, "h": 1.0}


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


# ---------------------------------------------------------------- derivatives


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

    run = {"h": 0.05, "steps": 3}
    ac.simulate(driven, ac.Midpoint(), **START, **run)
    before = ONE.march._cache_size()
    ac.simulate(driven, ac.Midpoint(), **(START | {"S0": 0.3}), **run, params=PARAMS | {"mu": 0.7})
    assert ONE.march._cache_size() == before


# ---------------------------------------------------------------- results


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
        "energy - first value\n- from outside",
    ]
    assert ac.load(tmp_path / "run.zarr").S.shape == short.S.shape


def test_an_ensemble_is_its_members(short):
    runs = ac.ensemble(
        driven, ac.Midpoint(), q0=START["q0"], v0=START["v0"], S0=[0.2, 0.3], h=0.05, steps=4
    )
    assert_allclose(runs.S[0], short.S, rtol=1e-13)
    assert runs.temperature().shape == (2, 5)
    assert runs.laws.least.shape == (2,)


# ---------------------------------------------------------------- equations of state


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


# ---------------------------------------------------------------- bad input

FREE = ac.System(lambda t, q, v, p: v @ v, ac.Euclidean(1))
ONE_BODY = {"friction": lambda t, q, v, S, p: -v}


def plain(**changes):
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.sum(jnp.exp(S)),
        ac.Euclidean(1),
        **(ONE_BODY | changes),
    )


RUN = {"q0": [0.0], "v0": [1.0], "S0": 0.0, "h": 0.1, "steps": 5}


def run(system, **changes):
    return ac.simulate(system, changes.pop("method", ac.Midpoint()), **(RUN | changes))


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
            "connect does not support thermal systems",
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
    cold = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v, ac.Euclidean(1))
    with pytest.raises(ValueError, match=r"is -?0 at the start"):
        run(cold)
    system = ac.DiscreteThermalSystem(
        lambda t, h, q0, q1, S0, S1, p: (q1[0] - q0[0]) ** 2 / h,
        ac.Euclidean(1),
        kinematic=lambda t, h, q0, q1, S0, S1, p: S1 - S0,
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


# ---------------------------------------------------------------- what was once wrong


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
        ac.load(tmp_path / "run.zarr", system=dataclasses.replace(system, entropies=3))
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
    with pytest.raises(ValueError, match="finite number"):
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
