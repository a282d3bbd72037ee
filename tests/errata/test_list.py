"""docs/errata.md and these tests name each other."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def entries():
    """The entries of the published list: what stands below each "- **where**"."""
    text = (ROOT / "docs" / "errata.md").read_text()
    return re.findall(r"^- \*\*.+\*\*\n((?:  .+\n)+)", text, flags=re.M)


def test_every_entry_says_what_is_printed_what_is_right_and_its_test():
    assert entries()
    for entry in entries():
        assert re.findall(r"^  - (\w+):", entry, flags=re.M) == ["printed", "right", "test"], entry


def test_every_entry_names_its_test_and_every_test_is_named():
    named = [
        name
        for entry in entries()
        for name in re.findall(r"^  - test: `(\w+)`$", entry, flags=re.M)
    ]
    written = [
        name
        for file in HERE.glob("test_00*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.M)
    ]
    assert sorted(named) == sorted(written)
