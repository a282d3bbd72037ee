"""Coefficients of polynomials that stand for functions, and constants in parts, from exact series.

Nothing here is typed in but the digits of pi and of log 2; all else is computed in fractions.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

PI = Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899863"
)
LOG2 = Fraction(
    "0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560"
)


def economised(
    terms: Sequence[Fraction], low: Fraction, high: Fraction, degree: int
) -> list[float]:
    """The coefficients, constant first, of the polynomial of this degree that is close to the sum
    of `terms[j] x^j` for all x between `low` and `high`.

    The highest power left, a x^n, is replaced by what a Chebyshev polynomial of the interval makes
    of it, a (x^n - T_n(x) / lead): of all polynomials of lower degree that one misses it least
    (Lanczos, Applied Analysis, 1956).
    """
    left = list(terms)
    chebyshev = chebyshev_polynomials(low, high, len(left) - 1)
    for n in range(len(left) - 1, degree, -1):
        factor = left[n] / chebyshev[n][n]
        for j, c in enumerate(chebyshev[n]):
            left[j] -= factor * c
        left.pop()
    return [float(c) for c in left]


def chebyshev_polynomials(low: Fraction, high: Fraction, degree: int) -> list[list[Fraction]]:
    """The coefficients of T_0, ..., T_degree of y = (2 x - low - high) / (high - low) in powers of
    x: T_{n+1} = 2 y T_n - T_{n-1}.
    """
    shift, slope = -(low + high) / (high - low), 2 / (high - low)
    found = [[Fraction(1)], [shift, slope]]
    for _ in range(degree - 1):
        last, before = found[-1], found[-2]
        new = [Fraction(0)] * (len(last) + 1)
        for j, c in enumerate(last):
            new[j] += 2 * shift * c
            new[j + 1] += 2 * slope * c
        for j, c in enumerate(before):
            new[j] -= c
        found.append(new)
    return found


def parts(number: Fraction, bits: Sequence[int]) -> list[float]:
    """Floats whose sum is the number to the last one's precision, each of so many bits."""
    found = []
    for n in bits:
        unit = Fraction(2) ** (math.frexp(float(number))[1] - n)
        part = round(number / unit) * unit
        found.append(float(part))
        number -= part
    return found
