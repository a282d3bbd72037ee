"""The presymplectic system of vakonomic mechanics in numbers: against letters, closed forms, and
the motion.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.instant.constrained import project_at
from tests.symbols.velocity_constraints import HEISENBERG, SYSTEMS, number, values

A = ac.analysis


def test_heisenbergs_group():
    w = A.presymplectic(HEISENBERG)
    q, p = jnp.array([0.3, -0.4, 0.9]), jnp.array([0.5, 0.2, 0.7])
    a, b = p[0] - q[1] * p[2], p[1] + q[0] * p[2]
    assert w.hamiltonian(0.0, q, p) == pytest.approx(float((a**2 + b**2) / 2), rel=1e-14)
    v, lam = w.state(0.0, q, p)
    np.testing.assert_allclose(v, [a, b, q[0] * b - q[1] * a], atol=1e-14)
    np.testing.assert_allclose(lam, p[2:], atol=1e-14)
    assert w.dependent == ("z",)
    assert w.symplectic(0.0, q, v, p)


@pytest.mark.parametrize("name", ["curved", "vakonomic body"])
def test_the_motion_is_hamiltonian(name, rng):
    """dH_W1 by derivatives of the function alone is the field, which is the motion; the form on W1
    is that in letters; and H_W0 is stationary by v_r on W1.
    """
    system = SYSTEMS[name]
    w = A.presymplectic(system, [2])
    letters = ac.symbolic(system).presymplectic([2])
    r, space = letters.reduced, system.space
    at, (q, v, lam) = values(r, system, rng)
    p = system.legendre(0.4, q, v, lam)
    found, own = w.state(0.4, q, p)
    np.testing.assert_allclose(found, v, atol=1e-12)
    np.testing.assert_allclose(own, lam, atol=1e-11)
    np.testing.assert_allclose(w.multipliers(0.4, q, v, p), lam, atol=1e-12)
    np.testing.assert_allclose(w.primary(0.4, q, v, p), 0.0, atol=1e-12)
    np.testing.assert_allclose(w.momenta(0.4, q, v, p[2:]), p, atol=1e-12)
    assert w.H_W0(0.4, q, v, p) == pytest.approx(float(w.hamiltonian(0.4, q, p)), rel=1e-12)

    def H(e, p):
        return w.hamiltonian(0.4, space.retract(q, e), p)

    by_q, by_p = jax.grad(H, (0, 1))(jnp.zeros(3), p)
    velocity, rate = w.field(0.4, q, p)
    np.testing.assert_allclose(velocity, by_p, atol=1e-11)
    force = space.coad(v, p) + system.F(0.4, q, v)
    np.testing.assert_allclose(rate, force - by_q, atol=1e-11)
    form = letters.Omega_W1.matrix
    inner = dict(zip(r.for_reader((*r.x.v, *r.x.p)), (*r.x.v, *r.x.p), strict=True))
    inner |= {r.for_reader(s): s for s in (*r.x.q, r.x.t)}
    expected = number(form.xreplace(inner), at)
    W = np.asarray(w.Omega_W1(0.4, q, v, p[2:]))
    np.testing.assert_allclose(W.ravel(), expected, atol=1e-11)
    C = number(letters.regularity.xreplace(inner), at)
    np.testing.assert_allclose(np.ravel(w.regularity(0.4, q, v, p)), C, atol=1e-12)
    W0 = np.asarray(w.Omega_W0(0.4, q, v, p))
    assert W0.shape == (8, 8)
    assert np.linalg.matrix_rank(W0) == 6
    np.testing.assert_allclose(W0[:, 6:], 0.0)


def test_where_w1_is_not_symplectic():
    """L = (v0^2 - v1^2)/2 with v0 = v1: C = 0, though d2L/dv2 is regular; without constraints the
    rank of d2L/dv2 alone.
    """
    flat = ac.Euclidean(2)
    light = ac.System(
        lambda t, q, v, p: 0.5 * (v[0] ** 2 - v[1] ** 2),
        flat,
        vakonomic=lambda t, q, v, p: v[:1] - v[1:],
    )
    q, v = jnp.zeros(2), jnp.ones(2)
    w = A.presymplectic(light)
    p = jnp.array([0.3, 0.2])
    assert not w.symplectic(0.0, q, v, p)
    np.testing.assert_allclose(w.regularity(0.0, q, v, p), 0.0, atol=1e-15)
    gauge = A.presymplectic(ac.System(lambda t, q, v, p: 0.5 * (v[0] - q[1]) ** 2, flat))
    assert not gauge.symplectic(0.0, q, v, p)
    np.testing.assert_allclose(gauge.primary(0.0, q, v, p), p - jnp.array([1.0, 0.0]))
    ordinary = A.presymplectic(ac.System(lambda t, q, v, p: 0.5 * v @ v, flat))
    assert ordinary.symplectic(0.0, q, v, p)
    assert ordinary.hamiltonian(0.0, q, p) == pytest.approx(0.065)
    assert np.linalg.matrix_rank(ordinary.Omega_W1(0.0, q, v, jnp.zeros(0))) == 4


def test_the_flow_keeps_the_form(rng):
    """The pullback of dq ^ dp by the flow of the continuous equations, by differences."""
    system = SYSTEMS["vakonomic skate"]
    w = A.presymplectic(system)
    q, v = project_at(system, 0.0, jnp.array([0.1, 0.2, 0.6]), jnp.array([0.5, 0.3, 0.8]))
    p = system.legendre(0.0, q, v, jnp.array([0.8]))

    def flow(z):
        v, lam = w.state(0.0, jnp.asarray(z[:3]), jnp.asarray(z[3:]))
        q, v, lam = ac.reference(system, q0=z[:3], v0=v, lam0=lam, ts=[0.0, 0.3])
        return np.concatenate([q[-1], system.legendre(0.3, q[-1], v[-1], lam[-1])])

    z, h = np.concatenate([q, p]), 1e-4
    T = np.stack([(flow(z + h * e) - flow(z - h * e)) / (2 * h) for e in np.eye(6)], axis=1)
    form = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    np.testing.assert_allclose(T.T @ form @ T, form, atol=1e-6)
    assert w.hamiltonian(0.3, *np.split(flow(z), 2)) == pytest.approx(
        float(w.hamiltonian(0.0, q, p)), rel=1e-10
    )
