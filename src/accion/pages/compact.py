"""Generated JavaScript in a third of its letters, with the same operations in the same order of
rounding.

A value that is used once is written where it is used, names have one or two letters, and spaces
go. What is read from memory stays where it is read, because memory changes; so does what the end
of a loop hands over, because there variables change one after the other.
"""

import re
from collections import Counter
from itertools import count, product
from string import ascii_letters

NAME = re.compile(r"\b[vckrA]\d+\b")
CONST = re.compile(r"const (v\d+) = (.*);")
HANDED_OVER = re.compile(r"c\d+ = ")
BARE = re.compile(r"[\w.]+(\([^()]*\))?")  # what needs no brackets
LONGEST = 1500  # letters of one expression: browsers read nested ones by recursion
# Words of the language, and names that stay.
TAKEN = {"do", "if", "in", "for", "let", "new", "try", "var", "NaN", "A", "I", "M", "O"}


def compact(module: str) -> str:
    """The functions of a module that `to_javascript` wrote, without its comment and its `export`;
    `M` must be `Math`.
    """
    # What a string or a comment holds may look like anything; a module has them in helpers alone.
    text = re.sub(r"^\s*//.*\n", "", module, flags=re.M).replace("export ", "")
    parts = re.split(r"^(?=function )", text, flags=re.M)
    return "".join(one(part) for part in parts if part.strip()).replace("Math.", "M.")


def one(text: str) -> str:
    """One function."""
    first, *body = text.rstrip().splitlines()
    lines = inlined(body)
    named = renamed("\n".join([first, *lines]))
    return joined(named)


def depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def inlined(lines: list[str]) -> list[str]:
    """The lines with values that are used once in the place where they are used."""
    uses = Counter(name for line in lines for name in NAME.findall(line))
    waiting: dict[str, tuple[str, list[int]]] = {}  # of each value its text and where it stands
    block, fresh = [0], count(1)
    kept: list[tuple[str, str | None]] = []  # lines, and the values that they give a name to
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("}"):
            block.pop()
        here = list(block)

        def text_of(match: re.Match[str], here: list[int] = here) -> str:
            found = waiting.get(match[0])
            if found is None or found[1] != here:
                return match[0]
            return found[0] if BARE.fullmatch(found[0]) else f"({found[0]})"

        const = CONST.fullmatch(stripped)
        if const is None and HANDED_OVER.match(stripped):
            new = stripped
        elif const is not None:
            new = f"const {const[1]} = {NAME.sub(text_of, const[2])};"
        else:
            new = NAME.sub(text_of, stripped)
        const = CONST.fullmatch(new)
        if const and uses[const[1]] == 2 and "[" not in const[2] and len(const[2]) < LONGEST:
            waiting[const[1]] = (const[2], here)
        kept.append((new, const[1] if const else None))
        if stripped.endswith("{"):
            block.append(next(fresh))
    # Those that stand in another block than their one use are needed where they are.
    needed: set[str] = set()
    found = []
    for new, own in reversed(kept):
        if own not in waiting or own in needed:
            needed.update(NAME.findall(new))
            found.append(new)
    return found[::-1]


def short_names() -> list[str]:
    """a, b, ..., Z, aa, ab, ..."""
    two = ("".join(pair) for pair in product(ascii_letters, repeat=2))
    three = ("".join(pair) for pair in product(ascii_letters, repeat=3))
    return [name for name in (*ascii_letters, *two, *three) if name not in TAKEN]


NAMES = short_names()


def renamed(text: str) -> str:
    """The shortest names for those that are there most often."""
    often = Counter(NAME.findall(text)).most_common()
    names = {old: new for (old, _), new in zip(often, NAMES, strict=False)}
    text = NAME.sub(lambda match: names[match[0]], text)
    return re.sub(r"\binputs\b", "I", re.sub(r"\boutputs\b", "O", text))


def joined(text: str) -> str:
    """Without spaces that say nothing, and declarations that follow each other as one."""
    lines: list[str] = []
    for line in text.splitlines():
        line = re.sub(r" *([-+*/%<>=!&|?:,;(){}]) *", r"\1", line.strip())
        line = re.sub(r"\b(\d+)\.0\b(?!\.|e)", r"\1", line)
        word, _, rest = line.partition(" ")
        if word in ("const", "let") and lines and lines[-1].startswith(f"{word} "):
            lines[-1] = f"{lines[-1][:-1]},{rest}"
        else:
            lines.append(line)
    return "".join(lines) + "\n"
