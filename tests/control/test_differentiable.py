"""Derivatives of optima by the params, through JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control import optimum
from tests.textbook.control import half_square

MIDPOINT = ac.Midpoint()
STEPS = 16
PARAMS = {"m": 2.0, "limit": 4.0, "wage": 1.0}
WAY, TIME = 0.7, 1.3
ENDS = {"start": ([0.0], [0.0]), "end": ([WAY], [0.0])}


def kinetic(t, q, v, p):
    return 0.5 * p["m"] * v @ v


def wage_and_fuel(t, q, v, u, p):
    return p["wage"] + 0.5 * u @ u


def too_strong(t, q, v, u, p):
    return u[0] - p["limit"]


block = ac.System(kinetic, ac.Euclidean(1), PARAMS, coordinates=("x [m]",), name="block")


def move(cost=half_square, **changes):
    """From rest to rest."""
    return ac.ControlProblem(block, cost, **{"actuated": ["x"], **ENDS, "duration": TIME} | changes)


def best(problem, p, method=MIDPOINT, **given):
    return optimum(problem, method, STEPS, params=p, **given)


def by_differences(f, p, name, d):
    """df/dp by central differences."""
    up, down = (np.asarray(f(p | {name: p[name] + s})) for s in (d, -d))
    return (up - down) / (2 * d)


def numbers(found):
    """All that an optimum has, in a row."""
    parts = [found.cost, found.t, found.t_u, found.u, found.q]
    return jnp.concatenate([jnp.ravel(a) for a in jax.tree.leaves(parts)])


# ---------------------------------------------------------------- closed forms


def test_the_cost_of_a_move_is_quadratic_in_the_mass_its_forces_linear():
    problem, c = move(), 6 * WAY**2 / TIME**3 / (1 - STEPS**-2)
    found = best(problem, PARAMS)
    assert_allclose(found.cost, c * 4.0, rtol=1e-9)

    def cost(m):
        return best(problem, PARAMS | {"m": m}).cost

    value, slope = jax.value_and_grad(cost)(2.0)
    assert_allclose([value, slope], [found.cost, 4 * c], rtol=1e-9)
    assert_allclose(jax.grad(jax.grad(cost))(2.0), 2 * c, rtol=1e-9)

    flying = move(end=([WAY], [0.4]))
    found = best(flying, PARAMS)

    def motion(m):
        s = best(flying, PARAMS | {"m": m})
        return s.u, s.trajectory.p, s.v, s.q

    u, p, v, q = jax.jacfwd(motion)(jnp.asarray(2.0))
    assert_allclose(u, found.u / 2, rtol=1e-9)
    assert_allclose(p, found.v, atol=1e-12)
    assert_allclose(found.v[[0, -1], 0], [0.0, 0.4], atol=1e-12)
    assert_allclose(np.concatenate([v, q]), 0.0, atol=1e-12)


def test_the_best_duration_is_the_root_of_a_mass():
    problem = move(wage_and_fuel, duration=(0.1, 9.0))

    def duration(p):
        return best(problem, p, tolerance=1e-11).duration

    T, slope = jax.value_and_grad(duration)(PARAMS)
    c = WAY**2 * 6 / (1 - STEPS**-2)  # T + c m^2 / T^3 is least
    assert_allclose(T, (3 * c * 4.0) ** 0.25, rtol=1e-8)
    assert_allclose([slope["m"], slope["wage"]], [T / 4, -T / 4], rtol=1e-7)
    assert slope["limit"] == 0.0


# ---------------------------------------------------------------- against differences


def test_forces_at_their_limits():
    """One of params, a path constraint, at the start; one that is a number, a bound, at the end."""
    problem = move(path={"thrust": too_strong}, control_bounds=(-4.2, None))
    find = partial(best, problem, tolerance=1e-11)
    found, u = jax.jacfwd(lambda p: (numbers(find(p)), find(p).u[:, 0]))(PARAMS)
    held = find(PARAMS).u[:, 0]
    assert np.sum(held > 3.9999) > 1
    assert np.sum(held < -4.1999) > 1
    assert_allclose(u["limit"][held > 3.9999], 1.0, atol=1e-9)
    assert_allclose(u["limit"][held < -4.1999], 0.0, atol=1e-9)
    for name in ("m", "limit"):
        by_hand = by_differences(lambda p: numbers(find(p)), PARAMS, name, 1e-4)
        assert_allclose(found[name], by_hand, atol=1e-5)
    back = jax.grad(lambda p: find(p).cost)(PARAMS)
    assert_allclose(back["limit"], found["limit"][0], rtol=1e-12)


def pendulum(t, q, v, p):
    return 0.5 * v @ v - p["g"] * (1 - q[0, 0])


@pytest.mark.slow
def test_a_pendulum_on_a_circle():
    R = np.array([[np.cos(2.5), -np.sin(2.5)], [np.sin(2.5), np.cos(2.5)]])
    problem = ac.ControlProblem(
        ac.System(pendulum, ac.SO2(), {"g": 2.0}),
        half_square,
        actuated=[0],
        start=(np.eye(2), [0.0]),
        end=(R, [0.0]),
        duration=2.0,
    )

    def shown(p):
        return numbers(best(problem, p, tolerance=1e-11))

    found = jax.jacfwd(shown)({"g": 2.0})["g"]
    assert_allclose(found, by_differences(shown, {"g": 2.0}, "g", 1e-4), atol=1e-7)


def turned(t, x, u, p):
    return jnp.stack([x[1], u[0] - p["k"] * jnp.sin(x[0])])


def test_a_dynamics_with_an_integral():
    problem = ac.ControlProblem(
        ac.Dynamics(turned, ["a", "b"], ["F"], {"k": 1.0}),
        lambda t, x, u, p: 0.5 * u @ u,
        start=[0.0, 0.0],
        end=[2.0, None],
        duration=2.0,
        terminal=lambda t, x, p: p["k"] * x[1] ** 2,
        integrals={"area": (lambda t, x, u, p: x[0], 2.2)},
    )

    def shown(p):
        return numbers(best(problem, p, tolerance=1e-11))

    found = jax.jacfwd(shown)({"k": 1.0})["k"]
    assert_allclose(found, by_differences(shown, {"k": 1.0}, "k", 1e-4), atol=1e-6)
    with pytest.raises(ValueError, match="no momenta"):
        _ = best(problem, {"k": 1.0}).v


# ---------------------------------------------------------------- where there are none


def test_a_limit_that_holds_without_a_push_is_told():
    highest = float(best(move(), PARAMS).u[0, 0])
    problem = move(control_bounds=(None, highest))
    with pytest.warns(ac.BarelyHeld, match="1 of the bounds"):
        jax.jacfwd(lambda p: best(problem, p).u)(PARAMS)


def test_a_solution_that_is_not_determined_has_no_derivatives_its_cost_has():
    problem = move(
        lambda t, q, v, u, p: 0.5 * (u[0] - u[1]) ** 2,
        actuated=None,
        control_force=lambda t, q, v, u, p: (u[0] - u[1])[None],
        controls=["fore", "aft"],
        control_bounds=(0.0, 20.0),
    )
    find = partial(best, problem)
    slope = jax.grad(lambda p: find(p).cost)(PARAMS)["m"]
    assert_allclose(slope, 24 * WAY**2 / TIME**3 / (1 - STEPS**-2), rtol=1e-7)
    with pytest.raises(ValueError, match="has no derivatives: what it has to satisfy"):
        jax.jacfwd(lambda p: find(p).u)(PARAMS)


def test_ends_that_would_have_to_move_are_refused():
    rod = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - p["g"] * q[1],
        ac.Euclidean(2),
        {"length": 1.0, "g": 1.0},
        holonomic=lambda t, q, p: jnp.array([q @ q - p["length"] ** 2]),
    )
    problem = ac.ControlProblem(
        rod,
        half_square,
        actuated=[0, 1],
        start=([0.0, -1.0], [0.0, 0.0]),
        end=([1.0, 0.0], [0.0, 0.0]),
        duration=2.0,
    )
    with pytest.raises(ValueError, match=r"the ends are numbers.*off the constraint"):
        jax.grad(lambda p: best(problem, p).cost)(rod.params)


def test_jit_and_vmap_are_refused_and_bad_params():
    problem = move()

    def cost(m):
        return best(problem, PARAMS | {"m": m}).cost

    for call in (lambda: jax.jit(cost)(2.0), lambda: jax.vmap(cost)(jnp.array([1.0, 2.0]))):
        with pytest.raises(TypeError, match="outside of them, in a loop"):
            call()
    with pytest.raises(ValueError, match="must be finite"):
        cost(np.nan)
    with pytest.raises(ValueError, match="the same keys and"):
        best(problem, PARAMS | {"more": 1.0})
    with pytest.raises(ValueError, match=r"params=system\.params"):
        best(problem, None)
    with pytest.raises(ValueError, match="needs a ControlProblem"):
        best(block, PARAMS)
