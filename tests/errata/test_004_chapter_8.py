"""Vakonomic thesis, chapters 7, 8.5 and 8.6: optimal control of underactuated systems, the inverted
pendulum on a cart."""

from typing import Any

import numpy as np
import sympy as sp

from tests.errata.cases_004_control import (
    FORCE,
    NODES,
    PHI,
    R,
    bracket,
    cos,
    g,
    m,
    m_c,
    th,
    thd,
    thdd,
    x,
    xd,
    xdd,
)
from tests.errata.forms import differ, same, symbols

h, M, l = symbols("h M l")


def Ld(k):
    """As printed in 8.6, between the nodes k and k + 1; it has no factor h."""
    (x0, x1), (th0, th1) = (nodes[k : k + 2] for nodes in NODES)
    v, w, c = (x1 - x0) / h, (th1 - th0) / h, cos((th0 + th1) / 2)
    return M * v**2 / 2 + m * (v**2 + 2 * v * l * c * w + l**2 * w**2) / 2 - m * g * l * c


def node_sum(i):
    """D2 Ld(q_0, q_1) + D1 Ld(q_1, q_2) in x (i = 0) or theta (i = 1)."""
    return Ld(0).diff(NODES[i][1]) + Ld(1).diff(NODES[i][1])


def discrete_force():
    """u_k, with the right sign."""
    second, turn = bracket()
    return -((M + m) / h**2 * second + m * l / h**2 * turn)


def discrete_constraint():
    return sp.expand(h**2 * node_sum(1))


def small_step(expr):
    """`expr` on three nodes of a parabola, with a step of 1e-15."""
    curves = ((x, xd, xdd), (th, thd, thdd))
    places = {
        node: q + k * h * v + (k * h) ** 2 / 2 * a
        for nodes, (q, v, a) in zip(NODES, curves, strict=True)
        for k, node in zip((-1, 0, 1), nodes, strict=True)
    }
    return expr.subs(places).subs(h, sp.Rational(1, 10**15))


def test_004_sec_8_5_and_8_6_sign_of_the_discrete_force():
    """D2 Ld + D1 Ld tends to -(d/dt dL/dx' - dL/dx) = -u; printed = u_k."""
    assert same(node_sum(0), -discrete_force())
    u = FORCE.subs({m_c: M, R: l})

    def value(expr):
        return sp.N(
            expr.subs(
                {
                    z: sp.Rational(3 + 7 * i, 37)
                    for i, z in enumerate((x, th, xd, thd, xdd, thdd, M, m, l, g))
                }
            ),
            60,
        )

    assert abs(value(small_step(node_sum(0))) + value(u)) < 1e-12
    assert abs(value(small_step(node_sum(0))) - value(u)) > 0.1
    assert abs(value(small_step(node_sum(1))) + value(PHI.subs({m_c: M, R: l}))) < 1e-12


def test_004_sec_8_5_first_equation_needs_three_nodes():
    """D1 Ld is taken at (q_{k+1}, q_{k+2}); at (q_k, q_{k+1}), as printed, the sum is dL/dq, for
    the pendulum in x zero whatever the cart does.
    """
    same_pair = Ld(0).diff(NODES[0][1]) + Ld(0).diff(NODES[0][0])
    assert same(same_pair, 0)
    assert differ(node_sum(0), same_pair)
    free = [nodes[2] for nodes in NODES]
    assert not any(same_pair.has(z) for z in free)
    assert all(node_sum(0).has(z) for z in free)


def test_004_sec_8_6_square_of_the_force_has_a_product():
    """1/2 u_k^2 contains (M + m) m l / h^4 (2 x_{k+1} - x_k - x_{k+2}) [...], which is not
    printed.
    """
    second, turn = bracket()
    printed = (M + m) ** 2 / (2 * h**4) * second**2 + (m * l) ** 2 / (2 * h**4) * turn**2
    product = (M + m) * m * l / h**4 * second * turn
    assert same(discrete_force() ** 2 / 2, printed + product)
    assert differ(discrete_force() ** 2 / 2, printed)


