"""Constraints on velocities as a connection, its curvature, and whether they are holonomic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import rolling_disk_se2, skate

A = ac.analysis
Q = jnp.array([0.3, 0.4, 0.5, 0.6])


def free(t, q, v, p):
    return 0.5 * v @ v


def nonholonomic(n, kappa, name="test", **more):
    return ac.System(free, ac.Euclidean(n), nonholonomic=kappa, name=name, **more)


def moved(t, q, v, p):
    """Affine, with time, in all variables."""
    return jnp.array(
        [
            v[2] - (q[0] * q[3] + t) * v[1] - jnp.sin(q[2]) * v[0] + q[1] * t,
            2 * v[3] - q[2] * v[1] + q[0] * v[2] - jnp.cos(q[3]),
        ]
    )


MOVED = nonholonomic(4, moved, "moved")


def closed(t, q, v, p):
    """d/dt of q0 q1 e^q2 + t q0, times what is never zero, as a user might write it."""
    e = jnp.exp(q[2])
    rate = (q[1] * e + t) * v[0] + q[0] * e * v[1] + q[0] * q[1] * e * v[2] + q[0]
    return (2 + jnp.sin(q[1])) * rate[None]


def body(t, q, v, p):
    """No turning about the vertical, in the body's velocities."""
    return (q @ v)[2:]


ON_SO3 = ac.System(free, ac.SO3(), nonholonomic=body, name="veselova")


def bracket(X, Y, space, t, q):
    """[X, Y] of two fields of displacements by central differences, time among them."""
    n, h = space.dim, 1e-5

    def rate(F, along):
        ends = [
            F(t + s * h * along[0], space.retract(q, jnp.asarray(s * h * along[1:])))
            for s in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * h)

    x, y = X(t, q), Y(t, q)
    found = rate(Y, x) - rate(X, y)
    return found + np.append(0.0, space.ad(jnp.asarray(x[1:]), jnp.asarray(y[1:]))) * (n > 0)


@pytest.mark.parametrize(
    ("system", "dependent", "q"),
    [(MOVED, ["q3", "q4"], Q), (ON_SO3, [2], ac.SO3().retract(jnp.eye(3), Q[:3]))],
)
def test_the_curvature_is_what_brackets_leave(system, dependent, q):
    """ds + A dr + gamma dt of [X_a, X_b], the fields by hand and the bracket by differences."""
    c, space, t = A.connection(system, dependent), system.space, 0.2
    s, r = list(c.split.dependent), list(c.split.independent)

    def field(a):
        def X(t, q):
            z = np.zeros(1 + space.dim)
            if a is None:
                z[0], z[1 + np.array(s)] = 1.0, -c.gamma(t, q)
            else:
                z[1 + r[a]], z[1 + np.array(s)] = 1.0, -c.A(t, q)[:, a]
            return z

        return X

    def left(z):
        z = np.asarray(z)
        held = z[1 + np.array(s)] + c.A(t, q) @ z[1 + np.array(r)] + c.gamma(t, q) * z[0]
        return np.asarray(held)

    B = np.asarray(c.B(t, q))
    np.testing.assert_allclose(
        left(bracket(field(0), field(1), space, t, q)), B[:, 0, 1], atol=1e-8
    )
    with_time = left(bracket(field(1), field(None), space, t, q))
    np.testing.assert_allclose(with_time, c.Gamma(t, q)[:, 1], atol=1e-8)
    np.testing.assert_allclose(B, -np.swapaxes(B, 1, 2), atol=1e-14)
    assert np.max(np.abs(B)) > 0.1
    v = c.velocity(t, q, jnp.array([0.7, -0.4]))
    np.testing.assert_allclose(system.constraint.on_velocities(system, t, q, v), 0, atol=1e-15)


