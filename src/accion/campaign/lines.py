"""Where a key stands in a TOML file: tomllib reads the values only."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

HEADER = re.compile(r"\s*(\[\[?)(.+?)\]\]?\s*(#.*)?$")
# A key, bare or quoted, with its dots, before an equals sign.
WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
KEY = re.compile(rf"\s*({WORD}(?:\s*\.\s*{WORD})*)\s*=")


def parts(text: str) -> tuple[str, ...]:
    """The keys of a dotted key."""
    found, table = [], tomllib.loads(f"{text} = 0")
    while isinstance(table, dict):
        ((key, table),) = table.items()
        found.append(key)
    return tuple(found)


def keys_of(text: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Each line that names a key, with the whole path of that key; entries of [[tables]] are
    counted.
    """
    counts, here = {}, ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = HEADER.match(line), KEY.match(line)
        try:
            if header:
                here = parts(header[2].strip())
                if header[1] == "[[":
                    counts[here] = counts.get(here, -1) + 1
                    here = (*here, counts[here])
                yield number, here
            elif key:
                yield number, here + parts(key[1])
        except tomllib.TOMLDecodeError:  # a line inside a text or a list
            continue


def line_of(text: str, path: Iterable[Any]) -> int:
    """The line of the key `path`, or of the innermost table around it that is named; 1 for the file
    itself.
    """
    places = {}
    for number, keys in keys_of(text):
        for depth in range(len(keys), 0, -1):
            places.setdefault(keys[:depth], number)
    path = tuple(path)
    while path and path not in places:
        path = path[:-1]
    return places.get(path, 1)


def words_of(path: Iterable[Any]) -> str:
    """A path of keys as a person reads it: plan.axes."q0[0]", reductions[1].of."""
    words = ""
    for key in path:
        plain = isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_-]+", key)
        words += (
            f"[{key}]"
            if isinstance(key, int)
            else f".{key if plain else f'{chr(34)}{key}{chr(34)}'}"
        )
    return words.lstrip(".") or "the file"
