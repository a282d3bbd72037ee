"""Equations on a page: LaTeX for notebooks, unicode for the terminal."""

from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.physics.vector.printing import VectorPrettyPrinter, vlatex
from sympy.printing.pretty.pretty_symbology import greek_unicode

WIDTH = 150


def pretty(expr):
    """Unicode text with dots for the derivatives by time."""
    greek = {s: sp.Symbol("_".join(str(greek_unicode.get(part, part)) for part in s.name.split("_"))) for s in expr.atoms(sp.Symbol)}
    expr = expr.xreplace({s: g for s, g in greek.items() if any(part in greek_unicode for part in s.name.split("_")[1:])})
    return VectorPrettyPrinter({"use_unicode": True, "wrap_line": True, "num_columns": WIDTH}).doprint(expr)


@dataclass(frozen=True)
class Sheet:
    """Titled groups of equations."""

    title: str
    groups: tuple[tuple[str, list[Any]], ...]
    complete: bool

    def latex(self):
        rows = [rf"&\text{{{title}}} \\ " + r" \\ ".join(f"&{line}" for line in map(aligned, equations)) for title, equations in self.groups]
        return r"\begin{aligned} " + r" \\ ".join(rows) + r" \end{aligned}"

    def text(self):
        lines = [self.title]
        for title, equations in self.groups:
            lines += ["", title]
            for equation in equations:
                lines += ["    " + line for line in pretty(equation).splitlines()]
        if not self.complete:
            lines += ["", "(The time for simplification ran out: some of these are longer than they need be; try symbolic(system, seconds=60).)"]
        return "\n".join(lines)


def drawable(equation):
    """LaTeX in the part of it that matplotlib can draw."""
    return vlatex(equation).replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\operatorname", r"\mathrm")


def aligned(equation):
    return r"\quad " + vlatex(equation) if isinstance(equation, sp.Basic) else str(equation)