def test_the_force_of_curvature_makes_the_difference():
    """Of the skate, in the (r, s) form: d/dt dL~/dr' - X_a L~ = -mu (B r' + Gamma), with mu =
    dL/ds' of the nonholonomic and p_s of the vakonomic motion.
    """
    q, t = jnp.array([0.1, 0.2, 0.6]), 0.0
    for system, more in ((skate.system, ()), (skate.vakonomic, (jnp.array([0.8]),))):
        c = A.connection(system, "y")
        v = c.velocity(t, q, jnp.array([0.7, 0.5]))
        a, _ = ac.accelerations(system)(t, q, v, *more)

        def reduced(q, r, c=c, system=system):
            return system.L(0.0, q, c.velocity(0.0, q, r))

        r, rdot = v[jnp.array([0, 2])], a[jnp.array([0, 2])]
        slope = jax.grad(reduced, 1)
        rate = jax.jvp(slope, (q, r), (v, rdot))[1]
        by_q = jax.grad(reduced)(q, r)
        allowed = by_q[jnp.array([0, 2])] - by_q[1] * c.A(t, q)[0]
        np.testing.assert_allclose(rate - allowed, c.force(t, q, v, *more), atol=1e-13)
        assert np.max(np.abs(c.force(t, q, v, *more))) > 0.1


# growth of the displacements, and how many functions are held
CASES = {
    "disk on SE(2) x S1": (rolling_disk_se2.system, (2, 3, 4), 0),
    "moved": (MOVED, (2, 4), 0),
    "closed": (nonholonomic(3, closed), (2,), 1),
    "rotating": (nonholonomic(2, lambda t, q, v, p: v[1:] - t * v[:1]), (1, 2), 0),
    "one of two": (
        nonholonomic(4, lambda t, q, v, p: jnp.array([v[2] - q[0] * v[1], v[3] - q[0] * v[0]])),
        (2, 3),
        1,
    ),
    "vertical": (ON_SO3, (2, 3), 0),
    "oblique": (
        nonholonomic(3, lambda t, q, v, p: jnp.sin(v[2:] - q[0] * v[1] - q[1] * v[0])),
        (2,),
        1,
    ),
    "held": (
        ac.System(free, ac.SO3(), holonomic=lambda t, q, p: q[2, :1] - 0.3),
        (2,),
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_integrability(name):
    """Frobenius, and the growth of allowed displacements, which says how many constraints are
    holonomic.
    """
    system, growth, integrals = CASES[name]
    found = A.integrability(system)
    assert found.growth == growth
    assert found.integrals == integrals
    assert bool(found) is (integrals == system.multipliers)
    assert found.linear
    assert found.curvature < 1e-13 if found else found.curvature > 1e-3


def test_a_cone_of_velocities_is_not_holonomic():
    """Appell's example: v2^2 = a^2 (v0^2 + v1^2)."""
    found = A.integrability(
        nonholonomic(3, lambda t, q, v, p: v[2:] ** 2 - 4 * (v[0] ** 2 + v[1] ** 2))
    )
    assert not found.linear
    assert not found
    assert "are no plane" in found.text()
    with pytest.raises(ValueError, match="constraints that are linear in the velocities"):
        A.connection(found.system)


def test_units_do_not_matter():
    """Lengths in nanometres, times in milliseconds, masses of an electron."""
    for bend, holonomic in ((1.0, False), (0.0, True)):

        def kappa(t, q, v, p, bend=bend):
            return 1e9 * (v[2:] - 1e9 * (q[0] * v[1] + (1 - 2 * bend) * q[1] * v[0]))

        system = ac.System(
            lambda t, q, v, p: 9.1e-31 * (0.5 * v @ v - 1e6 * q @ q),
            ac.Euclidean(3),
            nonholonomic=kappa,
        )
        assert bool(A.integrability(system)) is holonomic


def test_words():
    assert "None of them holds a function of (t, q)" in str(A.integrability(skate.system))
    apart = nonholonomic(
        2, lambda t, q, v, p: v[1:] - v[:1], variational=lambda t, q, p: jnp.array([[1.0, 1.0]])
    )
    assert "virtual displacements are given apart" in str(A.integrability(apart))
    with pytest.raises(ValueError, match="integrability does not support systems without"):
        A.integrability(ac.System(free, ac.Euclidean(2)))
    twice = nonholonomic(3, lambda t, q, v, p: jnp.array([v[0] - v[1], 2 * v[0] - 2 * v[1]]))
    with pytest.raises(ValueError, match="depend on each other"):
        A.integrability(twice)
