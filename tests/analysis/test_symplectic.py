"""Symplecticity of steps, of trajectories, of loops, and the commuting diagram."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis.phase import form_defect
from accion.analysis.runge_kutta import rk4_step
from accion.gallery import damped_spring, double_pendulum
from accion.methods import Adjoint
from tests.analysis.systems import DECAYING, METHODS, PENDULUM, SIMPSON

A = ac.analysis

SYSTEMS = {"double pendulum": double_pendulum.system, "decaying pendulum": DECAYING}
START = {"double pendulum": ([1.0, 1.5], [0.3, -0.2]), "decaying pendulum": ([1.2], [0.4])}


CASES = [
    ("double pendulum", ac.Midpoint()),
    *(("decaying pendulum", method) for method in (*METHODS, SIMPSON)),
]


@pytest.mark.parametrize(
    ("name", "method"), CASES, ids=lambda x: x if isinstance(x, str) else type(x).__name__
)
def test_variational_methods_are_symplectic(name, method):
    q0, v0 = START[name]
    traj = ac.simulate(SYSTEMS[name], method, q0=q0, v0=v0, t0=0.2, h=0.1, steps=10)
    found = A.symplecticity_along(traj)
    assert np.max(found.steps) < 1e-12
    assert np.max(found.accumulated) < 1e-12
    np.testing.assert_allclose(found.volume, 1.0, rtol=1e-9, atol=1e-11)


def test_rk4_is_not():
    system = double_pendulum.system
    q0, v0 = map(jnp.array, START["double pendulum"])

    def step(z):
        p = z[2:]
        q, v = rk4_step(system, 0.0, 0.1, z[:2], system.velocity(0.0, z[:2], p, v0))
        return jnp.concatenate([q, system.legendre(0.1, q, v)])

    p0 = system.legendre(0.0, q0, v0)
    T = np.asarray(jax.jit(jax.jacfwd(step))(jnp.concatenate([q0, p0])))
    assert form_defect(system.space, T, p0, p0) > 1e-6


def test_a_force_is_seen():
    assert A.symplecticity(damped_spring.system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1) > 1e-3


def damped(m):
    def L(t, q, v, params):
        return params["m"] * (v @ v - q @ q) / 2

    def force(t, q, v, params):
        return -0.5 * params["m"] * v

    return ac.System(L, ac.Euclidean(1), {"m": m}, force=force)


def test_a_force_is_seen_in_any_units():
    found = [
        A.symplecticity(damped(m), ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1)
        for m in (1.0, 2.0**-40)
    ]
    assert found[0] > 1e-3
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("length", [1.0, 1e-6])
def test_a_holonomic_pendulum_keeps_the_form_on_its_constraint(length):
    def L(t, q, v, params):
        return 1e-3 * (v @ v / 2 - 9.81 * params["l"] * q[1])

    def phi(t, q, params):
        return (q @ q - params["l"] ** 2)[None]

    system = ac.System(L, ac.Euclidean(2), {"l": length}, holonomic=phi)
    q0, v0 = length * np.array([0.8, -0.6]), length * np.array([0.3, 0.4])
    start = {"q0": q0, "v0": v0, "h": 0.1}
    assert A.symplecticity(system, ac.Midpoint(), **start) < 1e-14
    assert A.cosymplecticity(system, ac.Midpoint(), **start).form < 1e-14
    forced = ac.System(
        L, ac.Euclidean(2), {"l": length}, holonomic=phi, force=lambda t, q, v, params: -2e-4 * v
    )
    assert A.symplecticity(forced, ac.Midpoint(), **start) > 1e-3


def test_cosymplectic_pair():
    """On slices of equal time the form is kept; what time brings in is there, and is zero for an
    autonomous system.
    """
    found = A.cosymplecticity(DECAYING, ac.Midpoint(), q0=[1.2], v0=[0.4], t0=0.2, h=0.1)
    assert found.time == 0
    assert found.form < 1e-14
    assert np.max(np.abs(found.beta)) > 1e-3
    np.testing.assert_allclose(
        A.cosymplecticity(PENDULUM, ac.Midpoint(), q0=[1.2], v0=[0.4], h=0.1).beta,
        0,
        rtol=1e-9,
        atol=1e-15,
    )


def test_poincare_invariant():
    def loop(s):
        return (
            jnp.array([1 + 0.3 * jnp.cos(2 * jnp.pi * s)]),
            jnp.array([0.4 * jnp.sin(2 * jnp.pi * s)]),
        )

    before, after = A.poincare_invariant(DECAYING, ac.Midpoint(), loop, h=0.1, steps=50)
    assert before == pytest.approx(-np.pi * 0.3 * 0.4, rel=1e-13)
    assert after == pytest.approx(before, rel=1e-12)
    damped = A.poincare_invariant(damped_spring.system, ac.Midpoint(), loop, h=0.1, steps=50)
    assert abs(damped[1]) < 0.9 * abs(damped[0])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_diagram_commutes(name):
    """F^+ is F^- after the Lagrangian flow, F^+ after (F^-)^-1 the Hamiltonian flow, and both carry
    one flow into the other (Colombo-Gamonal, Prop 1).
    """
    system, method, h, t = SYSTEMS[name], ac.Trapezoid(), 0.1, 0.2
    d = ac.discrete(system, method)
    q0, v0 = map(jnp.array, START[name])
    q1 = q0 + h * v0
    flow, hamiltonian = jax.jit(d.flow), jax.jit(d.hamiltonian_flow)
    pair = flow(t, h, q0, q1)
    for side, time in ((d.legendre_minus, t), (d.legendre_plus, t + h)):
        left, right = side(t + h, h, *pair), hamiltonian(time, h, *side(t, h, q0, q1))
        np.testing.assert_allclose(
            np.concatenate(left), np.concatenate(right), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(
        np.concatenate(d.legendre_plus(t, h, q0, q1)),
        np.concatenate(d.legendre_minus(t + h, h, *pair)),
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        np.concatenate(hamiltonian(t, h, *d.legendre_minus(t, h, q0, q1))),
        np.concatenate(d.legendre_plus(t, h, q0, q1)),
        rtol=1e-9,
        atol=1e-12,
    )


def test_the_adjoint_undoes_a_step():
    for method in METHODS:
        ahead, back = (
            jax.jit(ac.discrete(DECAYING, m).hamiltonian_flow) for m in (method, Adjoint(method))
        )
        q, p = jnp.array([1.2]), jnp.array([0.4])
        again = back(0.4, -0.2, *ahead(0.2, 0.2, q, p))
        np.testing.assert_allclose(np.concatenate(again), [1.2, 0.4], rtol=1e-9, atol=1e-13)
