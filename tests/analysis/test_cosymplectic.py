"""Cosymplectic structures: Cartan's equations along motions, the flow, and the extended map."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis.phase import canonical
from accion.engines.auto import small_jit

A = ac.analysis
T, H = 0.4, 0.1


def swinging(t, q, v, params):
    return jnp.exp(-0.7 * t) * (
        0.5 * v @ v + 0.2 * jnp.sin(q[0]) * v[0] * v[1] - jnp.cos(q[0]) * q[1] ** 2
    )


def top(t, R, xi, params):
    return (1 + 0.3 * jnp.sin(t)) * 0.5 * xi @ (jnp.array([1.0, 2.0, 2.5]) * xi) - t * R[2, 2]


CASES = {
    "vectors": (ac.System(swinging, ac.Euclidean(2)), [0.3, -0.4], [0.6, 0.5]),
    "a group": (ac.System(top, ac.SO3()), ac.SO3().tau(jnp.full(3, 0.3)), [0.6, -0.5, 0.4]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_motion_is_in_the_kernel_of_the_form(name):
    """i_E Omega_H = 0 and i_E eta = 1 (eq 22) for E from the equations of motion, the slopes of H
    by their own; Omega_H is -d of p dq - H dt, against differences; E_L = Delta L - L and theta_L =
    S^* dL.
    """
    system, q, p = CASES[name]
    space, n = system.space, system.space.dim
    q, p = jnp.asarray(q), jnp.asarray(p)
    found = A.cosymplectic(system)
    E, W = found.E_H(T, q, p), np.asarray(found.Omega_H(T, q, p))
    np.testing.assert_allclose(E @ W, 0.0, atol=1e-14)
    assert E @ found.eta(T, q, p) == 1.0
    theta = jax.jit(
        lambda z: found.poincare_cartan(T + z[0], space.retract(q, z[1 : n + 1]), p + z[n + 1 :])
    )
    one = 1e-5 * np.eye(2 * n + 1)
    D = np.stack([(theta(e) - theta(-e)) / 2e-5 for e in one])  # D[a, b] = e_a(theta_b)
    turned = np.zeros_like(W)
    turned[1 : n + 1, 1 : n + 1] = canonical(space, p)[:n, :n]
    np.testing.assert_allclose(W, D.T - D + turned, atol=1e-9)
    v = E[1 : n + 1]
    slope = jax.grad(lambda e, v: system.L(T, space.displace(q, e), v), (0, 1))(jnp.zeros(n), v)
    dL = np.concatenate([[0.0], *slope])
    assert found.liouville(T, q, v) @ dL - system.L(T, q, v) == pytest.approx(
        float(found.energy(T, q, v)), rel=1e-14
    )
    S = np.asarray(found.vertical_endomorphism(T, q, v))
    np.testing.assert_allclose((dL @ S)[1 : n + 1], p, atol=1e-14)
    assert not np.any(S @ S)


def test_the_modified_structure_has_the_steps():
    """(eq 34) i_E Omega = 0 for the modified H and the field through the steps, to the order of the
    truncation: 2^4 times better with half the step.
    """
    system, q, p = CASES["vectors"]
    q, p = jnp.asarray(q), jnp.asarray(p)

    @jax.jit
    def along(h):
        bar = A.cosymplectic(system, ac.Midpoint(), h=h, order=4)
        return bar.E_H(T, q, p) @ bar.Omega_H(T, q, p)

    off = [np.max(np.abs(along(h)[1:])) for h in (H, H / 2)]
    assert off[0] < 1e-3
    assert 3.5 < np.log2(off[0] / off[1]) < 4.6


@pytest.mark.parametrize("name", CASES)
def test_the_extended_map_is_symplectic(name):
    """T^T J T = J on (t, q, mu, p), J = dt ^ dmu + dq ^ dp, and mu and lam solve the
    equations of the document.
    """
    system, q, p = CASES[name]
    space, n = system.space, system.space.dim
    q, p, flow = jnp.asarray(q), jnp.asarray(p), A.extended_flow(system, ac.Midpoint())
    guess = H * A.cosymplectic(system).E_H(T, q, p)[1 : n + 1]
    end = small_jit(flow)(T, H, q, 0.2, p, guess)

    def local(z: Any) -> Any:
        place, momentum = space.retract(q, z[1 : n + 1]), p + z[n + 2 :]
        there = flow(T + z[0], H, place, 0.2 + z[n + 1], momentum, guess)
        moved = space.displacement(end.q, there.q)
        return jnp.concatenate([jnp.ravel(there.t), moved, jnp.ravel(there.mu), there.p])

    M = np.asarray(small_jit(jax.jacfwd(local))(jnp.zeros(2 * n + 2)))

    def form(p):
        W = np.zeros((2 * n + 2, 2 * n + 2))
        rest = [*range(1, n + 1), *range(n + 2, 2 * n + 2)]
        W[np.ix_(rest, rest)] = canonical(space, p)
        W[0, n + 1], W[n + 1, 0] = 1.0, -1.0
        return W

    np.testing.assert_allclose(M.T @ form(end.p) @ M, form(p), atol=1e-13)
    # the equations of the document: mu_k = -D3 Ld + lam, mu_k+1 = D4 Ld + lam
    d = ac.discrete(system, ac.Midpoint())

    def Ld(a, b):
        return d.Ld(a, b - a, q, end.q)

    D3, D4 = jax.grad(Ld, (0, 1))(T, T + H)
    assert end.lam == pytest.approx(float(0.2 + D3), abs=1e-13)
    assert end.mu == pytest.approx(float(D4 + end.lam), abs=1e-13)
    assert d.energy(T, H, q, end.q) == pytest.approx(-float(D4), rel=1e-12)


def test_what_has_no_such_structure():
    forced = ac.System(swinging, ac.Euclidean(2), force=lambda t, q, v, params: -v)
    with pytest.raises(ValueError, match="cosymplectic does not support systems with a force"):
        A.cosymplectic(forced)
    with pytest.raises(ValueError, match="extended_flow does not support systems with a force"):
        A.extended_flow(forced, ac.Midpoint())
    with pytest.raises(ValueError, match="give both `method` and `h`"):
        A.cosymplectic(CASES["vectors"][0], ac.Midpoint())
    with pytest.raises(ValueError, match="extended_flow does not support Composition"):
        A.extended_flow(CASES["vectors"][0], ac.Composition(ac.Midpoint(), 4))
