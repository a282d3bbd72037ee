"""A motion that was computed by Python, for the same page as one that the page computes: the best
of many, which an optimisation found.
"""

import json
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from accion.control.solution import Solution
from accion.methods import registry
from accion.pages.model import APART, Model, bodies_of, drawn, of_channels, written

DIGITS = 9  # of a number that is drawn


def recorded(
    solution: Solution, positions: Callable[..., Any] | None = None, python: str = ""
) -> Model:
    """The model that repeats what a solution is: its rows, with the controls beside them."""
    run = solution.trajectory
    system, method = run.system, solution.method
    values = {name: run.value(name) for name in run.labels if not name.startswith(APART)}
    shown = {name: np.asarray(value) for name, value in values.items() if value is not None}
    channels = of_channels(system, {name: value[0] for name, value in shown.items()})
    rows = [shown[name].reshape(len(run), -1) for name in sorted(shown)]
    names = list(solution.problem.controls)
    first = sum(channel["size"] for channel in channels)
    channels.append({"name": "u", "at": first, "size": len(names), "labels": names, "unit": ""})
    rows += [np.interp(run.t, solution.t_u, u)[:, None] for u in np.asarray(solution.u).T]
    picture, functions = None, {}
    if positions is not None:
        q0 = jax.tree.map(lambda a: a[0], run.q)
        picture, functions["points"] = drawn(positions, [], lambda _: system.params, q0)
    found = np.concatenate(rows, axis=1)
    table = json.dumps([[float(f"{x:.{DIGITS}g}") for x in row] for row in found], allow_nan=False)
    source = (
        f"(()=>{{const R={table.replace(' ', '')};return Object.assign("
        f"{written(functions, str(system.name))},{{begin:(I,O=new Float64Array(1))=>O,"
        "step:(I,O=new Float64Array(1))=>{O[0]=I[2]+1;return O},"
        "show:(I,O=new Float64Array(R[0].length))=>{O.set(R[Math.min(I[2],R.length-1)]);"
        "return O}})})()"
    )
    facts = {
        "name": system.name,
        "method": registry.written(method),
        "t0": float(run.t[0]),
        "h": float(run.t[1] - run.t[0]),
        "steps": len(run) - 1,
        "recorded": True,
        "numbers": [],
        "start": [],
        "state": 1,
        "channels": channels,
        "points": picture,
        "bodies": bodies_of(system.space),
        "flat": bool(system.space.flat),
        "angles": any("rad" in unit for unit in system.units),
        "python": python,
    }
    return Model(source, facts)
