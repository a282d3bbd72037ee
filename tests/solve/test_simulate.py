"""The time loop: starts, memory, derivatives, failures, bad input."""

from functools import partial

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import double_pendulum
from tests.helpers import leaves_close

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
    f = partial(final, method=method, save_every=save_every)
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

    def twice(q0):
        gradient = jax.grad(lambda q0: final(q0, *args[1:]))(q0)
        return gradient, gradient

    second = jax.jit(jax.jacfwd(twice, has_aux=True))
    hessian, gradient = map(np.asarray, second(Q0))
    np.testing.assert_allclose(tangent, gradient @ jnp.array([0.3, -0.7]), rtol=1e-11)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9)
    e = 1e-5
    up, down = (second(Q0 + jnp.array([d, 0.0]))[1] for d in (e, -e))
    np.testing.assert_allclose(hessian[:, 0], (up - down) / (2 * e), rtol=1e-5)


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
