"""Rows side by side in one function of vectors, against jax.vmap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from accion.engines import native
from accion.engines.abreast import abreast
from accion.engines.rarely import rarely
from accion.numerics import newton

RNG = np.random.default_rng(0)


def with_solver(shared, row):
    """Products with all rows, a solver, functions, a truth value, a loop."""
    a, b = shared
    c, flag, own = row
    M = jnp.eye(5) * 3 + jnp.outer(jnp.tanh(a), jnp.tanh(own)) / 4  # far from singular
    x = newton.solve(M, own + c * b)
    y = jax.lax.while_loop(
        lambda y: y < 10 * c, lambda y: 2 * y + jnp.sin(x[0]) ** 2, 0.1 * c + 0.1
    )
    return {"x": jnp.where(flag, x, -x), "y": y, "large": y > 3.0}


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("lanes", [1, 4])
def test_rows_are_those_of_vmap(rows, lanes):
    table = np.linspace(0.5, 2.0, rows)  # numbers that are known
    random = np.random.default_rng(rows)

    def f(a, b, own):
        flags = jnp.arange(rows) % 2 == 0
        return abreast(with_solver, (a, b), (table, flags, own * jnp.sum(a)))

    members = [
        (random.normal(size=5), random.normal(size=5), random.normal(size=(rows, 5)))
        for _ in range(lanes)
    ]
    expected = [
        jax.vmap(with_solver, (None, 0))(
            (a, b), (table, np.arange(rows) % 2 == 0, own * jnp.sum(a))
        )
        for a, b, own in members
    ]
    program = native.compile(f, *members[0])
    for member, wanted in zip(members, expected, strict=True):
        found = program(*member)
        np.testing.assert_allclose(found["x"], wanted["x"], rtol=1e-12)
        np.testing.assert_allclose(found["y"], wanted["y"], rtol=1e-12)
        np.testing.assert_array_equal(found["large"], wanted["large"])


def test_what_is_not_needed_is_not_computed():
    """Of arguments that no row looks at nothing is kept; nor of rows that nobody looks at."""

    def f(a, rows):
        return jnp.sum(abreast(lambda a, row: a[0] * row[0], a, rows))

    program = native.compile(f, np.arange(100.0) + 1, RNG.normal(size=(6, 50)))
    rows = RNG.normal(size=(6, 50))
    np.testing.assert_allclose(program(np.arange(100.0) + 2, rows), 2 * np.sum(rows[:, 0]))


def test_rows_that_call_what_is_seldom_needed():
    """A function of vectors has no such calls: its rows are written out."""

    def often(x):
        return jax.lax.cond(x > 2.0, lambda: rarely(lambda x: 10 * x, x, x), lambda: x)

    def f(rows):
        return abreast(lambda k, row: often(k * row[0]), jnp.array(2.0), rows)

    rows = jnp.array([[0.5], [1.5], [0.25], [3.0]])
    np.testing.assert_array_equal(native.compile(f, rows)(rows), [1.0, 30.0, 0.5, 60.0])
