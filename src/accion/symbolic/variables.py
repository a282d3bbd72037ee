"""The letters of a system: its coordinates, velocities, multipliers and parameters as SymPy symbols.

Inside, everything is a real symbol, so that |x| and sqrt(x^2) simplify and derivatives are quick. Outside, coordinates are functions of
time, x(t), as `sympy.physics.mechanics` has them, and parameters plain symbols. Inner velocities x' and accelerations x'' have a sign in
their names that `word` takes out of a user's, so that none of hers can meet them.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any

import jax
import numpy as np
import sympy as sp

from accion.symbolic.calculus import derivative
from accion.symbolic.numbers import exact
from accion.systems.tree import is_number, join, split

TIME = sp.Symbol("t")


def symbols_like(names, suffix=""):
    return tuple(sp.Symbol(name + suffix, real=True) for name in names)


def array(symbols):
    """A tuple of symbols as an array."""
    out = np.empty(len(symbols), dtype=object)
    out[:] = symbols
    return out


def word(name):
    """A name that prints as one symbol: spaces and signs become underscores."""
    return re.sub(r"\W+", "_", name).strip("_") or "x"


def distinct(names, taken):
    """The names, with a number behind those that are taken or came before."""
    found: list[str] = []
    for i, name in enumerate(names):
        found.append(next(c for c in chain([name], (f"{name}_{k}" for k in count(i + 1))) if c not in taken and c not in found))
    return tuple(found)


def entries(params):
    """(names, index, value) of each number of `params`: the keys on the way to it and its index in its array."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        if is_number(leaf):
            names = [str(next(getattr(key, field) for field in ("key", "name", "idx") if hasattr(key, field))) for key in path]
            array = np.asarray(leaf)
            for index in np.ndindex(array.shape):
                yield names, index, array[index]


def parameter_names(rows, taken):
    """A name for each number of `params`: its own key; with the keys above it in front where that is taken or not a word."""
    short = [word("_".join([*names[-1:], *(str(i + 1) for i in index)])) for names, index, _ in rows]
    long = [word("_".join(["params", *names, *(str(i + 1) for i in index)])) for names, index, _ in rows]
    chosen = [
        b if a[0].isdigit() or a in taken or short.count(a) > 1 or not names else a for a, b, (names, _, _) in zip(short, long, rows, strict=True)
    ]
    return distinct(chosen, taken)


@dataclass(frozen=True)
class Variables:
    """The symbols of a system with `names` for its coordinates, `m` multipliers and the numbers in `params`."""

    names: tuple[str, ...]
    m: int
    params: Any

    @cached_property
    def t(self):
        return sp.Symbol("t", real=True)

    @cached_property
    def words(self):
        """The coordinates, made different from each other, from time, from the multipliers and from the momenta."""
        words = [word(name) for name in self.names]
        return distinct(words, {"t", *self.lam_words, *(f"p_{name}" for name in words)})

    @cached_property
    def q(self):
        return symbols_like(self.words)

    @cached_property
    def v(self):
        return symbols_like(self.words, "'")

    @cached_property
    def a(self):
        return symbols_like(self.words, "''")

    @cached_property
    def p(self):
        return symbols_like([f"p_{name}" for name in self.words])

    @cached_property
    def lam_words(self):
        return tuple(f"lambda_{i + 1}" if self.m > 1 else "lambda" for i in range(self.m))

    @cached_property
    def lam(self):
        return symbols_like(self.lam_words)

    @cached_property
    def dlam(self):
        return symbols_like(self.lam_words, "'")

    @cached_property
    def numbers(self):
        """{symbol: value} of the parameters, in the order of the leaves of `params`."""
        letters = {"t", *self.words, *self.lam_words}
        # What the discrete equations print besides: h, t_k, x_k, lambda_k.
        taken = letters | {"h"} | {f"p_{word}" for word in self.words} | {f"{letter}_k" for letter in letters}
        rows = list(entries(self.params))
        return dict(zip(symbols_like(parameter_names(rows, taken)), (value for _, _, value in rows), strict=True))

    def params_from(self, flat):
        """The params again, their numbers taken from the flat array."""
        leaves, frame = split(self.params)
        ends = np.cumsum([0, *(np.size(leaf) for leaf in leaves)])
        return join([flat[a:b].reshape(np.shape(leaf)) for a, b, leaf in zip(ends[:-1], ends[1:], leaves, strict=True)], frame)

    @cached_property
    def outside(self):
        """What each inner symbol is for the reader."""
        t = TIME
        functions = [sp.Function(name)(t) for name in self.words]
        multipliers = [sp.Function(name)(t) for name in self.lam_words]
        momenta = [sp.Function(f"p_{name}")(t) for name in self.words]
        pairs = [(self.t, t), *zip(self.q, functions, strict=True), *zip(self.lam, multipliers, strict=True), *zip(self.p, momenta, strict=True)]
        pairs += [(v, f.diff(t)) for v, f in zip((*self.v, *self.dlam), (*functions, *multipliers), strict=True)]
        pairs += [(a, f.diff(t, 2)) for a, f in zip(self.a, functions, strict=True)]
        return dict(pairs) | {symbol: sp.Symbol(symbol.name) for symbol in self.numbers}

    def show(self, expr):
        """An inner expression (or matrix of them) as the reader sees it."""
        return expr.xreplace(self.outside)

    def rate(self, expr):
        """d/dt along a motion: t, q, v and lam move with velocities 1, v, a and lam'."""
        moving = [*zip(self.q, self.v, strict=True), *zip(self.v, self.a, strict=True), *zip(self.lam, self.dlam, strict=True)]
        return derivative(expr, self.t) + sp.Add(*(derivative(expr, x) * dx for x, dx in moving))

    def values(self):
        """{symbol: number} of the parameters for the reader, exact where a person would write them so."""
        return {sp.Symbol(symbol.name): exact(value) for symbol, value in self.numbers.items()}
