"""The time loop: starts, memory, derivatives, failures, bad input."""

from contextlib import nullcontext

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import double_pendulum
from accion.stepping.watch import is_kept
from tests.conftest import leaves_close

SYSTEM = double_pendulum.system
FORCED = ac.System(
    SYSTEM.lagrangian,
    SYSTEM.space,
    SYSTEM.params,
    force=lambda t, q, v, params: -0.1 * v + jnp.sin(3 * t),
)
Q0, V0 = jnp.array([1.0, 1.5]), jnp.array([0.2, -0.1])
RUN = {"q0": Q0, "v0": V0, "h": 0.01, "steps": 60}


def test_three_starts_are_one():
    """v0, the momentum that belongs to it, and the first step it leads to."""
    a = ac.simulate(SYSTEM, ac.Midpoint(), **RUN)
    b = ac.simulate(SYSTEM, ac.Midpoint(), q0=Q0, p0=a.p[0], h=0.01, steps=60)
    c = ac.simulate(SYSTEM, ac.Midpoint(), q0=Q0, q1=a.q[1], h=0.01, steps=60)
    np.testing.assert_allclose(a.p[0], SYSTEM.legendre(0.0, Q0, V0), atol=1e-15)
    for other in (b, c):
        np.testing.assert_allclose(other.q, a.q, atol=2e-13)
        np.testing.assert_allclose(other.p, a.p, atol=2e-12)
    np.testing.assert_allclose(a.v[0], V0, atol=1e-14)


def test_the_printed_start_loses_an_order():
    """q1 = q0 + h v0 makes a second-order method first order; matched momentum keeps it second
    order.
    """
    data = {
        "q0": [1.0, 1.5],
        "v0": [1.0, -2.0],
        "duration": 1.0,
        "h": [1 / 100, 1 / 200, 1 / 400, 1 / 800],
    }
    matched = ac.analysis.order(SYSTEM, ac.Trapezoid(), **data)
    printed = ac.analysis.order(
        SYSTEM,
        ac.Trapezoid(),
        **data,
        q1=lambda h: jnp.array([1.0, 1.5]) + h * jnp.array([1.0, -2.0]),
    )
    assert abs(matched.slope - 2) < 0.05
    assert abs(printed.slope - 1) < 0.1


def test_discrete_equations_hold_along_a_trajectory():
    traj = ac.simulate(FORCED, ac.Midpoint(), **RUN, t0=0.4)
    d = ac.discrete(FORCED, ac.Midpoint())
    residual = jax.vmap(lambda t, a, b, c: d.euler_lagrange(t, 0.01, a, b, c))(
        traj.t[:-2], traj.q[:-2], traj.q[1:-1], traj.q[2:]
    )
    assert np.max(np.abs(residual)) < 1e-12
    np.testing.assert_allclose(
        jax.vmap(SYSTEM.legendre)(traj.t, traj.q, traj.v), traj.p, atol=1e-13
    )


def test_save_every_keeps_the_same_states():
    every = ac.simulate(FORCED, ac.Midpoint(), **RUN)
    some = ac.simulate(FORCED, ac.Midpoint(), **RUN, save_every=12)
    np.testing.assert_allclose(some.q, every.q[::12], atol=1e-15)
    np.testing.assert_allclose(some.t, every.t[::12])
    assert len(some) == 6
    assert int(some.steps_completed) == 60
    assert int(jnp.max(some.iterations)) == int(jnp.max(every.iterations))


def test_progress_changes_nothing(capsys):
    a = ac.simulate(SYSTEM, ac.Midpoint(), **(RUN | {"steps": 250}))
    b = ac.simulate(SYSTEM, ac.Midpoint(), **(RUN | {"steps": 250}), progress=True)
    np.testing.assert_array_equal(a.q, b.q)
    assert "250/250" in capsys.readouterr().out


