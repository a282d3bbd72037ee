"""The table of pairs as a page, and read back from it."""

import re
import textwrap
from pathlib import Path
from typing import Any

from tests.pairs.kinds import KINDS, case
from tests.pairs.operations import OPERATIONS, tried

PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"
HEAD = """# Every pair, or a sentence

Each kind of system with each operation, on vectors: it works (+), or it is refused (-) by an error
that names the pair and the reason in one sentence. Written by `python -m tests.pairs`; the tests
(`tests/pairs`) try every cell again and compare. `python -m tests.pairs --units` tries all of them
in twenty systems of units of mass, length and time; the results agree.

The kinds:

"""


def tried_all(space: str, progress: Any = None) -> dict[tuple[str, str], str]:
    """The refusal of each (operation, kind), "" where it works."""
    found = {}
    for operation in OPERATIONS:
        if progress is not None:
            print(operation, file=progress, flush=True)
        for kind in KINDS:
            found[operation, kind] = tried(operation, case(kind, space))
    return found


def page(found: dict[tuple[str, str], str]) -> str:
    """The page: a row for each operation, and the reasons below."""
    numbers = {kind: str(i + 1) for i, kind in enumerate(KINDS)}
    lines = [f"{number}. {kind}" for kind, number in numbers.items()]
    lines += ["", f"| operation | {' | '.join(numbers.values())} |"]
    lines.append("| --- |" + " --- |" * len(numbers))
    for operation in OPERATIONS:
        cells = ["-" if found[operation, kind] else "+" for kind in KINDS]
        lines.append(f"| {operation} | {' | '.join(cells)} |")
    lines += ["", "## The reasons", ""]
    reasons = list(dict.fromkeys(reason for reason in found.values() if reason))
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
    found = {}
    for operation in OPERATIONS:
        row = re.search(rf"^\| {re.escape(operation)} \| (.*) \|$", text, flags=re.M)
        assert row, f"docs/matrix.md has no row of {operation}"
        for kind, cell in zip(KINDS, row.group(1).split(" | "), strict=True):
            found[operation, kind] = cell == "+"
    return found
