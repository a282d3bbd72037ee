"""The discrete equations of thermal systems for any finite-difference map, as document 001 has
them, corrected.
"""

from functools import cache

import jax.numpy as jnp
import pytest
import sympy as sp

import accion as ac

XM, X, XP = (sp.Symbol(f"x_k{end}") for end in ("-1", "", "+1"))
SM, SK, SP = (sp.Symbol(f"S_k{end}") for end in ("-1", "", "+1"))
H = sp.Symbol("h")


def at(weight, places):
    """psi of one sample at the configuration (1 - weight) q^- + weight q^+; S likewise."""

    def psi(h, z0, z1):
        (q0, S0), (q1, S1) = z0, z1
        v = jnp.concatenate([(q1 - q0) / h, (S1 - S0) / h])
        q, S = ((1 - a) * x + a * y for a, x, y in zip(places, (q0, S0), (q1, S1), strict=True))
        return [(1.0, weight, (q, S), v)]

    return ac.FiniteDifference(psi)


def letters(system, psi):
    """(discrete equations, letters of the parameters by their names)."""
    eqs = ac.symbolic(system).discrete(psi)
    return eqs, {str(s): s for s in eqs.values}


def left(expr):
    return expr.lhs - expr.rhs


@cache
def spring():
    def L(t, q, v, S, p):
        U = p["U0"] * jnp.exp(p["alpha"] * (S - p["S0"]))
        return p["m"] * v[0] ** 2 / 2 - p["eta"] * q[0] ** 2 / 2 - U

    params = {"m": 2.0, "eta": 2.0, "mu": 0.3, "U0": 1.0, "alpha": 0.5, "S0": 0.0}
    return ac.ThermalSystem(
        L,
        ac.Euclidean(1),
        params,
        friction=lambda t, q, v, S, p: -p["mu"] * v,
        coordinates=("x [m]",),
    )


@cache
def cart():
    def L(t, q, v, S, p):
        T = p["T_inf"] * jnp.exp((S - p["S_inf"]) / p["nu"])
        return p["m"] * v[0] ** 2 / 2 - p["nu"] * T

    params = {"m": 5.0, "mu": 3.0, "nu": 2.0, "T_inf": 310.0, "S_inf": 0.1}
    return ac.ThermalSystem(
        L,
        ac.Euclidean(1),
        params,
        friction=lambda t, q, v, S, p: -p["mu"] * v,
        coordinates=("x [m]",),
    )


LEFT, MIDDLE = at(0.0, (0, 0)), at(0.5, (0.5, 0.5))


def test_3_21_is_printed_solved():
    """(3.21): x_k+1, and S_k+1 with (x_k+1 - x_k)^2; printed one step behind."""
    eqs, p = letters(spring(), LEFT)
    m, eta, mu, U0, a, S0 = (p[name] for name in ("m", "eta", "mu", "U0", "alpha", "S0"))
    x = ((2 - H**2 * eta / m + H * mu / m) * X - XM) / (1 + H * mu / m)
    S = mu / (H * a * U0) * sp.exp(-a * (SK - S0)) * (XP - X) ** 2 + SK
    assert sp.simplify(eqs.explicit[XP] - x) == 0
    assert sp.simplify(eqs.explicit[SP] - S) == 0
    late = S.subs((XP - X) ** 2, (X - XM) ** 2)
    assert sp.simplify(eqs.explicit[SP] - late) != 0


def test_4_7_is_printed():
    eqs, p = letters(cart(), LEFT)
    m, mu, nu, T, S_inf = (p[name] for name in ("m", "mu", "nu", "T_inf", "S_inf"))
    (motion,), (balance,) = eqs.equations, eqs.constraints
    assert sp.expand(left(motion) + m / H * (XP - 2 * X + XM) + mu * (XP - X)) == 0
    hot = T * sp.exp((SK - S_inf) / nu)
    assert sp.simplify(H * left(balance) + hot * (SP - SK) - mu / H * (XP - X) ** 2) == 0
    assert sp.expand(eqs.force_minus[0] + mu * (XP - X)) == 0
    assert eqs.force_plus == (0,)


def test_4_9_is_printed():
    """The exponent is ((S_k + S_k+1)/2 - S_inf)/nu; printed with S_inf outside the division."""
    eqs, p = letters(cart(), MIDDLE)
    m, mu, nu, T, S_inf = (p[name] for name in ("m", "mu", "nu", "T_inf", "S_inf"))
    (motion,), (balance,) = eqs.equations, eqs.constraints
    assert sp.expand(left(motion) + m / H * (XP - 2 * X + XM) + mu / 2 * (XP - XM)) == 0
    heat = mu / H * (XP - X) ** 2
    hot = T * sp.exp(((SK + SP) / 2 - S_inf) / nu)
    assert sp.simplify(H * left(balance) + hot * (SP - SK) - heat) == 0
    printed = T * sp.exp((SK + SP) / (2 * nu) - S_inf)
    assert sp.simplify(H * left(balance) + printed * (SP - SK) - heat) != 0
    # Half of the friction at each end; printed whole.
    assert sp.expand(eqs.force_minus[0] + mu / 2 * (XP - X)) == 0
    assert sp.expand(eqs.force_plus[0] + mu / 2 * (XP - X)) == 0


def test_of_a_map_that_no_method_has():
    """q at a quarter, S at the end: (3.17) and (3.18) by hand."""
    eqs, p = letters(cart(), at(0.0, (0.25, 1)))
    m, mu, nu, T, S_inf = (p[name] for name in ("m", "mu", "nu", "T_inf", "S_inf"))
    hot = T * sp.exp((SP - S_inf) / nu)
    assert sp.simplify(eqs.Ld - m / 2 * (XP - X) ** 2 / H + H * nu * hot) == 0
    assert sp.expand(eqs.force_minus[0] + sp.Rational(3, 4) * mu * (XP - X)) == 0
    assert sp.expand(eqs.force_plus[0] + sp.Rational(1, 4) * mu * (XP - X)) == 0
    with pytest.raises(ValueError, match=r"is implicit: .* not linear in S_k\+1"):
        _ = eqs.explicit


def shifted(h, z0, z1):
    v = jnp.concatenate([(b - a) / h for a, b in zip(z0, z1, strict=True)])
    return [(1.0, 0.0, (z0[0] + 1, z0[1]), v)]


def moving(h, z0, z1):
    return [(1.0, 0.0, z0, jnp.concatenate([(b - a) / h + 1 for a, b in zip(z0, z1, strict=True)]))]


def cold(h, z0, z1):
    """S' is left out."""
    return [(1.0, 0.0, z0, jnp.concatenate([(z1[0] - z0[0]) / h, 0 * z0[1]]))]


@pytest.mark.parametrize(
    ("psi", "words"),
    [
        (shifted, r"psi\(h, q, q\) must be 0_q"),
        (moving, r"psi\(h, q, q\) must be 0_q"),
        (cold, "the velocity of sample 0 must be"),
    ],
)
def test_what_is_no_finite_difference_map_is_refused(psi, words):
    with pytest.raises(ValueError, match=words):
        ac.symbolic(cart()).discrete(ac.FiniteDifference(psi))
