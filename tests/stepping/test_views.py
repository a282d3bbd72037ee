"""The discrete objects against formulas derived by hand, SymPy and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.checks import check_method
from accion.gallery import double_pendulum
from accion.methods import Adjoint
from tests.helpers import central_difference

METHODS = [ac.LeftRectangle(), ac.RightRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3)]
NODES = {
    "LeftRectangle": [(1, 0)],
    "RightRectangle": [(1, 1)],
    "Midpoint": [(1, 0.5)],
    "Trapezoid": [(0.5, 0), (0.5, 1)],
    "Alpha": [(1, 0.3)],
}
T, H = 0.7, 0.1


def lagrangian(t, q, v, params):
    return (
        jnp.exp(-0.2 * t)
        * (0.5 * (1 + q[1] ** 2) * v[0] ** 2 + 0.8 * v[1] ** 2 + 0.3 * q[0] * v[0] * v[1])
        - jnp.cos(q[0]) * q[1] ** 3
    )


def force(t, q, v, params):
    return jnp.array([-0.4 * v[0] * q[1] + t, jnp.sin(q[0]) - v[1] ** 3])


SYSTEM = ac.System(lagrangian, ac.Euclidean(2), force=force)
Q0, Q1, Q2 = jnp.array([0.4, -0.3]), jnp.array([0.47, -0.21]), jnp.array([0.52, -0.15])


def sympy_discrete(method):
    """Ld and its derivatives by SymPy, from the definition h sum_i w_i L(t_i, q_i, v_i)."""
    a = sp.symbols("a0 a1 b0 b1")
    q0, q1 = a[:2], a[2:]

    def L(t, q, v):
        return (
            sp.exp(-t / 5)
            * ((1 + q[1] ** 2) * v[0] ** 2 / 2 + 0.8 * v[1] ** 2 + 0.3 * q[0] * v[0] * v[1])
            - sp.cos(q[0]) * q[1] ** 3
        )

    v = [(y - x) / H for x, y in zip(q0, q1, strict=True)]
    Ld = sum(
        H * w * L(T + c * H, [(1 - c) * x + c * y for x, y in zip(q0, q1, strict=True)], v)
        for w, c in NODES[type(method).__name__]
    )
    values = dict(zip(a, [*map(float, Q0), *map(float, Q1)], strict=True))

    def number(e):
        return float(e.subs(values))

    D = [number(sp.diff(Ld, x)) for x in a]
    return number(Ld), D[:2], D[2:], [[number(sp.diff(Ld, x, y)) for y in q1] for x in q0]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_discrete_lagrangian_and_its_derivatives_against_sympy(method):
    d = ac.discrete(SYSTEM, method)
    Ld, D1, D2, D12 = sympy_discrete(method)
    np.testing.assert_allclose(d.Ld(T, H, Q0, Q1), Ld, rtol=1e-14)
    np.testing.assert_allclose(d.D1(T, H, Q0, Q1), D1, rtol=1e-13)
    np.testing.assert_allclose(d.D2(T, H, Q0, Q1), D2, rtol=1e-13)
    np.testing.assert_allclose(d.D12(T, H, Q0, Q1), D12, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_derivatives_against_finite_differences(method):
    d = ac.discrete(SYSTEM, method)
    np.testing.assert_allclose(
        d.D1(T, H, Q0, Q1), central_difference(lambda q: d.Ld(T, H, q, Q1), Q0), atol=1e-8
    )
    np.testing.assert_allclose(
        d.D2(T, H, Q0, Q1), central_difference(lambda q: d.Ld(T, H, Q0, q), Q1), atol=1e-8
    )
    np.testing.assert_allclose(
        d.D12(T, H, Q0, Q1), central_difference(lambda q: d.D1(T, H, Q0, q), Q1), atol=1e-6
    )


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_discrete_forces_are_the_pullback_of_the_force(method):
    """Fd^-.dq0 + Fd^+.dq1 = h sum_i w_i F_i.((1 - c_i) dq0 + c_i dq1)."""
    d = ac.discrete(SYSTEM, method)
    minus, plus = np.zeros(2), np.zeros(2)
    for w, c in NODES[type(method).__name__]:
        F = np.asarray(force(T + c * H, (1 - c) * Q0 + c * Q1, (Q1 - Q0) / H, None))
        minus, plus = minus + H * w * (1 - c) * F, plus + H * w * c * F
    np.testing.assert_allclose(d.force_minus(T, H, Q0, Q1), minus, atol=1e-15)
    np.testing.assert_allclose(d.force_plus(T, H, Q0, Q1), plus, atol=1e-15)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_legendre_transforms_operator_and_flows_belong_together(method):
    d = ac.discrete(SYSTEM, method)
    q, p = d.legendre_minus(T, H, Q0, Q1)
    np.testing.assert_allclose(q, Q0)
    np.testing.assert_allclose(p, -d.D1(T, H, Q0, Q1) - d.force_minus(T, H, Q0, Q1), atol=1e-15)
    _, p1 = d.legendre_plus(T, H, Q0, Q1)
    np.testing.assert_allclose(p1, d.D2(T, H, Q0, Q1) + d.force_plus(T, H, Q0, Q1), atol=1e-15)
    # The Hamiltonian flow F^+ o (F^-)^-1 of one step, and the Lagrangian flow, which solves the
    # discrete Euler-Lagrange equations.
    ahead, momentum = d.hamiltonian_flow(T, H, q, p)
    np.testing.assert_allclose(ahead, Q1, atol=1e-14)
    np.testing.assert_allclose(momentum, p1, atol=1e-13)
    first, second = d.flow(T, H, Q0, Q1)
    np.testing.assert_allclose(first, Q1)
    np.testing.assert_allclose(d.euler_lagrange(T, H, Q0, Q1, second), 0, atol=1e-14)
    expected = (
        d.D2(T, H, Q0, Q1)
        + d.D1(T + H, H, Q1, Q2)
        + d.force_plus(T, H, Q0, Q1)
        + d.force_minus(T + H, H, Q1, Q2)
    )
    np.testing.assert_allclose(d.euler_lagrange(T, H, Q0, Q1, Q2), expected, atol=1e-14)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_lagrangian_of_second_order(method):
    """Colombo-Eyrea, section 3: the Euler-Lagrange operator is the derivative of Ld_hat by the
    middle configuration, where no force acts.
    """
    system = ac.System(lagrangian, ac.Euclidean(2))
    d = ac.discrete(system, method)
    middle = jax.grad(lambda e: d.Ld_hat(T, H, Q0, system.space.retract(Q1, e), Q2))(jnp.zeros(2))
    np.testing.assert_allclose(middle, d.euler_lagrange(T, H, Q0, Q1, Q2), rtol=1e-13)
    np.testing.assert_allclose(
        d.Ld_hat(T, H, Q0, Q1, Q2), d.Ld(T, H, Q0, Q1) + d.Ld(T + H, H, Q1, Q2), rtol=1e-15
    )
    assert np.max(np.abs(middle)) > 1e-3


def test_finite_difference_reproduces_the_midpoint_rule():
    own = ac.FiniteDifference(lambda h, q0, q1: [(1.0, 0.5, (q0 + q1) / 2, (q1 - q0) / h)])
    run = {"q0": Q0, "v0": [0.3, 0.4], "h": 0.05, "steps": 100, "t0": 1.0}
    a, b = (ac.simulate(SYSTEM, method, **run) for method in (own, ac.Midpoint()))
    np.testing.assert_allclose(a.q, b.q, atol=1e-12)
    np.testing.assert_allclose(a.p, b.p, atol=1e-12)


def test_finite_difference_of_a_fourth_kind_has_its_order():
    """Simpson's weights on the straight line: order 2, like every rule that samples one
    velocity.
    """
    simpson = ac.FiniteDifference(
        lambda h, a, b: [
            (w, c, (1 - c) * a + c * b, (b - a) / h)
            for w, c in ((1 / 6, 0.0), (2 / 3, 0.5), (1 / 6, 1.0))
        ]
    )
    system = double_pendulum.system
    measured = ac.analysis.order(
        system, simpson, q0=[1.0, 1.5], v0=[0.0, 0.0], duration=1.0, h=[1 / 100, 1 / 200, 1 / 400]
    )
    assert abs(measured.slope - 2) < 0.05
    assert ac.analysis.symplecticity(system, simpson, q0=[1.0, 1.5], v0=[0.3, 0.1], h=0.05) < 1e-14


@pytest.mark.parametrize(
    ("psi", "words"),
    [
        (3, "needs a function"),
        (lambda h, a, b: [(0.5, 0.5, a, (b - a) / h)], "add up to 1"),
        (lambda h, a, b: (a, (b - a) / h), "list of samples"),
        (lambda h, a, b: [(1.0, 0.5, a, jnp.zeros(3))], r"shape \(2,\)"),
        (
            lambda h, a, b: [(1.0, 0.5, a[0], (b - a) / h)],
            r"configuration must be one of Euclidean\(n=2\), of shape \(2,\); psi returned \(\)",
        ),
        (
            lambda a, b: [(1.0, 0.5, a, b - a)],
            r"takes 2 positional arguments.*arguments are \(h, q0, q1\)",
        ),
        (
            lambda t, h, a, b: [(1.0, 0.5, a, (b - a) / h)],
            r"missing 1 required.*arguments are \(h, q0, q1\)",
        ),
        (
            lambda a, b, h: [(1.0, 0.5, (a + b) / 2, (b - a) / h)],
            r"psi\(h, q, q\) must be 0_q.*in this order",
        ),
        (
            lambda h, a, b: [(1.0, 0.5, a + b, (b - a) / h)],
            r"psi\(h, q, q\) must be 0_q.*sample 0 is off by 0.5",
        ),
        (
            lambda h, a, b: [(1.0, 0.5, (a + b) / 2, 2 * (b - a) / h)],
            r"must be \(q1 - q0\)/h, but it is 2 times that",
        ),
        (
            lambda h, a, b: [(0.5, 0.0, a, (b - a) / h), (0.5, 1.0, b, b - a)],
            "sample 1 .*it is 0.37 times that, at h = 0.37",
        ),
        (
            lambda h, a, b: [(1.0, 0.0, a, (b - a)[::-1] / h)],
            r"h dv/dq1 = \[\[0.0, 1.0\], \[1.0, 0.0\]\]",
        ),
    ],
)
def test_bad_finite_difference_is_named(psi, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(SYSTEM, ac.FiniteDifference(psi), q0=Q0, v0=[0.0, 0.0], h=0.1, steps=1)


def test_a_finite_difference_is_looked_at_on_every_space_and_inside_other_methods():
    space = ac.SO3()

    def psi(factor):
        return lambda h, a, b: [(1.0, 0.5, a, factor * space.local(a, b) / h)]

    top = ac.System(lambda t, g, w, p: 0.5 * w @ w, space)
    ac.discrete(top, ac.FiniteDifference(psi(1.0)))
    with pytest.raises(ValueError, match=r"it is 0\.5 times that"):
        ac.discrete(top, ac.FiniteDifference(psi(0.5)))
    slow = ac.FiniteDifference(lambda h, a, b: [(1.0, 0.0, a, (b - a) / (2 * h))])
    gas = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S), ac.Euclidean(1))
    tuple_wise = ac.FiniteDifference(
        lambda h, a, b: [
            (1.0, 0.0, a, jnp.concatenate([(y - x) / (2 * h) for x, y in zip(a, b, strict=True)]))
        ]
    )
    for method, system in ((Adjoint(slow), SYSTEM), (ac.EnergyConsistent(tuple_wise), gas)):
        with pytest.raises(ValueError, match=r"it is 0\.5 times that"):
            check_method(system, method)
    # Also where JAX is tracing.
    with pytest.raises(ValueError, match=r"it is 0\.5 times that"):
        jax.jit(lambda q: ac.discrete(ac.System(lagrangian, ac.Torus(2)), slow).Ld(T, H, q, q))(Q0)


@pytest.mark.parametrize("a", [-0.1, 1.5, float("nan"), "x", None])
def test_bad_alpha_is_named(a):
    with pytest.raises(ValueError, match="0 <= a <= 1"):
        ac.Alpha(a)


def test_on_a_product_space_with_a_force():
    """Cartesian coordinates and an angle in a tuple: the same motion as on R^3, force included."""

    def L3(t, q, v, params):
        return 0.5 * jnp.sum(v**2) - 0.5 * jnp.sum(q[:2] ** 2) + jnp.cos(q[2]) * (1 + 0.1 * q[0])

    def F3(t, q, v, params):
        return -0.1 * v * (1 + q[2] ** 2)

    def join(f):
        return lambda t, q, v, params: f(t, jnp.concatenate(q), v, params)

    flat = ac.System(L3, ac.Euclidean(3), force=F3)
    pair = ac.System(join(L3), ac.Product(ac.Euclidean(2), ac.Torus(1)), force=join(F3))
    run = {"v0": [0.1, 0.2, 0.3], "h": 0.05, "steps": 50}
    for method in (ac.Trapezoid(), ac.Alpha(0.3)):
        a = ac.simulate(flat, method, q0=[0.3, -0.2, 0.9], **run)
        b = ac.simulate(pair, method, q0=([0.3, -0.2], [0.9]), **run)
        np.testing.assert_allclose(np.concatenate(b.q, axis=-1), a.q, atol=1e-13)
        np.testing.assert_allclose(b.energy(), a.energy(), atol=1e-13)
    np.testing.assert_allclose(
        ac.accelerations(pair)(
            0.0, (jnp.array([0.3, -0.2]), jnp.array([0.9])), jnp.array([0.1, 0.2, 0.3])
        ),
        ac.accelerations(flat)(0.0, jnp.array([0.3, -0.2, 0.9]), jnp.array([0.1, 0.2, 0.3])),
        rtol=1e-9,
        atol=1e-14,
    )
    q, v = ac.reference(pair, q0=([0.3, -0.2], [0.9]), v0=[0.1, 0.2, 0.3], ts=[0.0, 1.0])
    q3, v3 = ac.reference(flat, q0=[0.3, -0.2, 0.9], v0=[0.1, 0.2, 0.3], ts=[0.0, 1.0])
    np.testing.assert_allclose(jnp.concatenate(q, axis=-1), q3, atol=1e-12)
    np.testing.assert_allclose(v, v3, atol=1e-12)


def test_printed_forms_of_the_documents_fail():
    """Colombo-Gamonal, eq (20), (18): with the printed factors the discrete Euler-Lagrange
    equations do not hold, with the corrected ones they do.
    """
    kappa, h, k = -0.5, 0.05, 3

    def V(q):
        return 0.25 * q**4

    system = ac.mechanical(
        1.0, lambda t, q, params: V(q[0]), 1, weight=lambda t, params: jnp.exp(-kappa * t)
    )
    q = [0.3, 0.33]
    q.append(
        float(
            ac.discrete(system, ac.Trapezoid()).flow(
                k * h, h, jnp.array([q[0]]), jnp.array([q[1]])
            )[1][0]
        )
    )

    def e(j):
        return np.exp(-kappa * h * j)

    inertial = (q[1] - q[0]) * e(k) - (q[2] - q[1]) * e(k + 2) - e(k + 1) * (q[0] - 2 * q[1] + q[2])
    grad = jax.grad(V)(q[1])
    assert abs(inertial - e(k + 1) * 2 * h**2 * grad) < 1e-15
    assert abs(inertial - e(k + 1) * h * grad) > 1e-4
