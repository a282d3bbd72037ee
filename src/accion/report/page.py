"""The page, as text."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

from accion.gallery.base import Check
from accion.report.one import Card, Result
from accion.report.sources import described
from accion.symbols.mathml import mathml

STYLE = """
:root { color-scheme: light dark; --bg: #fff; --ink: #222; --soft: #5f6670; --line: #dfe3e8;
  --good: #1a7f37; --bad: #c62828; --link: #1b6ca8; }
@media (prefers-color-scheme: dark) { :root { --bg: #12161c; --ink: #e6eaf0; --soft: #a0abb9;
  --line: #2e3742; --good: #6cc98a; --bad: #ff8a80; --link: #6cb4ee; }
  img.figure { filter: invert(.9) hue-rotate(180deg); } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--bg);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); } h1 { margin-bottom: 0; }
h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
.source, .stamp { color: var(--soft); } .source { overflow-wrap: anywhere; }
.title { font-weight: 600; margin: 1rem 0 .2rem; }
img.figure { max-width: 100%; }
.scroll { overflow-x: auto; max-width: 100%; }
.formula { display: flex; gap: 1rem; align-items: center; justify-content: space-between; }
.formula .scroll { flex: 1; padding: .4rem 0; } .formula math { width: max-content; }
.formula math { font-size: 1.1rem; }
button { flex: none; font: inherit; font-size: .75rem; color: var(--soft); background: none;
  border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .6rem; cursor: pointer; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid var(--line); }
caption { text-align: left; font-weight: 600; padding: .2rem .7rem; }
td.number { text-align: right; font-family: ui-monospace, monospace; white-space: nowrap; }
.card { margin-bottom: 1rem; } .card td:first-child { white-space: nowrap; }
.PASS { color: var(--good); font-weight: 600; } .FAIL { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; padding: .3rem 0; } pre { overflow-x: auto; }
@media (max-width: 40rem) { body { margin: 1rem auto; } .summary td:nth-child(2),
  .summary th:nth-child(2), .summary td:nth-child(4), .summary th:nth-child(4) { display: none; } }
"""
# A button behind each formula, which copies its LaTeX.
SCRIPT = """
for (const note of document.querySelectorAll(".formula annotation")) {
  const button = document.createElement("button");
  button.textContent = "copy LaTeX";
  button.onclick = async () => {
    await navigator.clipboard.writeText(note.textContent);
    button.textContent = "copied";
  };
  note.closest(".formula").append(button);
}
"""


def page(results: Sequence[Result], pictures: str = "", state: str = "", earlier: str = "") -> str:
    """The whole page for a list of results.

    `pictures` is the way from the page to their folder, `state` what is to be said of a run that
    has not ended, and `earlier` the way to the report before it.
    """
    body = "\n".join(section(result, pictures) for result in results)
    stamp = (
        f"accion {version('accion')}, jax {version('jax')}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )
    if earlier:
        state += f'; the report before this one is <a href="{escape(earlier)}">here</a>'
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>accion: gallery report</title><style>{STYLE}</style></head>
<body><h1>accion: the gallery, reproduced</h1><p class="stamp">{escape(stamp)}</p>
{f'<p class="state">{state}.</p>' if state else ""}
{summary(results)}
{body}
<script>{SCRIPT}</script></body></html>
"""


def word(passed: bool) -> str:
    """How it is said that numbers agree."""
    return "PASS" if passed else "FAIL"


def summary(results: Sequence[Result]) -> str:
    """The table at the top, a line for each system."""
    rows = "".join(
        f'<tr><td><a href="#{r.name}">{escape(r.title)}</a></td><td>{escape(r.source)}</td>'
        f'<td class="number">{r.agreeing}</td><td class="number">{r.seconds:.1f} s</td>'
        f'<td class="{word(r.passed)}">{word(r.passed)}</td><td>{escape(r.reason)}</td></tr>'
        for r in results
    )
    return (
        '<div class="scroll"><table class="summary"><tr><th>system</th><th>source</th><th>numbers'
        f" that agree</th><th>time</th><th></th><th></th></tr>{rows}</table></div>"
    )


def section(result: Result, pictures: str) -> str:
    """The part of the page that is about one system."""
    return f"""<h2 id="{result.name}">{escape(result.title)}</h2>
<p class="source">{described(result.source)}<br><code>accion run {result.name}</code></p>
<p>{escape(result.text)}</p>
{failed(result) if result.error is not None else contents(result, pictures)}"""


def failed(result: Result) -> str:
    """Why there are no numbers."""
    where = (
        "<details><summary>where it"
        f" happened</summary><pre>{escape(result.details)}</pre></details>"
        if result.details
        else ""
    )
    return f'<p class="FAIL">FAIL: {escape(result.reason)}</p>{where}'


def contents(result: Result, pictures: str) -> str:
    """Equations, figure, card, and the numbers beside the reference."""
    formulas = "".join(
        f'<p class="title">{escape(title)}</p>'
        + "".join(
            f'<div class="formula"><div class="scroll">{mathml(latex)}</div></div>'
            for latex in rows
        )
        for title, rows in result.equations
    )
    return f"""{formulas}
<img class="figure" src="{pictures}{result.figure}" alt="{escape(result.title)}">
{"" if result.card is None else audited(result.card, pictures)}
<p class="{word(result.passed)}">{word(result.passed)}: {result.agreeing} numbers agree with the
reference; {escape(nearest(result))}.</p>
<details><summary>all {len(result.checks)} numbers</summary><div class="scroll"><table>
<tr><th>quantity</th><th>accion</th><th>reference</th><th>difference</th><th>tolerance</th>
<th></th></tr>
{"".join(row(check) for check in result.checks)}</table></div></details>"""


def nearest(result: Result) -> str:
    """The number that is most in danger, or the worst of those that differ."""
    if not result.passed:
        return result.reason
    worst = max(result.checks, key=lambda check: check.used)
    return f"nearest to its tolerance: {worst.what}, off by {worst.shown[0]} of {worst.shown[1]}"


def audited(card: Card, pictures: str) -> str:
    """What `audit` found, as a table and a picture."""
    return f"""<p>What <code>audit</code> finds about this system and method,
over {card.steps} steps of {card.h:.4g} s:</p>
<div class="card scroll">{card.html}</div>
<img class="figure" src="{pictures}{card.figure}"
alt="errors over the step, energy and momenta over time">"""


def row(check: Check) -> str:
    """One number beside the reference."""
    return (
        f'<tr><td>{escape(check.what)}</td><td class="number">{check.value:.15g}</td><td'
        f' class="number">{check.target:.15g}</td><td class="number">{check.shown[0]}</td><td'
        f' class="number">{check.shown[1]}</td><td'
        f' class="{word(check.passed)}">{word(check.passed)}</td></tr>'
    )
