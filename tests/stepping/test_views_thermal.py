"""The discrete objects of thermal systems, against formulas typed from paper, and their flows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from tests.stepping.thermal_cases import (
    GIVEN,
    PARAMS,
    by_hand,
    driven,
    two_bodies,
    without_trajectory,
)

Q0, Q1, S0, S1 = np.array([0.4, -0.2]), np.array([0.45, -0.1]), 0.2, 0.23
T, H = 0.3, 0.1
GAS = ac.ThermalSystem(
    lambda t, q, v, S, p: 0.5 * p["m"] * v @ v - jnp.exp(S),
    ac.Euclidean(1),
    {"m": 2.0, "mu": 0.5},
    friction=lambda t, q, v, S, p: -p["mu"] * v,
)


def test_friction_and_external_force_apart():
    """Of the midpoint each end has h/2 of both forces, of the left rectangle the start has all."""
    v = (Q1 - Q0) / H
    ends = (T, H, Q0, Q1, S0, S1)
    middle, left = ac.discrete(driven, ac.Midpoint()), ac.discrete(driven, ac.LeftRectangle())
    _, _, _, F, outer, _ = by_hand(T + H / 2, (Q0 + Q1) / 2, v, (S0 + S1) / 2)
    assert_allclose(middle.friction(*ends), H / 2 * np.array([F, F]), rtol=1e-13)
    assert_allclose(middle.external(*ends), H / 2 * np.array([outer, outer]), atol=1e-15)
    assert_allclose(middle.force_plus(*ends), H / 2 * (F + outer), rtol=1e-13)
    _, _, _, F, outer, _ = by_hand(T, Q0, v, S0)
    assert_allclose(left.friction(*ends), H * np.array([F, 0 * F]), rtol=1e-13)
    assert_allclose(left.external(*ends), H * np.array([outer, 0 * outer]), atol=1e-15)
    p, dq, *_ = by_hand(T, Q0, v, S0)
    assert_allclose(left.legendre_minus(*ends)[1], p - H * (dq + F + outer), rtol=1e-12)
    given = ac.discrete(without_trajectory(1.0), None)
    assert_allclose(given.friction(0, 1, [0.3], [0.1], 0.5, 0.2), np.exp([[0.5], [0.2]]))
    assert_allclose(given.external(0, 1, [0.3], [0.1], 0.5, 0.2), np.zeros((2, 1)))


def test_mixed_derivative():
    """D12 of the left rectangle: of h L(q0, (q1 - q0)/h, S0)."""
    d = ac.discrete(driven, ac.LeftRectangle())
    v = (Q1 - Q0) / H
    mass = PARAMS["m"] * (1 + 0.2 * S0 + 0.3 * Q0[0] ** 2)
    by_place = np.outer([0.6 * PARAMS["m"] * Q0[0], 0.0], v)  # d2L / dq dv
    assert_allclose(
        d.D12(T, H, Q0, Q1, S0, S1), -mass / H * np.eye(2) + by_place, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("method", [ac.LeftRectangle(), ac.EnergyConsistent(ac.LeftRectangle())])
def test_flows_are_steps_of_a_run_and_have_inverses(method):
    d = ac.discrete(GAS, method)
    run = ac.simulate(GAS, method, q0=[0.4], v0=[0.8], S0=S0, t0=T, h=H, steps=2)
    before, at, after = ((run.q[k], run.p[k], run.S[k]) for k in range(3))
    forward, back = jax.jit(d.hamiltonian_flow), jax.jit(d.inverse_hamiltonian_flow)
    for x, y in zip(forward(T, H, *before), at, strict=True):
        assert_allclose(x, y, rtol=1e-14)
    for x, y in zip(back(T + H, H, *after), at, strict=True):
        assert_allclose(x, y, rtol=1e-13)
    # A step of -h is that of the adjoint method, not the way back.
    assert abs(forward(T + H, -H, *at)[2] - before[2]) > 1e-6


def test_flow_on_two_ends():
    method = ac.LeftRectangle()
    d = ac.discrete(GAS, method)
    run = ac.simulate(GAS, method, q0=[0.4], v0=[0.8], S0=S0, t0=T, h=H, steps=2)
    (_, q2), (_, S2) = jax.jit(d.flow)(T, H, *run.q[:2], *run.S[:2])
    (q0, _), (s0, _) = jax.jit(d.inverse_flow)(T, H, *run.q[1:], *run.S[1:])
    assert_allclose(q2, run.q[2], rtol=1e-14)
    assert_allclose(S2, run.S[2], rtol=1e-14)
    assert_allclose(q0, run.q[0], rtol=1e-13)
    assert_allclose(s0, run.S[0], rtol=1e-13)


def test_steps_of_negative_length():
    """By midpoints p = m x/h + mu x/2 and p1 = m x/h - mu x/2, and e^{S_mid} dS = mu x^2/h; the
    first matrix of Def 3.25 has the determinant (m/h + mu/2) T, zero at h = -2 m/mu.
    """
    m, mu = GAS.params["m"], GAS.params["mu"]
    d, p = ac.discrete(GAS, ac.Midpoint()), 1.6
    flow = jax.jit(d.hamiltonian_flow)
    q1, p1, s1 = flow(T, -0.4, [0.4], [p], S0)
    x = p / (m / -0.4 + mu / 2)
    assert_allclose(q1, [0.4 + x], rtol=1e-13)
    assert_allclose(p1, [m * x / -0.4 - mu * x / 2], rtol=1e-13)
    assert_allclose(np.exp((S0 + s1) / 2) * (s1 - S0), mu * x**2 / -0.4, rtol=1e-12)
    singular = -2 * m / mu
    first, _ = d.matrices(T, singular, [0.4], [1.4], S0, S0)
    assert abs(np.linalg.det(first)) < 1e-14
    assert np.all(np.isnan(flow(T, singular, [0.4], [p], S0)[0]))


def test_a_given_system_starts_from_momenta():
    system = without_trajectory(-1.0)
    d, run = ac.discrete(system), ac.simulate(system, **GIVEN, steps=3)
    again = ac.simulate(system, q0=[0.3], p0=run.p[0], S0=0.0, h=1.0, steps=3)
    assert_allclose(again.q, run.q, rtol=1e-12)
    # p0 = -D1 Ld - Fd^-, typed from the example.
    assert_allclose(run.p[0], [-np.arctan(0.4) - 1.0], rtol=1e-14)
    (q0, _), (s0, _) = d.inverse_flow(0.0, 1.0, *run.q[1:3], *run.S[1:3])
    assert_allclose(q0, [0.3], rtol=1e-12)
    assert_allclose(s0, 0.0, atol=1e-15)
    with pytest.raises(ValueError, match="has no velocities: it starts from q0, S0 and q1"):
        ac.simulate(system, q0=[0.3], v0=[0.0], S0=0.0, h=1.0, steps=3)


def test_what_is_no_function_of_the_ends_is_refused():
    with pytest.raises(ValueError, match="where the entropies are unknown too"):
        ac.discrete(GAS, ac.Galerkin(2)).Ld(T, H, [0.4], [0.5], S0, S1)
    many = ac.discrete(two_bodies().with_entropies([0.0, 0.0]), ac.EnergyConsistent(ac.Midpoint()))
    with pytest.raises(ValueError, match="shares its correction among several bodies"):
        many.inverse_hamiltonian_flow(T, H, [0.4], [0.5], [0.0, 0.1])
