"""Simplification ends in time, and leaves nothing behind."""

import threading
import time

import pytest
import sympy as sp

from accion.symbols.deadline import OutOfTime, deadline
from accion.symbols.render import legible, pretty, tex
from accion.symbols.simplification import Simplifier


def test_simplification_ends_in_time():
    x = sp.symbols("x0:8", real=True)
    hard = sp.Add(
        *(
            sp.sin(a + b) ** 3 * sp.cos(a - b) ** 2 / (1 + sp.sin(a) ** 2 + sp.cos(b) ** 2)
            for a in x
            for b in x
        )
    )
    tidy = Simplifier(0.3)
    start = time.monotonic()
    assert tidy.within(sp.simplify, hard) is hard
    assert time.monotonic() - start < 5
    assert not tidy.complete
    assert tidy(hard) is hard
    assert sp.simplify(sp.sin(x[0]) ** 2 + sp.cos(x[0]) ** 2) == 1  # SymPy is as it was


def test_a_deadline_strikes_its_own_thread_only():
    struck = []

    def work():
        try:
            with deadline(0.05):
                while True:
                    pass
        except BaseException as error:
            struck.append(type(error).__name__)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert struck == ["OutOfTime"]
    with deadline(30):
        assert sum(range(1000)) == 499500


def test_a_deadline_that_was_swallowed_strikes_again():
    """An exception in a callback of the garbage collector is printed and lost."""
    lost = []

    def swallow():
        try:
            while True:
                pass
        except OutOfTime:
            lost.append(1)

    def work():
        swallow()
        while time.monotonic() - start < 10:
            pass

    start = time.monotonic()
    with pytest.raises(OutOfTime), deadline(0.05):
        work()
    assert lost
    assert time.monotonic() - start < 5


def test_numbers_that_rounding_changed_are_printed_as_they_were_meant():
    x = sp.Symbol("x")
    shown = pretty(sp.Eq(sp.Float(300.00000000000006, 17) * x, sp.Float(0.1 + 0.2, 17)))
    assert "300⋅x" in shown
    assert "0000" not in shown
    assert "0.333333333333333" in tex(sp.Float(0.3333333333333331, 17) * x)
    same = sp.Eq(sp.Float(0.7 + 0.1, 17) * x, sp.Float(0.7 + 0.1, 17) * x, evaluate=False)
    assert isinstance(legible(same), sp.Eq)
