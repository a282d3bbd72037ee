"""Forces of systems of higher order, and starts from the momenta of Jacobi and Ostrogradsky."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.instant.ostrogradsky import from_momenta
from tests.stepping.higher_cases import BENT, CURVE, JETS, MID, TRAP, eliminated, held_run, order_of

Q0, V0 = np.array([0.3]), JETS[:3]


def bent_F(t, q, v, a, p):
    return -0.3 * v - 0.2 * a * q + 0.1 * jnp.sin(t)


FORCED = ac.HigherOrderSystem(
    BENT[2].lagrangian, ac.Euclidean(1), force=bent_F, name="bent and forced"
)


def test_a_constant_force_bends_a_spline_into_a_polynomial_of_degree_four():
    """L = 1/2 |a|^2 under F has q'''' = -F, and so have the differences of the nodes: what
    `connect` finds between nodes of the polynomial is the polynomial, to roundoff.
    """
    F = np.array([24.0, -48.0])
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, p: 0.5 * jnp.sum(a**2),
        ac.Euclidean(2),
        {"F": F},
        force=lambda t, q, v, a, p: p["F"],
        name="loaded beam",
    )
    t = np.linspace(0, 1, 41)[:, None]
    exact = np.array([0.1, 0.4]) + t * [0.3, -0.2] - F * t**4 / 24
    found = ac.connect(system, MID, qa=exact[:2], qb=list(exact[-2:]), duration=1.0, steps=40)
    np.testing.assert_allclose(found.q, exact, atol=1e-12)
    top = ac.accelerations(system)(0.0, exact[0], np.zeros((3, 2)))
    np.testing.assert_allclose(top, -F, rtol=1e-14)


@lru_cache
def reference():
    return ac.reference(FORCED, q0=Q0, v0=V0, ts=[0.0, 1.0])[0][-1]


@pytest.mark.parametrize("method", [MID, TRAP])
def test_a_forced_motion_is_marched_with_order_two(method):
    def error(n):
        run = ac.simulate(FORCED, method, q0=Q0, v0=V0, h=1 / n, steps=n)
        return float(np.max(np.abs(run.q[-1] - reference())))

    order, least = order_of(error, (30, 60))
    assert order == pytest.approx(2, abs=0.1)
    assert least < 3e-4


def test_a_force_does_work_on_the_energy():
    """E(1) - E(0) is the integral of F.v along the reference motion, for L without time."""

    def L(t, q, v, a, p):
        return BENT[2].lagrangian(0.0, q, v, a, p)

    system = ac.HigherOrderSystem(L, ac.Euclidean(1), force=bent_F)
    ts = np.linspace(0, 1, 201)
    q, jets = ac.reference(system, q0=Q0, v0=V0, ts=ts)
    E = jax.jit(jax.vmap(lambda q, jets: system.energy(0.0, q, jets)))(q, jets)
    F = jax.jit(jax.vmap(lambda t, q, jets: system.F(t, q, jets)))(ts, q, jets[:, :2])
    power = np.sum(np.asarray(F) * np.asarray(jets[:, 0]), axis=1)
    simpson = (power[0] + power[-1] + 4 * sum(power[1:-1:2]) + 2 * sum(power[2:-1:2])) / 600
    assert abs(float(E[-1] - E[0]) - simpson) < 1e-9
    assert abs(simpson) > 0.03


def test_the_discrete_force_is_the_virtual_work_of_the_samples():
    """By the midpoint rule of order two all of it belongs to the middle node: Fd_2 = h F."""
    q = [jnp.array([x]) for x in (0.3, 0.34, 0.41)]
    d, h, t = ac.discrete(FORCED, MID), 0.1, 0.7
    F = bent_F(t + h, q[1], (q[2] - q[0]) / (2 * h), (q[2] - 2 * q[1] + q[0]) / h**2, None)
    expected = np.zeros((3, 1))
    expected[1] = h * F
    np.testing.assert_allclose(d.forces(t, h, *q), expected, rtol=1e-12)
    five = [jnp.array([x]) for x in (0.3, 0.34, 0.41, 0.47, 0.6)]
    free = ac.discrete(BENT[2], MID).euler_lagrange(t, h, *five)
    windows = [d.forces(t + i * h, h, *five[i : i + 3])[2 - i] for i in range(3)]
    np.testing.assert_allclose(
        d.euler_lagrange(t, h, *five), free + sum(windows), rtol=1e-10, atol=1e-10
    )


def test_a_force_that_a_symmetry_does_not_feel_leaves_its_momentum():
    """Theta^+(X) of turning about the axis is kept to roundoff under a force along it; of a field
    that feels the force it changes by the force.
    """
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, p: 0.5 * jnp.sum(a**2) - 0.1 * jnp.sum(q[:2] ** 2) ** 2,
        ac.Euclidean(3),
        force=lambda t, q, v, a, p: jnp.array([0.0, 0.0, -0.5 * v[2] - 0.1]),
    )
    start = {"q0": [0.4, 0.1, 0.0], "v0": 0.3 * np.arange(9.0).reshape(3, 3) / 9 + 0.1}
    run = ac.simulate(system, MID, **start, h=0.02, steps=100)
    turned = np.asarray(run.momentum(lambda q: jnp.array([-q[1], q[0], 0.0])))
    assert np.ptp(turned) < 1e-12 * np.max(np.abs(np.asarray(run.nodal.P)))
    pushed = np.asarray(run.momentum(lambda q: jnp.array([0.0, 0.0, 1.0])))
    assert np.ptp(pushed) > 0.1
    rate = np.gradient(pushed, np.asarray(run.t))[1:-1]
    felt = -0.5 * np.asarray(run.jets[1:-1, 0, 2]) - 0.1
    np.testing.assert_allclose(rate, felt, atol=1e-3)


def test_symmetries_are_those_that_do_no_work():

    def L(t, q, v, a, p):
        return 0.5 * jnp.sum(a**2)

    free = ac.HigherOrderSystem(L, ac.Euclidean(2), name="spline")
    held = ac.HigherOrderSystem(
        L, ac.Euclidean(2), force=lambda t, q, v, a, p: jnp.array([v[0] + 0.2, 0.0])
    )
    assert len(ac.analysis.symmetries(free)) == 3
    (one,) = ac.analysis.symmetries(held)
    np.testing.assert_allclose(np.abs(np.asarray(one.X(np.zeros(2)))), [0.0, 1.0], atol=1e-9)


# ---------------------------------------------------------------- momenta


@pytest.mark.parametrize("r", [1, 2, 3])
def test_momenta_give_the_derivatives_back(r):
    system, q, jets = BENT[r], jnp.asarray(Q0), jnp.asarray(JETS[: 2 * r - 1])
    p = system.momenta(0.4, q, jets)
    found = jax.jit(lambda p: from_momenta(system, 0.4, q, jets[: r - 1], p)[0])(p)
    np.testing.assert_allclose(found, jets, rtol=1e-13, atol=1e-13)


def test_a_start_from_momenta_is_that_from_derivatives():
    run = held_run()
    q0, v0, lam0, _, _ = eliminated()
    p0 = CURVE.momenta(0.0, q0, jnp.asarray(v0), jnp.asarray(lam0))
    again = ac.simulate(CURVE, MID, q0=q0, v0=v0[:1], p0=p0, h=1 / 20, steps=20)
    np.testing.assert_allclose(again.q, run.q, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(again.lam, run.lam, rtol=1e-12, atol=1e-12)


def test_members_start_from_momenta(rng):
    """An ensemble and a campaign whose p0 vary are runs of their own."""
    p0 = np.asarray(FORCED.momenta(0.0, jnp.asarray(Q0), jnp.asarray(V0)))
    several = p0 * np.array([1.0, 1.1])[:, None, None]
    of = {"q0": Q0, "v0": V0[:1], "h": 0.05, "steps": 10}
    both = ac.ensemble(FORCED, MID, p0=several, **of)
    plan = ac.campaign.table({"p0": several}, q0=Q0, v0=V0[:1])
    kept = ac.campaign.run(FORCED, MID, plan, h=0.05, steps=10, progress=False, throw=True)
    for i, p in enumerate(several):
        alone = ac.simulate(FORCED, MID, p0=p, **of)
        np.testing.assert_allclose(both.q[i], alone.q, rtol=1e-13)
        np.testing.assert_allclose(kept["q"].values[i], alone.q[-1], rtol=1e-12)


def test_momenta_without_a_derivative_are_refused():
    """p_1 = a / sqrt(1 + a^2) is less than one."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, p: jnp.sqrt(1 + a[0] ** 2) + 0.5 * v[0] ** 2, ac.Euclidean(1)
    )
    with pytest.raises(ValueError, match=r"no q\^\(2\) was found .* p_1 = dL/dq\^\(2\)"):
        ac.simulate(system, MID, q0=[0.0], v0=[[0.1]], p0=[[0.0], [2.0]], h=0.1, steps=2)
