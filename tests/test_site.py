"""The sources of the site are complete, without building it (`make docs` does)."""

import re
from pathlib import Path

import pytest
from docs.making import api, docstrings, gallery as pictures, links

import accion as ac
from accion import gallery
from tests.bad_input.page import public_names

DOCS = links.DOCS
CHAPTERS = sorted(path.stem for path in (DOCS / "tutorial").glob("[0-9]*.md"))
SOURCES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {links.MADE, "_build"} & set(path.relative_to(DOCS).parts)
)


def cells(path: Path) -> list[str]:
    """The code of a notebook."""
    return re.findall(r"^```\{code-cell\} python\n(.*?)^```$", path.read_text(), flags=re.M | re.S)


def listed(path: Path) -> list[str]:
    """The pages in the lists of contents of a page."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text(), flags=re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_public_name_is_in_the_reference() -> None:
    there = {name for _, _, names in api.pages().values() for name, _ in names}
    short = {name.split(".")[-1] for name in there}  # ac.optimize is accion.control.optimize
    missing = [
        name
        for name in public_names()
        if (f"accion.{name}" if "." in name else name) not in there | short
    ]
    for room in api.ROOMS:
        module = getattr(ac, room)
        missing += [name for name in api.public(module) if f"accion.{room}.{name}" not in there]
    assert missing == []


def test_every_signature_has_its_types() -> None:
    assert api.signature(ac.Midpoint) == ""
    assert api.signature(ac.Galerkin) == "(s: int, quadrature: str = 'gauss')"
    assert api.signature(ac.simulate).startswith("(system: AbstractSystem, method: Method | None")
    assert "->" in api.signature(ac.simulate)


def test_every_entry_is_in_the_gallery() -> None:
    found = {name: pictures.group_of(entry) for name, entry in gallery.ENTRIES.items()}
    assert set(found.values()) <= set(pictures.GROUPS)
    assert set(pictures.ORDER) == set(pictures.GROUPS)
    assert found["free_top"] == "turning"
    assert found["swarm"] == "agents"
    assert found["acrobot"] == "control"
    for name, entry in gallery.ENTRIES.items():
        assert f"gallery/{name}.py" in pictures.page(entry)
        assert f":link: {name}\n" in pictures.card(entry)


def test_every_section_of_the_theory_is_a_page() -> None:
    heads = re.findall(r"^## .+$", (DOCS / "theory.md").read_text(), flags=re.M)
    assert len(links.theory_pages()) == len(heads) > 15


@pytest.mark.parametrize("name", ["index", *CHAPTERS])
def test_the_tutorial_is_the_same_in_both_languages(name: str) -> None:
    english, spanish = (
        DOCS / ("quickstart.md" if folder and name == "index" else f"{folder}tutorial/{name}.md")
        for folder in ("", "es/")
    )
    if name == "index":
        english, spanish = DOCS / "quickstart.md", DOCS / "es" / "index.md"
    assert cells(english)
    assert cells(english) == cells(spanish)


def test_the_tutorial_has_eight_chapters() -> None:
    assert len(CHAPTERS) == 8
    assert listed(DOCS / "tutorial" / "index.md") == CHAPTERS
    assert listed(DOCS / "es" / "tutorial" / "index.md") == CHAPTERS


def test_every_page_is_in_a_list_of_contents() -> None:
    named = {(path.parent / name).resolve() for path in SOURCES for name in listed(path)}
    own = {DOCS / "index.md", DOCS / "theory.md"}
    # Pages about single documents are reached from the sources.
    missing = [
        path.name
        for path in SOURCES
        if path not in own and path.with_suffix("") not in named and "items_" not in path.name
    ]
    assert missing == []


def test_links_of_all_pages_lead_somewhere() -> None:
    made = {f"{links.MADE}/{name}" for name in ("gallery/index", "api/index")}
    made |= {*links.OUTSIDE.values(), *links.theory_pages().values()}
    wrong = []
    for path in SOURCES:
        for match in links.LINK.finditer(path.read_text()):
            there = (path.parent / match[1]).resolve()
            is_made = there.with_suffix("").relative_to(links.ROOT).as_posix()[5:] in made
            if not there.exists() and not is_made:
                wrong.append(f"{path.name}: {match[1]}")
    assert wrong == []


def test_links_between_files_become_links_between_pages() -> None:
    source, page = DOCS / "glossary.md", "glossary"
    assert links.rewritten("[a](theory.md)", source, page) == "[a](idea.md)"
    numbered = links.rewritten("[a](theory.md#rounding)", source, page)
    assert re.fullmatch(r"\[a\]\(pages/theory/\d\d-rounding\.md\)", numbered)
    below = links.rewritten("[a](../benchmarks/README.md)", source, page)
    assert below == "[a](pages/more/benchmarks.md)"
    assert links.rewritten("`a[0](t)` and [b](https://b.c)", source, page).endswith("b.c)")


def test_docstrings_keep_their_equations() -> None:
    text = docstrings.markdown(
        "One *sentence*.\n\n    d/dt dL/dv = F_x\n\nArguments:\n    a, b: two\n        of them.\n"
    )
    assert "One \\*sentence\\*." in text
    assert "```text\nd/dt dL/dv = F_x\n```" in text
    assert "`a, b`\n: two\n  of them." in text


def test_lines_of_the_sources_are_short() -> None:
    long = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > 100
    ]
    assert long == []
