"""A system of the gallery, or of a file of one's own, as a page that moves in any browser."""

from typing import Any

from accion.gallery.base import Entry, equations_of, run
from accion.methods import Method
from accion.pages.model import Model, model_of
from accion.pages.page import motion_page
from accion.pages.record import recorded

MOST_COPIES = 5000


def model(entry: Entry, method: Method | None = None, h: float | None = None) -> Model:
    """The entry under a method, its own where none is given, as JavaScript; of one that is to be
    controlled what Python found.

    Raises:
        ValueError: where it has no step, or cannot be written.
    """
    here = f"from accion.gallery import find_or_read\nentry = find_or_read({entry.called!r})\n"
    if entry.problem is not None:
        lines = f"{here}from accion.gallery.base import run\nsolution = run(entry)"
        solution: Any = run(entry, method, h=h)
        return recorded(solution, entry.positions, lines)
    h = entry.h if h is None else h
    if h is None:
        raise ValueError(f"{entry.name} has no step: write h = 0.01 in its file, or pass --h.")
    return model_of(
        entry.system,
        method or entry.method,
        entry.start,
        h,
        steps=entry.steps,
        positions=entry.positions,
        python=f"{here}system = entry.system",
    )


def page_of(
    entry: Entry,
    method: Method | None = None,
    *,
    compare: Method | None = None,
    h: float | None = None,
    copies: int = 1,
    spread: float = 1e-3,
) -> str:
    """The page of an entry: one file, that needs nothing but a browser.

    Arguments:
        entry: what moves.
        method, h: its own where they are not given.
        compare: another method, whose motion is drawn beside.
        copies, spread: how many start side by side, and how far the first of their coordinates is
            apart from the first to the last of them.
    """
    if not 1 <= copies <= MOST_COPIES:
        raise ValueError(f"copies must be a number from 1 to {MOST_COPIES}; got {copies}.")
    if entry.problem is not None and (compare or copies > 1):
        raise ValueError(
            f"{entry.name} is to be controlled: its page repeats what Python found, without copies"
            " and without another method beside."
        )
    extra: dict[str, Any] = {"copies": copies, "spread": spread}
    models = [model(entry, method, h), *([model(entry, compare, h)] if compare else [])]
    return motion_page(models, entry.title, entry.text, equations_of(entry), extra)
