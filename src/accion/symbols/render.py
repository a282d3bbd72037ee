"""Equations on a page: LaTeX for notebooks, unicode for the terminal."""

import math
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import sympy as sp
from sympy.physics.vector.printing import VectorPrettyPrinter, vlatex
from sympy.printing.conventions import split_super_sub
from sympy.printing.latex import tex_greek_dictionary, translate
from sympy.printing.pretty.pretty_symbology import greek_unicode

from accion.checks import refuse
from accion.symbols.exact_numbers import exact

WIDTH, LEAST = 150, 40  # letters of a line where there is no terminal, and at least
UNBROKEN, ROOM, INDENT = 10**6, 8, 4
LINE = 90  # letters of a formula that a notebook has room for
TIME = sp.Symbol("t")
# Letters that are printed, in words.
IN_FULL = {"E": "energy", "L": "Lagrangian", "H": "Hamiltonian", "L_d": "Lagrangian"}
RATES = {"E": "power"}
# What takes no room of its own in a formula, or the room of one letter.
NO_ROOM = re.compile(r"\\(left|right|mathrm|text|frac|,|quad|dot|ddot)(?![a-z])|[{}\s]")
ONE_LETTER = re.compile(r"\\[A-Za-z]+")
PIECE = re.compile(r"\\left|\\right|[{}]| [+-] | = ")


def legible(expr: Any) -> Any:
    """The same with the numbers that rounding made 300.00000000000001 or so as they were meant:
    the digits beyond the fifteenth are not known.
    """
    if isinstance(expr, sp.Eq):
        return equation(legible(expr.lhs), legible(expr.rhs))
    meant = {x: exact(float(f"{x:.15g}")) for x in expr.atoms(sp.Float)}
    return expr.xreplace({x: y if y.is_Rational else sp.Float(x, 15) for x, y in meant.items()})


def pretty(expr: Any, width: int = WIDTH) -> str:
    """Unicode text with dots for the derivatives by time, in lines of at most `width` letters: the
    terms of a long sum stand in rows, and a term that is still too long is broken at the edge.
    """
    expr = legible(expr)
    whole = drawn(expr, UNBROKEN)
    if wide(whole) <= width or not isinstance(expr, sp.Equality):
        return whole if wide(whole) <= width else drawn(expr, width)
    zero = expr.rhs == 0
    total: Any = sp.expand_mul(expr.lhs if zero else expr.rhs, deep=False)
    rows: list[list[Any]] = []
    for term in total.as_ordered_terms():
        if rows and wide(drawn(sp.Add(*rows[-1], term), UNBROKEN)) <= width - ROOM:
            rows[-1].append(term)
        else:
            rows.append([term])
    texts = [] if zero else [f"{drawn(expr.lhs, width)} ="]
    for i, row in enumerate(rows):
        part, sign = sp.Add(*row), "+ " if i else "  "
        if i and len(row) == 1 and part.could_extract_minus_sign():
            part, sign = -part, "- "
        lines = drawn(part, width - ROOM).splitlines()
        # Signs stand in the line of the fraction bars.
        level = min(printer(UNBROKEN)._print(lettered(part)).baseline, len(lines) - 1)
        if zero and i == len(rows) - 1:
            lines[level if wide(drawn(part, UNBROKEN)) <= width - ROOM else -1] += " = 0"
        texts += [(sign if k == level else "  ") + line for k, line in enumerate(lines)]
    return "\n".join(line.rstrip() for line in texts)


def printer(width: int) -> Any:
    """What draws formulas, in lines of so many letters."""
    return VectorPrettyPrinter({"use_unicode": True, "wrap_line": True, "num_columns": width})


def lettered(expr: Any) -> Any:
    """An expression with Greek letters for what they are called in subscripts too."""
    names = {
        s: sp.Symbol("_".join(str(greek_unicode.get(part, part)) for part in s.name.split("_")))
        for s in expr.atoms(sp.Symbol)
        if any(part in greek_unicode for part in s.name.split("_")[1:])
    }
    return expr.xreplace(names)


def drawn(expr: Any, width: int) -> str:
    """Unicode text, broken at the edge where it is wider."""
    return printer(width).doprint(lettered(expr))


def wide(text: str) -> int:
    """How many letters its longest line has."""
    return max(map(len, text.splitlines()), default=0)


def terminal() -> int:
    """How wide the terminal is; where there is none, wide."""
    return max(LEAST, shutil.get_terminal_size((WIDTH, 24)).columns)


def tex(expr: Any) -> str:
    """LaTeX with dots for the derivatives by time; names of several letters stand upright, so that
    ma is not m a.
    """
    expr = legible(expr)
    names = {symbol: upright(symbol.name) for symbol in expr.atoms(sp.Symbol)}
    return vlatex(
        expr,
        mul_symbol=r" \, ",
        symbol_names={symbol: name for symbol, name in names.items() if name},
    )


def upright(name: str) -> str | None:
    """The LaTeX of a name of several letters, None for one letter and for Greek, which SymPy
    knows.
    """
    parts: Any = split_super_sub(name)
    base, above, below = parts
    if len(base) < 2 or above or base in tex_greek_dictionary or translate(base) != base:
        return None
    return rf"\mathrm{{{base}}}" + (
        rf"_{{{' '.join(str(translate(part)) for part in below)}}}" if below else ""
    )


def equation(left: Any, right: Any) -> Any:
    """left = right, also where both are the same."""
    return sp.Eq(left, right, evaluate=False)


