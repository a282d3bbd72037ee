"""Systems that are given in discrete time: Moser and Veselov's rigid body on SO(3), and the
discrete optimal control of an inverted pendulum on a cart, a system of order two.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.interpolate import CubicHermiteSpline

import accion as ac
from tests.textbook.control import SWING, cart_pole_lagrangian

A = ac.analysis

# ---------------------------------------------------------------- the discrete rigid body

INERTIA = np.array([1.0, 1.8, 2.5])
J = np.sum(INERTIA) / 2 * np.eye(3) - np.diag(INERTIA)
W = np.array([0.6, 0.9, -0.4])
H = 0.1


def rigid(t, h, R0, R1, params):
    """h/2 w.I w + O(h^3) for R1 = R0 exp(h hat(w)), as tr(J hat(w)^2) = -w.I w."""
    return (jnp.trace(params) - jnp.trace(R0 @ params @ R1.T)) / h


BODY = ac.DiscreteSystem(rigid, ac.SO3(), jnp.asarray(J), name="Moser-Veselov")
TOP = ac.System(lambda t, R, w, params: 0.5 * w @ (INERTIA * w), ac.SO3())
START = {"q0": np.eye(3), "p0": INERTIA * W}


@pytest.fixture(scope="module")
def run():
    return ac.simulate(BODY, **START, h=H, steps=60)


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def vee(M):
    return np.array([M[2, 1], M[0, 2], M[1, 0]])


def factor(M):
    """Omega in SO(3) with M = Omega^T J - J Omega, the one near 1: J Omega = S - M/2 where S solves
    the Riccati equation S^2 + (S M - M S)/2 - M^2/4 = J^2.
    """
    S = scipy.linalg.solve_continuous_are(-M / 2, np.eye(3), J @ J + M @ M / 4, np.eye(3))
    return np.linalg.solve(J, S - M / 2)


def test_the_factorisation_of_moser_and_veselov(run):
    """M_{k+1} = Omega M_k Omega^T and R_{k+1} = R_k Omega^T, with M = h hat(p)."""
    R, M = np.eye(3), H * hat(INERTIA * W)
    for k in range(len(run) - 1):
        omega = factor(M)
        np.testing.assert_allclose(omega @ omega.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(omega.T @ J - J @ omega, M, atol=1e-12)
        R, M = R @ omega.T, omega @ M @ omega.T
        np.testing.assert_allclose(run.q[k + 1], R, atol=1e-12)
        np.testing.assert_allclose(run.p[k + 1], vee(M) / H, atol=1e-11)


def test_both_starts_are_one(run):
    again = ac.simulate(BODY, q0=np.eye(3), q1=run.q[1], h=H, steps=60)
    np.testing.assert_allclose(again.p[0], INERTIA * W, atol=1e-13)
    np.testing.assert_allclose(again.q, run.q, atol=1e-12)


def test_what_the_discrete_body_keeps(run):
    """The angular momentum in space, which is the Noether momentum of g -> exp(s zeta) g, and the
    symplectic form.
    """
    p = np.asarray(run.p)
    # The discrete body is integrable: it keeps the energy as well, and errs in time alone.
    assert np.ptp(0.5 * np.sum(p * p / INERTIA, axis=1)) < 1e-13
    spatial = np.asarray(A.spatial_momentum(run))
    np.testing.assert_allclose(spatial, np.tile(INERTIA * W, (61, 1)), atol=1e-13)
    found = A.symmetries(BODY)
    assert [s.kind for s in found] == ["motion of space"] * 3
    assert max(s.drift(run) for s in found) < 1e-13
    assert A.symplecticity(BODY, **START, h=H) < 1e-14
    assert np.max(A.symplecticity_along(run).accumulated) < 1e-12
    # Another function of the two ends has no such momentum.
    leaning = ac.DiscreteSystem(
        lambda t, h, R0, R1, J: rigid(t, h, R0, R1, J) - h * R0[2, 2], ac.SO3(), jnp.asarray(J)
    )
    assert [s.text() for s in A.symmetries(leaning)] == ["motion of space along theta3"]
    tilted = A.spatial_momentum(ac.simulate(leaning, **START, h=H, steps=60))
    assert np.max(np.abs(np.diff(np.asarray(tilted), axis=0)[:, 0])) > 1e-3


def test_it_is_the_rigid_body_to_second_order():
    q, w = ac.reference(TOP, q0=np.eye(3), v0=W, ts=[0.0, 2.0], rtol=1e-13, atol=1e-13)
    found = A.order(
        BODY, **START, duration=2.0, h=[0.1, 0.05, 0.025], exact=(q[-1], INERTIA * w[-1])
    )
    assert float(found) == pytest.approx(2.0, abs=0.02)
    with pytest.raises(ValueError, match="order does not support systems given in discrete time"):
        A.order(BODY, **START, duration=2.0, h=[0.1, 0.05, 0.025])


def test_its_discrete_objects(run):
    """h hat(p) of both ends from Omega = R1^T R0; the flow; D12 regular; modified Hamiltonians of
    growing order.
    """
    d, (R0, R1, R2) = ac.discrete(BODY), run.q[:3]
    omega = np.asarray(R1.T @ R0)
    for (_, p), M in (
        (d.legendre_minus(0.0, H, R0, R1), omega.T @ J - J @ omega),
        (d.legendre_plus(0.0, H, R0, R1), J @ omega.T - omega @ J),
    ):
        np.testing.assert_allclose(H * np.asarray(p), vee(M), atol=1e-14)
    np.testing.assert_allclose(d.flow(0.0, H, R0, R1)[1], R2, atol=1e-13)
    np.testing.assert_allclose(d.euler_lagrange(0.0, H, R0, R1, R2), 0, atol=1e-12)
    assert A.regularity(BODY, **START, h=H, steps=3).regular
    drifts = [A.modified_hamiltonian(BODY, None, order).drift(run) for order in (2, 4, 6)]
    assert drifts[2] < 1e-2 * drifts[1] < 1e-3 * drifts[0]


def test_ensembles_files_and_two_ends(run, tmp_path):
    both = ac.ensemble(BODY, q0=np.eye(3), p0=np.stack([INERTIA * W, -INERTIA * W]), h=H, steps=5)
    np.testing.assert_allclose(both.q[0], run.q[:6], atol=1e-14)
    other = ac.simulate(BODY, q0=np.eye(3), p0=-INERTIA * W, h=H, steps=5)
    np.testing.assert_allclose(both.q[1], other.q, atol=1e-14)
    run.save(tmp_path / "body.zarr")
    loaded = ac.load(tmp_path / "body.zarr", BODY)
    np.testing.assert_array_equal(loaded.q, run.q)
    np.testing.assert_array_equal(A.spatial_momentum(loaded), A.spatial_momentum(run))
    joined = ac.connect(BODY, qa=run.q[0], qb=run.q[20], duration=20 * H, steps=20)
    np.testing.assert_allclose(joined.q, run.q[:21], atol=1e-11)
    np.testing.assert_allclose(joined.p, run.p[:21], atol=1e-11)


def test_what_it_has_not(run):
    with pytest.raises(ValueError, match="no velocities and no energy"):
        _ = run.v
    with pytest.raises(ValueError, match="no velocities and no energy"):
        run.energy()
    with pytest.raises(ValueError, match="accelerations does not support systems given"):
        ac.accelerations(BODY)


# ---------------------------------------------------------------- order two: 004 section 8.6

CART = {"M": 1.0, "m": 0.3, "l": 0.5, "gravity": 9.81}
HANGING, UPRIGHT = np.array([0.0, np.pi]), np.zeros(2)
DURATION = 2.0


def push(h, q0, q1, q2, p):
    """(u, Phi) = -(D2 Ld(q0, q1) + D1 Ld(q1, q2)): the force that three configurations need, along
    x and along theta, where there is none.
    """

    def Ld(a, b):
        return cart_pole_lagrangian(0.0, (a + b) / 2, (b - a) / h, p)

    return -(jax.grad(Ld, 1)(q0, q1) + jax.grad(Ld, 0)(q1, q2))


CONTROL = ac.DiscreteSystem(
    lambda t, h, q0, q1, q2, p: h / 2 * push(h, q0, q1, q2, p)[0] ** 2,
    ac.Euclidean(2),
    CART,
    order=2,
    constraint=lambda t, h, q0, q1, q2, p: push(h, q0, q1, q2, p)[1:],
    coordinates=("x [m]", "theta [rad]"),
    name="cart",
)


def first_guess(steps):
    """The continuous extremal at the times of the nodes, from its states at nine times."""
    t, y = np.array(SWING["t"]), np.array(SWING["states"])
    return CubicHermiteSpline(t, y[:, :2], y[:, 2:])(np.linspace(0, DURATION, steps + 1))


def swing_up(steps):
    return ac.connect(
        CONTROL,
        qa=[HANGING, HANGING],
        qb=[UPRIGHT, UPRIGHT],
        duration=DURATION,
        steps=steps,
        guess=first_guess(steps),
    )


@pytest.fixture(scope="module")
def optimal():
    return {steps: swing_up(steps) for steps in (20, 40, 80)}


def forces(found):
    """(u, Phi) of each window, shape (windows, 2)."""
    each = jax.jit(jax.vmap(lambda a, b, c: push(found.h, a, b, c, CART)))
    return np.asarray(each(found.q[:-2], found.q[1:-1], found.q[2:]))


@pytest.mark.parametrize("steps", [20, 40, 80])
def test_the_swing_up_has_the_costs_of_the_reference(optimal, steps):
    (expected,) = (each for each in SWING["discrete"] if each["steps"] == steps)
    found = optimal[steps]
    (u, Phi), h = forces(found).T, DURATION / steps
    assert h / 2 * np.sum(u**2) == pytest.approx(expected["cost"], rel=1e-9)
    np.testing.assert_allclose(u[:3], expected["u"], rtol=1e-5)
    np.testing.assert_allclose(found.q[steps // 2], expected["q_middle"], rtol=1e-5)
    np.testing.assert_allclose(Phi, 0, atol=1e-10)


def test_the_marching_step_follows_it(optimal):
    """From q0, q1, q2, q3 and the multipliers of the first two windows the discrete flow goes along
    the connected path, until its instability shows what the digits of the start are.
    """
    found, steps = optimal[40], 16
    h, start = float(found.h), {"q0": found.q[0], "q1": found.q[1:4], "lam0": found.lam[1:3]}
    run = ac.simulate(CONTROL, **start, h=h, steps=steps)
    np.testing.assert_allclose(run.q, found.q[: steps + 1], atol=1e-6)
    lam = np.asarray(run.lam)
    np.testing.assert_allclose(lam[1:], found.lam[1 : steps + 1], atol=1e-4)
    np.testing.assert_allclose(run.p, found.p[: steps + 1], atol=1e-3)
    assert A.symplecticity(CONTROL, **start, h=h) < 1e-13
    assert A.regularity(CONTROL, **start, h=h, steps=5).regular


def test_noether_of_order_two(optimal):
    """Nothing depends on where the cart is: Theta^+(d/dx) is kept, along the marched motion and
    along the connected one.
    """
    (along,) = A.symmetries(CONTROL)
    assert along.text().startswith("translation along x")
    found = optimal[40]
    start = {"q0": found.q[0], "q1": found.q[1:4], "lam0": found.lam[1:3]}
    run = ac.simulate(CONTROL, **start, h=float(found.h), steps=10)
    for each in (run, found):
        moved = np.asarray(each.momentum(along.X))
        scale = np.max(np.abs(each.p[..., 0]))
        assert np.ptp(moved) < 1e-12 * scale
