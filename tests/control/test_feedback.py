"""After the plan: linearisation, what controls reach, and laws that hold and follow."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import sympy as sp

import accion as ac
from accion.control import linearise, lqr, reach, track
from accion.control.actuation import Selected
from accion.control.law import Affine
from accion.control.run import Plant
from accion.control.states import Slopes, StepSlopes, apart, moved
from accion.numerics.batches import at_times
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()
M, m, l, g = 1.0, 0.3, 0.5, 9.81
# By hand: x'' = (u - m g theta)/M and theta'' = ((M + m) g theta - u)/(M l) near the upright pole.
A = np.zeros((4, 4))
A[:2, 2:] = np.eye(2)
A[2, 1], A[3, 1] = -m * g / M, (M + m) * g / (M * l)
B = np.array([[0.0], [0.0], [1 / M], [-1 / (M * l)]])
Q, R, H = np.diag([1.0, 10.0, 0.1, 0.2]), np.array([[0.1]]), 0.02


def sampled() -> Any:
    """(Phi, Gamma) of controls that are held for H."""
    whole: Any = scipy.signal.cont2discrete((A, B, np.eye(4), np.zeros((4, 1))), H)
    return whole[:2]


@pytest.fixture(scope="module")
def problem():
    return book.swing_up()


@pytest.fixture(scope="module")
def swing(problem):
    return ac.optimize(problem, MIDPOINT, 64)


@pytest.fixture(scope="module")
def followed(swing):
    return track(swing, Q, R)


# ---------------------------------------------------------------- linearisation


def test_the_cart_pole_near_its_equilibria(problem):
    linear = linearise(problem, h=H)
    np.testing.assert_allclose(linear.A, A, atol=1e-12)
    np.testing.assert_allclose(linear.B, B, atol=1e-12)
    Phi, Gamma = sampled()
    np.testing.assert_allclose(linear.Phi, Phi, atol=1e-12)
    np.testing.assert_allclose(linear.Gamma, Gamma, atol=1e-12)
    w = np.sqrt((M + m) * g / (M * l))
    np.testing.assert_allclose(linear.modes, [w, 0, 0, -w], atol=1e-7)
    assert linear.controllable
    assert linear.stabilisable
    hanging = linearise(problem, at=([0.3, np.pi], None))
    np.testing.assert_allclose(np.imag(hanging.modes), [w, 0, 0, -w], atol=1e-7)
    assert repr(hanging).startswith(
        "<Linear: control of cart-pole, 4 states and 1 controls at rest"
    )


def test_along_a_solution_by_differences(problem, swing):
    linear = linearise(swing)
    assert linear.controllable
    assert linear.Phi.shape == (64, 4, 4)
    plant, k = Plant(problem, problem.system, linear.about.places), 20
    t, q, v, u, _ = linear.about
    space, h, state = problem.system.space, t[k + 1] - t[k], (q[k], v[k])
    end = plant.after(t[k], h, state, u[k])

    def after(z, du):
        start = [np.asarray(a) for a in moved(space, state, z)]
        return np.asarray(apart(space, end, plant.after(t[k], h, start, u[k] + du)))

    e, none = 1e-5, np.zeros(4)
    by_state = [(after(e * d, 0.0) - after(-e * d, 0.0)) / (2 * e) for d in np.eye(4)]
    np.testing.assert_allclose(linear.Phi[k], np.transpose(by_state), atol=1e-8)
    by_control = (after(none, e) - after(none, -e)) / (2 * e)
    np.testing.assert_allclose(linear.Gamma[k][:, 0], by_control, atol=1e-8)


def top_lagrangian(t, R, w, params):
    return 0.5 * w @ (jnp.array([1.0, 2.0, 3.0]) * w)


top = ac.System(top_lagrangian, ac.SO3(), name="free body")
TURNS = Affine(Selected((0, 1, 2), 3))


def test_of_a_spinning_body_in_its_own_frame():
    """A steady spin about a principal axis: by Euler's equations, and one step is exp(A h)."""
    spin, h = 1.7, 0.3
    point = (np.zeros(1), np.eye(3)[None], np.array([[0.0, 0.0, spin]]))
    by_state, by_u, _ = at_times(Slopes(TURNS), False, top, *point, np.zeros((1, 3)))
    euler = np.zeros((6, 6))
    euler[:3, 3:] = np.eye(3)
    euler[0, 1], euler[1, 0] = spin, -spin  # e' = w - v x e
    euler[3, 4], euler[4, 3] = (2 - 3) * spin / 1, (3 - 1) * spin / 2
    np.testing.assert_allclose(by_state[0], euler, atol=1e-12)
    np.testing.assert_allclose(by_u[0][3:], np.diag([1, 1 / 2, 1 / 3]), atol=1e-12)
    steps = (point[0], np.array([h]), *point[1:], np.zeros((1, 1, 3)))
    Phi, Gamma = at_times(StepSlopes(TURNS, (0.5,)), False, top, *steps)
    whole = np.zeros((9, 9))
    whole[:6, :6], whole[:6, 6:] = euler, by_u[0]
    exact = scipy.linalg.expm(whole * h)[:6]
    np.testing.assert_allclose(np.concatenate([Phi[0], Gamma[0]], axis=1), exact, atol=1e-10)


