"""Colombo-Eyrea, time-dependent Lagrangian systems on Lie groups."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac
from accion.gallery import magnetic_particle
from tests.errata.forms import (
    agree,
    along,
    derivative,
    differ,
    exponential_equations,
    function,
    integral,
    kappa,
    same,
    symbols,
    t,
    x,
    y,
)

ANGLES = [function(name) for name in ("psi", "theta", "phi")]
INERTIA = symbols("I1 I2 I3")


def body_velocity(psi, theta, dpsi, dtheta, dphi, np=sp):
    """xi = R^T R' for R = Rz(phi) Rx(theta) Rz(psi)."""
    return (
        dphi * np.sin(theta) * np.sin(psi) + dtheta * np.cos(psi),
        dphi * np.sin(theta) * np.cos(psi) - dtheta * np.sin(psi),
        dphi * np.cos(theta) + dpsi,
    )


@cache
def rigid_body():
    """The body of Ex 3 in Euler angles: L = e^{-kappa t} 1/2 xi.I xi."""
    psi, theta, phi = ANGLES
    xi = body_velocity(psi, theta, psi.diff(t), theta.diff(t), phi.diff(t))
    L = sp.exp(-kappa * t) * sum(I * w**2 for I, w in zip(INERTIA, xi, strict=True)) / 2
    return ac.from_sympy(L, ANGLES, {"kappa": 0.4, "I1": 1.0, "I2": 2.0, "I3": 3.5})


def test_000_ex_1_positive_k_pumps_energy():
    """dE/dt = k |q'|^2 for E = |q'|^2/2 + V, where 'linear dissipation' is written for k > 0."""
    equations = exponential_equations()
    E = equations.energy * sp.exp(kappa * t)
    rate, speed = along(E, equations), x.diff(t) ** 2 + y.diff(t) ** 2
    assert same(rate, kappa * speed)
    assert differ(rate, -kappa * speed)


def test_000_ex_2_keeps_the_lorentz_force():
    """q'' = kappa (A + q') + (J^T - J) q', J = dA/dq; the document cancels the last term."""
    equations = ac.symbolic(magnetic_particle.system)
    q, v = sp.Matrix(equations.q), sp.Matrix(equations.v)
    B, c, d = symbols("B c d")
    x, y, z = equations.q
    A = sp.Matrix([-B * y / 2, B * x / 2 + c * z**2, d * x * y])
    J = sp.Matrix(3, 3, lambda i, j: derivative(A[i], q[j]))
    acceleration = sp.Matrix(equations.accelerations)
    printed = kappa * (A + v)
    right = printed + (J.T - J) * v
    assert all(same(left, r) for left, r in zip(acceleration, right, strict=True))
    assert all(differ(left, r) for left, r in zip(acceleration, printed, strict=True))


def euler(xi, dxi, sign):
    """I xi' + sign xi x I xi - kappa I xi."""
    I = sp.diag(*INERTIA)
    return I * dxi + sign * xi.cross(I * xi) - kappa * I * xi


def test_000_ex_3_sign_of_the_gyroscopic_term():
    """I xi' + xi x I xi - kappa I xi = 0: with W = d xi/dq', the Euler-Lagrange operator is
    e^{-kappa t} W^T times it.
    """
    v = [q.diff(t) for q in ANGLES]
    xi = sp.Matrix(body_velocity(*ANGLES[:2], *v))
    W = sp.Matrix(3, 3, lambda i, j: derivative(xi[i], v[j]))
    operator = sp.Matrix(ac.symbolic(rigid_body(), seconds=1).euler_lagrange)
    for sign, verdict in ((1, agree), (-1, differ)):
        claimed = sp.exp(-kappa * t) * W.T * euler(xi, xi.diff(t), sign)
        assert all(verdict(left, right) for left, right in zip(operator, claimed, strict=True))


@cache
def motion():
    """xi and xi' of the body at an instant of its motion, from the accelerations of accion; I;
    kappa.
    """
    system = rigid_body()
    q, v = jnp.array([0.4, 0.9, -0.3]), jnp.array([1.1, -0.7, 0.8])

    def xi(q, v):
        return jnp.array(body_velocity(q[0], q[1], *v, np=jnp))

    acceleration = jax.jit(ac.accelerations(system))(0.2, q, v)
    w, dw = jax.jvp(xi, (q, v), (v, acceleration))
    return np.asarray(w), np.asarray(dw), np.array([1.0, 2.0, 3.5]), 0.4


