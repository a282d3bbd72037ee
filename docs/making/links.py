"""Links of the sources, which lead from file to file, as links from page to page of the site."""

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
MADE = "pages"  # the folder of generated pages, in docs/ and not under version control
# Files outside of docs/ that are pages of the site.
OUTSIDE = {
    "benchmarks/README.md": f"{MADE}/more/benchmarks",
    "benchmarks/work_precision.md": f"{MADE}/more/work_precision",
    "CONTRIBUTING.md": f"{MADE}/more/contributing",
    "CHANGELOG.md": f"{MADE}/more/changelog",
    "README.md": "index",
}
LINK = re.compile(r"(?<!`)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def slug(head: str) -> str:
    """The anchor of a head: its words in lower case, joined by hyphens."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip())


def theory_page(number: int, head: str) -> str:
    """The page of a section of docs/theory.md, from its place and its head."""
    return f"{MADE}/theory/{number:02d}-{slug(head)}"


def theory_pages() -> dict[str, str]:
    """The page of each section of docs/theory.md, by its anchor."""
    heads = re.findall(r"^## (.+)$", (DOCS / "theory.md").read_text(), flags=re.M)
    return {slug(head): theory_page(i, head) for i, head in enumerate(heads, start=1)}


def target_of(path: PurePosixPath, anchor: str) -> str | None:
    """The page, or the file in docs/, that a path from the root means; None for other files."""
    if str(path) == "docs/theory.md":
        page = theory_pages().get(anchor.removeprefix("#"))
        return "idea.md" if page is None else f"{page}.md"
    if str(path) in OUTSIDE:
        return f"{OUTSIDE[str(path)]}.md{anchor}"
    if path.parts[0] == "docs":
        return f"{PurePosixPath(*path.parts[1:])}{anchor}"
    return None


def rewritten(text: str, source: Path, page: str) -> str:
    """`text` of the file `source` with its links as those of `page`, a name such as
    "pages/more/changelog". A link to a file that is no page is left as its words.
    """
    folder = PurePosixPath(page).parent

    def link(match: re.Match[str]) -> str:
        there = (source.parent / match[1]).resolve()
        target = target_of(PurePosixPath(there.relative_to(ROOT).as_posix()), match[2] or "")
        return "](" + (os.path.relpath(target, folder) if target else "") + ")"

    return outside_code(LINK, link, text)


def outside_code(
    pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str
) -> str:
    """`text` with every match of `pattern` changed, those in blocks of code left alone."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else pattern.sub(change, part) for part in parts)
