"""Systems built from particles and rigid bodies: closed forms, finite differences, generalised
forces."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.systems.motion import motion
from tests.helpers import central_difference
from tests.systems.particles_cases import PARAMS, accelerations, points, positions, system


def test_velocities_are_the_rates_of_positions(rng):
    """dr/dt + dr/dq v, against a central difference along the motion (Romero, eq 2), and L is their
    kinetic energy (eq 10).
    """
    for t, q, v in points(rng):
        e = 1e-5
        u = (positions(t + e, q + e * v, PARAMS) - positions(t - e, q - e * v, PARAMS)) / (2 * e)
        np.testing.assert_allclose(
            motion(positions, ac.Euclidean(2), t, q, v, PARAMS)[1], u, atol=1e-8
        )
        T = 0.5 * sum(
            m * np.sum(np.asarray(row) ** 2) for m, row in zip(PARAMS["m"], u, strict=True)
        )
        assert float(system().L(t, q, v)) == pytest.approx(float(T), abs=1e-8)


@pytest.mark.parametrize(
    "masses", [2.0, [2.0, 2.0], lambda params: 2.0, lambda params: jnp.array([2, 2])]
)
def test_masses_in_every_form(masses, rng):
    t, q, v = points(rng)[0]
    u = motion(positions, ac.Euclidean(2), t, q, v, PARAMS)[1]
    assert float(
        ac.particles(positions, masses, None, 2, params=PARAMS).L(t, q, v)
    ) == pytest.approx(float(jnp.sum(u**2)), rel=1e-14)


def test_potentials_are_subtracted(rng):
    """L = T - V(t, q) - U(t, q, v), and U makes the generalised force d/dt dU/dv - dU/dq (Romero,
    eq 16, 20).
    """

    def V(t, q, params):
        return params["a"] * q[0] ** 2 * jnp.cos(t)

    def U(t, q, v, params):
        return q[1] ** 2 * v[0] * params["a"]

    free, held = system(), system(velocity_potential=U)
    t, q, v = points(rng)[0]
    both = ac.particles(
        positions, lambda params: params["m"], V, 2, params=PARAMS, velocity_potential=U
    )
    assert float(both.L(t, q, v)) == pytest.approx(
        float(free.L(t, q, v) - V(t, q, PARAMS) - U(t, q, v, PARAMS)), rel=1e-14
    )
    a = PARAMS["a"]
    # d/dt dU/dv - dU/dq, by hand.
    Q = jnp.array([2 * a * q[1] * v[1], -2 * a * q[1] * v[0]])
    forced = system(force=lambda t, q, v, params: Q)
    np.testing.assert_allclose(
        accelerations(held)(t, q, v), accelerations(forced)(t, q, v), atol=1e-12
    )


def test_newton_in_cartesian_coordinates(rng):
    """With r = q the equations are those of Newton, m_i a_i = F_i."""

    def forces(t, r, u, params):
        return jnp.stack([-r[1] + jnp.cos(t) * u[0], r[0] * u[1] ** 2])

    plain = ac.particles(lambda t, q, params: q.reshape(2, 2), [2.0, 0.5], None, 4, forces=forces)
    compiled = accelerations(plain)
    for t, q, v in points(rng, n=4):
        F = forces(t, q.reshape(2, 2), v.reshape(2, 2), None)
        np.testing.assert_allclose(
            compiled(t, q, v), (F / jnp.array([[2.0], [0.5]])).ravel(), atol=1e-13
        )


def test_time_dependent_positions():
    """A bead on a wire that turns at the rate W, Romero, Ex 1.1 with the angle given: l'' = W^2 l,
    and L holds the energy of transport.
    """
    bead = ac.particles(
        lambda t, q, W: q[0] * jnp.array([[jnp.cos(W * t), jnp.sin(W * t)]]),
        1.0,
        None,
        1,
        params=2.0,
    )
    assert float(bead.L(0.3, jnp.array([0.5]), jnp.array([0.7]))) == pytest.approx(
        0.5 * (0.7**2 + 4 * 0.5**2), rel=1e-14
    )
    q, v = ac.reference(bead, q0=[0.5], v0=[0.0], ts=[0.0, 1.0])
    np.testing.assert_allclose([q[-1, 0], v[-1, 0]], [0.5 * np.cosh(2.0), np.sinh(2.0)], rtol=1e-10)


def follower(t, r, u, params):
    return jnp.stack(
        [
            -0.3 * u[0] + jnp.cos(t) * r[1],
            jnp.array([0.0, jnp.sin(t), 1.0]) - u[1] * jnp.linalg.norm(u[1]),
        ]
    )


def test_generalised_forces(rng):
    """Q_j = sum_i F_i . dr_i/dq_j (Romero, eq 7), the derivatives by central differences."""
    loaded = system(forces=follower)
    for t, q, v in points(rng):
        J = central_difference(lambda q, t=t: positions(t, q, PARAMS), np.asarray(q))
        r, u = motion(positions, ac.Euclidean(2), t, q, v, PARAMS)
        np.testing.assert_allclose(
            loaded.F(t, q, v), np.einsum("id,idj->j", follower(t, r, u, PARAMS), J), atol=1e-8
        )


def test_moment_as_a_couple_as_a_potential_and_as_a_force(rng):
    """A moment m(t) on a rod is a couple of forces at its ends, V = -m(t) theta (Romero, eq 19),
    and Q = m(t): the same motion.
    """

    def moment(t):
        return 3.0 * jnp.cos(2 * t)

    def ends(t, q, params):
        arm = 0.4 * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])
        return jnp.stack([q[:2] + arm, q[:2] - arm])

    def couple(t, r, u, params):
        d = r[0] - r[1]
        F = moment(t) / (d @ d) * jnp.array([-d[1], d[0]])
        return jnp.stack([F, -F])

    rod = ac.rigid_body(1.5, 0.2, lambda t, q, params: q)
    pushed = ac.particles(ends, 0.0, None, 3, bodies=[rod], forces=couple)
    loaded = ac.particles(None, None, lambda t, q, params: -moment(t) * q[2], 3, bodies=[rod])
    turned = ac.particles(
        None,
        None,
        None,
        3,
        bodies=[rod],
        force=lambda t, q, v, params: jnp.array([0.0, 0.0, moment(t)]),
    )
    for each in (pushed, loaded, turned):
        compiled = accelerations(each)
        for t, q, v in points(rng, n=3):
            np.testing.assert_allclose(
                compiled(t, q, v), [0.0, 0.0, float(moment(t)) / 0.2], atol=1e-12
            )


def test_a_load_is_a_force_or_a_potential(rng):
    """f(t) on a particle: V = -f(t).r(t, q) (Romero, eq 17, 18) and `forces` give the same
    accelerations.
    """

    def f(t):
        return jnp.array([[jnp.cos(t), 0.2, t], [0.1, jnp.sin(t), 1.0]])

    loaded = ac.particles(
        positions,
        lambda p: p["m"],
        lambda t, q, p: -jnp.sum(f(t) * positions(t, q, p)),
        2,
        params=PARAMS,
    )
    pushed = system(forces=lambda t, r, u, params: f(t))
    loaded, pushed = accelerations(loaded), accelerations(pushed)
    for t, q, v in points(rng):
        np.testing.assert_allclose(loaded(t, q, v), pushed(t, q, v), atol=1e-11)


def test_rayleigh_is_friction_on_the_particles(rng):
    """Phi = sum mu/2 |u_i|^2 is the friction -mu u_i on each particle (Romero, eq 22-25); `force`
    and `forces` add.
    """

    def dissipation(t, q, v, params):
        return 0.5 * 0.7 * jnp.sum(motion(positions, ac.Euclidean(2), t, q, v, params)[1] ** 2)

    by_rayleigh, by_forces = (
        system(force=ac.rayleigh(dissipation)),
        system(forces=lambda t, r, u, params: -0.7 * u),
    )
    twice = system(force=ac.rayleigh(dissipation), forces=lambda t, r, u, params: -0.7 * u)
    for t, q, v in points(rng):
        np.testing.assert_allclose(by_rayleigh.F(t, q, v), by_forces.F(t, q, v), atol=1e-12)
        np.testing.assert_allclose(twice.F(t, q, v), 2 * by_forces.F(t, q, v), atol=1e-12)
