"""Docstrings, which are plain text with indented equations, as Markdown."""

import re
from itertools import groupby
from textwrap import dedent

HEAD = re.compile(r"^(Arguments|Returns|Raises|Reads|Yields|References?):$")
SPECIAL = re.compile(r"([\\*_<>\[\]$|{}#~])")


def escaped(text: str) -> str:
    """A paragraph whose letters mean themselves, except in `backticks`."""
    parts = re.split(r"(`[^`]+`)", text)
    marked = "".join(p if p.startswith("`") else SPECIAL.sub(r"\\\1", p) for p in parts)
    # What would begin a list or a head.
    return re.sub(r"^(\s*)([-+=]|\d+[.)])(?=\s|$)", r"\1\\\2", marked, flags=re.M)


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def paragraphs(lines: list[str]) -> list[list[str]]:
    return [list(group) for there, group in groupby(lines, key=lambda s: bool(s.strip())) if there]


def plain(lines: list[str]) -> str:
    """Paragraphs; those that are indented are equations, kept as they stand."""
    out = []
    for block in paragraphs(lines):
        if min(map(indent_of, block)) >= 4:
            out.append("```text\n" + dedent("\n".join(block)) + "\n```")
        else:
            out.append(escaped("\n".join(line.strip() for line in block)))
    return "\n\n".join(out)


def items(lines: list[str]) -> str:
    """A list of "name: words", whose words may go on in lines that are further in."""
    found: list[list[str]] = []
    for line in lines:
        if indent_of(line) == 0 and line.strip():
            found.append([line])
        elif found:
            found[-1].append(line)
    out = []
    for head, *rest in found:
        name, colon, words = head.partition(":")
        if not colon or not re.match(r"^[\w., ()*]+$", name):
            return plain(lines)
        body = plain([words.strip(), *dedent("\n".join(rest)).splitlines()])
        out.append(f"`{name}`\n: " + body.replace("\n", "\n  "))
    return "\n\n".join(out)


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    lines, out, here = text.splitlines(), [], []
    i = 0
    while i < len(lines):
        head = HEAD.match(lines[i])
        inside = []
        if head:
            while i + 1 < len(lines) and (not lines[i + 1].strip() or lines[i + 1][0] == " "):
                i += 1
                inside.append(lines[i])
        if inside:
            out += [plain(here), f"**{head[1] if head else ''}**"]
            out.append(items(dedent("\n".join(inside)).strip("\n").splitlines()))
            here = []
        else:
            here.append(lines[i])
        i += 1
    return "\n\n".join(part for part in (*out, plain(here)) if part)
