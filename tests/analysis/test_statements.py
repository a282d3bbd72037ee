"""Statements of Colombo-Gamonal, sections 3 to 5, on the objects that accion has for them: the
discrete energy, the forms of the extended phase space, the modified Lagrangian.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

KAPPA = -0.7


def quartic(q):
    return q[0] ** 4 / 4


DECAYING = ac.System(
    lambda t, q, v, kappa: jnp.exp(-kappa * t) * (v[0] ** 2 / 2 - quartic(q)),
    ac.Euclidean(1),
    KAPPA,
    coordinates=("q",),
    name="decaying quartic",
)


@pytest.mark.parametrize("kappa", [KAPPA, 0.0])
def test_the_discrete_energy_is_minus_the_derivative_by_the_step(kappa):
    """Of Ld = |dq|^2 (w0 + w1)/(4h) - h (w0 V0 + w1 V1)/2 with w1 = e^(-kappa (t + h)), which
    depends on h, too; for kappa = 0 it is E_d/h of (20), corrected.
    """
    t, h, a, b = 0.3, 0.1, np.array([0.9]), np.array([0.94])
    w0, w1 = np.exp(-kappa * t), np.exp(-kappa * (t + h))
    square, V0, V1 = float(b[0] - a[0]) ** 2, quartic(a), quartic(b)
    own = square * (w0 + w1) / (4 * h**2) + (w0 * V0 + w1 * V1) / 2
    expected = own + kappa * w1 * (square / (4 * h) - h / 2 * V1)
    found = ac.discrete(DECAYING.with_params(kappa), ac.Trapezoid()).energy(t, h, a, b)
    assert float(found) == pytest.approx(expected, rel=1e-12)
    assert (abs(expected - own) > 1e-3) == (kappa != 0)


def slopes(f, z, e):
    """The derivatives of f at z, by differences of fourth order."""
    rows = np.eye(len(z)) * e
    near = [(f(z + d) - f(z - d)) / (2 * e) for d in rows]
    far = [(f(z + 2 * d) - f(z - 2 * d)) / (4 * e) for d in rows]
    return np.stack([(4 * a - b) / 3 for a, b in zip(near, far, strict=True)], axis=-1)


def form(H, z):
    """dq ^ dp + dH ^ dt on (t, q, p), as a matrix."""
    dH = slopes(H, z, 1e-3)
    W = np.zeros((3, 3))
    W[1, 2] = 1.0
    W[1:, 0] = dH[1:]
    return W - W.T


def defect(flow, H, z):
    """How far a map of (t, q, p) is from keeping the form."""
    T = slopes(flow, z, 1e-3)
    np.testing.assert_allclose(T[0], [1, 0, 0], atol=1e-11)
    return np.max(np.abs(T.T @ form(H, flow(z)) @ T - form(H, z)))


def hamiltonian(z):
    """H(t, q, p) of the decaying quartic, by hand."""
    w = np.exp(-KAPPA * z[0])
    return z[2] ** 2 / (2 * w) + w * z[1] ** 4 / 4


def motion(z):
    """Where the continuous motion leads in the time 1."""
    t, q, p = z
    end, v = ac.reference(
        DECAYING, q0=[q], v0=[p * np.exp(KAPPA * t)], ts=[t, t + 1.0], rtol=1e-13, atol=1e-13
    )
    return np.array([t + 1.0, end[-1, 0], v[-1, 0] * np.exp(-KAPPA * (t + 1.0))])


def test_the_flow_of_the_evolution_field_keeps_its_forms():
    """(24) for the continuous motion; Omega_Q alone is not kept where time moves, too. The field
    E_H is what Omega_H leaves (22).
    """
    z = np.array([0.2, 0.9, 0.5])
    assert defect(motion, hamiltonian, z) < 1e-8
    assert defect(motion, lambda z: 0.0, z) > 0.1
    dH = slopes(hamiltonian, z, 1e-3)
    field = np.array([1.0, dH[2], -dH[1]])
    np.testing.assert_allclose(form(hamiltonian, z) @ field, 0.0, atol=1e-11)
    T = slopes(motion, z, 1e-3)
    assert np.linalg.det(T[1:, 1:]) == pytest.approx(1.0, abs=1e-8)


def test_a_step_keeps_the_form_of_the_modified_hamiltonian():
    """(34) for the discrete motion: with H of order N in place of all of it a step is off by O(h^(N
    + 1)), with H itself by O(h^3).
    """
    step = jax.jit(ac.discrete(DECAYING, ac.Trapezoid()).hamiltonian_flow)
    modified = jax.jit(ac.analysis.modified_hamiltonian(DECAYING, ac.Trapezoid(), 4).__call__)

    def off(h):
        def flow(z):
            q, p = step(z[0], h, z[1:2], z[2:])
            return np.array([z[0] + h, q[0], p[0]])

        def H(z):
            return float(modified(z[0], h, z[1:2], z[2:]))

        z = np.array([0.2, 0.9, 0.5])
        return defect(flow, hamiltonian, z), defect(flow, H, z)

    np.testing.assert_allclose(np.log2(np.divide(off(0.1), off(0.05))), [3, 5], atol=0.1)


def test_a_step_is_the_flow_of_the_modified_field():
    """A step is off the flow of the field of order N by O(h^(N + 1)), where L depends on time,
    too; off the motion itself by O(h^3).
    """
    modified = ac.analysis.modified_hamiltonian(DECAYING, ac.Trapezoid(), 4)
    field = jax.jit(lambda t, h, z: jnp.concatenate(modified.field(t, h, z[:1], z[1:])))
    step = jax.jit(ac.discrete(DECAYING, ac.Trapezoid()).hamiltonian_flow)

    def true(t, h, z):
        w = np.exp(-KAPPA * t)
        return np.array([z[1] / w, -w * z[0] ** 3])

    def flow(f, h, parts=10):
        """Runge and Kutta's steps from (0.9, 0.5) at the time 0.2."""
        z, e = np.array([0.9, 0.5]), h / parts
        for t in 0.2 + e * np.arange(parts):
            k1 = f(t, h, z)
            k2 = f(t + e / 2, h, z + e / 2 * k1)
            k3 = f(t + e / 2, h, z + e / 2 * k2)
            z = z + e / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + e, h, z + e * k3))
        return np.asarray(z)

    def off(h):
        end = np.concatenate(step(0.2, h, jnp.array([0.9]), jnp.array([0.5])))
        return [np.max(np.abs(flow(f, h) - end)) for f in (true, field)]

    np.testing.assert_allclose(np.log2(np.divide(off(0.05), off(0.025))), [3, 5], atol=0.25)


