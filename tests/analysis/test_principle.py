"""Hamilton's principle: actions against integrals on paper, stationary on motions and nowhere
else.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import heisenberg

LINE, T = ac.Euclidean(1), 1.3
INERTIA = jnp.array([1.0, 2.0, 3.0])


def oscillator(t, q, v, params):
    return 0.5 * v @ v - 0.5 * q @ q


def damping(t, q, v, params):
    return -0.2 * v


def top(t, R, omega, params):
    return 0.5 * jnp.sum(INERTIA * omega**2) - R[2, 2]


SPRING = ac.System(oscillator, LINE)
DAMPED_TOP = ac.System(top, ac.SO3(), force=damping)
CUBIC = ac.HigherOrderSystem(lambda t, q, v, a, params: 0.5 * a @ a, LINE)
ENDS = {"q0": [1.0], "v0": [0.0], "h": T / 20, "steps": 20}


def swing(t):
    return jnp.cos(t)[None]


def bump(t):
    """It vanishes at both ends."""
    return (jnp.sin(np.pi * t / T) * jnp.exp(t))[None]


def lean(t):
    return jnp.sin(np.pi * t) * jnp.array([1.0, t, 2.0 - t])


def test_the_action_of_a_curve():
    found = ac.analysis.action(SPRING, swing, 0.0, T)
    assert found == pytest.approx(-np.sin(2 * T) / 4, abs=1e-15)
    assert ac.analysis.action(SPRING, swing, T, 0.0) == pytest.approx(-found, abs=1e-15)


def test_a_motion_is_stationary_and_no_other_curve():
    assert abs(ac.analysis.first_variation(SPRING, swing, bump, 0.0, T)) < 1e-14
    # Along 1 + t^2 what is left is the integral of -(q'' + q) bump = -(3 + t^2) bump.
    found = ac.analysis.first_variation(SPRING, lambda t: (1 + t**2)[None], bump, 0.0, T)
    x, w = np.polynomial.legendre.leggauss(40)
    t = T * (x + 1) / 2
    left = -(3 + t**2) * np.sin(np.pi * t / T) * np.exp(t)
    assert found == pytest.approx(T / 2 * w @ left, rel=1e-13)


def test_with_free_ends_it_is_what_the_momenta_do():
    """dS = p(T) along(T) - p(0) along(0)."""
    found = ac.analysis.first_variation(SPRING, swing, lambda t: jnp.exp(t)[None], 0.0, T)
    assert found == pytest.approx(-np.sin(T) * np.exp(T), rel=1e-13)


def test_a_motion_of_second_order():
    """L = q''^2/2: cubics are stationary, t^4 is not: the integral of 24 t^2 (1 - t)^2 is 0.8."""

    def along(t):
        return (t * t * (1 - t) ** 2)[None]

    assert ac.analysis.action(CUBIC, lambda t: (t**3)[None], 0.0, 1.0) == pytest.approx(6.0)
    assert abs(ac.analysis.first_variation(CUBIC, lambda t: (t**3)[None], along, 0, 1)) < 1e-14
    found = ac.analysis.first_variation(CUBIC, lambda t: (t**4)[None], along, 0.0, 1.0)
    assert found == pytest.approx(0.8, rel=1e-13)


def test_a_curve_of_rotations():
    """The variation is the derivative of the action of displaced curves, with the force's work."""
    space, free = ac.SO3(), ac.System(top, ac.SO3())
    W = jnp.array([0.3, -0.8, 0.5])

    def curve(t):
        return space.retract(space.retract(jnp.eye(3), t * W), jnp.array([0.0, t**2, 0.2]))

    def action(s):
        return ac.analysis.action(free, lambda t: space.retract(curve(t), s * lean(t)), 0.0, 1.0)

    h = 1e-4
    found = ac.analysis.first_variation(free, curve, lean, 0.0, 1.0)
    assert found == pytest.approx((action(h) - action(-h)) / (2 * h), rel=1e-7)
    forced = ac.analysis.first_variation(DAMPED_TOP, curve, lean, 0.0, 1.0)
    assert abs(forced - found) > 0.01


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.Galerkin(3)])
def test_the_discrete_action_of_a_trajectory(method):
    """It is stationary to rounding; the integral between the steps is so to the method's order."""
    run = ac.simulate(SPRING, method, **ENDS)
    d = ac.discrete(SPRING, method)
    each = [float(d.Ld(run.t[k], run.h, run.q[k], run.q[k + 1])) for k in range(20)]
    assert ac.analysis.action(SPRING, run) == pytest.approx(sum(each), abs=1e-14)
    assert abs(ac.analysis.first_variation(SPRING, run, bump)) < 1e-13
    size = 1e-3 if isinstance(method, ac.Midpoint) else 1e-8
    assert abs(ac.analysis.action(SPRING, run, 0.0, T) + np.sin(2 * T) / 4) < size
    between = ac.analysis.first_variation(SPRING, run, bump, 0.0, T)
    assert 1e-14 < abs(between) < size


