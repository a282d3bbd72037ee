"""Functions of mechanics as arithmetic: sin, cos, tan, exp, log and those of the hyperbola.

Each is a graph of selections and no jumps, the same text for one number and for many side by side,
so that the digits are the same: a reduction to a small interval in more digits than a float has, a
polynomial there, and in the end the sum of a large and a small part, which is the one rounding that
counts. The errors are below one unit in the last place, `tests/engines/test_functions.py` measures
them. Angles beyond `LARGEST` are left to the C library.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from accion.engines.arithmetic import ONE_BITS, ROUNDER, ROUNDER_BITS, Arithmetic
from accion.engines.folding import bits_of
from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT, INTEGER
from accion.engines.series import LOG2, PI, economised, parts
from accion.engines.values import Value

# Angles up to here have at most 17 bits of quarter turns, whose products with 36 bits of pi/2 are
# exact.
LARGEST = 2.0**17
QUARTER = parts(PI / 2, (53, 36, 53))
LOG2_HIGH, LOG2_LOW = parts(LOG2, (42, 53))  # products of the first with 11 bits are exact

# ---------------------------------------------------------------- angles


@cache
def sine_series() -> tuple[list[float], list[float]]:
    """(S, C): sin r = r + r^3 S(r^2) and cos r = 1 - r^2/2 + r^4 C(r^2) for |r| <= pi/4."""
    zero, end, f = Fraction(0), Fraction(5, 8), math.factorial  # (pi/4)^2 is 0.617
    sine = [Fraction((-1) ** (j + 1), f(2 * j + 3)) for j in range(11)]
    cosine = [Fraction((-1) ** j, f(2 * j + 4)) for j in range(11)]
    return economised(sine, zero, end, 6), economised(cosine, zero, end, 5)


def quarter_turns(m: Arithmetic, a: Value) -> tuple[Value, Value, Value]:
    """(r, rest, n): a = n pi/2 + r + rest, |r| <= pi/4, n in the last bits of an integer.

    pi/2 is P + Q + R, of 53, 36 and 53 bits. a - n P is exact, both being multiples of 2^-53 and
    the difference below one; n Q is exact, n having 17 bits; and what the sum r of the two leaves
    is known exactly, as r is exact itself wherever n Q is the larger (Cody and Waite, Software
    Manual for the Elementary Functions, 1980, with fused products).
    """
    P, Q, R = QUARTER
    shifted = m.fma(a, float(2 / PI), ROUNDER)
    n = m.sub(shifted, ROUNDER)
    first = m.fma(n, -P, a)
    r = m.fma(n, -Q, first)
    return r, m.fma(n, -R, m.fma(n, -Q, m.sub(first, r))), m.bits(shifted)


def kernels(
    m: Arithmetic, r: Value, rest: Value
) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    """sin and cos of r + rest, each as a number and a small one to be added to it."""
    S, C = sine_series()
    z, half = m.mul(r, r), m.mul(r, -0.5)
    top = m.fma(half, r, 1.0)  # 1 - r^2/2, and what its rounding took
    taken = m.fma(half, r, m.sub(1.0, top))
    sine = m.fma(m.mul(r, z), m.polynomial(z, S), m.mul(rest, top))
    cosine = m.fma(m.mul(z, z), m.polynomial(z, C), m.fma(m.neg(r), rest, taken))
    return (r, sine), (top, cosine)


def sincos(graph: Graph, x: Value) -> list[Value]:
    """sin x and cos x."""
    m = Arithmetic(graph)
    a = m.size(x)  # so that the sign of zero is kept
    r, rest, n = quarter_turns(m, a)
    sine, cosine = (m.add(*each) for each in kernels(m, r, rest))
    odd = minus_where_odd(m, n)
    results = [
        m.flipped(
            m.choose("lt", odd, 0.0, cosine, sine),
            m.whole("xor", m.bits(x), m.whole("left", n, 62)),
        ),
        m.flipped(
            m.choose("gt", odd, 0.0, cosine, sine), m.whole("left", m.whole("add", n, 1), 62)
        ),
    ]
    return unless_large(m, a, results, lambda: by_library(graph, "sincos", x))


def tan(graph: Graph, x: Value) -> list[Value]:
    """tan x = sin x / cos x, both to more digits than a float has."""
    m = Arithmetic(graph)
    a = m.size(x)
    r, rest, n = quarter_turns(m, a)
    sine, cosine = (m.rounded_sum(*each) for each in kernels(m, r, rest))
    odd = minus_where_odd(m, n)
    above = (
        m.choose("lt", odd, 0.0, cosine[0], sine[0]),
        m.choose("le", odd, 0.0, cosine[1], sine[1]),
    )
    below = (
        m.choose("gt", odd, 0.0, cosine[0], sine[0]),
        m.choose("ge", odd, 0.0, cosine[1], sine[1]),
    )
    q, left, scale = m.quotient(above, below)
    result = m.fma(left, scale, q)
    result = m.flipped(result, m.whole("xor", m.bits(x), m.whole("left", n, 63)))
    return unless_large(m, a, [result], lambda: by_library(graph, "tan", x))


def minus_where_odd(m: Arithmetic, n: Value) -> Value:
    """-1 or 1, for n odd or even."""
    return m.from_bits(m.whole("or", m.whole("left", n, 63), ONE_BITS))


def unless_large(
    m: Arithmetic, a: Value, results: list[Value], otherwise: Callable[[], list[Value]]
) -> list[Value]:
    """The results; where a is too large, infinite or NaN, what the C library says."""
    large = m.graph.compare("above_or_nan", a, m.number(LARGEST))
    return m.graph.branch(m.graph.convert(large, INTEGER), [lambda: results, otherwise])


# ---------------------------------------------------------------- exponentials


@cache
def exponential_series() -> list[float]:
    """P: e^r = 1 + r + r^2 (1/2 + r P(r)) for |r| <= log(2)/2."""
    end = Fraction(7, 20)
    return economised([Fraction(1, math.factorial(j + 3)) for j in range(16)], -end, end, 9)


def powers_of_two(m: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """(r, small, k): e^x = 2^k (1 + r + small), |r| <= log(2)/2; k as an integer."""
    shifted = m.fma(x, float(1 / LOG2), ROUNDER)
    k = m.sub(shifted, ROUNDER)
    high = m.fma(k, -LOG2_HIGH, x)
    r = m.fma(k, -LOG2_LOW, high)
    rest = m.fma(k, -LOG2_LOW, m.sub(high, r))
    series = m.fma(r, m.polynomial(r, exponential_series()), 0.5)
    small = m.fma(m.mul(r, r), series, rest)
    return r, small, m.whole("sub", m.bits(shifted), ROUNDER_BITS)


def exp(graph: Graph, x: Value) -> list[Value]:
    """e^x."""
    m = Arithmetic(graph)
    # Beyond, the result is infinite or zero; NaN passes.
    x = m.choose("gt", x, 710.0, 710.0, x)
    x = m.choose("lt", x, -746.0, -746.0, x)
    r, small, k = powers_of_two(m, x)
    top, taken = m.rounded_sum(m.number(1.0), r)
    # 2^k in two factors, which are ordinary numbers where 2^k is none
    exponent = m.whole("add", k, 2 * 1023)
    half = m.whole("right", exponent, 1)
    factors = [m.from_bits(m.whole("left", e, 52)) for e in (half, m.whole("sub", exponent, half))]
    result = m.add(top, m.add(small, taken))
    return [m.mul(m.mul(result, factors[0]), factors[1])]


def quarter_power(m: Arithmetic, k: Value) -> Value:
    """2^(k - 2), which is a float where 2^k is one no more."""
    return m.from_bits(m.whole("left", m.whole("add", k, 1021), 52))


def quarter_growth(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """(e^x - 1) / 4 as a number and a small one, for -40 <= x <= 710.5.

    With f = 2^k / 4 that is (f - 1/4) + f r + f small, of which the first is the largest or zero.
    """
    r, small, k = powers_of_two(m, x)
    f = quarter_power(m, k)
    first = m.sub(f, 0.25)
    second = m.fma(f, r, first)
    taken = m.add(m.fma(f, r, m.sub(first, second)), m.sub(m.sub(f, first), 0.25))
    return m.rounded_sum(second, m.fma(f, small, taken))


def expm1(graph: Graph, x: Value) -> list[Value]:
    """e^x - 1."""
    m = Arithmetic(graph)
    # Beyond, the result is infinite or -1; NaN passes.
    inside = m.choose("gt", x, 710.5, 710.5, x)
    inside = m.choose("lt", inside, -40.0, -40.0, inside)
    result = m.mul(m.add(*quarter_growth(m, inside)), 4.0)
    return [m.choose("lt", m.size(x), 2.0**-60, x, result)]


def odd_result(m: Arithmetic, x: Value, result: Value) -> list[Value]:
    """The result for |x| with the sign of x, and x where that is all."""
    return [m.choose("lt", m.size(x), 2.0**-28, x, m.flipped(result, m.bits(x)))]


def sinh(graph: Graph, x: Value) -> list[Value]:
    """sinh x = 2 (Q + (Q / 4) / (Q + 1/4)), Q = (e^x - 1) / 4."""
    m = Arithmetic(graph)
    a = m.size(x)
    high, low = quarter_growth(m, m.choose("gt", a, 710.5, 710.5, a))
    below, taken = m.rounded_sum_of_any(high, 0.25)
    above = m.mul(high, 0.25), m.mul(low, 0.25)
    q, left, scale = m.quotient(above, (below, m.add(taken, low)))
    total, lost = m.rounded_sum(high, q)
    return odd_result(m, x, m.mul(m.add(total, m.add(lost, m.fma(left, scale, low))), 2.0))


def cosh(graph: Graph, x: Value) -> list[Value]:
    """cosh x = 2 (E + (1/16) / E), E = e^|x| / 4."""
    m = Arithmetic(graph)
    a = m.size(x)
    r, small, k = powers_of_two(m, m.choose("gt", a, 710.5, 710.5, a))
    top, taken = m.rounded_sum(m.number(1.0), r)
    f = quarter_power(m, k)
    high, low = m.rounded_sum(m.mul(top, f), m.mul(m.add(small, taken), f))
    inverse = m.div(0.0625, high)
    sixteen = m.mul(inverse, 16.0)
    left = m.fma(m.neg(sixteen), low, m.fma(m.neg(sixteen), high, 1.0))
    total, lost = m.rounded_sum(high, inverse)
    return [m.mul(m.add(total, m.add(lost, m.fma(inverse, left, low))), 2.0)]


def tanh(graph: Graph, x: Value) -> list[Value]:
    """tanh x = Q / (Q + 1/2), Q = (e^2x - 1) / 4."""
    m = Arithmetic(graph)
    a = m.size(x)
    Q = high, low = quarter_growth(m, m.mul(m.choose("gt", a, 20.0, 20.0, a), 2.0))
    below, taken = m.rounded_sum_of_any(high, 0.5)
    q, left, scale = m.quotient(Q, (below, m.add(taken, low)))
    return odd_result(m, x, m.fma(left, scale, q))


# ---------------------------------------------------------------- the logarithm


@cache
def logarithm_series() -> list[float]:
    """R: log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 R(s^2)), s = f / (2 + f), for sqrt(1/2) <= 1 + f
    <= sqrt 2: that is 2 artanh s.
    """
    end = Fraction(3, 100)  # s^2 is 0.0294 at most
    return economised([Fraction(2, 2 * j + 3) for j in range(13)], Fraction(0), end, 6)


def mantissa(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """(f, k): x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt 2; k as a float."""
    least, base = 2.0**-1022, -(2.0**52) - 1023  # below `least` numbers have fewer digits
    bits = m.bits(m.choose("lt", x, least, m.mul(x, 2.0**54), x))
    base = m.choose("ge", x, least, base, base - 54)
    above = m.whole("add", bits, ONE_BITS - bits_of(math.sqrt(0.5)))
    exponent = m.whole("right", above, 52)
    k = m.add(m.from_bits(m.whole("or", exponent, bits_of(2.0**52))), base)
    taken = m.whole("sub", m.whole("left", exponent, 52), ONE_BITS)
    return m.sub(m.from_bits(m.whole("sub", bits, taken)), 1.0), k


def log(graph: Graph, x: Value) -> list[Value]:
    """log x = k log 2 + log(1 + f)."""
    m = Arithmetic(graph)
    f, k = mantissa(m, x)
    s = m.div(f, m.add(f, 2.0))
    w, half = m.mul(s, s), m.mul(f, 0.5)
    # k log 2 + f - f^2/2, and what the roundings took
    first = m.fma(k, LOG2_HIGH, f)
    second = m.fma(m.neg(f), half, first)
    taken = m.add(
        m.fma(k, LOG2_LOW, m.sub(f, m.fma(k, -LOG2_HIGH, first))),
        m.fma(m.neg(f), half, m.sub(first, second)),
    )
    series = m.fma(f, half, m.mul(w, m.polynomial(w, logarithm_series())))
    result = m.add(second, m.fma(s, series, taken))
    # infinity and NaN are themselves
    result = m.choose("lt", x, math.inf, result, x)
    return [m.choose("le", x, 0.0, m.choose("lt", x, 0.0, math.nan, -math.inf), result)]


# ---------------------------------------------------------------- programs

OWN: dict[str, Callable[[Graph, Value], list[Value]]] = {
    f.__name__: f for f in (sincos, tan, exp, expm1, sinh, cosh, tanh, log)
}


def by_library(graph: Graph, op: str, x: Value) -> list[Value]:
    """A function of the C library."""
    names = ("sin", "cos") if op == "sincos" else (op,)
    return [graph.value(name, (x,), FLOAT) for name in names]


def function(op: str, own: bool = True) -> Graph:
    """The program of the function `op` of a number "x", as arithmetic or as the C library has
    it.
    """
    graph = Graph()
    x = graph.argument("x", FLOAT)
    graph.give(OWN[op](graph, x) if own else by_library(graph, op, x))
    return graph
