"""Holonomic, nonholonomic and vakonomic systems against closed forms, each other and what they must
keep."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import skate
from tests.stepping.constraints_cases import PENDULUM, START, ball, free, string


def marched(system, start, duration, steps):
    return ac.simulate(system, ac.Midpoint(), **start, h=duration / steps, steps=steps)


@pytest.mark.parametrize(
    ("system", "start"),
    [
        (
            ac.System(ball, ac.Euclidean(2), force=lambda t, q, v, params: -0.2 * v + jnp.sin(t)),
            {"q0": [0.0, 0.0], "v0": [1.0, 4.0]},
        ),
        (PENDULUM, START),
        (skate.vakonomic, {"q0": skate.Q0, "v0": skate.V0, "lam0": [0.2]}),
    ],
    ids=["forced", "holonomic", "vakonomic"],
)
def test_connect_finds_the_marched_trajectory(system, start):
    run = marched(system, start, 0.8, 80)
    joined = ac.connect(system, ac.Midpoint(), qa=run.q[0], qb=run.q[-1], duration=0.8, steps=80)
    np.testing.assert_allclose(joined.q, run.q, atol=1e-11)
    np.testing.assert_allclose(joined.p, run.p, atol=1e-9)
    np.testing.assert_allclose(joined.v, run.v, atol=1e-9)
    if run.lam is not None:
        np.testing.assert_allclose(joined.lam, run.lam, atol=1e-8)
    again = ac.connect(
        system, ac.Midpoint(), qa=run.q[0], qb=run.q[-1], duration=0.8, steps=80, guess=joined
    )
    assert int(again.iterations[0]) <= 2


def test_connect_on_a_product_and_from_another_time():
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 0.5 * q[0] @ q[0] + jnp.cos(q[1][0]) * (1 + t),
        ac.Product(ac.Euclidean(1), ac.Torus(1)),
    )
    run = ac.simulate(
        system, ac.Trapezoid(), q0=([0.1], [0.4]), v0=[0.3, -0.2], t0=0.5, h=0.02, steps=40
    )
    ends = [tuple(part[k] for part in run.q) for k in (0, -1)]
    joined = ac.connect(
        system, ac.Trapezoid(), qa=ends[0], qb=ends[1], t0=0.5, duration=0.8, steps=40
    )
    np.testing.assert_allclose(joined.q[1], run.q[1], atol=1e-12)


@pytest.mark.slow
def test_connect_costs_in_proportion_to_its_steps():
    import time

    def cost(steps):
        arguments = {"qa": [0.0, 0.0], "qb": [1.0, 0.5], "duration": 1.0, "steps": steps}
        system = ac.System(
            lambda t, q, v, params: 0.5 * v @ v - 9.81 * q[1] - q[0] ** 4, ac.Euclidean(2)
        )
        ac.connect(system, ac.Midpoint(), **arguments)
        begin = time.perf_counter()
        run = ac.connect(system, ac.Midpoint(), **arguments)
        return (time.perf_counter() - begin) / int(run.iterations[0])

    assert cost(100_000) < 20 * cost(10_000)


def test_connect_says_why_it_failed():
    system = ac.System(lambda t, q, v, params: 0.5 * v[0] ** 2 + jnp.log(q[0]), ac.Euclidean(1))
    with pytest.raises(ac.ConnectFailed, match="guess"):
        ac.connect(system, ac.Midpoint(), qa=[1.0], qb=[-1.0], duration=1.0, steps=20)


def test_the_order_of_a_vakonomic_motion():
    """Of (q, v, lam), from multipliers at the start: those of the skate on level ice."""
    level = skate.vakonomic.with_params({**skate.PARAMS, "slope": 0.0})
    found = ac.analysis.order(
        level,
        ac.Midpoint(),
        q0=skate.Q0,
        v0=[0.5, 0.0, 1.0],
        lam0=[0.3],
        duration=1.0,
        h=[0.05, 0.025, 0.0125],
    )
    assert float(found) == pytest.approx(2, abs=0.01)


def test_data_off_the_constraint_and_project():
    with pytest.raises(
        ValueError,
        match=r"q0 is off the constraint of pendulum on a string \(by 0.22.*accion.project",
    ) as caught:
        ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.2, 0.0], v0=[0.0, 1.0], h=0.1, steps=1)
    assert "project" in str(caught.value)
    with pytest.raises(ValueError, match=r"on velocities, by 0\.5"):
        ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0, 0.0], v0=[0.5, 1.0], h=0.1, steps=1)
    q, v = ac.project(PENDULUM, jnp.array([1.2, 0.5]), jnp.array([0.5, 1.0]))
    np.testing.assert_allclose(q, np.array([1.2, 0.5]) / 1.3, atol=1e-14)
    np.testing.assert_allclose(v, np.array([0.5, 1.0]) - (np.array([0.5, 1.0]) @ q) * q, atol=1e-14)
    ac.simulate(PENDULUM, ac.Midpoint(), q0=q, v0=v, h=0.1, steps=1)


def test_project_at_any_time():
    """A string that is let out, |q| = 1 + t/2: the nearest point and velocity at t = 3, from lists,
    are those of a circle that grows.
    """
    growing = ac.mechanical(
        1.0,
        None,
        2,
        holonomic=lambda t, q, p: q @ q - (1 + t / 2) ** 2 * jnp.ones(1),
        name="a string let out",
    )
    q, v = ac.project(growing, [3.0, 4.0], [1.0, 1.0], t=3.0)
    np.testing.assert_allclose(q, [1.5, 2.0], rtol=1e-14)
    radial = np.array([0.6, 0.8])
    np.testing.assert_allclose(v, np.array([1.0, 1.0]) + (0.5 - 1.4) * radial, rtol=1e-13)
    with pytest.raises(ValueError, match=r"accion.project\(system, q0, v0, t=t0\)"):
        ac.simulate(growing, ac.Midpoint(), q0=[1.0, 0.0], v0=[0.5, 0.0], t0=3.0, h=0.1, steps=1)
    for arguments, words in (
        (([1.0], [0.0, 0.0]), r"q must have shape \(2,\)"),
        (([1.0, 0.0], [0.0]), r"v must have shape \(2,\)"),
        (([1.0, 0.0], [0.0, 0.0], "now"), "t must be a finite number"),
    ):
        with pytest.raises(ValueError, match=words):
            ac.project(growing, *arguments)
    never = ac.mechanical(1.0, None, 2, holonomic=lambda t, q, p: q @ q + jnp.ones(1))
    with pytest.raises(ValueError, match="no data near"):
        ac.project(never, [1.0, 0.0], [0.0, 0.0])


SKATE = np.asarray(skate.Q0)


@pytest.mark.parametrize(
    ("system", "start", "words"),
    [
        (
            PENDULUM,
            {"q0": [1.0, 0.0], "q1": [1.1, 0.0]},
            r"q1 is off the constraint of pendulum on a string \(by 0\.105 .*"
            r"q1, _ = accion\.project",
        ),
        (
            PENDULUM,
            {"q0": [1.1, 0.0], "q1": [1.0, 0.0]},
            r"q0 is off the constraint of pendulum on a string \(by 0\.105",
        ),
        (
            PENDULUM,
            {"q0": [1.0, 0.0], "q1": [1 + 1e-9, 0.0]},
            r"q1 is off the constraint of pendulum on a string \(by 1e-09",
        ),
        (
            PENDULUM,
            {"q0": [1.0, 0.0], "p0": [0.5, 1.0]},
            r"p0 is off the constraint of pendulum on a string: \[0\.5 1",
        ),
        (
            skate.system,
            {"q0": SKATE, "q1": SKATE + 0.1},
            "step from q0 to q1 breaks the nonholonomic constraint of skate.*q1 is 0.0947 from",
        ),
        (
            skate.system,
            {"q0": SKATE, "v0": [0.1, 0.2, 1.0]},
            r"v0 breaks the nonholonomic.*equations are \[-0\.2\], not 0.*accion\.project",
        ),
        (
            skate.system,
            {"q0": SKATE, "p0": [0.0, 0.2, 0.0]},
            r"p0 breaks the nonholonomic constraint of skate on an incline: \[0\. +0\.2",
        ),
        (
            skate.vakonomic,
            {"q0": SKATE, "v0": [0.1, 0.2, 1.0], "lam0": [0.0]},
            "v0 breaks the vakonomic constraint of",
        ),
    ],
)
def test_what_is_off_the_constraint_is_called_by_its_name(system, start, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(system, ac.Midpoint(), **start, h=0.1, steps=1)


def test_the_second_configuration_of_a_run_is_the_one_that_was_given():
    """Where it is accepted: on the rod, and for the skate by the second configuration of another
    run.
    """
    q1 = np.array([np.cos(0.1), -np.sin(0.1)])
    run = ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0, 0.0], q1=q1, h=0.1, steps=1)
    np.testing.assert_allclose(run.q[1], q1, rtol=0, atol=1e-15)
    before = ac.simulate(skate.system, ac.Midpoint(), q0=SKATE, v0=[0.5, 0.0, 1.0], h=0.1, steps=1)
    run = ac.simulate(skate.system, ac.Midpoint(), q0=SKATE, q1=before.q[1], h=0.1, steps=1)
    np.testing.assert_allclose(run.q[1], before.q[1], rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="member 1: q1 is off the constraint"):
        ac.ensemble(PENDULUM, ac.Midpoint(), q0=[1.0, 0.0], q1=[q1, [1.1, 0.0]], h=0.1, steps=1)
    # A constraint that moves is looked at where the step ends.
    lift = ac.System(free, ac.Euclidean(2), holonomic=lambda t, q, p: q[1:] - t)
    run = ac.simulate(lift, ac.Midpoint(), q0=[0.0, 0.0], q1=[0.3, 0.1], h=0.1, steps=1)
    np.testing.assert_allclose(run.q[1], [0.3, 0.1], rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="q1 is off the constraint"):
        ac.simulate(lift, ac.Midpoint(), q0=[0.0, 0.0], q1=[0.3, 0.0], h=0.1, steps=1)


ROW = jnp.array([1.0, 1.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ac.System(free, ac.Euclidean(2), holonomic=lambda t, q, p: jnp.zeros(3)),
            "more constraints than coordinates: 3 and 2",
        ),
        (
            lambda: ac.System(
                free, ac.Euclidean(2), holonomic=lambda t, q, p: jnp.stack([q @ ROW, 2 * q @ ROW])
            ),
            "equations 0, 1",
        ),
        (lambda: ac.System(free, ac.Euclidean(2), nonholonomic=lambda t, q, v, p: v[0]), "shape"),
        (
            lambda: ac.System(
                free, ac.Euclidean(2), holonomic=string, vakonomic=lambda t, q, v, p: v[:1]
            ),
            "cannot be combined",
        ),
        (
            lambda: ac.System(free, ac.Euclidean(2), variational=lambda t, q, p: jnp.eye(2)),
            "goes with `nonholonomic`",
        ),
        (
            lambda: ac.System(
                free,
                ac.Euclidean(2),
                nonholonomic=lambda t, q, v, p: v[:1],
                variational=lambda t, q, p: jnp.eye(2),
            ),
            r"shape \(1, 2\)",
        ),
        (lambda: ac.System(free, ac.Euclidean(2), holonomic=3), "holonomic must be a function"),
    ],
)
def test_bad_constraints_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(make(), ac.Midpoint(), q0=[0.0, 0.0], v0=[0.0, 0.0], h=0.1, steps=1)


@pytest.mark.parametrize(
    ("system", "start", "words"),
    [
        (skate.vakonomic, {"v0": skate.V0}, "needs lam0"),
        (
            skate.vakonomic,
            {"v0": skate.V0, "lam0": [0.0, 1.0]},
            r"lam0 must have shape \(1,\), one number for each multiplier",
        ),
        (skate.vakonomic, {"q1": [0.0, 0.0, 0.1]}, "do not determine"),
        (skate.system, {"v0": skate.V0, "lam0": [0.0]}, "lam0 belongs to vakonomic"),
    ],
)
def test_bad_multipliers_are_named(system, start, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(system, ac.Midpoint(), q0=skate.Q0, **start, h=0.1, steps=1)


def test_two_ends_that_cannot_be():
    with pytest.raises(ValueError, match="connect does not support nonholonomic systems"):
        ac.connect(
            skate.system, ac.Midpoint(), qa=skate.Q0, qb=[1.0, 0.0, 0.0], duration=1.0, steps=10
        )
    with pytest.raises(ValueError, match="qb is off the constraint"):
        ac.connect(PENDULUM, ac.Midpoint(), qa=[1.0, 0.0], qb=[1.0, 1.0], duration=1.0, steps=10)
    with pytest.raises(ValueError, match="steps"):
        ac.connect(PENDULUM, ac.Midpoint(), qa=[1.0, 0.0], qb=[0.0, 1.0], duration=1.0, steps=1)
    with pytest.raises(ValueError, match="11 times"):
        ac.connect(
            PENDULUM,
            ac.Midpoint(),
            qa=[1.0, 0.0],
            qb=[0.0, 1.0],
            duration=1.0,
            steps=10,
            guess=jnp.zeros((5, 2)),
        )
    with pytest.raises(ValueError, match="multiplier is part of the state"):
        ac.discrete(skate.vakonomic, ac.Midpoint()).flow(0.0, 0.1, jnp.zeros(3), jnp.ones(3))
