"""Exact discrete Lagrangians, against closed forms and the true motion."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import damped_spring
from tests.analysis.systems import DECAYING, METHODS
from tests.pairs.kinds import case
from tests.symbols.velocity_constraints import HEISENBERG, SYSTEMS

A = ac.analysis
VAKONOMIC_BODY = SYSTEMS["vakonomic body"]


def test_exact_discrete_lagrangian_of_the_oscillator():
    m, w, h, q0, q1 = 2.0, 1.3, 0.8, 0.7, -0.2
    exact = A.exact_discrete_lagrangian(
        ac.mechanical(m, lambda t, q, p: 0.5 * m * w**2 * q[0] ** 2, 1)
    )
    closed = m * w / (2 * np.sin(w * h)) * ((q0**2 + q1**2) * np.cos(w * h) - 2 * q0 * q1)
    assert float(exact(0.0, h, [q0], [q1])) == pytest.approx(closed, rel=1e-12)
    assert float(exact.D2(0.0, h, [q0], [q1])[0]) == pytest.approx(
        m * w / np.sin(w * h) * (q1 * np.cos(w * h) - q0), rel=1e-12
    )


def test_exact_momenta_are_those_of_the_motion():
    """-D1 and D2 are the momenta of the true motion, of a time-dependent nonlinear system."""
    q, v = ac.reference(DECAYING, q0=[1.2], v0=[0.4], ts=[0.1, 0.6], rtol=1e-13, atol=1e-13)
    exact = A.exact_discrete_lagrangian(DECAYING)
    np.testing.assert_allclose(
        exact.D1(0.1, 0.5, q[0], q[1]), -DECAYING.legendre(0.1, q[0], v[0]), rtol=1e-11
    )
    np.testing.assert_allclose(
        exact.D2(0.1, 0.5, q[0], q[1]), DECAYING.legendre(0.6, q[1], v[1]), rtol=1e-11
    )


def test_on_a_group():
    """A free body that turns by the angle a about a principal axis of moment I: I a^2/(2h)."""
    inertia, h, a = jnp.array([1.0, 2.0, 3.5]), 0.4, 0.7
    free = ac.System(lambda t, R, w, p: 0.5 * w @ (inertia * w), ac.SO3())
    start = ac.SO3().tau(jnp.array([0.3, -0.4, 0.8]))
    turned = ac.SO3().retract(start, jnp.array([0.0, a, 0.0]))
    exact = A.exact_discrete_lagrangian(free)
    assert float(exact(0.0, h, start, turned)) == pytest.approx(2.0 * a**2 / (2 * h), rel=1e-12)
    np.testing.assert_allclose(
        exact.D2(0.0, h, start, turned), [0, 2.0 * a / h, 0], rtol=1e-11, atol=1e-11
    )


def test_of_geodesics_of_heisenbergs_group():
    """z' = x y' - y x': circles with angular velocity 2 p_z, from the origin."""
    exact, c, h, w = A.exact_discrete_lagrangian(HEISENBERG), 0.7, 0.8, np.array([0.5, -0.3])
    a = 2 * c * h
    turn = np.array([[np.sin(a), np.cos(a) - 1], [1 - np.cos(a), np.sin(a)]]) / (2 * c)
    end = [*(turn @ w), w @ w * (a - np.sin(a)) / (2 * c) ** 2]
    S, D1, D2 = exact.evaluate(0.0, h, np.zeros(3), end)
    assert float(S) == pytest.approx(h * w @ w / 2, rel=1e-12)
    np.testing.assert_allclose(D1, [*-w, -c], rtol=1e-11)
    assert float(D2[2]) == pytest.approx(c, rel=1e-11)


@pytest.mark.slow
def test_of_a_vakonomic_motion_on_a_group():
    """Its ends and momenta are those of the continuous equations."""
    v0 = np.array([0.3, 0.2, 0.6])
    start = {"q0": np.eye(3), "v0": v0, "lam0": [0.4]}
    q, v, lam = ac.reference(VAKONOMIC_BODY, **start, ts=[0.1, 0.4], rtol=1e-13, atol=1e-13)
    p = [VAKONOMIC_BODY.legendre(t, q[i], v[i], lam[i]) for i, t in enumerate((0.1, 0.4))]
    exact = A.exact_discrete_lagrangian(VAKONOMIC_BODY)
    _, D1, D2 = exact.evaluate(0.1, 0.3, q[0], q[1])
    np.testing.assert_allclose(D1, -p[0], atol=1e-10)
    np.testing.assert_allclose(D2, p[1], atol=1e-10)


