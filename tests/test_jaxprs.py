"""Traced functions are read alike, whichever form JAX gives them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import eval_jaxpr

from accion.jaxprs import is_jaxpr, parameters, parts, with_constants, without_constants
from accion.systems.content import content_of
from accion.systems.owned import owned

TABLE = np.array([2.0, 3.0, 5.0])


def looped(k, start, rows):
    """A loop with a constant, two carried numbers and one array of rows."""

    def turn(carry, row):
        a, b = carry
        return (a + k * row, b * a), (a, row * b)

    return jax.lax.scan(turn, start, rows)


def scan_in(f, *arguments):
    jaxpr, _ = parts(jax.make_jaxpr(f)(*arguments))
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    return eqn


def derivative(k, start, rows):
    return jax.jvp(looped, (k, start, rows), (k, start, rows))


@pytest.mark.parametrize(("f", "count"), [(looped, 1), (derivative, 2)])
def test_a_loop_says_what_stays_and_what_is_carried(f, count):
    eqn = scan_in(f, 2.0, (1.0, 3.0), jnp.arange(4.0))
    params = parameters(eqn)
    assert (params["num_consts"], params["num_carry"]) == (count, 2 * count)
    rows = eqn.invars[3 * count :]
    assert [v.aval.shape for v in rows] == [(4,)] * count
    results = [v.aval.shape for v in eqn.outvars]
    assert results == [()] * (2 * count) + [(4,)] * (2 * count)


def test_loops_of_different_numbers_have_different_contents():
    def swapped(k, start, rows):
        # The same operations, with one carried number more and one constant less.
        def turn(carry, row):
            k, a, b = carry
            return (k * a, a + k * row, b * a), (a, row * b)

        (_, *ends), ys = jax.lax.scan(turn, (k, *start), rows)
        return tuple(ends), ys

    def content(f):
        return content_of(jax.make_jaxpr(f)(2.0, (1.0, 3.0), jnp.arange(4.0)))

    assert content(looped) == content(lambda *x: looped(*x))
    assert content(looped).digest != content(swapped).digest
    # What has no digest cannot be kept from one process to the next.
    assert content(looped).rest == ()


def test_constants_are_taken_off_and_put_back():
    function = jax.make_jaxpr(lambda x: jnp.asarray(TABLE) @ x)(jnp.ones(3))
    jaxpr, consts = parts(function)
    assert is_jaxpr(function)
    assert is_jaxpr(jaxpr)
    assert [np.asarray(c).tolist() for c in consts] == [TABLE.tolist()]
    alone = without_constants(function)
    assert parts(alone)[1] in ((), [])
    x = jnp.array([1.0, 10.0, 100.0])
    assert eval_jaxpr(alone, consts, x) == [532.0]
    other = with_constants(function, jaxpr, [2 * TABLE])
    assert eval_jaxpr(parts(other)[0], parts(other)[1], x) == [1064.0]
    assert eval_jaxpr(jaxpr, consts, x) == [532.0]


def test_functions_inside_are_owned_too():
    table = TABLE.copy()
    inner = jax.jit(lambda x: jnp.asarray(table) @ x)
    function = owned(jax.make_jaxpr(lambda x: inner(x) + inner(2 * x))(jnp.ones(3)))
    table[:] = 0.0
    jaxpr, consts = parts(function)
    assert eval_jaxpr(jaxpr, consts, jnp.ones(3)) == [30.0]
