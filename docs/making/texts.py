"""Pages from texts of the repository: theory by subject, and files outside of docs/."""

import re
from pathlib import Path

from docs.making import links


def write(page: str, text: str) -> None:
    """The source of `page`, left alone where it is the same, so that Sphinx need not read it."""
    path = links.DOCS / f"{page}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def theory() -> None:
    """docs/theory.md, one page for each section."""
    source = links.DOCS / "theory.md"
    sections = re.split(r"^## ", source.read_text(), flags=re.M)[1:]
    for section, page in zip(sections, links.theory_pages().values(), strict=True):
        write(page, links.rewritten(f"# {section.strip()}\n", source, page))


def outside() -> None:
    """Files outside of docs/. Each head of the benchmarks is a section of one page."""
    for name, page in links.OUTSIDE.items():
        source: Path = links.ROOT / name
        if not page.startswith(links.MADE):
            continue
        text = links.rewritten(source.read_text(), source, page)
        if len(re.findall(r"^# ", text, flags=re.M)) > 1:
            text = "# Benchmarks\n\n" + re.sub(r"^#", "##", text, flags=re.M)
        write(page, text)
