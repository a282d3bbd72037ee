"""Systems of higher order: windows, momenta, marching, two-point problems, constraints."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.stepping.higher_cases import (
    CURVE,
    MID,
    TURNING,
    eliminated,
    flow_defect,
    held_run,
    order_of,
)
from tests.textbook import higher as book

TURN = np.array([[0.6, -0.3, 0.8], [0.5, 0.9, -0.4], [-0.7, 0.2, 0.6]])


def test_riemannian_cubics_satisfy_the_equation_of_noakes(rng):
    highest = jax.jit(ac.accelerations(TURNING))
    for jets in rng.normal(size=(3, 3, 3)):
        np.testing.assert_allclose(
            highest(0.0, jnp.eye(3), jets), np.cross(jets[2], jets[0]), atol=1e-12
        )
    R, jets = book.riemannian_cubic(TURN, [0.0, 0.5, 1.0])
    q, v = ac.reference(TURNING, q0=np.eye(3), v0=TURN, ts=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(q, R, atol=1e-10)
    np.testing.assert_allclose(v, jets, atol=1e-10)


def test_the_momentum_map_of_turns_of_space():
    """X = R^T e turns space about e and changes no velocity of the body: its momentum is p_0.R^T
    e.
    """
    e, R = jnp.array([0.3, -0.5, 0.8]), ac.SO3().tau(jnp.array([0.4, 0.9, -0.2]))
    p = jnp.asarray(TURN[::2])
    J = jax.jit(lambda q: TURNING.momentum_map(lambda q: q.T @ e, q, jnp.asarray(TURN[1:]), p))(R)
    np.testing.assert_allclose(J, p[0] @ R.T @ e, rtol=1e-12)


@pytest.mark.slow
def test_riemannian_cubics_are_marched_and_found_with_order_two():
    R, jets = book.riemannian_cubic(TURN, [0.0, 0.5, 1.0])
    run = lru_cache(
        lambda n: ac.simulate(TURNING, MID, q0=np.eye(3), v0=TURN, h=1 / n, steps=n, save_every=n)
    )
    assert order_of(lambda n: np.max(np.abs(run(n).q[-1] - R[-1])), (32, 64))[0] == pytest.approx(
        2, abs=0.1
    )
    assert order_of(lambda n: np.max(np.abs(run(n).jets[-1] - jets[-1][:2])), (32, 64))[
        0
    ] == pytest.approx(2, abs=0.1)
    ends = {"qa": R[0], "qb": R[-1], "va": jets[0][:1], "vb": jets[-1][:1]}

    def found(n):
        return np.max(
            np.abs(ac.connect(TURNING, MID, **ends, duration=1.0, steps=n).q[n // 2] - R[1])
        )

    assert order_of(found, (16, 32))[0] == pytest.approx(2, abs=0.2)


@pytest.mark.slow
def test_the_flow_on_a_group_is_symplectic():
    def lagrangian(t, q, v, a, params):
        return (
            0.5 * (a[0] ** 2 + 2 * a[1] ** 2 + 3 * a[2] ** 2)
            + 0.5 * jnp.sum(v**2) * (1 + q[0, 0])
            - q[2, 2] * q[0, 1]
        )

    space = ac.SO3()
    nodes = [jnp.eye(3)]
    for x in ((0.2, 0.1, -0.1), (0.25, 0.12, -0.05), (0.27, 0.18, -0.02)):
        nodes.append(space.retract(nodes[-1], jnp.array(x)))
    defect, size, _ = flow_defect(ac.HigherOrderSystem(lagrangian, space), MID, 0.3, nodes)
    assert defect < 1e-12 * size


def test_a_constraint_of_order_two_is_the_problem_with_a_variable_eliminated():
    q0, v0, lam0, y, jets = eliminated()
    q, v, lam = ac.reference(CURVE, q0=q0, v0=v0, lam0=lam0, ts=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(q[:, 1], y[:, 0], atol=1e-10)
    np.testing.assert_allclose(v[:, :, 1], jets[:, :, 0], atol=1e-9)
    pull = (jets[:, 1, 0] + np.sin(y[:, 0])) / np.cos(y[:, 0])
    np.testing.assert_allclose(lam[:, 0, 0], pull / np.cos(y[:, 0]), atol=1e-9)
    run = lru_cache(
        lambda n: ac.simulate(CURVE, MID, q0=q0, v0=v0, lam0=lam0, h=1 / n, steps=n, save_every=n)
    )
    for error in (
        lambda n: np.max(abs(run(n).q[-1] - q[-1])),
        lambda n: abs(run(n).lam[-1] - lam[-1, 0])[0],
    ):
        assert order_of(error, (32, 64))[0] == pytest.approx(2, abs=0.2)


def test_a_constraint_of_order_two_between_two_points():
    run = held_run()
    found = ac.connect(CURVE, MID, qa=run.q[:2], qb=run.q[-2:], duration=1.0, steps=20)
    np.testing.assert_allclose(found.q, run.q, atol=1e-9)
    np.testing.assert_allclose(found.lam[:-1], run.lam[:-1], atol=1e-5)
    d = ac.discrete(CURVE, MID)
    np.testing.assert_allclose(
        [d.Phi(0.0, 1 / 20, *found.q[k : k + 3]) for k in (0, 7, 18)], 0.0, atol=1e-9
    )


def test_regularity_of_the_discrete_problem_is_that_of_the_next_unknowns():
    """The bordered matrix holds the derivatives of the step's equations by (q_2r, h lam), and the
    flow solves them.
    """
    run, d, h = held_run(), ac.discrete(CURVE, MID), 1 / 20
    mu = jnp.array([[0.5], [0.45], [0.4]])

    @jax.jit
    def equations(z, mu):
        q = [*run.q[:4], run.q[4] + z[:2]]
        return jnp.concatenate(
            [d.euler_lagrange(0.0, h, *q, lam=mu.at[2, 0].add(z[2] / h)), d.Phi(2 * h, h, *q[2:])]
        )

    e = 1e-4
    slopes = np.stack(
        [(equations(e * x, mu) - equations(-e * x, mu)) / (2 * e) for x in jnp.eye(3)], axis=1
    )
    K = jax.jit(d.regularity)(2 * h, h, *run.q[2:5], lam=mu[2:])
    np.testing.assert_allclose(K, slopes, rtol=1e-6, atol=1e-6)
    after, lam = jax.jit(d.flow)(0.0, h, *run.q[:4], lam=mu[:2])
    mu = jnp.concatenate([mu[:2], lam[1:]])
    np.testing.assert_allclose(
        equations(jnp.concatenate([after[-1] - run.q[4], jnp.zeros(1)]), mu), 0.0, atol=1e-10
    )
