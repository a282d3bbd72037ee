"""Colombo-Gamonal, variational integrators for non-autonomous systems: sections 2 and 3, to
(21).
"""

from functools import partial

import jax
import numpy as np
import sympy as sp

import accion as ac
from accion.gallery import caldirola_particle
from tests.errata.forms import (
    V,
    along,
    derivative,
    differ,
    exponential,
    exponential_equations,
    exponential_trapezoid,
    h,
    kappa,
    nodes,
    same,
    side,
    symbols,
    t,
    t_k,
    x,
    y,
)

exp = sp.exp
X0, X1, X2 = nodes("x")
Y0, Y1, Y2 = nodes("y")


def gradient(x, y):
    """dV/dx at a node."""
    s = symbols("s")
    return V(s, y).diff(s).subs(s, x)


def test_002_liouville_field_is_vertical():
    """E_L = Delta L - L with Delta = v d/dq'; printed v d/dq."""
    equations = exponential_equations()

    def along_field(parts):
        return sum(
            v * derivative(equations.L, part) for v, part in zip(equations.v, parts, strict=True)
        )

    assert same(along_field(equations.v) - equations.L, equations.energy)
    assert differ(along_field(equations.q) - equations.L, equations.energy)


def test_002_ex_1_energy_changes_with_the_lagrangian():
    """dE_L/dt = kappa L; printed kappa E_L, the same for V = 0 only."""
    equations = exponential_equations()
    assert same(equations.energy_rate, kappa * equations.L)
    assert same(along(equations.energy, equations), kappa * equations.L)
    assert differ(equations.energy_rate, kappa * equations.energy)
    free = dict.fromkeys(symbols("a b"), 0)
    assert same(equations.energy_rate.subs(free), kappa * equations.energy.subs(free))


def test_002_eq_9_momenta_of_the_autonomous_lagrangian_grow_with_kappa():
    """(8) holds, e^{-kappa t} J is constant, so J(t) = e^{+kappa t} J(0); printed e^{-kappa t}."""
    equations = exponential_equations()
    assert same(equations.accelerations[0], kappa * x.diff(t) - derivative(V(x, y), x))
    J = x * y.diff(t) - y * x.diff(t)
    assert same(along(exp(-kappa * t) * J, equations), 0)
    assert same(along(J, equations), kappa * J)
    assert differ(along(J, equations), -kappa * J)
    # The linear momentum of the free particle, J = x'.
    free = ac.symbolic(caldirola_particle.system)
    assert same(free.cyclic[x], exp(-kappa * t) * x.diff(t))
    assert same(along(x.diff(t), free), kappa * x.diff(t))


def eq_18(potential):
    """(18) with its first time t_k - h, and `potential` in front of the gradient."""

    def e(j):
        return exp(-kappa * (t_k + (j - 1) * h))

    return (
        (X1 - X0) * e(0)
        - (X2 - X1) * e(2)
        - e(1) * (X0 - 2 * X1 + X2 + potential * gradient(X1, Y1))
    )


def test_002_eq_18_needs_two_h_squared():
    """2 h^2 grad V, where h grad V is printed."""
    equation = 2 * h * side(exponential_trapezoid().equations[0])
    assert same(equation, eq_18(2 * h**2))
    assert differ(equation, eq_18(h))


def eq_19(step, force):
    """(19) with `step` in the exponents and `force` in front of kappa_bar grad V."""
    below = exp(-step) + 1
    return (
        (2 + exp(-step) + exp(step)) / below * X1
        - (exp(step) + 1) / below * X0
        - force / below * gradient(X1, Y1)
    )


def test_002_eq_19_exponents_without_k():
    """The exponents are kappa h, without the k that is printed, and the force has 2 h^2."""
    found = exponential_trapezoid().explicit[X2]
    k = symbols("k")
    assert same(found, eq_19(kappa * h, 2 * h**2))
    assert differ(found, eq_19(kappa * h * k, 2 * h**2))
    assert differ(found, eq_19(kappa * h, h))
    assert differ(found, eq_19(kappa * h * k, h))


