"""The table of pairs as a page, and read back from it."""

import re
import textwrap
from pathlib import Path
from typing import Any

from tests.pairs.kinds import KINDS, METHODS, case
from tests.pairs.operations import OPERATIONS, tried

PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"
HEAD = """# Every pair, or a sentence

Each kind of system with each operation, on vectors: it works (+), or it is refused (-) by an error
that names the pair and the reason in one sentence. Written by `python -m tests.pairs`; the tests
(`tests/pairs`) try every cell again and compare. `python -m tests.pairs --units` tries all of them
in twenty systems of units of mass, length and time; the results agree.

The kinds:

"""


# Kinds that take a method, and the methods that have a table of their own.
STEPPED = [kind for kind in KINDS if not kind.startswith("Discrete")]
OTHERS = list(METHODS)[1:]
OF_METHODS = """
## Methods

The table above is by `Midpoint()`. By other methods, on a free `System`:

"""
OF_KINDS = """
and `simulate`, of each kind:

"""


def tried_methods(progress: Any = None) -> dict[tuple[str, str], str]:
    """The refusal of each (operation, method) on a free system, and of each (kind, method) in
    `simulate`, "" where it works.
    """
    found = {}
    for by in OTHERS:
        if progress is not None:
            print(by, file=progress, flush=True)
        for operation in OPERATIONS:
            found[operation, by] = tried(operation, case("System, free", "vectors", by=by))
        for kind in STEPPED:
            found[kind, by] = tried("simulate", case(kind, "vectors", by=by))
    return found


def rows_of(found: dict[tuple[str, str], str], first: list[str]) -> list[str]:
    """The table of those that come first in `found`, by the methods."""
    lines = [f"| | {' | '.join(OTHERS)} |", "| --- |" + " --- |" * len(OTHERS)]
    for one in first:
        cells = ["-" if found[one, by] else "+" for by in OTHERS]
        lines.append(f"| {one} | {' | '.join(cells)} |")
    return lines


def tried_all(space: str, progress: Any = None) -> dict[tuple[str, str], str]:
    """The refusal of each (operation, kind), "" where it works."""
    found = {}
    for operation in OPERATIONS:
        if progress is not None:
            print(operation, file=progress, flush=True)
        for kind in KINDS:
            found[operation, kind] = tried(operation, case(kind, space))
    return found


def page(found: dict[tuple[str, str], str], by_methods: dict[tuple[str, str], str]) -> str:
    """The page: a row for each operation, then for each method, and the reasons below."""
    numbers = {kind: str(i + 1) for i, kind in enumerate(KINDS)}
    lines = [f"{number}. {kind}" for kind, number in numbers.items()]
    lines += ["", f"| operation | {' | '.join(numbers.values())} |"]
    lines.append("| --- |" + " - |" * len(numbers))  # so many that the line is long
    for operation in OPERATIONS:
        cells = ["-" if found[operation, kind] else "+" for kind in KINDS]
        lines.append(f"| {operation} | {' | '.join(cells)} |")
    lines += [*OF_METHODS.splitlines(), *rows_of(by_methods, list(OPERATIONS))]
    lines += [*OF_KINDS.splitlines(), *rows_of(by_methods, STEPPED)]
    lines += ["", "## The reasons", ""]
    every = (*found.values(), *by_methods.values())
    reasons = list(dict.fromkeys(reason for reason in every if reason))
    for reason in reasons:
        lines += textwrap.wrap(
            f"- {reason}",
            100,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    return HEAD + "\n".join(lines) + "\n"


def cells_of(text: str) -> dict[tuple[str, str], bool]:
    """Whether each (operation, kind) works, as the page says."""
    return {
        (operation, kind): cell
        for operation in OPERATIONS
        for kind, cell in zip(KINDS, cells_in(text, operation, len(KINDS)), strict=True)
    }


def cells_of_methods(text: str) -> dict[tuple[str, str], bool]:
    """Whether each (operation, method) works, and each (kind, method), as the page says."""
    return {
        (first, by): cell
        for first in (*OPERATIONS, *STEPPED)
        for by, cell in zip(OTHERS, cells_in(text, first, len(OTHERS)), strict=True)
    }


def cells_in(text: str, first: str, count: int) -> list[bool]:
    """Those of the row with `count` cells that begins so."""
    cells = r" \| ".join(["([+-])"] * count)
    row = re.search(rf"^\| {re.escape(first)} \| {cells} \|$", text, flags=re.M)
    assert row, f"docs/matrix.md has no row of {first} with {count} cells"
    return [cell == "+" for cell in row.groups()]
