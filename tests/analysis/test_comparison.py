"""Several methods beside each other, and results in words and pictures."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import find

PENDULUM = find("pendulum").system
START = {"q0": [1.0], "v0": [0.0]}


def test_methods_beside_each_other(tmp_path):
    methods = [ac.Midpoint(), ac.Galerkin(3)]
    found = ac.analysis.compare(
        PENDULUM, methods, **START, duration=4.0, h=[0.2, 0.1, 0.05], repeats=1
    )
    assert found.errors.shape == found.seconds.shape == (2, 3)
    assert list(found.orders) == pytest.approx([2.0, 6.0], abs=0.1)
    np.testing.assert_allclose(found.errors[:, 0] / found.errors[:, 1], [4.0, 64.0], rtol=0.1)
    assert np.all(found.seconds > 0)
    # with the largest step, against a run of it
    run = ac.simulate(PENDULUM, ac.Midpoint(), **START, h=0.2, steps=20)
    t, change = found.energies[0]
    np.testing.assert_array_equal(t, run.t)
    np.testing.assert_array_equal(change, run.energy() - run.energy()[0])
    assert "Galerkin(s=3, quadrature='gauss')   6.0" in str(found)
    figure = found.plot()
    assert [len(ax.lines) for ax in figure.axes] == [2, 2]
    assert figure.axes[1].get_ylabel() == "largest change of the energy so far [J]"
    figure.savefig(tmp_path / "compared.png")
    with pytest.raises(ValueError, match="methods must be a list of methods"):
        ac.analysis.compare(PENDULUM, ac.Midpoint(), **START, duration=1.0, h=[0.2, 0.1, 0.05])


def test_results_are_told_in_a_line_and_shown_in_a_notebook():
    measured = ac.analysis.order(
        PENDULUM, ac.Midpoint(), **START, duration=1.0, h=[0.1, 0.05, 0.025]
    )
    assert repr(measured) == f"<Order: order {measured.slope:.3f} ...>"
    figure = measured.plot()
    assert figure.axes[0].get_xlabel() == "h [s]"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), measured.errors)
    page = measured._repr_html_()
    assert page.startswith("<pre>order 1.99")
    assert '<img alt="its plot" src="data:image/png;base64,' in page
    found = ac.analysis.symmetries(PENDULUM)
    assert repr(found).startswith("<Symmetries: pendulum: no affine symmetries were found")
    assert "\n" not in repr(found)
    assert found._repr_html_().startswith("<pre>pendulum: no affine")


def test_a_system_is_a_line():
    assert repr(PENDULUM) == "System(pendulum on Torus(n=1); params gravity, l, m)"
    page = PENDULUM._repr_html_()
    for words in ("coordinates  theta [rad]", "gravity = 1, l = 1, m = 1", "lagrangian"):
        assert words in page
    named = ac.System(lambda t, q, v, params: v @ v, ac.Euclidean(1), name="<script>")
    assert "<script>" not in named._repr_html_()
    pushed = ac.System(
        lambda t, q, v, params: v @ v,
        ac.Euclidean(2),
        force=lambda t, q, v, params: -v,
        name="pushed",
    )
    assert repr(pushed) == "System(pushed on Euclidean(n=2); force)"


def test_long_equations_of_a_notebook_stand_on_several_lines():
    equations = ac.symbolic(find("quadrotor").system)
    page, whole = equations._repr_latex_(), equations.latex()
    assert page.count(r"\\") > whole.count(r"\\")
    # The same formula, put together again.
    joined = re.sub(r" \\\\ &\\qquad\\quad ", " ", page)
    assert re.sub(r"\s+", " ", joined) == re.sub(r"\s+", " ", rf"$\displaystyle {whole}$")
    for line in page.split(r" \\ "):
        assert line.count(r"\left") == line.count(r"\right")
    assert repr(equations).startswith("<Equations of drone with a load: Lagrangian, equations of")


def test_a_method_that_fails_leaves_the_others():
    system = ac.System(lambda t, q, v, p: 0.5 * v @ v - 50 * jnp.cosh(q[0]), ac.Euclidean(1))
    methods, start = [ac.Midpoint(), ac.Trapezoid()], {"q0": [1.0], "v0": [0.0]}
    with pytest.warns(ac.StepTooLarge):
        found = ac.analysis.compare(system, methods, **start, duration=2.0, h=[0.5, 0.25, 0.125])
    assert np.isfinite(found.errors[0]).all()
    np.testing.assert_array_equal(np.isnan(found.errors[1]), np.isnan(found.seconds[1]))
    assert np.isnan(found.errors[1, 0])
    assert "failed" in str(found)
    assert found.plot() is not None
