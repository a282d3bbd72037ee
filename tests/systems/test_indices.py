"""Constant indices that are out of range: an error with the user's line, in every function that a
user passes. JAX would take another entry.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.systems.indices import check_indices

PLANE = ac.Euclidean(2)
FEW = jnp.array([0, 1])


def free(t, q, v, params):
    return 0.5 * v @ v


def checked(**functions):
    """A system on the plane with some of its functions, looked at."""
    ac.System(**{"lagrangian": free, "space": PLANE, "params": jnp.ones(3)} | functions).check()


def thermal(**functions):
    given = {"lagrangian": lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S), "space": PLANE}
    ac.ThermalSystem(**given | functions).check()


def given_in_discrete_time(**functions):
    def lagrangian(t, h, q0, q1, S0, S1, p):
        return (q1 - q0) @ (q1 - q0) - h * jnp.exp(S0)

    def rho(t, h, q0, q1, S0, S1, p):
        return S1 - S0

    ac.DiscreteThermalSystem(
        **{"lagrangian": lagrangian, "kinematic": rho, "space": PLANE} | functions
    ).check()


def control(**functions):
    given = {
        "cost": lambda t, q, v, u, p: u @ u,
        "actuated": [0],
        "start": ([0, 0], [0, 0]),
        "end": ([1, 0], [0, 0]),
        "duration": 1.0,
    }
    if "actuation" in functions:
        del given["actuated"]
    ac.ControlProblem(ac.System(free, PLANE), **given | functions)


def placed(**functions):
    given = {"positions": lambda t, q, p: q[None], "masses": 1.0, "potential": None}
    ac.particles(**given | functions, n=2).check()


# Each function of a user, with an index that is out of range on the line that makes it.
FUNCTIONS = {
    "lagrangian": lambda: checked(lagrangian=lambda t, q, v, p: 0.5 * v @ v - q[2]),
    "its params": lambda: checked(lagrangian=lambda t, q, v, p: 0.5 * v @ v - p[3] * q[0]),
    "force": lambda: checked(force=lambda t, q, v, p: -v[2] * v),
    "holonomic": lambda: checked(holonomic=lambda t, q, p: jnp.stack([q[0] ** 2 + q[2] ** 2 - 1])),
    "nonholonomic": lambda: checked(nonholonomic=lambda t, q, v, p: jnp.stack([v[2]])),
    "variational": lambda: checked(
        nonholonomic=lambda t, q, v, p: v[:1],
        variational=lambda t, q, p: jnp.stack([jnp.stack([q[2], 1.0])]),
    ),
    "vakonomic": lambda: checked(vakonomic=lambda t, q, v, p: jnp.stack([v[2]])),
    "rayleigh": lambda: checked(force=ac.rayleigh(lambda t, q, v, p: 0.5 * v[2] ** 2)),
    "mass": lambda: ac.mechanical(lambda p: p[1], None, 1, params=jnp.ones(1)).check(),
    "potential": lambda: ac.mechanical(1.0, lambda t, q, p: q[2], 2).check(),
    "weight": lambda: ac.mechanical(
        1.0, None, 2, params=jnp.ones(1), weight=lambda t, p: jnp.exp(-p[1] * t)
    ).check(),
    "magnetic": lambda: ac.mechanical(
        1.0, None, 2, magnetic=lambda q, p: jnp.stack([q[2], 0.0])
    ).check(),
    "positions": lambda: placed(positions=lambda t, q, p: jnp.stack([jnp.stack([q[0], q[2]])])),
    "forces": lambda: placed(forces=lambda t, r, u, p: -u[1:2]),
    "forces by row": lambda: placed(forces=lambda t, r, u, p: -u[1][None]),
    "masses": lambda: placed(masses=lambda p: p[1], params=jnp.ones(1)),
    "pose": lambda: placed(
        bodies=[ac.rigid_body(1.0, 1.0, lambda t, q, p: jnp.stack([q[0], q[1], q[2]]))]
    ),
    "friction": lambda: thermal(friction=lambda t, q, v, S, p: -v[2] * v),
    "external": lambda: thermal(external=lambda t, q, v, S, p: -q[2] * v),
    "heat": lambda: thermal(heat=lambda t, q, v, S, p: q[2]),
    "discrete lagrangian": lambda: given_in_discrete_time(
        lagrangian=lambda t, h, q0, q1, S0, S1, p: (q1[2] - q0[2]) ** 2
    ),
    "kinematic": lambda: given_in_discrete_time(
        kinematic=lambda t, h, q0, q1, S0, S1, p: S1 - S0 - q0[2]
    ),
    "second order": lambda: ac.HigherOrderSystem(lambda t, q, v, a, p: a @ a + q[2], PLANE).check(),
    "its constraint": lambda: ac.HigherOrderSystem(
        lambda t, q, v, a, p: a @ a, PLANE, vakonomic=lambda t, q, v, a, p: a[2:3] + a[2]
    ).check(),
    "cost": lambda: control(cost=lambda t, q, v, u, p: u @ u + q[2]),
    "its control": lambda: control(cost=lambda t, q, v, u, p: u[1] ** 2),
    "terminal": lambda: control(terminal=lambda t, q, v, p: q[2]),
    "path": lambda: control(path={"wall": lambda t, q, v, u, p: q[2]}),
    "actuation": lambda: control(actuation=lambda t, q, p: jnp.stack([jnp.stack([q[2], 1.0])]).T),
    "psi": lambda: ac.discrete(
        ac.System(free, PLANE),
        ac.FiniteDifference(lambda h, a, b: [(1.0, 0.0, a + 0 * a[2], (b - a) / h)]),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_index_out_of_range_is_refused_in_every_function(name):
    # a slice ends where the array does, as in NumPy: what is refused is its shape
    if name == "forces":
        with pytest.raises(ValueError, match="one force for each particle"):
            FUNCTIONS[name]()
        return
    with pytest.raises(
        ValueError,
        match=(
            r"has the index \d, out of range on an axis of length \d: line \d+ of"
            r" .*test_indices.py, in .*lambda"
        ),
    ):
        FUNCTIONS[name]()


# How an index may be written: what JAX makes of it differs.
WRONG = {
    "beyond": lambda q: q[2],
    "before": lambda q: q[-3],
    "an array": lambda q: q[jnp.array([0, 2])],
    "a list for NumPy": lambda q: q[np.array([0, -3])],
    "a row": lambda q: jnp.outer(q, q)[2],
    "a column": lambda q: jnp.outer(q, q)[:, 2],
    "two arrays": lambda q: jnp.outer(q, q)[np.array([0, 2]), np.array([0, 1])],
    "set": lambda q: q.at[2].set(1.0),
    "set before": lambda q: q.at[-3].add(1.0),
    "set a column": lambda q: jnp.zeros((2, 3)).at[:, 3].set(q),
    "take": lambda q: jnp.take(q, 2),
    "vmap": lambda q: jax.vmap(lambda row: row[2])(jnp.outer(q, q)),
    "vmap over indices": lambda q: jax.vmap(lambda i: q[i])(jnp.arange(3)),
    "grad": lambda q: jax.grad(lambda q: q[2] ** 2)(q),
    "jit": lambda q: jax.jit(lambda q: q[2])(q),
    "cond": lambda q: jax.lax.cond(q[0] > 0, lambda q: q[2], lambda q: q[0], q),
    "loop": lambda q: jax.lax.fori_loop(0, 3, lambda i, s: s + q[2], 0.0),
    "while": lambda q: jax.lax.while_loop(lambda s: s < 3, lambda s: s + 1 + q[2], 0.0),
    "custom": lambda q: jax.nn.relu(q[2]),
}
RIGHT = {
    "last": lambda q: q[1] + q[-1] + q[-2],
    "a slice ends with the array": lambda q: q[1:5],
    "computed": lambda q: q[jnp.argmax(q)],
    "in a loop": lambda q: jax.lax.fori_loop(0, 2, lambda i, s: s + q[i], 0.0),
    "an array": lambda q: q[FEW] + q[np.array([-1, -2])],
    "clip": lambda q: jnp.take(q, 2, mode="clip") + q.at[2].get(mode="clip"),
    "clip an array": lambda q: q.at[jnp.array([0, 2])].get(mode="clip"),
    "fill": lambda q: (
        q.at[2].get(mode="fill", fill_value=0.0) + jnp.take(q, 2, mode="fill", fill_value=0.0)
    ),
    "fill with NaN": lambda q: jnp.take(q, jnp.array([0, 2]), mode="fill"),
    "drop": lambda q: q.at[np.array([0, 2])].add(
        1.0,
        mode="drop",
    ),
    "parts": lambda q: (
        jnp.zeros(5).at[1:3].set(q)[2]
        + jnp.zeros((3, 2)).at[2].set(q)[2, 1]
        + jnp.zeros((2, 3)).at[:, 2].set(q)[1, 2]
    ),
    "pairs": lambda q: jnp.outer(q, q)[np.tril_indices(2)],
    "diagonal": lambda q: (
        jnp.trace(jnp.diag(q))
        + jnp.linalg.det(jnp.outer(q, q))
        + jnp.interp(q[0], jnp.arange(3.0), jnp.arange(3.0))
    ),
    "a random number": lambda q: q[0] * jax.random.normal(jax.random.key(0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_way_to_write_it_is_seen(name):
    with pytest.raises(
        ValueError,
        match=(
            r"f has the index -?[23], out of range on an axis of length [23]: line"
            r" .*test_indices.py"
        ),
    ):
        check_indices("f", jax.make_jaxpr(WRONG[name])(jnp.zeros(2)))


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_in_range_or_asked_for_is_not_refused(name):
    check_indices("f", jax.make_jaxpr(RIGHT[name])(jnp.zeros(2)))


def test_the_line_is_shown_where_a_system_is_built():
    with pytest.raises(
        ValueError,
        match=(
            r"lagrangian has the index 2, out of range on an axis of length 2: line .*"
            r"ac.System\(lambda"
        ),
    ):
        ac.System(lambda t, q, v, p: 0.5 * v @ v - 0.5 * q[0] ** 2 - 0.5 * q[2] ** 2, PLANE)
