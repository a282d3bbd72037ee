"""Simulate the gallery, compare it with the references, write the page."""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import jax

from accion.analysis import Card, audit
from accion.gallery.base import Check, Entry, equations_of
from accion.plot import save_figure
from accion.progress import progress_bar
from accion.report.page import page
from accion.symbolic import symbolic
from accion.symbolic.render import drawable

MARKER = "accion-report"  # a file that says that a folder is ours to replace
CARD_STEPS = 1000  # at most


@dataclass(frozen=True)
class Result:
    """What became of one gallery system."""

    entry: Entry
    checks: list[Check]
    equations: list[tuple[str, list[str]]]  # titles, and the files of their pictures
    figure: str
    card: tuple[Card, str] | None  # with the file of its picture
    seconds: float

    @property
    def passed(self):
        return bool(self.checks) and all(check.passed for check in self.checks)


def reproduce(entries, out, *, progress=True):
    """Run `entries`, write `out`/index.html and its pictures, and return a `Result` for each.

    The page is put in place when it is whole. A folder that holds anything else than an earlier report is an error.
    """
    out = Path(out)
    check_folder(out)
    results = []
    with tempfile.TemporaryDirectory(prefix=".accion-", dir=out.parent) as folder:
        work = Path(folder) / "report"
        work.mkdir()
        (work / MARKER).touch()
        if progress:
            with progress_bar("gallery", len(entries)) as advance:
                for entry in entries:
                    advance(0, entry.name)
                    results.append(run_entry(entry, work))
                    advance(1)
        else:
            results = [run_entry(entry, work) for entry in entries]
        (work / "index.html").write_text(page(results))
        if out.exists():
            shutil.rmtree(out)
        work.rename(out)
    return results


def check_folder(out):
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise FileExistsError(f"{out} holds other files; choose an empty or new folder for the report.")
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; choose a folder for the report.")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"the folder {out.parent} does not exist; create it first.")


def run_entry(entry, folder):
    begin = time.perf_counter()
    checks = entry.checks()
    save_figure(entry.figure(), folder / f"{entry.name}.png")
    card = draw_card(entry, folder) if entry.card else None
    pictures = []
    for title, equations in symbolic(equations_of(entry)).sheet.groups:
        names = [f"{entry.name}-{len(pictures)}-{i}.svg" for i in range(len(equations))]
        for name, equation in zip(names, equations, strict=True):
            draw_formula(drawable(equation), folder / name)
        pictures.append((title, names))
    # What was compiled for one entry serves no other: kept for all of them it fills gigabytes.
    jax.clear_caches()
    return Result(entry, checks, pictures, f"{entry.name}.png", card, time.perf_counter() - begin)


def draw_card(entry, folder):
    card = audit(entry.system, entry.method, **entry.start, h=entry.h, steps=min(entry.steps, CARD_STEPS))
    name = f"{entry.name}-card.png"
    save_figure(card.figure(), folder / name)
    return card, name


def draw_formula(formula, path):
    """A picture of LaTeX, so that the page needs nothing from elsewhere."""
    from matplotlib import mathtext, rc_context
    from matplotlib.font_manager import FontProperties

    with rc_context({"mathtext.fontset": "cm", "svg.fonttype": "path", "svg.hashsalt": "accion"}):
        mathtext.math_to_image(f"${formula}$", path, prop=FontProperties(size=14), format="svg", dpi=72)
