"""Laws along trajectories: fields of time, the f of a discretisation, whole groups."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis import Symmetry, complete_lift, law, spatial_momentum, symmetries

G, KAPPA = 9.81, 0.7
FALL = ac.mechanical(2.0, lambda t, q, p: 2.0 * G * q[0], 1, name="stone")
THICK = ac.mechanical(
    1.0, lambda t, q, p: G * q[0], 1, weight=lambda t, p: jnp.exp(KAPPA * t), name="falling body"
)
INERTIA = jnp.array([1.0, 2.0, 3.5])


def bound(t, z, v, p):
    """A body that turns, and a particle that it pulls at along a direction of its own."""
    R, x = z
    return 0.5 * v[:3] @ (INERTIA * v[:3]) + 0.5 * v[3:] @ v[3:] - (R[:, 0] @ x) ** 2 - x @ x


PAIR = ac.System(bound, ac.Product(ac.SO3(), ac.Euclidean(3)), name="body and particle")


@pytest.fixture(scope="module")
def turning():
    start = {"q0": (np.eye(3), [1.0, 0.2, 0.0]), "v0": [0.1, 0.4, 0.2, 0.0, 0.3, 0.5]}
    return ac.simulate(PAIR, ac.Midpoint(), **start, h=0.05, steps=60)


def test_a_field_that_depends_on_time():
    """Galilei's boost: p t - m q + m g t^2/2 is kept, exactly also in discrete time."""
    boost = Symmetry(
        lambda t, q: jnp.array([t]), lambda t, q: 2.0 * q[0] - 2.0 * G * jnp.asarray(t) ** 2 / 2
    )
    t, q, v = 0.4, jnp.array([1.2]), jnp.array([-0.3])
    assert abs(float(boost.defect(FALL, t, q, v))) < 1e-13
    traj = ac.simulate(FALL, ac.Midpoint(), q0=[1.0], v0=[2.0], t0=0.5, h=0.05, steps=80)
    assert law(traj, boost).drift < 1e-14
    assert law(traj, lambda t, q: jnp.array([t])).drift > 0.1
    step = boost.discrete_defect(FALL, ac.Midpoint(), 0.5, 0.05, traj.q[0], traj.q[1])
    assert abs(float(step)) < 1e-12


def test_the_f_of_a_discretisation():
    """L = e^(kt) (v^2/2 - g q) under X = 1: f = -(g/k) e^(kt), and of the midpoint rule
    -g h e^(kt) / (2 sinh(k h/2)), with which the law holds to roundoff.
    """
    traj = ac.simulate(THICK, ac.Midpoint(), q0=[1.0], v0=[2.0], h=0.2, steps=30)

    def up(q):
        return jnp.ones(1)

    continuous = Symmetry(up, lambda t, q: -G / KAPPA * jnp.exp(KAPPA * t))
    discrete = Symmetry(
        up, lambda t, h, q: -G * h * jnp.exp(KAPPA * t) / (2 * jnp.sinh(KAPPA * h / 2))
    )
    assert law(traj, discrete).drift < 1e-14
    assert 1e-4 < law(traj, continuous).drift < 1e-2
    assert np.max(law(traj, discrete).changes) < 1e-13
    uneven = ac.simulate(THICK, ac.Midpoint(), q0=[1.0], v0=[2.0], h=[0.1, 0.2], steps=2)
    with pytest.raises(ValueError, match=r"steps of one length; .* 0.1 to 0.2 long"):
        law(uneven, discrete)


def test_a_weight_that_leaves_floating_point():
    """The momentum of a free body with weight e^(kt) at k t = 5000: p is infinite, p/w is not, and
    each step keeps its law.
    """
    free = ac.mechanical(1.0, None, 1, weight=lambda t, p: jnp.exp(KAPPA * t))
    late = {"t0": 5000 / KAPPA, "h": 0.2, "steps": 30}
    traj = ac.simulate(free, ac.Midpoint(), q0=[1.0], v0=[2.0], **late)
    found = law(traj, lambda q: jnp.ones(1))
    assert np.all(np.isinf(found.values))
    assert np.max(found.changes) < 1e-13
    assert found.drift < 1e-12
    np.testing.assert_allclose(
        found.reduced, 2.0 * np.exp(-KAPPA * (np.asarray(traj.t) - traj.t[0])), rtol=1e-12
    )


