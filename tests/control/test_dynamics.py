"""Optimal control of x' = f(t, x, u)."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import accion as ac
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()


def pendulum(t, x, u, p):
    return jnp.array([x[1], p["w"] * u[0] - p["gravity"] * jnp.sin(x[0])])


def half_square(t, x, u, p):
    return 0.5 * u @ u


def angle(t, q, v, p):
    return 0.5 * v @ v + 9.81 * jnp.cos(q[0])


def bead(t, x, u, p):
    """x to the right, y down, the speed; u is the angle from below."""
    return jnp.array([x[2] * jnp.sin(u[0]), x[2] * jnp.cos(u[0]), 9.81 * jnp.cos(u[0])])


def time(t, x, u, p):
    return 1.0 + 0.0 * u[0]


SWING = ac.Dynamics(
    pendulum, ["theta [rad]", "omega [rad/s]"], ["u"], {"gravity": 9.81, "w": 1.0}, name="pendulum"
)
BEAD = ac.Dynamics(bead, ["x [m]", "y [m]", "v [m/s]"], ["angle [rad]"], name="bead")


def swing(**changes):
    given = {"start": [0, 0], "end": [1.0, 0.5], "duration": 1.0}
    return ac.ControlProblem(SWING, half_square, **(given | changes))


@pytest.fixture(scope="module")
def swung():
    return ac.optimize(swing(), ac.Galerkin(3), 8)


def test_it_is_the_same_as_the_mechanical_problem(swung):
    """Cost, motion, controls and costates are those of the Lagrangian's problem."""
    system = ac.System(angle, ac.Euclidean(1), name="pendulum")
    problem = ac.ControlProblem(
        system,
        book.half_square,
        actuated=[0],
        start=([0], [0]),
        end=([1.0], [0.5]),
        duration=1.0,
    )
    s = ac.optimize(problem, ac.Galerkin(3), 8)
    assert_allclose(swung.cost, s.cost, rtol=1e-8)
    assert_allclose(swung.x, np.concatenate([s.q, s.v], axis=1), atol=1e-7)
    assert_allclose(swung.costates, s.costates.reshape(9, 2), atol=1e-5)
    assert swung.replay_error < 1e-6
    assert_allclose(swung.at(0.3).q, np.concatenate(s.at(0.3), axis=1), atol=1e-4)


@pytest.mark.parametrize(
    ("method", "steps", "order"),
    [(MIDPOINT, (8, 16), 2), (ac.Trapezoid(), (8, 16), 2), (ac.Galerkin(2), (4, 8), 4)],
    ids=str,
)
def test_the_order_is_that_of_collocation(swung, method, steps, order):
    fine = swung.on_mesh(16).cost
    errors = [ac.optimize(swing(), method, n, guess=swung).cost - fine for n in steps]
    assert_allclose(book.slope(steps, errors), order, atol=0.35)


def test_costates_are_the_derivatives_of_the_least_cost(swung):
    e = 1e-4

    def least(x0):
        return ac.optimize(swing(start=x0), ac.Galerkin(3), 8, guess=swung).cost

    for i, d in enumerate(np.eye(2) * e):
        assert_allclose(-swung.costates[0, i], (least(d) - least(-d)) / (2 * e), rtol=1e-5)
    more = replace(SWING, params={"gravity": 9.81 + e, "w": 1.0})
    less = replace(SWING, params={"gravity": 9.81 - e, "w": 1.0})
    up, down = (
        ac.optimize(replace(swing(), system=s), ac.Galerkin(3), 8, guess=swung).cost
        for s in (more, less)
    )
    assert_allclose(swung.cost_gradient()["gravity"], (up - down) / (2 * e), rtol=1e-5)