def test_000_ex_3_printed_equation_leaves_a_residual():
    w, dw, I, k = motion()
    gyroscopic = np.cross(w, I * w)
    np.testing.assert_allclose(I * dw + gyroscopic - k * I * w, 0.0, atol=1e-13)
    assert np.linalg.norm(I * dw - gyroscopic - k * I * w) > 1


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def test_000_ex_3_trace_needs_the_second_moments():
    """<<R', R'>>/2 is 1/2 tr(xi^T Jd xi) with Jd = sum m X X^T, not with the inertia tensor tr(Jd)
    1 - Jd; and e^{-kappa t} stays in front.
    """
    X = np.array([[1.0, 0.2, -0.4], [-0.3, 0.8, 0.5], [0.1, -0.6, 0.9], [0.7, 0.3, 0.2]])
    masses = np.array([1.0, 0.5, 2.0, 1.5])

    def rotation(q):
        (cp, ct, cf), (sp_, st, sf) = jnp.cos(q), jnp.sin(q)

        def turn(c, s):
            return jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

        return (
            turn(cf, sf)
            @ jnp.array([[1.0, 0.0, 0.0], [0.0, ct, -st], [0.0, st, ct]])
            @ turn(cp, sp_)
        )

    weight, k = lambda t, params: jnp.exp(-params["kappa"] * t), 0.4
    cloud = ac.particles(
        lambda t, q, params: X @ rotation(q).T, masses, None, 3, params={"kappa": k}
    )
    q, v = jnp.array([0.4, 0.9, -0.3]), jnp.array([1.1, -0.7, 0.8])
    kinetic = cloud.L(0.0, q, v)
    decaying = ac.System(
        lambda t, q, v, params: weight(t, params) * cloud.lagrangian(t, q, v, params),
        ac.Euclidean(3),
        {"kappa": k},
    )
    xi = hat(np.array(body_velocity(q[0], q[1], *v, np=np)))
    Jd = np.einsum("i,ij,ik->jk", masses, X, X)
    inertia = np.trace(Jd) * np.eye(3) - Jd

    def form(I):
        return np.trace(xi.T @ I @ xi) / 2

    np.testing.assert_allclose(kinetic, form(Jd), rtol=1e-13)
    assert abs(kinetic - form(inertia)) > 0.1
    np.testing.assert_allclose(decaying.L(2.0, q, v), np.exp(-2 * k) * form(Jd), rtol=1e-13)
    assert abs(decaying.L(2.0, q, v) - form(Jd)) > 0.1


def test_000_sec_1_theta_L_is_along_dq():
    """dA.dq = int EL.dq dt + [theta_L.(dq, dq')] with theta_L = dL/dq' dq; with dL/dq' dq' it
    fails.
    """
    q = function("x")
    equations = ac.symbolic(ac.from_sympy(q.diff(t) ** 2 * (1 + q) / 2 - q**3 / 3, (q,)))
    curve, variation = t**2 + 1, t**3 - 2 * t + 1

    def on(expr):
        return sp.sympify(expr).subs(q, curve).doit()

    L_q, L_v = (on(derivative(equations.L, part)) for part in (q, q.diff(t)))
    change = integral(L_q * variation + L_v * variation.diff(t))
    inside = integral(-on(equations.euler_lagrange[0]) * variation)
    vector = sp.Matrix([variation, variation.diff(t)])

    def boundary(row):
        return (on((row * vector)[0])).subs(t, 1) - (on((row * vector)[0])).subs(t, 0)

    assert change == inside + boundary(equations.theta_L.matrix)
    printed = sp.Matrix([[0, equations.momenta[0]]])
    assert change != inside + boundary(printed)


def test_000_sec_2_coadjoint_pairs_with_the_argument():
    """(ad*_xi mu) beta = mu(ad_xi beta) = mu.(xi x beta) gives Euler's equation; the printed
    eta(ad_xi eta) does not depend on beta and is zero.
    """
    w, dw, I, k = motion()
    mu, dmu = I * w, I * dw
    basis = np.eye(3)
    right = np.array([mu @ np.cross(w, beta) for beta in basis])
    printed = np.array([mu @ np.cross(w, mu) for _ in basis])
    np.testing.assert_allclose(dmu, right + k * mu, atol=1e-13)
    np.testing.assert_allclose(printed, 0.0, atol=1e-13)
    assert np.linalg.norm(dmu - printed - k * mu) > 1


def test_000_sec_3_discrete_flow_joins_the_two_legendre_transforms(pendulum):
    """psi_d = (F^-)^-1 o F^+: F^-(psi(q0, q1)) = F^+(q0, q1).

    With F^+ twice psi would leave (q0, q1) as it is.
    """
    d = ac.discrete(pendulum, ac.Midpoint())
    q0, q1 = jnp.array([0.5]), jnp.array([0.62])
    after = d.flow(0.0, 0.1, q0, q1)
    plus = np.array(d.legendre_plus(0.0, 0.1, q0, q1))
    np.testing.assert_allclose(np.array(d.legendre_minus(0.0, 0.1, *after)), plus, atol=1e-12)
    assert np.max(np.abs(np.array(d.legendre_plus(0.0, 0.1, *after)) - plus)) > 0.05


def test_000_sec_3_action_has_the_term_of_k_0():
    """dA_d.dq_d is the sum of dL_d^k from k = 0; the one from k = 1 lacks D2 L_d^0 dq_1."""
    d = ac.discrete(magnetic_particle.system, ac.Trapezoid())
    q = jnp.array([[1.0, 0.5, -0.2], [1.1, 0.4, 0.0], [1.3, 0.2, 0.1], [1.2, 0.3, 0.4]])
    dq = jnp.array([[0.0, 0.0, 0.0], [0.3, -0.1, 0.2], [0.1, 0.4, -0.5], [0.0, 0.0, 0.0]])
    h, N = 0.1, 3

    def action(q):
        return sum(d.Ld(k * h, h, q[k], q[k + 1]) for k in range(N))

    terms = [
        d.D1(k * h, h, q[k], q[k + 1]) @ dq[k] + d.D2(k * h, h, q[k], q[k + 1]) @ dq[k + 1]
        for k in range(N)
    ]
    change = jax.jvp(action, (q,), (dq,))[1]
    np.testing.assert_allclose(change, sum(terms), rtol=1e-12)
    assert abs(change - sum(terms[1:])) > 0.1
