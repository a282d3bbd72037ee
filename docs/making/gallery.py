"""The gallery: a page for each entry of the registry, with its picture and a moving one.

    python -m docs.making.gallery

Pictures are drawn by processes side by side, and kept until the files of `accion` change.
"""

import hashlib
import shutil
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from docs.making import links
from docs.making.docstrings import escaped
from docs.making.texts import write

FOLDER = links.DOCS / links.MADE / "gallery"
SOURCE = links.ROOT / "src" / "accion"
FRAMES, FPS, LONGEST = 45, 15, 10_000  # pictures, pictures a second, steps of a run that is cheap
MOVING = "moving"  # the folder of the exported pages, beside those of the entries
LINE, LATEX = 90, 12_000  # letters of a line of equations, and of all of them on a page
# By the first condition that holds, in the order of the page.
GROUPS = {
    "control": "Optimal control",
    "agents": "Many agents",
    "heat": "Friction that heats",
    "turning": "Rotations and rigid motions",
    "constrained": "Constraints",
    "time": "Time, weights and contact",
    "higher": "Higher order",
    "free": "Particles and pendulums",
}
ORDER = ("free", "time", "constrained", "turning", "heat", "agents", "control", "higher")


def group_of(entry: Any) -> str:
    """To which part of the page an entry belongs."""
    system = entry.system
    kind = type(system).__name__
    if entry.problem is not None:
        return "control"
    if "formation" in (SOURCE / "gallery" / f"{entry.name}.py").read_text():
        return "agents"
    if "Thermal" in kind:
        return "heat"
    if "HigherOrder" in kind:
        return "higher"
    if not system.space.flat:
        return "turning"
    if getattr(system, "constraint", None) is not None:
        return "constrained"
    if kind != "System" or system.conformal is not None:
        return "time"
    return "free"


def digest() -> str:
    """Of everything that pictures depend on."""
    kinds = ("*.py", "*.json", "*.js", "*.css")
    files = sorted([Path(__file__), *(path for kind in kinds for path in SOURCE.rglob(kind))])
    found = hashlib.sha256()
    for path in files:
        found.update(path.read_bytes())
    return found.hexdigest()


def is_cheap(entry: Any) -> bool:
    """Whether its motion is drawn as a moving picture."""
    if entry.positions is None or entry.steps > LONGEST:
        return False
    return entry.problem is None or "path" not in entry.search


def draw(name: str) -> tuple[str, float]:
    """The pictures of one entry, and how long they took."""
    import warnings

    from accion.gallery import find
    from accion.gallery.base import run
    from accion.gallery.exported import page_of
    from accion.plot import save_figure

    warnings.simplefilter("ignore")
    began = time.perf_counter()
    entry: Any = find(name)
    figure = entry.figure()
    figure.set_dpi(80)
    save_figure(figure, FOLDER / f"{name}.png")
    (FOLDER / f"{name}.gif").unlink(missing_ok=True)
    (FOLDER / f"{name}.tex").write_text(equations(entry))
    moving = FOLDER / MOVING / f"{name}.html"
    moving.parent.mkdir(exist_ok=True)
    moving.unlink(missing_ok=True)
    if entry.problem is None or is_cheap(entry):
        moving.write_text(page_of(entry))
    if is_cheap(entry):
        run(entry).animate(entry.positions, FOLDER / f"{name}.gif", fps=FPS, seconds=FRAMES / FPS)
    return name, time.perf_counter() - began


def equations(entry: Any) -> str:
    """The equations of an entry as LaTeX; a note where they fill more than a page."""
    from accion.gallery.base import equations_of
    from accion.symbols import symbolic

    latex = symbolic(equations_of(entry)).sheet.latex(LINE)
    return latex if len(latex) <= LATEX else ""


def pictures(names: Iterable[str], workers: int) -> None:
    """Draw what is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp, now = FOLDER / "digest", digest()
    old = not stamp.exists() or stamp.read_text() != now
    todo = [name for name in names if old or not (FOLDER / f"{name}.png").exists()]
    stamp.unlink(missing_ok=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for name, seconds in pool.map(draw, todo):
            print(f"{name}: {seconds:.1f} s", flush=True)
    stamp.write_text(now)


def page(entry: Any) -> str:
    """The page of one entry."""
    name = entry.name
    parts = [
        f"# {escaped(entry.title)}",
        escaped(entry.text),
        f"![{escaped(entry.title)}]({name}.png)",
        f"Source: {escaped(entry.source)} ({{doc}}`the documents </documents>`).",
    ]
    if (FOLDER / f"{name}.gif").exists():
        parts.insert(3, f"```{{image}} {name}.gif\n:alt: {name} in motion\n:class: moving\n```")
    if (FOLDER / MOVING / f"{name}.html").exists():
        frame = f'<iframe class="moving-page" loading="lazy" src="{MOVING}/{name}.html"></iframe>'
        whence = "Every step is computed by the page itself"
        if entry.problem is not None:
            whence = "The best motion, which Python found"
        parts.append(
            f"## In motion\n\n{whence}; the page is one file (`accion export {name}`).\n\n"
            f"```{{raw}} html\n{frame}\n```"
        )
    latex = FOLDER / f"{name}.tex"
    if latex.exists() and latex.read_text():
        parts.append(f"## Its equations\n\n```{{math}}\n{latex.read_text()}\n```")
    parts.append(
        f"```bash\naccion equations {name}\naccion run {name} --out {name}\n```\n\n## Its file\n\n"
        f"```{{literalinclude}} ../../../src/accion/gallery/{name}.py\n:language: python\n```"
    )
    return "\n\n".join(parts) + "\n"


def copy_pages(out: Path) -> None:
    """Put the exported pages where those of the entries lead to."""
    there = out / links.MADE / "gallery" / MOVING
    there.mkdir(parents=True, exist_ok=True)
    for path in sorted((FOLDER / MOVING).glob("*.html")):
        shutil.copyfile(path, there / path.name)


def card(entry: Any) -> str:
    """What the list shows of one entry."""
    return (
        f":::{{grid-item-card}} {escaped(entry.title)}\n:link: {entry.name}\n:link-type: doc\n"
        f":img-top: {entry.name}.png\n:class-img-top: thumbnail\n`{entry.name}`\n:::\n"
    )


def build() -> None:
    """The pages of all entries, and the page that lists them."""
    from accion.gallery import ENTRIES

    groups: dict[str, list[Any]] = {key: [] for key in ORDER}
    for entry in ENTRIES.values():
        write(f"{links.MADE}/gallery/{entry.name}", page(entry))
        groups[group_of(entry)].append(entry)
    parts = [
        "# Gallery\n\nSystems with their physics, their numbers, a figure, and checks against"
        " references: `accion list`\nnames them, `accion run NAME` simulates one, `accion"
        " reproduce` checks all of them.\n"
    ]
    for key, entries in groups.items():
        if not entries:
            continue
        cards = "\n".join(card(entry) for entry in entries)
        parts.append(f"## {GROUPS[key]}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}\n::::\n")
    names = "\n".join(entry.name for key in ORDER for entry in groups[key])
    parts.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```\n")
    write(f"{links.MADE}/gallery/index", "\n".join(parts))


if __name__ == "__main__":
    from accion.gallery import NAMES

    pictures(NAMES, int(sys.argv[1]) if len(sys.argv) > 1 else 2)