def test_the_search_finds_that_f():
    """X = d/dq with f = -(g/kappa) exp(kappa t), and what is kept by the discretised system."""
    (found,) = symmetries(THICK, ac.Midpoint())
    assert found.kind == "translation"
    scale = float(found.X(jnp.zeros(1))[0])
    t = 1.3
    assert float(found.f(t, jnp.zeros(1))) == pytest.approx(
        -scale * G / KAPPA * np.exp(KAPPA * t), rel=1e-9
    )
    traj = ac.simulate(THICK, ac.Midpoint(), q0=[1.0], v0=[2.0], h=0.2, steps=30)
    assert law(traj, found).drift < 1e-13


def test_a_whole_group_acts_at_once(turning):
    """Rotations of the body and the particle together: R p + x x p, all three; of each alone they
    are not kept.
    """
    space = PAIR.space
    rotations = Symmetry.from_action(lambda g, z: (g @ z[0], g @ z[1]), space, group=ac.SO3())
    found = law(turning, rotations)
    p, (R, x) = np.asarray(turning.p), map(np.asarray, turning.q)
    expected = np.einsum("tij,tj->ti", R, p[:, :3]) + np.cross(x, p[:, 3:])
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-12)
    assert found.drift < 1e-13
    assert np.max(found.changes) < 1e-13
    assert "3 momenta" in str(found)
    assert law(turning, "space").drift > 0.01
    t, z, v = 0.1, (R[4], x[4]), jnp.asarray(turning.v[4])
    defect = jax.jit(rotations.defect)(PAIR, t, z, v)
    np.testing.assert_allclose(defect, np.zeros(3), atol=1e-12)


def test_momenta_in_space_on_a_product(turning):
    """Those of its factors, one after the other."""
    momenta = np.asarray(spatial_momentum(turning))
    p, (R, _) = np.asarray(turning.p), map(np.asarray, turning.q)
    np.testing.assert_allclose(momenta[:, :3], np.einsum("tij,tj->ti", R, p[:, :3]), atol=1e-13)
    np.testing.assert_array_equal(momenta[:, 3:], p[:, 3:])
    np.testing.assert_array_equal(law(turning, "space").values, momenta)
    np.testing.assert_allclose(law(turning, "body").values, p, atol=1e-15)


def test_lifts_on_a_group_of_a_field_of_time(rng):
    """The second part of X^C is how fast the velocity changes along the flow of X, by
    differences.
    """
    group = ac.SO3()
    a, b = jnp.array(rng.normal(size=(2, 3)))

    def X(t, R):
        return jnp.sin(t) * R.T @ a + R[0] * R[1] @ b

    R, v, t, e = group.tau(jnp.array([0.3, -0.4, 0.8])), jnp.array(rng.normal(size=3)), 0.6, 1e-5

    def moved(s, t):
        here = group.retract(R, (t - 0.6) * v)
        return group.retract(here, s * X(t, here))

    def velocity(s):
        return group.local(moved(s, t - e), moved(s, t + e)) / (2 * e)

    rate = (velocity(e) - velocity(-e)) / (2 * e)
    place, fibre = complete_lift(X, group)(t, R, v)
    np.testing.assert_allclose(place, X(t, R), rtol=1e-15)
    np.testing.assert_allclose(fibre, rate, rtol=1e-4, atol=1e-4)
    assert np.max(np.abs(fibre - complete_lift(X, ac.Euclidean(3))(t, R, v)[1])) > 0.1


