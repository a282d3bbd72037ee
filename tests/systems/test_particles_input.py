"""Systems built from particles and rigid bodies: closed forms, finite differences, generalised
forces."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac


def LINE(t, q, params):
    return q[None]


def PULL(t, r, u, params):
    return -r


def FLAT(t, q, params):
    return jnp.array([q[0], 0.0, 0.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.particles(None, None, None, 1), "nothing that moves"),
        (lambda: ac.particles(LINE, None, None, 1), "go together"),
        (
            lambda: ac.particles(None, 1.0, None, 1, bodies=[ac.rigid_body(1.0, 1.0, FLAT)]),
            "go together",
        ),
        (
            lambda: ac.particles(
                None, None, None, 1, bodies=[ac.rigid_body(1.0, 1.0, FLAT)], forces=PULL
            ),
            "forces act on particles",
        ),
        (lambda: ac.particles(np.zeros((2, 2)), 1.0, None, 1), "positions must be a function"),
        (lambda: ac.particles(LINE, 1.0, 3.0, 1), "potential must be a function"),
        (lambda: ac.particles(LINE, 1.0, None, 1, forces=3.0), "forces must be a function"),
        (
            lambda: ac.particles(LINE, 1.0, None, 1, forces=PULL, force=3.0),
            "force must be a function",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 1, velocity_potential=3.0),
            "velocity_potential must be a function",
        ),
        (lambda: ac.particles(LINE, "heavy", None, 1), "masses must be a number or a vector"),
        (lambda: ac.particles(LINE, np.eye(2), None, 1), r"masses must be.*shape \(2, 2\)"),
        (lambda: ac.particles(LINE, np.nan, None, 1), "masses must be finite"),
        (lambda: ac.particles(LINE, 1.0, None, 0), "n >= 1"),
        (lambda: ac.particles(LINE, 1.0, None, 1, bodies=[FLAT]), "made by rigid_body"),
        (lambda: ac.rigid_body(1.0, 1.0, np.zeros(3)), "pose must be a function"),
        (lambda: ac.rigid_body([1.0, 2.0], 1.0, FLAT), "mass of a rigid body must be a number"),
        (lambda: ac.rigid_body("heavy", 1.0, FLAT), "mass of a rigid body must be a number"),
        (lambda: ac.rigid_body(1.0, np.ones(2), FLAT), r"inertia.*shape \(2,\)"),
        (lambda: ac.rigid_body(1.0, np.inf, FLAT), "inertia of a rigid body must be finite"),
        (
            lambda: ac.rigid_body(
                1.0, np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), FLAT
            ),
            "symmetric",
        ),
        (lambda: ac.rigid_body(1.0, 1.0, FLAT, space=2), "space must be a Space"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ac.particles(lambda t, q, params: q, 1.0, None, 2),
            r"shape \(2,\). One particle needs brackets",
        ),
        (
            lambda: ac.particles(lambda t, q, params: jnp.stack([q, q]), [1.0, 2.0, 3.0], None, 2),
            r"masses must be.*shape \(2,\).*got shape \(3,\)",
        ),
        (
            lambda: ac.particles(
                lambda t, q, params: q[None], lambda params: jnp.ones((1, 1)), None, 2
            ),
            r"masses must be.*got shape \(1, 1\)",
        ),
        (
            lambda: ac.particles(LINE, 1.0, lambda t, q, params: q, 2),
            "potential must return a scalar",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 2, velocity_potential=lambda t, q, v, params: v),
            "velocity_potential must return a scalar",
        ),
        (
            lambda: ac.particles(LINE, 1.0, None, 2, forces=lambda t, r, u, params: r[0]),
            r"forces must return.*\(1, 2\).*shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                LINE,
                1.0,
                None,
                2,
                forces=lambda t, r, u, params: r,
                force=lambda t, q, v, params: v[0],
            ),
            r"force must return a covector of shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                None, None, None, 2, bodies=[ac.rigid_body(1.0, 1.0, lambda t, q, params: q)]
            ),
            r"pose must return.*shape \(2,\)",
        ),
        (
            lambda: ac.particles(
                None, None, None, 2, bodies=[ac.rigid_body(1.0, np.ones(3), FLAT)]
            ),
            "inertia.*a number, about the centre",
        ),
        (
            lambda: ac.particles(
                None,
                None,
                None,
                3,
                bodies=[ac.rigid_body(1.0, 1.0, lambda t, q, params: (jnp.eye(3), q))],
            ),
            r"inertia.*shape \(3,\), or a matrix",
        ),
        (
            lambda: ac.particles(
                None,
                None,
                None,
                3,
                bodies=[ac.rigid_body(1.0, np.ones(3), lambda t, q, params: (q, q))],
            ),
            "it returned a pair of shapes",
        ),
        (lambda: ac.particles(lambda t, q, params: 1j * q[None], 1.0, None, 2), "complex"),
    ],
)
def test_what_functions_return_is_checked(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_direction_without_mass_is_named():
    flat = ac.particles(lambda t, q, params: jnp.array([[q[0], 0.0]]), 1.0, None, 2)
    with pytest.raises(ValueError, match="singular"):
        ac.simulate(flat, ac.Midpoint(), q0=[0.0, 0.0], v0=[1.0, 1.0], h=0.1, steps=1)