def test_a_forced_trajectory_of_rotations():
    """Discrete Lagrange-d'Alembert: Ld with the discrete forces."""
    run = ac.simulate(DAMPED_TOP, ac.Midpoint(), q0=np.eye(3), v0=[0.1, 1.1, 0.3], h=0.05, steps=20)
    assert abs(ac.analysis.first_variation(DAMPED_TOP, run, lean)) < 1e-13
    # Between the steps it is small with the order of the method.
    assert abs(ac.analysis.first_variation(DAMPED_TOP, run, lean, 0.0, 1.0)) < 2e-4
    free = ac.System(top, ac.SO3())
    assert abs(ac.analysis.first_variation(free, run, lean)) > 1e-3


def test_a_system_given_in_discrete_time():
    def Ld(t, h, q0, q1, params):
        return jnp.sum((q1 - q0) ** 2) / (2 * h) - h * jnp.sum(q0**2) / 2

    system = ac.DiscreteSystem(Ld, LINE)
    run = ac.simulate(system, q0=[1.0], q1=[0.99], h=0.1, steps=10)
    wanted = sum(float(Ld(0, 0.1, run.q[k], run.q[k + 1], None)) for k in range(10))
    assert ac.analysis.action(system, run) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ac.analysis.action(SPRING, swing), "give both times"),
        (lambda: ac.analysis.action(SPRING, 3.0, 0.0, 1.0), "motion must be a function"),
        (lambda: ac.analysis.action(SPRING, jnp.cos, 0.0, 1.0), "a curve on"),
        (
            lambda: ac.analysis.first_variation(SPRING, swing, jnp.cos, 0.0, 1.0),
            r"displacement, shape \(1,\)",
        ),
        (
            lambda: ac.analysis.action(
                ac.ThermalSystem(lambda t, q, v, S, params: 0.5 * v @ v - S, LINE, friction=None),
                swing,
                0.0,
                1.0,
            ),
            r"returns \(q, S\)",
        ),
        (
            lambda: ac.analysis.action(
                SPRING, lambda t: jnp.abs(jnp.sin(40 * t) - 0.3)[None] ** 0.1, 0.0, 1.0
            ),
            "did not settle|not finite",
        ),
    ],
)
def test_what_has_no_action(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ---------------------------------------------------------------- actions with more in them


def test_a_vakonomic_action():
    """Heisenberg's geodesics: L is kept along them; and with the multipliers of the run no
    direction changes the action of L + lam.Phi.
    """

    system = heisenberg.shortest
    q = heisenberg.exact(np.array([0.0, T]), heisenberg.LAM)
    run = heisenberg.marched(ac.Midpoint(), T / 26, T)
    speed = 0.5 * heisenberg.SPEED**2 * T
    assert ac.analysis.action(system, run) == pytest.approx(speed, rel=2e-3)
    assert ac.analysis.action(system, run, 0.0, T) == pytest.approx(speed, rel=1e-3)
    assert np.max(np.abs(run.q[-1] - q[-1])) < 1e-2

    def aside(t):
        return bump(t)[0] * jnp.array([1.0, -0.5, 0.3])

    found = ac.analysis.first_variation(system, run, aside)
    assert abs(found) < 1e-13
    longer = ac.analysis.first_variation(system, run, lambda t: jnp.array([1.0, t, 0.3]))
    p = np.asarray(run.p)
    momenta = p[-1] @ np.array([1.0, T, 0.3]) - p[0] @ np.array([1.0, 0.0, 0.3])
    assert longer == pytest.approx(momenta, abs=1e-12)
    with pytest.raises(ValueError, match="off the vakonomic constraint"):
        ac.analysis.action(system, lambda t: jnp.stack([t, t, t]), 0.0, T)


def test_a_thermal_action():
    """L = v^2/2 - q^2/2 - e^S under the friction -c v: on a curve by hand; and a motion, whose
    friction works as a force, is stationary.
    """

    def L(t, q, v, S, params):
        return oscillator(t, q, v, params) - jnp.exp(S)

    warm = ac.ThermalSystem(L, LINE, friction=lambda t, q, v, S, params: -0.2 * v)

    def curve(t):
        return swing(t), jnp.log(2 + t)

    found = ac.analysis.action(warm, curve, 0.0, T)
    assert found == pytest.approx(-np.sin(2 * T) / 4 - 2 * T - T**2 / 2, abs=1e-13)
    # -(q'' + q + 0.2 q').bump = 0.2 sin t bump
    x, w = np.polynomial.legendre.leggauss(40)
    t = T * (x + 1) / 2
    left = T / 2 * w @ (0.2 * np.sin(t) * np.sin(np.pi * t / T) * np.exp(t))
    found = ac.analysis.first_variation(warm, curve, bump, 0.0, T)
    assert found == pytest.approx(left, rel=1e-12)
    errors = []
    for steps in (20, 40):
        start = {"q0": [1.0], "v0": [0.0], "S0": 0.1, "h": T / steps, "steps": steps}
        run = ac.simulate(warm, ac.Midpoint(), **start)
        S = ac.analysis.action(warm, run)
        assert pytest.approx(ac.analysis.action(warm, run, 0.0, T), rel=2e-3) == S
        errors.append(abs(ac.analysis.first_variation(warm, run, bump)))
    assert errors[1] < errors[0] / 3 < 1e-3


def test_the_action_of_herglotz():
    """z' = v^2/2 - q^2/2 - c z on q = cos t: z in closed form, and a damped motion is stationary
    for z at the end.
    """
    c = 0.4

    def L(t, q, v, z, params):
        return oscillator(t, q, v, params) - c * z

    system = ac.ContactSystem(L, LINE)
    # z' = -cos(2 t)/2 - c z
    p = -(c * np.cos(2 * T) + 2 * np.sin(2 * T)) / (2 * (c**2 + 4))
    z = p + (0.7 + c / (2 * (c**2 + 4))) * np.exp(-c * T)
    assert ac.analysis.action(system, swing, 0.0, T, z0=0.7) == pytest.approx(z, rel=1e-12)
    w = np.sqrt(1 - c**2 / 4)

    def damped(t):
        return (jnp.exp(-c * t / 2) * jnp.cos(w * t))[None]

    assert abs(ac.analysis.first_variation(system, damped, bump, 0.0, T)) < 1e-12
    # of swing: -(q'' + q + c q') bump e^(-c (T - t))
    x, weights = np.polynomial.legendre.leggauss(40)
    t = T * (x + 1) / 2
    change = c * np.sin(t) * np.sin(np.pi * t / T) * np.exp(t - c * (T - t))
    found = ac.analysis.first_variation(system, swing, bump, 0.0, T)
    assert found == pytest.approx(T / 2 * weights @ change, rel=1e-11)
    run = ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[-c / 2], z0=0.7, h=T / 40, steps=40)
    assert ac.analysis.action(system, run) == run.z[-1]
    exact = ac.analysis.action(system, damped, 0.0, T, z0=0.7)
    assert run.z[-1] == pytest.approx(exact, abs=1e-3)
    assert abs(ac.analysis.first_variation(system, run, bump)) < 1e-3
