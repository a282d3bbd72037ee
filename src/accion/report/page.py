"""The page, as text."""

from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.2rem; }
.source, .stamp { color: #666; } img.figure { max-width: 100%; } .formula { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .85rem; } th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #eee; }
caption { text-align: left; font-weight: 600; padding: .2rem .7rem; }
td.number { text-align: right; font-family: ui-monospace, monospace; white-space: nowrap; }
.card { margin-bottom: 1rem; } .card td:first-child { white-space: nowrap; }
.PASS { color: #1a7f37; font-weight: 600; } .FAIL { color: #c62828; font-weight: 600; } summary { cursor: pointer; }
"""


def page(results):
    """The whole page for a list of results."""
    body = "\n".join(section(result) for result in results)
    stamp = f"accion {version('accion')}, jax {version('jax')}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>accion: gallery report</title><style>{STYLE}</style></head>
<body><h1>accion: the gallery, reproduced</h1><p class="stamp">{escape(stamp)}</p>
{summary(results)}
{body}
</body></html>
"""


def word(passed):
    return "PASS" if passed else "FAIL"


def summary(results):
    rows = "".join(
        f'<tr><td><a href="#{r.entry.name}">{escape(r.entry.title)}</a></td><td>{escape(r.entry.source)}</td>'
        f'<td class="number">{sum(c.passed for c in r.checks)} of {len(r.checks)}</td><td class="number">{r.seconds:.1f} s</td>'
        f'<td class="{word(r.passed)}">{word(r.passed)}</td></tr>'
        for r in results
    )
    return f"<table><tr><th>system</th><th>source</th><th>numbers that agree</th><th>time</th><th></th></tr>{rows}</table>"


def section(result):
    entry = result.entry
    formulas = "".join(
        f'<p class="title">{escape(title)}</p>' + "".join(f'<div class="formula"><img src="{name}" alt="{escape(title)}"></div>' for name in names)
        for title, names in result.equations
    )
    card = "" if result.card is None else audited(*result.card)
    worst = max(result.checks, key=lambda c: c.used)
    return f"""<h2 id="{entry.name}">{escape(entry.title)}</h2>
<p class="source">{escape(entry.source)}; <code>accion run {entry.name}</code></p>
<p>{escape(entry.text)}</p>
{formulas}
<img class="figure" src="{result.figure}" alt="{escape(entry.title)}">
{card}
<p class="{word(result.passed)}">{word(result.passed)}: {sum(c.passed for c in result.checks)} of {len(result.checks)} numbers agree with the
reference; nearest to its tolerance: {escape(worst.what)}, off by {worst.shown[0]} of {worst.shown[1]}.</p>
<details><summary>all {len(result.checks)} numbers</summary><table>
<tr><th>quantity</th><th>accion</th><th>reference</th><th>difference</th><th>tolerance</th><th></th></tr>
{"".join(row(check) for check in result.checks)}</table></details>"""


def audited(card, figure):
    """What `audit` found, as a table and a picture."""
    steps = int(card.trajectory.steps_completed)
    return f"""<p>What <code>audit</code> finds about this system and method, over {steps} steps of {float(card.trajectory.h):.4g} s:</p>
<div class="card">{card.html()}</div>
<img class="figure" src="{figure}" alt="errors over the step, energy and momenta over time">"""


def row(check):
    return (
        f'<tr><td>{escape(check.what)}</td><td class="number">{check.value:.15g}</td><td class="number">{check.target:.15g}</td>'
        f'<td class="number">{check.shown[0]}</td><td class="number">{check.shown[1]}</td>'
        f'<td class="{word(check.passed)}">{word(check.passed)}</td></tr>'
    )