def test_002_eq_20_energy_over_four_h():
    """The trapezoid rule for E_L has |dq|^2/(4h) where 1/(2h) is printed."""
    q, params = (x, y), exponential().params
    # The integral of any function of (t, q, q') is sampled as that of a Lagrangian.
    sampled = (
        ac.symbolic(ac.from_sympy(exponential_equations().energy, q, params))
        .discrete(ac.Trapezoid())
        .Ld
    )

    def eq_20(kinetic):
        first, second = exp(-kappa * t_k), exp(-kappa * (t_k + h))
        moved = (X2 - X1) ** 2 + (Y2 - Y1) ** 2
        return kinetic * moved * (first + second) + h / 2 * (first * V(X1, Y1) + second * V(X2, Y2))

    assert same(sampled, eq_20(1 / (4 * h)))
    assert differ(sampled, eq_20(1 / (2 * h)))


def linear_momentum(factor, sign):
    """The momentum after (21), x component."""
    return exp(-kappa * t_k) * (
        factor * (1 + exp(-kappa * h)) * (X2 - X1) / h + sign * h / 2 * gradient(X1, Y1)
    )


def test_002_momentum_after_eq_21_half_and_plus():
    """-D1 L_d = e^{-kappa k h} ((1 + e^{-kappa h})/2 dq/h + h/2 grad V): the half is missing, the
    sign of grad V is wrong.
    """
    p = -exponential_trapezoid().D1[0]
    half = sp.Rational(1, 2)
    assert same(p, linear_momentum(half, 1))
    for factor, sign in ((1, 1), (half, -1), (1, -1)):
        assert differ(p, linear_momentum(factor, sign))


def test_002_angular_momentum_is_q_k_cross_p_k():
    """q_k x p_k is kept; p_k x q_k+1, and the printed formula, are not where V is not zero."""
    system, h, steps = exponential(), 0.05, 100
    traj = ac.simulate(system, ac.Trapezoid(), q0=[1.0, 0.2], v0=[-0.3, 0.8], h=h, steps=steps)
    q, p = np.asarray(traj.q), np.asarray(traj.p)

    def cross(u, w):
        return u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]

    def drift(values):
        return np.max(np.abs(values - values[0]))

    assert drift(cross(q, p)) < 1e-13
    assert drift(cross(p[:-1], q[1:])) > 1e-4
    k, a, b = (system.params[name] for name in ("kappa", "a", "b"))
    force = q[:-1] * (a + b * np.sum(q[:-1] ** 2, axis=1, keepdims=True))
    printed = np.exp(-k * traj.t[:-1])[:, None] * (
        (1 + np.exp(-k * h)) * np.diff(q, axis=0) / h - h / 2 * force
    )
    assert drift(cross(printed, q[1:])) > 1e-4
    # A free particle does not show it: there p is parallel to q_k+1 - q_k.
    free = ac.simulate(
        caldirola_particle.system,
        ac.Trapezoid(),
        q0=[18.0, 6.0, 10.0],
        v0=[2.22, -1.86, 3.48],
        h=0.005,
        steps=50,
    )
    product = np.cross(np.asarray(free.p)[:-1], np.asarray(free.q)[1:])
    np.testing.assert_allclose(product, np.broadcast_to(product[0], product.shape), rtol=1e-11)


def test_002_thm_3_3_adds_f():
    """X^{V,d}(L_d^k) + f^k is kept, X = d/dq and constant gravity; X^{V,d}(L_d^k) - f^k is
    printed.
    """
    gravity, h, steps = 9.81, 0.1, 10
    system = ac.System(
        lambda t, q, v, params: v[0] ** 2 / 2 - params["gravity"] * q[0],
        ac.Euclidean(1),
        {"gravity": gravity},
    )
    d = ac.discrete(system, ac.Trapezoid())
    traj = ac.simulate(system, ac.Trapezoid(), q0=[1.0], v0=[3.0], h=h, steps=steps)
    f = -gravity * h * np.arange(steps)
    q0, q1 = traj.q[:-1], traj.q[1:]
    D1, D2 = (np.asarray(jax.vmap(partial(D, 0.0, h))(q0, q1))[:, 0] for D in (d.D1, d.D2))
    # X is a Noether symmetry with this f: X^{C,d}(L_d^k) = f^{k+1} - f^k.
    np.testing.assert_allclose((D1 + D2)[:-1], np.diff(f), rtol=1e-12)
    np.testing.assert_allclose(D1 + f, D1[0] + f[0], rtol=1e-12)
    assert np.ptp(D1 - f) > 1
