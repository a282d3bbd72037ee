"""Equations to be read: as wide as the terminal, short, and with letters that mean one thing."""

import pytest
import sympy as sp

import accion as ac
from accion.gallery import find
from accion.symbols.render import pretty
from accion.symbols.simplification import tidied


@pytest.fixture(scope="module")
def double():
    return ac.symbolic(find("double_pendulum").system)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_lines_are_as_wide_as_asked_for(double, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for sheet in (double, double.discrete(ac.Midpoint())):
        assert max(map(len, str(sheet).splitlines())) <= width
    # A narrow one has more lines, and breaks none of these terms at the edge.
    assert "\u21aa" not in double.discrete(ac.Midpoint()).text()


def test_rows_add_up_to_the_equation():
    letters = sp.symbols("a:z")
    total = sum(a * (-1) ** i / (i + 1) for i, a in enumerate(letters))
    text = pretty(sp.Eq(sp.Symbol("L"), total, evaluate=False), 60)
    assert text.startswith("L =\n")
    assert all(len(line) <= 60 for line in text.splitlines())
    assert all(f"{a}" in text for a in letters)
    zero = pretty(sp.Eq(total, 0, evaluate=False), 60)
    assert zero.count("= 0") == 1
    # One term to a row, with its sign before it.
    rows = pretty(sp.Eq(sp.Symbol("y"), sum(letters[:2]) - letters[2], evaluate=False), 9)
    assert [line.strip() for line in rows.splitlines()] == ["y =", "a", "+ b", "- c"]


def test_a_parameter_does_not_share_a_letter_with_what_is_printed():
    names = {"E": 1.0, "L": 2.0, "L_d": 3.0}
    system = ac.System(
        lambda t, q, v, p: p["E"] * v @ v / 2 - p["L"] * q @ q / 2 - p["L_d"] * q[0],
        ac.Euclidean(1),
        names,
        coordinates=("x",),
    )
    eqs = ac.symbolic(system)
    lefts = [each.lhs for _, rows in eqs.sheet.groups for each in rows]
    assert not {sp.Symbol(name) for name in names} & set(lefts)
    assert {sp.Symbol("energy"), sp.Symbol("Lagrangian")} <= set(lefts)
    assert "energy =" in eqs.text()
    assert r"\mathrm{energy}" in eqs.latex()
    assert eqs.L.has(sp.Symbol("E"))  # the parameter has its own name still
    assert "L_d =" not in eqs.discrete(ac.Midpoint()).text()
    # Others keep their letters.
    assert "E =" in ac.symbolic(find("kepler").system).text()


def test_a_step_is_written_as_a_person_writes_it(double):
    h, a, b, x, y = sp.symbols("h a b x y")
    long = h * (a * (2 * x - 2 * y) / (2 * h**2) + b * sp.sin(x))
    assert tidied(long, h) == a * (x - y) / h + h * b * sp.sin(x)
    # What has other factors than h before it stays a product.
    assert tidied(long + x * (a + b), h) == a * (x - y) / h + h * b * sp.sin(x) + x * (a + b)
    discrete = double.discrete(ac.Midpoint())
    # No h outside of a bracket, nor twice a half.
    for each in discrete.equations:
        assert each.lhs.is_Add
        assert len(each.lhs.args) >= 6
    # and it is the same: the slopes of Ld, which are not tidied in the same way.
    earlier = dict(zip(discrete.q(1), discrete.q(0), strict=True)) | dict(
        zip(discrete.q(0), discrete.q(-1), strict=True)
    )
    numbers = {s: 0.3 + 0.17 * i for i, s in enumerate(sorted(discrete.values, key=str))}
    places = {
        s: 0.1 * (i + 1) ** 2
        for i, s in enumerate((*discrete.q(-1), *discrete.q(0), *discrete.q(1)))
    }
    at = numbers | places | {discrete.h: 0.2}
    for i, each in enumerate(discrete.equations):
        slopes = discrete.Ld.diff(discrete.q(0)[i]) + discrete.Ld.diff(discrete.q(1)[i]).subs(
            earlier, simultaneous=True
        )
        assert abs(float((each.lhs - slopes).subs(at))) < 1e-12
