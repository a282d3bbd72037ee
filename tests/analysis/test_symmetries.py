"""Symmetries, momentum maps and decay laws: continuous, discrete, and found by themselves."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis import Symmetry, symmetries
from accion.gallery import caldirola_particle, damped_spring, rolling_disk, skate, two_masses
from tests.helpers import PENDULUM

METHODS = [ac.LeftRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3)]
GRAVITY = ac.mechanical(
    2.0, lambda t, q, p: 2.0 * 9.81 * q[1] + jnp.sin(t), 2, coordinates=("x", "y"), name="stone"
)
CHARGED = ac.mechanical(
    1.0,
    lambda t, q, p: 0.3 * q[2] ** 4,
    3,
    magnetic=lambda q, p: 0.35 * jnp.array([-q[1], q[0], 0.0]),
    name="charged particle",
)


def kinds(found):
    return sorted(s.kind for s in found)


def three_bodies(t, q, params):
    r = q.reshape(3, 2)
    return -sum(1 / jnp.linalg.norm(r[i] - r[j]) for i in range(3) for j in range(i))


CASES = {
    "free particle": (ac.mechanical(1.0, None, 3), ["rotation"] * 3 + ["translation"] * 3),
    "central force": (
        ac.mechanical(1.0, lambda t, q, p: -1 / jnp.linalg.norm(q), 3),
        ["rotation"] * 3,
    ),
    "centre elsewhere": (
        ac.mechanical(1.0, lambda t, q, p: jnp.sum((q - jnp.array([1.0, 2.0])) ** 2) ** 2, 2),
        ["rotation"],
    ),
    "logarithm": (
        ac.System(lambda t, q, v, p: 0.5 * (v[0] / q[0]) ** 2, ac.Euclidean(1), name="logarithm"),
        ["scaling"],
    ),
    "stone": (GRAVITY, ["translation"] * 2),
    "pendulum": (PENDULUM, []),
    "charged particle": (CHARGED, ["rotation", "translation", "translation"]),
    "decaying free particle": (caldirola_particle.system, ["rotation"] * 3 + ["translation"] * 3),
    "damped spring": (damped_spring.system, []),
    "rolling disk": (rolling_disk.system, ["translation"]),
    "skate": (skate.system, ["translation"]),
    "two masses on a rod": (two_masses.system, ["translation"]),
}


@pytest.mark.parametrize("name", CASES)
def test_symmetries_are_found(name):
    system, expected = CASES[name]
    found = symmetries(system, ac.Midpoint())
    assert kinds(found) == expected
    assert all(s.survives for s in found)
    assert system.name in found.text()


def magnetic(t, q, v, params):
    return params["m"] * v @ v / 2 + params["qB"] * (q[0] * v[1] - q[1] * v[0]) / 2


def test_an_electron_has_the_same_symmetries_in_si_units():
    """A uniform magnetic field of one tesla, beside which the mass is 1e-11."""
    ordinary = ac.System(magnetic, ac.Euclidean(3), {"m": 1.0, "qB": 1.0})
    expected = [s.field_text() for s in symmetries(ordinary)]
    electron = ordinary.with_params({"m": 9.109e-31, "qB": 1.602e-19})
    found = symmetries(electron, ac.Midpoint())
    assert [s.field_text() for s in found] == expected
    assert kinds(found) == ["rotation", "translation", "translation", "translation"]
    assert all(s.survives for s in found)
    assert found[1].text().split("; ")[1].startswith("f = 8.01e-20 q2\n")


def anharmonic(t, q, v, params):
    x = (q - params["l"] * jnp.array([2.0, 1.0])) / params["l"]
    return params["m"] * (v @ v / 2 - (params["l"] / params["T"]) ** 2 * (x @ x + (x @ x) ** 2))


@pytest.mark.parametrize("powers", [(0, 0, 0), (-40, 40, -40), (20, -40, 30)])
def test_symmetries_have_the_units_of_the_system(powers):
    m, length, time = (2.0**power for power in powers)
    system = ac.System(anharmonic, ac.Euclidean(2), {"m": m, "l": length, "T": time})
    (rotation,) = symmetries(system)
    np.testing.assert_array_equal(rotation.A, [[0, -1], [1, 0]])
    np.testing.assert_array_equal(rotation.b, [length, -2 * length])


def test_three_bodies():
    """Translations, the rotation of all, and the rotation of the centre of mass alone, which is one
    more affine symmetry.
    """
    system = ac.mechanical(jnp.array([1.0, 1, 2, 2, 3, 3]), three_bodies, 6)
    found = symmetries(system)
    assert kinds(found) == ["linear", "rotation", "translation", "translation"]
    m, J = np.array([1.0, 2.0, 3.0]), np.array([[0.0, -1.0], [1.0, 0.0]])
    centre = np.kron(np.ones((3, 1)) * m / 6, J)
    space = np.array([s.A.ravel() for s in found if s.kind in ("linear", "rotation")])
    assert np.linalg.matrix_rank(np.vstack([space, centre.ravel()]), tol=1e-9) == 2


def test_simple_numbers_and_words():
    rotation = symmetries(CASES["centre elsewhere"][0])[0]
    np.testing.assert_array_equal(rotation.A, [[0, -1], [1, 0]])
    np.testing.assert_array_equal(rotation.b, [2, -1])
    assert rotation.text() == "rotation in the plane (q1, q2): X_q1 = -q2 + 2, X_q2 = q1 - 1"
    fall = symmetries(GRAVITY)[1]
    assert fall.text() == "translation along y: X_x = 0, X_y = 1; f = -19.62 t"


@pytest.mark.parametrize(
    "name", ["central force", "stone", "charged particle", "decaying free particle"]
)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_what_is_found_is_conserved(name, method):
    """The discrete Noether theorem, with p.X - f: the symmetries that were found, along a
    trajectory, to roundoff.
    """
    system = CASES[name][0]
    n = system.space.dim
    traj = ac.simulate(
        system,
        method,
        q0=np.linspace(1.0, 0.4, n),
        v0=np.linspace(-0.3, 0.8, n),
        t0=0.3,
        h=0.05,
        steps=200,
    )
    for s in symmetries(system):
        assert s.symmetry.drift(traj) < 1e-12


GROWING = ac.mechanical(
    1.0,
    lambda t, q, p: 9.81 * q[0],
    1,
    weight=lambda t, p: jnp.exp(0.6 * t),
    coordinates=("y",),
    name="growing",
)


def test_f_that_depends_on_time_is_found():
    """L = e^(0.6 t) (v^2/2 - 9.81 y): X = d/dy has X^C(L) = -9.81 e^(0.6 t) = df/dt with f =
    -(9.81/0.6) e^(0.6 t).
    """
    (up,) = symmetries(GROWING, ac.Midpoint())
    assert (
        up.text()
        == "translation along y: X_y = 1; f = -16.35 exp(0.6 t)\n    kept by the discretisation"
    )
    assert float(up.symmetry.change(0.7, jnp.array([2.0]))) == pytest.approx(
        -9.81 / 0.6 * np.exp(0.42), rel=1e-12
    )
    traj = ac.simulate(
        GROWING, ac.Midpoint(), q0=[1.0], v0=[0.5], t0=0.3, h=0.05, steps=100, save_every=5
    )
    # The discretisation has an f_k of its own, a sum of the weights in the middle of the steps,
    # with which nothing is lost.
    assert up.drift(traj) < 1e-13
    assert 1e-6 < up.symmetry.drift(traj) < 1e-3
    middle = 0.3 + 0.05 * (np.arange(100) + 0.5)
    f = up.discrete_f(traj)
    np.testing.assert_allclose(
        (f - f[0])[1:], -9.81 * 0.05 * np.cumsum(np.exp(0.6 * middle))[4::5], rtol=1e-12
    )
    exact = ac.reference(GROWING, q0=[1.0], v0=[0.5], ts=[0.3, 2.0])
    ends = [
        float(up.symmetry.momentum(GROWING, t, q, v))
        for t, q, v in zip((0.3, 2.0), *exact, strict=True)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-11)


def test_any_f_is_found():
    """A driven fall, and a uniform field with vector potential (-y, 0) + grad(sin(x) y^3): f is no
    polynomial, and comes by integration.
    """
    (driven,) = symmetries(ac.mechanical(1.0, lambda t, q, p: 9.81 * q[0] * jnp.sin(3 * t), 1))
    assert "f(t, q) by integration" in driven.text()
    for t in (-0.4, 0.5, 20.0):
        assert float(driven.symmetry.change(t, jnp.array([2.0]))) == pytest.approx(
            3.27 * (np.cos(3 * t) - 1), abs=1e-12
        )

    def potential(q, p):
        return jnp.array([-q[1] + jnp.cos(q[0]) * q[1] ** 3, 3 * jnp.sin(q[0]) * q[1] ** 2])

    field = ac.mechanical(1.0, None, 2, magnetic=potential)
    found = symmetries(field, ac.Midpoint())
    assert kinds(found) == ["rotation", "translation", "translation"]
    # Samples of that gradient are no difference of values: the method loses what it does not see.
    assert not any(s.survives for s in found)
    t, q, v = 0.7, jnp.array([0.3, 0.4]), jnp.array([-1.2, 0.5])
    for s in found:
        np.testing.assert_allclose(s.symmetry.defect(field, t, q, v), 0, atol=1e-14)
    along_x = found[1].symmetry.change  # the gradient gives cos(x) y^3, -y.v_x gives nothing
    exact = np.cos(0.3) * 0.4**3 - np.cos(0.9) * (-0.2) ** 3
    assert float(along_x(t, q) - along_x(t, jnp.array([0.9, -0.2]))) == pytest.approx(
        exact, abs=1e-13
    )


def test_f_under_constraints():
    """A weight that grows, on a slope (holonomic) and where v3 = q1 v2 (nonholonomic): f as without
    them.
    """

    def growth(t, p):
        return jnp.exp(0.6 * t)

    slope = ac.mechanical(
        1.0,
        lambda t, q, p: 9.81 * q[1],
        2,
        weight=growth,
        holonomic=lambda t, q, p: 2 * q[:1] - q[1] - t,
    )
    (up,) = symmetries(slope, ac.Midpoint())
    assert (
        up.text()
        == "translation along q1 + 2 q2: X_q1 = 1, X_q2 = 2; f = -32.7 exp(0.6 t)\n    kept by the"
        " discretisation"
    )
    traj = ac.simulate(
        slope, ac.Midpoint(), q0=[0.15, 0.0], v0=[1.0, 1.0], t0=0.3, h=0.05, steps=50
    )
    assert up.drift(traj) < 1e-13
    # v3 = q1 v2 allows X = d/dq1 alone.
    rolling = ac.mechanical(
        1.0,
        lambda t, q, p: 9.81 * q[0],
        3,
        weight=growth,
        nonholonomic=lambda t, q, v, p: v[2:] - q[:1] * v[1],
    )
    (along,) = symmetries(rolling, ac.Midpoint())
    assert (
        along.text()
        == "translation along q1: X_q1 = 1, X_q2 = 0, X_q3 = 0; f = -16.35 exp(0.6 t)\n    kept by"
        " the discretisation"
    )


def test_what_was_looked_for_is_said():
    text = str(symmetries(PENDULUM))
    assert (
        "no affine symmetries were found, X = A q + b with constant A and b, X^C(L) = df/dt with"
        " any f(t, q)" in text
    )
    assert "e^(k t)" in str(symmetries(skate.system))


def test_a_symmetry_that_a_method_loses():
    """A map that is not affine in q0 and q1 breaks the rotation of a central force."""
    crooked = ac.FiniteDifference(
        lambda h, q0, q1: [(1.0, 0.5, (q0 + q1) / 2 + 0.05 * (q1 - q0) ** 2, (q1 - q0) / h)]
    )
    (found,) = symmetries(ac.mechanical(1.0, lambda t, q, p: -1 / jnp.linalg.norm(q), 2), crooked)
    assert found.survives is False
    assert "lost by the discretisation" in found.text()


def test_the_field_that_is_zero_is_no_symmetry():
    """In the plane a turn of space and the opposite one of the body cancel."""

    def L(t, q, v, params):
        return 0.5 * v @ v - q[0][0, 0] + 0.3 * q[0][0, 1] * q[1][0] ** 2

    system = ac.System(L, ac.Product(ac.SO2(), ac.Euclidean(1)))
    assert len(symmetries(system)) == 0


def test_bad_input():
    fall = ac.simulate(GRAVITY, ac.Midpoint(), q0=[0.0, 1.0], v0=[1.0, 0.0], h=0.05, steps=100)
    with pytest.raises(
        ValueError, match=r"X must be a vector field.*\(2,\); it returned shape \(\)"
    ):
        Symmetry(lambda q: q[0]).along(fall)


def test_a_coupling_is_not_lost_beside_the_rest():
    """Where each coordinate has the size at which its own terms meet, the other's are lost."""

    def coupled(t, q, v, params):
        return 0.5 * v @ v - 0.25 * (q @ q) ** 2 - 0.3 * q[0] * q[1]

    assert not ac.analysis.symmetries(ac.System(coupled, ac.Euclidean(2))).found