def beside_lagrangian(t, q, v, p):
    """Two masses on springs that know nothing of each other; the first coordinate is in mm."""
    x, dx = jnp.array([1e-3, 1.0]) * q, jnp.array([1e-3, 1.0]) * v
    return 0.5 * dx @ dx - 0.5 * x @ x


def drag(t, q, v, p):
    return jnp.array([0.0, -p["c"] * v[1]])


@pytest.mark.parametrize(("c", "stabilisable"), [(0.0, False), (0.1, True)])
def test_what_no_control_reaches(c, stabilisable):
    system = ac.System(beside_lagrangian, ac.Euclidean(2), {"c": c}, force=drag, name="two masses")
    rest = (np.zeros(2), np.zeros(2))
    problem = ac.ControlProblem(
        system, book.half_square, actuated=[0], start=rest, end=rest, duration=1.0
    )
    linear = linearise(problem, h=0.1)
    assert not linear.controllable
    assert linear.unreached.shape == (4, 2)
    np.testing.assert_allclose(linear.unreached[[0, 2]], 0, atol=1e-12)
    np.testing.assert_allclose(linear.fixed_modes, np.roots([1, c, 1]), atol=1e-12)
    assert linear.stabilisable == stabilisable
    if stabilisable:
        assert np.all(np.abs(lqr(problem, 1.0, 1.0, h=0.1).poles) < 1)
    else:
        with pytest.raises(ValueError, match=r"do not reach the modes .* no linear feedback"):
            lqr(problem, 1.0, 1.0, h=0.1)
    still = ac.optimize(problem, MIDPOINT, 8)
    along = linearise(still)
    assert not along.controllable
    np.testing.assert_allclose(along.unreached[[0, 2]], 0, atol=1e-12)


# ---------------------------------------------------------------- brackets


def test_brackets_of_the_cart_pole_are_those_of_sympy(problem):
    y: Any = sp.symbols("x theta dx dtheta")
    x, th, dx, dth = y
    u, s, c = sp.Symbol("u"), sp.sin(th), sp.cos(th)
    a = (u + m * l * s * dth**2 - m * g * s * c) / (M + m - m * c**2)
    field = sp.Matrix([dx, dth, a, (g * s - c * a) / l])
    f, g0 = field.subs(u, 0), field.diff(u)

    def bracket(X, Y):
        return Y.jacobian(y) * X - X.jacobian(y) * Y

    fg = bracket(f, g0)
    known: Any = {"g0": g0, "[f, g0]": fg, "[g0, [f, g0]]": bracket(g0, fg)}
    known["[f, [f, g0]]"] = bracket(f, fg)
    at = {x: 0.2, th: 0.3, dx: 0.1, dth: -0.7}
    found = reach(problem, at=([0.2, 0.3], [0.1, -0.7]))
    assert found.accessible
    assert found.brackets == ("g0", "[f, g0]", "[f, [f, g0]]", "[g0, [f, g0]]")
    for name, vector in zip(found.brackets, found.vectors, strict=True):
        exact = np.array(known[name].subs(at), dtype=float).ravel()
        np.testing.assert_allclose(vector / np.linalg.norm(vector), exact / np.linalg.norm(exact))


def skate_lagrangian(t, q, v, p):
    return 0.5 * v @ v


