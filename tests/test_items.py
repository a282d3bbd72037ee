"""The pages docs/items_*.md, which say where each item of the documents is and which test shows it:
what they name is there, and nothing is left out.
"""

import ast
import re
from functools import cache, reduce
from itertools import chain
from pathlib import Path

import pytest

import accion as ac

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGES = ("000", "001", "002", "003", "004")
STATES = ("there", "partly", "not there")
# Of each chapter of 004, one behind the last.
LAST_EQUATIONS = {1: 2, 2: 4, 4: 14, 5: 12, 6: 13, 7: 17, 8: 7}
# Of each chapter of 001, one behind the last, and its figures.
LAST_001 = {2: 7, 3: 20, 4: 16}
FIGURES_001 = ((2, 5), (3, 2), (4, 17))
# What is numbered in the documents; each number must be in the head of an item.
NUMBERED = {
    "000": {"": range(1, 3), "Ex": range(1, 6)},
    "001": {
        "": [
            "1.1",
            *(f"{chapter}.{k}" for chapter, last in LAST_001.items() for k in range(1, last)),
            *("A.1", "A.2", "B.3", "B.4", "B.5"),
            *(f"C.{k}" for k in range(1, 11)),
        ],
        "Figure": (1.1, *(f"{chapter}.{k}" for chapter, n in FIGURES_001 for k in range(1, n))),
        "Def": (
            *("2.2", "2.4", "2.7", "2.9", "2.12", "2.17", "2.19", "2.23", "2.24", "2.26", "2.29"),
            *("2.30", "3.1", "3.5", "3.12", "3.13", "3.16", "3.23", "3.25", "3.31", "B.1", "B.5"),
            *("B.9", "B.11", "B.13", "B.14", "B.16", "B.17", "B.18", "B.19", "B.20"),
        ),
        "Thm": (
            *("2.6", "2.14", "2.21", "2.27", "2.31", "3.9", "3.17", "3.26", "B.3", "B.10", "B.15"),
        ),
        "Lemma": ("2.10", "3.8", "3.14", "3.15", "B.2"),
        "Prop": ("B.6", "B.7", "B.8", "B.12"),
        "Ex": ("2.8", "2.15", "2.16", "2.22", "2.28", "2.32", "3.11", "3.21", "3.29", "C.2"),
        "Nota": (
            *("2.1", "2.3", "2.5", "2.11", "2.13", "2.18", "2.20", "2.25", "3.2", "3.3", "3.4"),
            *("3.6", "3.7", "3.10", "3.18", "3.19", "3.20", "3.22", "3.24", "3.27", "3.28", "3.30"),
            *("3.32", "3.33", "4.1", "4.2", "B.4", "C.1", "C.3"),
        ),
    },
    "002": {
        "": range(1, 44),
        "Ex": range(1, 4),
        "Figure": range(1, 9),
        "Remark": range(1, 3),
        "Def": (2.1, 2.2, 3.1, 3.2, 4.1),
        "Thm": (2.3, 3.3, 3.4, 5.2),
        "Lemma": (5.1,),
        "Prop": (1,),
        "Cor": (1,),
    },
    "003": {
        "": range(1, 54),
        "Ex": (1.1, 1.2, 2.1, 2.2, 2.3, 2.4, 2.5, 5.1),
        "Figure": range(1, 6),
    },
    "004": {
        "": [f"{chapter}.{k}" for chapter, last in LAST_EQUATIONS.items() for k in range(1, last)],
        "Figure": (1.1, 7.1, 7.2),
        "Def": ("2.1.1", "2.2.2", "4.1.1", "4.2.2", "5.2.1", "6.0.4", "6.1.1", "6.2.2", "8.3.2"),
        "Thm": ("2.2.1", "3.0.4", "5.1.1", "6.2.1", "6.2.3", "8.1.1", "8.2.1"),
        "Prop": ("4.1.2", "4.2.3", "5.2.2", "5.3.2", "7.1.2"),
        "Obs": (
            *("2.2.3", "3.0.5", "3.0.6", "4.1.3", "4.2.1", "4.2.4", "4.2.5", "4.2.6", "5.2.3"),
            *("5.3.1", "5.3.3", "7.1.1", "7.1.3", "7.1.4", "8.2.2", "8.3.1", "8.4.1"),
        ),
    },
}


@cache
def items(page):
    """(head, {"where": ..., "there": ...}) of each item."""
    text = (ROOT / "docs" / f"items_{page}.md").read_text()
    found = re.findall(r"^- \*\*(.+?)\*\*: .+\n((?:  .+\n?)+)", text, flags=re.M)
    joined = [(head, re.sub(r"\n    ", " ", body)) for head, body in found]
    return [
        (head, dict(re.findall(r"^  - ([a-z ]+): (.+)$", body, flags=re.M)))
        for head, body in joined
    ]


def everything():
    return list(chain.from_iterable(items(page) for page in PAGES))


@cache
def functions(path):
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_item_has_one_state():
    for page in PAGES:
        text = (ROOT / "docs" / f"items_{page}.md").read_text()
        assert len(items(page)) == len(re.findall(r"^- ", text, flags=re.M))
    for head, lines in everything():
        (state,) = [name for name in lines if name in STATES]
        assert set(lines) <= {"where", state, "erratum"}, head
        assert ("missing: " in lines[state]) == (state != "there"), head
        assert ("::test_" in lines[state]) == (state != "not there"), head
        assert "where" in lines or state == "not there", head


def test_every_test_that_is_named_is_there():
    missing = [
        f"{head}: {path}::{name}"
        for head, lines in everything()
        for path, name in re.findall(r"`([\w/]+\.py)::(\w+)`", " ".join(lines.values()))
        if not (TESTS / path).is_file() or name not in functions(path)
    ]
    assert missing == []


def test_every_name_and_entry_is_there():
    where = [(head, lines.get("where", "")) for head, lines in everything()]
    gallery = [
        (head, name)
        for head, text in where
        for names in re.findall(r"gallery ((?:`\w+`(?:, )?)+)", text)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert gallery
    missing = [
        f"{head}: gallery {name}"
        for head, name in gallery
        if not (ROOT / "src" / "accion" / "gallery" / f"{name}.py").is_file()
    ]
    for head, text in where:
        for name in re.findall(r"`ac\.([\w.]+)", text):
            try:
                reduce(getattr, name.split("."), ac)
            except AttributeError:
                missing.append(f"{head}: ac.{name}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_the_document_is_there(page):
    heads = " ".join(head for head, _ in items(page))
    for word, numbers in NUMBERED[page].items():
        for number in numbers:
            number = re.escape(str(number))
            pattern = rf"{word} {number}\b" if word else rf"\({number}\)"
            assert re.search(pattern, heads), f"{word} {number}".strip()


@pytest.mark.parametrize("page", PAGES)
def test_every_erratum_is_there(page):
    named = re.findall(r"`(\w+)`", " ".join(lines.get("erratum", "") for _, lines in items(page)))
    listed = (ROOT / "docs" / "errata.md").read_text()
    assert set(named) == set(re.findall(rf"test: `(test_{page}_\w+)`", listed))


def test_the_sums():
    """Those of docs/documents.md are the numbers of the items."""
    text = (ROOT / "docs" / "documents.md").read_text()
    for page in PAGES:
        states = [next(name for name in STATES if name in lines) for _, lines in items(page)]
        counts = " | ".join(str(states.count(name)) for name in STATES)
        assert re.search(rf"\(items_{page}\.md\) \| {re.escape(counts)} \|", text), counts
