"""A system in words: a line for where Python shows it, a few for a notebook."""

from typing import Any

import numpy as np


def line(system: Any) -> str:
    """The system in one line: its name, its space, the names of its params and what acts on it."""
    params = system.params
    names = ", ".join(map(str, params)) if isinstance(params, dict) else ""
    acts = ", ".join(given(system)[1:])
    more = f"; params {names}" * bool(names) + f"; {acts}" * bool(acts)
    return f"{type(system).__name__}({system.name} on {system.space}{more})"


def lines(system: Any) -> str:
    """The same with the coordinates and the numbers of params, a line each."""
    params = system.params.items() if isinstance(system.params, dict) else ()
    rows = {
        "space": str(system.space),
        "coordinates": ", ".join(system.coordinates or ()),
        "params": ", ".join(f"{key} = {short(value)}" for key, value in params),
        "functions": ", ".join(given(system)),
    }
    width = max(map(len, rows))
    head = f"{type(system).__name__}: {system.name}"
    return "\n".join([head, *(f"  {key:<{width}}  {text}" for key, text in rows.items() if text)])


def given(system: Any) -> list[str]:
    """The functions that the system was given, the Lagrangian first."""
    return [name for name in system.signatures if getattr(system, name) is not None]


def short(value: Any) -> str:
    """A value of params: a number as it is, an array by its shape."""
    if isinstance(value, float | np.floating):
        return f"{float(value):g}"
    shape = getattr(value, "shape", ())
    return f"array of shape {shape}" if shape else str(value)
