"""The Python files that a campaign file names: those beside it, and no others."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

LOADED: set[str] = set()  # names of modules that came from beside a campaign file


def module_beside(folder: Path, name: str) -> ModuleType:
    """The module `name`, such as "models" or "shapes.boxes", of the files in `folder`.

    It is run once in a process. It may import its neighbours; nothing else is found in its folder
    afterwards.

    Raises:
        ImportError: where there is no such file, or another module has its name.
    """
    if not all(word.isidentifier() for word in name.split(".")):
        raise ImportError(f"{name!r} is not the name of a module")
    file = file_of(folder, name)
    known = sys.modules.get(name)
    if known is not None and is_from(known, file):
        return known
    if known is not None and name not in LOADED:
        raise ImportError(
            f"another module is called {name} ({getattr(known, '__file__', 'built in')}): rename"
            f" {file.name}"
        )
    with found_first(folder):
        for other in LOADED & set(sys.modules):
            if not is_in(sys.modules[other], folder):  # of another campaign, perhaps called so too
                del sys.modules[other]
        before = set(sys.modules)
        try:
            module = importlib.import_module(name)
        finally:
            new = {each for each in set(sys.modules) - before if is_in(sys.modules[each], folder)}
            LOADED.update(new)
    return module


def forget_own() -> None:
    """What came from beside such a file is run again when it is next asked for."""
    for name in LOADED & set(sys.modules):
        del sys.modules[name]


def file_of(folder: Path, name: str) -> Path:
    """The file of the module `name` in `folder`."""
    place = folder.joinpath(*name.split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file
    raise ImportError(f"there is no {place.with_suffix('.py').name} beside the campaign file")


def own_modules() -> list[ModuleType]:
    """Those that came from beside a campaign file."""
    return [sys.modules[name] for name in sorted(LOADED & set(sys.modules))]


@contextmanager
def found_first(folder: Path) -> Iterator[None]:
    """Python finds the modules of `folder` first."""
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def is_from(module: ModuleType, file: Path) -> bool:
    own = getattr(module, "__file__", None)
    return own is not None and Path(own).resolve() == file.resolve()


def is_in(module: ModuleType, folder: Path) -> bool:
    own = getattr(module, "__file__", None)
    return own is not None and Path(own).absolute().is_relative_to(folder)