def test_the_brachistochrone_is_a_cycloid():
    """Ten metres to the right and five down; H is 0 where the time is free."""

    def off(a):
        return (a - np.sin(a)) / (1 - np.cos(a)) - 2.0

    a = brentq(off, 0.1, 2 * np.pi - 0.1)
    T = a * np.sqrt(5.0 / (1 - np.cos(a)) / 9.81)
    problem = ac.ControlProblem(
        BEAD,
        time,
        start=[0, 0, 0],
        end=[10, 5, None],
        duration=(0.1, 10),
        control_bounds=(0, np.pi),
    )
    guess = np.linspace([0, 0, 0], [10, 5, 10], 11), np.linspace([0.1], [2.0], 10), 2.0
    s = ac.optimize(problem, ac.Galerkin(3), 10, guess=guess)
    assert_allclose(s.duration, T, rtol=1e-5)
    f = np.asarray(s.v)[1:-1]
    assert_allclose(np.sum(s.costates[1:-1] * f, axis=1) - 1.0, 0, atol=5e-3)
    assert_allclose(s.costates[-1, 2], 0, atol=1e-6)


def too_fast(t, x, u, p):
    return x[1] - 1.2


def on_circle(t, x, p):
    return x @ x - 1.0


def turned(t, x, u, p):
    return x[0]


def test_all_that_is_asked_of_motions_is_asked_of_states():
    s = ac.optimize(swing(path=too_fast), MIDPOINT, 16)
    assert abs(s.path_worst["too_fast"].value) < 1e-5
    s = ac.optimize(swing(state_bounds={"omega": (-1, 1.2)}), MIDPOINT, 16)
    assert_allclose(np.max(s.x[:, 1]), 1.2, atol=1e-6)
    free = swing(end=[None, None], at_end=on_circle, integrals={"turned": (turned, 0.3)})
    x = np.linspace([0, 0], [0.8, 0.4], 17)
    s = ac.optimize(free, MIDPOINT, 16, guess=(x, np.zeros((16, 1))))
    assert_allclose(s.x[-1] @ s.x[-1], 1.0, atol=1e-9)
    middle = (s.x[1:, 0] + s.x[:-1, 0]) / 2
    assert_allclose(np.mean(middle), 0.3, atol=1e-9)
    s = ac.optimize(swing(via={0.5: [0.2, None]}), MIDPOINT, 16)
    assert_allclose(s.x[8, 0], 0.2, atol=1e-12)


WRONG = {
    "a force": ({"actuated": [0]}, "leave out actuated"),
    "other names": ({"controls": ["b"]}, "have the names"),
    "an end of the wrong length": ({"end": [0.0]}, "end must have 2 components"),
    "a cost of mechanics": ({"cost": book.half_square}, r"cost\(t, x, u, params\)"),
    "configurations": ({"boundary": "configurations"}, "is for mechanical systems"),
    "a path of mechanics": ({"path": book.wall}, r"\(t, x, u, params\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_problem_is_named(name):
    changes, words = WRONG[name]
    given = {"start": [0, 0], "end": [1, 0], "duration": 1.0}
    with pytest.raises(ValueError, match=words):
        ac.ControlProblem(**({"system": SWING, "cost": half_square} | given | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"f": lambda t, x, u, p: u}, r"one rate for each state, shape \(2,\)"),
        ({"f": 3}, "f must be a function"),
        ({"f": lambda x, u: x}, r"f\(t, x, u, params\)"),
        ({"states": 0}, "states must be names"),
        ({"controls": [1]}, "controls must be names"),
    ],
)
def test_wrong_dynamics_are_named(changes, words):
    given = {"f": pendulum, "states": 2, "controls": 1, "params": SWING.params}
    with pytest.raises(ValueError, match=words):
        ac.Dynamics(**(given | changes))


