"""Bonich, thermomechanical Lagrangian systems: chapters 3 and 4, appendix C."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.special import lambertw

import accion as ac
from tests.errata.cases_001_thermal import GAS, U0, S, S_inf, T_inf, drag, m, mu, nu, x
from tests.errata.forms import agree, differ, same, side, t

# T_0 = 300, S_0 = 0, v_0 = 2
CART = {"m": 5.0, "mu": 3.0, "nu": 1.0, "T_inf": 310.0, "S_inf": -np.log(1 - 10 / 310)}


@cache
def cart():
    """A cart with friction, 4.1."""

    def lagrangian(t, q, v, S, p):
        return p["m"] * v[0] ** 2 / 2 - ac.thermo.Solid(p["nu"], p["T_inf"], p["S_inf"]).U(S)

    def friction(t, q, v, S, p):
        return -p["mu"] * v

    return ac.ThermalSystem(
        lagrangian, ac.Euclidean(1), CART, friction=friction, coordinates=("x [m]",)
    )


@cache
def cart_run():
    """(4.9) as the document starts it, x_1 = x_0 + h v_0, for 10 s: (trajectory, h)."""
    h = 0.05
    return ac.simulate(cart(), ac.Midpoint(), q0=[0.0], q1=[2 * h], S0=0.0, h=h, steps=200), h


# A step of the cart with nu = 2.5 at which the formulas of 4.1.2 are compared.
STEP = (0.0, 0.1, jnp.array([0.2]), jnp.array([0.35]), 0.1, 0.13)


DX, LENGTH, S_MID = 0.35 - 0.2, 0.1, (0.1 + 0.13) / 2


P = CART | {"nu": 2.5}


HOT = P["T_inf"] * np.exp((S_MID - P["S_inf"]) / P["nu"])  # T at the middle of it


def cart_step(nu=2.5):
    return ac.discrete(cart().with_params(CART | {"nu": nu}), ac.Midpoint())


def piston(lam=None):
    """A piston between a spring and the gas, 4.2, and with friction that heats the gas."""

    def lagrangian(t, q, v, S, p):
        gas = ac.thermo.IdealGas(p["NR"], p["U0"], p["V0"], p["S0"])
        return (
            p["m"] * v[0] ** 2 / 2
            - p["k"] * (p["x0"] - q[0]) ** 2 / 2
            - gas.U(S, p["A"] * (p["x0"] - q[0]))
        )

    params = {
        "m": 1.0,
        "k": 10.0,
        "A": 1.2,
        "x0": 1.0,
        "NR": 2.0,
        "U0": 3.0,
        "V0": 1.3,
        "S0": 0.4,
    } | ({} if lam is None else {"lam": lam})
    return ac.ThermalSystem(
        lagrangian,
        ac.Euclidean(1),
        params,
        friction=None if lam is None else drag,
        coordinates=("x [m]",),
    )


@cache
def piston_run():
    """(trajectory without friction, states of its gas)."""
    run = ac.simulate(piston(), ac.Midpoint(), q0=[0.3], v0=[0.0], S0=0.6, h=0.01, steps=200)
    return run, {
        name: np.asarray(row)
        for name, row in ac.thermo.states(run, GAS, lambda q: 1.2 * (1 - q[0])).items()
    }


def test_001_eq_4_2_temperature_at_the_end():
    """T_inf e^{(S - S_inf)/nu} S' = mu x'^2, which x and S of (4.3) and (4.5) satisfy; with the
    printed T_0 they do not.
    """
    _, balance = ac.symbolic(cart()).equations
    v0 = sp.Symbol("v0")
    heat = mu * x.diff(t) ** 2
    right, printed = (
        (T * sp.exp((S - S_inf) / nu) * S.diff(t) - heat)
        for T in (T_inf, T_inf - m * v0**2 / (2 * nu))
    )
    assert same(side(balance), right)
    spent = m * v0**2 / (2 * nu * T_inf)
    motion = {
        x: m * v0 / mu * (1 - sp.exp(-mu * t / m)),
        S: S_inf + nu * sp.log(1 - spent * sp.exp(-2 * mu * t / m)),
    }

    def on(expr):
        return expr.subs(motion).doit()

    assert agree(on(right) / on(heat), 0)
    assert differ(on(printed) / on(heat), 0)
    assert agree(on(printed) / on(heat), -spent)
    # T_0 belongs with S_0, (4.6).
    T_0, S_0 = T_inf * (1 - spent), S_inf + nu * sp.log(1 - spent)
    assert same(T_0 * sp.exp((S - S_0) / nu), T_inf * sp.exp((S - S_inf) / nu))


def test_001_sec_4_1_2_each_end_has_half_of_the_friction():
    """F^-+ = -(h mu/2) (dx/h) dx^-+; printed without 1/2, and twice along dx^-."""
    d = cart_step()
    minus, plus = (float(f(*STEP)[0]) for f in (d.force_minus, d.force_plus))
    whole = -LENGTH * P["mu"] * DX / LENGTH
    np.testing.assert_allclose([minus, plus], whole / 2, rtol=1e-13)
    # As printed the force at x^- has both parts, that at x^+ none; even apart from that each is
    # twice too large.
    printed = np.array([2 * whole, 0.0])
    assert np.min(np.abs(np.array([minus, plus]) - printed)) > 0.2
    assert abs(minus - whole) > 0.2
    # Half at each end is what the first of (4.9) has: -mu (x_k+1 - x_k-1)/2.
    nodes = jnp.array([[0.2], [0.35], [0.45]])
    balance = float(d.euler_lagrange(0.0, LENGTH, *nodes, 0.1, 0.13, 0.15)[0])
    first = -P["m"] / LENGTH * (0.45 - 2 * 0.35 + 0.2) - P["mu"] * (0.45 - 0.2) / 2
    np.testing.assert_allclose(balance, first, rtol=1e-13)


def test_001_sec_4_1_2_variational_constraint_has_half_of_the_friction():
    """T (dS^- + dS^+)/2 = (mu/2) (dx/h) (dx^- + dx^+); printed with mu."""
    d, dx_minus, dx_plus, dS_minus = cart_step(), 0.3, -0.1, 0.05

    def defect(share):
        """Of (3.7), with dS^+ from T (dS^- + dS^+)/2 = share mu (dx/h) (dx^- + dx^+)."""
        dS_plus = 2 * share * P["mu"] * DX / LENGTH * (dx_minus + dx_plus) / HOT - dS_minus
        heats = d.D3(*STEP) * dS_minus + d.D4(*STEP) * dS_plus
        return float(heats - d.force_minus(*STEP)[0] * dx_minus - d.force_plus(*STEP)[0] * dx_plus)

    assert abs(defect(0.5)) < 1e-14
    assert abs(defect(1.0)) > 0.01


def test_001_eq_4_9_exponent_over_nu():
    """exp((1/nu) ((S_k-1 + S_k)/2 - S_inf)); the printed exp((S_k-1 + S_k)/(2 nu) - S_inf) is equal
    for nu = 1 only.
    """

    def both(nu):
        balance = P["mu"] / LENGTH * DX**2 - LENGTH * float(cart_step(nu).rho(*STEP))
        return balance, *(
            P["T_inf"] * np.exp(e) * (0.13 - 0.1)
            for e in ((S_MID - P["S_inf"]) / nu, S_MID / nu - P["S_inf"])
        )

    balance, right, printed = both(2.5)
    np.testing.assert_allclose(balance, right, rtol=1e-13)
    assert abs(balance / printed - 1) > 0.01
    np.testing.assert_allclose(*both(1.0)[1:], rtol=1e-13)


def by_lambert(x, S_0, h, times, nu=1.0):
    """S_k of the second of (4.9) in closed form: S_k = S_k-1 + 2 nu y with y e^y = mu dx^2/(2 h nu
    T_inf) e^{(S_inf - S_k-1)/nu}.
    """
    S = [S_0]
    for k, dx in enumerate(np.diff(x)):
        heat = times(k) * CART["mu"] / h * dx**2
        S.append(
            S[-1]
            + 2
            * nu
            * lambertw(heat / (2 * nu * CART["T_inf"]) * np.exp((CART["S_inf"] - S[-1]) / nu)).real
        )
    return np.array(S)


def test_001_sec_4_1_2_code_doubles_the_heat():
    """(mu/h) (p[i+1] - p[i])^2, as for S_1; with the printed factor 2 the cart ends at 320 K, where
    its motion can heat it to 310 K.
    """
    run, h = cart_run()
    x, S = np.asarray(run.q)[:, 0], np.asarray(run.S)
    right, printed = (
        by_lambert(x, 0.0, h, lambda k: 1),
        by_lambert(x, 0.0, h, lambda k: 1 if k == 0 else 2),
    )
    np.testing.assert_allclose(S, right, rtol=0, atol=1e-15)

    def T(S):
        return CART["T_inf"] * np.exp(S - CART["S_inf"])

    lost = CART["mu"] / h * np.diff(x)[1:] @ np.diff(x)[1:]

    def middle(S):
        return T((S[1:] + S[:-1]) / 2)[1:] @ np.diff(S)[1:]

    np.testing.assert_allclose(middle(right) / lost, 1.0, rtol=1e-11)
    np.testing.assert_allclose(middle(printed) / lost, 2.0, rtol=1e-11)
    # dx_k = h v_0 r^k with r = (1 - a)/(1 + a), a = h mu/2m: in all 10 J (1 + a)^2, a little more
    # than the cart has, for the start; 0.6 J in step 0.
    all_heat = 10 * (1 + h * CART["mu"] / (2 * CART["m"])) ** 2
    assert T(right[-1]) == pytest.approx(300 + all_heat, abs=1e-3)
    assert T(printed[-1]) == pytest.approx(300 + 2 * all_heat - 0.6, abs=1e-3)


def test_001_sec_4_1_2_entropy_follows_a_recurrence_of_first_order():
    """The second of (4.9) gives S_k from S_k-1 alone, and S_1 from S_0; called of second order, as
    if S_1 could be chosen.
    """
    run, h = cart_run()
    x, S = np.asarray(run.q)[:, 0], np.asarray(run.S)
    np.testing.assert_allclose(S[1:], by_lambert(x, S[0], h, lambda k: 1)[1:], rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        S[100:], by_lambert(x[100:], S[100], h, lambda k: 1), rtol=0, atol=1e-15
    )
    # For another nu too: S^+ from S^-.
    time, h, *q, S_0, _ = STEP
    rho = jax.jit(lambda S_1: cart_step(2.5).rho(time, h, *q, S_0, S_1))
    S_1 = by_lambert(np.ravel(q), S_0, h, lambda k: 1, nu=2.5)[1]
    assert abs(rho(S_1)) < 1e-13 * HOT * S_1 / h
    assert abs(rho(S_1 + 0.001)) > 1


def test_001_sec_4_2_2_piston_is_a_thermomechanical_system():
    """L = K - k (x0 - x)^2/2 - U(S, V(x)) without friction gives (4.14), S' = 0 and, from S and x,
    the state of the gas; called impossible.
    """
    equations = ac.symbolic(piston())
    k, A, x0, NR, V0, gas_S0 = sp.symbols("k A x0 NR V0 S0", positive=True)
    plus = {
        sp.Symbol(name): sp.Symbol(name, positive=True)
        for name in ("A", "x0", "NR", "U0", "V0", "m", "k", "S0")
    }
    xi = (
        sp.Rational(2, 3) * plus[U0] * V0 ** sp.Rational(2, 3) * sp.exp(2 * (S - gas_S0) / (3 * NR))
    )
    force = k * (x0 - x) - xi * A ** sp.Rational(-2, 3) / (x0 - x) ** sp.Rational(5, 3)
    assert agree(plus[m] * equations.accelerations[0].xreplace(plus), force)
    assert equations.entropy_rates == (0,)
    # (4.12) and what follows from it, at every moment of a motion, whose S is constant.
    run, gas = piston_run()
    V, xi = (
        gas["V"],
        2 / 3 * GAS.U_ref * GAS.V_ref ** (2 / 3) * np.exp(2 * (0.6 - GAS.S_ref) / (3 * GAS.NR)),
    )
    np.testing.assert_array_equal(run.S, 0.6)
    np.testing.assert_allclose(gas["P"], xi * V ** (-5 / 3), rtol=1e-13)
    np.testing.assert_allclose(gas["T"], xi * V ** (-2 / 3) / GAS.NR, rtol=1e-13)
    np.testing.assert_allclose(run.temperature(), gas["T"], rtol=1e-13)
    assert np.max(gas["T"]) > 1.2 * np.min(gas["T"])


def test_001_app_C_friction_makes_entropy_without_heat():
    """In the cart P_H = 0 and T S' = mu x'^2: dQ = T dS, assumed for all systems of the document,
    is wrong where there is friction.
    """
    equations = ac.symbolic(cart())
    (T,), (rate,), (P_H,) = equations.temperatures, equations.entropy_rates, equations.heat
    assert P_H == 0
    assert same(T * rate, mu * x.diff(t) ** 2)
    assert differ(T * rate, P_H)
    # Without friction the two are equal.
    assert same((T * rate).subs(mu, 0), P_H)


def test_001_app_C_energy_of_an_adiabatic_gas():
    """dU = -P dV, with P V = N R T (C.5): energy grows as the gas is compressed; printed dU = P
    dV.
    """
    S, V = 0.9, 1.7
    slope, P = float(jax.grad(GAS.U, 1)(S, V)), GAS.NR * float(GAS.T(S, V)) / V
    np.testing.assert_allclose(slope, -P, rtol=1e-14)
    assert abs(slope - P) > 1
    _, gas = piston_run()
    U, V, P = gas["U"], gas["V"], gas["P"]
    work = (P[1:] + P[:-1]) / 2 * np.diff(V)
    # The trapezoidal rule of the work is good to h^2.
    assert np.max(np.abs(np.diff(U) + work)) < 1e-4 * np.max(np.abs(work))
    assert np.max(np.abs(np.diff(U) - work)) > np.max(np.abs(work))


def test_001_app_C_adiabatic_is_not_isolated():
    """The gas of 4.2 is adiabatic with a constant number of moles, and its energy changes by the
    work of the piston; printed: it is isolated.
    """
    run, gas = piston_run()
    assert ac.symbolic(piston()).heat == (0,)
    assert np.max(gas["U"]) > 1.2 * np.min(gas["U"])
    # What is isolated is the gas with piston and spring. Its energy is kept up to the error of the
    # method, h^2.
    assert np.ptp(run.energy()) < 1e-4 * np.ptp(gas["U"])


def test_001_eq_C_7_adiabatic_and_without_friction():
    """P V^{5/3} is constant where S is; in an adiabatic box with friction it grows."""
    z, v = (jnp.array([0.3]), jnp.array([0.6])), jnp.array([0.8])
    V, dV = 1.2 * (1 - 0.3), -1.2 * 0.8

    def rate(system):
        """d/dt of P V^{5/3}."""
        dS = float(system.entropy_rates(0.0, z, v)[0])
        return float(jax.jvp(lambda S, V: GAS.P(S, V) * V ** (5 / 3), (0.6, V), (dS, dV))[1])

    assert abs(rate(piston())) < 1e-14
    # (2/3) V^{2/3} T S' = (2/3) V^{2/3} lam v^2.
    np.testing.assert_allclose(rate(piston(0.5)), 2 / 3 * V ** (2 / 3) * 0.5 * 0.8**2, rtol=1e-13)


def test_001_eq_C_9_inverts_C_8():
    """U = U0 e^{2 (S - S0)/(3 N0 R)} (V/V0)^{-2/3}; printed with the exponent -1, off from (C.8) by
    N0 R log(V0/V)/2 and from P V = N0 R T.
    """
    U, V = np.array([2.0, 3.0, 5.0]), np.array([0.5, 2.0, 4.0])

    def S_of(U, V):
        return GAS.S_ref + GAS.NR * np.log((U / GAS.U_ref) ** 1.5 * (V / GAS.V_ref))

    S = S_of(U, V)

    def form(S, V, exponent):
        return GAS.U_ref * jnp.exp(2 / (3 * GAS.NR) * (S - GAS.S_ref)) * (V / GAS.V_ref) ** exponent

    np.testing.assert_allclose(GAS.S(U, V), S, rtol=1e-14)
    np.testing.assert_allclose(GAS.U(S, V), U, rtol=1e-14)
    np.testing.assert_allclose(form(S, V, -2 / 3), U, rtol=1e-14)
    np.testing.assert_allclose(
        S_of(form(S, V, -1), V) - S, GAS.NR * np.log(GAS.V_ref / V) / 2, rtol=1e-12
    )
    # P V = N0 R T and U = 3/2 N0 R T, with T = dU/dS and P = -dU/dV.
    T, P = (sign * float(jax.grad(GAS.U, i)(0.9, 1.7)) for i, sign in ((0, 1), (1, -1)))
    np.testing.assert_allclose(
        [P * 1.7, float(GAS.U(0.9, 1.7))], [GAS.NR * T, 1.5 * GAS.NR * T], rtol=1e-14
    )
    T, P = (sign * float(jax.grad(form, i)(0.9, 1.7, -1.0)) for i, sign in ((0, 1), (1, -1)))
    assert abs(P * 1.7 / (GAS.NR * T) - 1) == pytest.approx(0.5)
