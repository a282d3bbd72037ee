"""Holonomic, nonholonomic and vakonomic systems against closed forms, each other and what they must
keep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import rods, rolling_disk, skate
from tests.helpers import central_difference
from tests.stepping.constraints_cases import ANGLE, PENDULUM, START, ball, string

METHODS = [ac.Midpoint(), ac.Trapezoid(), ac.LeftRectangle()]


@pytest.fixture(scope="module")
def swing():
    return ac.simulate(PENDULUM, ac.Midpoint(), **START, h=0.01, steps=300)


def test_holonomic_stays_on_the_constraint_with_its_velocities(swing):
    q, v, p = (np.asarray(a) for a in (swing.q, swing.v, swing.p))
    assert np.max(np.abs(np.sum(q**2, axis=1) - 1)) < 1e-15
    assert np.max(np.abs(np.sum(q * v, axis=1))) < 1e-15
    assert np.max(np.abs(p - v)) < 1e-15


def test_multipliers_are_the_tension(swing):
    """lam = -(|v|^2 + g cos(angle)): d/dt dL/dv - dL/dq = A^T lam with A = q."""
    q, v = np.asarray(swing.q), np.asarray(swing.v)
    np.testing.assert_allclose(swing.lam[:, 0], -np.sum(v**2, axis=1) + 9.81 * q[:, 1], rtol=1e-11)
    _, lam = ac.accelerations(PENDULUM)(0.0, swing.q[7], swing.v[7])
    np.testing.assert_allclose(swing.lam[7], lam, rtol=1e-12)


@pytest.mark.parametrize(
    ("system", "start"),
    [(PENDULUM, START), (rolling_disk.system, rolling_disk.entry.start)],
    ids=["holonomic", "nonholonomic"],
)
def test_discrete_equations_and_multipliers(system, start):
    """D2 Ld + D1 Ld + h A^T lam_k = 0 to roundoff, and the discrete lam_k is that of the motion to
    O(h^2).
    """
    h = 0.01
    traj = ac.simulate(system, ac.Midpoint(), **start, h=h, steps=60)
    d = ac.discrete(system, ac.Midpoint())
    for k in (1, 20, 50):
        triple = traj.q[k - 1], traj.q[k], traj.q[k + 1]
        lam = d.multipliers(traj.t[k - 1], h, *triple)
        force = system.constraint.reaction(system, traj.t[k], traj.q[k], traj.v[k], lam)
        np.testing.assert_allclose(
            d.euler_lagrange(traj.t[k - 1], h, *triple) + h * force, 0, atol=1e-12
        )
        np.testing.assert_allclose(lam, traj.lam[k], atol=30 * h**2)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    ("system", "start"),
    [
        (PENDULUM, START),
        (rods.system, rods.entry.start),
        (skate.system, {"q0": [0.0, 0.0, 0.3], "v0": [np.cos(0.3), np.sin(0.3), 0.7]}),
    ],
    ids=["string", "rods", "skate"],
)
def test_order(system, start, method):
    measured = ac.analysis.order(system, method, **start, duration=0.5, h=[0.01, 0.005, 0.0025])
    assert abs(measured.slope - method.order) < 0.1


def test_affine_constraint_that_depends_on_time():
    """Romero, eq 48: v1 = sin t drives the first coordinate, a spring pulls the second after it."""

    def L(t, q, v, params):
        return 0.5 * v @ v - 0.5 * (q[0] - q[1]) ** 2

    system = ac.System(
        L, ac.Euclidean(2), nonholonomic=lambda t, q, v, params: jnp.array([v[0] - jnp.sin(t)])
    )
    q, _ = ac.reference(system, q0=[0.0, 0.0], v0=[0.0, 0.0], ts=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(q[:, 0], 1 - np.cos([0.0, 1.0, 2.0]), atol=1e-10)
    # y'' + y = 1 - cos t: y = 1 - cos t - t sin(t)/2
    ts = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(q[:, 1], 1 - np.cos(ts) - ts * np.sin(ts) / 2, atol=1e-10)
    errors = []
    for h in (0.02, 0.01):
        run = ac.simulate(
            system, ac.Midpoint(), q0=[0.0, 0.0], v0=[0.0, 0.0], h=h, steps=round(2 / h)
        )
        errors.append(np.max(np.abs(run.q[-1] - q[-1])))
        np.testing.assert_allclose(run.v[:, 0], np.sin(run.t), atol=1e-12)
    assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.1


def test_nonlinear_constraint():
    """Constant speed in a constant field (Chetaev's forces): the heading b obeys b' = -(g/c) cos b,
    solved in closed form.
    """
    c, g = 2.0, 9.81
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - g * q[1],
        ac.Euclidean(2),
        nonholonomic=lambda t, q, v, params: jnp.array([0.5 * (v @ v - c**2)]),
    )
    T = 0.4
    # With u = tan(b/2 + pi/4): u' = -(g/c) u.
    heading = 2 * np.arctan(np.exp(-g / c * T)) - np.pi / 2
    _, v = ac.reference(system, q0=[0.0, 0.0], v0=[c, 0.0], ts=[0.0, T])
    np.testing.assert_allclose(v[-1], [c * np.cos(heading), c * np.sin(heading)], atol=1e-10)
    for method in (ac.Midpoint(), ac.Trapezoid()):
        measured = ac.analysis.order(
            system, method, q0=[0.0, 0.0], v0=[c, 0.0], duration=T, h=[0.02, 0.01, 0.005]
        )
        assert abs(measured.slope - 2) < 0.1
    run = ac.simulate(system, ac.Midpoint(), q0=[0.0, 0.0], v0=[c, 0.0], h=0.01, steps=40)
    np.testing.assert_allclose(np.linalg.norm(run.v, axis=1), c, rtol=1e-13)


def test_virtual_displacements_of_the_users_own():
    """Bonich, Def 2.23: velocities satisfy v1 = 1 (kinematic), the force acts along another
    covector, (1, 1).
    """
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 0.5 * q @ q,
        ac.Euclidean(2),
        nonholonomic=lambda t, q, v, params: jnp.array([v[0] - 1.0]),
        variational=lambda t, q, params: jnp.array([[1.0, 1.0]]),
    )
    # q1 = t; lam = q1 = t; q2'' + q2 = t: q2 = t - sin t + cos t from (1, 0).
    start = {"q0": [0.0, 1.0], "v0": [1.0, 0.0]}
    q, _ = ac.reference(system, **start, ts=[0.0, 2.0])
    np.testing.assert_allclose(q[-1], [2.0, 2 - np.sin(2) + np.cos(2)], atol=1e-10)
    run = ac.simulate(system, ac.Midpoint(), **start, h=0.01, steps=200)
    np.testing.assert_allclose(run.q[-1], q[-1], atol=1e-4)
    np.testing.assert_allclose(run.lam[:, 0], run.t, atol=1e-10)
    measured = ac.analysis.order(system, ac.Midpoint(), **start, duration=1.0, h=[0.04, 0.02, 0.01])
    assert abs(measured.slope - 2) < 0.1


def test_holonomic_and_nonholonomic_together():
    """The skate on an inclined plane in space: z = -x tan(slope) as a second constraint gives the
    motion in the plane.
    """
    slope, g = 0.3, 9.81
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - g * q[2],
        ac.Euclidean(4),
        holonomic=lambda t, q, params: jnp.array([jnp.sin(slope) * q[0] + jnp.cos(slope) * q[2]]),
        nonholonomic=lambda t, q, v, params: jnp.array(
            [(jnp.cos(slope) * v[0] - jnp.sin(slope) * v[2]) * jnp.sin(q[3]) - v[1] * jnp.cos(q[3])]
        ),
    )
    assert system.multipliers == 2
    run = ac.simulate(
        system, ac.Midpoint(), q0=np.zeros(4), v0=[0.0, 0.0, 0.0, 1.0], h=0.005, steps=400
    )
    k = g * np.sin(slope) / 2
    np.testing.assert_allclose(run.q[-1, 0] / np.cos(slope), k * np.sin(2.0) ** 2, atol=1e-4)
    np.testing.assert_allclose(run.q[-1, 1], k * (2.0 - np.sin(4.0) / 2), atol=1e-4)
    np.testing.assert_allclose(run.lam[:, 0], g * np.cos(slope), rtol=1e-9)
    both = system.constraint.value(system, 0.0, run.q[-1], run.v[-1])
    np.testing.assert_allclose(both, 0, atol=1e-13)


def test_forces_and_time_combine_with_constraints():
    """A damped pendulum with a Lagrangian that decays: in angles and on the string."""

    def damp(t, q, v, params):
        return -0.3 * v

    def L(t, q, v, params):
        return jnp.exp(-0.2 * t) * (0.5 * v @ v - 9.81 * q[1])

    angle = ac.System(
        lambda t, q, v, params: jnp.exp(-0.2 * t) * (0.5 * v[0] ** 2 + 9.81 * jnp.cos(q[0])),
        ac.Torus(1),
        force=damp,
    )
    string_system = ac.System(L, ac.Euclidean(2), holonomic=string, force=damp)
    q, _ = ac.reference(angle, q0=[ANGLE], v0=[0.6], ts=[0.0, 2.0])
    p, _ = ac.reference(string_system, **START, ts=[0.0, 2.0])
    np.testing.assert_allclose(p[-1], [np.sin(q[-1, 0]), -np.cos(q[-1, 0])], atol=1e-10)
    measured = ac.analysis.order(
        string_system, ac.Trapezoid(), **START, duration=1.0, h=[0.02, 0.01, 0.005]
    )
    assert abs(measured.slope - 2) < 0.1


def test_symplectic_on_the_constraint():
    """One step in the angle and its momentum, through the string: its tangent map has determinant
    1.
    """
    flow = ac.discrete(PENDULUM, ac.Midpoint()).hamiltonian_flow

    def step(z):
        q = jnp.array([jnp.sin(z[0]), -jnp.cos(z[0])])
        tangent = jnp.array([jnp.cos(z[0]), jnp.sin(z[0])])
        q1, p1 = flow(0.0, 0.1, q, z[1] * tangent)
        angle = jnp.arctan2(q1[0], -q1[1])
        return jnp.array([angle, p1 @ jnp.array([jnp.cos(angle), jnp.sin(angle)])])

    T = jax.jit(jax.jacfwd(step))(jnp.array([ANGLE, 0.6]))
    assert abs(np.linalg.det(T) - 1) < 1e-13


def test_derivatives_through_a_constrained_run():
    def end(z):
        q = jnp.array([jnp.sin(z[0]), -jnp.cos(z[0])])
        v = z[1] * jnp.array([jnp.cos(z[0]), jnp.sin(z[0])])
        run = ac.simulate(PENDULUM, ac.Midpoint(), q0=q, v0=v, h=0.02, steps=50)
        return jnp.concatenate([run.q[-1], run.v[-1], run.lam[-1]])

    z = jnp.array([ANGLE, 0.6])
    reverse = jax.jit(jax.jacrev(end))(z)
    np.testing.assert_allclose(reverse, central_difference(end, z), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(end))(z), reverse, atol=1e-11)


def test_ensemble_of_constrained_systems():
    angles = jnp.array([0.3, 0.9])
    q0 = jnp.stack([jnp.sin(angles), -jnp.cos(angles)], axis=1)
    many = ac.ensemble(PENDULUM, ac.Midpoint(), q0=q0, v0=[0.0, 0.0], h=0.01, steps=50)
    assert many.lam.shape == (2, 51, 1)
    one = ac.simulate(PENDULUM, ac.Midpoint(), q0=q0[1], v0=[0.0, 0.0], h=0.01, steps=50)
    np.testing.assert_allclose(many.q[1], one.q, atol=1e-13)
    np.testing.assert_allclose(many.lam[1], one.lam, atol=1e-11)


@pytest.mark.parametrize("q0", [[0.0, -1.0], [np.sin(0.3), -np.cos(0.3)]])
def test_rest_is_no_failure(q0):
    """Hanging still, and coming to rest under heavy friction: corrections are all noise there, and
    known as such.
    """
    system = ac.System(
        ball, ac.Euclidean(2), holonomic=string, force=lambda t, q, v, params: -8.0 * v
    )
    run = ac.simulate(
        system, ac.Midpoint(), q0=q0, v0=[0.0, 0.0], h=0.05, steps=2000, save_every=500
    )
    np.testing.assert_allclose(run.q[-1], [0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(run.lam[-1], [-9.81], rtol=1e-9)


def test_vakonomic_equations_hold():
    """d/dt (dL/dv + lam dPhi/dv) = dL/dq + lam dPhi/dq along the discrete motion, by differences,
    and Phi = 0.
    """
    run = ac.simulate(
        skate.vakonomic, ac.Midpoint(), q0=skate.Q0, v0=skate.V0, lam0=[0.4], h=0.001, steps=1000
    )
    system = skate.vakonomic
    k, h = 500, 0.001
    force = jax.grad(system.L, 1)(0.0, run.q[k], run.v[k], run.lam[k])
    np.testing.assert_allclose((run.p[k + 1] - run.p[k - 1]) / (2 * h), force, atol=1e-4)
    assert (
        np.max(
            np.abs(jax.vmap(lambda q, v: system.constraint.value(system, 0.0, q, v))(run.q, run.v))
        )
        < 1e-13
    )
    np.testing.assert_allclose(run.lam[0], [0.4], atol=1e-12)


def test_vakonomic_and_nonholonomic_differ_unless_the_constraint_is_integrable():
    free = ac.simulate(
        skate.vakonomic, ac.Midpoint(), q0=skate.Q0, v0=skate.V0, lam0=[0.0], h=0.01, steps=300
    )
    held = ac.simulate(skate.system, ac.Midpoint(), q0=skate.Q0, v0=skate.V0, h=0.01, steps=300)
    assert np.max(np.abs(free.q[-1] - held.q[-1])) > 0.5
    one, two = skate.pendulum_pair()
    a = ac.simulate(one, ac.Midpoint(), **START, h=0.005, steps=200)
    b = ac.simulate(two, ac.Midpoint(), **START, lam0=[0.7], h=0.005, steps=200)
    assert np.max(np.abs(a.q[-1] - b.q[-1])) < 1e-4


def test_vakonomic_momentum_map_and_energy():
    """The vakonomic skate on level ice: translations are symmetries, their momenta are kept to
    roundoff.
    """
    level = skate.PARAMS | {"slope": 0.0}
    run = ac.simulate(
        skate.vakonomic,
        ac.Midpoint(),
        q0=skate.Q0,
        v0=[0.5, 0.0, 1.0],
        lam0=[0.3],
        h=0.01,
        steps=2000,
        params=level,
    )
    assert np.max(np.abs(run.p[:, :2] - run.p[0, :2])) < 1e-12
    E = np.asarray(run.energy())
    assert np.max(np.abs(E - E[0])) < 1e-4