def test_004_sec_8_6_cost_carries_the_step():
    """h/2 sum u_k^2 over k = 0..N-2 tends to 1/2 int u^2; what is printed grows like N, and u_{N-1}
    would need q_{N+1}.
    """
    values = {M: 1.0, m: 0.3, l: 0.5, g: 9.81}
    force = sp.lambdify([*NODES[0], *NODES[1], h], discrete_force().subs(values))
    exact = sp.lambdify([th, thd, xdd, thdd], FORCE.subs({m_c: M, R: l}).subs(values))
    T, times = 2.0, np.linspace(0, 2, 20_001)

    def path(t):
        return (np.sin(2 * t) + t**2, np.pi + np.cos(3 * t))

    u = exact(
        path(times)[1], -3 * np.sin(3 * times), -4 * np.sin(2 * times) + 2, -9 * np.cos(3 * times)
    )
    cost = np.trapezoid(u**2, times) / 2
    printed, errors = [], []
    for N in (200, 400, 800):
        X, TH = path(np.linspace(0, T, N + 1))
        u_k = force(X[:-2], X[1:-1], X[2:], TH[:-2], TH[1:-1], TH[2:], T / N)
        assert len(u_k) == N - 1
        printed.append(np.sum(u_k**2) / 2)
        errors.append(abs(T / N * printed[-1] - cost))
    assert errors[2] < 0.02 * cost
    # the two ends are left out
    np.testing.assert_allclose(np.divide(errors[:2], errors[1:]), 2, atol=0.1)
    np.testing.assert_allclose(np.divide(printed[1:], printed[:2]), 2, atol=0.1)


def gradients():
    """The rows grad_1 u, grad_3 u, grad_1 Phi, grad_3 Phi by (x, theta) at the first and at the
    last of three nodes.
    """
    ends = [[nodes[k] for nodes in NODES] for k in (0, 2)]
    return [
        [f.diff(z) for z in end] for f in (discrete_force(), discrete_constraint()) for end in ends
    ]


def cross(v, w):
    return v[0] * w[1] - v[1] * w[0]


def regularity(place):
    """(determinant of what is solved for q_4 and lam_2, the formula for it, the printed product) at
    numbers for the nodes.
    """
    u, Phi, lam = discrete_force(), discrete_constraint(), symbols("lambda")
    action = u**2 / 2 + lam * Phi
    J = sp.Matrix([action.diff(NODES[0][0]), action.diff(NODES[1][0]), Phi]).jacobian(
        [NODES[0][2], NODES[1][2], lam]
    )

    def at(expr):
        return sp.N(expr.subs({lam: 5} | place), 40)

    u1, u3, Phi1, Phi3 = ([at(z) for z in row] for row in gradients())
    return (
        J.applyfunc(at).det(),
        -cross(u1, Phi1) * cross(u3, Phi3),
        Phi1[0] * Phi3[0] * Phi1[1] * Phi3[1],
    )


def on_the_constraint(place, unknown):
    """`place` with the number for `unknown` that makes the constraint zero; it is linear in
    positions.
    """
    Phi = discrete_constraint().subs(place)
    return place | {unknown: -Phi.subs(unknown, 0) / Phi.diff(unknown)}


def test_004_sec_8_6_condition_of_regularity():
    """det = -(grad_1 u x grad_1 Phi)(grad_3 u x grad_3 Phi).

    The printed product can be zero where it is regular, and not zero where it is not.
    """
    (x0, x1, x2), (th0, th1, th2) = NODES
    values = {M: 1, m: 1, l: 1, g: 10, h: sp.Rational(1, 10)}
    level = values | {
        th0: sp.pi / 2,
        th1: sp.pi / 2,
        th2: sp.pi / 2 - sp.Rational(1, 5),
        x0: 0,
        x1: sp.Rational(1, 20),
    }
    determinant, formula, product = regularity(on_the_constraint(level, x2))
    assert abs(determinant / formula - 1) < 1e-20
    assert abs(determinant) > 1
    assert abs(product) < 1e-20
    tilted = values | {th0: sp.Rational(1, 2), th1: sp.Rational(7, 10), th2: 1, x1: 0}
    u1, _, Phi1, _ = gradients()
    parallel: Any = cross(u1, Phi1).subs(tilted)  # linear in x_0
    singular = tilted | {x0: -parallel.subs(x0, 0) / parallel.diff(x0)}
    determinant, formula, product = regularity(on_the_constraint(singular, x2))
    assert max(abs(determinant), abs(formula)) < 1e-20
    assert abs(product) > 1e-3
