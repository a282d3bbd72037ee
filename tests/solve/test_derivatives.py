"""Derivatives through `connect`, by the implicit function theorem; and through runs that fail."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac

MIDPOINT = ac.Midpoint()


def pendulum(t, q, v, p):
    return 0.5 * p["m"] * v @ v + p["g"] * jnp.cos(q[0]) * (1 + 0.1 * jnp.sin(t))


def bob(t, q, v, p):
    return 0.5 * p["m"] * v @ v - p["g"] * q[1]


def circle(t, q, p):
    return jnp.array([q @ q - 1.0])


def spline(t, q, v, a, p):
    return 0.5 * p["m"] * a @ a + p["g"] * jnp.cos(q[0])


def given(t, h, q0, q1, p):
    x = (q1 - q0)[0]
    return 0.5 * p["m"] * x**2 / h + h * p["g"] * jnp.cos(q0[0])


def body(t, R, w, p):
    return 0.5 * p["m"] * (w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) + p["g"] * R[2, 2]


def turned(a):
    c, s, one = jnp.cos(a), jnp.sin(a), jnp.ones(())
    zero = jnp.zeros(())
    about_z = jnp.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])
    return about_z @ jnp.array([[one, zero, zero], [zero, c, -s], [zero, s, c]])


def angle(p, a, T):
    system = ac.System(pendulum, ac.Euclidean(1), p)
    return ac.connect(system, MIDPOINT, qa=a[None], qb=[2.0], duration=T, t0=0.1 * T, steps=8)


def rope(p, a, T):
    system = ac.System(bob, ac.Euclidean(2), p, holonomic=circle)
    qa = jnp.stack([jnp.cos(a), jnp.sin(a)])
    return ac.connect(system, MIDPOINT, qa=qa, qb=[0.0, -1.0], duration=T, steps=8)


def higher(p, a, T):
    system = ac.HigherOrderSystem(spline, ac.Euclidean(1), p)
    ends = {"qa": [0.0], "qb": [1.0], "va": a[None, None], "vb": [[0.5]]}
    return ac.connect(system, MIDPOINT, **ends, duration=T, steps=8)


def discrete(p, a, T):
    system = ac.DiscreteSystem(given, ac.Euclidean(1), p)
    return ac.connect(system, qa=a[None], qb=[1.0], duration=T, steps=8)


def rotation(p, a, T):
    system = ac.System(body, ac.SO3(), p)
    return ac.connect(system, MIDPOINT, qa=turned(a), qb=turned(1.0), duration=T, steps=8)


def shown(case, x):
    """A number that sees configurations, momenta and multipliers."""
    traj = case({"m": x[0], "g": x[1]}, x[2], x[3])
    seen = jnp.sum(
        jnp.asarray(traj.q)[3] ** 2 * jnp.arange(1.0, 1 + traj.q[3].size).reshape(traj.q[3].shape)
    )
    seen = seen + jnp.sum(jnp.sin(traj.p[2])) + jnp.sum(traj.p[-1])
    return seen if traj.lam is None else seen + jnp.sum(traj.lam[5])


def differences(f, x, d=1e-5):
    return np.array([(f(x + d * e) - f(x - d * e)) / (2 * d) for e in np.eye(len(x))])


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "case",
    [angle, discrete, *(pytest.param(c, marks=SLOW) for c in (rope, higher, rotation))],
)
def test_connect_is_differentiated(case):
    """By params, an end and the duration: in both modes, against differences."""
    x = np.array([1.2, 1.5, 0.2, 0.9])

    def f(x):
        return shown(case, jnp.asarray(x))

    expected = differences(f, x)
    assert_allclose(jax.grad(f)(x), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(jax.jacfwd(f)(x), expected, rtol=1e-6, atol=1e-7)


@SLOW
def test_connect_has_second_derivatives():
    x = np.array([1.2, 1.5, 0.2, 0.9])

    def f(x):
        return shown(angle, jnp.asarray(x))

    slopes = differences(jax.grad(f), x)
    assert_allclose(jax.hessian(f)(x), slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_connect_says_what_goes_through_it(transform):
    x = np.array([[1.2, 1.5, 0.2, 0.9]] * 2)
    with pytest.raises(TypeError, match="call it outside"):
        transform(lambda x: shown(angle, x))(x[0] if transform is jax.jit else x)


# ---------------------------------------------------------------- runs that fail


def towards_a_pole(t, q, v, p):
    """q runs into the pole at 1, where no step can be solved."""
    return 0.5 * p["m"] * v @ v - p["k"] * jnp.sum(jnp.log(1 - q))


def run(m, method, steps, **more):
    system = ac.System(towards_a_pole, ac.Euclidean(1), {"m": m, "k": 1.0})
    start = {"q0": [0.0], "v0": [0.8]}
    return ac.simulate(system, method, **start, h=0.1, steps=steps, throw=False, **more)


@pytest.mark.parametrize("method", [MIDPOINT, ac.Trapezoid(), ac.LeftRectangle()], ids=str)
def test_rows_before_a_failure_have_their_derivatives(method):
    """In reverse mode, too: those of a run that ends before it."""
    good = int(run(1.0, method, 24).steps_completed)
    assert 4 < good < 20

    def seen(m, steps):
        traj = run(m, method, steps)
        rows = slice(good - 1)
        return jnp.sum(traj.q[rows]) + jnp.sum(traj.v[rows]) + jnp.sum(traj.energy()[rows])

    expected = jax.jacfwd(seen)(1.0, good)
    assert np.isfinite(expected)
    assert_allclose(jax.grad(seen)(1.0, 24), expected, rtol=1e-9)
    assert_allclose(jax.jacfwd(seen)(1.0, 24), expected, rtol=1e-9)


def test_so_have_those_of_some_steps_and_of_an_ensemble():
    def every_second(m, steps):
        return jnp.sum(run(m, MIDPOINT, steps, save_every=2).q[:3])

    assert_allclose(jax.grad(every_second)(1.0, 24), jax.grad(every_second)(1.0, 6), rtol=1e-9)

    def of_members(m, steps):
        system = ac.System(towards_a_pole, ac.Euclidean(1), {"m": m, "k": 1.0})
        start = {"q0": jnp.array([[0.0], [-0.5]]), "v0": jnp.array([[0.8], [0.0]])}
        traj = ac.ensemble(system, MIDPOINT, **start, h=0.1, steps=steps, throw=False)
        return jnp.sum(traj.q[:, :6])

    assert_allclose(jax.grad(of_members)(1.0, 12), jax.grad(of_members)(1.0, 6), rtol=1e-9)
