"""Bonich, thermomechanical Lagrangian systems: chapter 2, without entropies;
`test_001_thermal.py` has the others.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.gallery import damped_spring, rolling_disk
from tests.errata.forms import differ, function, h, nodes, same, side, symbols, t

m, eta, lam = symbols("m eta lam")


def test_001_nota_2_3_gravity_needs_the_mass():
    """L = 1/2 m |x'|^2 + G M m/|x| gives x'' = -G M x/|x|^3 for every m; printed with G M/|x|, m
    stays in it; and V = -G M m/|x|, for L = K - V.
    """
    q = [function(name) for name in ("x", "y", "z")]
    G, M = symbols("G M")
    r = sp.sqrt(sum(c**2 for c in q))
    K = m * sum(c.diff(t) ** 2 for c in q) / 2

    def falls(V):
        return ac.symbolic(ac.from_sympy(K - V, q, {"G": 1.0, "M": 2.0, "m": 3.0})).accelerations[0]

    newton = -G * M * q[0] / r**3
    assert same(falls(-G * M * m / r), newton)
    assert differ(falls(-G * M / r), newton)
    assert same(falls(G * M * m / r), -newton)


def test_001_ex_2_16_solution_starts_with_its_velocity():
    """In the underdamped solution 2 m v0 + lam x0 stands where x0 (2 m v0 - x0) is printed."""
    x, x0, v0 = function("x"), *symbols("x0 v0")
    (equation,) = ac.symbolic(damped_spring.system).equations
    root = sp.sqrt(4 * eta * m - lam**2)
    wave = root / (2 * m) * t

    def solution(second):
        return sp.exp(-t * lam / (2 * m)) * (x0 * sp.cos(wave) + second / root * sp.sin(wave))

    right, printed = solution(2 * m * v0 + lam * x0), solution(x0 * (2 * m * v0 - x0))
    for curve in (right, printed):
        assert same(side(equation).subs(x, curve).doit(), 0)
        assert same(curve.subs(t, 0), x0)

    def start(curve):
        return curve.diff(t).subs(t, 0)

    assert same(start(right), v0)
    data = {eta: 2, m: 2, lam: sp.Rational(3, 10), x0: sp.Rational(3, 10), v0: 0}
    assert start(printed).subs(data) == sp.Rational(-9, 200)


def test_001_ex_2_16_critical_damping_has_another_solution():
    """At lam^2 = 4 eta m the two printed exponentials are one; the general solution is (A1 + A2 t)
    e^{-lam t/2m}.
    """
    x, A1, A2 = function("x"), *symbols("A1 A2")
    (equation,) = ac.symbolic(damped_spring.system).equations
    critical = side(equation).subs(eta, lam**2 / (4 * m))
    right = (A1 + A2 * t) * sp.exp(-lam * t / (2 * m))
    assert same(critical.subs(x, right).doit(), 0)
    root = sp.sqrt(lam**2 - 4 * eta * m)
    printed = A1 * sp.exp(-t * (root + lam) / (2 * m)) + A2 * sp.exp(t * (root - lam) / (2 * m))

    def start(curve):
        return sp.Matrix([curve, curve.diff(t)]).subs({t: 0, eta: lam**2 / (4 * m)})

    def rank(curve):
        return start(curve).jacobian([A1, A2]).rank()

    assert (rank(right), rank(printed)) == (2, 1)


def recurrence(eta):
    """(2.5): x_k+1 from x_k-1 and x_k."""
    before, here, _ = nodes("x")
    return ((2 - h**2 * eta / m + h * lam / m) * here - before) / (1 + h * lam / m)


def test_001_ex_2_22_discrete_lagrangian_has_eta_x_squared():
    """L_d with eta (x^-)^2/2 gives (2.5); with the printed (eta x^-)^2/2 it has eta^2."""
    spring = ac.symbolic(damped_spring.system).discrete(ac.LeftRectangle())
    (right,) = spring.explicit.values()
    x = function("x")
    L = m * x.diff(t) ** 2 / 2 - (eta * x) ** 2 / 2
    system = ac.from_sympy(L, (x,), {"m": 2.0, "eta": 2.0, "lam": 0.3}, force=(-lam * x.diff(t),))
    (printed,) = ac.symbolic(system).discrete(ac.LeftRectangle()).explicit.values()
    assert same(right, recurrence(eta))
    assert differ(printed, recurrence(eta))
    assert same(printed, recurrence(eta**2))


def closed_form(k, x0, x1, theta, r):
    """(2.6)."""
    return x1 * r ** (1.0 - k) * np.sin(k * theta) / np.sin(theta) - x0 * r ** (-1.0 * k) * np.sin(
        (k - 1) * theta
    ) / np.sin(theta)


def test_001_eq_2_6_sign_of_the_friction():
    """cos(theta) = (1 - h/(2m) (h eta - lam))/sqrt(1 + h lam/m); printed with + lam."""
    p, h, k = damped_spring.system.params, 0.1, np.arange(201)
    traj = ac.simulate(damped_spring.system, ac.LeftRectangle(), q0=[0.3], q1=[0.3], h=h, steps=200)
    x = np.asarray(traj.q)[:, 0]
    r = np.sqrt(1 + h * p["lam"] / p["m"])

    def theta(sign):
        return np.arccos((1 - h / (2 * p["m"]) * (h * p["eta"] + sign * p["lam"])) / r)

    np.testing.assert_allclose(closed_form(k, 0.3, 0.3, theta(-1), r), x, atol=1e-13)
    assert np.max(np.abs(closed_form(k, 0.3, 0.3, theta(1), r) - x)) == pytest.approx(
        0.476, abs=1e-3
    )


def test_001_ex_2_28_theta_is_the_rolling_angle():
    """The point that touches the plane is at rest if theta turns about the axle; if it turns about
    the vertical, as printed, the disk slides.
    """
    system = rolling_disk.system
    R = system.params["R"]
    q = jnp.array([0.2, -0.1, 0.7, 0.4])
    _, v = ac.project(system, q, jnp.array([0.3, 0.5, 2.0, 1.2]))
    dx, dy, dtheta, dphi = map(float, v)
    vertical, axle = np.array([0.0, 0.0, 1.0]), np.array([-np.sin(q[3]), np.cos(q[3]), 0.0])
    center, to_contact = np.array([dx, dy, 0.0]), np.array([0.0, 0.0, -R])

    def contact(spin):
        return center + np.cross(spin, to_contact)

    assert abs(dtheta) > 0.5
    np.testing.assert_allclose(contact(dtheta * axle + dphi * vertical), 0.0, atol=1e-14)
    assert np.linalg.norm(contact(dtheta * vertical + dphi * axle)) > 0.01
    # A disk of radius R: I, about the axle, is twice J, about a diameter.
    assert system.params["I"] == system.params["m"] * R**2 / 2 == 2 * system.params["J"]


def test_001_def_2_29_discrete_lagrangian_of_two_configurations(pendulum):
    """L_d is a function on Q x Q: an end that is turned once more is the same configuration.

    On TQ the velocity would be another.
    """
    d = ac.discrete(pendulum, ac.Midpoint())
    h, q0, q1 = 0.1, jnp.array([0.5]), jnp.array([0.6])
    turned = q1 + 2 * jnp.pi
    np.testing.assert_allclose(d.Ld(0.0, h, q0, turned), d.Ld(0.0, h, q0, q1), rtol=1e-12)

    def on_velocities(q1):
        return h * pendulum.L(0.0, (q0 + q1) / 2, (q1 - q0) / h)

    np.testing.assert_allclose(on_velocities(q1), d.Ld(0.0, h, q0, q1), rtol=1e-12)
    assert abs(on_velocities(turned) - on_velocities(q1)) > 1


def constraint_of_each_step(q):
    """C_K^d of Ex 2.32 on each pair (q_k, q_k+1)."""
    dx, dy, dtheta, _ = np.diff(q, axis=0).T
    middle, R = (q[1:, 3] + q[:-1, 3]) / 2, rolling_disk.PARAMS["R"]
    return np.abs(
        np.stack([dx - R * np.cos(middle) * dtheta, dy - R * np.sin(middle) * dtheta])
    ).max(axis=0)


def test_001_def_2_30_first_step_is_constrained_too():
    """(q_k, q_k+1) is in C_K^d for k = 0, ..., N-1.

    From k = 1 on, as printed, also curves whose first step slides would be trajectories.
    """
    d, h, R = ac.discrete(rolling_disk.system, ac.Midpoint()), 0.1, rolling_disk.PARAMS["R"]
    step = jax.jit(d.flow)
    q0, roll, turn = jnp.asarray(rolling_disk.Q0), 0.3, 0.12
    heading = q0[3] + turn / 2
    rolls = q0 + jnp.array([R * roll * jnp.cos(heading), R * roll * jnp.sin(heading), roll, turn])
    q = [q0, rolls]
    for k in range(3):
        q.append(step(k * h, h, *q[-2:])[1])
    assert constraint_of_each_step(np.stack(q)).shape == (4,)
    np.testing.assert_allclose(constraint_of_each_step(np.stack(q)), 0.0, atol=1e-14)
    q1 = rolls + jnp.array([0.05, -0.02, 0.0, 0.0])
    q2 = step(0.0, h, q0, q1)[1]
    slides = constraint_of_each_step(np.stack([q0, q1, q2]))
    assert slides[0] > 0.01
    assert slides[1] < 1e-14
    # The equation of motion at q1 holds, with a multiplier.
    A = np.array([[1, 0, -R * np.cos(q1[3]), 0], [0, 1, -R * np.sin(q1[3]), 0]])
    reaction = h * A.T @ jax.jit(d.multipliers)(0.0, h, q0, q1, q2)
    np.testing.assert_allclose(
        jax.jit(d.euler_lagrange)(0.0, h, q0, q1, q2) + reaction, 0.0, atol=1e-13
    )
