"""A system in a file of one's own, which the commands take as they take one of the gallery.

    import accion as ac

    system = ac.System(...)              # or problem = ac.ControlProblem(...)
    method = ac.Midpoint()
    start = {"q0": [1.0], "v0": [0.0]}   # what `simulate` starts from
    h, steps = 0.01, 1000
    positions = ...                      # of q: the points to draw, where there are such

The file is a program: it is run.
"""

import traceback
from pathlib import Path
from types import ModuleType

from accion.arguments import shown
from accion.campaign.modules import module_beside
from accion.checks import check_kind, check_method
from accion.control import ControlProblem
from accion.gallery.base import Entry
from accion.methods import Midpoint

STEPS = 100  # of a run whose file does not say


def is_file(name: str) -> bool:
    """Whether a name is that of a file, and not of a system of the gallery."""
    return name.endswith(".py") or "/" in name or "\\" in name


def read(path: str | Path) -> Entry:
    """What the file at `path` has: a system or a control problem, with its method and its start.

    Raises:
        ValueError: where the file cannot be run, or has no system in it.
        OSError: where there is no such file.
    """
    path = Path(path)
    if not path.is_file():
        advice = f"; `accion new {path.stem}` writes one" if path.stem.isidentifier() else ""
        raise FileNotFoundError(f"there is no file {path}{advice}.")
    module = run(path)
    has = vars(module)
    problem = has.get("problem")
    system = has.get("system", getattr(problem, "system", None))
    if problem is not None and not isinstance(problem, ControlProblem):
        raise ValueError(f"{path}: problem must be a ControlProblem; got {shown(problem)}.")
    if system is None:
        raise ValueError(
            f"{path} has no system: write system = accion.System(...) in it, or problem ="
            " accion.ControlProblem(...)."
        )
    check_kind(system)
    method = has.get("method", None if system.discrete_time else Midpoint())
    check_method(system, method)
    start = has.get("start", {})
    if not isinstance(start, dict):
        raise ValueError(
            f'{path}: start must be a dictionary such as {{"q0": [1.0], "v0": [0.0]}}; got'
            f" {shown(start)}."
        )
    return Entry(
        name=path.stem,
        title=(module.__doc__ or path.stem).strip().splitlines()[0],
        system=system,
        method=method,
        start=start,
        h=has.get("h"),
        steps=has.get("steps", STEPS),
        positions=has.get("positions"),
        problem=problem,
        search=has.get("search", {}),
        file=str(path),
    )


def run(path: Path) -> ModuleType:
    """The module that a file is; whatever it raises is a ValueError with the line."""
    try:
        return module_beside(path.absolute().parent, path.stem)
    except Exception as error:
        own = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(path.absolute().parent)
        ]
        at = f" (line {own[-1].lineno} of {own[-1].filename})" if own else ""
        said = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{path} cannot be run{at}: {said}{error}") from error
