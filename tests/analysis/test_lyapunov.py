"""Lyapunov exponents against closed forms, an independent integration and the pairs that they
come in.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import accion as ac
from accion.analysis.exponents import Begun, prepared
from accion.analysis.frames import to_frame
from tests.pairs.kinds import case

A = ac.analysis
MID = ac.Midpoint()


def hilly(t, q, params):
    """Henon and Heiles."""
    x, y = q
    return (x**2 + y**2) / 2 + x**2 * y - y**3 / 3


STAR = ac.mechanical(1.0, hilly, 2, params={}, name="star")
SEA = {"q0": [0.0, -0.15], "v0": [0.4728812, 0.0]}  # E = 1/8, chaotic


def test_a_saddle_has_the_exponents_of_its_discrete_map():
    # v' = w^2 q; a step of the midpoint rule is the Cayley transform, with the eigenvalues
    # (1 +- w h/2)/(1 -+ w h/2).
    w, h = 0.7, 0.2
    saddle = ac.mechanical(2.0, lambda t, q, params: -(w**2) * q[0] ** 2, 1)
    start = {"q0": [0.0], "v0": [0.0], "h": h, "steps": 200, "transient": 200}
    exact = np.log((1 + w * h / 2) / (1 - w * h / 2)) / h
    found = A.lyapunov(saddle, MID, **start)
    np.testing.assert_allclose(found.exponents, [exact, -exact], rtol=1e-9)
    assert abs(exact - w) < 1e-2
    assert float(found) == found.exponents[0]
    one = A.lyapunov(saddle, MID, **start, count=1)
    np.testing.assert_allclose(one.exponents, [exact], rtol=1e-9)
    assert one.pair_sums.size == 0
    assert np.isnan(one.pairing)


def test_oscillators_have_none_at_any_time_in_any_units():
    masses = np.array([1e-4, 3e5])

    def springs(t, q, params):
        return jnp.sum(masses * jnp.array([1.0, 7.0]) * q * q) / 2

    system = ac.mechanical(masses, springs, 2)
    found = A.lyapunov(system, MID, q0=[1e3, 2e-2], v0=[0.0, 0.0], h=0.2, steps=60)
    # The frame turns: not even the logarithm of a time is seen.
    assert np.max(np.abs(found.running)) < 1e-13


def test_the_standard_map():
    # LeftRectangle of a pendulum with h = 1: p' = p - K sin q, q' = q + p'; for large K the
    # exponent is ln(K/2) + 1/(K^2 - 4) to the next order (Chirikov 1979; Shevchenko 2004).
    K = 10.0
    rotor = ac.mechanical(1.0, lambda t, q, K: -K * jnp.cos(q[0]), ac.Torus(1), params=K)
    found = A.lyapunov(rotor, ac.LeftRectangle(), q0=[1.0], v0=[0.3], h=1.0, steps=100_000)
    exact = np.log(K / 2) + 1 / (K**2 - 4)
    assert abs(found.exponents[0] - exact) < 4 * found.uncertainty[0] < 0.02
    assert found.pairing < 1e-13
    assert abs(found.pair_sums[0]) < 1e-12

    def kicked(t, h, q0, q1, params):
        return (q1 - q0) @ (q1 - q0) / (2 * h) + h * K * jnp.cos(q0[0])

    given = ac.DiscreteSystem(kicked, ac.Torus(1))
    other = A.lyapunov(given, q0=[1.0], q1=[1.3], h=1.0, steps=5000)
    assert abs(other.exponents[0] - exact) < 0.06


def test_the_growth_is_that_of_the_variational_equations():
    h, steps, t_end = 0.05, 400, 20.0
    method = ac.Composition(ac.Trapezoid(), 4)
    found = A.lyapunov(STAR, method, **SEA, h=h, steps=steps, transient=0, count=1)
    q, v = (jnp.array(SEA[name]) for name in ("q0", "v0"))
    begun = Begun(0.0, h, q, v, h * v)
    run = prepared(STAR, method, begun, 1, steps, 1, "auto")
    first = np.asarray(run.at.units * run.carry.frame[:, 0])

    def rates(t, z):
        x, y, vx, vy, *d = z
        hessian = np.array([[1 + 2 * y, 2 * x], [2 * x, 1 - 2 * y]])
        force = [-x - 2 * x * y, -y - x**2 + y**2]
        return [vx, vy, *force, d[2], d[3], *(-hessian @ d[:2])]

    start = np.concatenate([SEA["q0"], SEA["v0"], first])
    end = solve_ivp(rates, (0, t_end), start, method="DOP853", rtol=1e-12, atol=1e-14).y[4:, -1]
    last = np.asarray(to_frame(run.at, run.carry.p, 1.0, jnp.asarray(end)[:, None]))
    grown = np.log(np.linalg.norm(last))
    assert grown > 1
    assert abs(found.exponents[0] * t_end - grown) < 1e-5


def test_henon_and_heiles():
    found = A.lyapunov(STAR, ac.Trapezoid(), **SEA, h=0.1, steps=100_000)
    # Benettin, Galgani & Strelcyn, Phys. Rev. A 14 (1976) 2338: some 0.04 to 0.05 in the sea.
    assert 0.03 < found.exponents[0] < 0.07
    assert np.max(np.abs(found.exponents[1:3])) < 2e-3  # the energy is kept
    assert found.pairing < 1e-14
    assert np.max(np.abs(found.pair_sums)) < 1e-14
    np.testing.assert_allclose(found.running[-1], found.exponents)
    assert found.t[-1] == pytest.approx(1.1e4)
    quiet = A.lyapunov(STAR, ac.Trapezoid(), q0=[0.0, 0.1], v0=[0.1, 0.0], h=0.1, steps=10_000)
    assert quiet.exponents[0] < 3 * np.log(1000) / 1000


def test_pairs_under_a_weight_have_the_sum_of_its_rate():
    kappa = 0.3

    def coupled(t, q, params):
        return (q[0] ** 2 + 3 * q[1] ** 2 + q[0] ** 2 * q[1] ** 2) / 2

    start = {"q0": [1.0, 1.0], "v0": [0.0, 0.0], "h": 0.1, "steps": 300, "transient": 0}
    damped = ac.mechanical(1.0, coupled, 2, weight=lambda t, params: jnp.exp(kappa * t))
    found = A.lyapunov(damped, MID, **start)
    np.testing.assert_allclose(found.pair_sums, -kappa, rtol=1e-12)
    assert found.pairing < 1e-12
    # Rayleigh's friction does not keep the form up to a factor under this method: it is seen.
    rubbed = ac.mechanical(1.0, coupled, 2, force=lambda t, q, v, params: -kappa * v)
    other = A.lyapunov(rubbed, MID, **start)
    np.testing.assert_allclose(other.pair_sums, -kappa, rtol=1e-2)
    assert 1e-6 < other.pairing < 1e-2


def test_a_body_that_spins_about_its_middle_axis():
    inertia = jnp.array([1.0, 2.0, 3.5])
    body = ac.System(lambda t, q, v, params: jnp.sum(inertia * v * v) / 2, ac.SO3())
    spin = 1.3
    exact = spin * np.sqrt((2.0 - 1.0) * (3.5 - 2.0) / (1.0 * 3.5))  # Euler's equations, linearised
    errors = []
    for h in (0.2, 0.1):
        # 24 s, in which rounding does not leave the axis
        run = {"h": h, "steps": round(12 / h), "transient": round(12 / h)}
        found = A.lyapunov(body, MID, q0=np.eye(3), v0=[0.0, spin, 0.0], **run)
        assert found.pairing < 1e-11
        assert np.max(np.abs(found.exponents[1:5])) < 0.15  # ln(T)/T
        errors.append(found.exponents[0] - exact)
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.2), errors
    start = {"q0": np.eye(3), "v0": [0.3, 1.0, 0.2]}
    free = A.lyapunov(body, MID, **start, h=0.2, steps=10_000)
    assert np.max(np.abs(free.exponents)) < 3 * np.log(2000) / 2000
    assert free.pairing < 1e-10


def test_under_a_constraint_changes_are_tangent_to_it():
    def rod(t, q, params):
        return jnp.array([q @ q - 1.0])

    mass = ac.System(
        lambda t, q, v, params: v @ v / 2 - 9.81 * q[1], ac.Euclidean(2), holonomic=rod
    )
    start = {"q0": [0.0, 1.0], "v0": [0.0, 0.0]}
    found = A.lyapunov(mass, MID, **start, h=0.02, steps=100, transient=100)
    np.testing.assert_allclose(found.exponents, np.array([1, -1]) * np.sqrt(9.81), rtol=2e-3)


def test_both_engines_and_what_is_shown():
    own = {"q0": [0.1, 0.2], "v0": [0.3, 0.1], "h": 0.1, "steps": 40, "every": 4}
    one, two = (
        A.lyapunov(STAR, ac.Trapezoid(), **own, engine=engine) for engine in ("native", "xla")
    )
    np.testing.assert_allclose(one.exponents, two.exponents, rtol=1e-9)
    np.testing.assert_allclose(one.q, two.q, rtol=1e-12)
    dataset = one.to_xarray()
    assert dataset.running.shape == (10, 4)
    assert dataset.attrs["h"] == 0.1
    assert len(one.plot().axes) == 1
    assert "star" in str(one)
    assert "sum of a pair" in str(one)


def test_what_is_refused():
    own = {"q0": [0.1, 0.2], "v0": [0.3, 0.1], "h": 0.1}
    with pytest.raises(ValueError, match="at most 4, as many exponents"):
        A.lyapunov(STAR, MID, **own, steps=10, count=5)
    with pytest.raises(ValueError, match="multiple of"):
        A.lyapunov(STAR, MID, **own, steps=10, every=3)
    warm = case("ThermalSystem", "vectors")
    start = {name: a for name, a in warm.start.items() if name != "S0"}
    with pytest.raises(ValueError, match="lyapunov does not support thermal systems"):
        A.lyapunov(warm.system, warm.method, **start, h=0.1, steps=10)
    away = ac.mechanical(1.0, lambda t, q, params: -(q[0] ** 4), 1)
    with pytest.raises(ac.StepFailed):
        A.lyapunov(away, MID, q0=[1.0], v0=[1.0], h=0.1, steps=100)