@pytest.mark.slow
def test_long_runs_stay_small_and_accurate():
    """Ten million explicit steps of an oscillator: the phase error is that of the method, no
    rounding on top of it.
    """
    system = ac.mechanical(1.0, lambda t, q, params: 0.5 * q[0] ** 2, 1)
    h, steps = 0.01, 10_000_000
    traj = ac.simulate(
        system, ac.Trapezoid(), q0=[1.0], v0=[0.0], h=h, steps=steps, save_every=steps
    )
    # Stoermer-Verlet on the oscillator is q_k = cos(k arccos(1 - h^2/2)) exactly.
    angle = steps * np.arccos(np.longdouble(1) - np.longdouble(h) ** 2 / 2)
    assert abs(float(traj.q[-1, 0]) - float(np.cos(angle))) < 2e-10
    assert traj.q.shape == (2, 1)


# ---------------------------------------------------------------- derivatives


def final(q0, v0, params, h=0.01, method=ac.Midpoint(), system=FORCED, save_every=1):  # noqa: B008
    traj = ac.simulate(
        system, method, q0=q0, v0=v0, h=h, steps=60, params=params, save_every=save_every
    )
    return (
        traj.q[-1] @ jnp.array([1.0, 2.0])
        + traj.p[-1, 0]
        + traj.energy()[-1]
        + jnp.sum(traj.v[-1] ** 2)
    )


@pytest.mark.parametrize(
    ("method", "save_every"), [(ac.Midpoint(), 1), (ac.Trapezoid(), 20)], ids=str
)
def test_gradients_against_central_differences(method, save_every):
    f = jax.jit(lambda q0, v0, params, h: final(q0, v0, params, h, method, save_every=save_every))
    args = (Q0, V0, SYSTEM.params, 0.01)
    gradient = jax.jit(jax.grad(f, (0, 1, 2, 3)))(*args)
    flat, unravel = jax.flatten_util.ravel_pytree(args)
    differences = []
    for i in range(len(flat)):
        e = 1e-6 if i < len(flat) - 1 else 1e-8
        d = jnp.zeros_like(flat).at[i].set(e)
        differences.append((f(*unravel(flat + d)) - f(*unravel(flat - d))) / (2 * e))
    ours = np.asarray(jax.flatten_util.ravel_pytree(gradient)[0])
    np.testing.assert_allclose(ours, np.array(differences), rtol=1e-6, atol=1e-6)


def test_forward_reverse_and_second_derivatives_agree():
    args = (Q0, V0, SYSTEM.params)
    _, tangent = jax.jit(lambda q0, dq: jax.jvp(lambda q0: final(q0, *args[1:]), (q0,), (dq,)))(
        Q0, jnp.array([0.3, -0.7])
    )
    gradient = jax.jit(jax.grad(lambda q0: final(q0, *args[1:])))
    np.testing.assert_allclose(tangent, gradient(Q0) @ jnp.array([0.3, -0.7]), rtol=1e-11)
    hessian = np.asarray(jax.jit(jax.jacfwd(gradient))(Q0))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9)
    e = 1e-5
    column = (gradient(Q0 + jnp.array([e, 0.0])) - gradient(Q0 - jnp.array([e, 0.0]))) / (2 * e)
    np.testing.assert_allclose(hessian[:, 0], column, rtol=1e-5)


def test_gradient_of_an_explicit_run():
    system = ac.mechanical(
        lambda params: params["m"],
        lambda t, q, params: params["k"] * jnp.sum(q**4),
        2,
        params={"m": 1.5, "k": 0.3},
    )

    def f(params):
        return jnp.sum(
            ac.simulate(
                system,
                ac.Trapezoid(),
                q0=[1.0, 0.5],
                v0=[0.0, 0.3],
                h=0.02,
                steps=80,
                params=params,
            ).q[-1]
            ** 2
        )

    gradient = jax.grad(f)(system.params)
    for key in ("m", "k"):
        up, down = (
            system.params | {key: system.params[key] + 1e-6},
            system.params | {key: system.params[key] - 1e-6},
        )
        np.testing.assert_allclose(gradient[key], (f(up) - f(down)) / 2e-6, rtol=1e-6)


