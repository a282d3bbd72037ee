"""Equations of systems that are given by H, and Legendre transforms through a square root."""

import jax.numpy as jnp
import pytest
import sympy as sp

import accion as ac

m, c, t = sp.symbols("m c t")
q1, q2, p1, p2 = (sp.Function(name)(t) for name in ("q1", "q2", "p_q1", "p_q2"))
v1, v2 = q1.diff(t), q2.diff(t)
PARAMS = {"m": 1.0, "c": 2.0}


def relativistic_L(t, q, v, params):
    return -params["m"] * params["c"] ** 2 * jnp.sqrt(1 - v @ v / params["c"] ** 2) - q[0]


def relativistic_H(t, q, p, params):
    return params["c"] * jnp.sqrt((params["m"] * params["c"]) ** 2 + p @ p) + q[0]


def test_relativistic_energy_is_gamma_m_c_squared():
    """Also as it is printed: the energy without the potential is one fraction."""
    for n, square in ((1, v1**2), (2, v1**2 + v2**2)):
        eqs = ac.symbolic(system(n))
        rest = eqs.energy - q1
        assert sp.simplify(rest - m * c**2 / sp.sqrt(1 - square / c**2)) == 0
        assert len(rest.atoms(sp.Pow)) < 3 + 2 * n
        assert rest.is_Mul


def system(n):
    return ac.System(relativistic_L, ac.Euclidean(n), PARAMS)


def test_hamiltonian_of_a_relativistic_lagrangian():
    for n, square in ((1, p1**2), (2, p1**2 + p2**2)):
        found = ac.symbolic(system(n)).hamiltonian
        assert found == c * sp.sqrt(c**2 * m**2 + square) + q1


def test_hamiltons_equations_are_those_of_h():
    eqs = ac.symbolic(ac.HamiltonianSystem(relativistic_H, 2, PARAMS))
    H = c * sp.sqrt(c**2 * m**2 + p1**2 + p2**2) + q1
    assert eqs.hamiltonian == H
    rates = (H.diff(p1), H.diff(p2), -H.diff(q1), -H.diff(q2))
    for equation, rate in zip(eqs.hamilton, rates, strict=True):
        assert sp.simplify(equation.rhs - rate) == 0
    assert "Hamilton's equations" in str(eqs)
    L = -m * c * sp.sqrt(c**2 - v1**2 - v2**2) - q1
    assert sp.simplify(eqs.L - L) == 0
    assert sp.simplify(eqs.momenta[1] - L.diff(v2)) == 0


def test_without_a_lagrangian_in_closed_form():
    def H(t, q, p, params):
        return p[0] ** 4 / 4 + p[0] ** 2 / 2 + jnp.exp(p[0]) + q[0] ** 2

    eqs = ac.symbolic(ac.HamiltonianSystem(H, 1))
    assert [e.rhs for e in eqs.hamilton] == [p1**3 + p1 + sp.exp(p1), -2 * q1]
    with pytest.raises(ValueError, match="no Lagrangian in closed form"):
        _ = eqs.L


def test_a_quadratic_hamiltonian():
    def H(t, q, p, params):
        return p[0] ** 2 / (2 * params["m"]) + p[0] * q[0] * jnp.sin(t) + q[0] ** 2

    system = ac.HamiltonianSystem(H, 1, PARAMS)
    eqs = ac.symbolic(system)
    L = m * (v1 - q1 * sp.sin(t)) ** 2 / 2 - q1**2
    assert sp.simplify(eqs.L - L) == 0
    # The same L, as it is run: its discrete equations are linear.
    q = [sp.Symbol(f"q1_k{i}") for i in ("-1", "", "+1")]
    (equation,) = eqs.discrete(ac.Midpoint()).equations
    assert sp.Poly(equation.lhs - equation.rhs, *sorted(equation.free_symbols & {*q}, key=str))


def test_a_body_in_its_momenta():
    def H(t, R, mu, params):
        return jnp.sum(mu**2 / params["I"]) / 2

    eqs = ac.symbolic(ac.HamiltonianSystem(H, ac.SO3(), {"I": jnp.array([1.0, 2.0, 3.0])}))
    I = sp.symbols("I_1:4")
    mu = [sp.Function(f"p_omega_{i}")(t) for i in (1, 2, 3)]
    omega = sp.Matrix([a / b for a, b in zip(mu, I, strict=True)])
    euler = sp.Matrix(mu).cross(omega)
    for equation, rate in zip(eqs.hamilton[-3:], euler, strict=True):
        assert sp.expand(equation.rhs - rate) == 0
