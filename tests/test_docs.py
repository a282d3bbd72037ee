"""The code in the documents runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.S)


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_code_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks(name)
    assert code
    scope = {}
    for block in code:
        exec(compile(block, name, "exec"), scope)
    assert list(tmp_path.glob("*.png"))


def test_readme_example_is_short():
    (block,) = blocks("README.md")
    assert len(block.strip().splitlines()) <= 16


def test_links_lead_somewhere():
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_lines_of_at_most_100_columns():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for page in pages:
        for number, line in enumerate(page.read_text().splitlines(), start=1):
            assert len(line) <= 100, f"{page.name}:{number}: {len(line)} columns"