def test_vmap_and_jit_through_simulate():
    starts = Q0 + 0.1 * jnp.arange(3)[:, None]
    mapped = jax.jit(
        jax.vmap(lambda q0: ac.simulate(SYSTEM, ac.Midpoint(), q0=q0, v0=V0, h=0.01, steps=20).q)
    )(starts)
    for row, q0 in zip(mapped, starts, strict=True):
        np.testing.assert_allclose(
            row, ac.simulate(SYSTEM, ac.Midpoint(), q0=q0, v0=V0, h=0.01, steps=20).q, atol=1e-14
        )


def test_a_system_goes_through_jax_transformations():
    gradient = jax.grad(lambda system: jnp.sum(ac.simulate(system, ac.Midpoint(), **RUN).q[-1]))(
        SYSTEM
    )
    by_params = jax.grad(
        lambda params: jnp.sum(ac.simulate(SYSTEM, ac.Midpoint(), **RUN, params=params).q[-1])
    )(SYSTEM.params)
    assert leaves_close(gradient.params, by_params, 1e-13)


# ---------------------------------------------------------------- compilation


def test_nothing_is_compiled_when_only_numbers_change():
    traced = []

    def lagrangian(t, q, v, params):
        traced.append(1)
        return 0.5 * params["m"] * v[0] ** 2 - params["k"] * jnp.cosh(q[0])

    system = ac.System(lagrangian, ac.Euclidean(1), {"m": 1.0, "k": 2.0})
    ac.simulate(system, ac.Midpoint(), q0=[0.1], v0=[0.0], h=0.01, steps=10)
    compilations = []

    def listen(event, duration_secs, **_):
        if "backend_compile" in event:
            compilations.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    other = ac.System(lagrangian, ac.Euclidean(1), {"m": 2.5, "k": 0.7})
    ac.simulate(other, ac.Midpoint(), q0=[0.3], v0=[0.2], h=0.02, t0=1.0, steps=10)
    ac.simulate(
        system,
        ac.Midpoint(),
        q0=[0.3],
        v0=[0.2],
        h=0.03,
        steps=10,
        params={"m": 3.0, "k": np.float64(0.1)},
    )
    assert compilations == []
    # Runs that do not save every step are another program: they carry along how smooth the steps
    # are.
    ac.simulate(system, ac.Midpoint(), q0=[0.1], v0=[0.0], h=0.01, steps=20, save_every=20)
    compilations.clear()
    ac.simulate(system, ac.Midpoint(), q0=[0.1], v0=[0.0], h=0.01, steps=50, save_every=50)
    assert compilations == []
    ac.simulate(system, ac.Trapezoid(), q0=[0.1], v0=[0.0], h=0.01, steps=10)
    assert len(traced) == 2  # once for each system


def test_params_may_hold_what_is_not_a_number():
    def lagrangian(t, q, v, params):
        kind = {"soft": 1.0, "hard": 10.0}[params["kind"]]
        return (
            0.5 * v[0] ** 2
            - kind * (params["law"](q[0]) if params["on"] else 0.0)
            + params["table"][1] * q[0]
        )

    params = {"kind": "soft", "law": jnp.cosh, "on": True, "table": np.array([1.0, 2.0])}
    a = ac.simulate(
        ac.System(lagrangian, ac.Euclidean(1), params),
        ac.Midpoint(),
        q0=[0.1],
        v0=[0.0],
        h=0.1,
        steps=10,
    )
    b = ac.simulate(
        ac.System(lagrangian, ac.Euclidean(1), params | {"kind": "hard"}),
        ac.Midpoint(),
        q0=[0.1],
        v0=[0.0],
        h=0.1,
        steps=10,
    )
    assert abs(float(a.q[-1, 0] - b.q[-1, 0])) > 0.1


# ---------------------------------------------------------------- failure


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


# ---------------------------------------------------------------- bad input

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


# ---------------------------------------------------------------- steps that are too large

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
