"""Calls that are compiled when they are first made."""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from accion.engines.deferred import Deferred
from accion.engines.folds import folded
from accion.engines.native import compile as compiled
from accion.engines.rarely import rarely
from tests.interrupts import interrupted

X, K = np.array([1.0, -2.0]), np.int64(3)


def make():
    """A function that calls another where x[0] > 0, and how often that was traced."""
    traced = []

    def rare(x, k):
        traced.append(x)
        return jnp.sin(x) * k, k + 1, x > 0

    def f(x, k):
        like = (x, k, x > 0)
        return jax.lax.cond(x[0] > 0, lambda: rarely(rare, like, x, k), lambda: like)

    return f, traced


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_it_is_traced_when_it_is_first_called():
    f, traced = make()
    program = compiled(f, X, K)
    same(program(-X, K), (-X, K, -X > 0))
    assert traced == []
    for _ in range(3):
        same(program(X, K), (np.sin(X) * K, K + 1, X > 0))
    assert len(traced) == 1


def test_by_xla_and_side_by_side():
    f, _ = make()
    expected = (np.sin(X) * K, K + 1, X > 0)
    same(jax.jit(f)(X, K), expected)
    same(f(X, K), expected)
    found = jax.vmap(f, (0, None))(np.stack([-X, X]), K)
    same([a[1] for a in found], expected)
    same([a[0] for a in found], (-X, K, -X > 0))


def test_what_is_raised_in_it_is_raised_by_the_program():
    """From a call inside a call, too, and after others went well; the next run is not disturbed."""

    def bad(x):
        raise LookupError("no such thing")

    def middle(x):
        return jax.lax.cond(x > 2, lambda: rarely(bad, x, x), lambda: 10 * x)

    program = compiled(lambda x: jax.lax.cond(x > 0, lambda: rarely(middle, x, x), lambda: x), 1.0)
    assert program(-1.0) == -1
    assert program(1.0) == 10
    for _ in range(2):
        with pytest.raises(LookupError, match="no such thing"):
            program(3.0)
    assert program(2.0) == 20


def test_what_cannot_be_compiled_is_done_by_xla():
    def eigenvalues(x):
        return jnp.linalg.eigvalsh(jnp.outer(x, x))

    program = compiled(
        lambda x: jax.lax.cond(x[0] > 0, lambda: rarely(eigenvalues, x, x), lambda: x), X
    )
    np.testing.assert_allclose(program(X), [0, 5], atol=1e-15)
    np.testing.assert_allclose(program(X), [0, 5], atol=1e-15)


def test_threads_that_call_it_first_at_the_same_time():
    def slowly(x):
        return jnp.sum(jnp.sin(jnp.outer(x, x)), axis=0)

    def turn(_, x, row):
        x = jax.lax.cond(jnp.sum(x) > 0, lambda: rarely(slowly, x, x), lambda: x + row)
        return x, x

    start, rows = np.linspace(-1.0, 1.1, 4), np.full((200, 4), 0.3)
    program = folded(turn, (), start, rows[0])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: program((), start, rows, 200)[1], range(4)))
    expected = jax.lax.scan(lambda x, row: turn((), x, row), start, rows)[1]
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=1e-11, atol=1e-13)


def test_an_interrupt_while_it_is_compiled_ends_the_run():
    """Not swallowed by the machine code around it."""

    def struck(x):
        raise KeyboardInterrupt

    program = compiled(lambda x: jax.lax.cond(x > 0, lambda: rarely(struck, x, x), lambda: x), 1.0)
    with pytest.raises(KeyboardInterrupt):
        program(1.0)


def test_after_an_interrupt_the_next_call_compiles_it():
    """And it is not left to XLA, whose digits differ."""
    tried = []

    def compile():
        tried.append(len(tried))
        if len(tried) == 1:
            raise KeyboardInterrupt
        return SimpleNamespace(address=1)

    one = Deferred(compile, np.copy, (1, 1))
    one.cell = ctypes.c_void_p()
    with pytest.raises(KeyboardInterrupt):
        one.is_compiled()
    assert [one.is_compiled(), one.is_compiled()] == [True, True]
    assert tried == [0, 1]


@pytest.mark.parametrize("lanes", [1, 2])
def test_an_interrupt_that_comes_before_the_call_is_not_lost(lanes, monkeypatch):
    """Python raises it as soon as the machine code calls, and says that it is ignored."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def long_before(n, x):
        y = jax.lax.fori_loop(0, n, lambda _, y: jnp.cos(y), x)
        return jax.lax.cond(y > 0, lambda: rarely(lambda y: 2 * y, y, y), lambda: y)

    program = compiled(long_before, 1, 1.0, lanes=lanes)

    def run(n):
        return program(*((n, 1.0) if lanes == 1 else (np.full(lanes, n), np.ones(lanes))))

    interrupted(lambda: run(2 * 10**7), after=0.05)
    assert [each.exc_type for each in ignored] == [KeyboardInterrupt]
    np.testing.assert_allclose(run(1), 2 * np.cos(1.0))


def test_its_derivative_is_that_of_what_it_calls():
    f, _ = make()

    def of_floats(x):
        return f(x, K)[0]

    for x in (X, -X):
        expected = np.diag(np.cos(x) * K) if x[0] > 0 else np.eye(2)
        np.testing.assert_allclose(jax.jacfwd(of_floats)(x), expected, rtol=1e-14)
        np.testing.assert_allclose(jax.jacrev(of_floats)(x), expected, rtol=1e-14)
