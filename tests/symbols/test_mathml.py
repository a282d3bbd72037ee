"""Formulas as MathML: what they say, and that all that is printed is translated."""

import xml.etree.ElementTree as ET

import pytest
import sympy as sp

import accion as ac
from accion.gallery import find
from accion.symbols.mathml import mathml
from accion.symbols.render import tex

x, y = sp.symbols("x y")


def shape(latex):
    """The elements of a formula, without its annotation."""

    def walk(node):
        inside = " ".join(walk(each) for each in node)
        if node.tag == "mrow":
            return inside
        return f"{node.tag}({inside or node.text or ''})"

    (semantics,) = ET.fromstring(mathml(latex))
    return walk(semantics[0])


@pytest.mark.parametrize(
    ("latex", "found"),
    [
        (r"\frac{x}{2}", "mfrac(mi(x) mn(2))"),
        (r"\dot{\alpha}^{2}", "msup(mover(mi(\u03b1) mo(\u02d9)) mn(2))"),
        (r"x_{k + 1}'", "msubsup(mi(x) mi(k) mo(+) mn(1) mo(\u2032))"),
        (r"\sqrt[3]{x}", "mroot(mi(x) mn(3))"),
        (r"\mathrm{ma}_{1}", "msub(mi(ma) mn(1))"),
        (r"\left(x - y\right)", "mo(() mi(x) mo(\u2212) mi(y) mo())"),
        (r"\begin{cases} x & \text{for}\: y > 0 \\ 1 & \text{otherwise} \end{cases}", None),
    ],
)
def test_what_a_formula_says(latex, found):
    assert found is None or shape(latex) == found


def test_a_table_has_its_rows_and_its_cells():
    table = shape(r"\left[\begin{matrix}1 & x\\y & 2\end{matrix}\right]")
    assert table.count("mtr(") == 2
    assert table.count("mtd(") == 4


def test_the_latex_is_kept_and_markup_is_not_markup():
    latex = r"a < \mathrm{<b>}"
    (semantics,) = ET.fromstring(mathml(latex))
    assert semantics[1].text == latex
    assert "<b>" not in mathml(latex)


def test_what_is_not_translated_is_named():
    with pytest.raises(ValueError, match="unheard, which is not translated"):
        mathml(r"x + \unheard{y}")
    with pytest.raises(ValueError, match="ends too early"):
        mathml(r"\frac{x}{")
    with pytest.raises(ValueError, match="where nothing should be"):
        mathml("x}")


def test_what_is_printed_of_systems_is_translated():
    for name in ("heavy_top", "rolling_disk", "spring_in_gas", "splines", "herglotz_oscillator"):
        system = find(name).system
        for _, equations in ac.symbolic(system, seconds=1.0).sheet.groups:
            for each in equations:
                ET.fromstring(mathml(tex(each)))
    expr = sp.Piecewise((sp.Max(x, 1), x > 0), (sp.Abs(y) ** sp.Rational(1, 3), True))
    ET.fromstring(mathml(tex(sp.Eq(y, expr + sp.exp(-x) * sp.log(y) / sp.sqrt(x)))))
