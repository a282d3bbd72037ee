"""Steps that follow the motion: order, energy, what is refused, and runs that end at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.stepping import scheme_of
from accion.systems import Start
from tests.discretise.test_inner_points import Parabola
from tests.helpers import PENDULUM
from tests.pairs.kinds import case

KEPLER = ac.System(lambda t, q, v, params: 0.5 * v @ v + 1 / jnp.sqrt(q @ q), ac.Euclidean(2))


def distance(q, params):
    return (q @ q) ** 0.75


def pace(q, v, params):
    return (q @ q) ** 0.75


def start(e):
    return {"q0": [1 - e, 0.0], "v0": [0.0, ((1 + e) / (1 - e)) ** 0.5]}


TRANSFORMED = ac.Adaptive(ac.Midpoint(), distance)
REVERSIBLE = ac.Adaptive(ac.Midpoint(), pace)


@pytest.mark.parametrize(
    ("method", "order"),
    [
        (TRANSFORMED, 2),
        (REVERSIBLE, 2),
        (ac.Adaptive(ac.Trapezoid(), pace), 2),
        (ac.Adaptive(Parabola(), distance), 4),
        (ac.Adaptive(Parabola(), pace), 4),
    ],
    ids=repr,
)
def test_the_order_of_the_method_inside(method, order):
    times = np.array([1.7, 4.4, 9.0])
    q, v = ac.reference(KEPLER, **start(0.6), ts=[0.0, *times], rtol=1e-13, atol=1e-13)
    errors = []
    for h in (0.1, 0.05, 0.025):
        run = ac.simulate(KEPLER, method, **start(0.6), h=h, until=9.0)
        assert run.t[-1] == 9.0
        found = run.at(times)
        errors.append(max(np.max(np.abs(found.q - q[1:])), np.max(np.abs(found.v - v[1:]))))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert order - 0.35 < orders[-1] < order + 0.6, orders


@pytest.mark.parametrize("method", [TRANSFORMED, REVERSIBLE], ids=repr)
def test_a_long_ellipse_takes_few_steps_and_its_energy_does_not_drift(method):
    periods = 1000
    run = ac.simulate(KEPLER, method, **start(0.9), h=0.05, until=2 * np.pi * periods)
    assert len(run) < 175 * periods
    E = np.asarray(run.energy()) + 0.5
    which = np.minimum(run.t / (2 * np.pi), periods - 1).astype(int)
    mean = np.bincount(which, E) / np.bincount(which)
    slope = np.polyfit(np.arange(periods), mean, 1)[0]
    swing = np.max(np.abs(E))
    assert swing < 0.006
    # Over all periods together: a five-hundredth of what the energy swings in each of them.
    assert abs(slope) * periods < 2e-3 * swing


def test_an_ellipse_that_is_nearly_a_line():
    run = ac.simulate(KEPLER, TRANSFORMED, **start(0.99), h=0.05, until=2 * np.pi * 20)
    assert len(run) < 240 * 20
    assert np.max(np.abs(run.energy() + 0.5)) < 0.012
    with pytest.raises(ac.StepFailed):  # of equal length, twenty times as many are too long
        ac.simulate(KEPLER, ac.Midpoint(), **start(0.99), h=2 * np.pi / 5000, steps=5000)


def test_order_measures_it_up_to_a_time():
    found = ac.analysis.order(KEPLER, TRANSFORMED, **start(0.6), duration=2.0, h=[0.1, 0.05, 0.025])
    assert float(found) == pytest.approx(2.0, abs=0.1)


def test_the_transformed_flow_is_symplectic():
    """One step of (q, p) at a fixed E0 keeps dq ^ dp."""
    scheme = scheme_of(KEPLER, TRANSFORMED)
    first = Start(jnp.array([0.4, 0.1]), jnp.array([0.2, 1.9]))
    state, _ = scheme.begin(0.0, 0.1, first)

    def step(y):
        after, _ = scheme.step(state._replace(q=y[:2], p=y[2:]), 0.0, 0.1)
        return jnp.concatenate([after.q, after.p])

    J = np.asarray(jax.jit(jax.jacfwd(step))(jnp.concatenate([state.q, state.p])))
    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    np.testing.assert_allclose(J.T @ omega @ J, omega, atol=1e-12)


def test_reversible_runs_come_back():
    run = ac.simulate(KEPLER, REVERSIBLE, **start(0.6), h=0.05, steps=40)
    # The end of a run starts the way back with the rho of the step that led there.
    lengths = np.diff(run.t)
    rho = 0.05 / lengths
    g = np.array([pace(q, None, None) for q in np.asarray(run.q)])
    np.testing.assert_allclose(rho[1:] + rho[:-1], 2 / g[1:-1], rtol=1e-12)


def test_on_a_group_and_under_a_holonomic_constraint():
    for kind, space in (("System, free", "a group"), ("System, holonomic", "vectors")):
        own = case(kind, space)
        method = ac.Adaptive(
            ac.Midpoint(), lambda q, params, own=own: 1 + 0.5 * own.place.height(q)
        )
        ts = [0.0, 0.6]
        given = {name: own.start[name] for name in ("q0", "v0")}
        q, v = ac.reference(own.system, **given, ts=ts, rtol=1e-11, atol=1e-11)
        errors = []
        for h in (0.04, 0.02):
            run = ac.simulate(own.system, method, **given, h=h, until=0.6)
            errors.append([np.max(np.abs(run.q[-1] - q[-1])), np.max(np.abs(run.v[-1] - v[-1]))])
        orders = np.log2(np.array(errors[0]) / errors[1])
        assert np.all(orders > 1.7), (kind, orders)


def test_it_goes_on_and_says_what_it_is():
    run = ac.simulate(KEPLER, REVERSIBLE, **start(0.6), h=0.05, steps=60)
    some = ac.simulate(KEPLER, REVERSIBLE, **start(0.6), h=0.05, steps=40).extend(20)
    np.testing.assert_array_equal(run.t, some.t)
    np.testing.assert_array_equal(run.q, some.q)
    assert repr(TRANSFORMED) == "Adaptive(Midpoint(), distance(q, params))"
    assert repr(REVERSIBLE).endswith("pace(q, v, params); reversible, not symplectic)")


def test_until_ends_a_run_of_any_method():
    given = {"q0": [1.0], "v0": [0.3], "h": 0.1}
    run = ac.simulate(PENDULUM, ac.Midpoint(), **given, until=1.03)
    assert list(run.t[-2:]) == [1.0, 1.03]
    assert len(run) == 12 == run.steps_completed + 1
    one = ac.simulate(PENDULUM, ac.Midpoint(), **given, steps=11)
    np.testing.assert_array_equal(run.q[:-1], one.q[:-1])
    np.testing.assert_array_equal(run.q[-1], one.at(1.03).q)
    np.testing.assert_array_equal(run.energy()[:-1], one.energy()[:-1])
    whole = ac.simulate(PENDULUM, ac.Midpoint(), **given, until=1.0)
    np.testing.assert_array_equal(whole.q, one.q[:-1])
    assert len(whole.extend(1)) == 12
    own = case("ThermalSystem", "vectors")
    warm = ac.simulate(own.system, own.method, **own.start, h=0.05, until=0.12)
    assert warm.t[-1] == 0.12
    assert np.all(np.diff(warm.S) > 0)
    assert np.max(np.abs(warm.first_law())) < 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"until": -1.0}, "must be after t0"),
        ({"until": 1.0, "save_every": 2}, "save_every must be 1"),
        ({"until": 1.0, "steps": 10}, "give steps, how many there are, or until"),
        ({}, "give steps, how many there are, or until"),
        ({"until": "noon"}, "until must be"),
    ],
)
def test_an_end_that_is_none_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, **given)


def test_what_is_refused_says_why():
    forced, timed = case("System, forced", "vectors"), case("System, time-dependent", "vectors")
    flat = ac.Adaptive(ac.Midpoint(), lambda q, params: 1 + q @ q)
    for own, words in ((forced, "with a force"), (timed, "depend on time")):
        with pytest.raises(ValueError, match=words):
            ac.simulate(own.system, flat, **own.start, **own.run)
        free = ac.Adaptive(ac.Midpoint(), lambda q, v, params: 1 + q @ q)
        assert ac.simulate(own.system, free, **own.start, **own.run).success
    for kind in ("ThermalSystem", "ContactSystem"):
        own = case(kind, "vectors")
        with pytest.raises(ValueError, match="Adaptive does not support"):
            ac.simulate(own.system, flat, **own.start, **own.run)
    many = np.array([[0.4, 0.0], [0.5, 0.0]])
    with pytest.raises(ValueError, match="times of its own"):
        ac.ensemble(KEPLER, TRANSFORMED, q0=many, v0=[0.0, 1.0], h=0.1, steps=2)
    plan = ac.campaign.table({"q0": many}, v0=[0.0, 1.0])
    with pytest.raises(ValueError, match="times of its own"):
        ac.campaign.run(KEPLER, TRANSFORMED, plan, h=0.1, steps=2, progress=False)
    with pytest.raises(ValueError, match="from v0 or p0"):
        ac.simulate(KEPLER, TRANSFORMED, q0=[0.4, 0.0], q1=[0.4, 0.1], h=0.1, steps=2)
    with pytest.raises(ValueError, match="no discrete Lagrangian"):
        ac.discrete(KEPLER, TRANSFORMED).Ld(0.0, 0.1, [0.4, 0.0], [0.4, 0.1])
    with pytest.raises(ValueError, match="monitor must return a number"):
        ac.simulate(KEPLER, ac.Adaptive(ac.Midpoint(), lambda q, p: q), **start(0.5), h=1, steps=1)
    with pytest.raises(ValueError, match="monitor takes"):
        ac.Adaptive(ac.Midpoint(), lambda q: 1.0)
    with pytest.raises(ValueError, match="needs a method"):
        ac.Adaptive("Midpoint", distance)
    with pytest.raises(ValueError, match="suggest_step does not support Adaptive"):
        ac.suggest_step(KEPLER, TRANSFORMED, [0.4, 0.0], [0.0, 2.0], 1.0, 1e-3)
    windows = case("HigherOrderSystem", "vectors")
    with pytest.raises(ValueError, match="cannot be shorter"):
        ac.simulate(windows.system, windows.method, **windows.start, h=0.05, until=0.12)


def of_levels(q, params):
    return 1 + 0.5 * q[0] ** 2


def of_speed(q, v, params):
    return 1 + 0.5 * q[0] ** 2 + 0.1 * v[1] ** 2


@pytest.mark.parametrize("monitor", [of_levels, of_speed])
@pytest.mark.parametrize("kind", ["System, vakonomic", "HigherOrderSystem, vakonomic"])
def test_where_multipliers_are_in_the_action(kind, monitor):
    """Of order one and two: the order of the method in q, multipliers and momenta."""
    own, T, errors = case(kind, "vectors"), 0.6, []
    q, jets, lam = ac.reference(own.system, **own.start, ts=[0.0, T], rtol=1e-12, atol=1e-12)
    p = own.system.legendre(T, q[-1], jets[-1], lam[-1]) if own.system.order == 1 else None
    for h in (0.04, 0.02):
        run = ac.simulate(
            own.system, ac.Adaptive(ac.Midpoint(), monitor), **own.start, h=h, until=T
        )
        assert np.ptp(np.diff(run.t)[:-1]) > 1e-3 * h  # its steps have lengths of their own
        first = lam[-1] if own.system.order == 1 else lam[-1][0]
        errors.append([np.max(np.abs(run.q[-1] - q[-1])), np.max(np.abs(run.lam[-1] - first))])
        if p is not None:
            errors[-1].append(np.max(np.abs(run.p[-1] - p)))
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert np.all(orders > 1.7), orders


def test_the_motion_may_end_beyond_the_time_that_is_asked_for():
    """A mass that runs away from a hill: there is no 256th step."""
    hill = ac.System(lambda t, q, v, params: 0.5 * v @ v + q[0] ** 6, ac.Euclidean(1))
    given = {"q0": [0.5], "v0": [0.5], "h": 0.02}
    method = ac.Adaptive(ac.Midpoint(), lambda q, params: 1 + 0.0 * q[0])
    with pytest.raises(ac.StepFailed):
        ac.simulate(hill, method, **given, steps=256)
    run = ac.simulate(hill, method, **given, until=0.5)
    plain = ac.simulate(hill, ac.Midpoint(), **given, steps=25)
    np.testing.assert_allclose(run.q[-1], plain.q[-1], rtol=1e-9)
