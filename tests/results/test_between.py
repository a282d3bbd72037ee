"""Between the steps: the order of the method, what a step satisfies, and what was saved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.numerics.hermite import combined, weights_of
from accion.results.between import on_polynomial
from tests.discretise.test_inner_points import Parabola, quartic
from tests.helpers import PENDULUM
from tests.pairs.kinds import case

RNG = np.random.default_rng(7)
TIMES = np.sort(RNG.uniform(0.0, 0.6, 5))
QUARTIC = ac.System(quartic, ac.Euclidean(2))


def simulated(own, steps, every=1):
    return ac.simulate(
        own.system, own.method, **own.start, h=0.6 / steps, steps=steps, save_every=every
    )


def largest(a, b):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max(float(np.max(np.abs(np.asarray(x) - np.asarray(y)))) for x, y in pairs)


# ---------------------------------------------------------------- the order


@pytest.mark.parametrize(
    ("kind", "space"),
    [
        ("System, time-dependent", "vectors"),
        ("System, free", "a group"),
        ("System, holonomic", "vectors"),
        ("System, vakonomic", "vectors"),
        ("ThermalSystem", "vectors"),
        ("HigherOrderSystem", "vectors"),
    ],
)
def test_order_two_between_the_steps(kind, space):
    own = case(kind, space)
    start = {name: own.start.get(name) for name in ("q0", "v0", "S0", "lam0")}
    exact = ac.reference(own.system, **start, ts=[0.0, *TIMES], rtol=1e-11, atol=1e-11)
    q, v, *more = jax.tree.map(lambda a: np.asarray(a)[1:], tuple(exact))
    for every in (1, 3):
        errors = []
        for steps in (24, 48):
            found = simulated(own, steps, every).at(TIMES)
            rates = found.v if found.jets is None else found.jets
            errors.append([largest(found.q, q), largest(rates, v if v.ndim == 2 else v[:, :2])])
            if found.S is not None:
                errors[-1].append(largest(found.S, more[0]))
        orders = np.log2(np.array(errors[0]) / errors[1])
        assert np.all(orders > 1.8), (every, orders)


@pytest.mark.parametrize("every", [1, 5])
def test_order_four_of_a_method_with_inner_points(every):
    start = {"q0": [1.0, 0.2], "v0": [0.1, 0.7]}
    times = np.sort(RNG.uniform(0.0, 2.0, 5))
    q, v = ac.reference(QUARTIC, **start, ts=[0.0, *times], rtol=1e-13, atol=1e-13)
    errors = []
    for steps in (10, 20, 40):
        run = ac.simulate(
            QUARTIC, Parabola(), **start, h=2.0 / steps, steps=steps, save_every=every
        )
        found = run.at(times)
        errors.append([largest(found.q, q[1:]), largest(found.v, v[1:])])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.6), orders


def test_the_polynomial_has_values_and_slopes():
    nodes = np.array([[0.0, 0.3, 1.1]])
    for degree in range(6):  # of m = 3 nodes
        f = np.polynomial.Polynomial(RNG.uniform(size=degree + 1))
        w = jax.tree.map(lambda a: a[0], weights_of(nodes, np.array([0.7])))
        values, slopes = f(nodes[0])[:, None], f.deriv()(nodes[0])[:, None]
        at = combined(w.a, values) + combined(w.b, slopes)
        rate = combined(w.da, values) + combined(w.db, slopes)
        np.testing.assert_allclose([at[0], rate[0]], [f(0.7), f.deriv()(0.7)], atol=1e-13)
        if degree < 3:
            np.testing.assert_allclose(combined(w.l, values)[0], f(0.7), atol=1e-13)


@pytest.mark.parametrize("space", [ac.SO3(), ac.Product(ac.Torus(1), ac.SE3("cayley"))])
def test_the_velocity_of_the_polynomial_is_its_derivative(space):
    steps = 0.3 * RNG.normal(size=(3, space.dim))
    z = [space.retract(space.identity(), x) for x in steps]
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *z)
    v, nodes = jnp.asarray(RNG.normal(size=(3, space.dim))), np.array([[0.0, 0.4, 1.0]])

    def at(t):
        w = jax.tree.map(lambda a: a[0], weights_of(nodes, np.array([t])))
        return curve(w)

    curve = jax.jit(lambda w: on_polynomial(space, z[1], stacked, v, w))
    e = 1e-5
    q, velocity = at(0.63)
    slope = (space.local(q, at(0.63 + e)[0]) - space.local(q, at(0.63 - e)[0])) / (2 * e)
    np.testing.assert_allclose(velocity, slope, atol=1e-8)
    for i, t in enumerate(nodes[0]):
        q, velocity = at(t)
        assert largest(q, z[i]) < 1e-14
        np.testing.assert_allclose(velocity, v[i], atol=1e-13)


# ---------------------------------------------------------------- what holds


@pytest.mark.parametrize("kind", ["System, holonomic", "ThermalSystem", "HigherOrderSystem"])
def test_at_saved_times_it_is_what_was_saved(kind):
    run = simulated(case(kind, "vectors"), 24, 3)
    found = run.at(run.t)
    for name in ("q", "v", "p", "S", "lam", "jets"):
        assert jax.tree.all(
            jax.tree.map(np.array_equal, getattr(found, name), getattr(run, name))
        ), name
    np.testing.assert_array_equal(found.energy(), run.energy())


@pytest.mark.parametrize(
    "kind", ["System, time-dependent", "System, vakonomic", "ThermalSystem", "HigherOrderSystem"]
)
def test_steps_that_were_not_saved_are_the_same(kind):
    own = case(kind, "vectors")
    whole, some = simulated(own, 24), simulated(own, 24, 4)
    which = np.array([0, 1, 3, 6, 11, 15, 22])  # some steps apart, and next to each other
    found = some.at(whole.t[which] + 1e-13)
    for name in ("q", "v", "p", "S", "supplied", "lam", "jets"):
        own_values, all_values = getattr(found.rows, name), getattr(whole, name)
        if all_values is not None:
            np.testing.assert_allclose(own_values, all_values[which], rtol=1e-9, atol=1e-11)


def test_it_is_continuous_at_the_steps():
    run = simulated(case("System, free", "a group"), 24, 3)
    h = float(run.h)
    times = np.array([2 * h, 3 * h, 4 * h])[:, None] + h * np.array([-1e-11, 1e-11])
    found = run.at(times.ravel())
    for values in (found.q, found.v, found.p):
        np.testing.assert_allclose(values[::2], values[1::2], atol=1e-11)


def test_on_the_constraint_and_on_the_group():
    own = case("System, holonomic", "a group")
    found = simulated(own, 24).at(TIMES)
    for q, v in zip(found.q, found.v, strict=True):
        assert np.max(np.abs(own.place.phi(q))) < 1e-13
        slope = jax.jvp(
            lambda e, q=q: own.place.phi(own.place.space.displace(q, e)), (0 * v,), (v,)
        )
        assert np.max(np.abs(slope[1])) < 1e-12
        np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-14)
    assert found.lam.shape == (len(TIMES), 1)


def test_angles_count_whole_turns():
    run = ac.simulate(PENDULUM, ac.Midpoint(), q0=[0.0], v0=[40.0], h=0.02, steps=50)
    assert run.q[-1, 0] > 30
    middle = run.at(0.51)
    np.testing.assert_allclose(middle.q, 0.5 * (run.q[25] + run.q[26]), atol=0.02)


def test_one_time_has_no_axis_and_energy_is_its_own():
    own = case("ThermalSystem", "vectors")
    run = simulated(own, 24)
    one, some = run.at(0.31), run.at([0.31, 0.4])
    assert jax.tree.map(np.shape, one.q) == jax.tree.map(np.shape, own.start["q0"])
    assert (
        largest(
            (one.q, one.v, one.p, one.S),
            jax.tree.map(lambda a: a[0], (some.q, some.v, some.p, some.S)),
        )
        < 1e-15
    )
    E = run.energy()
    assert abs(one.energy() - some.energy()[0]) < 1e-15
    assert abs(one.energy() - E[12]) < 1e-3
    assert one.temperature().shape == ()


@pytest.mark.parametrize("every", [1, 3])
def test_ensembles(every):
    own = case("System, free", "vectors")
    params = own.system.params | {"k": np.array([0.6, 0.7])}
    run = ac.ensemble(
        own.system, own.method, **own.start, params=params, h=0.05, steps=12, save_every=every
    )
    found = run.at([0.07, 0.3])
    for i, k in enumerate(params["k"]):
        alone = ac.simulate(
            own.system.with_params(own.system.params | {"k": k}),
            own.method,
            **own.start,
            h=0.05,
            steps=12,
        ).at([0.07, 0.3])
        np.testing.assert_allclose(found.q[i], alone.q, rtol=1e-13)
        np.testing.assert_allclose(found.v[i], alone.v, rtol=1e-12)
    assert run.at(0.07).v.shape == (2, 2)


def test_derivatives_go_through_it():
    def q(l):
        params = {"m": 1.3, "l": l, "gravity": 9.81}
        run = ac.simulate(
            PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.05, steps=2, params=params
        )
        return run.at(0.07).q[0]

    slope = (q(0.7 + 1e-5) - q(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jvp(q, (0.7,), (1.0,))[1], slope, rtol=1e-7)


def test_after_a_failure_it_is_nan():
    def log(t, q, v, params):
        return 0.5 * v @ v + 30 * jnp.log(q[0])  # pushed out, then thrown back over the pole

    system = ac.System(log, ac.Euclidean(1))
    run = ac.simulate(system, ac.Trapezoid(), q0=[0.05], v0=[-1e3], h=0.1, steps=10, throw=False)
    assert not run.success
    found = run.at([0.0, 0.95])
    assert np.isfinite(found.q[0, 0])
    assert np.isnan(found.q[1, 0])


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize("t", [-0.1, 1.1, [0.2, 7.0], [[0.1]], [], "now", np.nan])
def test_times_that_are_not_there_are_named(t):
    run = ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=10)
    with pytest.raises(ValueError, match=r"^t must be"):
        run.at(t)
    assert run.at(run.t[-1] * (1 + 1e-15)).q == run.q[-1]


def test_in_discrete_time_there_is_nothing_between():
    own = case("DiscreteSystem", "vectors")
    with pytest.raises(ValueError, match="at does not support systems given in discrete time"):
        simulated(own, 6).at(0.1)


def test_under_jit_it_says_where_to_call_it():
    def q(t):
        return ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=2).at(t).q

    with pytest.raises(TypeError, match="call it outside"):
        jax.jit(q)(0.05)


@pytest.mark.parametrize("many", [False, True])
def test_at_a_step_that_was_not_saved_it_is_that_step(many):
    run = ac.simulate if not many else ac.ensemble
    start = {"q0": [1.0, 0.2], "v0": [0.1, 0.7]}
    if many:
        start["q0"] = [start["q0"], [0.8, 0.3]]
    all_steps, some = (
        run(QUARTIC, ac.Midpoint(), **start, h=0.125, steps=8, save_every=every) for every in (1, 4)
    )
    found = some.at(all_steps.t)  # times that are steps to the bit
    assert largest((found.q, found.v, found.p), (all_steps.q, all_steps.v, all_steps.p)) < 1e-14
