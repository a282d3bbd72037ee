"""One gallery system: its numbers against the reference, its figure, its equations."""

import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax

from accion.analysis import audit
from accion.engines.auto import programs
from accion.gallery.base import Check, Entry, equations_of
from accion.plot import save_figure
from accion.symbols import symbolic
from accion.symbols.render import tex

CARD_STEPS = 1000  # at most
SMALL = 0.7e9  # bytes of a process that keeps what JAX compiled


class Card(NamedTuple):
    """What `audit` found, as the page shows it."""

    html: str
    steps: int
    h: float
    figure: str  # a file, like the others below


@dataclass(frozen=True)
class Result:
    """What became of one gallery system: plain data, so that another process can send it."""

    name: str
    title: str
    source: str = ""
    text: str = ""
    checks: list[Check] = field(default_factory=list)
    # titles, and the formulas as LaTeX
    equations: list[tuple[str, list[str]]] = field(default_factory=list)
    figure: str | None = None
    card: Card | None = None
    seconds: float = 0.0  # of the clock
    processor: float = 0.0  # seconds that its process used
    memory: int = 0  # bytes that its process had at most until then, 0 where that is not known
    error: str | None = None  # why it could not be run to its end
    details: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran to its end, and all its numbers agree with the reference."""
        return (
            self.error is None and bool(self.checks) and all(check.passed for check in self.checks)
        )

    @property
    def agreeing(self) -> str:
        """How many numbers agree, of how many."""
        return f"{sum(check.passed for check in self.checks)} of {len(self.checks)}"

    @property
    def reason(self) -> str:
        """Why it did not pass, in one line; empty where it did."""
        if self.error is not None or self.passed:
            return self.error or ""
        if not self.checks:
            return "it compares no number"
        wrong = [check for check in self.checks if not check.passed]
        worst = max(wrong, key=lambda check: check.used)
        return (
            f"{len(wrong)} of {len(self.checks)} numbers differ: {worst.what} is {worst.value:.9g}"
            f" and not {worst.target:.9g}, off by {worst.shown[0]} where {worst.shown[1]} is"
            " allowed"
        )


def attempt(find: Callable[[str], Entry], name: str, folder: Path) -> Result:
    """The result of the system `find(name)`, its pictures in `folder`/name; an error of it is a
    result too.
    """
    started, used = time.perf_counter(), time.process_time()
    known = Result(name, name)
    try:
        entry = find(name)
        known = replace(known, title=entry.title, source=entry.source, text=entry.text)
        result = replace(known, **run_entry(entry, folder))
    # of any kind: the systems after it are run nevertheless, and the page says what it was
    except Exception as error:
        first = (str(error).strip() or "without a word").splitlines()[0]
        result = replace(
            known,
            error=f"{type(error).__name__}: {first}",
            details="".join(traceback.format_exception(error)),
        )
    # The programs of one entry serve no other, XLA's of single operations do: they are kept while
    # the process is small, and would fill gigabytes.
    programs.clear()
    if not 0 < peak_memory() < SMALL:
        jax.clear_caches()
    taken = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
    return replace(result, **taken, memory=peak_memory())


def run_entry(entry: Entry, folder: Path) -> dict[str, Any]:
    """What a `Result` says of an entry that was run to its end."""
    if entry.figure is None or entry.h is None:
        raise ValueError(
            f"the report shows a figure and a step of {entry.name}, which has not both."
        )
    (folder / entry.name).mkdir()
    checks = entry.checks()
    figure = f"{entry.name}/figure.png"
    save_figure(entry.figure(), folder / figure)
    card = draw_card(entry, entry.h, folder) if entry.card else None
    groups = symbolic(equations_of(entry)).sheet.groups
    equations = [(title, [tex(each) for each in rows]) for title, rows in groups]
    return {"checks": checks, "equations": equations, "figure": figure, "card": card}


def draw_card(entry: Entry, h: float, folder: Path) -> Card:
    """What `audit` finds about an entry, its picture in `folder`."""
    card = audit(entry.system, entry.method, **entry.start, h=h, steps=min(entry.steps, CARD_STEPS))
    name = f"{entry.name}/card.png"
    save_figure(card.figure(), folder / name)
    return Card(card.html(), int(card.trajectory.steps_completed), float(card.trajectory.h), name)


def peak_memory() -> int:
    """Bytes that this process had in memory at most, 0 where the system does not tell."""
    if sys.platform == "linux":  # where `getrusage` also counts the process that started this one
        lines = Path("/proc/self/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
    if sys.platform != "darwin":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
