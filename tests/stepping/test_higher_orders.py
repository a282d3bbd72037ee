"""Systems of higher order: windows, momenta, marching, two-point problems, constraints."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.stepping.higher_cases import (
    BENT,
    JETS,
    LEFT,
    MID,
    START,
    TENSION,
    TRAP,
    flow_defect,
    marched,
    order_of,
)


@lru_cache
def truth(r):
    """The continuous motion of BENT[r] at 0, 1 and 2."""
    return ac.reference(BENT[r], q0=[0.3], v0=JETS[: 2 * r - 1], ts=[0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("r", "method", "expected"),
    [
        (2, MID, 2),
        (2, TRAP, 2),
        (2, LEFT, 1),
        (3, MID, 2),
        pytest.param(3, TRAP, 2, marks=pytest.mark.slow),
    ],
)
def test_marching_has_the_order_of_the_method(r, method, expected):
    """Configurations, derivatives and momenta, on a nonlinear system that depends on time."""
    q, jets = (a[-1] for a in truth(r))
    run = lru_cache(
        lambda n: ac.simulate(
            BENT[r], method, q0=[0.3], v0=JETS[: 2 * r - 1], h=2 / n, steps=n, save_every=n
        )
    )
    p = BENT[r].momenta(2.0, q, jets)
    if (r, method) == (2, MID):
        measured = ac.analysis.order(
            BENT[r], method, q0=[0.3], v0=JETS[:3], duration=2.0, h=[2 / 64, 2 / 128, 2 / 256]
        )
        assert float(measured) == pytest.approx(2, abs=0.1)
    for error in (
        lambda n: abs(run(n).q[-1] - q)[0],
        lambda n: np.max(abs(run(n).jets[-1] - jets[:r])),
        lambda n: np.max(abs(run(n).p[-1] - p)),
    ):
        assert order_of(error, (128, 256))[0] == pytest.approx(expected, abs=0.35)


def test_order_one_is_the_ordinary_system():
    plain = ac.System(lambda t, q, v, params: BENT[1].lagrangian(t, q, v, params), ac.Euclidean(1))
    a = ac.simulate(plain, TRAP, q0=[0.3], v0=[0.7], h=0.1, steps=20)
    b = ac.simulate(BENT[1], TRAP, q0=[0.3], v0=[0.7], h=0.1, steps=20)
    np.testing.assert_allclose(b.q, a.q, rtol=1e-13)
    np.testing.assert_allclose(b.v, a.v, rtol=1e-12)
    np.testing.assert_allclose(b.p[:, 0], a.p, rtol=1e-12)
    np.testing.assert_allclose(b.energy(), a.energy(), rtol=1e-12)


@pytest.mark.slow
def test_two_points_of_order_one_are_those_of_the_ordinary_system():
    plain = ac.System(lambda t, q, v, params: BENT[1].lagrangian(t, q, v, params), ac.Euclidean(1))
    a, b = (
        ac.connect(system, TRAP, qa=[0.3], qb=[1.1], duration=2.0, steps=20)
        for system in (plain, BENT[1])
    )
    np.testing.assert_allclose(b.q, a.q, rtol=1e-12)
    np.testing.assert_allclose(b.p[:, 0], a.p, rtol=1e-10)


@pytest.mark.parametrize(("r", "method"), [pytest.param(2, TRAP, marks=pytest.mark.slow), (3, MID)])
def test_two_points_and_marching_agree(r, method):
    """The equations are the same, and so is what is shown of each node but the last r - 1, which
    have no r nodes after them.
    """
    run = ac.simulate(BENT[r], method, q0=[0.3], v0=JETS[: 2 * r - 1], h=0.1, steps=15)
    found = ac.connect(BENT[r], method, qa=run.q[:r], qb=run.q[-r:], duration=1.5, steps=15)
    np.testing.assert_allclose(found.q, run.q, atol=1e-12)
    np.testing.assert_allclose(found.p[: 1 - r], run.p[: 1 - r], atol=1e-8)
    np.testing.assert_allclose(found.p[-1], run.p[-1], atol=0.1)
    d = ac.discrete(BENT[r], method)
    left = jax.jit(d.euler_lagrange)(0.3, 0.1, *run.q[3 : 4 + 2 * r])
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


@pytest.mark.parametrize("r", [pytest.param(2), pytest.param(3, marks=pytest.mark.slow)])
def test_two_points_with_derivatives_have_order_two(r):
    q, jets = truth(r)
    ends = {"qa": q[0], "qb": q[-1], "va": jets[0][: r - 1], "vb": jets[-1][: r - 1]}
    found = lru_cache(lambda n: ac.connect(BENT[r], MID, **ends, duration=2.0, steps=n))
    order, error = order_of(lambda n: np.max(abs(found(n).jets[n // 2] - jets[1][:r])), (32, 64))
    assert order == pytest.approx(2, abs=0.35)
    assert error < 2e-3
    assert abs(found(64).q[32] - q[1])[0] < 1e-3


def test_a_start_from_configurations_reproduces_them():
    run = ac.simulate(BENT[3], MID, q0=[0.3], v0=JETS, h=0.05, steps=15)
    again = ac.simulate(BENT[3], MID, q0=[0.3], q1=run.q[1:6], h=0.05, steps=15)
    np.testing.assert_allclose(again.q, run.q, atol=1e-11)


@pytest.mark.parametrize(("r", "method"), [(2, MID), pytest.param(3, TRAP, marks=pytest.mark.slow)])
def test_the_flow_on_2r_configurations_is_symplectic(r, method):
    nodes = [jnp.array([x]) for x in (0.3, 0.35, 0.42, 0.47, 0.50, 0.56)[: 2 * r]]
    defect, size, det = flow_defect(BENT[r], method, 0.2, nodes)
    assert defect < 1e-12 * size
    assert det > 1


@pytest.mark.parametrize("r", [2, 3])
def test_theta_plus_minus_theta_minus_is_the_differential_of_the_sum(r):
    h, d = 0.2, ac.discrete(BENT[r], TRAP)
    e = jnp.array([0.3, 0.35, 0.42, 0.47, 0.50, 0.56])[: 2 * r]

    def total(e):
        return sum(d.Ld(i * h, h, *e[i : i + r + 1, None]) for i in range(r))

    plus, minus = d.theta_plus(0.0, h, *e[:, None]), d.theta_minus(0.0, h, *e[:, None])
    np.testing.assert_allclose((plus - minus)[:, 0], jax.grad(total)(e), rtol=1e-11)
    assert not np.any(plus[:r])
    assert not np.any(minus[r:])


def test_momentum_maps():
    """A rotation of the plane is a symmetry of the spline: Theta^+ applied to it, which is what
    `momentum` gives, is kept to roundoff.
    """

    def X(q):
        return jnp.array([-q[1], q[0]])

    run = marched(70)
    theta = jax.jit(ac.discrete(TENSION, MID).theta_plus)
    kept = [
        jnp.sum(theta(0.0, 2 / 70, *run.q[k : k + 4]) * jax.vmap(X)(run.q[k : k + 4]))
        for k in (0, 20, 60)
    ]
    # differences of configurations, divided by h^3
    np.testing.assert_allclose(kept, kept[0], rtol=1e-8)
    q, v, a, j = START
    s = TENSION.params["s"]

    def cross(a, b):
        return a[0] * b[1] - a[1] * b[0]

    first = cross(q, s**2 * v - j) + cross(v, a)
    J = np.asarray(run.momentum(X))
    np.testing.assert_allclose(J, J[0], rtol=1e-11)
    np.testing.assert_allclose(J[:3], first, rtol=1e-3)
    # The configurations from k on are led to by the momenta at k: Theta^+ of the four before them.
    np.testing.assert_allclose(J[[2, 22, 62]], kept, rtol=1e-8)
    between = ac.connect(
        TENSION, MID, qa=run.q[0], qb=run.q[-1], va=run.v[0], vb=run.v[-1], duration=2.0, steps=70
    ).momentum(X)
    np.testing.assert_allclose(between, between[0], rtol=1e-10)
    np.testing.assert_allclose(run.p[:, 0], np.broadcast_to(s**2 * v - j, (71, 2)), atol=2e-3)
    np.testing.assert_allclose(run.p[:, 0], np.broadcast_to(run.p[0, 0], (71, 2)), rtol=1e-11)


def test_the_momentum_along_a_field_that_is_no_symmetry_has_order_two():
    """Against sum_s p_s.X_s of the continuous motion; at the end of a two-point problem, where
    nodes are seen from behind, too.
    """

    def X(q):
        return jnp.array([q[0] * q[1], q[0] ** 2])

    q, jets = ac.reference(TENSION, q0=START[0], v0=START[1:], ts=[0.0, 1.0, 2.0])
    at = jax.jit(lambda q, jets: TENSION.momentum_map(X, q, jets, TENSION.momenta(0.0, q, jets)))
    exact = np.array([at(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(q, jets, strict=True)])
    ends = {"qa": q[0], "qb": q[2], "va": jets[0][0], "vb": jets[2][0]}
    for run in (marched, lambda n: ac.connect(TENSION, MID, **ends, duration=2.0, steps=n)):
        off = [np.abs(np.asarray(run(n).momentum(X))[[0, n // 2, n]] - exact) for n in (50, 100)]
        np.testing.assert_allclose(np.log2(off[0] / off[1]), 2.0, atol=0.2)
