"""What the laboratory answers: which systems and methods there are, and each pair as JavaScript."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from accion import checks
from accion.campaign.modules import forget_own
from accion.gallery import ENTRIES, NAMES, find_or_read
from accion.gallery.base import Entry, equations_of
from accion.gallery.exported import model, page_of
from accion.methods import Method, registry
from accion.pages.page import formulas
from accion.stepping import scheme_of

KEPT = 32  # models that are remembered


class Room:
    """Systems of the gallery, and those of files that were named when it was opened. A browser can
    ask for these alone, and for no path.
    """

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.files = {Path(file).name: file for file in files}
        for file in files:
            find_or_read(file)  # so that what is wrong with it is said now
        self.seen = self.stamps()
        self.lock = Lock()  # one thing is computed at a time
        self.models: dict[Any, Any] = {}

    @cached_property
    def systems(self) -> list[dict[str, str]]:
        """The names and titles that there are, files first."""
        own = [{"name": name, "title": f"{name} (your file)"} for name in self.files]
        return own + [{"name": name, "title": ENTRIES[name].title} for name in NAMES]

    def entry(self, name: str) -> Entry:
        """The system called so. A file that was changed is run again."""
        known = {each["name"] for each in self.systems}
        if name not in known:
            raise ValueError(f"there is no system {name!r} here.")
        if self.stamps() != self.seen:
            self.seen = self.stamps()
            forget_own()
        return find_or_read(self.files.get(name, name))

    def stamps(self) -> list[int]:
        """When each of the files was last changed."""
        return [Path(file).stat().st_mtime_ns for file in self.files.values()]

    def methods(self, entry: Entry) -> list[str]:
        """Those that the system can be stepped by, its own first."""
        if entry.method is None:
            return [""]
        found = [registry.written(entry.method)]
        if entry.problem is not None:
            return found
        for each in registry.METHODS.values():
            if each.example is not None and serves(entry.system, each.example):
                found.append(registry.written(each.example))
        return list(dict.fromkeys(found))

    def method(self, entry: Entry, text: str) -> Method | None:
        """One of them."""
        if text and text not in self.methods(entry):
            raise ValueError(f"{entry.name} is not stepped by {text!r} here.")
        return registry.parse(text) if text else entry.method

    # ------------------------------------------------------------ answers

    def about(self, name: str) -> dict[str, Any]:
        """What is shown of a system before it moves."""
        with self.lock:
            entry = self.entry(name)
            equations = self.kept(
                (name, "equations"), entry, lambda: formulas(equations_of(entry), seconds=3.0)
            )
            return {
                "title": entry.title,
                "text": entry.text,
                "methods": self.methods(entry),
                "compared": entry.problem is None,
                "equations": equations,
            }

    def module(self, name: str, method: str) -> str:
        """The system under a method, as a module of JavaScript."""
        with self.lock:
            entry = self.entry(name)
            chosen = self.method(entry, method)
            text = self.kept((name, method), entry, lambda: model(entry, chosen).text)
            return f"export default {text};\n"

    def page(self, name: str, method: str, compare: str) -> str:
        """The page that `accion export` writes."""
        with self.lock:
            entry = self.entry(name)
            other = self.method(entry, compare) if compare else None
            return page_of(entry, self.method(entry, method), compare=other)

    def kept(self, key: Any, entry: Entry, make: Callable[[], str]) -> str:
        """What was made before; of a file it is made again."""
        if entry.file:
            return make()
        if key not in self.models:
            self.models[key] = make()
            while len(self.models) > KEPT:
                self.models.pop(next(iter(self.models)))
        return self.models[key]


def serves(system: Any, method: Method) -> bool:
    """Whether there is a scheme for the two."""
    try:
        scheme_of(checks.check_system(system, method), method)
    except ValueError:
        return False
    return True
