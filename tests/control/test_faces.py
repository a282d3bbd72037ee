"""The faces of one control problem, the swing-up of the Vakonomic thesis, sections 7.2 and 8.6:
with controls, without them in continuous and in discrete time, and on W1; and the ways between
them.
"""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import accion as ac
from tests.helpers import central_difference
from tests.textbook import control as book
from tests.textbook.control import SWING, slope

MIDPOINT = ac.Midpoint()
COST = SWING["cost"]
COSTATES = np.array(SWING["costates"]).reshape(-1, 2, 2)  # at the times SWING["t"]
KNOWN = {case["steps"]: case for case in SWING["discrete"]}  # section 8.6
PROBLEM, PAIRS = book.swing_up(), book.swing_up_between_configurations()
W1, OF_PAIRS = PROBLEM.hamiltonian(), PAIRS.hamiltonian()
WITHOUT, DISCRETE = PROBLEM.vakonomic(), PAIRS.discrete(MIDPOINT)


@cache
def marched():
    """The optimum, from its costates at the start alone."""
    return W1.march(COSTATES[0], steps=320)


@cache
def with_controls(steps):
    return ac.optimize(PAIRS, MIDPOINT, steps, formulation="vakonomic")


@cache
def connected(steps):
    """By the integrator F_d of section 8.6, from the straight line."""
    return ac.connect(DISCRETE, **PAIRS.conditions(), steps=steps)


@cache
def without_controls(steps):
    return ac.connect(WITHOUT, MIDPOINT, **PROBLEM.conditions(), steps=steps)


def along_x(q):
    return jnp.array([1.0, 0.0])


# ---------------------------------------------------------------- each face has the optimum


def test_on_W1_the_flow_from_the_costates_ends_where_the_problem_does():
    found = marched()
    assert_allclose(found.cost, COST, atol=1e-9)
    assert found.error < 1e-9
    assert_allclose(found.q[-1], 0, atol=1e-9)
    assert_allclose(found.v[-1], 0, atol=1e-8)
    assert_allclose(found.H, SWING["hamiltonian"], atol=1e-8)
    assert found.optimality < 1e-10
    assert found.symplectic
    assert found.minimal
    every = slice(None, None, 40)
    assert_allclose(found.t[every], SWING["t"])
    assert_allclose(np.hstack([found.q, found.v])[every], SWING["states"], atol=1e-8)
    assert_allclose(found.costates[every], COSTATES, atol=1e-7)
    assert_allclose(found.u[every, 0], SWING["u"], atol=1e-8)


