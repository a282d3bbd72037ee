"""Functions with other arguments than they are called with: one error, that names them."""

import jax
import jax.numpy as jnp
import pytest

import accion as ac

PLANE = ac.Euclidean(2)


def free(t, q, v, params):
    return 0.5 * v @ v


def two(a, b):
    return a


def four(a, b, c, d):
    return a


def five(a, b, c, d, e):
    return a


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: ac.System(two, PLANE),
            (
                r"lagrangian takes 4 arguments, lagrangian\(t, q, v, params\); the function that"
                r" was given takes \(a, b\)"
            ),
        ),
        (
            lambda: ac.System(free, PLANE, force=two),
            r"force takes 4 arguments, force\(t, q, v, params\)",
        ),
        (
            lambda: ac.System(free, PLANE, holonomic=four),
            r"holonomic takes 3 arguments, holonomic\(t, q, params\); .* takes \(a, b, c, d\)",
        ),
        (lambda: ac.System(free, PLANE, nonholonomic=two), r"nonholonomic takes 4 arguments"),
        (
            lambda: ac.System(free, PLANE, nonholonomic=four, variational=two),
            r"variational\(t, q, params\) or variational\(t, q, v, params\); .* takes \(a, b\)",
        ),
        (lambda: ac.System(free, PLANE, vakonomic=five), r"vakonomic takes 4 arguments"),
        (
            lambda: ac.HigherOrderSystem(four, PLANE),
            r"lagrangian takes 5 arguments, lagrangian\(t, q, v, a, params\)",
        ),
        (lambda: ac.HigherOrderSystem(five, PLANE, vakonomic=four), r"vakonomic takes 5 arguments"),
        (
            lambda: ac.ThermalSystem(five, PLANE, friction=four),
            r"friction takes 5 arguments, friction\(t, q, v, S, params\)",
        ),
        (
            lambda: ac.mechanical(1.0, two, 2),
            r"potential takes 3 arguments, potential\(t, q, params\)",
        ),
        (
            lambda: ac.mechanical(1.0, None, 2, weight=five),
            r"weight takes 2 arguments, weight\(t, params\)",
        ),
        (lambda: ac.mechanical(1.0, None, 2, magnetic=five), r"magnetic takes 2 arguments"),
        (lambda: ac.mechanical(two, None, 2), r"mass takes 1 argument, mass\(params\)"),
        (lambda: ac.particles(two, 1.0, None, 2), r"positions takes 3 arguments"),
        (
            lambda: ac.particles(None, None, None, 2, bodies=ac.rigid_body(1.0, 1.0, two)),
            r"pose takes 3 arguments",
        ),
        (lambda: ac.rayleigh(two), r"dissipation takes 4 arguments"),
    ],
)
def test_other_arguments(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_what_may_be_called_is_let_in():
    ac.System(
        jax.jit(free),
        PLANE,
        force=lambda *args: jnp.zeros(2),
        holonomic=lambda t, q, p, scale=2.0: scale * q[:1],
    ).check()


def test_a_constraint_that_cannot_be_evaluated_is_named():
    with pytest.raises(ValueError, match=r"holonomic could not be evaluated \(TypeError"):
        ac.System(free, PLANE, holonomic=lambda t, q, p: q["x"])


def test_discrete_of_a_control_problem():
    pushed = ac.mechanical(1.0, None, 1, name="block")
    ends = {"start": ([0.0], [0.0]), "end": ([1.0], [0.0])}
    problem = ac.ControlProblem(
        pushed, lambda t, q, v, u, p: 0.5 * u @ u, actuated=[0], duration=1.0, **ends
    )
    with pytest.raises(
        ValueError,
        match=(
            r"the first argument must be a System; got a ControlProblem\. Its system is its"
            r" attribute `system`"
        ),
    ):
        ac.discrete(problem, ac.Midpoint())
    with pytest.raises(ValueError, match="the first argument must be a System; got 3"):
        ac.discrete(3, ac.Midpoint())
