"""Ctrl-C stops a long run within a second; and where a run is cut into calls does not show."""

import weakref

import numpy as np
import pytest

import accion as ac
from accion.solve import loop
from tests.helpers import PENDULUM
from tests.interrupts import interrupted

START = {"q0": [1.0], "v0": [0.0], "h": 0.01}


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("save_every", [10**10, 10**6])
def test_a_long_run_stops_within_a_second(engine, save_every):
    """One that saves nothing on the way, and one that does."""
    run = {"engine": engine, **START}
    ac.simulate(PENDULUM, ac.Midpoint(), steps=20, save_every=10, **run)  # compiled
    interrupted(
        lambda: ac.simulate(PENDULUM, ac.Midpoint(), steps=10**10, save_every=save_every, **run)
    )


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_an_ensemble_stops_within_a_second(engine):
    run = {"engine": engine, "v0": [0.0], "h": 0.01, "q0": np.linspace(-1, 1, 16)[:, None]}
    ac.ensemble(PENDULUM, ac.Midpoint(), steps=20, save_every=10, **run)
    interrupted(lambda: ac.ensemble(PENDULUM, ac.Midpoint(), steps=10**9, save_every=10**8, **run))


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("save_every", [1, 7, 300])
def test_the_digits_do_not_depend_on_where_a_run_is_cut(engine, save_every, monkeypatch):
    run = {"engine": engine, "steps": 2100, "save_every": save_every, **START}
    whole = ac.simulate(PENDULUM, ac.Midpoint(), **run)
    calls = []
    monkeypatch.setattr(loop, "first_steps", lambda one, state: 16)
    monkeypatch.setattr(loop, "fitting", lambda amount, seconds: calls.append(amount) or 100)
    cut = ac.simulate(PENDULUM, ac.Midpoint(), **run)
    assert len(calls) > 15
    for name in ("t", "q", "p", "iterations", "steps_completed"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(whole, name))


def test_rows_of_machine_code_are_cut_too(monkeypatch):
    from accion.engines import folds

    def total(carry, x):
        return carry + x, carry * x

    rows = np.random.default_rng(0).normal(size=1000)
    program = folds.folded(lambda _, carry, x: total(carry, x), (), 0.0, 0.0)
    whole = program((), 0.0, rows, 1000)
    sizes = []
    monkeypatch.setattr(folds, "FIRST", 3)
    monkeypatch.setattr(folds, "fitting", lambda amount, seconds: sizes.append(amount) or 70)
    cut = program((), 0.0, rows, 1000)
    assert sizes[:2] == [3, 70]
    for a, b in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_that_outlive_their_call_keep_its_memory(monkeypatch):
    """Ctrl-C twice: the second is raised where the first waits for the threads."""
    from accion.engines import folds

    running, arrays, whole = [], [], folds.in_lanes

    def noted(rows, lanes):
        found = whole(rows, lanes)
        arrays.append(weakref.ref(found))
        return found

    program = folds.side_by_side(lambda _, a, x, step, row: (x + a, x), (), 1.0, 0.0, 0, ())
    monkeypatch.setattr(folds, "in_lanes", noted)
    monkeypatch.setattr(folds, "on_all_cores", lambda run, count: running.append(run))
    program((), np.ones(8), np.zeros(8), np.arange(5), (), 5)
    assert len(arrays) == 3
    assert all(each() is not None for each in arrays)
    running[0](0, lambda: None)
    running.clear()
    assert all(each() is None for each in arrays)
