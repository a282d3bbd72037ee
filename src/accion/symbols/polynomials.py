"""Expressions as polynomials in letters and in functions of letters, so that sums and products of
many derivatives stay short without a search for simplifications.

The generators are the letters, functions such as sin(x), exponentials, and for each sum b in a
denominator or under a root r = b^(-1/d): so b^(k/d) is a product of b and r. Derivatives of
generators are polynomials in the generators again. Terms are brought to one form by

    cos(u)^2 = 1 - sin(u)^2        cosh(u)^2 = 1 + sinh(u)^2        b r^d = 1
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ
from sympy.polys.orderings import lex
from sympy.polys.rings import ring

from accion.symbols.derivatives import derivative

Rule = tuple[Any, Any]  # a monomial, and the polynomial that takes its place
SQUARES = ((sp.cos, sp.sin, -1), (sp.cosh, sp.sinh, 1))


@dataclass(frozen=True)
class Root:
    """base^(-1/d)."""

    base: Any
    d: int


def parts_of(power: Any) -> tuple[Any, Any]:
    """(base, exponent) of a power or an exponential; exp(c a), c a number, is exp(a)^c."""
    if isinstance(power, sp.exp):
        inside: Any = power.args[0]
        c, a = inside.as_coeff_Mul(rational=True)
        return sp.exp(a), c
    return power.base, power.exp


def is_power(expr: Any) -> bool:
    """Whether an expression is a power with a rational exponent."""
    return isinstance(expr, sp.exp) or (expr.is_Pow and expr.exp.is_Rational)


class Generators:
    """The generators that some expressions and their derivatives need."""

    def __init__(self, expressions: Iterable[Any], variables: Sequence[Any], depth: int) -> None:
        self.atoms: dict[Any, None] = {}
        self.degrees: dict[Any, int] = {}  # of roots, by their base
        self.slopes: dict[tuple[Any, Any], Any] = {}
        for expr in expressions:
            self.visit(sp.sympify(expr))
        looked: set[Any] = set()
        for _ in range(depth):
            new = [atom for atom in self.atoms if not atom.is_Symbol and atom not in looked]
            if not new:
                break
            looked |= set(new)
            for atom in new:
                for x in variables:
                    if atom.has(x):
                        self.slopes[atom, x] = derivative(atom, x)
                        self.visit(self.slopes[atom, x])

    def visit(self, expr: Any) -> None:
        """Note what `expr` is made of."""
        if expr.is_Rational:
            return
        if expr.is_Add or expr.is_Mul:
            for part in expr.args:
                self.visit(part)
        elif is_power(expr):
            base, e = parts_of(expr)
            if isinstance(base, sp.exp):
                self.atoms[base] = None
            else:
                self.visit(base)
            if e < 0 or not e.is_Integer:
                self.degrees[base] = math.lcm(self.degrees.get(base, 1), int(e.q))
        else:
            self.atoms[expr] = None
            for f, g, _ in SQUARES:
                if isinstance(expr, f):
                    self.atoms[g(*expr.args)] = None


class Polynomials:
    """The ring of such polynomials over the rational numbers.

    Arguments:
        expressions: which it must contain, with their derivatives.
        variables: the letters by which derivatives are taken.
        depth: how often at most.
    """

    def __init__(self, expressions: Iterable[Any], variables: Sequence[Any], depth: int) -> None:
        found = Generators([*expressions, *variables], variables, depth)
        self.variables, self.slopes_of = tuple(variables), found.slopes
        self.known: dict[tuple[Any, Any], Any] = {}
        functions = [atom for atom in found.atoms if not atom.is_Symbol]
        letters = sorted((a for a in found.atoms if a.is_Symbol), key=self.place)
        # cos before sin, and functions before letters: the first are those that are replaced.
        functions.sort(key=lambda f: (not isinstance(f, sp.cos | sp.cosh), str(f)))
        roots = [Root(base, d) for base, d in found.degrees.items()]
        self.atoms = (*functions, *letters, *roots)
        names = [sp.Dummy(f"g{i}") for i in range(len(self.atoms))]
        self.ring, *generators = ring(names, QQ, lex)
        self.generator = dict(zip(self.atoms, generators, strict=True))
        self.root = {r.base: (self.generator[r], r.d) for r in roots}
        self.rules: list[Rule] = []
        self.rules += [self.square(f) for f in functions if isinstance(f, sp.cos | sp.cosh)]
        for r in roots:
            self.rules.append(self.root_rule(r))

    def place(self, letter: Any) -> tuple[int, str]:
        """Variables before parameters."""
        known = letter in self.variables
        return (self.variables.index(letter) if known else len(self.variables), str(letter))

    def square(self, f: Any) -> Rule:
        """The rule for the square of a cosine."""
        other, sign = next((g, sign) for kind, g, sign in SQUARES if isinstance(f, kind))
        g = self.generator[other(*f.args)]
        return (self.generator[f] ** 2).LM, 1 + sign * g**2

    def root_rule(self, root: Root) -> Rule:
        """The rule for base times root^d."""
        base, r = self.read(root.base), self.generator[root] ** root.d
        lead = self.ring.from_dict({base.LM: base.LC})
        rest = (base - lead) * r
        return (lead * r).LM, (1 - rest) * (1 / base.LC)

    # ------------------------------------------------------------ in and out

    def read(self, expr: Any) -> Any:
        """The polynomial of an expression."""
        expr = sp.sympify(expr)
        if expr.is_Rational:
            return self.ring.ground_new(QQ(int(expr.p), int(expr.q)))
        if expr.is_Add:
            return self.ring.add(*map(self.read, expr.args))
        if expr.is_Mul:
            total = self.ring.one
            for part in expr.args:
                total = self.reduced(total * self.read(part))
            return total
        if is_power(expr):
            return self.power(*parts_of(expr))
        return self.generator[expr]

    def power(self, base: Any, e: Any) -> Any:
        """base^e, e a rational number."""
        known = self.generator[base] if isinstance(base, sp.exp) else self.read(base)
        if e.is_Integer and e >= 0:
            return self.reduced(known ** int(e))
        r, d = self.root[base]
        whole = max(0, int(math.ceil(e)))
        return self.reduced(known**whole * r ** int((whole - e) * d))

    def write(self, p: Any) -> Any:
        """The expression of a polynomial."""
        return sp.Add(*(self.product(m) * number(c) for m, c in p.terms()))

    def collected(self, p: Any, letters: Sequence[Any]) -> Any:
        """The expression of a polynomial, as a sum over its monomials in these letters, the factors
        that all terms of a coefficient share taken out.
        """
        places = [self.atoms.index(x) for x in letters]
        groups: dict[Any, dict[Any, Any]] = {}
        for m, c in p.terms():
            rest = list(m)
            for i in places:
                rest[i] = 0
            groups.setdefault(tuple(m[i] for i in places), {})[tuple(rest)] = c
        total = []
        for powers, terms in groups.items():
            outer = sp.Mul(*(x**k for x, k in zip(letters, powers, strict=True)))
            total.append(outer * self.factored(terms))
        return sp.Add(*total)

    def factored(self, terms: dict[Any, Any]) -> Any:
        """A sum {monomial: coefficient} as an expression, over one denominator of numbers and
        letters, the factors that all terms share taken out.
        """
        below = math.lcm(*(int(c.denominator) for c in terms.values()))
        above = math.gcd(*(int(c.numerator) for c in terms.values()))
        outer = list(map(min, zip(*terms, strict=True)))
        inverses = [(i, self.atoms.index(a.base)) for i, a in enumerate(self.atoms) if lone(a)]
        for i, _ in inverses:
            outer[i] = max(m[i] for m in terms)
        parts = []
        for m, c in terms.items():
            rest = [a - b for a, b in zip(m, outer, strict=True)]
            for i, letter in inverses:
                rest[i], rest[letter] = 0, rest[letter] - rest[i]
            parts.append(self.product(rest) * number(c * below / above))
        return self.product(outer) * sp.Rational(above, below) * sp.Add(*parts)

    def product(self, monomial: Sequence[int]) -> Any:
        """The expression of a monomial."""
        return sp.Mul(*(x**k for x, k in zip(self.written, monomial, strict=True) if k))

    @cached_property
    def written(self) -> tuple[Any, ...]:
        """The expression of each generator."""
        return tuple(
            a.base ** sp.Rational(-1, a.d) if isinstance(a, Root) else a for a in self.atoms
        )

    # ------------------------------------------------------------ calculation

    def reduced(self, p: Any) -> Any:
        """The form of a polynomial that the rules leave."""
        changed = True
        while changed:
            changed = False
            for lead, other in self.rules:
                p, applied = replaced(p, lead, other)
                changed = changed or applied
        return p

    def times(self, a: Any, b: Any) -> Any:
        """The product."""
        return self.reduced(a * b)

    def dot(self, a: Iterable[Any], b: Iterable[Any]) -> Any:
        """sum_i a_i b_i."""
        total = self.ring.zero
        for x, y in zip(a, b, strict=True):
            if x and y:
                total = total + x * y
        return self.reduced(total)

    @cached_property
    def moving(self) -> dict[Any, list[Any]]:
        """For each variable the atoms that depend on it."""
        return {
            x: [a for a in self.atoms if (a.base if isinstance(a, Root) else a).has(x)]
            for x in self.variables
        }

    def slope(self, atom: Any, x: Any) -> Any:
        """The derivative of a generator by a variable on which it depends."""
        if (atom, x) not in self.known:
            self.known[atom, x] = self.new_slope(atom, x)
        return self.known[atom, x]

    def new_slope(self, atom: Any, x: Any) -> Any:
        if isinstance(atom, Root):
            change = self.derivative(self.read(atom.base), x) * QQ(-1, atom.d)
            return self.reduced(change * self.generator[atom] ** (atom.d + 1))
        if atom == x:
            return self.ring.one
        if (atom, x) not in self.slopes_of:
            raise ValueError(f"derivatives of {atom} by {x} are more than were prepared.")
        return self.read(self.slopes_of[atom, x])

    def derivative(self, p: Any, x: Any) -> Any:
        """dp/dx."""
        total = self.ring.zero
        for atom in self.moving[x]:
            part = p.diff(self.generator[atom])
            if part:
                total = total + part * self.slope(atom, x)
        return self.reduced(total)


def replaced(p: Any, lead: Any, other: Any) -> tuple[Any, bool]:
    """`p` with each power of the monomial `lead` that divides a term replaced by that of `other`,
    and whether there was one.
    """
    used = [(i, e) for i, e in enumerate(lead) if e]
    parts: dict[int, dict[Any, Any]] = {}
    for m, c in p.items():
        k = min(m[i] // e for i, e in used)
        if k:
            short = list(m)
            for i, e in used:
                short[i] -= k * e
            m = tuple(short)
        part = parts.setdefault(k, {})
        part[m] = part.get(m, 0) + c
    most = max(parts, default=0)
    if not most:
        return p, False
    total = p.ring.zero
    for k in range(most, -1, -1):
        total = total * other + p.ring.from_dict(parts.get(k, {}))
    return total, True


def lone(atom: Any) -> bool:
    """Whether a generator is 1/x of a letter x."""
    return isinstance(atom, Root) and atom.d == 1 and atom.base.is_Symbol


def number(c: Any) -> Any:
    """A coefficient as an expression."""
    return sp.Rational(int(c.numerator), int(c.denominator))
