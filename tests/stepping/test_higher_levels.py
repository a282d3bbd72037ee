"""Systems of higher order by Galerkin and Composition, on T^(r-1)Q."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.pairs.kinds import alone
from tests.pairs.places import PLACES
from tests.stepping.higher_cases import BENT, JETS, order_of

METHODS = {"Galerkin": ac.Galerkin(2), "Composition": ac.Composition(ac.Midpoint(), 4)}


@lru_cache
def reference(kind, space):
    system, start = alone(kind, space)
    q = ac.reference(system, q0=PLACES[space].q0, **start, ts=[0.0, 0.4])[0]
    return jax.tree.map(lambda a: a[-1], q)


@lru_cache
def run(kind, space, by, n):
    system, start = alone(kind, space)
    return ac.simulate(system, METHODS[by], q0=PLACES[space].q0, **start, h=0.4 / n, steps=n)


@pytest.mark.parametrize("kind", ["HigherOrderSystem", "HigherOrderSystem, vakonomic"])
@pytest.mark.parametrize("space", PLACES)
@pytest.mark.parametrize("by", METHODS)
def test_order_four_on_every_space(kind, space, by):
    def error(n):
        end = jax.tree.map(lambda a: a[-1], run(kind, space, by, n).q)
        return float(jnp.max(jnp.abs(PLACES[space].space.local(reference(kind, space), end))))

    order, least = order_of(error, (4, 8))
    assert order == pytest.approx(4, abs=0.1)
    assert least < 5e-9


@pytest.mark.parametrize(
    ("kind", "space"),
    [("HigherOrderSystem", "a group"), ("HigherOrderSystem, vakonomic", "vectors")],
)
def test_a_run_is_found_again_from_its_ends(kind, space):
    marched = run(kind, space, "Galerkin", 8)
    first, last = (jax.tree.map(lambda a, i=i: a[i], marched.q) for i in (0, -1))
    rates = {"va": marched.jets[0, :1], "vb": marched.jets[-1, :1]}
    ends = {"qa": first, "qb": last, "duration": 0.4, "steps": 8} | rates
    found = ac.connect(alone(kind, space)[0], METHODS["Galerkin"], **ends)
    apart = jax.vmap(PLACES[space].space.local)(marched.q, found.q)
    np.testing.assert_allclose(np.asarray(apart), 0, atol=1e-11)
    np.testing.assert_allclose(found.p, marched.p, atol=1e-7)
    np.testing.assert_allclose(found.jets, marched.jets, atol=1e-7)
    if found.lam is not None:
        np.testing.assert_allclose(found.lam, marched.lam, atol=1e-7)


def test_two_ends_of_a_vakonomic_system():
    """Heisenberg's group: inner points and their multipliers are unknowns of the problem, and what
    is found is a run, to order four.
    """
    system = ac.System(
        lambda t, q, v, params: 0.5 * (v[0] ** 2 + v[1] ** 2),
        ac.Euclidean(3),
        vakonomic=lambda t, q, v, params: (v[2] - 0.5 * (q[0] * v[1] - q[1] * v[0]))[None],
    )
    ends = {"qa": [0, 0, 0], "qb": [0.5, 0.0, 0.3], "duration": 1.0}

    def found(n, method):
        return ac.connect(system, method, **ends, steps=n)

    motion, exact = found(8, ac.Galerkin(2)), found(8, ac.Galerkin(5)).lam[0, 0]
    start = {"q0": motion.q[0], "p0": motion.p[0]}
    marched = ac.simulate(system, ac.Galerkin(2), **start, h=1 / 8, steps=8)
    np.testing.assert_allclose(marched.q, motion.q, atol=1e-13)
    np.testing.assert_allclose(np.ptp(motion.lam), 0, atol=1e-12)  # a momentum
    error = [abs(float(found(n, ac.Galerkin(2)).lam[0, 0] - exact)) for n in (8, 16)]
    assert np.log2(error[0] / error[1]) == pytest.approx(4, abs=0.1)


def test_the_problem_of_two_ends_by_galerkin():
    """Of order four; from the solution by another method it is found at once; its derivatives are
    those of differences.
    """
    system = BENT[2]
    ends = {"qa": [0.0], "va": [[0.1]], "vb": [[0.3]], "duration": 1.0}

    def found(n, qb=0.7, **more):
        return ac.connect(system, ac.Galerkin(2), qb=jnp.array([qb]), **ends, steps=n, **more)

    exact = ac.connect(system, ac.Galerkin(5), qb=[0.7], **ends, steps=8).p[0, 0]
    order, least = order_of(lambda n: abs(float(found(n).p[0, 0, 0] - exact[0])), (8, 16))
    assert order == pytest.approx(4, abs=0.2)
    assert least < 1e-4
    guess = ac.connect(system, ac.Midpoint(), qb=[0.7], **ends, steps=8)
    np.testing.assert_allclose(found(8, guess=guess).q, found(8).q, atol=1e-13)
    slope = jax.grad(lambda qb: found(4, qb).q[2, 0])(0.7)
    difference = (found(4, 0.7001).q[2, 0] - found(4, 0.6999).q[2, 0]) / 2e-4
    assert slope == pytest.approx(float(difference), rel=1e-6)
    with pytest.raises(ValueError, match="give one configuration at each end and the derivatives"):
        ac.connect(
            system, ac.Galerkin(2), qa=[[0.0], [0.1]], qb=[[0.6], [0.7]], duration=1, steps=5
        )


def test_order_six_under_a_force_that_depends_on_time():
    system = ac.HigherOrderSystem(
        BENT[3].lagrangian,
        ac.Euclidean(1),
        order=3,
        force=lambda t, q, v, a, j, p: -0.3 * v + 0.1 * a * jnp.sin(t) - 0.2 * j,
    )
    exact = ac.reference(system, q0=[0.3], v0=JETS, ts=[0.0, 0.5])[0][-1]

    def error(n):
        found = ac.simulate(system, ac.Galerkin(3), q0=[0.3], v0=JETS, h=0.5 / n, steps=n)
        return abs(float(found.q[-1, 0] - exact[0]))

    order, least = order_of(error, (2, 4))
    assert order == pytest.approx(6, abs=0.35)
    assert least < 1e-9


def test_momenta_and_derivatives_have_the_order_of_the_method():
    """Those that a trajectory shows are the motion's own, not of second order as by windows."""
    system, start = alone("HigherOrderSystem", "vectors")
    found = run("HigherOrderSystem", "vectors", "Galerkin", 8)
    q, jets = ac.reference(system, q0=PLACES["vectors"].q0, **start, ts=[0.0, 0.4])
    p = system.momenta(0.4, q[-1], jets[-1])
    np.testing.assert_allclose(found.p[-1], p, atol=1e-8)
    np.testing.assert_allclose(found.jets[-1], jets[-1][:2], atol=1e-8)
    E = np.asarray(found.energy())
    assert np.ptp(E) < 1e-8
    assert abs(E[-1] - float(system.energy(0.4, q[-1], jets[-1]))) < 1e-8


