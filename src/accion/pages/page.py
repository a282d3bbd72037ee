"""Pages that need nothing but a browser: their text, and what they may do.

A page has one script and one style, named by their digests in its policy: nothing else in it is
run, whatever a title or a name holds, and nothing is fetched.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from accion.errors import Untranslatable
from accion.pages.model import Model, script_json
from accion.results.paged import new_page
from accion.symbols import symbolic

EQUATIONS, PAGE = 24_000, 92_000  # letters of the formulas of a page, and of them with its script


@cache
def part(name: str) -> str:
    """One of the files that pages are made of."""
    text = (files("accion.pages") / "parts" / name).read_text(encoding="utf-8")
    return text if name.startswith("three") else re.sub(r"^\s*(//.*)?\n?", "", text, flags=re.M)


def digest(text: str) -> str:
    """How a policy names a script or a style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def document(title: str, body: str, style: str, script: str, also: str = "") -> str:
    """A whole page. `body` is markup, all else is text; `also` is one more source of scripts."""
    for text, element in ((script, "script"), (style, "style")):
        if f"</{element}" in text.lower() or "<!--" in text:
            raise ValueError(f"a {element} that ends its own element cannot stand in a page.")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'{also};"
        f" style-src 'sha256-{digest(style)}'; img-src data: blob:; base-uri 'none';"
        " form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>{body}"
        f"<script>{script}</script></body></html>\n"
    )


def formulas(system: Any, most: int = EQUATIONS, seconds: float = 5.0) -> str:
    """The equations of a system as markup, as many as fit into so many letters; it is said which do
    not.
    """
    from accion.symbols.mathml import mathml
    from accion.symbols.render import tex

    try:
        groups = symbolic(system, seconds=seconds).sheet.groups
    except Untranslatable as error:
        return f"<p>{escape(str(error))}</p>"
    found, left, out = [], [], most
    for title, equations in groups:
        rows = [mathml(tex(each)) for each in equations]
        size = sum(map(len, rows))
        if size > out:
            left.append(title)
            continue
        out -= size
        lines = "".join(f'<div class="formula"><div>{row}</div></div>' for row in rows)
        found.append(f"<h3>{escape(title)}</h3>{lines}")
    if left:
        words = escape(", ".join(left))
        found.append(f"<p>Too long for this page: {words}. <code>ac.symbolic(system)</code> has"
                     " them.</p>")  # fmt: skip
    return "".join(found)


def motion_page(
    models: Iterable[Model],
    title: str,
    text: str = "",
    system: Any = None,
    extra: dict[str, Any] | None = None,
) -> str:
    """The page of one model, or of two that are compared.

    Arguments:
        models: one or two.
        title, text: words.
        system: whose equations are shown, as many as leave the page small.
        extra: `copies` and `spread`, how many start side by side and how far apart.
    """
    data = ",".join(model.text for model in models)
    script = (
        part("app.js")
        + f"\nlaboratory(document.getElementById('lab'),[{data}],{script_json(extra or {})});"
        + "\ncopyFormulas(document);"
    )
    equations = "" if system is None else formulas(system, min(EQUATIONS, PAGE - len(script)))
    return document(
        title,
        f"<header><h1>{escape(title)}</h1><p>{escape(text)}</p></header>"
        '<main id="lab" class="lab"></main>'
        + (f"<section><h2>Equations</h2>{equations}</section>" if equations else "")
        + f"<footer>Made by accion {escape(version('accion'))}; every step is computed here, by"
        " this page.</footer>",
        part("app.css"),
        script,
    )


@dataclass(frozen=True)
class Page:
    """A page as text, which a notebook shows; `save(path)` writes it."""

    text: str

    def save(self, path: str | Path) -> None:
        """Write the page to a new file.

        Raises:
            FileExistsError: where something is at `path`.
        """
        save_page(self.text, path)

    def __repr__(self) -> str:
        return f"<a page of {len(self.text) / 1000:.0f} kB; save(path) writes it>"

    def _repr_html_(self) -> str:
        inside = escape(self.text)
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="560" srcdoc="{inside}"></iframe>'
        )


def save_page(text: str, path: str | Path) -> None:
    """Write a page to a new file."""
    new_page(path, "path").write_text(text, encoding="utf-8")