def test_under_a_holonomic_constraint():
    """A pendulum on its circle: the Ld of the angle; p is m l^2 phi' along the circle."""
    m, l, gravity, h = 1.5, 0.8, 9.81, 0.3
    rod = ac.System(
        lambda t, q, v, params: 0.5 * m * v @ v - m * gravity * q[1],
        ac.Euclidean(2),
        holonomic=lambda t, q, params: (q @ q - l**2)[None],
    )
    angle = ac.mechanical(m * l**2, lambda t, q, p: -m * gravity * l * jnp.cos(q[0]), 1)
    exact, own = A.exact_discrete_lagrangian(rod), A.exact_discrete_lagrangian(angle)

    def at(a):
        return l * np.array([np.sin(a), -np.cos(a)]), np.array([np.cos(a), np.sin(a)]) / l

    (q0, along0), (q1, along1) = at(0.4), at(0.9)
    S, D1, D2 = exact.evaluate(0.1, h, q0, q1)
    wanted, W1, W2 = own.evaluate(0.1, h, [0.4], [0.9])
    assert float(S) == pytest.approx(float(wanted), rel=1e-11)
    np.testing.assert_allclose(D1, W1 * along0, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(D2, W2 * along1, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="q1 is off the constraint"):
        exact(0.1, h, q0, 1.01 * q1)


def test_of_order_two():
    """L = a^2/2: between two positions and velocities a cubic, in closed form."""
    spline = ac.HigherOrderSystem(lambda t, q, v, a, params: 0.5 * a @ a, ac.Euclidean(1))
    h, (a, va), (b, vb) = 0.7, (0.2, -0.5), (0.9, 0.4)
    S, D1, D2 = A.exact_discrete_lagrangian(spline).evaluate(
        0.0, h, (np.array([a]), np.array([va])), (np.array([b]), np.array([vb]))
    )
    d = b - a - h * va
    w = vb - va
    wanted = (6 * d**2 - 6 * d * h * w + 2 * h**2 * w**2) / h**3
    assert float(S) == pytest.approx(wanted, rel=1e-11)
    # momenta p_1 = 2 c + 6 e t, p_0 = -6 e of q = a + va t + c t^2 + e t^3
    c, e = (3 * d - h * w) / h**2, (h * w - 2 * d) / h**3
    np.testing.assert_allclose(D1, [6 * e, -2 * c], rtol=1e-10)
    np.testing.assert_allclose(D2, [-6 * e, 2 * c + 6 * e * h], rtol=1e-10)


def test_of_motions_of_order_two():
    """A nonlinear one: momenta of the reference motion. Under a constraint of order two, which its
    ends hardly move against, Ld alone: the integral of L along the reference.
    """
    h = 0.2
    free, held = (
        case("HigherOrderSystem", "vectors"),
        case("HigherOrderSystem, vakonomic", "vectors"),
    )
    q, jets = ac.reference(free.system, **free.start, ts=[0.0, h], rtol=1e-12, atol=1e-12)
    p = [np.ravel(free.system.momenta(h * i, q[i], jets[i])) for i in range(2)]
    ends = [(q[i], jets[i][0]) for i in range(2)]
    _, D1, D2 = A.exact_discrete_lagrangian(free.system).evaluate(0.0, h, *ends)
    np.testing.assert_allclose(D1, -p[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(D2, p[1], rtol=1e-7, atol=1e-8)
    x, w = np.polynomial.legendre.leggauss(8)
    ts = np.concatenate([[0.0], h * (x + 1) / 2, [h]])
    q, jets, _ = ac.reference(held.system, **held.start, ts=ts, rtol=1e-12, atol=1e-12)
    L = [held.system.L(ts[i], q[i], jets[i][:2]) for i in range(1, 9)]
    ends = [(q[i], jets[i][0]) for i in (0, -1)]
    S = A.exact_discrete_lagrangian(held.system)(0.0, h, *ends)
    assert float(S) == pytest.approx(h / 2 * w @ np.array(L), rel=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_variational_order_is_the_order_of_the_method(method):
    found = A.variational_order(DECAYING, method, q0=[1.2], v0=[0.4], t0=0.1, h=[0.1, 0.05, 0.025])
    assert float(found) == pytest.approx(method.order, abs=0.1)


def test_exact_discrete_lagrangian_says_when_it_cannot():
    with pytest.raises(ValueError, match="does not support systems with a force"):
        A.exact_discrete_lagrangian(damped_spring.system)
    with pytest.raises(ValueError, match="does not support nonholonomic systems: their motions"):
        A.exact_discrete_lagrangian(SYSTEMS["skate"])
    with pytest.raises(ValueError, match="variational_order does not support vakonomic systems"):
        A.variational_order(HEISENBERG, ac.Midpoint(), q0=[0.0] * 3, v0=[0.0] * 3, h=[0.1, 0.05])
    with pytest.raises(ValueError, match="was not found"):
        A.exact_discrete_lagrangian(ac.mechanical(1.0, lambda t, q, p: -1 / jnp.abs(q[0]), 1))(
            0.0, 30.0, [1.0], [0.9]
        )