def test_without_controls_it_converges_with_order_2():
    meshes = (80, 160)
    found = [W1.read(without_controls(steps)) for steps in meshes]
    exact = marched()
    costs = [r.cost - COST for r in found]
    paths = [np.max(np.abs(r.q - exact.q[:: 320 // n])) for n, r in zip(meshes, found, strict=True)]
    middle = [r.costates[len(r.t) // 2] - COSTATES[4] for r in found]
    assert_allclose(slope(meshes, costs), 2, atol=0.15)
    assert_allclose(slope(meshes, paths), 2, atol=0.15)
    assert_allclose(slope(meshes, [np.max(np.abs(d)) for d in middle]), 2, atol=0.15)
    assert abs(costs[1]) < 0.03
    assert max(r.optimality for r in found) < 1e-9


def test_in_discrete_time_it_is_the_vakonomic_formulation():
    """Equal costs where two faces are one discretisation; those of section 8.6."""
    for steps in (20, 40):
        trajectory, solution = connected(steps), with_controls(steps)
        found = OF_PAIRS.read(trajectory)
        assert_allclose(trajectory.q, solution.q, atol=1e-10)
        assert_allclose(found.cost, solution.cost, rtol=1e-12)
        assert_allclose(found.cost, KNOWN[steps]["cost"], rtol=1e-10)
        assert_allclose(trajectory.q[steps // 2], KNOWN[steps]["q_middle"], rtol=1e-9)


def test_two_configurations_at_each_end_cost_an_order():
    """The pole rests for a step at either end: the error of section 8.6 falls with h."""
    errors = [OF_PAIRS.read(connected(steps)).cost - COST for steps in (80, 160)]
    assert_allclose(errors, [KNOWN[n]["cost"] - COST for n in (80, 160)], rtol=1e-6)
    assert_allclose(slope((80, 160), errors), 0.79, atol=0.02)  # on its way to 1


def test_with_controls_at_gauss_points_it_is_there_to_nine_digits():
    first = ac.optimize(PROBLEM, MIDPOINT, 40)
    found = ac.optimize(PROBLEM, ac.Galerkin(4), 40, guess=first)
    assert_allclose(found.cost, COST, atol=1e-9)
    assert_allclose(found.costates[0], COSTATES[0], atol=1e-5)
    again = W1.march(found.costates[0], steps=320)
    assert_allclose(again.cost, COST, atol=1e-3)
    assert_allclose(again.q[::8], found.q, atol=1e-4)


# ---------------------------------------------------------------- what each keeps


def test_the_discrete_momentum_of_section_8_6_is_constant():
    for steps, known in ((20, -6.599257), (40, -6.397555)):
        p = np.asarray(connected(steps).momentum(along_x))
        assert_allclose(p, known, atol=1e-6)
        assert np.ptp(p) < 1e-9
    costates = OF_PAIRS.read(connected(20)).costates
    assert np.ptp(costates[:, 0, 0]) < 1e-9  # p0 of a cyclic coordinate
    assert np.ptp(marched().costates[:, 0, 0]) < 1e-9


def test_the_flow_on_W1_is_symplectic():
    """J of the map of (q, v, p0, p1) keeps sum dq.dp0 + dv.dp1."""
    from accion.control import ways

    def end(y: Any) -> Any:
        start = (y[:2], y[2:4], y[4:6], y[6:], jnp.zeros(()))
        rows, _ = ways.marched(W1.hamiltonian, 8, PROBLEM.system, 0.0, 0.05, start, jnp.zeros(1), 8)
        return jnp.concatenate([part[-1] for part in rows[:4]])

    J = np.asarray(
        jax.jacfwd(end)(jnp.concatenate([jnp.array([0, np.pi, 0, 0]), COSTATES[0].ravel()]))
    )
    omega = np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(4))
    assert_allclose(J.T @ omega @ J, omega, atol=1e-8)


def test_figure_7_1_W1_lies_over_M_and_over_the_costates():
    """Skinner and Rusk's diagram: a point of W1 is one of M, where Phi = 0, over the same (q, v) as
    its costates, and p1 there is the Legendre transform of L~ + lam.Phi.
    """
    exact = marched()
    for k in (0, 77, 240):
        point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
        start = W1.to_vakonomic(*point)
        jets, lams = start["v0"], start["lam0"]
        rates = WITHOUT.constraint_rates(exact.t[k], exact.q[k], jets, 1)
        assert_allclose(rates, 0, atol=1e-9)  # Phi and dPhi/dt
        assert_allclose(jets[0], exact.v[k])

        def L(a: Any, jets: Any = jets, k: int = k, lams: Any = lams) -> float:
            return float(WITHOUT.L(0.0, exact.q[k], jnp.stack([jets[0], jnp.asarray(a)]), lams[0]))

        assert_allclose(
            central_difference(L, np.asarray(jets[1]), 1e-4), exact.costates[k, 1], rtol=1e-6
        )


# ---------------------------------------------------------------- the ways between them


def test_costates_and_derivatives_are_each_other():
    """Both ways; and the derivatives are those of the motion, by differences along it."""
    exact = marched()
    for k in (40, 200):
        point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
        start = W1.to_vakonomic(*point)
        back = W1.from_vakonomic(start["t0"], start["q0"], start["v0"], start["lam0"])
        assert_allclose(back.costates, exact.costates[k], rtol=1e-12, atol=1e-12)
        assert_allclose(back.v, exact.v[k])
        again = W1.to_vakonomic(*back)
        assert_allclose(again["v0"], start["v0"], rtol=1e-11)
        assert_allclose(again["lam0"], start["lam0"], rtol=1e-11)
        h = exact.t[1] - exact.t[0]
        v = exact.v[k - 2 : k + 3]
        jets = [(v[0] - 8 * v[1] + 8 * v[3] - v[4]) / (12 * h)]
        jets.append((-v[0] + 16 * v[1] - 30 * v[2] + 16 * v[3] - v[4]) / (12 * h**2))
        assert_allclose(start["v0"][1:], jets, rtol=1e-4, atol=1e-3)


def test_the_motion_without_controls_is_the_one_on_W1():
    """By the reference of the system of order 2, and to second order by `simulate`."""
    exact, k, last = marched(), 160, 240
    given = W1.to_vakonomic(exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
    t0 = given.pop("t0")
    q, jets, lams = ac.reference(WITHOUT, **given, ts=exact.t[[k, last]])
    assert_allclose(q[-1], exact.q[last], atol=1e-8)
    point = W1.from_vakonomic(exact.t[last], q[-1], jets[-1], lams[-1])
    assert_allclose(point.costates, exact.costates[last], atol=1e-6)
    errors = []
    for steps in (40, 80):
        run = W1.read(ac.simulate(WITHOUT, MIDPOINT, **given, t0=t0, h=0.5 / steps, steps=steps))
        errors.append(np.max(np.abs(run.costates[-1] - exact.costates[last])))
    assert_allclose(slope((40, 80), errors), 2, atol=0.2)


def test_costates_and_discrete_momenta_are_each_other():
    exact, h = marched(), 0.02
    for k in (40, 200):
        point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
        start = OF_PAIRS.to_discrete(MIDPOINT, h, *point)
        nodes = [start["q0"], *start["q1"]]
        back = OF_PAIRS.from_discrete(MIDPOINT, h, nodes, start["lam0"], t0=start["t0"])
        assert_allclose(back.t, exact.t[k])
        for found, wanted in zip(back[1:], point[1:], strict=True):
            assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
        # the discrete constraint holds on both windows
        for i in range(2):
            t = start["t0"] + i * h
            assert_allclose(DISCRETE.c(t, h, nodes[i : i + 3]), 0, atol=1e-8)
        again = OF_PAIRS.to_discrete(MIDPOINT, h, *back)
        assert_allclose(again["q1"], start["q1"], rtol=1e-11)
        assert_allclose(again["lam0"], start["lam0"], rtol=1e-7)


def test_the_discrete_motion_is_marched_from_costates_to_second_order():
    """F_d of section 8.6; its momenta are costates in the middle of nodes."""
    exact, k, errors = marched(), 160, []
    for steps in (40, 80):
        h = 0.5 / steps
        point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
        run = ac.simulate(DISCRETE, **OF_PAIRS.to_discrete(MIDPOINT, h, *point), h=h, steps=steps)
        found = OF_PAIRS.read(run)
        assert_allclose(found.t[0], exact.t[k])
        assert_allclose(found.costates[0], exact.costates[k], rtol=1e-9)
        # the middle at 1.4 s
        errors.append(np.max(np.abs(found.costates[round(0.4 / h)] - exact.costates[224])))
    assert_allclose(slope((40, 80), errors), 2, atol=0.3)


def test_a_solution_is_a_trajectory_of_the_discrete_face_and_back():
    """Its nodes and multipliers start `simulate`, and connect; a trajectory is a guess that is
    solved already.
    """
    solution, steps = with_controls(40), 40
    found = ac.connect(DISCRETE, **PAIRS.conditions(solution), steps=steps)
    assert int(found.iterations[0]) == 1
    assert_allclose(found.q, solution.q, atol=1e-10)
    # that of a window is minus the multiplier of the balance at its middle node
    lam = -solution.multipliers[1:-1, 1]
    assert found.lam is not None
    assert_allclose(found.lam[1:steps, 0], lam, rtol=1e-6)
    run = ac.simulate(
        DISCRETE, q0=solution.q[0], q1=solution.q[1:4], lam0=lam[:2, None], h=0.05, steps=20
    )
    assert_allclose(run.q, solution.q[:21], atol=1e-6)
    back = ac.optimize(PAIRS, MIDPOINT, steps, guess=found, formulation="vakonomic")
    assert_allclose(back.cost, solution.cost, rtol=1e-12)
    assert_allclose(back.u, solution.u, atol=1e-7)
    # on W1, the costates of both are the same to second order
    read = OF_PAIRS.read(found)
    between = CubicSpline(solution.t, solution.costates)(read.t)
    assert_allclose(read.costates[10:30], between[10:30], atol=0.5)


def test_an_extremal_and_a_solution_are_conditions_of_connect():
    exact = marched()
    every = exact._replace(t=exact.t[::8], q=exact.q[::8])
    given = PROBLEM.conditions(every)
    found = W1.read(ac.connect(WITHOUT, MIDPOINT, **given, steps=40))
    assert_allclose(found.q, every.q, atol=0.05)
    solution = ac.optimize(PROBLEM, MIDPOINT, 40, formulation="vakonomic")
    trajectory = ac.connect(PROBLEM.discrete(MIDPOINT), **PROBLEM.conditions(solution), steps=40)
    assert_allclose(trajectory.q, solution.q, atol=1e-9)
    near = W1.march(solution.extremal().costates[0], steps=64)
    assert_allclose(near.q[-1], 0, atol=1e-5)


def test_figure_7_2_the_lagrangian_is_that_of_a_cart_and_a_ball():
    """The ball at (x + R sin theta, R cos theta); the print lacks a mass and has a sine for a
    cosine.
    """
    values, rng = PROBLEM.system.params, np.random.default_rng(2)
    q, v = jnp.asarray(rng.normal(size=2)), jnp.asarray(rng.normal(size=2))

    def ball(q: Any) -> Any:
        return jnp.stack([q[0] + values["l"] * jnp.sin(q[1]), values["l"] * jnp.cos(q[1])])

    place, velocity = jax.jvp(ball, (q,), (v,))
    T = 0.5 * values["M"] * v[0] ** 2 + 0.5 * values["m"] * velocity @ velocity
    L = T - values["m"] * values["gravity"] * place[1]
    assert_allclose(PROBLEM.system.L(0.0, q, v), L, rtol=1e-12)
