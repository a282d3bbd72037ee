"""(7.3) to (7.13) of the Vakonomic thesis in letters: those of section 7.2, corrected, typed from
paper; and each against the functions that are marched.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import accion as ac
from tests.textbook import control as book
from tests.textbook.control import SWING, half_square

PROBLEM = book.swing_up()
M, m, l, gravity = sp.symbols("M m l gravity")
sin, cos = sp.sin, sp.cos


@cache
def written():
    return ac.symbolic(PROBLEM.hamiltonian(), seconds=5)


def letters():
    t = sp.Symbol("t")
    names = ("x", "theta", "p_0_x", "p_0_theta", "p_1_x", "p_1_theta", "u_x")
    return t, [sp.Function(name)(t) for name in names]


def test_section_7_2_as_it_should_be_printed():
    t, (x, th, p0x, p0th, p1x, p1th, u) = letters()
    dx, dth, ddx = x.diff(t), th.diff(t), x.diff(t, 2)
    found = written()
    (G,) = found.accelerations
    assert sp.simplify(G - (gravity * sin(th) - ddx * cos(th)) / l) == 0
    (U,) = found.controls
    inertia = M + m * sin(th) ** 2
    assert (
        sp.simplify(U - (inertia * ddx - m * l * sin(th) * dth**2 + m * gravity * sin(2 * th) / 2))
        == 0
    )
    slopes = m * (gravity * cos(2 * th) - l * cos(th) * dth**2 + sin(2 * th) * ddx)
    p0_theta = u * slopes - p1th * (gravity * cos(th) + ddx * sin(th)) / l
    for left, right in zip(found.p0_rates, (0, p0_theta), strict=True):
        assert sp.simplify(left - right) == 0
    for left, right in zip(
        found.p1_rates, (-p0x, -p0th - 2 * m * l * sin(th) * dth * u), strict=True
    ):
        assert sp.simplify(left - right) == 0
    assert sp.simplify(found.primary[0] - (u * inertia + p1th * cos(th) / l)) == 0
    assert sp.simplify(found.regularity[0, 0] - inertia**2) == 0
    H = p0x * dx + p0th * dth + p1x * ddx + p1th * G - u**2 / 2
    assert sp.simplify(found.H - H) == 0


def at(k):
    """The numbers of the letters at a time of the reference, on W1."""
    W1 = PROBLEM.hamiltonian()
    q, v = np.split(np.array(SWING["states"][k]), 2)
    p = np.array(SWING["costates"][k]).reshape(2, 2)
    start = W1.to_vakonomic(SWING["t"][k], q, v, p)
    t, (x, th, *rest) = letters()
    jets = [q, *np.asarray(start["v0"])]
    values = {}
    for i, name in ((3, 3), (2, 2), (1, 1)):
        values |= {x.diff(t, i): jets[name][0], th.diff(t, i): jets[name][1]}
    values |= {x: q[0], th: q[1]}
    u = float(W1.control(SWING["t"][k], q, v, p)[0])
    values |= dict(zip(rest, [*p[0], *p[1], u], strict=True))
    return W1, start, values


def number(expr, values):
    given = {sp.Symbol(name): value for name, value in PROBLEM.system.params.items()}
    return float(sp.sympify(expr).xreplace(values).xreplace(given))


@pytest.mark.parametrize("k", [1, 5])
def test_they_are_the_functions_that_are_marched(k):
    """At two points of the optimum: H, the control, the rates, and q'''' (7.10) by the system of
    second order.
    """
    W1, start, values = at(k)
    found = written()
    point = (SWING["t"][k], start["q0"], start["v0"][0])
    p = np.array(SWING["costates"][k]).reshape(2, 2)
    assert_allclose(number(found.H, values), SWING["hamiltonian"], rtol=1e-9)
    assert_allclose(number(found.controls[0], values), W1.control(*point, p)[0], rtol=1e-9)
    assert_allclose(number(found.accelerations[0], values), start["v0"][1, 1], rtol=1e-9)
    assert_allclose(number(found.primary[0], values), p[1, 0], rtol=1e-8)
    y = (start["q0"], start["v0"][0], p[0], p[1], 0.0)
    rates = W1.hamiltonian.rates(PROBLEM.system, np.zeros(1), SWING["t"][k], y)
    assert_allclose([number(e, values) for e in found.p0_rates], rates[2], rtol=1e-9, atol=1e-9)
    assert_allclose([number(e, values) for e in found.p1_rates], rates[3], rtol=1e-9, atol=1e-9)
    snap, _ = W1.vakonomic.highest(SWING["t"][k], start["q0"], start["v0"], start["lam0"])
    assert_allclose(number(found.explicit[0], values), snap[0], rtol=1e-7)
    t, (x, *_) = letters()
    left = number(found.euler_lagrange[0], values | {x.diff(t, 4): float(snap[0])})
    assert abs(left) < 1e-6 * abs(snap[0])


def test_it_is_printed_with_the_numbers_of_the_thesis():
    words = written().text()
    for number_ in ("7.3", "7.4", "7.5", "7.6", "7.7", "7.9", "7.10", "7.11", "7.12", "7.13"):
        assert number_ in words
    assert r"\sin" in written().latex()


def test_with_all_controls_there_is_no_constraint():
    """A block: u = m x'', p1 = m u, x'''' = 0."""
    found = ac.symbolic(book.block().hamiltonian())
    assert found.accelerations == ()
    x, t, m = sp.Function("x")(sp.Symbol("t")), sp.Symbol("t"), sp.Symbol("m")
    assert found.controls == (m * x.diff(t, 2),)
    assert found.explicit == (0,)
    assert sp.simplify(found.regularity[0, 0] - m**2) == 0
    assert book.block().vakonomic().vakonomic is None


def test_what_has_no_such_letters():
    space = ac.ControlProblem(
        book.satellite(),
        half_square,
        actuated=[0],
        start=(np.eye(3), np.zeros(3)),
        end=(None, None),
        duration=1.0,
    )
    with pytest.raises(ValueError, match=r"does not support control problems on SO3"):
        ac.symbolic(space.hamiltonian())
    turned = book.block(actuated=None, actuation=lambda t, q, p: np.ones((1, 1)))
    with pytest.raises(ValueError, match="does not support control problems with actuation=B"):
        ac.symbolic(turned.hamiltonian())
