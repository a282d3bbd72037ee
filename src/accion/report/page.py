"""The page, as text."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

from accion.gallery.base import Check
from accion.report.one import Card, Result

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.2rem; }
.source, .stamp { color: #666; } img.figure { max-width: 100%; }
.formula { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #eee; }
caption { text-align: left; font-weight: 600; padding: .2rem .7rem; }
td.number { text-align: right; font-family: ui-monospace, monospace; white-space: nowrap; }
.card { margin-bottom: 1rem; } .card td:first-child { white-space: nowrap; }
.PASS { color: #1a7f37; font-weight: 600; } .FAIL { color: #c62828; font-weight: 600; }
summary { cursor: pointer; }
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
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>accion: gallery report</title><style>{STYLE}</style></head>
<body><h1>accion: the gallery, reproduced</h1><p class="stamp">{escape(stamp)}</p>
{f'<p class="state">{state}.</p>' if state else ""}
{summary(results)}
{body}
</body></html>
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
        "<table><tr><th>system</th><th>source</th><th>numbers that"
        f" agree</th><th>time</th><th></th><th></th></tr>{rows}</table>"
    )


def section(result: Result, pictures: str) -> str:
    """The part of the page that is about one system."""
    return f"""<h2 id="{result.name}">{escape(result.title)}</h2>
<p class="source">{escape(result.source)}; <code>accion run {result.name}</code></p>
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
            f'<div class="formula"><img src="{pictures}{name}" alt="{escape(title)}"></div>'
            for name in names
        )
        for title, names in result.equations
    )
    return f"""{formulas}
<img class="figure" src="{pictures}{result.figure}" alt="{escape(result.title)}">
{"" if result.card is None else audited(result.card, pictures)}
<p class="{word(result.passed)}">{word(result.passed)}: {result.agreeing} numbers agree with the
reference; {escape(nearest(result))}.</p>
<details><summary>all {len(result.checks)} numbers</summary><table>
<tr><th>quantity</th><th>accion</th><th>reference</th><th>difference</th><th>tolerance</th>
<th></th></tr>
{"".join(row(check) for check in result.checks)}</table></details>"""


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
<div class="card">{card.html}</div>
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