def edge(t, q, v, p):
    return jnp.array([jnp.sin(q[2]) * v[0] - jnp.cos(q[2]) * v[1]])


def push_and_turn(t, q, p):
    return jnp.array([[jnp.cos(q[2]), 0.0], [jnp.sin(q[2]), 0.0], [0.0, 1.0]])


def test_a_skate_goes_everywhere_but_no_linear_law_holds_it():
    """Its states are of five dimensions; sideways it is moved by brackets only."""
    system = ac.System(skate_lagrangian, ac.Euclidean(3), nonholonomic=edge, name="skate")
    rest = (np.zeros(3), np.zeros(3))
    problem = ac.ControlProblem(
        system, book.half_square, actuation=push_and_turn, start=rest, end=rest, duration=1.0
    )
    linear = linearise(problem)
    np.testing.assert_allclose(np.abs(linear.unreached[:, 0]), np.eye(6)[1], atol=1e-12)
    with pytest.raises(ValueError, match="no linear feedback holds this equilibrium"):
        lqr(problem, 1.0, 1.0)
    found = reach(problem, depth=4)
    assert (found.rank, found.dimension) == (5, 5)
    assert found.accessible
    assert reach(problem, depth=2).rank == 4
    assert "not accessible by brackets of 2" in str(reach(problem, depth=2))
    with pytest.raises(ValueError, match="off the constraints of skate"):
        reach(problem, at=(np.zeros(3), [0.0, 1.0, 0.0]))


# ---------------------------------------------------------------- at an equilibrium


def test_gains_are_those_of_scipy(problem):
    held = lqr(problem, Q, R, h=H)
    Phi, Gamma = sampled()
    S = np.asarray(scipy.linalg.solve_discrete_are(Phi, Gamma, H * Q, H * R))
    K = np.linalg.solve(H * R + Gamma.T @ S @ Gamma, Gamma.T @ S @ Phi)
    np.testing.assert_allclose(held.K, K, rtol=1e-7)
    np.testing.assert_allclose(held.S, S, rtol=1e-7)
    assert np.max(np.abs(held.poles)) < 1
    poles = np.linalg.eigvals(Phi - Gamma @ K)
    np.testing.assert_allclose(np.sort_complex(held.poles), np.sort_complex(poles), atol=1e-8)
    S = np.asarray(scipy.linalg.solve_continuous_are(A, B, Q, R))
    smooth = lqr(problem, np.diagonal(Q), 0.1)
    np.testing.assert_allclose(smooth.K, B.T @ S / R, rtol=1e-7)
    assert np.max(np.real(smooth.poles)) < 0
    np.testing.assert_allclose(lqr(problem, Q, R, h=1e-4).K, smooth.K, rtol=2e-3)


def test_a_pole_is_held_against_a_push(problem):
    """The cost of a small change is z.S z / 2 more, in the continuous equations."""
    held = lqr(problem, Q, R, h=H)
    z = np.array([1e-4, 2e-4, -1e-4, 3e-4])
    run = held.replay(12.0, q0=z[:2], v0=z[2:])
    cost = H * (np.sum(run.off[:-1] @ Q * run.off[:-1]) + np.sum(run.u @ R * run.u))
    np.testing.assert_allclose(cost, z @ held.S @ z, rtol=1e-5)
    far = held.replay(12.0, q0=[0.3, 0.4])
    assert np.max(np.abs(far.off[-1])) < 1e-3
    assert np.max(np.abs(far.off[:, 1])) == pytest.approx(0.4)
    alone = lqr(problem, Q, R)
    traj = ac.simulate(
        alone.closed_loop(), MIDPOINT, q0=[0.3, 0.4], v0=[0.0, 0.0], h=0.02, steps=600
    )
    assert np.max(np.abs(traj.q[-1])) < 1e-3


def test_a_replay_lasts_as_long_as_was_asked():
    """By a last step that is shorter: a lift with one control that is held, a parabola."""
    held = lqr(lift(), 1.0, 1.0, h=0.3)
    run = held.replay(1.0, q0=[0.5])
    np.testing.assert_allclose(run.t, [0, 0.3, 0.6, 0.9, 1.0], atol=1e-14)
    fall = run.q[3] + 0.1 * run.v[3] + 0.005 * (run.u[3] - g)
    np.testing.assert_allclose(run.q[4], fall, atol=1e-12)
    np.testing.assert_allclose(held.replay(0.1).t, [0, 0.1])
    assert len(held.replay(0.9).u) == len(held.replay(0.3 + 0.3 + 0.3).u) == 3
    places = np.linspace(0, 1, 9) ** 1.5
    along = track(ac.optimize(lift(), MIDPOINT, places), 1.0, 1.0).replay(2.5)
    assert along.t[-1] == pytest.approx(2.5, abs=1e-14)
    assert np.all(np.diff(along.t) > 0)


