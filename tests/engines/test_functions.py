"""The native engine's own functions: their errors against mpmath in units of the last place, and
what they say of zeros, infinities and NaN.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import groupby

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from accion.engines import folds, native
from accion.engines.folding import OTHER, bits_of, number_of
from accion.engines.functions import LARGEST, LOG2_HIGH, LOG2_LOW, OWN, QUARTER, function
from accion.engines.llvm import Function
from accion.engines.machine import has_fma
from accion.engines.series import LOG2, PI, economised

# of any function that is arithmetic; the C library, which serves elsewhere, claims no more than 2
WORST = 0.95 if has_fma() else 2.0
SPECIAL = np.array(
    [
        *[0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.0**-1022, 1.0, -1.0],
        *[1e300, -1e300, 1e22, 709.9, 711.0, -745.1, -746.0, 20.0, -20.0, -40.0],
        *[LARGEST, 2 * LARGEST],
    ]
)
N = 150


def signs(rng, x):
    return x * rng.choice([-1.0, 1.0], x.shape)


@cache
def hardest():
    """The floats that are nearest to multiples of pi/2, of all up to `LARGEST`."""
    quarter = round(PI / 2 * 2**200)

    def distance(n):
        top, bottom = float(Fraction(n * quarter, 2**200)).as_integer_ratio()
        return abs(top * (2**200 // bottom) - n * quarter)

    nearest = sorted(range(1, int(LARGEST / (math.pi / 2))), key=distance)[:50]
    return np.array([float(Fraction(n * quarter, 2**200)) for n in nearest])


def angles(rng):
    """Of all sizes, the hardest, and the floats next to multiples of pi/4."""
    with mp.workprec(200):
        turns = [float(mp.mpf(int(n)) * mp.pi / 4) for n in rng.integers(1, 160_000, 2 * N)]
    near = np.array(turns) * (1 + rng.integers(-2, 3, 2 * N) * 2.0**-53)
    sizes = rng.uniform(0, 4, 2 * N), rng.uniform(0, LARGEST, N), 10.0 ** rng.uniform(-320, 0, N)
    return signs(rng, np.concatenate([near, hardest(), *sizes]))


def exponents(rng):
    """Of all sizes, and halfway between multiples of log 2."""
    half = (rng.integers(-1000, 1000, N) + 0.5) * math.log(2)
    sizes = rng.uniform(0, 1, 3 * N), rng.uniform(0, 40, N), 10.0 ** rng.uniform(-320, 0, N)
    ends = rng.uniform(709, 711, N // 4), rng.uniform(-746, -707, N // 2)
    return np.concatenate([half, signs(rng, np.concatenate(sizes)), *ends])


def positive(rng):
    """Of all sizes, near 1, and near powers of 2 times sqrt 2."""
    near = 1 + signs(rng, 10.0 ** rng.uniform(-16, -0.01, 2 * N))
    breaks = math.sqrt(2) * 2.0 ** rng.integers(-3, 3, N) * (1 + rng.uniform(-1e-14, 1e-14, N))
    return np.concatenate([near, breaks, rng.uniform(0, 4, N), 10.0 ** rng.uniform(-323, 308, N)])


CASES = [
    (jnp.sin, mp.sin, angles),
    (jnp.cos, mp.cos, angles),
    (jnp.tan, mp.tan, angles),
    (jnp.exp, mp.exp, exponents),
    (jnp.expm1, mp.expm1, exponents),
    (jnp.sinh, mp.sinh, exponents),
    (jnp.cosh, mp.cosh, exponents),
    (jnp.tanh, mp.tanh, exponents),
    (jnp.log, mp.log, positive),
]
by_name = pytest.mark.parametrize("case", CASES, ids=[f.__name__ for f, _, _ in CASES])


def values(f, x):
    """f of each number, by a loop of native code."""
    run = folds.folded(lambda c, s, row: (s, f(row)), 0.0, 0.0, 0.0)
    return run(0.0, 0.0, x, len(x))[1]


def ulps(got, x, f):
    """The errors in units of the last place of the true numbers."""
    found = []
    with mp.workprec(220):
        for y, true in zip(got.tolist(), map(f, x.tolist()), strict=True):
            if true == 0 or abs(true) > mp.mpf(np.finfo(float).max):
                found.append(0.0 if y == true or math.isinf(y) else math.inf)
                continue
            exponent = max(math.floor(mp.log(abs(true), 2)), -1022) - 52
            found.append(float(abs(mp.mpf(y) - true) / mp.mpf(2) ** exponent))
    return np.array(found)


@by_name
def test_errors_are_below_one_unit_of_the_last_place(case):
    f, true, points = case
    x = points(np.random.default_rng(5))
    errors = ulps(values(f, x), x, true)
    assert errors.max() < WORST, (x[errors.argmax()], errors.max())


@by_name
def test_zeros_infinities_nan_and_the_ends_of_the_range(case):
    f = case[0]
    got = values(f, SPECIAL)
    with np.errstate(all="ignore"):
        expected = getattr(np, f.__name__)(SPECIAL)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))
    np.testing.assert_allclose(got, expected, rtol=5e-16, atol=5e-324)
    exact = (expected == 0) | np.isinf(expected) | (np.abs(SPECIAL) < 1e-300)
    np.testing.assert_array_equal(got[exact], expected[exact])


def next_to(center, n=40):
    """The floats around a number, in order."""
    return np.array([number_of(bits_of(center) + i) for i in range(-n, n + 1)])


@pytest.mark.parametrize(
    ("f", "centers", "direction"),
    [
        (jnp.sin, [math.pi / 4, 9 * math.pi / 4, 70_001 * math.pi / 4], None),
        (jnp.tan, [math.pi / 4, 9 * math.pi / 4], 1),
        (jnp.exp, [math.log(2) / 2, 201 * math.log(2) / 2], 1),
        (jnp.expm1, [math.log(2) / 2, 3 * math.log(2) / 2, 40.0], 1),
        (jnp.tanh, [2.0**-28, math.log(2) / 4, 20.0], 1),
        (jnp.log, [math.sqrt(0.5), math.sqrt(2), 2.0**-1022], 1),
    ],
)
def test_no_step_where_the_formula_changes(f, centers, direction):
    """From one float to the next the value changes as the slope says, to a unit or two."""
    for x in map(next_to, centers):
        y = values(f, x)
        spacing = np.spacing(np.abs(y).max())
        slope = (y[-1] - y[0]) / (len(y) - 1)
        assert np.abs(np.diff(y) - slope).max() <= 2 * spacing
        if direction and abs(slope) > 2 * spacing:
            assert np.all(np.diff(y) > 0)


@by_name
def test_in_lanes_the_digits_are_the_same(case):
    """Of numbers of all sizes side by side, of which one may be the library's or none."""
    f, _, numbers = case
    given = numbers(np.random.default_rng(3))
    x = np.resize(np.concatenate([given, [0.0, -0.0, 1e6, np.inf, -np.inf, np.nan]]), 4001)
    for lanes in (2, 4):
        run = folds.side_by_side(lambda *rest: ((), f(rest[-1])), (), (), (), (), 0.0, lanes)
        many = run((), (), (), (), x[:, None], 1)[1]
        np.testing.assert_array_equal(many[:, 0].view(np.int64), values(f, x).view(np.int64))


