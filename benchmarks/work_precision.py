"""What an error costs: accion's methods beside SciPy, diffrax, heyoka and Verlet's method compiled
by numba, on nine motions whose ends are known to more digits than a double has.

    python benchmarks/work_precision.py [--quick] [--slow] [--systems KEYS ...] [--rounds 3]
    [--json PATH] [--strict]

Every candidate goes from loose settings to tight ones until it has run for too long or errors no
longer fall. Times are of the processor, the least of the rounds, in which all take turns; what is
compiled before is counted apart. A whole run writes benchmarks/work_precision.md and
docs/images/work_precision.png; --quick and --systems only print.
"""

import argparse
import json
import math
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from peers import Candidate, Ready, accion_candidates, peer_candidates, spent
from problems import PROBLEMS
from rich.console import Console
from rich.table import Table
from timing import machine, verdict

import accion as ac
from accion.plot import new_figure, save_figure

HERE = Path(__file__).parent
ERRORS = (1e-3, 1e-6, 1e-8, 1e-10)  # of the table
DECADES = 10.0 ** -np.arange(3, 11)  # of the targets
SPAN = 0.005  # s, filled by as many runs as it takes
ONCE = 0.1  # s; a run that takes longer is not repeated
FLOOR = 1e-9  # errors below it that do not fall are those of rounding
# Of the most contrast (K. L. Kelly 1965), the bright ones last; and as many markers.
COLORS = """0067A5 BE0032 008856 F38400 875692 2B3D26 E68FAC 882D17 8DB600 848482
604E97 F99379 A1CAF1 B3446C E25822 654522 F6A600 C2B280 DCD300 F3C300"""
MARKERS = "osv^DPX*<>phxd+82H13"
PACKAGES = ("accion", "jax", "diffrax", "heyoka", "scipy", "numba", "numpy")


class Point(NamedTuple):
    """A run with one setting."""

    setting: Any
    ready: Ready
    error: float
    energy: float  # the largest relative change
    times: list[float]  # s of the processor: of the first run, and of each round

    @property
    def seconds(self):
        return min(self.times[1:] or self.times)


class Line(NamedTuple):
    """All runs of a candidate."""

    problem: Any
    candidate: Candidate
    points: list[Point]

    @property
    def name(self):
        name, peer = self.candidate.name, self.candidate.peer
        return name if name.startswith(peer) else f"{peer} {name}"


# ---------------------------------------------------------------- runs


def point(problem, candidate, setting):
    """None where a step fails, as it may where steps are too long."""
    ready = candidate.prepare(problem, setting)
    try:
        seconds, found = spent(ready.run)
    except ac.StepFailed:
        return None
    q, v = ready.read(found)
    error = problem.error(q)
    if not math.isfinite(error):
        return None
    return Point(setting, ready, error, problem.energy_error(q, v), [seconds])


def line(problem, candidate, quick, say):
    """The runs of `candidate`, from loose to tight."""
    points, limit = [], problem.limit / (4 if quick else 1)
    for setting in candidate.settings(problem)[:: 2 if quick else 1]:
        try:
            found = point(problem, candidate, setting)
        except ValueError as refusal:
            say(f"{problem.key}: {candidate.name} is left out: {str(refusal).splitlines()[0]}")
            break
        if found is None:
            continue
        best = min((p.error for p in points), default=math.inf)
        points.append(found)
        # Steps of an implicit method that are far too long take long, too: shorter ones are tried.
        slower = candidate.peer != "accion" or any(p.seconds < found.seconds for p in points)
        over = candidate.limited and slower and found.seconds > limit
        if over or (best < FLOOR and found.error > 0.5 * best):
            break
    return Line(problem, candidate, points)


def lines(problem, rounds, quick, slow, say):
    candidates = accion_candidates(problem, say) + peer_candidates(problem, slow, say)
    found = [line(problem, candidate, quick, say) for candidate in candidates]
    again = [p for row in found for p in row.points if p.seconds < ONCE]
    for _ in range(rounds):
        for p in again:
            total, count = 0.0, 0
            while total < SPAN:
                total += spent(p.ready.run)[0]
                count += 1
            p.times.append(total / count)
    return [row for row in found if row.points]


