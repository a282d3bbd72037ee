"""The code in the documents runs as it stands."""

import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
# Pages with code. The chapters in Spanish have that of the English ones (tests/test_site.py).
WRITE_PICTURES = ["README.md", "docs/tutorial.md"]
PAGES = [
    *WRITE_PICTURES,
    *(
        path.relative_to(ROOT).as_posix()
        for folder in (".", "tutorial", "howto")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
        if re.search(r"^```({code-cell} )?python$", path.read_text(), flags=re.M)
        and path.name != "tutorial.md"
    ),
]


def blocks(name):
    pattern = r"```(?:\{code-cell\} )?python\n(.*?)```"
    return re.findall(pattern, (ROOT / name).read_text(), flags=re.S)


@pytest.mark.parametrize("name", PAGES)
def test_code_runs(name, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = blocks(name)
    assert code
    scope = {}
    for block in code:
        exec(compile(block, name, "exec"), scope)
    plt.close("all")
    assert list(tmp_path.glob("*.png")) or name not in WRITE_PICTURES


def test_all_pages_with_code_are_run():
    """Chapters, guides, the quick start, the first page."""
    assert len(PAGES) >= 2 + 8 + 7 + 2


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
            if target.startswith("pages/"):  # made by `make docs`, which checks them
                continue
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_lines_of_at_most_100_columns():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for page in pages:
        for number, line in enumerate(page.read_text().splitlines(), start=1):
            assert len(line) <= 100, f"{page.name}:{number}: {len(line)} columns"
