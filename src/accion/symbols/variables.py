"""The letters of a system: its coordinates, velocities, multipliers and parameters as SymPy
symbols.

Inside, everything is a real symbol, so that |x| and sqrt(x^2) simplify and derivatives are quick.
Outside, coordinates are functions of time, x(t), as `sympy.physics.mechanics` has them, and
parameters plain symbols. Inner velocities x' and accelerations x'' have a sign in their names that
`word` takes out of a user's, so that none of hers can meet them. On a group the entries of its
matrix are functions of time, R_11(t), and so are the components of the body's velocity, omega_1(t);
g' = g hat(omega).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any

import jax
import numpy as np
import sympy as sp

from accion.spaces import Group, Product, Space
from accion.symbols.derivatives import derivative
from accion.symbols.exact_numbers import exact
from accion.systems.tree import is_number, join, split
from accion.types import Params

TIME = sp.Symbol("t")


def symbols_like(names: Iterable[str], suffix: str = "") -> tuple[sp.Symbol, ...]:
    """A real symbol for each name."""
    return tuple(sp.Symbol(name + suffix, real=True) for name in names)


def array(symbols: Sequence[Any]) -> np.ndarray:
    """A tuple of expressions as an array."""
    out = np.empty(len(symbols), dtype=object)
    out[:] = symbols
    return out


def word(name: str) -> str:
    """A name that prints as one symbol: spaces and signs become underscores."""
    return re.sub(r"\W+", "_", name).strip("_") or "x"


def distinct(names: Iterable[str], taken: Collection[str]) -> tuple[str, ...]:
    """The names, with a number behind those that are taken or came before."""
    found: list[str] = []
    for i, name in enumerate(names):
        found.append(
            next(
                c
                for c in chain([name], (f"{name}_{k}" for k in count(i + 1)))
                if c not in taken and c not in found
            )
        )
    return tuple(found)


def entries(params: Params) -> Iterator[tuple[list[str], tuple[int, ...], Any]]:
    """(names, index, value) of each number of `params`: the keys on the way to it and its index in
    its array.
    """
    for path, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        if is_number(leaf):
            names = [jax.tree_util.keystr((key,), simple=True) for key in path]
            array = np.asarray(leaf)
            for index in np.ndindex(array.shape):
                yield names, index, array[index]


def parameter_names(
    rows: Sequence[tuple[list[str], tuple[int, ...], Any]], taken: Collection[str]
) -> tuple[str, ...]:
    """A name for each number of `params`: its own key; with the keys above it in front where that
    is taken or not a word.
    """
    short = [
        word("_".join([*names[-1:], *(str(i + 1) for i in index)])) for names, index, _ in rows
    ]
    long = [
        word("_".join(["params", *names, *(str(i + 1) for i in index)])) for names, index, _ in rows
    ]
    chosen = [
        b if a[0].isdigit() or a in taken or short.count(a) > 1 or not names else a
        for a, b, (names, _, _) in zip(short, long, rows, strict=True)
    ]
    return distinct(chosen, taken)


@dataclass(frozen=True)
class Variables:
    """The symbols of a system with `names` for its coordinates, `m` multipliers and the numbers in
    `params`.

    Inside they are real symbols; `for_reader` turns them into what is printed.
    """

    names: tuple[str, ...]
    m: int
    params: Params
    space: Space | None = None  # None where it is flat
    multiplier: str = "lambda"  # what multipliers are called

    @cached_property
    def factors(self) -> tuple[tuple[Any, int, int], ...]:
        """(space, first, end) of each factor, with the degrees of freedom that it has."""
        spaces = self.space.factors if isinstance(self.space, Product) else (self.space,)
        ends = np.cumsum(
            [0, *(len(self.names) if space is None else space.dim for space in spaces)]
        )
        return tuple(zip(spaces, map(int, ends[:-1]), map(int, ends[1:]), strict=True))

    @cached_property
    def moving(self) -> tuple[bool, ...]:
        """For each degree of freedom whether its letter stands for a velocity, as on a group, not
        for a coordinate.
        """
        return tuple(
            isinstance(space, Group)
            for space, first, end in self.factors
            for _ in range(first, end)
        )

    @cached_property
    def t(self) -> sp.Symbol:
        """Time."""
        return sp.Symbol("t", real=True)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The coordinates, on a group the velocities, made different from each other, from time,
        from the multipliers and from the momenta.
        """
        words = [word(name) for name in self.names]
        for space, first, end in self.factors:
            if isinstance(space, Group):
                # The letters of the group, unless the user gave her own.
                default = [word(name.split("[")[0]) for name in space.coordinates()]
                words[first:end] = [
                    a if b == c else b
                    for a, b, c in zip(space.letters()[1], words[first:end], default, strict=True)
                ]
        return distinct(words, {"t", *self.lam_words, *(f"p_{name}" for name in words)})

    @cached_property
    def configuration(self) -> Any:
        """A configuration of the space with symbols as its entries."""
        taken, parts = {"t", *self.words, *self.lam_words}, []
        for space, first, end in self.factors:
            if not isinstance(space, Group):
                parts.append(array(symbols_like(self.words[first:end])))
                continue
            entries = np.array(space.letters()[0], dtype=object)
            names = distinct([name for name in entries.flat if isinstance(name, str)], taken)
            taken |= set(names)
            found = iter(symbols_like(names))
            parts.append(
                np.array(
                    [next(found) if isinstance(e, str) else sp.Integer(e) for e in entries.flat],
                    dtype=object,
                ).reshape(entries.shape)
            )
        return tuple(parts) if isinstance(self.space, Product) else parts[0]

    @cached_property
    def parts(self) -> tuple[np.ndarray, ...]:
        """The configuration in each factor of the space."""
        return self.configuration if isinstance(self.space, Product) else (self.configuration,)

    @cached_property
    def q(self) -> tuple[sp.Symbol, ...]:
        """The symbols of a configuration: coordinates, or the entries of a matrix that are not
        fixed.
        """
        return tuple(x for part in self.parts for x in part.flat if x.is_Symbol)

    @cached_property
    def tangent(self) -> Any:
        """The matrix K of dq/dt = K v, one row for each symbol of `q`: on a group that of g' = g
        hat(v).
        """
        K = sp.zeros(len(self.q), len(self.v))
        index = {x: i for i, x in enumerate(self.q)}
        for part, (space, first, end) in zip(self.parts, self.factors, strict=True):
            for j in range(first, end):
                if isinstance(space, Group):
                    E = np.asarray(space.hat(np.eye(space.dim)[j - first]))
                    moved = part @ np.vectorize(exact, otypes=[object])(E)
                    for x, dx in zip(part.flat, moved.flat, strict=True):
                        if x.is_Symbol:
                            K[index[x], j] = dx
                else:
                    K[index[part[j - first]], j] = 1
        return K

    def displaced(self, expr: Any, i: int) -> Any:
        """The derivative of an expression by the displacement number i of the configuration."""
        return sp.Add(
            *(
                derivative(expr, x) * self.tangent[j, i]
                for j, x in enumerate(self.q)
                if self.tangent[j, i] != 0
            )
        )

    def coad(self, v: Sequence[Any], p: Sequence[Any]) -> list[Any]:
        """ad*_v p, the covector eta -> p([v, eta]); zero on flat spaces."""
        out: list[Any] = [sp.Integer(0)] * len(v)
        for space, first, end in self.factors:
            if isinstance(space, Group):
                one = jax.numpy.eye(space.dim)
                for i in range(first, end):
                    brackets = [np.asarray(space.ad(e, one[i - first])) for e in one]
                    out[i] = sp.Add(
                        *(
                            v[first + j] * exact(c) * p[first + k]
                            for j, row in enumerate(brackets)
                            for k, c in enumerate(row)
                            if c
                        )
                    )
        return out

    @cached_property
    def v(self) -> tuple[sp.Symbol, ...]:
        """The velocities."""
        return symbols_like(self.words, "'")

    @cached_property
    def a(self) -> tuple[sp.Symbol, ...]:
        """The accelerations."""
        return symbols_like(self.words, "''")

    @cached_property
    def p(self) -> tuple[sp.Symbol, ...]:
        """The momenta."""
        return symbols_like([f"p_{name}" for name in self.words])

    @cached_property
    def lam_words(self) -> tuple[str, ...]:
        """The names of the multipliers."""
        name = self.multiplier
        return tuple(f"{name}_{i + 1}" if self.m > 1 else name for i in range(self.m))

    @cached_property
    def lam(self) -> tuple[sp.Symbol, ...]:
        """The multipliers."""
        return symbols_like(self.lam_words)

    @cached_property
    def dlam(self) -> tuple[sp.Symbol, ...]:
        """Their derivatives."""
        return symbols_like(self.lam_words, "'")

    @cached_property
    def numbers(self) -> dict[sp.Symbol, Any]:
        """{symbol: value} of the parameters, in the order of the leaves of `params`."""
        letters = {"t", *self.words, *self.lam_words, *(x.name for x in self.q)}
        # What the discrete equations print besides: h, t_k, x_k, lambda_k.
        taken = (
            letters
            | {"h"}
            | {f"p_{word}" for word in self.words}
            | {f"{letter}_k" for letter in letters}
        )
        rows = list(entries(self.params))
        return dict(
            zip(
                symbols_like(parameter_names(rows, taken)),
                (value for _, _, value in rows),
                strict=True,
            )
        )

    def params_from(self, flat: Any) -> Params:
        """The params again, their numbers taken from the flat array."""
        leaves, frame = split(self.params)
        ends = np.cumsum([0, *(np.size(leaf) for leaf in leaves)])
        return join(
            [
                flat[a:b].reshape(np.shape(leaf))
                for a, b, leaf in zip(ends[:-1], ends[1:], leaves, strict=True)
            ],
            frame,
        )

    @cached_property
    def reader_letters(self) -> dict[Any, Any]:
        """What each inner symbol is for the reader."""
        t = TIME
        functions = [sp.Function(name)(t) for name in self.words]
        entries = [sp.Function(x.name)(t) for x in self.q]
        multipliers = [sp.Function(name)(t) for name in self.lam_words]
        momenta = [sp.Function(f"p_{name}")(t) for name in self.words]
        pairs = [
            (self.t, t),
            *zip(self.q, entries, strict=True),
            *zip(self.lam, multipliers, strict=True),
            *zip(self.p, momenta, strict=True),
        ]
        pairs += [
            (v, f if moving else f.diff(t))
            for v, f, moving in zip(self.v, functions, self.moving, strict=True)
        ]
        pairs += [
            (a, f.diff(t) if moving else f.diff(t, 2))
            for a, f, moving in zip(self.a, functions, self.moving, strict=True)
        ]
        pairs += [(dlam, f.diff(t)) for dlam, f in zip(self.dlam, multipliers, strict=True)]
        return dict(pairs) | {symbol: sp.Symbol(symbol.name) for symbol in self.numbers}

    def for_reader(self, expr: Any) -> Any:
        """An inner expression (or matrix of them) as it is printed."""
        return expr.xreplace(self.reader_letters)

    def rate(self, expr: Any) -> Any:
        """d/dt along a motion: t, q, v and lam move with velocities 1, K v, a and lam'."""
        moving = [*zip(self.v, self.a, strict=True), *zip(self.lam, self.dlam, strict=True)]
        along = [self.displaced(expr, i) * v for i, v in enumerate(self.v)]
        return derivative(expr, self.t) + sp.Add(
            *along, *(derivative(expr, x) * dx for x, dx in moving)
        )

    def values(self) -> dict[sp.Symbol, Any]:
        """{symbol: number} of the parameters for the reader, exact where a person would write them
        so.
        """
        return {sp.Symbol(symbol.name): exact(value) for symbol, value in self.numbers.items()}
