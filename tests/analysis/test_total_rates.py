"""Symmetries up to a total derivative on groups and products: closed forms, conservation to
roundoff, and what is found without an f in closed form.
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis import law, symmetries

INERTIA = jnp.array([1.0, 1.2, 0.5])
PRODUCT = ac.Product(ac.SO3(), ac.Euclidean(2))
MASSES = jnp.array([1.0, 1.3, 0.5, 2.0, 2.0])


def plane(field):
    """A body of unit mass on SE(2) in a uniform field that depends on time."""
    return lambda t, g, xi, params: 0.5 * xi @ xi - field(t) * g[1, 2]


def growing(t, q, v, params):
    return 0.5 * v @ (MASSES * v) - 9.81 * q[1][1] - q[0][2, 2]


def magnetic(t, q, v, params):
    x, dx = q[1], v[3:]
    return 0.5 * v @ (MASSES * v) + 0.7 * (x[0] * dx[1] - x[1] * dx[0]) - q[0][2, 2]


def heavy(t, g, xi, params):
    return 0.5 * xi[:3] @ (INERTIA * xi[:3]) + xi[3:] @ xi[3:] - 9.81 * g[2, 3]


SE2, SE3 = ac.SE2(), ac.SE3()
TURNED = np.asarray(SE2.retract(jnp.eye(3), jnp.array([0.1, 0.2, 0.3])))
BODY = np.asarray(SE3.retract(jnp.eye(4), jnp.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])))
PAIR = (np.eye(3), np.array([0.2, 0.1]))
# system, start, how many leave L as it is, the words of the others
CASES = {
    "fading field": (
        ac.System(plane(lambda t: 9.81 * jnp.exp(-t)), SE2, name="fading"),
        (TURNED, [0.3, 0.2, 0.1]),
        2,
        ["motion of space along y; f = 9.81 exp(-1 t)"],
    ),
    "swinging field": (
        ac.System(plane(lambda t: jnp.cos(3 * t)), SE2, name="swinging"),
        (TURNED, [0.3, 0.2, 0.1]),
        2,
        ["motion of space along y; f(t) by integration"],
    ),
    "weight on a product": (
        ac.System(growing, PRODUCT, weight=lambda t, p: jnp.exp(0.4 * t), name="growing"),
        (PAIR, [0.3, 0.2, 0.1, 0.5, 0.6]),
        2,
        ["translation along q5: X_q4 = 0, X_q5 = 1; f = -24.525 exp(0.4 t)"],
    ),
    "magnetic": (
        ac.System(magnetic, PRODUCT, name="magnetic"),
        (PAIR, [0.3, 0.2, 0.1, 0.5, 0.6]),
        2,
        [
            "translation along q4: X_q4 = 1, X_q5 = 0; f = 0.7 q5",
            "translation along q5: X_q4 = 0, X_q5 = 1; f = -0.7 q4",
        ],
    ),
    "heavy body": (
        ac.System(heavy, SE3, name="heavy body"),
        (BODY, [0.3, 0.2, 0.1, 0.5, 0.6, 0.7]),
        3,
        ["motion of space along z; f = -9.81 t"],
    ),
}


@functools.cache
def found(name):
    return symmetries(CASES[name][0], ac.Midpoint())


@pytest.mark.parametrize("name", CASES)
def test_fields_with_f_are_found_and_conserved(name):
    """After the fields that leave L as it is; p.X - f_k to roundoff along a discrete motion."""
    system, (q0, v0), plain, words = CASES[name]
    first, later = found(name)[:plain], found(name)[plain:]
    assert not any(s.changes for s in first)
    assert [s.text().splitlines()[0] for s in later] == words
    assert "df/dt" in found(name).text()
    traj = ac.simulate(system, ac.Midpoint(), q0=q0, v0=v0, h=0.05, steps=60, t0=0.3)
    for s in found(name):
        assert s.survives
        assert s.drift(traj) < 1e-12
    assert law(traj, later[0]).drift < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_f_is_that_of_the_continuous_system(name):
    """X^C(L) = df/dt at points that the search has not seen."""
    system, (q, v), plain, _ = CASES[name]
    for s in found(name)[plain:]:
        for t in (-0.7, 1.9):
            assert abs(float(s.symmetry.defect(system, t, q, jnp.asarray(v)))) < 1e-12


def test_a_symmetry_whose_f_is_not_known_is_not_left_out():
    """f = x^3 sin t R_23 is no field's here, but L is changed by a total derivative where it is
    one: nothing is claimed that is not so.
    """

    def lagrangian(t, q, v, params):
        x, dx = q[1], v[3:]
        rate = 3 * x[0] ** 2 * dx[0] * jnp.sin(t) + x[0] ** 3 * jnp.cos(t)
        return 0.5 * v @ (MASSES * v) + x[1] * rate - q[0][2, 2]

    system = ac.System(lagrangian, PRODUCT, name="mixed")
    (shift,) = (s for s in symmetries(system) if s.changes)
    assert shift.text().endswith("; f(t, q) exists, not in closed form")
    with pytest.raises(ValueError, match="give your own"):
        _ = shift.symmetry
    own = ac.analysis.Symmetry(shift.X, lambda t, q: q[1][0] ** 3 * jnp.sin(t))
    assert abs(float(own.defect(system, 0.4, PAIR, jnp.array([0.3, 0.2, 0.1, 0.5, 0.6])))) < 1e-12


def test_no_symmetry_is_invented():
    """Of an asymmetric body in a field on its place and its turn."""

    def lagrangian(t, g, xi, params):
        return 0.5 * xi @ (INERTIA * xi) - g[0, 2] ** 2 * g[0, 0] - g[1, 2] ** 4

    assert len(symmetries(ac.System(lagrangian, SE2, name="held"), ac.Midpoint())) == 0