def test_both_legendre_transforms_pull_back_one_form():
    """(F+)^* omega_Q = (F-)^* omega_Q, which is the form of `discrete` on pairs, where nothing is
    constant.
    """
    system = ac.System(
        lambda t, q, v, p: (
            jnp.exp(0.3 * t) * (0.5 * (1 + q[1] ** 2) * v[0] ** 2 + v[1] ** 2 + q[0] * v[0] * v[1])
            - jnp.cos(q[0]) * q[1]
        ),
        ac.Euclidean(2),
    )
    d, t, h = ac.discrete(system, ac.Midpoint()), 0.4, 0.2
    z = np.array([0.4, -0.3, 0.52, -0.15])
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])

    def pulled(side):
        at = jax.jit(lambda z: jnp.concatenate(side(t, h, z[:2], z[2:])))
        T = slopes(lambda z: np.asarray(at(z)), z, 1e-3)
        return T.T @ J @ T

    minus, plus = pulled(d.legendre_minus), pulled(d.legendre_plus)
    np.testing.assert_allclose(plus, minus, atol=1e-9)
    omega = jax.jit(lambda z: d.omega(t, h, z[:2], z[2:]))(z)
    np.testing.assert_allclose(omega, minus, atol=1e-9)
    assert abs(np.linalg.det(minus)) > 1.0


def test_the_modified_lagrangian_of_a_time_dependent_system():
    """Of the trapezoid rule on q'' = kappa q' - omega^2 q, whose steps are those of the motion q''
    = kappa q' - (W^2 + kappa^2/4) q with cos(W h) = cosh(kappa h/2) - (omega h)^2/(2 cosh(kappa
    h/2)), from the roots of (19), corrected.
    """
    t, h, kappa, omega = sp.symbols("t h kappa omega")
    x = sp.Function("x")(t)
    v = x.diff(t)
    L = sp.exp(-kappa * t) * (v**2 - omega**2 * x**2) / 2
    eqs = ac.symbolic(ac.from_sympy(L, (x,), {"kappa": 0.3, "omega": 2.0}))
    terms = eqs.modified(ac.Trapezoid(), 2).terms
    named = {sp.Symbol(s.name): s for s in (kappa, omega)}
    modified = sum(h**k * term.xreplace(named) for k, term in enumerate(terms))
    operator = sp.diff(sp.diff(modified, v), t) - sp.diff(modified, x)
    (a,) = sp.solve(sp.expand(operator * sp.exp(kappa * t)), x.diff(t, 2))
    found = sp.series(sp.simplify(a), h, 0, 3).removeO()
    # W^2 to order h^2: cos(W h) = 1 - W2 h^2/2 + W2^2 h^4/24.
    right = sp.cosh(kappa * h / 2) - (omega * h) ** 2 / (2 * sp.cosh(kappa * h / 2))
    right = sp.series(right, h, 0, 5).removeO()
    first: Any
    second: Any
    first, second = (sp.expand(right).coeff(h, 2 * k) for k in (1, 2))
    W2 = -2 * first + h**2 * (-2 * second + (2 * first) ** 2 / 12)
    expected = kappa * v - (W2 + kappa**2 / 4) * x
    assert sp.simplify(sp.expand(found - expected)) == 0
    assert sp.simplify(sp.expand(found).coeff(h, 2)) != 0