# ---------------------------------------------------------------- at equal errors


def front(points):
    """(seconds, error, build) of those that are not beaten, from fast to slow."""
    kept = []
    for p in sorted(points, key=lambda p: p.seconds):
        if not kept or p.error < kept[-1][1]:
            kept.append((p.seconds, p.error, p.ready.build))
    return kept


def time_for(points, error, with_build=False):
    """s for `error`, between two runs by a straight line of the logarithms; infinite where no run
    is as good.
    """
    before = None
    for seconds, reached, build in front(points):
        more = build if with_build else 0.0
        if reached <= error:
            if before is None or reached <= 0:
                return seconds + more
            part = math.log(before[1] / error) / math.log(before[1] / reached)
            return before[0] * (seconds / before[0]) ** part + more
        before = seconds, reached
    return math.inf


def best(rows, error, peers, with_build=False):
    """The least time of anyone of `peers` for `error`."""
    times = [time_for(r.points, error, with_build) for r in rows if r.candidate.peer in peers]
    return min(times, default=math.inf)


def worst_ratio(rows, peer, errors, with_build=False):
    """The largest time of accion over that of `peer`, at those errors that the peer reaches."""
    ratios = [
        best(rows, e, ["accion"], with_build) / best(rows, e, [peer], with_build)
        for e in errors
        if best(rows, e, [peer]) < math.inf
    ]
    return max(ratios, default=math.nan)


def worst_energy(rows):
    """(ratio, peer): accion's least energy error in the time that a peer takes for its own least,
    over that; the largest of all peers.
    """
    ours = [p for row in rows if row.candidate.peer == "accion" for p in row.points]
    found = []
    for row in rows:
        if row.candidate.peer != "accion":
            theirs = min(row.points, key=lambda p: p.energy)
            within = [p.energy for p in ours if p.seconds <= theirs.seconds]
            found.append((min(within, default=math.inf) / theirs.energy, row.name))
    return max(found)


def targets(by_key):
    """(what, measured, target) for each target."""
    found = []
    for key, rows in by_key.items():
        title = rows[0].problem.title
        if rows[0].problem.saves == 1:
            ratio = worst_ratio(rows, "diffrax", DECADES)
            found.append((f"{title}: accion / diffrax, 1e-3 to 1e-10, the largest", ratio, 1.0))
        else:
            ratio, peer = worst_energy(rows)
            words = f"{title}: energy error, accion / peer in the peer's time, the largest"
            found.append((f"{words} ({peer})", ratio, 1.0))
        if key == "kepler_1000":
            ratio = worst_ratio(rows, "SciPy", DECADES)
            found.append((f"{title}: accion / DOP853 at equal error, the largest", ratio, 0.1))
            found.append(
                (f"{title}: accion / heyoka, 1e-8", worst_ratio(rows, "heyoka", [1e-8]), 1)
            )
        if key in ("chain_2", "chain_5"):
            below = (1e-9, 1e-10, 1e-11, 1e-12)
            for words, build in (("", False), (", set-up included", True)):
                ratio = worst_ratio(rows, "heyoka", below, build)
                found.append((f"{title}: accion / heyoka, 1e-9 to 1e-12{words}", ratio, 1.0))
    return [row for row in found if not math.isnan(row[1])]


# ---------------------------------------------------------------- what is shown


HEADS = (
    "candidate",
    "build, s",
    *(f"{error:.0e}" for error in ERRORS),
    "least error",
    "ms",
    "energy",
)


