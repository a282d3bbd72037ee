"""The time loop: starts, memory, derivatives, failures, bad input."""

from contextlib import nullcontext

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.stepping import watch
from accion.stepping.watch import is_kept


def well(t, q, v, params):
    """A well with a wall: no motion beyond q = 1."""
    return 0.5 * v[0] ** 2 + jnp.log(1 - q[0])


def test_a_step_that_fails_is_named_and_loses_nothing():
    system = ac.System(well, ac.Euclidean(1))
    run = {"q0": [0.0], "v0": [3.0], "h": 0.4, "steps": 100}
    with pytest.raises(
        ac.StepFailed,
        match=r"step \d+ of 100 \(t = .*h = 0.4\) was not solved.*smaller h \(such as 0.1\)",
    ) as caught:
        ac.simulate(system, ac.Midpoint(), **run)
    error = caught.value
    traj = ac.simulate(system, ac.Midpoint(), **run, throw=False)
    k = int(traj.steps_completed)
    assert error.step == k
    assert error.t == pytest.approx(0.4 * k)
    assert not bool(traj.success)
    assert np.all(np.isfinite(traj.q[: k + 1]))
    for array in (traj.q, traj.p, traj.v, traj.energy()):
        assert np.all(np.isnan(array[k + 1 :]))
    np.testing.assert_array_equal(error.trajectory.q, traj.q)


def test_failure_of_an_explicit_run():
    system = ac.mechanical(1.0, lambda t, q, params: -jnp.log(1 - q[0]), 1)
    with pytest.raises(ac.StepFailed, match="not finite"):
        ac.simulate(system, ac.Trapezoid(), q0=[0.0], v0=[3.0], h=0.4, steps=50)


def test_under_a_transformation_failure_is_nan():
    system = ac.System(well, ac.Euclidean(1))
    q = jax.jit(lambda v: ac.simulate(system, ac.Midpoint(), q0=[0.0], v0=v, h=0.4, steps=100).q)(
        jnp.array([3.0])
    )
    assert np.isnan(q[-1, 0])


free = ac.System(lambda t, q, v, params: 0.5 * jnp.sum(v**2), ac.Euclidean(2))


GOOD = {"q0": [0.0, 0.0], "v0": [1.0, 0.0], "h": 0.1, "steps": 2}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": [0.0]}, r"q0 must have shape \(2,\)"),
        ({"v0": [[1.0, 2.0]]}, r"v0 must have shape \(2,\)"),
        ({"q0": [0.0, np.nan]}, "q0 must be finite"),
        ({"v0": [np.inf, 0.0]}, "v0 must be finite"),
        ({"q0": "ab"}, "real numbers"),
        ({"h": 0.0}, "h, the step, must be positive"),
        ({"h": -0.1}, "h, the step, must be positive"),
        ({"h": np.nan}, "h must be a finite number"),
        ({"h": [0.1]}, "h must be a finite number"),
        ({"t0": np.inf}, "t0 must be a finite number"),
        ({"steps": 0}, "steps must be a whole number >= 1"),
        ({"steps": 2.5}, "steps must be a whole number >= 1"),
        ({"save_every": 3}, "multiple of save_every"),
        ({"save_every": 0}, "save_every must be a whole number"),
        ({"p0": [1.0, 0.0]}, "got v0 and p0"),
        ({"v0": None}, "got none of them"),
        ({"params": {"m": np.nan}}, "must be finite"),
    ],
)
def test_bad_data_is_named(change, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(free, ac.Midpoint(), **(GOOD | change))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ac.System(lambda t, q, v, p: v**2, ac.Euclidean(2)),
            r"must return a scalar.*shape \(2,\)",
        ),
        (lambda: ac.System(lambda t, q, v, p: (1.0, 2.0), ac.Euclidean(2)), "it returned a tuple"),
        (lambda: ac.System(lambda t, q, v, p: jnp.sum(v**2) + 1j, ac.Euclidean(2)), "real numbers"),
        (
            lambda: ac.System(free.lagrangian, ac.Euclidean(2), force=lambda t, q, v, p: v[0]),
            r"force.*shape \(2,\)",
        ),
        (lambda: ac.System(free.lagrangian, 2), "space must be a Space"),
        (lambda: ac.System("L", ac.Euclidean(2)), "lagrangian must be a function"),
        (lambda: ac.System(free.lagrangian, ac.Euclidean(2), coordinates=("x",)), "2 names"),
        (
            lambda: ac.System(
                lambda t, q, v, p: 0.5 * (v[0] - v[1]) ** 2,
                ac.Euclidean(2),
                coordinates=("x [m]", "y [m]"),
            ),
            r"singular.*dx.*dy",
        ),
        (
            lambda: ac.System(lambda t, q, v, p: jnp.sum(v**2) / q[0], ac.Euclidean(2)),
            "not finite at the initial data",
        ),
    ],
)
def test_bad_systems_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(make(), ac.Midpoint(), **GOOD)


