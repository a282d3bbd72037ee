"""Points, weights and coefficients of collocation, against what they must integrate."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from accion.methods import polynomials
from accion.methods.polynomials import polynomial, stages


@pytest.mark.parametrize("s", [1, 2, 3, 5, 8, 12, 20])
def test_gauss_points_integrate_to_degree_2s_minus_1(s):
    """The order conditions B(2s), to forty digits; B(2s + 1) does not hold."""
    with localcontext() as context:
        context.prec = polynomials.DIGITS
        c, b = polynomials.gauss(s)
        off = [
            abs(sum(w * x ** (k - 1) for w, x in zip(b, c, strict=True)) * k - 1)
            for k in range(1, 2 * s + 2)
        ]
        assert max(off[:-1]) < Decimal("1e-40")
        assert off[-1] > Decimal("1e-25")


@pytest.mark.parametrize("s", [2, 3, 5, 8])
def test_lobatto_points_have_the_ends_and_integrate_to_degree_2s_minus_3(s):
    with localcontext() as context:
        context.prec = polynomials.DIGITS
        c, b = polynomials.lobatto(s)
        assert (c[0], c[-1]) == (0, 1)
        off = [
            abs(sum(w * x ** (k - 1) for w, x in zip(b, c, strict=True)) * k - 1)
            for k in range(2, 2 * s)
        ]
        assert max(off[:-1]) < Decimal("1e-40")
        assert off[-1] > Decimal("1e-25")


@pytest.mark.parametrize("s", [1, 2, 4, 8, 12, 20])
def test_stages_collocate(s):
    """C(s): what is c^(k-1) at the stages is c^k/k in the sums; and their laws in floating point
    are exact, so that rounding of coefficients makes no drift.
    """
    c, b, mu, twice, ahead = stages(s)
    for k in range(1, s + 1):
        np.testing.assert_allclose(mu @ (b * c ** (k - 1)), c**k / k, atol=4e-16)
        if k < s:
            wanted = c ** (k + 1) / k / (k + 1)
            np.testing.assert_allclose(twice @ (b * c ** (k - 1)), wanted, atol=4e-16)
        # Extrapolation multiplies rounding, the more the higher the degree.
        size = np.max(np.sum(np.abs(ahead), axis=1))
        np.testing.assert_allclose(ahead @ c ** (k - 1), (1 + c) ** (k - 1), rtol=1e-15 * size)
    assert sum(map(Fraction, b)) == 1
    np.testing.assert_array_equal(mu + mu.T, np.ones((s, s)))
    np.testing.assert_array_equal(twice - twice.T, np.subtract.outer(c, c))


@pytest.mark.parametrize(
    ("s", "quadrature"), [(1, "gauss"), (4, "gauss"), (2, "lobatto"), (5, "lobatto")]
)
def test_polynomials_through_nodes(s, quadrature):
    form = polynomial(s, quadrature)
    for k in range(1, len(form.nodes) + 1):
        y = form.nodes**k
        np.testing.assert_allclose(form.P @ y, form.c**k, atol=1e-14)
        np.testing.assert_allclose(form.D @ y, k * form.c ** (k - 1), atol=1e-13)
        places = np.append(0.0, form.nodes)
        np.testing.assert_allclose(form.node_slopes @ y, k * places ** (k - 1), atol=1e-13)
    np.testing.assert_allclose(np.sum(form.node_weights), 1.0, atol=1e-15)
