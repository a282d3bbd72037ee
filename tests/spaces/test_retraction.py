"""Retractions of the user's own: the same motion where they are `exp` or `cayley` written anew, the
order of the method with another one, and what is said of maps that are none.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.spaces import rotations
from tests.stepping.group_motion_cases import TOP, XI, start, top, top_lagrangian

SO3 = ac.SO3()


def matrix_cayley(xi):
    X = SO3.hat(xi)
    return jnp.eye(3) + (X + X @ X / 2) / (1 + xi @ xi / 4)


def matrix_cayley_inverse(g):
    """vee(g) is xi/(1 + |xi|^2/4), and 1 + trace(g) is 4/(1 + |xi|^2/4)."""
    return 4 * SO3.vee(g) / (1 + jnp.trace(g))


def matrix_cayley_tangent(xi):
    """(1 - X/2) / (1 + |xi|^2/4): cayley keeps the axis, and turns by 2 arctan(|xi|/2) about it."""
    return (jnp.eye(3) - SO3.hat(xi) / 2) / (1 + xi @ xi / 4)


def rodrigues(xi):
    """The rotation whose modified Rodrigues parameters are xi/4, cayley(xi/2)^2: by 4
    arctan(|xi|/4) about xi.
    """
    half = matrix_cayley(xi / 2)
    return half @ half


def rodrigues_inverse(g):
    turn = rotations.from_matrix(g)
    return 4 * turn.u / (1 + turn.w)


CAYLEY = ac.Retraction(matrix_cayley, matrix_cayley_inverse, matrix_cayley_tangent)
RODRIGUES = ac.Retraction(rodrigues, rodrigues_inverse)


def glider(t, g, xi, params):
    """A body in the plane, with weight."""
    return 0.5 * jnp.sum(jnp.array([0.4, 1.0, 1.7]) * xi**2) - g[1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lagrangian", "ours", "theirs"),
    [
        (top_lagrangian, ac.SO3("cayley"), ac.SO3(CAYLEY)),
        (glider, ac.SE2(), ac.SE2(ac.Retraction(ac.SE2().tau, ac.SE2().tau_inverse))),
    ],
    ids=["cayley, with its tangent", "exp, its tangent by differentiation"],
)
def test_a_retraction_written_anew_gives_the_same_motion(lagrangian, ours, theirs):
    q0 = ours.tau(np.linspace(0.2, 0.9, 3))
    one, other = (
        ac.simulate(ac.System(lagrangian, space, TOP), ac.Midpoint(), q0=q0, v0=XI, h=0.1, steps=20)
        for space in (ours, theirs)
    )
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(other.p, one.p, rtol=0, atol=1e-13)


ROTATIONS = np.stack([np.asarray(SO3.hat(e)) for e in np.eye(3)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "make"),
    [
        (ac.SO2(), ac.SO2),
        (ac.SE3("cayley"), ac.SE3),
        (ac.MatrixGroup(ROTATIONS), lambda tau: ac.MatrixGroup(ROTATIONS, tau)),
    ],
    ids=["SO2", "SE3", "MatrixGroup"],
)
def test_a_retraction_written_anew_gives_the_same_step(ours, make):
    """The discrete momenta of a step, for the map and its inverse of each group itself."""

    def L(t, g, xi, params):
        return 0.5 * jnp.sum(jnp.arange(1.0, ours.dim + 1) * xi**2) - g[0, 0] ** 2 * g[0, 1]

    theirs = make(ac.Retraction(ours.tau, ours.tau_inverse))
    q0 = ours.tau(jnp.linspace(0.2, 0.6, ours.dim))
    x = jnp.linspace(-0.2, 0.3, ours.dim)
    found = []
    for space in (ours, theirs):
        form = ac.discrete(ac.System(L, space), ac.Midpoint()).form
        found.append(np.concatenate(jax.jit(form.derivatives)(0.0, 0.1, q0, x)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_another_retraction_keeps_the_order():
    found = ac.analysis.order(
        top(ac.SO3(RODRIGUES)),
        ac.Midpoint(),
        q0=start(3),
        v0=XI,
        duration=1.0,
        h=[0.05, 0.025, 0.0125, 0.00625],
    )
    assert abs(found.slope - 2) < 0.06


def test_it_is_compared_by_its_functions_and_printed_without_addresses():
    assert ac.SO3(CAYLEY) == ac.SO3(
        ac.Retraction(matrix_cayley, matrix_cayley_inverse, matrix_cayley_tangent)
    )
    assert ac.SO3(CAYLEY) != ac.SO3(RODRIGUES)
    assert repr(ac.SO3(RODRIGUES)) == (
        "SO3(retraction=Retraction(rodrigues, rodrigues_inverse, None))"
    )


def in_turn(xi):
    """Rotations about the three axes, one after the other: not symmetric."""
    return SO3.tau(xi * np.eye(3)[0]) @ SO3.tau(xi * np.eye(3)[1]) @ SO3.tau(xi * np.eye(3)[2])


def in_turn_inverse(g):
    return jnp.stack(
        [jnp.arctan2(-g[1, 2], g[2, 2]), jnp.arcsin(g[0, 2]), jnp.arctan2(-g[0, 1], g[0, 0])]
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.Retraction("exp", SO3.tau_inverse), "tau of a Retraction must be a function"),
        (lambda: ac.Retraction(SO3.tau, None), "inverse of a Retraction must be a function"),
        (lambda: ac.SO3("log"), r"Try one of: exp, cayley, or a Retraction\(tau, inverse\)"),
        (lambda: ac.SO3(3), "there is no retraction 3"),
        (
            lambda: ac.SO3(ac.Retraction(in_turn, in_turn_inverse)),
            r"tau\(-xi\) tau\(xi\).*should be 1.*sigma\(xi/2\) sigma\(-xi/2\)\^-1.*off by",
        ),
        (
            lambda: ac.SO3(ac.Retraction(lambda xi: jnp.eye(3) + SO3.hat(xi), SO3.vee)),
            r"not in the group for xi = .*R\^T R should be 1, off by",
        ),
        (
            lambda: ac.SO3(ac.Retraction(SO3.tau, matrix_cayley_inverse)),
            r"inverse\(tau\(xi\)\) of this retraction should be xi",
        ),
        (
            lambda: ac.SO3(
                ac.Retraction(lambda xi: SO3.tau(2 * xi), lambda g: SO3.tau_inverse(g) / 2)
            ),
            "the tangent of tau of this retraction should be 1",
        ),
        (
            lambda: ac.SO3(ac.Retraction(matrix_cayley, matrix_cayley_inverse, SO3.dtau)),
            r"tangent\(xi\) of this retraction should be the derivative of tau",
        ),
        (lambda: ac.SE3(CAYLEY), r"tau\(xi\) of a retraction must have shape \(4, 4\)"),
        (
            lambda: ac.SO3(ac.Retraction(lambda xi: SO3.tau(xi) * jnp.nan, SO3.tau_inverse)),
            "must be finite",
        ),
    ],
)
def test_a_map_that_is_no_retraction(make, words):
    with pytest.raises(ValueError, match=words):
        make()
