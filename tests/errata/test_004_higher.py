"""Vakonomic thesis, vakonomic mechanics: chapter 5, sections 8.3 and 8.4 and Thm 8.1.1, Lagrangians
of higher order.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac
from tests.errata.forms import differ, function, same, side, t

x, y, lam, delta = function("x"), function("y"), function("lam"), function("delta")


def lagrangian(t, q, v, a, params):
    return (
        0.5 * (1 + q[0] ** 2) * a[0] ** 2 + 0.5 * a[1] ** 2 + v[0] ** 2 * q[1] + v[1] * a[0] * q[0]
    )


def constraint(t, q, v, a, params):
    return jnp.array([a[1] * q[0] + v[0] ** 2 * a[0] - v[1]])


FREE = ac.HigherOrderSystem(lagrangian, ac.Euclidean(2), coordinates=("x", "y"))
HELD = ac.HigherOrderSystem(
    lagrangian, ac.Euclidean(2), vakonomic=constraint, coordinates=("x", "y")
)
L = (
    (1 + x**2) * x.diff(t, 2) ** 2 / 2
    + y.diff(t, 2) ** 2 / 2
    + x.diff(t) ** 2 * y
    + y.diff(t) * x.diff(t, 2) * x
)
PHI = y.diff(t, 2) * x + x.diff(t) ** 2 * x.diff(t, 2) - y.diff(t)


@cache
def equations(held):
    return ac.symbolic(HELD if held else FREE)


def slope(f, k):
    """df/dx^(k)."""
    return f.diff(x.diff(t, k) if k else x)


def test_004_5_1_momenta_alternate_with_the_number_of_derivatives():
    """delta L = (equation) delta + d/dt (p_0 delta + p_1 delta') with p_l = sum_s (-1)^s d^s/dt^s
    dL/dx^(l+s+1); not with the printed (-1)^l.
    """
    change = sum(slope(L, k) * delta.diff(t, k) for k in range(3))
    p = [row[0] for row in equations(False).momenta]
    printed = [
        sum((-1) ** l * slope(L, l + s + 1).diff(t, s) for s in range(2 - l)) for l in range(2)
    ]

    def ends(p):
        return (
            change
            - side(equations(False).equations[0]) * delta
            - (p[0] * delta + p[1] * delta.diff(t)).diff(t)
        )

    assert same(ends(p).expand(), 0)
    assert differ(ends(printed), 0)
    assert same(p[0], slope(L, 1) - slope(L, 2).diff(t))
    assert same(p[1], slope(L, 2))


def test_004_5_1_second_integration_by_parts():
    """int L_a delta'' = [L_a delta' - (L_a)' delta] + int (L_a)'' delta; printed with delta'' in
    the bracket.
    """
    La = slope(L, 2)
    left = La * delta.diff(t, 2) - La.diff(t, 2) * delta

    def bracket(last):
        return (La * delta.diff(t) - La.diff(t) * last).diff(t)

    assert same(left.expand(), bracket(delta).expand())
    assert differ(left, bracket(delta.diff(t, 2)))


def test_004_5_1_regular_where_the_hessian_by_the_highest_derivative_is():
    """L = 1/2 a^2 is regular, though its second derivatives by q and by q' are zero; L = 1/2 q^2 +
    1/2 v^2, as one of order 2, is not.
    """
    bent = ac.HigherOrderSystem(lambda t, q, v, a, params: 0.5 * a[0] ** 2, ac.Euclidean(1))
    flat = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * v[0] ** 2 + 0.5 * q[0] ** 2, ac.Euclidean(1)
    )
    q, jets = jnp.array([0.3]), jnp.array([[0.5], [0.2]])

    def printed(system, l):
        """d2L/dq^(l-1)dq^(l-1), l = 1, 2."""
        f = (
            (lambda z: system.L(0.0, z, jets))
            if l == 1
            else (lambda z: system.L(0.0, q, jets.at[0].set(z)))
        )
        return np.linalg.det(jax.hessian(f)(q if l == 1 else jets[0]))

    assert [printed(bent, l) for l in (1, 2)] == [0.0, 0.0]
    assert [printed(flat, l) for l in (1, 2)] == [1.0, 1.0]
    assert np.linalg.det(bent.regularity(0.0, q, jets)) == 1.0
    assert np.linalg.det(flat.regularity(0.0, q, jets)) == 0.0
    # Omega_L = dq ^ dp_0 + dv ^ dp_1 on (q, v, a, j), with p_0 = -j and p_1 = a.
    p = jax.jit(jax.jacfwd(lambda z: bent.momenta(0.0, z[:1], z[1:, None]).ravel()))(
        jnp.array([0.3, 0.5, 0.2, 0.7])
    )
    pairs = np.outer(np.eye(4)[0], p[0]) + np.outer(np.eye(4)[1], p[1])
    assert abs(np.linalg.det(pairs - pairs.T)) == 1.0


def test_004_obs_5_2_3_sum_and_signs():
    """sum_l (-1)^l d^l/dt^l dL/dx^(l) = sum_l (-1)^l d^l/dt^l (lam dPhi/dx^(l)); not without the
    signs. (lam there is -lam here.)
    """
    ours = side(equations(True).equations[0]).subs(lam, -lam).doit()
    left = sp.Add(*((-1) ** k * slope(L, k).diff(t, k) for k in range(3)))
    right = sp.Add(*((-1) ** k * (lam * slope(PHI, k)).diff(t, k) for k in range(3)))
    printed = sum((lam * slope(PHI, k)).diff(t, k) for k in range(3))
    assert same(ours.expand(), (left - right).expand())
    assert differ(ours, left - printed)
    assert all(differ(ours, left - (lam * slope(PHI, k)).diff(t, k)) for k in range(3))


def test_004_5_3_the_lagrangian_is_counted_once():
    """-dp_1/dt = p_0 - dL/dx' + lam dPhi/dx', which is dH/dx' + lam dPhi/dx' with H = p_0 x' + p_1
    x'' - L; printed with - dL/dx' once more.
    """
    p0, p1 = (row[0].subs(lam, -lam).doit() for row in equations(True).momenta)
    P = sp.symbols("P_0 P_1")
    H = P[0] * x.diff(t) + P[1] * x.diff(t, 2) - L
    right = slope(H, 1).subs(P[0], p0) + lam * slope(PHI, 1)
    assert same((-p1.diff(t)).expand(), right.expand())
    assert differ(-p1.diff(t), right - slope(L, 1))


SYSTEM = ac.System(
    lambda t, q, v, params: 0.5 * v[0] ** 2 * (1 + q[0] ** 2) + jnp.cos(q[0]), ac.Euclidean(1)
)


def test_004_thm_8_1_1_sign_of_theta_minus_and_first_term():
    """dJ = sum_{k=1}^{N-1} EL_k dq_k + Theta^+(q_N-1, q_N) - Theta^-(q_0, q_1) with Theta^- = -D1
    Ld dq_0.
    """
    d, h = ac.discrete(SYSTEM, ac.Midpoint()), 0.1
    q, dq = jnp.array([0.3, 0.42, 0.5, 0.55, 0.7]), jnp.array([0.5, -0.2, 0.3, 0.4, -0.6])

    def J(q):
        return sum(d.Ld(0.0, h, q[k : k + 1], q[k + 1 : k + 2]) for k in range(4))

    change = jax.grad(J)(q) @ dq

    def node(k):
        return q[k : k + 1]

    inner = sum(
        d.euler_lagrange(0.0, h, node(k - 1), node(k), node(k + 1))[0] * dq[k] for k in range(1, 4)
    )
    plus = d.legendre_plus(0.0, h, node(3), node(4))[1][0] * dq[4]
    minus = d.legendre_minus(0.0, h, node(0), node(1))[1][0] * dq[0]
    D1 = d.D1(0.0, h, node(0), node(1))[0]
    np.testing.assert_allclose(minus, -D1 * dq[0])
    np.testing.assert_allclose(change, inner + plus - minus, rtol=1e-12)
    assert abs(change - (inner + plus - D1 * dq[0])) > 0.1


def test_004_8_3_boundary_term():
    """At q_N-1 the boundary terms are D_k Ld(q_N-k, ..., q_N) and D_{k+1} Ld(q_N-k-1, ..., q_N-1);
    printed with q_(N-k+1, N-1), k - 1 of them.
    """
    system, h, k, N = (
        ac.HigherOrderSystem(
            lambda t, q, v, a, params: 0.5 * a[0] ** 2 * (1 + q[0] ** 2) + v[0] ** 4,
            ac.Euclidean(1),
        ),
        0.2,
        2,
        5,
    )
    d = ac.discrete(system, ac.Midpoint())
    q = jnp.array([0.3, 0.42, 0.5, 0.55, 0.7, 0.72])[:, None]

    def S(q):
        return sum(d.Ld(0.0, h, *q[i : i + k + 1]) for i in range(N - k + 1))

    def pair(q):
        return d.D(k, 0.0, h, *q[N - k :]) + d.D(k + 1, 0.0, h, *q[N - k - 1 : N])

    last, slope, both = jax.jit(
        lambda q: (d.theta_plus(0.0, h, *q[N - 2 * k + 1 :])[-2], jax.grad(S)(q)[N - 1], pair(q))
    )(q)
    np.testing.assert_allclose(last, slope, rtol=1e-11)
    np.testing.assert_allclose(last, both, rtol=1e-11)
    assert len(q[N - k + 1 : N]) == k - 1


def test_004_8_4_block_of_the_regularity():
    """The derivatives of (dS/dq_2, Phi(q_2, q_3, q_4)) by (q_4, lam_2) are [[D13, D1 Phi^T], [D3
    Phi, 0]]; swapped, the determinant is another.
    """

    def twisted(t, q, v, a, params):
        return 0.5 * a @ a + 3.0 * q[0] * v[0] * a[1]

    def held(t, q, v, a, params):
        return jnp.array([a[0] + 4.0 * v[0] * q[1] + 0.5 * a[1] * q[0]])

    system, h = ac.HigherOrderSystem(twisted, ac.Euclidean(2), vakonomic=held), 0.2
    d = ac.discrete(system, ac.Midpoint())
    q = jnp.array([[0.3, 0.1], [0.42, 0.2], [0.9, 0.6], [0.55, 0.7], [0.7, 0.5]])
    mu = jnp.array([[0.3], [0.4], [0.5]])

    def both(z):
        end = [*q[:4], z[:2]]
        return jnp.concatenate(
            [d.euler_lagrange(0.0, h, *end, lam=mu.at[2].set(z[2:] / h)), d.Phi(0.0, h, *end[2:])]
        )

    J = np.asarray(jax.jit(jax.jacfwd(both))(jnp.concatenate([q[4], h * mu[2]])))
    K = np.asarray(jax.jit(d.regularity)(0.0, h, *q[2:], lam=mu[2]))
    np.testing.assert_allclose(K, J, rtol=1e-9, atol=1e-9)
    slopes = [
        np.asarray(
            jax.jit(jax.jacfwd(lambda z, i=i: d.Phi(0.0, h, *q[2 : 2 + i], z, *q[3 + i :])))(
                q[2 + i]
            )
        )
        for i in (0, 2)
    ]
    np.testing.assert_allclose(K[:2, 2:], slopes[0].T, rtol=1e-9)
    np.testing.assert_allclose(K[2:, :2], slopes[1], rtol=1e-9)
    printed = np.block([[K[:2, :2], slopes[1].T], [slopes[0], np.zeros((1, 1))]])
    assert abs(np.linalg.det(printed) / np.linalg.det(K) - 1) > 1e-2

    def symmetric(K):
        return np.block([[(K[:2, :2] + K[:2, :2].T) / 2, K[:2, 2:]], [K[2:, :2], np.zeros((1, 1))]])

    np.testing.assert_allclose(
        np.linalg.det(symmetric(printed)), np.linalg.det(symmetric(K)), rtol=1e-10
    )
