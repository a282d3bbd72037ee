"""Hamiltonians and forms in letters: against the functions that are run and closed forms."""

from dataclasses import replace
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.instant.constrained import project_at
from tests.symbols.systems import SYSTEMS, equations, numbers, point, t


def test_hamiltonian_and_hamiltons_equations(rng):
    system, eqs = SYSTEMS["forced"], equations("forced")
    time, q, v, _ = point(system, rng)
    p = np.asarray(system.legendre(time, jnp.array(q), jnp.array(v)))
    names = dict(zip(("p_x", "p_y", "p_theta"), p, strict=True))
    assert numbers(eqs, [eqs.hamiltonian], time, q, v, **names)[0] == pytest.approx(
        float(system.energy(time, jnp.array(q), jnp.array(v))), rel=1e-11
    )
    right = numbers(eqs, [e.rhs for e in eqs.hamilton], time, q, v, **names)
    np.testing.assert_allclose(right[:3], v, rtol=1e-9, atol=1e-11)
    expected = jax.grad(system.L, 1)(time, jnp.array(q), jnp.array(v)) + system.F(time, q, v)
    np.testing.assert_allclose(right[3:], expected, rtol=1e-9, atol=1e-10)
    assert [str(e.lhs) for e in eqs.hamilton[::3]] == [
        "Derivative(x(t), t)",
        "Derivative(p_x(t), t)",
    ]


def test_hamiltonian_of_a_vakonomic_system(rng):
    """(v, lam) from p and Phi = 0: against the energy, the velocities and dL/dq + F at a point of
    the constraint.
    """
    system, eqs = SYSTEMS["vakonomic"], equations("vakonomic")
    time, q, v, lam = point(system, rng)
    q, v = project_at(system, time, jnp.array(q), jnp.array(v))
    p = np.asarray(system.legendre(time, q, v, lam))
    names = dict(zip(("p_x", "p_y", "p_theta"), p, strict=True))
    H = numbers(eqs, [eqs.hamiltonian], time, q, v, lam, **names)[0]
    assert pytest.approx(float(system.energy(time, q, v, lam)), rel=1e-10) == H
    right = numbers(eqs, [e.rhs for e in eqs.hamilton], time, q, v, lam, **names)
    np.testing.assert_allclose(right[:3], v, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        right[3:],
        jax.grad(system.L, 1)(time, q, v, lam) + system.F(time, q, v),
        rtol=1e-8,
        atol=1e-9,
    )


def test_the_hamiltonian_of_sub_riemannian_geodesics():
    """L = (x'^2 + y'^2)/2 with z' = x y' - y x': H = ((p_x - y p_z)^2 + (p_y + x p_z)^2)/2, without
    a mass along z.
    """

    def area(t, q, v, p):
        return jnp.array([v[2] - q[0] * v[1] + q[1] * v[0]])

    system = ac.System(
        lambda t, q, v, p: 0.5 * (v[0] ** 2 + v[1] ** 2),
        ac.Euclidean(3),
        vakonomic=area,
        coordinates=("x", "y", "z"),
    )
    x, y, a, b, c = (sp.Function(name)(t) for name in ("x", "y", "p_x", "p_y", "p_z"))
    assert (
        sp.expand(ac.symbolic(system).hamiltonian - ((a - y * c) ** 2 + (b + x * c) ** 2) / 2) == 0
    )


def test_no_hamiltonian_where_momenta_do_not_determine_velocities():
    def light(t, q, v, p):
        return 0.5 * (v[0] ** 2 - v[1] ** 2)

    words = (
        r"has no Hamiltonian of \(q, p\) alone: .* bordered by dPhi/dv is"
        r" singular.*constraint_algorithm"
    )
    with pytest.raises(ValueError, match=words):
        _ = ac.symbolic(
            ac.System(light, ac.Euclidean(2), vakonomic=lambda t, q, v, p: v[:1] - v[1:])
        ).hamiltonian
    with pytest.raises(ValueError, match=words):
        _ = ac.symbolic(
            ac.System(
                light, ac.Euclidean(2), vakonomic=lambda t, q, v, p: jnp.array([q[0] + q[1] ** 2])
            )
        ).hamiltonian