def test_controls_stay_within_their_bounds():
    bounded = book.swing_up(control_bounds=(-3.0, 3.0))
    held = lqr(bounded, Q, R, h=H)
    run = held.replay(4.0, q0=[0.0, 0.1])
    assert np.max(np.abs(run.u)) == 3.0
    assert np.max(np.abs(held(0.0, [0.0, 0.5], [0.0, 0.0]))) == 3.0
    np.testing.assert_allclose(held(0.0, [0.0, 1e-3], [0.0, 0.0]), -held.K[:, 1] * 1e-3)


def lifted(t, q, v, p):
    return 0.5 * v @ v - g * q[0]


def lift(**changes):
    """A mass that weighs 9.81 N and is pushed up by u."""
    asked = {"start": ([0.0], [0.0]), "end": ([1.0], [0.0]), "duration": 2.0} | changes
    system = ac.System(lifted, ac.Euclidean(1), coordinates=("z [m]",), name="lift")
    return ac.ControlProblem(system, book.half_square, **({"actuated": ["z"]} | asked))


def test_an_equilibrium_beyond_the_bounds_is_not_held():
    """The top of a flight is at rest, and the next moment it falls."""
    np.testing.assert_allclose(lqr(lift(control_bounds=(0, 12)), 1.0, 1.0).linear.about.u, g)
    for bounds in ((-5.0, 5.0), (g, 20.0)):
        with pytest.raises(ValueError, match=r"u_z must be 9\.81 to hold .* control_bounds"):
            lqr(lift(control_bounds=bounds), 1.0, 1.0)
    thrown = lift(start=([0.0], [4.0]), duration=0.5, control_bounds=(-5.0, 5.0))
    assert track(ac.optimize(thrown, MIDPOINT, 8), 1.0, 1.0, 1.0).after is None


def squared(t, q, v, u, p):
    return u**2


def test_a_search_that_starts_where_a_control_does_nothing_asks_for_u():
    whirled = lift(actuated=None, control_force=squared, controls=["spin"])
    with pytest.raises(ValueError, match=r"u: the controls that hold lift .* spin changes no .*u="):
        lqr(whirled, 1.0, 1.0)
    held = lqr(whirled, 1.0, 1.0, u=[np.sqrt(g)])
    np.testing.assert_allclose(held.linear.B[1, 0], 2 * np.sqrt(g))


def stiffening(t, q, v, p):
    return 0.5 * v @ v - 0.5 * (1 + jnp.sin(np.pi * t)) * q @ q


def drawn(t, q, v, p):
    return 0.5 * v @ v + t * q[0]


def fading(t, q, p):
    return jnp.array([[jnp.exp(-t)]])


@pytest.mark.parametrize(
    ("lagrangian", "B"), [(stiffening, None), (drawn, None), (skate_lagrangian, fading)]
)
def test_what_changes_with_time_is_not_held_by_one_law(lagrangian, B):
    """A, what the control must be, and B."""
    rest = ([0.0], [0.0])
    acts: Any = {"actuated": [0]} if B is None else {"actuation": B}
    problem = ac.ControlProblem(
        ac.System(lagrangian, ac.Euclidean(1), name="changing"),
        book.half_square,
        start=rest,
        end=rest,
        duration=2.0,
        **acts,
    )
    with pytest.raises(ValueError, match="control of changing changes with t near this equ"):
        lqr(problem, 1.0, 1.0)


def test_the_end_of_a_solution_is_not_held_where_the_system_changes():
    system = ac.System(stiffening, ac.Euclidean(1), name="changing")
    plan = ac.optimize(book.block(system=system, actuated=[0]), MIDPOINT, 8)
    assert track(plan, 1.0, 1.0, 1.0).after is None


def ball_lagrangian(t, q, v, p):
    return 0.5 * v @ v - g * q[1]


