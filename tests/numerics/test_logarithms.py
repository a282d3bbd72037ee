"""Weights in logarithms, against their values where these are numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac

WEIGHTS = {
    "exponential": lambda t, k: jnp.exp(-k * t),
    "polynomial": lambda t, k: 1 + k * t**2,
    "products and powers": lambda t, k: 2.0 ** (k * t) * jnp.sqrt(t) / (1 + t**3) * t**-2,
    "hyperbolic": lambda t, k: jnp.cosh(k * t) ** 2 * jnp.exp2(t),
    "sum": lambda t, k: jnp.exp(k * t) - 3 * jnp.exp(-t) - jnp.exp(1.0),
    "negative": lambda t, k: -(2 + jnp.sin(k * t)) * jnp.exp(-t),
    "through zero": lambda t, k: jnp.cos(5 * k * t) * jnp.exp(jnp.tanh(t)),
    "in pieces": lambda t, k: jnp.where(t > 1.4, jnp.exp(k * t), 3 * jnp.exp(-k * t)),
    "of a vector": lambda t, k: jnp.prod(jnp.exp(jnp.array([k, 2 * k]) * t)) + jnp.sum(t * k),
    "compiled": jax.jit(lambda t, k: jnp.exp(k * t) * jnp.log(2 + t) * jnp.log(jnp.exp(k * t))),
}


def weight_of(f, k=0.3):
    free = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1), k, weight=f)
    return free.conformal


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("t", "tau"), [(1.3, 0.2), (0.6, 0.4), (1.3, -0.5)])
def test_size_ratio_and_slopes(name, t, tau):
    f, k = WEIGHTS[name], 0.3
    weight = weight_of(f)
    sign, log, *_ = weight.logs(t, k)
    exact = [f(t, k), f(t + tau, k) / f(t, k)]
    np.testing.assert_allclose([sign * jnp.exp(log), weight.ratio(t, tau, k)], exact, rtol=2e-14)
    by_time = jax.grad(lambda s: f(t + s, k) / f(t, k))(tau)
    by_rate = jax.grad(lambda k: f(t + tau, k) / f(t, k))(k)
    found = [jax.grad(weight.ratio, i)(t, tau, k) for i in (1, 2)]
    np.testing.assert_allclose(found, [by_time, by_rate], rtol=1e-12, atol=1e-13)


def test_a_power_of_many_factors():
    """cosh(t)^400 is beyond floating point where it starts, and deeper than Python nests."""
    weight = weight_of(lambda t, k: jnp.cosh(t) ** 400)
    np.testing.assert_allclose(weight.ratio(9.0, 0.01, 0.3), np.exp(4.0), rtol=1e-6)
    log = float(weight.logs(1.3, 0.3).log)
    np.testing.assert_allclose(log, 400 * np.log(np.cosh(1.3)), rtol=1e-14)


@pytest.mark.parametrize("t", [-1e5, 1e5])
def test_beyond_floating_point(t):
    """e^(13 t) has the same ratios everywhere, to the bit; a sum is its larger term."""
    plain, k = weight_of(lambda t, k: jnp.exp(k * t)), 13.0
    assert float(plain.ratio(t, 0.01, k)) == float(plain.ratio(0.0, 0.01, k))
    assert float(plain.logs(t, k).log) == k * t
    both = weight_of(lambda t, k: jnp.exp(k * t) / 2 + jnp.exp(-k * t))
    grows = k if t > 0 else -k
    expected = [grows * t - (np.log(2) if t > 0 else 0.0), np.exp(0.01 * grows)]
    found = [both.logs(t, k).log, both.ratio(t, 0.01, k)]
    np.testing.assert_allclose(found, expected, rtol=4e-16)


@pytest.mark.parametrize(
    ("f", "t"),
    [
        (lambda t, k: 1 + t * jnp.exp(-k * t), 0.0),
        (lambda t, k: jnp.exp(-k * t) + t, 0.0),
        (lambda t, k: 1 + jnp.sqrt(t), 0.0),
        (lambda t, k: 2 + jnp.sin(t) * jnp.exp(-k * t), 0.0),
        (lambda t, k: 1 + (t - 5.0) ** 2.0, 0.0),
        (lambda t, k: 1 + (t - 5.0) ** 2.0, 5.0),
        (lambda t, k: 200 + (t - 5.0) ** 3.0 * jnp.exp(k * t), 4.9),
    ],
)
def test_terms_that_are_zero_and_powers_of_what_is_negative(f, t):
    weight, k, tau = weight_of(f), 0.3, 0.2
    sign, log, *_ = weight.logs(t, k)
    found = [sign * jnp.exp(log), weight.ratio(t, tau, k)]
    np.testing.assert_allclose(found, [f(t, k), f(t + tau, k) / f(t, k)], rtol=2e-14)