def equations_of(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """left_i = right_i."""
    return [equation(a, b) for a, b in zip(left, right, strict=True)]


@dataclass(frozen=True)
class Sheet:
    """Titled groups of equations, as they stand on a page.

    `complete` is False where the time for simplification ran out.
    """

    title: str
    groups: tuple[tuple[str, list[Any]], ...]
    complete: bool

    def latex(self, width: float = math.inf) -> str:
        """All groups as one LaTeX environment; equations of more letters than `width` stand on
        several lines.
        """
        rows = [
            rf"&\text{{{title}}} \\ "
            + r" \\ ".join(f"&{line}" for each in equations for line in aligned(each, width))
            for title, equations in self.groups
        ]
        return r"\begin{aligned} " + r" \\ ".join(rows) + r" \end{aligned}"

    def text(self, width: int | None = None) -> str:
        """All groups as unicode text, in lines as wide as the terminal, or `width`."""
        room = (terminal() if width is None else width) - INDENT
        lines = [self.title]
        for title, equations in self.groups:
            lines += ["", title]
            for equation in equations:
                lines += ["    " + line for line in pretty(equation, room).splitlines()]
        if not self.complete:
            lines += [
                "",
                (
                    "(The time for simplification ran out: some of these are longer than they need"
                    " be; try symbolic(system, seconds=60).)"
                ),
            ]
        return "\n".join(lines)


def sheet_of(
    title: str | None, groups: Iterable[tuple[str, Sequence[Any]]], complete: bool
) -> Sheet:
    """The sheet of those groups that have equations. A letter that is printed, such as E, is
    written in full where the system has a parameter or a coordinate of that name.
    """
    found = [(words, list(equations)) for words, equations in groups if equations]
    used = set().union(*(names_in(each) for _, rows in found for each in rows))
    new: dict[Any, Any] = {}
    for letter, word in IN_FULL.items():
        if letter in used:
            new[sp.Symbol(letter)] = sp.Symbol(word)
            new[sp.Function(letter)(TIME).diff(TIME)] = sp.Symbol(RATES.get(letter, word))
    rows = ((words, [renamed(each, new) for each in equations]) for words, equations in found)
    return Sheet(title or "system", tuple(rows), complete)


def is_heading(each: Any) -> bool:
    """Whether the left side is a letter of ours: a symbol, or its derivative by time."""
    left = getattr(each, "lhs", None)
    return isinstance(left, sp.Symbol) or (
        isinstance(left, sp.Derivative) and str(left.expr.func) in IN_FULL
    )


def names_in(each: Any) -> set[str]:
    """The names of symbols and functions of time in an equation, but for a letter of ours at its
    left.
    """
    expr = each.rhs if is_heading(each) else each
    functions = {str(f.func) for f in expr.atoms(sp.core.function.AppliedUndef)}
    return functions | {s.name for s in expr.free_symbols}


def renamed(each: Any, new: dict[Any, Any]) -> Any:
    """An equation with another letter at its left."""
    if is_heading(each) and each.lhs in new:
        return equation(new[each.lhs], each.rhs)
    return each


class Readable(ABC):
    """What has a sheet to be read: as LaTeX (in a notebook by itself) or as text."""

    system: Any  # whose equations they are

    @property
    @abstractmethod
    def sheet(self) -> Sheet:
        """What is printed."""

    def modified(self, method: Any = None, order: int = 2) -> Any:
        """The modified Lagrangian and Hamiltonian of a method as power series in h up to `order`
        (Colombo-Gamonal, section 5), for small systems.
        """
        return modified_equations(self, method, order)

    def latex(self) -> str:
        """All of it as LaTeX."""
        return self.sheet.latex()

    def text(self) -> str:
        """All of it for the terminal."""
        return self.sheet.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.sheet.latex(LINE)}$"

    def __repr__(self) -> str:
        titles = ", ".join(title for title, _ in self.sheet.groups)
        return f"<{type(self).__name__} of {self.sheet.title}: {titles}>"

    def __str__(self) -> str:
        return self.text()


@singledispatch
def modified_equations(equations: Readable, method: Any, order: int) -> Any:
    """What `modified` returns; equations that have it register their own."""
    why = "the series is that of a System under a method"
    refuse("symbolic(system).modified", equations.system.kind, why)


def aligned(equation: Any, width: float = math.inf) -> list[str]:
    """The LaTeX of an equation, on one line or on several of at most `width` letters."""
    first, *others = lines_of(tex(equation), width)
    return [r"\quad " + first, *(r"\qquad\quad " + line for line in others)]


def lines_of(formula: str, width: float) -> list[str]:
    """A formula in lines: broken before signs that stand in no bracket."""
    if room(formula) <= width:
        return [formula]
    depth, start, pieces = 0, 0, []
    for found in PIECE.finditer(formula):
        mark = found[0]
        depth += (mark in ("{", r"\left")) - (mark in ("}", r"\right"))
        if depth == 0 and mark[0] == " ":
            pieces.append(formula[start : found.start()])
            start = found.start()
    pieces.append(formula[start:])
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if room(lines[-1]) + room(piece) > width:
            lines.append(piece.lstrip())
        else:
            lines[-1] += piece
    return lines


def room(formula: str) -> int:
    """About how many letters a formula is wide."""
    return len(ONE_LETTER.sub("x", NO_ROOM.sub("", formula)))
