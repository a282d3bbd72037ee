"""Systems that are given by H: the same motions as by L, in closed form and by Newton's method."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.stepping.variational import is_explicit
from accion.systems.hamiltonian import Form

C = 1.5
INERTIA = jnp.array([1.0, 2.0, 3.0])
PLANE, LINE = ac.Euclidean(2), ac.Euclidean(1)


def form_of(system: Any) -> Form:
    return system.lagrangian.form


def harmonic(q):
    return 0.5 * q @ q


def relativistic_H(t, q, p, params):
    return params["c"] * jnp.sqrt((params["m"] * params["c"]) ** 2 + p @ p) + harmonic(q)


def relativistic_L(t, q, v, params):
    c = params["c"]
    return -params["m"] * c**2 * jnp.sqrt(1 - v @ v / c**2) - harmonic(q)


def support_H(t, q, p, params):
    """A pendulum whose support moves by a sin t along the horizontal."""
    rate = params["a"] * jnp.cos(t)
    kinetic = 0.5 * (p[0] - rate * jnp.cos(q[0])) ** 2 - 0.5 * rate**2
    return kinetic - params["g"] * jnp.cos(q[0])


def support_L(t, q, v, params):
    rate = params["a"] * jnp.cos(t)
    return (
        0.5 * v[0] ** 2
        + v[0] * rate * jnp.cos(q[0])
        + 0.5 * rate**2
        + (params["g"] * jnp.cos(q[0]))
    )


def polar_H(t, q, p, params):
    return 0.5 * (p[0] ** 2 + p[1] ** 2 / q[0] ** 2) - 1 / q[0]


def polar_L(t, q, v, params):
    return 0.5 * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2) + 1 / q[0]


def top_H(t, R, mu, params):
    return 0.5 * jnp.sum(mu**2 / INERTIA) + params["g"] * R[2, 2]


def top_L(t, R, omega, params):
    return 0.5 * jnp.sum(INERTIA * omega**2) - params["g"] * R[2, 2]


def friction(t, q, v, params):
    return -0.2 * v


PARAMS = {"m": 1.3, "c": C, "g": 0.8, "a": 0.4}
CASES = {
    "relativistic": (relativistic_H, relativistic_L, PLANE, [0.3, 0.5], [0.9, -1.1], {}),
    "moving support": (support_H, support_L, LINE, [0.3], [0.4], {}),
    "polar": (polar_H, polar_L, PLANE, [1.0, 0.5], [0.1, 1.1], {"force": friction}),
    "top": (top_H, top_L, ac.SO3(), np.eye(3), [0.1, 1.1, 0.3], {}),
}
GIVEN = {
    name: ac.HamiltonianSystem(H, space, PARAMS, **more)
    for name, (H, _, space, _, _, more) in CASES.items()
}
FORMS = {
    "relativistic": Form(False, quadratic=False, diagonal=False, constant=False, magnetic=True),
    "moving support": Form(True, quadratic=True, diagonal=True, constant=False, magnetic=True),
    "polar": Form(False, quadratic=True, diagonal=True, constant=False, magnetic=False),
    "top": Form(False, quadratic=True, diagonal=True, constant=True, magnetic=False),
}


@pytest.mark.parametrize("name", CASES)
def test_motions_are_those_of_the_lagrangian(name):
    _, L, space, q0, v0, more = CASES[name]
    system, other = GIVEN[name], ac.System(L, space, PARAMS, **more)
    assert form_of(system) == FORMS[name]
    run = {"q0": q0, "h": 0.05, "steps": 60}
    found = ac.simulate(system, ac.Midpoint(), v0=v0, **run)
    wanted = ac.simulate(other, ac.Midpoint(), v0=v0, **run)
    started = ac.simulate(system, ac.Midpoint(), p0=wanted.p[0], **run)
    for field in ("q", "v", "p"):
        np.testing.assert_allclose(getattr(found, field), getattr(wanted, field), atol=2e-13)
    np.testing.assert_allclose(started.q, wanted.q, atol=2e-13)
    np.testing.assert_allclose(found.energy(), wanted.energy(), atol=2e-13)


def test_the_energy_is_the_hamiltonian():
    system, q, v = GIVEN["relativistic"], jnp.array([0.2, 0.1]), jnp.array([0.6, -0.9])
    p = system.legendre(0.0, q, v)
    gamma = 1 / np.sqrt(1 - v @ v / C**2)
    np.testing.assert_allclose(p, PARAMS["m"] * gamma * v, rtol=1e-14)
    H = relativistic_H(0.0, q, p, PARAMS)
    np.testing.assert_allclose(system.energy(0.0, q, v), H, rtol=1e-14)
    np.testing.assert_allclose(system.velocity(0.0, q, p, v), v, rtol=1e-14)


def test_derivatives_are_those_of_the_closed_form():
    """First, second and third ones, by everything that L depends on."""
    system = GIVEN["relativistic"]
    at = jnp.array([0.2, 0.1, 0.6, -0.9, 1.3, 1.5])

    def given(x):
        own = system.with_params({**PARAMS, "m": x[4], "c": x[5]})
        return own.L(0.0, x[:2], x[2:4])

    def closed(x):
        return relativistic_L(0.0, x[:2], x[2:4], {"m": x[4], "c": x[5]})

    for derivative in (jax.grad, jax.hessian, lambda f: jax.jacfwd(jax.hessian(f))):
        found, wanted = jax.jit(derivative(given))(at), derivative(closed)(at)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)


def test_an_electron_near_the_speed_of_light():
    """In SI units: neither p = 0 nor one is near to the momentum."""
    m, c = 9.1093837e-31, 299792458.0

    def H(t, q, p, params):
        return c * jnp.sqrt((m * c) ** 2 + p @ p)

    system = ac.HamiltonianSystem(H, 2)
    for part in (1e-6, 0.5, 0.999999):
        v = part * c * np.array([0.6, -0.8])
        p = system.legendre(0.0, jnp.zeros(2), jnp.asarray(v))
        np.testing.assert_allclose(p, m * v / np.sqrt((1 - part) * (1 + part)), rtol=1e-9)
    assert np.isnan(system.L(0.0, jnp.zeros(2), jnp.array([1.1 * c, 0.0])))


def test_where_the_hessian_vanishes_at_rest():
    """H = p^4/4 in units in which the momentum is far from one: the guess is found along v."""
    for size in (1e-9, 1.0, 1e9):
        system = ac.HamiltonianSystem(lambda t, q, p, u: jnp.sum(p**4) / 4 / u**3, 2, size)
        v = jnp.array([8.0, -0.001])
        np.testing.assert_allclose(
            system.legendre(0.0, jnp.zeros(2), v), size * np.cbrt(v), rtol=1e-12
        )


def test_steps_of_a_constant_mass_are_explicit():
    def H(t, q, p, params):
        return jnp.sum(p**2 / params["m"]) / 2 + jnp.sum(jnp.cosh(q)) + t * q[0]

    m = np.array([1.0, 2.0])
    system = ac.HamiltonianSystem(H, PLANE, {"m": m})
    twin = ac.mechanical(m, lambda t, q, params: jnp.sum(jnp.cosh(q)) + t * q[0], 2)
    assert is_explicit(system, ac.Trapezoid())
    run = {"q0": [0.3, 0.5], "p0": [0.2, -0.1], "h": 0.1, "steps": 50}
    found, wanted = (ac.simulate(s, ac.Trapezoid(), **run) for s in (system, twin))
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-14)
    assert np.all(found.iterations == 0)


def test_a_magnetic_field():
    """H = |p - A|^2/2 with a mass that is a full matrix in other coordinates."""
    M = np.array([[2.0, 0.3], [0.3, 1.0]])

    def A(q):
        return 0.7 * jnp.array([-q[1], q[0] ** 2])

    def H(t, q, p, params):
        kinetic = p - A(q)
        return 0.5 * kinetic @ (np.linalg.inv(M) @ kinetic) + harmonic(q)

    system = ac.HamiltonianSystem(H, PLANE)
    twin = ac.mechanical(M, lambda t, q, params: harmonic(q), 2, magnetic=lambda q, params: A(q))
    assert form_of(system).constant
    assert not is_explicit(system, ac.Trapezoid())
    run = {"q0": [0.3, 0.5], "v0": [0.2, -0.1], "h": 0.1, "steps": 20}
    found, wanted = (ac.simulate(s, ac.Midpoint(), **run) for s in (system, twin))
    np.testing.assert_allclose(found.p, wanted.p, atol=1e-13)


def test_the_toda_lattice_keeps_its_eigenvalues():
    """Three masses on a ring: H = |p|^2/2 + sum exp(q_i - q_i+1), whose Lax matrix has constant
    eigenvalues (Flaschka).
    """

    def H(t, q, p, params):
        return 0.5 * p @ p + jnp.sum(jnp.exp(q - jnp.roll(q, -1)))

    def eigenvalues(q, p):
        a, b = np.exp((q - np.roll(q, -1)) / 2) / 2, -p / 2
        L = np.diag(b)
        for i in range(3):
            L[i, (i + 1) % 3] += a[i]
            L[(i + 1) % 3, i] += a[i]
        return np.linalg.eigvalsh(L)

    run = {"q0": [0.3, -0.4, 0.2], "p0": [0.5, -0.1, 0.7], "h": 0.1, "steps": 100}
    traj = ac.simulate(ac.HamiltonianSystem(H, 3), ac.Composition(ac.Trapezoid(), 8), **run)
    first, last = (eigenvalues(traj.q[k], traj.p[k]) for k in (0, -1))
    np.testing.assert_allclose(last, first, atol=1e-9)


def test_constraints():
    """The bob of a pendulum in the plane, and its vakonomic sibling."""

    def kappa(t, q, v, params):
        return (v[1] - q[0] * v[0])[None]

    def phi(t, q, params):
        return 0.5 * (q @ q - 1)[None]

    def H(t, q, p, params):
        return 0.5 * p @ p + 0.8 * q[1]

    def L(t, q, v, params):
        return 0.5 * v @ v - 0.8 * q[1]

    run = {"q0": [1.0, 0.0], "h": 0.05, "steps": 10}
    for more, start in (
        ({"holonomic": phi}, {"v0": [0.0, 0.3]}),
        ({"vakonomic": kappa}, {"v0": [0.3, 0.3], "lam0": [0.2]}),
    ):
        pair = (ac.HamiltonianSystem(H, PLANE, **more), ac.System(L, PLANE, **more))
        found, wanted = (ac.simulate(s, ac.Midpoint(), **run, **start) for s in pair)
        np.testing.assert_allclose(found.q, wanted.q, atol=1e-13)


@pytest.mark.parametrize(
    ("H", "words"),
    [
        (lambda t, q, p, params: p[0] ** 2 / 2 + p[1] * q[0], "along 1 dp_q2"),
        (lambda t, q, p, params: jnp.sqrt(p @ p), "1 dp_q"),
        (lambda t, q, p, params: (p[0] - p[1]) ** 2, "along 1 dp_q1 \\+ 1 dp_q2"),
        (lambda t, q, p, params: p, "hamiltonian must return a scalar"),
        (lambda t, q, v: v, "hamiltonian takes 4 arguments"),
        (lambda t, q, p, params: p[2] ** 2, "hamiltonian"),
    ],
)
def test_what_has_no_legendre_transform(H, words):
    with pytest.raises(ValueError, match=words):
        ac.HamiltonianSystem(H, 2)


def test_a_weight_is_refused():
    with pytest.raises(ValueError, match="weight is a factor of a Lagrangian"):
        ac.HamiltonianSystem(relativistic_H, 2, PARAMS, weight=lambda t, params: 1.0 + t)


def test_order_and_symplecticity():
    system, start = GIVEN["relativistic"], {"q0": [0.3, 0.5], "v0": [0.9, -0.6]}
    found = ac.analysis.order(system, ac.Midpoint(), **start, duration=1.0, h=[0.1, 0.05, 0.025])
    assert abs(float(found) - 2) < 0.1
    p = system.legendre(0.0, jnp.array(start["q0"]), jnp.array(start["v0"]))
    defect = ac.analysis.symplecticity(system, ac.Midpoint(), q0=start["q0"], p0=p, h=0.1)
    assert float(defect) < 1e-12
