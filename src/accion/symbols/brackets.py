"""Functions on TQ as polynomials, and their Poisson bracket.

A function F(t, q, v) stands for F(t, q, v(t, q, p)) with p = dL/dv, so with M = d2L/dv2

    dF/dp = M^-1 dF/dv        dF/dq at fixed p = dF/dq - (dF/dp).d2L/dqdv

and {F, G} = F_q.G_p - F_p.G_q; on a group derivatives by q are those along displacements of the
body, and p.[F_p, G_p] is taken off. Where time is a coordinate, with the momentum mu, F_t G_mu -
F_mu G_t is added.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ

from accion.symbols.polynomials import Polynomials
from accion.symbols.variables import Variables

FACTORED = 60  # terms of a determinant beyond which it is not taken apart


def rational(x: Any) -> Any:
    """A SymPy number as a coefficient."""
    return QQ(int(x.p), int(x.q))


def determinant(rows: Sequence[Sequence[Any]], ring: Polynomials) -> Any:
    """det of a small matrix of polynomials, by its first row."""
    if not rows:
        return ring.ring.one
    total = ring.ring.zero
    for j, entry in enumerate(rows[0]):
        if entry:
            rest = [[*row[:j], *row[j + 1 :]] for row in rows[1:]]
            total = total + (-1) ** j * entry * determinant(rest, ring)
    return ring.reduced(total)


def inverse_mass(L: Any, x: Variables) -> Any:
    """M^-1, its denominators in factors; blocks that do not see each other apart.

    Raises:
        ValueError: where M is singular.
    """
    n, ring = len(x.v), Polynomials([L], (x.t, *x.q, *x.v), 3)
    p = [ring.derivative(ring.read(L), v) for v in x.v]
    M = [[ring.derivative(a, v) for v in x.v] for a in p]
    out: Any = sp.zeros(n, n)
    for block in sp.Matrix(n, n, lambda i, j: ring.write(M[i][j])).connected_components():
        rows = [[M[i][j] for j in block] for i in block]
        det = determinant(rows, ring)
        if not det:
            raise ValueError("d2L/dv2 is singular: there is no modified Hamiltonian on (q, p).")
        below = in_factors(det, ring)
        for i, a in enumerate(block):
            for j, b in enumerate(block):
                minor = [[*r[:i], *r[i + 1 :]] for k, r in enumerate(rows) if k != j]
                out[a, b] = (-1) ** (i + j) * ring.write(determinant(minor, ring)) / below
    return out


def in_factors(p: Any, ring: Polynomials) -> Any:
    """A polynomial as a product, where it is short."""
    if len(p) > FACTORED:
        return ring.write(p)
    c, factors = p.factor_list()
    return sp.Mul(ring.write(ring.ring.ground_new(c)), *(ring.write(f) ** k for f, k in factors))


class Brackets:
    """Functions on TQ of a Lagrangian.

    Arguments:
        L: the Lagrangian.
        x: its letters.
        depth: how often derivatives are taken one after the other, at most.
    """

    def __init__(self, L: Any, x: Variables, depth: int) -> None:
        self.x, self.n = x, len(x.v)
        inverse = inverse_mass(L, x)
        self.ring = Polynomials([L, *inverse, *x.tangent], (x.t, *x.q, *x.v), depth)
        self.zero, self.one = self.ring.ring.zero, self.ring.ring.one
        read = self.ring.read
        self.L, self.v = read(L), [read(v) for v in x.v]
        n, rows = range(self.n), range(len(x.q))
        self.inverse = [[read(inverse[i, j]) for j in n] for i in n]
        self.tangent = [
            [(x.q[j], read(x.tangent[j, i])) for j in rows if x.tangent[j, i] != 0] for i in n
        ]
        self.turns = [
            (i, j, k, read(c))
            for i, e in enumerate(x.coad(x.v, x.p))
            for j, v in enumerate(x.v)
            for k, p in enumerate(x.p)
            if (c := sp.diff(e, v, p)) != 0
        ]
        self.found: dict[Any, Any] = {}

    # ------------------------------------------------------------ derivatives

    def displaced(self, F: Any, i: int) -> Any:
        """The derivative by the displacement number i of the configuration."""
        pairs = [(self.ring.derivative(F, q), k) for q, k in self.tangent[i]]
        return self.ring.dot(*zip(*pairs, strict=True)) if pairs else self.zero

    def by_time(self, F: Any) -> Any:
        """dF/dt."""
        return self.ring.derivative(F, self.x.t)

    def gradient(self, F: Any) -> list[Any]:
        """dF/dv."""
        return [self.by_velocities(F, (i,)) for i in range(self.n)]

    def by_velocities(self, F: Any, which: tuple[int, ...]) -> Any:
        """F differentiated by the velocities with these numbers."""
        if not which:
            return F
        if (F, which) not in self.found:
            below = self.by_velocities(F, which[:-1])
            self.found[F, which] = self.ring.derivative(below, self.x.v[which[-1]])
        return self.found[F, which]

    def along(self, F: Any) -> Any:
        """dF/dt on the way with constant velocity v."""
        rates = [self.displaced(F, i) for i in range(self.n)]
        return self.by_time(F) + self.ring.dot(self.v, rates)

    def coad(self, v: Sequence[Any], p: Sequence[Any]) -> list[Any]:
        """ad*_v p, the covector eta -> p([v, eta])."""
        out = [self.zero] * self.n
        for i, j, k, c in self.turns:
            out[i] = out[i] + c * v[j] * p[k]
        return [self.ring.reduced(a) for a in out]

    # ------------------------------------------------------------ on T*Q

    @cached_property
    def p(self) -> list[Any]:
        """dL/dv."""
        return self.gradient(self.L)

    @cached_property
    def mixed(self) -> list[list[Any]]:
        """d2L/dqdv, a row for each displacement, and that of time."""
        rows = [[self.displaced(p, i) for p in self.p] for i in range(self.n)]
        return [*rows, [self.by_time(p) for p in self.p]]

    def raised(self, covector: Sequence[Any]) -> list[Any]:
        """M^-1 of a covector."""
        return [self.ring.dot(row, covector) for row in self.inverse]

    def slopes(self, F: Any) -> tuple[list[Any], list[Any], Any]:
        """(dF/dp, dF/dq, dF/dt) at fixed p."""
        if F not in self.found:
            up = self.raised(self.gradient(F))
            *rest, late = [self.ring.dot(up, row) for row in self.mixed]
            fixed = [self.displaced(F, i) - r for i, r in enumerate(rest)]
            self.found[F] = up, fixed, self.by_time(F) - late
        return self.found[F]

    def bracket(self, F: Any, G: Any, mu: tuple[int, int] = (0, 0)) -> Any:
        """{F + mu_0 mu, G + mu_1 mu}, mu the momentum of time."""
        if F == G and mu[0] == mu[1]:
            return self.zero
        Fp, Fq, Ft = self.slopes(F)
        Gp, Gq, Gt = self.slopes(G)
        total = self.ring.dot(Fq, Gp) - self.ring.dot(Fp, Gq) + mu[1] * Ft - mu[0] * Gt
        return total - self.ring.dot(self.coad(Fp, self.p), Gp) if self.turns else total


class Shift:
    """Velocities v + h d_1 + h^2 d_2 + ..., put into power series of functions on TQ."""

    def __init__(self, brackets: Brackets) -> None:
        self.brackets = brackets
        self.terms: list[list[Any]] = [[brackets.zero] * brackets.n]
        self.found: dict[Any, Any] = {}

    def product(self, which: tuple[int, ...], m: int) -> Any:
        """The coefficient of h^m in the product of these components of the shift."""
        if m < len(which):
            return self.brackets.zero
        if len(which) == 1:
            return self.terms[m][which[0]]
        if (which, m) not in self.found:
            first = [self.terms[i][which[-1]] for i in range(1, m)]
            rest = [self.product(which[:-1], m - i) for i in range(1, m)]
            self.found[which, m] = self.brackets.ring.dot(first, rest)
        return self.found[which, m]

    def coefficient(self, series: Sequence[Any], k: int) -> Any:
        """That of h^k in sum_j h^j series_j(t, q, v + shift), by Taylor's formula; without what a
        term k of the shift that is not known yet adds to it by series_0.
        """
        own, total = self.brackets, series[k]
        for j in range(k):
            for count in range(1, k - j + 1):
                if count == 1 and k - j >= len(self.terms):
                    continue
                for which in combinations_with_replacement(range(own.n), count):
                    slope = own.by_velocities(series[j], which)
                    if slope:
                        part = self.product(which, k - j) * (QQ(1) / repeats(which))
                        total = total + own.ring.reduced(slope * part)
        return total


def repeats(which: Iterable[int]) -> Any:
    """The product of the factorials of how often each number is there."""
    numbers = list(which)
    return QQ(int(sp.prod([sp.factorial(numbers.count(i)) for i in set(numbers)])))