def test_sine_and_cosine_of_an_angle_are_one_call():
    """And the digits are the same with and without the other."""
    x = np.linspace(-9.0, 9.0, 50)
    both = native.compile(lambda x: (jnp.sin(x), jnp.cos(x)), x)(x)
    np.testing.assert_array_equal(both[0], native.compile(jnp.sin, x)(x))
    np.testing.assert_array_equal(both[1], native.compile(jnp.cos, x)(x))
    text = function("sincos", own=True)
    assert Function(text, "f", (), numbers=("x",)).result == "{ double, double }"
    assert (
        "call double @llvm.sin" in Function(function("sincos", False), "f", (), numbers=["x"]).text
    )


def test_derivatives_are_those_of_jax():
    x = np.array([0.3, 1.2, 2.5])
    for f in (jnp.sin, jnp.cos, jnp.exp, jnp.log, jnp.tanh):
        g = jax.vmap(jax.grad(jax.grad(f)))
        np.testing.assert_allclose(native.compile(g, x)(x), g(x), rtol=1e-14)


@pytest.mark.parametrize("op", sorted(OWN))
def test_functions_are_those_of_the_library_where_there_is_no_fma(op):
    text = Function(function(op, own=False), "f", (), numbers=("x",)).text
    assert "fma" not in text
    assert "fadd" not in text


def test_constants_in_parts_are_what_they_say():
    with mp.workprec(300):
        quarter, log2 = mp.mpf(PI.numerator) / PI.denominator / 2, mp.log(2)
        assert abs(quarter - mp.pi / 2) < mp.mpf(10) ** -75
        assert abs(mp.mpf(LOG2.numerator) / LOG2.denominator - log2) < mp.mpf(10) ** -75
        assert abs(sum(map(mp.mpf, QUARTER)) - mp.pi / 2) < mp.mpf(2) ** -140
        assert abs(mp.mpf(LOG2_HIGH) + mp.mpf(LOG2_LOW) - log2) < mp.mpf(2) ** -96
    assert QUARTER[0] == math.pi / 2
    assert bits_of(QUARTER[1]) % 2 ** (53 - 36) == 0
    assert bits_of(LOG2_HIGH) % 2 ** (53 - 42) == 0


def test_an_economised_series_is_nearly_the_best_polynomial():
    """The error of one of degree n has n + 2 extrema of alternating sign, and none of degree n has
    a smaller error than the smallest of them (de la Vallee Poussin).
    """
    terms = [Fraction(1, math.factorial(j)) for j in range(14)]
    p = economised(terms, Fraction(-1), Fraction(1), 3)
    x = np.linspace(-1, 1, 2001)
    error = np.polyval(p[::-1], x) - np.exp(x)
    extrema = [max(map(abs, run)) for _, run in groupby(error.tolist(), lambda e: e > 0)]
    assert len(extrema) == 5
    assert min(extrema) > 0.8 * max(extrema)


def test_folding_of_fused_products_and_bits():
    fma = OTHER["fma"]
    a, b = 1 + 2.0**-30, 1 - 2.0**-30
    assert fma(a, b, -1.0) == -(2.0**-60)
    assert fma(math.inf, 1.0, 1.0) == math.inf
    assert math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1
    assert math.isnan(fma(math.inf, 0.0, 1.0))
    assert number_of(bits_of(-2.5)) == -2.5
    assert OTHER["right"](bits_of(-0.0), 63) == 1
