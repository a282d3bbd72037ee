"""Colombo-Gamonal, variational integrators for non-autonomous systems: section 4 on, the
Hamiltonian flow and the formations.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from tests.errata.forms import (
    V,
    differ,
    exponential_trapezoid,
    function,
    h,
    kappa,
    nodes,
    same,
    side,
    symbols,
    t,
    t_k,
)

exp = sp.exp

# ---------------------------------------------------------------- the Hamiltonian flow


def test_002_ex_3_derivatives_carry_a_half():
    """D1, D2 of L_d and with them F^-, F^+: 1/2 in front of the kinetic term."""
    d = exponential_trapezoid()
    (_, X1, X2), (_, Y1, Y2), s = nodes("x"), nodes("y"), symbols("s")

    def gradient(x, y):
        return V(s, y).diff(s).subs(s, x)

    first, second = exp(-kappa * t_k), exp(-kappa * (t_k + h))

    def D1(factor):
        return -factor * (X2 - X1) / h * (first + second) - h / 2 * first * gradient(X1, Y1)

    def D2(factor):
        return factor * (X2 - X1) / h * (first + second) - h / 2 * second * gradient(X2, Y2)

    half = sp.Rational(1, 2)
    for found, formula in ((d.D1[0], D1), (d.D2[0], D2)):
        assert same(found, formula(half))
        assert differ(found, formula(1))


KAPPA, H = -0.7, 0.1


@cache
def oscillator():
    """The step k of L = e^{-kappa t}(1/2 v^2 - q^4/4) under the trapezoid rule starts at k h."""

    def lagrangian(t, q, v, params):
        return jnp.exp(-params["kappa"] * t) * (v[0] ** 2 / 2 - q[0] ** 4 / 4)

    return ac.discrete(ac.System(lagrangian, ac.Euclidean(1), {"kappa": KAPPA}), ac.Trapezoid())


def pair(k, z):
    """(F^-_k)^-1: the two configurations of the step k that has the point z = (q, p) at its
    start.
    """
    return z[:1], oscillator().hamiltonian_flow(k * H, H, z[:1], z[1:])[0]


def pair_before(k, z):
    """(F^+_k)^-1, by running the step backwards."""
    return oscillator().hamiltonian_flow((k + 1) * H, -H, z[:1], z[1:])[0], z[:1]


def minus(k, q0, q1):
    return jnp.concatenate(oscillator().legendre_minus(k * H, H, q0, q1))


def plus(k, q0, q1):
    return jnp.concatenate(oscillator().legendre_plus(k * H, H, q0, q1))


def flow(k, q0, q1):
    """Psi_d^{k,k+1}: the pair of the step k to that of the step k + 1."""
    return oscillator().flow(k * H, H, q0, q1)


FLOWS = {
    "F+_k o (F-_k)^-1": (lambda k, z: plus(k, *pair(k, z)), True),
    "F-_k+1 o Psi o (F-_k)^-1": (lambda k, z: minus(k + 1, *flow(k, *pair(k, z))), True),
    "F+_k+1 o Psi o (F+_k)^-1": (lambda k, z: plus(k + 1, *flow(k, *pair_before(k, z))), True),
    "(28) F-_k+1 o Psi o (F-_k+1)^-1": (
        lambda k, z: minus(k + 1, *flow(k, *pair(k + 1, z))),
        False,
    ),
    "(29) F+_k o Psi o (F+_k)^-1": (lambda k, z: plus(k, *flow(k, *pair_before(k, z))), False),
    "Cor 1 F+_k o (F-_k+1)^-1": (lambda k, z: plus(k, *pair(k + 1, z)), False),
}


@pytest.mark.parametrize("name", FLOWS)
def test_002_eq_28_29_cor_1_flow_is_symplectic_with_one_index(name):
    """The printed flows mix the steps k and k + 1 and multiply areas by e^{kappa h}; with the right
    indices areas are kept.
    """
    f, right = FLOWS[name]
    k, z = 3, jnp.array([0.6, 0.4])
    area = np.linalg.det(jax.jit(jax.jacfwd(lambda z: f(k, z)))(z))
    assert area == pytest.approx(1.0 if right else np.exp(KAPPA * H), abs=1e-10)
    assert abs(np.exp(KAPPA * H) - 1) > 0.05


def test_002_eq_33_denominator_has_one_more_power():
    """X_r = lim (Phi_h - exp(h X_{h,r-1}))/h^{r+1}; with h^r, as printed, X_1 = 0 for the rectangle
    rule on q'' = -q.
    """
    x = function("x")
    d = ac.symbolic(ac.from_sympy(x.diff(t) ** 2 / 2 - x**2 / 2, (x,))).discrete(ac.LeftRectangle())
    _, q0, q1 = nodes("x")
    p = sp.Symbol("p")
    (after,) = sp.solve(p + d.D1[0], q1)
    step = sp.Matrix([after, d.D2[0].subs(q1, after)]).jacobian([q0, p])
    exact = sp.Matrix([[sp.cos(h), sp.sin(h)], [-sp.sin(h), sp.cos(h)]])

    def limit(M, power):
        return (M / h**power).applyfunc(lambda c: sp.limit(sp.simplify(c), h, 0))

    X0, X1 = limit(step - sp.eye(2), 1), limit(step - exact, 2)
    assert sp.Matrix([[0, 1], [-1, 0]]) == X0
    # The modified field is log(step)/h: the logarithm's series in step - 1 gives its term of order
    # h.
    N = step - sp.eye(2)
    log = N - N**2 / 2 + N**3 / 3
    assert limit(log - h * X0, 2) == X1
    assert not X1.is_zero_matrix
    assert limit(step - exact, 1) == sp.zeros(2)


# ---------------------------------------------------------------- formations

d12 = symbols("d")
AGENTS = [function(name) for name in ("x1", "y1", "x2", "y2")]


@cache
def formation():
    """Two agents in the plane with L of (39) and the potential (36)."""
    x1, y1, x2, y2 = AGENTS
    squared = (x1 - x2) ** 2 + (y1 - y2) ** 2
    L = exp(kappa * t) * (sum(q.diff(t) ** 2 for q in AGENTS) / 2 - (squared - d12**2) ** 2 / 4)
    return ac.symbolic(ac.from_sympy(L, AGENTS, {"kappa": 13.0, "d": 2.0}))


def middle():
    """(x1, y1, x2, y2) at the middle node."""
    return [nodes(name)[1] for name in ("x1", "y1", "x2", "y2")]


def gamma(x1, y1, x2, y2):
    return (x1 - x2) ** 2 + (y1 - y2) ** 2 - d12**2


def test_002_gamma_ij_is_the_square_of_the_distance():
    """Gamma_ij = |q_i - q_j|^2 - d^2, a number; printed (q_i - q_j) - d^2."""
    x1, y1, x2, y2 = middle()
    before, _, after = nodes("x1")
    found = formation().discrete(ac.Trapezoid()).explicit[after]
    below = 1 + exp(kappa * h)
    free = (2 + exp(kappa * h) + exp(-kappa * h)) / below * x1 - (
        1 + exp(-kappa * h)
    ) / below * before

    def eq_41(factor):
        return free - 2 * h**2 / below * factor * (x1 - x2)

    assert same(found, eq_41(gamma(x1, y1, x2, y2)))
    # As it is printed Gamma is a vector less a number; neither component, nor the length, will do.
    for printed in (x1 - x2, y1 - y2, sp.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)):
        assert differ(found, eq_41(printed - d12**2))


def test_002_eq_42_gamma_is_taken_at_the_middle_node():
    """With Gamma^k as it is defined after (41), at q_k+1, the Gamma^{k+1} of (42) would be at
    q_k+2.
    """
    before, _, after = nodes("x1")
    residual = 2 * h * side(formation().discrete(ac.Trapezoid()).equations[0])
    x1, y1, x2, y2 = middle()

    def e(j):
        return exp(kappa * (t_k + (j - 1) * h))

    def eq_40(factor):
        return (
            (x1 - before) * e(0)
            - (after - x1) * e(2)
            - e(1) * (before - 2 * x1 + after + 2 * h**2 * factor * (x1 - x2))
        )

    assert same(residual, eq_40(gamma(x1, y1, x2, y2)))
    assert differ(residual, eq_40(gamma(*(nodes(name)[2] for name in ("x1", "y1", "x2", "y2")))))


def test_002_eq_40_takes_the_gradient_of_the_potential_itself():
    """(40) and (41) hold with the gradient of V_ij; V_ij^d = h/2 (V_ij + V_ij), from which it is
    said to come, has h/2 more.
    """
    before, _, after = nodes("x1")
    residual = 2 * h * side(formation().discrete(ac.Trapezoid()).equations[0])
    x1, y1, x2, y2 = middle()
    U = gamma(x1, y1, x2, y2) ** 2 / 4

    def e(j):
        return exp(kappa * (t_k + (j - 1) * h))

    def eq_40(gradient):
        return (
            (x1 - before) * e(0)
            - (after - x1) * e(2)
            - e(1) * (before - 2 * x1 + after + 2 * h**2 * gradient)
        )

    assert same(residual, eq_40(U.diff(x1)))
    assert differ(residual, eq_40(h / 2 * U.diff(x1)))


EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3))


def incidence(agents):
    B = np.zeros((agents, len(EDGES)))
    for w, (tail, head) in enumerate(EDGES):
        B[tail, w], B[head, w] = 1.0, -1.0
    return B


def test_002_rigidity_matrix_has_a_transpose():
    """R = D(z)^T Bbar^T is half the derivative of the squared distances, and R^T e the gradient of
    V; D^T Bbar cannot be formed; z is in R^{d|E|}.
    """
    agents, d = 4, 2
    q = np.array([0.0, 0.0, 1.0, 0.2, 0.3, 1.1, 1.4, 1.2])
    Bbar = np.kron(incidence(agents), np.eye(d))
    z = Bbar.T @ q
    assert z.size == d * len(EDGES) != d * agents
    D = np.zeros((d * len(EDGES), len(EDGES)))
    for w in range(len(EDGES)):
        D[d * w : d * w + d, w] = z[d * w : d * w + d]
    R = D.T @ Bbar.T

    tails, heads = np.array(EDGES).T

    def squared(q):
        points = q.reshape(agents, d)
        return jnp.sum((points[tails] - points[heads]) ** 2, axis=1)

    np.testing.assert_allclose(R, jax.jit(jax.jacfwd(squared))(q) / 2, atol=1e-14)
    with pytest.raises(ValueError, match="matmul"):
        np.matmul(D.T, Bbar)

    # The force of (35) from the Lagrangian (39): q'' = -kappa q' - R^T e.
    def potential(t, q, params):
        return jnp.sum((squared(q) - 1.0) ** 2) / 4

    system = ac.mechanical(
        1.0,
        potential,
        agents * d,
        weight=lambda t, params: jnp.exp(params["kappa"] * t),
        params={"kappa": 13.0},
    )
    v = np.linspace(-1, 1, agents * d)
    np.testing.assert_allclose(
        jax.jit(ac.accelerations(system))(0.3, q, v),
        -13.0 * v - R.T @ (squared(q) - 1.0),
        atol=1e-12,
    )
