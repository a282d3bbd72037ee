"""Derivatives of optima by the params, through JAX."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.control import optimum
from accion.errors import BarelyHeld
from tests.textbook.control import half_square

MIDPOINT = ac.Midpoint()
STEPS = 16
PARAMS = {"m": 2.0, "limit": 3.0}
WAY, TIME = 0.7, 1.3


def kinetic(t, q, v, p):
    return 0.5 * p["m"] * v @ v


def fuel(t, q, v, u, p):
    return 1.0 + 0.5 * u @ u


def too_strong(t, q, v, u, p):
    return u[0] - p["limit"]


block = ac.System(kinetic, ac.Euclidean(1), PARAMS, coordinates=("x [m]",), name="block")


def move(cost=half_square, **changes):
    """From rest to rest."""
    given = {"actuated": ["x"], "start": ([0.0], [0.0]), "end": ([WAY], [0.0]), "duration": TIME}
    return ac.ControlProblem(block, cost, **(given | changes))


def best(problem, steps=STEPS):
    """The function of the params that finds the optimum."""
    return lambda p: optimum(problem, MIDPOINT, steps, params=p, tolerance=1e-11)


def by_differences(f, p, name, d):
    """df/dp by central differences."""
    up, down = (np.asarray(f(p | {name: p[name] + s})) for s in (d, -d))
    return (up - down) / (2 * d)


def test_the_cost_of_a_move_grows_as_the_square_of_the_mass():
    f = best(move())
    c = 6 * WAY**2 / TIME**3 / (1 - STEPS**-2)  # the cost is c m^2
    found = f(PARAMS)
    assert_allclose(found.cost, c * 4.0, rtol=1e-9)
    slope = jax.grad(lambda p: f(p).cost)(PARAMS)
    assert_allclose(slope["m"], 2 * c * 2.0, rtol=1e-9)
    assert slope["limit"] == 0.0
    bend = jax.grad(jax.grad(lambda m: f(PARAMS | {"m": m}).cost))(2.0)
    assert_allclose(bend, 2 * c, rtol=1e-9)


def test_its_forces_grow_as_the_mass_and_its_velocities_do_not():
    f = best(move())
    m, found = jnp.asarray(2.0), f(PARAMS)

    def shown(m):
        s = f(PARAMS | {"m": m})
        return s.u, s.v, s.trajectory.p, s.q

    u, v, p, q = jax.jacfwd(shown)(m)
    assert_allclose(u, found.u / 2, rtol=1e-9)
    assert_allclose(p, found.v, atol=1e-12)
    assert_allclose(v, 0.0, atol=1e-12)
    assert_allclose(q, 0.0, atol=1e-12)
    assert_allclose(found.u, found.solution.u)
    back = jax.jacrev(lambda m: f(PARAMS | {"m": m}).u)(m)
    assert_allclose(back, u, rtol=1e-12)


@pytest.mark.parametrize("name", ["m", "limit"])
def test_where_forces_are_at_their_limit(name):
    """u = limit at the start, as a path constraint and -limit as a bound at the end."""
    f = best(move(path={"thrust": too_strong}, control_bounds=(-3.2, None)))
    held = f(PARAMS)
    at = held.search.active
    assert np.count_nonzero(at.rows & (held.search.program.row_lower < 0)) > 1
    assert np.count_nonzero(at.unknowns) > 1

    def shown(p):
        s = f(p)
        return jnp.concatenate([s.cost[None], s.u[:, 0], s.q[:, 0]])

    found = jax.jacfwd(shown)(PARAMS)[name]
    assert_allclose(found, by_differences(shown, PARAMS, name, 1e-3), atol=1e-4)
    by_envelope = jax.grad(lambda p: f(p).cost)(PARAMS)[name]
    assert_allclose(by_envelope, found[0], rtol=1e-12)
    assert_allclose(by_envelope, held.solution.cost_gradient()[name], rtol=1e-12)
