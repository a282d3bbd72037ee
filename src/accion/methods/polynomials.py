"""Gauss and Lobatto points of a step, polynomials through them, and what follows from both: numbers
with forty digits, rounded once.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

DIGITS = 60
Numbers = list[Decimal]


class Points(NamedTuple):
    """Points c_i of a step [0, 1], with their weights."""

    c: Numbers
    w: Numbers


def legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """P_n(x), P_n'(x) and P_n''(x), |x| < 1."""
    before, p = Decimal(1), x
    if n == 0:
        return Decimal(1), Decimal(0), Decimal(0)
    for k in range(2, n + 1):
        before, p = p, ((2 * k - 1) * x * p - (k - 1) * before) / k
    slope = n * (x * p - before) / (x * x - 1)
    return p, slope, (2 * x * slope - n * (n + 1) * p) / (1 - x * x)


def roots(n: int, derivative: bool) -> Numbers:
    """The roots of P_n, or of its derivative, on [0, 1] in order."""
    of_P = np.polynomial.legendre.Legendre.basis(n)
    guesses = np.sort((of_P.deriv() if derivative else of_P).roots().real)
    found = []
    for guess in guesses:
        x = Decimal(float(guess))
        for _ in range(8):
            p, slope, bend = legendre(n, x)
            x -= slope / bend if derivative else p / slope
        found.append((x + 1) / 2)
    return found


def basis(nodes: Numbers) -> list[Numbers]:
    """The polynomials that are 1 at one of the nodes and 0 at the others: coefficients, the
    constant first.
    """
    found = []
    for j, own in enumerate(nodes):
        p = [Decimal(1)]
        for k, other in enumerate(nodes):
            if k != j:
                shifted = [Decimal(0), *p]
                scaled = [-other * a for a in p] + [Decimal(0)]
                p = [(a + b) / (own - other) for a, b in zip(shifted, scaled, strict=True)]
        found.append(p)
    return found


def value(p: Numbers, x: Decimal) -> Decimal:
    """A polynomial at x."""
    total = Decimal(0)
    for a in reversed(p):
        total = total * x + a
    return total


def derivative(p: Numbers) -> Numbers:
    """That of a polynomial."""
    return [k * a for k, a in enumerate(p)][1:] or [Decimal(0)]


def integral(p: Numbers, x: Decimal) -> Decimal:
    """That of a polynomial from 0 to x."""
    return value([Decimal(0), *[a / (k + 1) for k, a in enumerate(p)]], x)


def weighed(c: Numbers) -> Points:
    """The points with the weights that integrate the polynomials through them."""
    return Points(c, [integral(p, Decimal(1)) for p in basis(c)])


def gauss(s: int) -> Points:
    """The s Gauss points, exact for polynomials of degree 2s - 1."""
    return weighed(roots(s, derivative=False))


def lobatto(s: int) -> Points:
    """The s >= 2 Lobatto points, the ends among them, exact for degree 2s - 3."""
    return weighed([Decimal(0), *roots(s - 1, derivative=True), Decimal(1)])


def table(rows: Sequence[Sequence[Decimal | int]]) -> np.ndarray:
    return np.array([[float(a) for a in row] for row in rows])


def adding_up(w: Sequence[Decimal]) -> np.ndarray:
    """Weights as floating-point numbers that add up to one exactly, where some do."""
    found = np.array([float(a) for a in w])
    for i in np.argsort(-found):
        rest = 1 - sum(Fraction(float(a)) for a in np.delete(found, i))
        if Fraction(float(rest)) == rest and abs(float(rest) - found[i]) < 1e-14:
            found[i] = float(rest)
            break
    return found


class Polynomial(NamedTuple):
    """Polynomials of degree d on a step, sampled at points c_i with weights w_i.

    They go through the nodes 0 = n_0 < n_1 < ... < n_d = 1, and are given by their increments from
    the first, y_1, ..., y_d.
    """

    c: np.ndarray
    w: np.ndarray
    P: np.ndarray  # the value at c_i is sum_j P_ij y_j
    D: np.ndarray  # and the derivative sum_j D_ij y_j
    nodes: np.ndarray  # n_1, ..., n_d
    node_weights: np.ndarray  # of n_0, ..., n_d, by which they integrate
    node_slopes: np.ndarray  # the derivative at n_i, i = 0, ..., d, is sum_j node_slopes_ij y_j


@cache
def polynomial(s: int, quadrature: str) -> Polynomial:
    """Of degree s at s Gauss points, or of degree s - 1 at s Lobatto points."""
    with localcontext() as context:
        context.prec = DIGITS
        points = gauss(s) if quadrature == "gauss" else lobatto(s)
        nodes = lobatto(s + 1) if quadrature == "gauss" else points
        through = basis(nodes.c)[1:]
        slopes = [derivative(p) for p in through]
        return Polynomial(
            np.array([float(c) for c in points.c]),
            adding_up(points.w),
            table([[value(p, c) for p in through] for c in points.c]),
            table([[value(p, c) for p in slopes] for c in points.c]),
            np.array([float(c) for c in nodes.c[1:]]),
            np.array([float(w) for w in nodes.w]),
            table([[value(p, c) for p in slopes] for c in nodes.c]),
        )


class Stages(NamedTuple):
    """Collocation at the Gauss points of a step: what is y before the step and changes by k_j in
    the j-th stage is y + sum_j mu_ij k_j in the i-th, and y + sum_j k_j after it.
    """

    c: np.ndarray
    b: np.ndarray
    # With mu_ij + mu_ji = 1 in floating-point numbers: so the step is symplectic, and energies do
    # not drift by the rounding of coefficients.
    mu: np.ndarray
    # sum_j mu_ij b_j mu_jk: of what is summed twice, as forces are to positions. With twice_ij -
    # twice_ji = c_i - c_j in floating-point numbers, for the same reason.
    twice: np.ndarray
    ahead: np.ndarray  # rates of the next step are sum_j ahead_ij (those of this one), extrapolated


def rounded(x: Decimal) -> float:
    """A number below 1 to the nearest multiple of 2^-53: differences of such numbers are exact."""
    return float(round(x * 2**53)) / 2**53


@cache
def stages(s: int) -> Stages:
    """Of s Gauss points."""
    with localcontext() as context:
        context.prec = DIGITS
        c, b = gauss(s)
        through = basis(c)
        mu = [[integral(p, ci) / w for p, w in zip(through, b, strict=True)] for ci in c]
        found = np.full((s, s), 0.5)
        for i in range(s):
            for j in range(i):
                large, small = (i, j) if mu[i][j] > mu[j][i] else (j, i)
                found[large, small] = float(mu[large][small])
                found[small, large] = 1.0 - found[large, small]
        twice = table(
            [
                [sum(mu[i][j] * b[j] * mu[j][k] for j in range(s)) for k in range(s)]
                for i in range(s)
            ]
        )
        places = np.array([rounded(x) for x in c])
        for i in range(s):
            for j in range(i):
                twice[i, j] = rounded(Decimal(float(twice[i, j])))
                twice[j, i] = twice[i, j] - (places[i] - places[j])
        ahead = table([[value(p, 1 + ci) for p in through] for ci in c])
        return Stages(places, adding_up(b), found, twice, ahead)