def circle(t, q, p):
    return jnp.array([q @ q - 4.0])


def test_under_a_constraint_only_what_it_allows_counts():
    """A ball on a circle of radius 2, at its top: one angle, which grows as exp(sqrt(g/2) t)."""
    system = ac.System(ball_lagrangian, ac.Euclidean(2), holonomic=circle, name="ball")
    top = ([0.0, 2.0], [0.0, 0.0])
    problem = ac.ControlProblem(
        system, book.half_square, actuated=[0], start=top, end=top, duration=1.0
    )
    linear = linearise(problem, h=0.05)
    np.testing.assert_allclose(linear.modes, [np.sqrt(g / 2), -np.sqrt(g / 2)], rtol=1e-12)
    assert linear.controllable
    held = lqr(problem, 1.0, 0.1, h=0.05)
    assert len(held.poles) == 2
    np.testing.assert_allclose(held.K[:, [1, 3]], 0.0, atol=1e-12)
    run = held.replay(10.0, q0=[2 * np.sin(0.3), 2 * np.cos(0.3)])
    assert np.max(np.abs(run.off[-1])) < 1e-5
    assert np.max(np.abs(np.sum(run.q**2, axis=1) - 4)) < 1e-9


# ---------------------------------------------------------------- along a solution


def test_along_a_motion_that_rests_the_law_is_that_of_the_equilibrium(problem):
    still = ac.optimize(book.swing_up(start=([0, 0], [0, 0])), MIDPOINT, 100)
    law, held = track(still, Q, R), lqr(problem, Q, R, h=H)
    np.testing.assert_allclose(law.K, np.broadcast_to(held.K, law.K.shape), rtol=1e-6)
    ended = track(still, Q, R, 0 * Q)
    np.testing.assert_allclose(ended.S[-1], 0.0)
    np.testing.assert_allclose(ended.K[0], held.K, rtol=0.1)


def test_the_cost_along_a_motion_is_that_of_the_riccati_equation(followed):
    """z_0.S_0 z_0 is what the linear closed loop costs; any other gains cost more."""
    linear, h = followed.linear, 2.0 / 64

    def cost(gains, z):
        total = 0.0
        for Phi, Gamma, K in zip(linear.Phi, linear.Gamma, gains, strict=True):
            du = -K @ z
            total += h * (z @ Q @ z + du @ R @ du)
            z = Phi @ z + Gamma @ du
        return total + z @ followed.S[-1] @ z

    z = np.array([0.1, -0.2, 0.3, 0.1])
    least = cost(followed.K, z)
    np.testing.assert_allclose(least, z @ followed.S[0] @ z, rtol=1e-9)
    assert cost(followed.K * 1.01, z) > least
    assert cost(followed.K * 0.99, z) > least


def shake(t, q, v, params):
    return jnp.array([0.5 * jnp.sin(7 * t), 0.05 * jnp.cos(5 * t)])


def test_a_swing_up_is_followed_and_held_under_disturbance(swing, followed):
    """Where the controls alone miss the end, by the mesh, a push, and masses that are others."""
    heavier = ac.System(
        book.cart_pole_lagrangian,
        ac.Euclidean(2),
        book.cart_pole.params | {"m": 0.33, "M": 0.95},
        coordinates=("x [m]", "theta [rad]"),
    )
    pushed = {"q0": [0.05, np.pi - 0.1], "v0": [0.1, 0.0]}
    calm = followed.replay(6.0)
    assert swing.replay_error > 0.3
    assert np.max(np.abs(calm.off[64])) < 0.02
    assert np.max(np.abs(calm.off[-1])) < 1e-3
    shaken = followed.replay(6.0, disturbance=shake, system=heavier, **pushed)
    assert np.max(np.abs(shaken.off[64:, 1])) < 0.2
    assert np.max(np.abs(followed.replay(8.0, **pushed).off[-1])) < 1e-3
    assert shaken.trajectory.q.shape == (len(shaken.t), 2)
    np.testing.assert_allclose(shaken.trajectory.v, shaken.v, atol=1e-12)
    assert shaken.plot().axes
    assert followed.plot().axes
    assert lqr(swing.problem, Q, R).plot().axes


