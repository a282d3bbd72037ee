"""Ctrl-C stops an optimisation within a second, and gives where it was."""

import signal

import numpy as np
import pytest

import accion as ac
from accion.assembly import ipopt
from accion.assembly.interrupts import noted
from tests.interrupts import interrupted
from tests.textbook import control as book


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
def test_an_optimisation_stops_within_a_second(solver):
    more = {"control_bounds": (-5, 5)} if solver == "ipopt" else {}
    problem = book.swing_up(**more)
    ac.optimize(problem, ac.Midpoint(), 16, throw=False)  # compiled
    # A tolerance that cannot be reached.
    asked = {"tolerance": 1e-300, "max_iterations": 10**6, "throw": False}
    if solver == "ipopt":
        asked["options"] = {"acceptable_tol": 1e-300}
    steps = 20_000 if solver == "sqp" else 4_000
    error = interrupted(lambda: ac.optimize(problem, ac.Midpoint(), steps, **asked), after=2.0)
    assert isinstance(error, ac.Interrupted)
    assert error.solution.u.shape == (steps, 1)
    assert not error.solution.success
    assert error.solution.message == "it was interrupted"
    assert np.all(np.isfinite(error.solution.q))


def test_errors_of_functions_come_out_of_ipopt_as_they_are(monkeypatch):
    def failing(self, x):
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(ipopt.Functions, "values", failing)
    with pytest.raises(ZeroDivisionError, match="no luck"):
        ac.optimize(book.swing_up(control_bounds=(-5, 5)), ac.Midpoint(), 16)


def test_ctrl_c_has_its_meaning_again_afterwards():
    before = signal.getsignal(signal.SIGINT)
    with noted() as found:
        assert not found.asked
    assert signal.getsignal(signal.SIGINT) is before
