"""What is computed once for each object."""

import gc

import jax
import jax.numpy as jnp

import accion as ac
from accion.checks import CHECKED
from accion.once import OncePerObject


class Thing:
    pass


def test_once_for_each_object_as_long_as_it_lives():
    made = []

    def f(thing):
        made.append(thing is not None)
        return [len(made)]

    once, thing, other = OncePerObject(f), Thing(), Thing()
    assert once(thing) == once(thing) == [1]
    assert once(other) == [2]
    del thing
    gc.collect()
    assert len(once.kept) == 1
    assert once(other) == [2]


def test_what_jax_traces_is_not_kept():
    thing = Thing()
    once = OncePerObject(lambda thing: jnp.ones(2) * 3)
    jax.jit(lambda: once(thing))()
    assert not once.kept
    assert once(thing) is once(thing)


def test_a_system_is_checked_once_and_forgotten_with_it():
    before = len(CHECKED.kept)
    system = ac.System(lambda t, q, v, m: 0.5 * m * v @ v, ac.Euclidean(1), 2.0)
    assert CHECKED(system) is CHECKED(system)
    assert CHECKED(system).params == 2.0
    assert len(CHECKED.kept) == before + 1
    del system
    gc.collect()
    assert len(CHECKED.kept) <= before