def test_what_has_no_lagrangian_says_so(swung):
    with pytest.raises(ValueError, match="moves under controls only: ControlProblem and optimize"):
        ac.simulate(SWING, MIDPOINT, q0=[0, 0], v0=[0, 0], h=0.1, steps=3)
    for make in (swing().vakonomic, swing().hamiltonian, lambda: swing().discrete(MIDPOINT)):
        with pytest.raises(ValueError, match="has no Lagrangian"):
            make()
    with pytest.raises(ValueError, match="is no Trajectory"):
        _ = swung.trajectory
    with pytest.raises(ValueError, match=r"try Galerkin\(2\)"):
        ac.optimize(swing(), ac.Galerkin(3, "lobatto"), 4)
    swung.plot()
    with pytest.raises(ValueError, match=r"to_xarray\(\)\.to_zarr"):
        swung.save("nowhere.zarr")


def test_as_a_dataset(swung):
    data = swung.to_xarray()
    assert_allclose(data["x"].sel(coordinate="omega"), swung.x[:, 1])
    assert data["costates"].dims == ("time", "coordinate")
    assert data.attrs["control_cost"] == swung.cost


def area(t, x, u, p):
    return jnp.array([u[0], u[1], x[0] * u[1] - x[1] * u[0]])


@pytest.mark.parametrize(("height", "corank"), [(0.0, 1), (1.0, 0)])
def test_abnormal_motions_of_the_nonholonomic_integrator(height, corank):
    """At rest it reaches no other height to first order; along a circle it does."""
    system = ac.Dynamics(area, ["x", "y", "z"], ["u", "w"], name="Brockett")
    problem = ac.ControlProblem(
        system, half_square, start=[0, 0, 0], end=[0, 0, height], duration=1.0
    )
    x = np.linspace([0, 0, 0], [0, 0, height], 9)
    guess = x, height * np.linspace([3.0, 1.0], [-3.0, 1.0], 8)
    found = ac.analysis.abnormal(problem, ac.optimize(problem, ac.Galerkin(2), 8, guess=guess))
    assert found.corank == corank
    assert not found.strictly
    if corank:
        assert_allclose(np.abs(found.costates[0]), [[0, 0, 1]] * len(found.t), atol=1e-9)


def post(t, x, u, p):
    """A disc of radius 0.05 around (0.5, 0.01)."""
    return 0.05**2 - (x[0] - 0.5) ** 2 - (x[1] - 0.01) ** 2


def test_a_taut_string_goes_round_what_ten_steps_do_not_see():
    """From (0, 0) to (1, 0) with x' = u: half the square of the length of the string, on one side
    of the disc or on the other.
    """
    d, below = np.hypot(0.5, 0.01), 2 * np.arctan(0.02)
    turn = np.pi - 2 * np.arccos(0.05 / d)
    strings = [2 * np.sqrt(d**2 - 0.05**2) + 0.05 * (turn + side) for side in (-below, below)]
    point = ac.Dynamics(lambda t, x, u, p: u, ["x", "y"], 2, name="point")
    problem = ac.ControlProblem(
        point, half_square, start=[0, 0], end=[1, 0], duration=1.0, path={"post": post}
    )
    for method in (MIDPOINT, ac.Galerkin(2)):
        s = ac.optimize(problem, method, 10)
        x = s.at(np.linspace(0, 1, 2001)).q
        assert np.min(np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.01)) > 0.05 - 1e-5
        assert min(abs(s.cost - length**2 / 2) for length in strings) < 1e-4


def pulled(t, x, u, p):
    return jnp.array([u[0] / x[1], u[1]])


def test_an_end_that_is_free_is_not_looked_at():
    """f is infinite at x_1 = 0, where a free component would be put."""
    system = ac.Dynamics(pulled, 2, 2, name="pulled")
    problem = ac.ControlProblem(
        system, half_square, start=[0, 1], end=[1, None], duration=1.0, state_bounds={1: (0.5, 2)}
    )
    found = ac.optimize(problem, MIDPOINT, 8, starts=3, spread=0.1)
    assert found.success
    with pytest.raises(ValueError, match="f is not finite at the end"):
        ac.ControlProblem(system, half_square, start=[0, 1], end=[1, 0], duration=1.0)