def ms(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < math.inf else "-"


def cells(row):
    least = min(row.points, key=lambda p: p.error)
    builds = sorted(p.ready.build for p in row.points)
    build = f"{builds[0]:.2f}" + (f"..{builds[-1]:.2f}" if builds[-1] > builds[0] else "")
    return [
        row.name,
        build,
        *(ms(time_for(row.points, error)) for error in ERRORS),
        f"{least.error:.1e}",
        ms(least.seconds),
        f"{least.energy:.1e}",
    ]


def table(rows):
    out = Table(*HEADS, title=f"{rows[0].problem.title}: ms of the processor for an error of")
    for row in rows:
        out.add_row(*cells(row))
    return out


def page(by_key, found):
    """The page of all tables."""
    text = [
        "# What an error costs\n",
        "Written by `python benchmarks/work_precision.py`; [the words](README.md).\n",
        "![error against time](../docs/images/work_precision.png)\n",
    ]
    for rows in by_key.values():
        text.append(f"## {rows[0].problem.title}\n")
        text.append(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
        text += [f"| {' | '.join(cells(row))} |" for row in rows]
        text.append("")
    text.append("## Targets\n")
    text += [wrapped(verdict(*row)) for row in found]
    return "\n".join(text) + "\n"


def wrapped(words):
    """A line of code of a page, of at most 100 columns."""
    return textwrap.fill(words, 100, initial_indent=" " * 4, subsequent_indent=" " * 10)


def looks_of(names):
    """How the line of each is drawn: no two have the same colour, or the same marker."""
    if len(names) > len(MARKERS):
        raise ValueError(f"{len(names)} lines cannot be told apart by {len(MARKERS)} markers.")
    return {
        name: {
            "color": f"#{color}",
            "ls": "-" if name.startswith("accion") else ":",
            "marker": marker,
        }
        for name, color, marker in zip(names, COLORS.split(), MARKERS, strict=False)
    }


def figure(by_key):
    """Errors of all, then energy errors of long runs."""
    long = [rows for rows in by_key.values() if rows[0].problem.saves > 1]
    panels = [(rows, "error") for rows in by_key.values()] + [(rows, "energy") for rows in long]
    height = math.ceil(len(panels) / 3)
    picture, axes = new_figure(height, 3, (14, 3.9 * height))
    looks = looks_of(dict.fromkeys(row.name for rows in by_key.values() for row in rows))
    for ax, (rows, what) in zip(axes.ravel(), panels, strict=False):
        for row in rows:
            points = [(1e3 * p.seconds, max(getattr(p, what), 1e-16)) for p in row.points]
            ax.loglog(*zip(*points, strict=True), ms=3.5, lw=1.2, label=row.name, **looks[row.name])
        of = "error at the end" if what == "error" else "relative energy error"
        ax.set(title=rows[0].problem.title, xlabel="processor [ms]", ylabel=of)
    for ax in axes.ravel()[len(panels) :]:
        ax.set_axis_off()
    labels = {}
    for ax in axes.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    picture.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=5, fontsize=8)
    return picture


def plain(row):
    return {
        "system": row.problem.key,
        "candidate": row.name,
        "points": [
            {
                "setting": row.candidate.words(p.setting),
                "error": p.error,
                "energy": p.energy,
                "seconds": p.times,
                "build": p.ready.build,
            }
            for p in row.points
        ],
    }


def arguments():
    keys = [problem.key for problem in PROBLEMS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="half of the settings, short runs")
    parser.add_argument("--slow", action="store_true", help="also what is compiled for long")
    parser.add_argument("--systems", nargs="+", default=keys, choices=keys, metavar="KEY")
    parser.add_argument("--rounds", type=int, default=3, help="of which the least time is taken")
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    given = parser.parse_args()
    if given.rounds < 0:
        parser.error("--rounds must be at least 0.")
    return given


def main():
    given = arguments()
    console = Console(width=None if sys.stdout.isatty() else 160)
    said = set()

    def say(words):
        if words not in said:
            said.add(words)
            console.print(words, markup=False)

    by_key = {}
    for problem in PROBLEMS:
        if problem.key in given.systems:
            by_key[problem.key] = lines(problem, given.rounds, given.quick, given.slow, say)
            console.print(table(by_key[problem.key]))
            console.print(f"{time.process_time():.0f} s of the processor until here")
    found = targets(by_key)
    for row in found:
        console.print(verdict(*row), markup=False)
    if not given.quick and len(by_key) == len(PROBLEMS):
        (HERE / "work_precision.md").write_text(page(by_key, found))
        save_figure(figure(by_key), HERE.parent / "docs" / "images" / "work_precision.png")
    if given.json:
        rows = [plain(row) for rows in by_key.values() for row in rows]
        given.json.write_text(json.dumps(machine(PACKAGES) | {"lines": rows}, indent=1) + "\n")
    return int(given.strict and any(not value <= target for _, value, target in found))


if __name__ == "__main__":
    sys.exit(main())