def test_hamiltonian_of_a_relativistic_particle():
    system = ac.System(
        lambda t, q, v, p: -p["m"] * p["c"] ** 2 * jnp.sqrt(1 - v[0] ** 2 / p["c"] ** 2),
        ac.Euclidean(1),
        {"m": 1.0, "c": 3.0},
    )
    eqs = ac.symbolic(system)
    m, c, p = sp.symbols("m c p", positive=True)
    H = eqs.hamiltonian.xreplace({sp.Function("p_q1")(t): p, sp.Symbol("m"): m, sp.Symbol("c"): c})
    at = {m: sp.Rational(7, 5), c: 3, p: sp.Rational(2, 3)}
    assert float((H - sp.sqrt(m**2 * c**4 + p**2 * c**2)).subs(at)) == pytest.approx(0, abs=1e-12)


def test_no_hamiltonian_where_there_is_none():
    singular = ac.System(lambda t, q, v, p: 0.5 * (v[0] + v[1]) ** 2, ac.Euclidean(2), name="pair")
    with pytest.raises(ValueError, match="pair has no Hamiltonian: d2L/dv2 is singular"):
        _ = ac.symbolic(singular).hamiltonian
    with pytest.raises(
        ValueError, match="cannot be solved for the accelerations: d2L/dv2 is singular"
    ):
        _ = ac.symbolic(singular).accelerations


def closed(form):
    """Whether dW_jk/dx_i summed over the cyclic permutations is zero, for the coefficients of a
    2-form.
    """
    x = sp.symbols(f"x:{len(form.coordinates)}")
    first = dict(zip(form.coordinates, x, strict=True))
    rates = {c: s for c, s in first.items() if c.is_Derivative}
    W = form.matrix.xreplace(rates).xreplace(first)

    def cyclic(i, j, k):
        return sp.diff(W[j, k], x[i]) + sp.diff(W[k, i], x[j]) + sp.diff(W[i, j], x[k])

    return all(sp.simplify(cyclic(*ijk)) == 0 for ijk in combinations(range(len(x)), 3))


def test_forms_of_a_vakonomic_system(rng):
    """-d of p dq with p = d(L + lam.Phi)/dv on (q, v, lam), against the derivatives of p by JAX;
    closed, which it is not without d lam.
    """
    system, eqs = SYSTEMS["vakonomic"], equations("vakonomic")
    time, q, v, lam = point(system, rng)
    D = jax.jacobian(lambda z: system.legendre(time, z[:3], z[3:6], z[6:]))(
        jnp.concatenate([jnp.array(q), jnp.array(v), jnp.array(lam)])
    )
    d_theta = np.zeros((7, 7))
    d_theta[:, :3] = D.T
    W = numbers(eqs, eqs.Omega_L.matrix, time, q, v, lam).reshape(7, 7)
    np.testing.assert_allclose(W, d_theta.T - d_theta, rtol=1e-9, atol=1e-12)
    form = eqs.Omega_L
    assert form.coordinates == (*eqs.q, *eqs.v, *eqs.lam) == eqs.theta_L.coordinates
    assert closed(form)
    assert not closed(
        replace(form, terms={index: c for index, c in form.terms.items() if 6 not in index})
    )


def test_forms(rng):
    """Omega_L = -d theta_L, against the derivatives of p by JAX; nondegenerate, and
    antisymmetric.
    """
    system, eqs = SYSTEMS["free"], equations("free")
    time, q, v, _ = point(system, rng)
    D = jax.jacobian(lambda z: system.legendre(time, z[:3], z[3:]))(
        jnp.concatenate([jnp.array(q), jnp.array(v)])
    )
    d_theta = np.zeros((6, 6))
    d_theta[:3] -= D
    d_theta[:, :3] += D.T  # d theta(X, Y) = X theta(Y) - Y theta(X)
    W = numbers(eqs, eqs.Omega_L.matrix, time, q, v).reshape(6, 6)
    np.testing.assert_allclose(W, -d_theta, rtol=1e-9, atol=1e-12)
    assert abs(np.linalg.det(W)) > 1e-3
    np.testing.assert_allclose(
        numbers(eqs, eqs.theta_L.matrix, time, q, v)[:3],
        system.legendre(time, jnp.array(q), jnp.array(v)),
        rtol=1e-9,
        atol=1e-12,
    )
    oscillator = ac.symbolic(ac.mechanical(2.0, lambda t, q, p: q[0] ** 2, 1))
    assert oscillator.Omega_L.text() == "(2) dq1 ^ dq1'"
    assert oscillator.theta_L.latex() == r"\left(2 \, \dot{q}_{1}\right) \mathrm{d}q_{1}"
