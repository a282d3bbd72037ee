"""Poincare sections against closed forms, between engines and ways, and what they refuse."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk

import accion as ac
from tests.analysis.test_lyapunov import STAR
from tests.pairs.kinds import case

A = ac.analysis
MID = ac.Midpoint()
FOUR = ac.Composition(ac.Trapezoid(), 4)
PENDULUM = ac.mechanical(1.0, lambda t, q, params: -jnp.cos(q[0]), 1, coordinates=("angle [rad]",))


def first(t, q, v, params):
    return q[0]


# ---------------------------------------------------------------- closed forms


def test_two_springs_in_closed_form():
    # A step of the midpoint rule turns by 2 arctan(w h/2): times and points of the discrete motion
    # are those of a spring of the frequency (2/h) arctan(w h/2), but for the last, shorter step.
    w = np.array([1.0, np.sqrt(2.0)])
    springs = ac.mechanical(1.0, lambda t, q, params: jnp.sum(w**2 * q * q) / 2, 2)
    h = 0.01
    run = {"q0": [0.0, 1.0], "v0": [1.0, 0.0], "h": h, "steps": 5000}
    found = A.poincare_section(springs, MID, section=first, **run)
    discrete = 2 / h * np.arctan(w * h / 2)
    exact = 2 * np.pi * np.arange(1, 8) / discrete[0]
    np.testing.assert_allclose(found.t, exact[: len(found)], atol=2e-7)
    np.testing.assert_allclose(found.q[:, 1], np.cos(discrete[1] * found.t), atol=2e-6)
    assert len(found) == 7
    assert np.max(np.abs(found.g)) < 1e-14
    assert np.all(found.rises)


@pytest.mark.parametrize(("method", "order"), [(MID, 2), (FOUR, 4)])
def test_the_order_is_that_of_the_method(method, order):
    # A pendulum let go at the angle a has the period 4 K(sin^2(a/2)).
    a = 2.0
    period = 4 * ellipk(np.sin(a / 2) ** 2)
    exact = period * (0.75 + np.arange(3))
    speed = 2 * np.sin(a / 2)
    errors = []
    for h in (0.1, 0.05):
        run = {"q0": [a], "v0": [0.0], "h": h, "steps": round(25 / h)}
        found = A.poincare_section(PENDULUM, method, section=first, crossings=3, **run)
        errors.append([np.max(np.abs(found.t - exact)), np.max(np.abs(found.v[:, 0] - speed))])
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert np.all(np.abs(orders - order) < 0.35), orders


def test_the_order_on_a_group():
    inertia = jnp.array([1.0, 1.5, 2.0])

    def top(t, q, v, params):
        return jnp.sum(inertia * v * v) / 2 - q[2] @ jnp.array([0.3, 0.1, 1.0])

    def level(t, q, v, params):  # an axis of the body is level
        return q[2, 0]

    system = ac.System(top, ac.SO3())
    start = {"q0": np.eye(3), "v0": [0.4, 1.2, 0.3]}
    errors = []
    for h in (0.1, 0.05):
        run = {"h": h, "steps": round(8 / h)}
        found = A.poincare_section(system, MID, section=level, direction=0, **start, **run)
        assert np.max(np.abs(found.g)) < 1e-14
        turns = np.einsum("kij,kil->kjl", found.q, found.q)
        assert np.max(np.abs(turns - np.eye(3))) < 1e-13
        q, v = ac.reference(system, **start, ts=[0.0, *found.t], rtol=1e-11, atol=1e-11)
        errors.append([np.max(np.abs(q[1:] - found.q)), np.max(np.abs(v[1:] - found.v))])
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert len(found) > 2
    assert np.all(np.abs(orders - 2) < 0.35), orders


# ---------------------------------------------------------------- one thing in several ways

Q0 = np.array([[0.0, 0.1], [0.0, -0.2], [0.0, 0.3]])
V0 = np.array([[0.4, 0.0], [0.3, 0.1], [0.2, -0.1]])
RUN = {"h": 0.1, "steps": 600}


def same(a, b, tolerance):
    np.testing.assert_array_equal(a.run, b.run)
    for one, two in ((a.t, b.t), (a.q, b.q), (a.v, b.v), (a.p, b.p)):
        np.testing.assert_allclose(one, two, atol=tolerance)


def test_many_starts_and_trajectories_agree():
    many = A.poincare_section(STAR, MID, section=first, q0=Q0, v0=V0, **RUN)
    assert many.runs == 3
    assert len(many) > 20
    one = A.poincare_section(STAR, MID, section=first, q0=Q0[1], v0=V0[1], **RUN)
    same(one, replace(many.of(1), run=one.run), 1e-14)
    for every in (1, 4):
        whole = ac.ensemble(STAR, MID, q0=Q0, v0=V0, **RUN, save_every=every)
        same(A.poincare_section(whole, section=first), many, 1e-12)
    alone = ac.simulate(STAR, MID, q0=Q0[1], v0=V0[1], **RUN)
    same(A.poincare_section(alone, section=first), one, 1e-12)
    few = A.poincare_section(STAR, MID, section=first, q0=Q0, v0=V0, **RUN, crossings=4)
    assert np.all(np.bincount(few.run) == 4)
    np.testing.assert_array_equal(few.of(2).t, many.of(2).t[:4])


def test_both_engines_agree():
    run = {"q0": [[0.5], [1.0]], "v0": [[0.0], [0.3]], "h": 0.1, "steps": 200}
    one, two = (
        A.poincare_section(PENDULUM, ac.Trapezoid(), section=first, **run, engine=engine)
        for engine in ("native", "xla")
    )
    same(one, two, 1e-12)


def test_directions_and_functions_of_time():
    up, down, both = (
        A.poincare_section(STAR, MID, section=first, q0=Q0, v0=V0, **RUN, direction=d)
        for d in (1, -1, 0)
    )
    assert np.all(up.v[:, 0] > 0)
    assert np.all(down.v[:, 0] < 0)
    np.testing.assert_array_equal(np.sort([*up.t, *down.t]), np.sort(both.t))
    strobe = A.poincare_section(
        STAR, MID, section=lambda t, q, v, params: jnp.sin(t), q0=Q0[0], v0=V0[0], **RUN
    )
    np.testing.assert_allclose(strobe.t, 2 * np.pi * np.arange(1, 10), atol=1e-12)


@pytest.mark.parametrize(
    "kind",
    ["System, time-dependent", "System, holonomic", "ThermalSystem"],
)
def test_other_kinds(kind):
    own = case(kind, "vectors")
    run = ac.simulate(own.system, own.method, **own.start, h=own.h, steps=12)
    level = float(np.asarray(run.q)[5:7, 0].mean())

    def g(t, q, v, *rest):
        return q[0] - level

    found = A.poincare_section(
        own.system, own.method, section=g, direction=0, **own.start, h=own.h, steps=12
    )
    other = A.poincare_section(run, section=g, direction=0)
    same(found, other, 1e-12)
    assert np.max(np.abs(found.q[:, 0] - level)) < 1e-13


@pytest.mark.parametrize("kind", ["HigherOrderSystem", "Adaptive"])
def test_where_the_whole_run_is_needed(kind):
    own = case("HigherOrderSystem" if kind != "Adaptive" else "System, free", "vectors")
    method = own.method if kind != "Adaptive" else ac.Adaptive(MID, lambda q, params: 1.0)
    run = ac.simulate(own.system, method, **own.start, h=own.h, steps=12)
    level = float(np.asarray(run.q)[5:7, 0].mean())
    found = A.poincare_section(
        own.system,
        method,
        section=lambda t, q, v, params: q[0] - level,
        direction=0,
        **own.start,
        h=own.h,
        steps=12,
    )
    assert np.max(np.abs(found.q[:, 0] - level)) < 1e-12


def test_what_is_shown():
    found = A.poincare_section(STAR, MID, section=first, q0=Q0, v0=V0, **RUN)
    figure = found.plot()
    names = [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()]
    assert names == list(found.moving())
    assert names[0] == STAR.coordinates[1]
    assert len(figure.axes[0].lines) == 3
    other = found.plot("t", lambda t, q, v: v[0])
    assert other.axes[0].get_xlabel() == "t [s]"
    dataset = found.to_xarray()
    np.testing.assert_array_equal(dataset.q, found.q)
    assert dataset.sizes["crossing"] == len(found)
    assert "3 runs" in repr(found)
    with pytest.raises(ValueError, match="x must be a function"):
        found.plot("nothing")


# ---------------------------------------------------------------- what it is not


def test_a_jump_is_no_crossing():
    def wrapped(t, q, v, params):  # jumps from pi to -pi, and rises through zero
        return jnp.mod(q[0] + jnp.pi, 2 * jnp.pi) - jnp.pi

    found = A.poincare_section(
        PENDULUM, MID, section=wrapped, direction=0, q0=[0.5], v0=[3.0], h=0.1, steps=300
    )
    assert np.max(np.abs(found.g)) < 1e-12
    assert np.all(found.rises)
    assert len(found) == int(found.q[-1, 0] / (2 * np.pi) + 0.5)


def test_what_is_refused():
    one = {"q0": [0.5], "v0": [0.0], "h": 0.1, "steps": 100}
    with pytest.raises(ValueError, match="no motion crosses the section rising: along the runs g"):
        A.poincare_section(PENDULUM, MID, section=lambda t, q, v, params: q[0] - 1, **one)
    with pytest.raises(ValueError, match="section is NaN at t = "):
        A.poincare_section(PENDULUM, MID, section=lambda t, q, v, params: jnp.log(q[0]), **one)
    with pytest.raises(ValueError, match="section must return a number"):
        A.poincare_section(PENDULUM, MID, section=lambda t, q, v, params: q, **one)
    with pytest.raises(ValueError, match="needs h and steps"):
        A.poincare_section(PENDULUM, MID, section=first, q0=[0.5], v0=[0.0])
    run = ac.simulate(PENDULUM, MID, **one)
    with pytest.raises(ValueError, match="leave out h"):
        A.poincare_section(run, section=first, h=0.1)
    given = case("DiscreteSystem", "vectors")
    with pytest.raises(ValueError, match="there is nothing between their steps"):
        A.poincare_section(
            given.system, section=first, q0=[0.1, 0.2], p0=[0.1, 0.1], h=0.1, steps=9
        )
    away = ac.mechanical(1.0, lambda t, q, params: -(q[0] ** 4), 1)
    starts = {"q0": [[-1.0], [1.0]], "v0": [[1.0], [1.0]], "h": 0.1, "steps": 60}
    with pytest.raises(ac.StepFailed) as error:
        A.poincare_section(away, MID, section=first, **starts)
    assert "throw=False" in error.value.__notes__[0]
    kept = A.poincare_section(
        away, MID, section=lambda t, q, v, p: q[0] - 1.5, **starts, throw=False
    )
    assert set(kept.run) <= {0, 1}
    assert len(kept)


def test_late_times_and_jumps():
    """A Unix time as t0 loses no crossings; jumps of g do not count, and what comes after the
    crossings that were asked for does not matter.
    """
    spring = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * q[0] ** 2, ac.Euclidean(1))
    run = {"q0": [1.0], "v0": [0.0], "h": 0.01, "steps": 6000}
    counts = [
        len(A.poincare_section(spring, ac.Midpoint(), section=first, direction=0, t0=t0, **run))
        for t0 in (0.0, 1.7e9)
    ]
    assert counts == [19, 19]
    late = ac.simulate(spring, ac.Midpoint(), t0=1.7e9, **run)
    assert len(A.poincare_section(late, section=first, direction=0)) == 19
    with pytest.raises(ValueError, match="leave out t0"):
        A.poincare_section(late, section=first, t0=1.0)

    def wrapped(t, q, v, p):
        return jnp.mod(q[0] + jnp.pi - 2.0, 2 * jnp.pi) - jnp.pi

    turning = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 + 9.81 * jnp.cos(q[0]), ac.Euclidean(1))
    run = {"q0": [2.5], "v0": [10.0], "h": 0.01, "steps": 1000, "section": wrapped, "direction": 0}
    every = A.poincare_section(turning, ac.Midpoint(), **run)
    for most in (1, 4):
        some = A.poincare_section(turning, ac.Midpoint(), **run, crossings=most)
        np.testing.assert_array_equal(some.t, every.t[:most])

    escaping = ac.System(lambda t, q, v, p: 0.5 * v @ v + 0.25 * q[0] ** 4, ac.Euclidean(1))
    run = {"q0": [-0.5], "v0": [1.0], "h": 0.02, "steps": 4000, "section": first}
    (t,) = A.poincare_section(escaping, ac.Midpoint(), **run, crossings=1).t
    assert t == pytest.approx(0.506, abs=1e-3)
    with pytest.raises(ac.StepFailed):
        A.poincare_section(escaping, ac.Midpoint(), **run)
