"""The faces of control problems on groups, with controls on all and on some of the axes of the
body; and of controls B(t, q) u that turn with the configuration.
"""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control.elimination import elimination_of, force_balance
from tests.textbook import control as book
from tests.textbook.control import half_square, slope

MIDPOINT = ac.Midpoint()
SPIN = np.array([0.1, 0.2, -0.1])
INERTIA = np.array([1.0, 1.5, 2.0, 1.0, 1.0, 1.2])
SHORT = 0.4


def body(t, q, v, params):
    """A rigid body that falls."""
    return 0.5 * jnp.sum(jnp.asarray(INERTIA) * v**2) - 2.0 * q[2, 3]


def uneven(t, q, v, u, params):
    """A cost in which states and time enter, too."""
    return 0.5 * u @ u * (1 + 0.1 * jnp.sin(t)) + 0.3 * v @ v + 0.2 * q[0, 1] * q[1, 2]


@cache
def bodies() -> dict[str, Any]:
    satellite, pose = book.satellite(), ac.System(body, ac.SE3(), name="body")
    still, moved = (np.eye(3), SPIN), (np.eye(4), np.concatenate([SPIN, [0.3, 0.0, 0.2]]))
    cases = {
        "SO(3), three controls": (satellite, uneven, [0, 1, 2], still),
        "SO(3), two controls": (satellite, half_square, [0, 1], still),
        "SE(3), six controls": (pose, half_square, list(range(6)), moved),
        "SE(3), four controls": (pose, half_square, [0, 1, 2, 5], moved),
    }
    return {
        name: ac.ControlProblem(
            system, cost, actuated=chosen, start=start, end=(None, None), duration=SHORT
        )
        for name, (system, cost, chosen, start) in cases.items()
    }


@cache
def face(name):
    return bodies()[name].hamiltonian()


@cache
def marched(name):
    n = bodies()[name].system.space.dim
    costates = np.random.default_rng(n).normal(size=(2, n))
    return face(name).march(costates, steps=16)


NAMES = ["SO(3), three controls", "SO(3), two controls"]
LARGE = ["SE(3), six controls", "SE(3), four controls"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES + LARGE)
def test_costates_and_derivatives_are_each_other(name):
    W1, exact, k = face(name), marched(name), 8
    start = W1.to_vakonomic(exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
    back = W1.from_vakonomic(start["t0"], start["q0"], start["v0"], start.get("lam0"))
    assert_allclose(back.costates, exact.costates[k], rtol=1e-11, atol=1e-12)
    # q'' and q''' are those of the motion
    h = exact.t[1] - exact.t[0]
    v = exact.v[k - 2 : k + 3]
    first = (v[0] - 8 * v[1] + 8 * v[3] - v[4]) / (12 * h)
    second = (-v[0] + 16 * v[1] - 30 * v[2] + 16 * v[3] - v[4]) / (12 * h**2)
    assert_allclose(start["v0"], [exact.v[k], first, second], atol=1e-5)
    assert ("lam0" in start) == (name in ("SO(3), two controls", "SE(3), four controls"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_costates_and_discrete_momenta_are_each_other(name):
    W1, exact, k, h = face(name), marched(name), 8, SHORT / 16
    point = (exact.t[k], exact.q[k], exact.v[k], exact.costates[k])
    start = W1.to_discrete(MIDPOINT, h, *point)
    nodes = [start["q0"], *start["q1"]]
    back = W1.from_discrete(MIDPOINT, h, nodes, start.get("lam0"), t0=start["t0"])
    for found, wanted in zip(back[1:], point[1:], strict=True):
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, LARGE[1]])
def test_the_motion_without_controls_is_the_one_on_W1(name):
    """By the reference of the system of order 2."""
    W1, exact = face(name), marched(name)
    given = W1.to_vakonomic(exact.t[0], exact.q[0], exact.v[0], exact.costates[0])
    del given["t0"]
    q, jets, *lams = ac.reference(W1.vakonomic, **given, ts=exact.t[[0, -1]])
    assert_allclose(q[-1], exact.q[-1], atol=1e-9)
    point = W1.from_vakonomic(exact.t[-1], q[-1], jets[-1], lams[0][-1] if lams else None)
    assert_allclose(point.costates, exact.costates[-1], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_discrete_motion_is_marched_to_second_order(name):
    W1, exact, errors = face(name), marched(name), []
    discrete = bodies()[name].discrete(MIDPOINT)
    for steps in (16, 32):
        h = SHORT / steps
        start = W1.to_discrete(MIDPOINT, h, exact.t[0], exact.q[0], exact.v[0], exact.costates[0])
        run = ac.simulate(discrete, **start, h=h, steps=steps - 2)
        found = W1.read(run)
        at = round(0.75 * steps)
        assert_allclose(found.t[at], exact.t[12])
        errors.append(np.max(np.abs(found.costates[at] - exact.costates[12])))
        if name == NAMES[1]:  # the same in every direction of space
            p = np.asarray(run.momentum(lambda q: q.T @ jnp.array([1.0, 0.0, 0.0])))
            assert np.ptp(p) < 1e-9
    assert_allclose(slope((16, 32), errors), 2, atol=0.25)


# ---------------------------------------------------------------- controls that turn


def boat(t, q, v, params):
    """(x, y, heading), longer than wide."""
    along = v[0] * jnp.cos(q[2]) + v[1] * jnp.sin(q[2])
    across = v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2])
    return 0.5 * (along**2 + 1.7 * across**2 + 0.4 * v[2] ** 2)


