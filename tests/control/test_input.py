"""Optimal control: bad input is named."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.control import load, refine
from accion.methods import GeneralizedAlpha
from tests.textbook import control as book

MIDPOINT = ac.Midpoint()
REST = ([0, 0], [0, 0])


def not_scalar(t, q, v, u, p):
    return u


def flat_actuation(t, q, p):
    return jnp.ones(2)


def doubled(t, q, p):
    return jnp.array([[1.0, 2.0], [0.0, 0.0]])


def nowhere(t, q, p):
    return jnp.sin(q[:, None]) * jnp.ones((2, 1)) * 0.0


def jet(t, q, v, u, p):
    return u[0] * jnp.stack([jnp.cos(u[1]), jnp.sin(u[1])])


def heat_lagrangian(t, q, v, S, p):
    return 0.5 * v @ v - jnp.exp(S)


def rolling(t, q, v, p):
    return jnp.array([v[0] - v[1]])


def half(t, q, v, u, p):
    return q[0] - 0.5


def always_pushed(t, q, v, u, p):
    return 0.01 - u[0] ** 2


def short_cost(t, q, v, u):
    return u @ u


def short_actuation(q):
    return jnp.eye(2)


def listed_actuation(t, q, p):
    return [[1.0], [0.0]]


def short_path(t, q, v, p):
    return q[0]


hot = ac.ThermalSystem(heat_lagrangian, ac.Euclidean(2), name="hot block")
vakonomic = ac.System(book.block_lagrangian, ac.Euclidean(2), {"m": 1.0}, vakonomic=rolling)

# What is wrong in a problem of a cart-pole, and what is said.
WRONG = {
    "no control": ({"actuated": None}, "actuated="),
    "empty control": ({"actuated": []}, "there is no control"),
    "both": ({"actuation": doubled}, "one of them"),
    "unknown coordinate": (
        {"actuated": ["y"]},
        "'y' is no coordinate of cart-pole. Try one of: x, theta",
    ),
    "number of a coordinate": ({"actuated": [2]}, "2 is no coordinate"),
    "switch for a coordinate": ({"actuated": [True]}, "True is no coordinate"),
    "actuation that is no function": (
        {"actuated": None, "actuation": np.eye(2)},
        "actuation must be a function",
    ),
    "actuation that is a vector": (
        {"actuated": None, "actuation": flat_actuation},
        r"shape \(2, controls\), a row for .* shape \(2,\)",
    ),
    "actuation with other arguments": (
        {"actuated": None, "actuation": short_actuation},
        r"actuation takes 3 arguments, actuation\(t, q, params\)",
    ),
    "actuation that is a list": (
        {"actuated": None, "actuation": listed_actuation},
        r"shape \(2, controls\), a row for each .* returned a list",
    ),
    "actuation as actuated": ({"actuated": doubled}, "given as actuation=B"),
    "a number that is no coordinate": ({"actuated": 1.5}, "1.5 is no coordinate"),
    "actuation that vanishes": (
        {"actuated": None, "actuation": nowhere},
        "the control u_0 does nothing",
    ),
    "the same coordinate twice": ({"actuated": ["x", 0]}, "names x twice"),
    "a force of controls without names": (
        {"actuated": None, "control_force": jet},
        r"needs the names of its controls, controls=\[...\]",
    ),
    "a force of controls that is a number": (
        {"actuated": None, "control_force": not_scalar, "controls": ["a"]},
        r"control_force must return a covector of shape \(2,\)",
    ),
    "a force of controls with other arguments": (
        {"actuated": None, "control_force": short_path, "controls": ["a"]},
        r"control_force takes 5 arguments, control_force\(t, q, v, u, params\)",
    ),
    "a force that a control does not change": (
        {"actuated": None, "control_force": jet, "controls": ["thrust", "angle", "spare"]},
        "the control spare does nothing",
    ),
    "start out of bounds": (
        {"state_bounds": {"x": (1, 2)}},
        "the start is out of bounds: x = 0 is not within 1 .. 2",
    ),
    "end out of bounds": (
        {"end": ([3, 0], [0, 0]), "state_bounds": {"x": (-2, 2)}},
        "the end is out of bounds: x = 3",
    ),
    "velocity out of bounds": (
        {"end": ([0, 0], [5, 0]), "velocity_bounds": {"x": (-2, 2)}},
        "velocity of x = 5",
    ),
    "bounds the wrong way round": ({"control_bounds": (1, -1)}, "lower must not be above upper"),
    "bounds that are NaN": ({"control_bounds": (np.nan, 1)}, "lower must not be above upper"),
    "bounds in pairs": (
        {"control_bounds": [(-1,), (-1,)]},
        "leaves no room to .*not a pair for each",
    ),
    "one bound": ({"control_bounds": 3.0}, r"must be \(lower, upper\)"),
    "too many bounds": ({"control_bounds": ([-1, -1], [1, 1])}, "control_bounds must be"),
    "state bounds the wrong way round": (
        {"state_bounds": {"x": (2, -2)}},
        r"state_bounds\['x'\]: lower",
    ),
    "bounds of an unknown coordinate": (
        {"velocity_bounds": {"z": (-1, 1)}},
        "velocity_bounds: 'z' is no coordinate",
    ),
    "bounds without names": ({"state_bounds": (-1, 1)}, "must be a dictionary"),
    "start of the wrong length": (
        {"start": ([0, 0, 0], [0, 0])},
        r"start\[0\] must have 2 components",
    ),
    "velocity of the wrong length": ({"end": ([0, 0], [0])}, r"end\[1\] must have 2 components"),
    "start without a velocity": ({"start": [0, np.pi, 0, 0]}, r"start must be \(q, v\)"),
    "no end": ({"end": None}, r"end must be \(q, v\)"),
    "NaN in the end": ({"end": ([0, np.nan], [0, 0])}, r"end\[0\] must be finite"),
    "words in the end": ({"end": (["a", 0], [0, 0])}, r"end\[0\] must be 2 real numbers"),
    "no duration": ({"duration": None}, "duration must be"),
    "negative duration": ({"duration": -1.0}, "duration must be a positive number"),
    "durations the wrong way round": ({"duration": (3, 1)}, "duration must be a positive number"),
    "infinite duration": ({"duration": np.inf}, "duration must be a positive number"),
    "boundary": ({"boundary": "momenta"}, "boundary must be"),
    "free configurations": (
        {"boundary": "configurations", "start": ([0, None], [0, 0])},
        "given whole",
    ),
    "cost that is no function": ({"cost": 1.0}, "cost must be a function"),
    "cost that is a vector": ({"cost": not_scalar}, "cost must return a scalar"),
    "cost with other arguments": (
        {"cost": short_cost},
        r"cost takes 5 arguments, cost\(t, q, v, u, params\)",
    ),
    "list of paths": (
        {"path": [half]},
        r'path must be \{"name": g\} with functions g\(t, q, v, u, params\) <= 0',
    ),
    "path that is no function": ({"path": {"half": 0.5}}, "got 0.5 for 'half'"),
    "path with other arguments": (
        {"path": {"short": short_path}},
        r"path\['short'\] takes 5 arguments, path\['short'\]\(t, q, v, u, params\)",
    ),
    "terminal that is no function": ({"terminal": 1.0}, "terminal must be a function"),
    "terminal with other arguments": (
        {"terminal": book.half_square},
        r"terminal takes 4 arguments, terminal\(t, q, v, params\)",
    ),
    "names of controls": ({"controls": ("a", "b")}, "controls must be 1 names"),
    "numbers for names": ({"controls": 3}, "controls must be 1 names"),
    "t0": ({"t0": None}, "t0 must be a finite number"),
    "a thermal system": ({"system": hot}, "does not support thermal systems"),
    "a vakonomic system": ({"system": vakonomic}, "a vakonomic motion is not given by them alone"),
    "no system": ({"system": 3}, "must be a System"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_problem_is_named(name):
    changes, words = WRONG[name]
    given = {
        "system": book.cart_pole,
        "cost": book.half_square,
        "actuated": ["x"],
        "start": ([0, np.pi], [0, 0]),
        "end": REST,
        "duration": 2.0,
    }
    with pytest.raises(ValueError, match=words):
        ac.ControlProblem(**(given | changes))


# What is wrong in a call for a block, and what is said.
CALLS = {
    "steps": ({"steps": 3}, "steps must be a whole number >= 4"),
    "steps that are no number": ({"steps": 10.0}, "steps must be a whole number"),
    "starts": ({"starts": 0}, "starts must be a whole number >= 1"),
    "formulation": (
        {"formulation": "indirect"},
        "formulation must be one of 'direct', 'vakonomic'",
    ),
    "solver": ({"solver": "snopt"}, "solver must be one of 'sqp', 'ipopt', None"),
    "a class": ({"method": ac.Midpoint}, r"write Midpoint\(\)"),
    "GeneralizedAlpha": (
        {"method": GeneralizedAlpha(0.8)},
        "GeneralizedAlpha is not variational; try Midpoint",
    ),
    "EnergyConsistent": (
        {"method": ac.EnergyConsistent(MIDPOINT)},
        "EnergyConsistent is for a ThermalSystem",
    ),
    "short guess": (
        {"guess": (np.zeros((5, 1)), np.zeros((8, 1)))},
        "guess must have 9 configurations",
    ),
    "guess of other controls": (
        {"guess": (np.zeros((9, 1)), np.zeros((8, 2)))},
        r"controls of shape \(8, 1\)",
    ),
    "guess of other coordinates": ({"guess": (np.zeros((9, 2)), np.zeros((8, 1)))}, "guess"),
    "guess that is NaN": (
        {"guess": (np.full((9, 1), np.nan), np.zeros((8, 1)))},
        "guess must be finite",
    ),
    "guess of three": ({"guess": (1, 2, 3)}, "guess must be"),
    "guess of another kind": ({"guess": 3.0}, "guess must be"),
    "guess of nothing": ({"guess": (None, None)}, "guess must be an array of real numbers"),
    "guess of numbers": ({"guess": (1.0, 2.0)}, "guess must be configurations"),
    "guess of words": (
        {"guess": ("a", "b")},
        "guess must be an array of real numbers; got 'a'",
    ),
    "seed": ({"seed": "a"}, "seed must be a whole number >= 0"),
    "list of formulations": ({"formulation": ["direct"]}, "formulation must be one of"),
    "switch for iterations": ({"max_iterations": True}, "max_iterations must be a whole number"),
    "options that are no dictionary": ({"options": [1]}, "options must be a dictionary"),
    "options of another solver": (
        {"options": {"mu_init": 1e-3}},
        'this problem is solved by "sqp"',
    ),
    "tolerance": ({"tolerance": -1.0}, "tolerance"),
    "iterations": ({"max_iterations": 0}, "max_iterations"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_named(name):
    changes, words = CALLS[name]
    with pytest.raises(ValueError, match=words):
        ac.optimize(**({"problem": book.block(), "method": MIDPOINT, "steps": 8} | changes))


def test_a_path_may_be_one_function():
    assert book.block(path=always_pushed).path == {"always_pushed": always_pushed}
    assert list(book.block(path=lambda t, q, v, u, p: q[0] - 2.0).path) == ["path"]


def test_none_is_no_bound():
    problem = book.block(control_bounds=(None, 9), state_bounds={"x": (-1, None)})
    assert (problem.u_bounds[0], problem.u_bounds[1], *problem.q_bounds) == (-np.inf, 9, -1, np.inf)


def test_what_is_not_a_problem():
    with pytest.raises(ValueError, match="refine needs a Solution"):
        refine(book.block())
    with pytest.raises(ValueError, match="problem must be the ControlProblem that was solved"):
        load("nowhere.zarr", book.block_system)
    with pytest.raises(ValueError, match="needs a ControlProblem"):
        ac.optimize(book.block_system, MIDPOINT, 8)  # pyright: ignore


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"duration": (0.5, 1.0)}, "free duration"),
        ({"velocity_bounds": {"x": (-2, 2)}}, "velocity bounds"),
        ({"path": {"wall": book.wall}, "end": ([0.1], [0.0])}, "path constraints"),
    ],
)
def test_what_the_vakonomic_formulation_does_not_do(changes, words):
    with pytest.raises(ValueError, match=f"{words}.*try formulation=.direct"):
        ac.optimize(book.block(**changes), MIDPOINT, 8, formulation="vakonomic")


def test_vakonomic_and_constraints():
    problem = ac.ControlProblem(
        book.bob_system,
        book.half_square,
        actuated=[0],
        start=([0, -1], [0, 0]),
        end=([1, 0], None),
        duration=1.0,
    )
    with pytest.raises(ValueError, match="does not support constrained systems"):
        ac.optimize(problem, MIDPOINT, 8, formulation="vakonomic")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"velocity_bounds": {"x": (-2, 2)}}, "path constraints and bounds"),
        ({"control_bounds": (-2, 2)}, "path constraints and bounds"),
        ({"path": {"wall": book.wall}, "end": ([0.1], [0.0])}, "path constraints and bounds"),
    ],
)
def test_problems_with_inequalities_have_no_other_faces(changes, words):
    problem = book.block(**changes)
    for make in (problem.vakonomic, problem.hamiltonian, lambda: problem.discrete(MIDPOINT)):
        with pytest.raises(ValueError, match=words):
            make()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"duration": (0.5, 1.0)}, "does not support a free duration"),
        ({"end": ([1.0], None)}, "give the end whole"),
        ({"terminal": book.near_rest_at_1}, "does not support a terminal cost"),
    ],
)
def test_conditions_of_a_two_point_problem_are_whole(changes, words):
    with pytest.raises(ValueError, match=words):
        book.block(**changes).conditions()


def test_controls_that_cannot_be_eliminated_have_no_other_faces():
    """Two that do the same, and those that are no forces."""
    given = {
        "start": ([0, np.pi], [0, 0]),
        "end": REST,
        "duration": 2.0,
    }
    same = ac.ControlProblem(book.cart_pole, book.half_square, actuation=doubled, **given)
    names = ["thrust", "angle"]
    turned = ac.ControlProblem(
        book.cart_pole, book.half_square, control_force=jet, controls=names, **given
    )
    for problem, words in ((same, "singular at the start"), (turned, "a form of their own")):
        for make in (problem.vakonomic, lambda p=problem: p.discrete(MIDPOINT)):
            with pytest.raises(ValueError, match=words):
                make()


def test_what_the_other_faces_are_not_given():
    problem = book.block()
    with pytest.raises(ValueError, match="does not support Galerkin"):
        problem.discrete(ac.Galerkin(2))
    with pytest.raises(ValueError, match="method must be a method"):
        problem.discrete("midpoint")  # pyright: ignore
    with pytest.raises(ValueError, match="motion must be a Solution or a Trajectory"):
        problem.conditions(3)
    face = problem.hamiltonian()
    with pytest.raises(ValueError, match=r"costates must have shape \(2, 1\)"):
        face.march([1.0, 2.0, 3.0], steps=4)
    own = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1))
    run = ac.simulate(own, MIDPOINT, q0=[0.0], v0=[1.0], h=0.1, steps=4)
    with pytest.raises(ValueError, match="motion must be a Trajectory of problem"):
        face.read(run)
    other = book.block(cost=book.square).vakonomic()
    run = ac.simulate(other, MIDPOINT, q0=[0.0], v0=[[1.0], [0.0], [0.0]], h=0.1, steps=4)
    with pytest.raises(ValueError, match="motion must be a Trajectory of problem"):
        face.read(run)


def test_costs_that_do_not_bend_in_the_control_are_not_marched():
    """A quartic cost has d2H/du2 = 0 at u = 0."""
    face = book.block(cost=book.quartic).hamiltonian()
    with pytest.raises(ac.OptimizeFailed, match="no control with dH/du = 0 was found"):
        face.march(np.array([[1.0], [0.5]]), steps=4)
    found = face.march(np.array([[1.0], [0.5]]), steps=4, duration=0.2, u0=[0.8])
    np.testing.assert_allclose(found.u[:, 0] ** 3, found.costates[:, 1, 0], rtol=1e-9)


def test_sqp_is_for_equations():
    with pytest.raises(ValueError, match='use "ipopt"'):
        ac.optimize(book.block(control_bounds=(-9, 9)), MIDPOINT, 8, solver="sqp")


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (([0, -1.1], [0, 0]), "off the constraint of bob on a rope by 0.21"),
        (([0, -1], [0, 1]), "by 2"),
    ],
)
def test_a_start_off_the_constraint(start, words):
    with pytest.raises(ValueError, match=words):
        ac.ControlProblem(
            book.bob_system,
            book.half_square,
            actuation=book.tangent,
            start=start,
            end=([1, 0], None),
            duration=1.0,
        )


def test_bounds_of_coordinates_on_a_group():
    with pytest.raises(ValueError, match="on a group say what is allowed by path"):
        ac.ControlProblem(
            book.satellite(),
            book.half_square,
            actuated=[0],
            start=(np.eye(3), np.zeros(3)),
            end=(np.eye(3), None),
            duration=1.0,
            state_bounds={0: (-1, 1)},
        )


def test_an_end_beyond_a_path_constraint():
    """No control helps there: q = 1 at the end, and q <= 1/2 is asked for."""
    with pytest.raises(ValueError, match="the end is out of bounds: wall"):
        book.block(path={"wall": half})
    book.block(path={"pushed": always_pushed})  # the controls can see to that


# ---------------------------------------------------------------- failure