def test_of_an_ensemble_and_its_picture():
    many = ac.ensemble(FALL, ac.Midpoint(), q0=[[1.0], [2.0]], v0=[[0.0], [1.0]], h=0.1, steps=5)
    up = Symmetry(lambda q: jnp.ones(1), lambda t, q: -2.0 * G * t)
    found = law(many, up)
    assert found.values.shape == (2, 6)
    assert found.changes.shape == (2, 5)
    assert found.drift < 1e-14
    ax = found.plot().axes[0]
    assert [len(line.get_xdata()) for line in ax.lines] == [6, 6]


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (3.0, r"X must be a function X\(q\)"),
        (lambda a, b, c: a, r"X must be a function X\(q\) or X\(t, q\); .* takes \(a, b, c\)"),
        ("sideways", r"of must be one of 'space', 'body'"),
        (
            lambda q: jnp.ones(3),
            r"matrix, here of shape \(1,\); it returned shape \(3,\)",
        ),
    ],
)
def test_what_is_no_symmetry_is_named(of, words):
    traj = ac.simulate(FALL, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=1)
    with pytest.raises(ValueError, match=words):
        law(traj, of)


def joined(t, q, v, p):
    """Two masses and a spring, and a pull at one of them."""
    return 0.5 * v @ v - 0.5 * (q[0] - q[1]) ** 2 - p["e"] * q[0]


def both(q):
    return jnp.ones(2)


def test_no_run_of_an_ensemble_hides_another():
    """Weights that differ by e^40: the run that is pulled at does not keep its momentum."""
    system = ac.System(
        joined,
        ac.Euclidean(2),
        {"k": 0.1, "e": 0.0},
        weight=lambda t, p: jnp.exp(p["k"] * t),
    )
    params = {"k": np.array([0.0, -2.0]), "e": np.array([0.0, 5.0])}
    run = {"q0": [1.0, 0.0], "v0": [1.0, 0.2], "h": 0.1, "steps": 10, "t0": 20.0}
    assert law(ac.ensemble(system, ac.Midpoint(), params=params, **run), both).drift > 0.5


def test_steps_of_their_own_and_weights_that_turn():
    """`Adaptive` steps, and a weight that changes its sign: each step keeps its law."""
    start = {"q0": [1.0, 0.0], "v0": [0.3, 1.0]}
    growing, turning = (
        ac.System(joined, ac.Euclidean(2), {"e": 0.0}, weight=w)
        for w in (lambda t, p: jnp.exp(0.3 * t), lambda t, p: jnp.where(t < 0.4, 1.0, -1.0))
    )
    own = ac.Adaptive(ac.Midpoint(), lambda q, v, p: 1 / (1 + v @ v))
    traj = ac.simulate(growing, own, **start, h=0.1, steps=30)
    assert np.max(law(traj, both).changes) < 1e-12
    with pytest.raises(ValueError, match="lengths of their own"):
        Symmetry(both, lambda t, h, q: h * q[0]).along(traj)
    with pytest.raises(ValueError, match="total derivative f"):
        law(traj, Symmetry(both, lambda t, q: t)).decay()
    turned = law(ac.simulate(turning, ac.Midpoint(), **start, h=0.1, steps=8), both)
    assert turned.drift < 1e-13
    assert np.max(turned.changes) < 1e-13


def test_several_fields_on_a_group_lift_one_by_one(rng):
    group = ac.SO3()
    R, v = group.tau(jnp.array([0.3, -0.4, 0.8])), jnp.array(rng.normal(size=3))
    space = Symmetry.of_space(group).X
    lifted = complete_lift(space, group)(R, v)[1]
    one = [complete_lift(lambda R, i=i: space(R)[:, i], group)(R, v)[1] for i in range(3)]
    np.testing.assert_allclose(lifted, np.stack(one, axis=-1), atol=1e-14)


def test_complex_fields_are_refused():
    traj = ac.simulate(FALL, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=1)
    with pytest.raises(ValueError, match="complex"):
        traj.momentum(lambda q: 1j * jnp.ones(1))