def test_in_simulate_the_law_is_asked_at_any_time(followed):
    start = {"q0": [0.05, np.pi - 0.1], "v0": [0.0, 0.0]}
    run = ac.simulate(followed.closed_loop(), MIDPOINT, **start, h=0.01, steps=600)
    assert np.max(np.abs(run.q[-1])) < 1e-3
    sampled = followed.replay(6.0, **start)
    np.testing.assert_allclose(run.at(1.0).q, sampled.q[32], atol=0.05)
    middle = 0.5 * (followed.linear.about.t[10] + followed.linear.about.t[11])
    assert np.all(np.isfinite(followed(middle, [0.0, 3.0], [0.0, 0.0])))
    assert np.all(np.isnan(followed(-1.0, [0.0, 3.0], [0.0, 0.0])))


def test_between_nodes_what_is_followed_is_the_motion_itself(problem, swing):
    """On it the law gives the controls of the solution: a motion of fourth order between nodes."""
    fine = ac.optimize(problem, ac.Galerkin(2), 32, guess=swing)
    law = track(fine, Q, R)
    for t in (0.4, 0.43, 1.21):
        point = fine.trajectory.at(t)
        np.testing.assert_allclose(law(t, point.q, point.v), fine.control(t)[0], atol=0.02)


# ---------------------------------------------------------------- what is wrong

WRONG = {
    "no problem": (lambda p, s: linearise(3), "about must be a ControlProblem or a Solution"),
    "no equilibrium": (
        lambda p, s: linearise(p, at=([0.0, 0.3], None)),
        "at is no equilibrium: at rest in .* cart-pole accelerates by",
    ),
    "moving": (lambda p, s: linearise(p, at=([0, 0], [1, 0])), "Along a motion give linearise"),
    "at of a solution": (
        lambda p, s: linearise(s, at=([0, 0], None)),
        "at is for a ControlProblem",
    ),
    "poles along": (lambda p, s: track(s, Q, R).poles, "those of an equilibrium"),
    "negative Q": (lambda p, s: lqr(p, -1.0, R), "Q must be a number, 4 of them, or a symmetric"),
    "R that is zero": (lambda p, s: lqr(p, Q, 0.0), "R must be .* positive eigenvalues"),
    "Q that sees nothing": (lambda p, s: lqr(p, 0.0, R, h=H), "Q does not see|leaves a pole"),
    "how long": (lambda p, s: lqr(p, Q, R, h=H).replay(), "how long the equilibrium"),
    "how often": (lambda p, s: lqr(p, Q, R).replay(1.0), "how often it is asked"),
    "too short": (lambda p, s: track(s, Q, R).replay(1.0), "that of the solution, 2, or longer"),
    "another space": (
        lambda p, s: lqr(p, Q, R).closed_loop(book.block_system),
        "system must be a System on",
    ),
    "disturbance of one": (
        lambda p, s: lqr(p, Q, R, h=H).replay(1.0, disturbance=lambda t, q, v, params: v[0]),
        "disturbance must return",
    ),
    "depth": (lambda p, s: reach(p, depth=9), "depth must be at most 6"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(problem, swing, what):
    call, words = WRONG[what]
    with pytest.raises(ValueError, match=words):
        call(problem, swing)


def test_an_end_that_nothing_holds_must_have_a_cost():
    thrown = ac.optimize(book.block(end=([1.0], [1.0])), MIDPOINT, 8)
    with pytest.raises(ValueError, match="Qf: the solution does not end at rest"):
        track(thrown, 1.0, 1.0)
    law = track(thrown, 1.0, 1.0, 1.0)
    assert law.after is None
    with pytest.raises(ValueError, match="nothing holds its end"):
        law.replay(2.0)
    assert np.isnan(law(1.5, [1.0], [0.0]))
    closed = law.closed_loop()
    with pytest.raises(ac.StepFailed, match=r"t = 1, .* with feedback from t = 0 to t = 1 are not"):
        ac.simulate(closed, MIDPOINT, q0=[0.0], v0=[0.0], h=0.25, steps=5)
    late = track(ac.optimize(book.block(t0=0.5), MIDPOINT, 8), 1.0, 1.0).closed_loop()
    with pytest.raises(ac.StepFailed, match=r"t = 0, .* with feedback from t = 0\.5 are not"):
        ac.simulate(late, MIDPOINT, q0=[0.0], v0=[0.0], h=0.25, steps=2)
