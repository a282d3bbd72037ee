"""docs/errata.md and these tests name each other."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def rows():
    """The entries of the published list, as tuples of their columns."""
    lines = [
        line
        for line in (ROOT / "docs" / "errata.md").read_text().splitlines()
        if line.startswith("| ")
    ]
    return [
        tuple(column.strip() for column in line.strip("|").split(" | "))
        for line in lines
        if not line.startswith(("| ---", "| where |"))
    ]


def test_every_entry_has_four_columns():
    assert all(len(row) == 4 for row in rows())


def test_every_entry_names_its_test_and_every_test_is_named():
    named = [row[3].strip("`") for row in rows() if not row[3].startswith("not yet tested here")]
    written = [
        name
        for file in HERE.glob("test_00*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.M)
    ]
    assert sorted(named) == sorted(written)