def test_between_steps_on_from_there_and_from_momenta():
    system, start = alone("HigherOrderSystem", "a group")
    place, found = PLACES["a group"], run("HigherOrderSystem", "a group", "Galerkin", 8)
    q = ac.reference(system, q0=place.q0, **start, ts=[0.0, 0.23])[0]
    off = place.space.local(jnp.asarray(q[-1]), jnp.asarray(found.at(0.23).q))
    assert np.max(np.abs(off)) < 1e-8
    again = ac.simulate(
        system,
        METHODS["Galerkin"],
        q0=found.q[4],
        v0=found.jets[4, :1],
        p0=found.p[4],
        t0=0.2,
        h=0.05,
        steps=4,
    )
    np.testing.assert_allclose(again.q, found.q[4:], atol=1e-13)
    longer = found.extend(2)
    np.testing.assert_array_equal(longer.q[:9], found.q)


def test_a_momentum_map_is_kept_to_roundoff():
    """sum_s p_s.X_s of a Riemannian cubic under turns of space, whatever the method's order."""
    system = ac.HigherOrderSystem(
        lambda t, R, v, a, p: 0.5 * a @ (jnp.array([1.0, 2.0, 2.5]) * a) + 0.1 * v @ v, ac.SO3()
    )
    jets = np.array([[0.4, -0.3, 0.2], [0.1, 0.5, -0.2], [0.3, 0.1, 0.2]])
    found = ac.simulate(system, ac.Galerkin(2), q0=np.eye(3), v0=jets, h=0.1, steps=20)
    zeta = jnp.array([0.3, -0.5, 0.8])
    J = np.asarray(found.momentum(lambda R: R.T @ zeta))
    assert np.ptp(J) < 1e-13 * np.max(np.abs(J))
    other = np.asarray(found.momentum(lambda R: zeta))
    assert np.ptp(other) > 1e-3


def test_the_system_of_first_order_is_the_same():
    """Its momenta are those of Jacobi and Ostrogradsky, and the first of them its multiplier."""
    system, start = alone("HigherOrderSystem", "a group")
    place, whole = PLACES["a group"], ac.first_order(system)
    p = system.momenta(0.0, place.q0, jnp.asarray(start["v0"]))
    z = (place.q0, start["v0"][0])
    found = ac.simulate(whole, ac.Galerkin(2), q0=z, p0=jnp.ravel(p), h=0.05, steps=8)
    own = run("HigherOrderSystem", "a group", "Galerkin", 8)
    np.testing.assert_allclose(found.q[0], own.q, atol=1e-13)
    np.testing.assert_allclose(found.p, np.asarray(own.p).reshape(9, -1), atol=1e-12)
    np.testing.assert_allclose(found.lam, own.p[:, 0], atol=1e-9)
    with pytest.raises(ValueError, match="system must be a HigherOrderSystem"):
        ac.first_order(whole)  # pyright: ignore[reportArgumentType]