@pytest.mark.parametrize(
    ("system", "method", "words"),
    [
        (free, ac.Midpoint, r"write Midpoint\(\)"),
        (free, "Midpoint", "must be a method"),
        (lambda t, q, v: 0, ac.Midpoint(), "must be a System"),
    ],
)
def test_bad_arguments_are_named(system, method, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(system, method, **GOOD)


SWING = ac.System(lambda t, q, v, p: 0.5 * v @ v + jnp.cos(q[0]), ac.Torus(1), name="pendulum")


VERLET = ac.mechanical(1.0, lambda t, q, p: 0.5 * p * q @ q, 1, params=1.0)


@pytest.mark.parametrize("save_every", [1, 10])
def test_a_step_far_too_large_for_a_pendulum_is_warned_of(save_every):
    """The energy changes by a hundred where the motion exchanges at most 0.46."""
    with pytest.warns(
        ac.StepTooLarge,
        match=(
            r"the step h = 50 is too large.*the energy changes by \d+.*kinetic energy is"
            r" \d+.*smaller h"
        ),
    ):
        run = ac.simulate(
            SWING, ac.Midpoint(), q0=[1.0], v0=[0.0], h=50.0, steps=200, save_every=save_every
        )
    assert np.ptp(run.energy()) > 10
    ac.simulate(SWING, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.5, steps=200, save_every=save_every)


def test_a_pendulum_that_is_driven_through_whole_turns_is_warned_of():
    """Each step of two seconds turns further by the same angle: the increments are smooth, and the
    energy grows to a hundred times what the motion has.
    """
    free = ac.System(lambda t, q, v, p: 0.5 * v @ v + 9.81 * jnp.cos(q[0]), ac.Torus(1))
    start = {"q0": [1.0], "v0": [0.0], "steps": 40}
    with pytest.warns(ac.StepTooLarge, match=r"h = 2 is too large"):
        ac.simulate(free, ac.Midpoint(), **start, h=2.0)
    rotor = ac.System(
        lambda t, q, v, p: 0.5 * v @ v, ac.Torus(1)
    )  # turns far, and keeps its energy
    ac.simulate(rotor, ac.Midpoint(), q0=[0.0], v0=[7.0], h=2.0, steps=10)


def test_a_long_run_is_looked_at_at_some_of_its_times():
    start = {"q0": [1.0], "v0": [0.0], "steps": 4000}
    with pytest.warns(ac.StepTooLarge):
        ac.simulate(VERLET, ac.Trapezoid(), **start, h=1.35, params=1.0)
    ac.simulate(VERLET, ac.Trapezoid(), **start, h=1.2, params=1.0)


@pytest.mark.parametrize("shape", [(23,), (2, 23)])
@pytest.mark.parametrize("at_once", [1, 2, 7, 30])
def test_increments_are_looked_at_in_parts_as_they_are_in_one(monkeypatch, shape, at_once):
    monkeypatch.setattr(watch, "AT_ONCE", at_once)
    x, p = np.random.default_rng(0).standard_normal((2, *shape, 3))
    change = np.diff(x, axis=-2)
    first = np.max(np.abs(np.sum(p[..., :-1, :] * change, axis=-1)), axis=-1)
    bend = np.diff(change, axis=-2)
    second = np.max(np.abs(np.sum(p[..., 1:-1, :] * bend, axis=-1)), axis=-1)
    found = watch.largest_changes(x, p[..., :-1, :])
    np.testing.assert_allclose(found, (first, second), rtol=1e-14)


@pytest.mark.parametrize("save_every", [1, 2])
def test_the_limit_is_where_it_is_said_to_be(save_every):
    """Stoermer and Verlet's rule on an oscillator, from rest: (max E - min E) / max T = s/(1 - s)
    with s = (h w/2)^2, in whatever units.
    """
    for h, k in ((1.27, 1.0), (1.35, 1.0), (1.27e-3, 1e6), (1.35e-3, 1e6)):
        limit = pytest.warns(ac.StepTooLarge) if h * np.sqrt(k) > 1.31 else nullcontext()
        with limit:
            run = ac.simulate(
                VERLET,
                ac.Trapezoid(),
                q0=[1.0],
                v0=[0.0],
                h=h,
                steps=400,
                save_every=save_every,
                params=k,
            )
        s = (h**2 * k) / 4
        T = np.max(np.asarray(run.p) ** 2) / 2
        assert np.ptp(run.energy()) / T == pytest.approx(s / (1 - s), rel=2e-2)


def test_a_constant_in_the_potential_does_not_matter_and_members_are_named():
    for constant in (0.0, 1e3):
        high = ac.mechanical(1.0, lambda t, q, p, constant=constant: constant - jnp.cos(q[0]), 1)
        with pytest.warns(
            ac.StepTooLarge, match=r"member 1 \(1 of 3\): the step h = 1 is too large"
        ):
            ac.ensemble(
                high, ac.LeftRectangle(), q0=[[0.0], [1.0], [0.0]], v0=[0.0], h=1.0, steps=50
            )


def test_what_need_not_keep_its_energy_is_not_warned_of():
    """A force, time in L or in a constraint; a linear constraint that drives; and what is at rest,
    or starts from rest.
    """
    run = {"q0": [1.0], "v0": [0.0], "h": 1.9, "steps": 50}
    ac.simulate(
        ac.mechanical(1.0, lambda t, q, p: 0.5 * q @ q, 1, force=lambda t, q, v, p: 0.0 * q),
        ac.Trapezoid(),
        **run,
    )
    ac.simulate(
        ac.mechanical(1.0, lambda t, q, p: 0.5 * (1 + 0 * t) * q @ q, 1), ac.Trapezoid(), **run
    )
    belt = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - 5 * q[0] ** 2,
        ac.Euclidean(2),
        nonholonomic=lambda t, q, v, p: v[:1] - 1 - v[1:],
    )
    assert is_kept(belt, ac.Midpoint())
    ac.simulate(belt, ac.Midpoint(), q0=[0.0, 0.0], v0=[1.0, 0.0], h=0.5, steps=40)
    for q0, steps in (([0.0], 20), ([1.0], 1), ([1.0], 2), ([1.0], 3)):
        ac.simulate(VERLET, ac.Trapezoid(), q0=q0, v0=[0.0], h=0.3, steps=steps)
