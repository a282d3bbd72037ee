"""Symmetries that are given, their momenta, and decay laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis import Symmetry, complete_lift, vertical_lift
from accion.gallery import caldirola_particle

GRAVITY = ac.mechanical(
    2.0, lambda t, q, p: 2.0 * 9.81 * q[1] + jnp.sin(t), 2, coordinates=("x", "y"), name="stone"
)


def test_the_sign_of_f():
    """Thm 3.3 of Colombo-Gamonal prints the other sign, with which nothing is conserved."""
    traj = ac.simulate(GRAVITY, ac.Midpoint(), q0=[0.0, 1.0], v0=[1.0, 0.0], h=0.05, steps=100)

    def up(q):
        return jnp.array([0.0, 1.0])

    right, wrong = (
        Symmetry(up, lambda t, q: -2.0 * 9.81 * t),
        Symmetry(up, lambda t, q: 2.0 * 9.81 * t),
    )
    assert right.drift(traj) < 1e-13
    assert wrong.drift(traj) > 0.1
    assert Symmetry(up).drift(traj) > 0.1


def test_defects_are_rates(rng):
    """The continuous defect is d/dt (p.X - f) along the motion, the discrete one its change over a
    step; with time, force, and no symmetry.
    """

    def lagrangian(t, q, v, p):
        return 0.5 * (1 + t * q[0] ** 2) * v[0] ** 2 + v[1] ** 2 + q[0] * q[1]

    system = ac.System(
        lagrangian, ac.Euclidean(2), force=lambda t, q, v, p: jnp.array([-v[0], q[0] * t])
    )
    s = Symmetry(lambda q: jnp.array([q[1] ** 2, q[0] + 1]), lambda t, q: t * q[0] ** 2 - q[1])
    t, (q, v) = 0.4, jnp.array(rng.normal(size=(2, 2)))
    a = jax.jit(ac.accelerations(system))(t, q, v)
    rate = jax.jvp(lambda t, q, v: s.momentum(system, t, q, v), (t, q, v), (1.0, v, a))[1]
    assert float(s.defect(system, t, q, v)) == pytest.approx(float(rate), abs=1e-12)
    traj = ac.simulate(system, ac.Midpoint(), q0=q, v0=v, t0=t, h=0.1, steps=2)
    J = s.along(traj)
    step = s.discrete_defect(system, ac.Midpoint(), t, 0.1, traj.q[0], traj.q[1])
    assert float(step) == pytest.approx(float(J[1] - J[0]), abs=1e-12)
    assert float(
        s.discrete_momentum(system, ac.Midpoint(), t, 0.1, traj.q[0], traj.q[1])
    ) == pytest.approx(float(J[0]), abs=1e-12)
    assert abs(float(step)) > 1e-3


def test_lifts(rng):
    """The complete lift is the derivative of the flow on TQ, the vertical lift that of fibre
    translations.
    """
    A = jnp.array([[0.2, 1.0], [-0.7, 0.1]])

    def X(q):
        return A @ q + jnp.sin(q)

    q, v = jnp.array(rng.normal(size=(2, 2)))
    e = 1e-6
    moved = jax.jvp(lambda q: q + e * X(q), (q,), (v,))
    np.testing.assert_allclose((moved[0] - q) / e, complete_lift(X)(q, v)[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((moved[1] - v) / e, complete_lift(X)(q, v)[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(vertical_lift(X)(q, v)[0], 0)
    np.testing.assert_array_equal(vertical_lift(X)(q, v)[1], X(q))


def turned(s, q):
    """The plane, turned by the angle s."""
    return jnp.array([jnp.cos(s) * q[0] - jnp.sin(s) * q[1], jnp.sin(s) * q[0] + jnp.cos(s) * q[1]])


def test_a_symmetry_from_its_action(rng):
    """The rotation as a motion of the plane has its field, and the momentum of that is kept."""
    plane = ac.Euclidean(2)
    rotation = Symmetry.from_action(turned, plane)
    for q in jnp.array(rng.normal(size=(5, 2))):
        np.testing.assert_allclose(rotation.X(q), [-q[1], q[0]], rtol=1e-15, atol=1e-15)
    central = ac.mechanical(1.0, lambda t, q, p: -1 / jnp.linalg.norm(q), plane)
    traj = ac.simulate(central, ac.Midpoint(), q0=[1.0, 0.2], v0=[0.1, 1.1], h=0.05, steps=500)
    J = np.asarray(traj.momentum(rotation.X))
    np.testing.assert_allclose(J, 1.0 * 1.1 - 0.2 * 0.1, atol=1e-12)
    assert rotation.drift(traj) < 1e-12
    # Not a symmetry: the same plane, stretched.
    assert Symmetry.from_action(lambda s, q: jnp.exp(s) * q, plane).drift(traj) > 0.1


def test_an_action_with_f_and_on_other_spaces():
    """A change by a total derivative goes along; angles may turn by whole turns; a product gives
    tuples.
    """
    up = Symmetry.from_action(
        lambda s, q: q + s * jnp.array([0.0, 1.0]), ac.Euclidean(2), lambda t, q: -2.0 * 9.81 * t
    )
    traj = ac.simulate(GRAVITY, ac.Midpoint(), q0=[0.0, 1.0], v0=[1.0, 0.0], h=0.05, steps=100)
    assert up.drift(traj) < 1e-13
    turn = Symmetry.from_action(lambda s, q: (q + 3.0 * s) % (2 * jnp.pi), ac.Torus(1))
    np.testing.assert_allclose(turn.X(jnp.array([-1.0])), [3.0])
    both = Symmetry.from_action(
        lambda s, q: (q[0] * (1 + s), q[1] - s), ac.Product(ac.Euclidean(1), ac.Torus(1))
    )
    np.testing.assert_allclose(both.X((jnp.array([2.0]), jnp.array([0.3]))), [2.0, -1.0])


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (
            lambda s, q: q + s + 0.1,
            r"action\(0, q\) must be q; from q = \[0.0, 0.0\] it leads to \[0.1, 0.1\]",
        ),
        (lambda s, q: q * (2 + s), r"action\(0, q\) must be q"),  # which keeps the origin
        (lambda s, q: q / (q @ q), r"action\(0, q\) must be q"),  # NaN there
        (lambda s, q: q[:1], r"shape \(2,\); got \(1,\)"),
        (lambda s, q: (q, q), r"shape \(2,\); got \(\(2,\), \(2,\)\)"),
    ],
)
def test_a_bad_action_is_named(action, words):
    with pytest.raises(ValueError, match=words):
        Symmetry.from_action(action, ac.Euclidean(2))


def test_the_defect_on_rotations(rng):
    """d/dt (p.X - f) of a heavy top from Euler's equations p' = p x v + torque, with a field that
    is no symmetry and one that is.
    """
    inertia, centre, vertical = (
        jnp.array([1.0, 2.0, 3.5]),
        jnp.array([0.1, -0.3, 0.8]),
        jnp.array([0.0, 0.0, 1.0]),
    )

    def L(t, R, v, p):
        return 0.5 * v @ (inertia * v) - (2 + jnp.sin(t)) * vertical @ (R @ centre)

    top = ac.System(L, ac.SO3(), force=lambda t, R, v, p: -0.2 * v)
    R, t, v = ac.SO3().tau(rng.normal(size=3)), 0.4, jnp.array(rng.normal(size=3))
    p = inertia * v
    rate = jnp.cross(p, v) - (2 + jnp.sin(t)) * jnp.cross(centre, R.T @ vertical) + top.F(t, R, v)

    field, f = lambda R: R[0] * R[1, 2] + jnp.array([0.3, 0.0, 1.0]), lambda t, R: t**2 * R[0, 1]
    dR = R @ ac.SO3().hat(v)
    df = 2 * t * R[0, 1] + t**2 * dR[0, 1]
    expected = rate @ field(R) + p @ jax.jvp(field, (R,), (dR,))[1] - df
    np.testing.assert_allclose(Symmetry(field, f).defect(top, t, R, v), expected, rtol=1e-12)
    # About the vertical, in the body: R^T e3. Only friction changes its momentum.
    about = Symmetry(lambda R: R.T @ vertical)
    np.testing.assert_allclose(
        about.defect(top, t, R, v), top.F(t, R, v) @ (R.T @ vertical), atol=1e-14
    )


def test_decay_law():
    """Colombo-Gamonal, eq (9): the momenta of L0 grow like e^{+kappa t}; printed with the other
    sign.
    """
    system = caldirola_particle.system
    kappa = system.params["kappa"]
    assert ac.analysis.decay_rate(system) == pytest.approx(kappa, rel=1e-12)
    traj = ac.simulate(
        system, ac.Midpoint(), q0=[1.0, 0.0, 0.0], v0=[0.1, 1.0, 0.2], h=0.01, steps=300
    )
    law = ac.analysis.decay(traj, lambda q: jnp.array([-q[1], q[0], 0.0]))
    assert law.predicted == pytest.approx(kappa, rel=1e-12)
    assert law.measured == pytest.approx(kappa, rel=1e-9)
    with pytest.raises(ValueError, match="X must be finite"):
        ac.analysis.decay(traj, lambda q: q * jnp.nan)
    assert "predicted" in str(law)
    with pytest.raises(ValueError, match="is not e"):
        ac.analysis.decay_rate(GRAVITY)