def drag(t, q, v, params):
    return -0.3 * v


def thrust_and_rudder(t, q, params):
    c, s, zero = jnp.cos(q[2]), jnp.sin(q[2]), jnp.zeros(())
    return jnp.stack([jnp.stack([c, s, zero]), jnp.array([0.0, 0.0, 1.0])], axis=1)


def thrust(t, q, params):
    return thrust_and_rudder(t, q, params)[:, :1]


BOAT = ac.System(boat, ac.Euclidean(3), force=drag, name="boat")
ENDS = {"start": ([0, 0, 0.3], [0, 0, 0]), "end": ([1.0, 0.5, 0.6], [0, 0, 0]), "duration": 2.0}
STEERED = ac.ControlProblem(BOAT, half_square, actuation=thrust_and_rudder, **ENDS)


def test_controls_are_eliminated_at_right_angles():
    """Of one control less than coordinates, wherever the boat is headed."""
    found = elimination_of(STEERED)
    for heading in (0.0, 1.3, np.pi / 2, 4.0):
        q, E = jnp.array([0.3, -1.0, heading]), jnp.array([0.7, -0.2, 0.4])
        u, Phi = found.split(0.0, q, None, E)
        c, s = np.cos(heading), np.sin(heading)
        assert_allclose(u, [0.7 * c - 0.2 * s, 0.4], atol=1e-12)
        assert_allclose(jnp.abs(Phi), abs(0.7 * s + 0.2 * c), atol=1e-12)


def test_the_force_that_is_missing_is_that_of_the_equations_of_motion():
    t, q, v = 0.0, jnp.array([0.3, -1.0, 0.8]), jnp.array([0.5, 0.1, -0.4])
    a = ac.accelerations(BOAT)(t, q, v)
    assert_allclose(force_balance(BOAT, t, q, v, jnp.asarray(a)), 0, atol=1e-12)
    more = jnp.array([0.2, 0.5, -1.0])
    M = jax.hessian(boat, 2)(t, q, v, None)
    assert_allclose(force_balance(BOAT, t, q, v, a + more), M @ more, atol=1e-12)


def test_the_vakonomic_formulation_with_controls_that_turn():
    """Its cost goes to that of the direct one with h^2, and its discrete face has the same."""
    exact = ac.optimize(STEERED, ac.Galerkin(3), 16).cost
    solutions = [ac.optimize(STEERED, MIDPOINT, n, formulation="vakonomic") for n in (20, 40)]
    assert_allclose(slope((20, 40), [s.cost - exact for s in solutions]), 2, atol=0.1)
    found = ac.connect(STEERED.discrete(MIDPOINT), **STEERED.conditions(solutions[1]), steps=40)
    assert_allclose(found.q, solutions[1].q, atol=1e-9)
    W1 = STEERED.hamiltonian()
    motion = W1.march(solutions[1].extremal().costates[0], steps=16)
    assert_allclose(motion.cost, exact, rtol=1e-6)
    assert_allclose(motion.q[-1], ENDS["end"][0], atol=1e-6)
    k = 5
    start = W1.to_vakonomic(motion.t[k], motion.q[k], motion.v[k], motion.costates[k])
    back = W1.from_vakonomic(start["t0"], start["q0"], start["v0"], start["lam0"])
    assert_allclose(back.costates, motion.costates[k], rtol=1e-10, atol=1e-11)
    # multipliers of all components, [B K]^T lam = (-dC/du, mu), are those of the direct formulation
    direct = ac.optimize(STEERED, MIDPOINT, 40)
    assert_allclose(solutions[1].multipliers[5:36], direct.multipliers[5:36], atol=0.15)


def test_a_complement_that_does_not_serve_is_refused():
    """One control of three coordinates: what it leaves free at the start is where it acts at the
    end.
    """
    turned = ENDS | {"end": ([1.0, 0.5, 0.3 + np.pi / 2], [0, 0, 0])}
    problem = ac.ControlProblem(BOAT, half_square, actuation=thrust, **turned)
    for make in (problem.vakonomic, lambda: problem.discrete(MIDPOINT)):
        with pytest.raises(ValueError, match="cannot be eliminated from start to end"):
            make()
    assert problem.hamiltonian().march(np.ones((2, 3)), steps=2).cost > 0  # needs none
    ac.ControlProblem(BOAT, half_square, actuation=thrust, **ENDS).vakonomic()
