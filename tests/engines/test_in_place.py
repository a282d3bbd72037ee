"""Programs that have numbers of theirs in memory, and rows that are written where they stay."""

import gc
import weakref
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines.auto import BOUND
from accion.engines.folds import folded, mapped
from accion.engines.native import compile
from accion.solve.simulation import SCHEMES

OWN = {"a": np.array([1.0, 2.0]), "b": np.array(3.0)}


def scaled(own, x):
    return own["b"] * own["a"] + x, x > 0


def test_the_first_argument_may_be_given_before():
    x = np.array([0.5, -0.5])
    program: Any = compile(scaled, OWN, x)
    for found, expected in zip(program.with_first(OWN)(x), scaled(OWN, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    every_row = mapped(scaled, OWN, x)
    rows = np.linspace(-1, 1, 14).reshape(7, 2)
    for found, expected in zip(
        every_row.with_first(OWN)(rows, 7), every_row(OWN, rows, 7), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def summed(constants, carry, x):
    own, factor = constants
    total, count = carry
    total = total + factor * own["a"] * x
    return (total, count + 1), {"total": total, "count": count, "even": count % 2 == 0}


def test_rows_stand_behind_each_other_array_by_array():
    start, xs = (np.zeros(2), 0), np.arange(1.0, 6.0)
    program = folded(summed, (OWN, 2.0), start, 1.0).with_first(OWN)
    last, expected = program((2.0,), start, xs, 5)
    into = program.rows(7)
    into.put(0, {"total": np.full(2, 9.0), "count": 9, "even": False})
    # five of seven rows behind the first, in two parts
    state = program.run((2.0,), start, xs[:2], 2, into, 1)
    state = program.run((2.0,), state, xs[2:], 3, into, 3)
    found = into.part(0, 6)
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name][1:], rows)
        assert found[name].flags.c_contiguous
        assert found[name].dtype == rows.dtype
    np.testing.assert_array_equal(found["total"][0], 9.0)
    assert found["count"][0] == 9
    assert not found["even"][0]
    np.testing.assert_array_equal(state[0], last[0])
    np.testing.assert_array_equal(expected["total"][:, 1], 2 * expected["total"][:, 0])


def test_what_is_kept_for_an_object_goes_with_it():
    """A scheme of a system, and the programs that have its numbers."""
    system = ac.System(lambda t, q, v, k: v @ v / 2 - k * jnp.cos(q[0]), ac.Torus(1), 2.0)

    def end(system, **more):
        return ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=3, **more).q[-1]

    first = end(system)
    (scheme,) = SCHEMES(system).values()
    assert len(BOUND(scheme)) >= 2  # the start and the steps
    before = len(BOUND(scheme))
    np.testing.assert_array_equal(end(system), first)
    assert len(BOUND(scheme)) == before
    # params of a run are its own
    assert end(system, params=1.0) != first
    assert end(system, params=2.0) == first == end(system)
    seen = weakref.ref(scheme)
    del scheme, system
    gc.collect()
    assert seen() is None


def test_another_method_of_a_kept_system_is_refused_as_before():
    system = ac.System(lambda t, q, v, k: v @ v / 2, ac.Torus(1))
    ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=1)
    for bad in ([], None, ac.Midpoint):
        with pytest.raises(ValueError, match="method"):
            ac.simulate(system, bad, q0=[1.0], v0=[0.0], h=0.1, steps=1)
