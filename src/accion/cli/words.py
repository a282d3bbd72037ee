"""What commands read and print: parameters, settings, what a run found."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from accion.arguments import lengths
from accion.cli.base import console, say
from accion.plot import save_figure
from accion.plot.figures import by_run, coordinates

if TYPE_CHECKING:
    from accion.control.solution import Solution
    from accion.results.trajectory import Trajectory


def written(value: Any) -> str:
    """A parameter as a person writes it: a number, (a, b, c), or IdealGas(NR=1, ...)."""
    if is_dataclass(value):
        words = (f"{field.name}={written(getattr(value, field.name))}" for field in fields(value))
        return f"{type(value).__name__}({', '.join(words)})"
    return f"{value:g}" if np.ndim(value) == 0 else "(" + ", ".join(written(v) for v in value) + ")"


def parse_settings(params: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """`params` with each "name=value" of `settings` in place."""
    params = dict(params)
    for text in settings:
        key, _, value = text.partition("=")
        if key not in params:
            raise ValueError(
                f"{text!r} sets no parameter of this system. Try one of: {', '.join(params)}."
            )
        if np.ndim(params[key]):
            raise ValueError(
                f"{key} is an array of shape {np.shape(params[key])}; only single numbers are set"
                " here. Use the library for it."
            )
        params[key] = parse_number(value)
    return params


def parse_start(system: Any, **texts: str | None) -> dict[str, Any]:
    """The parts of a start that are given as texts, "1, 0.5" for two numbers.

    Raises: ValueError where the configurations of the system are no vectors.
    """
    given = {part: text for part, text in texts.items() if text is not None}
    if "q0" in given and not system.space.flat:
        raise ValueError(
            f"--q0 is for vectors and angles; a configuration of {system.space} is set in a file of"
            " your own, `accion new NAME`."
        )
    return {part: [parse_number(each) for each in text.split(",")] for part, text in given.items()}


def shortened(line: str) -> str:
    """A line that fits the terminal, and is whole where the output is no terminal."""
    if not console.is_terminal or len(line) <= console.width:
        return line
    return line[: console.width - 3] + "..."


def parse_number(text: str) -> float:
    """The number that a text is."""
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"expected a number, got {text!r}.") from error


def ends_of(traj: "Trajectory") -> Table:
    """A table of the coordinates at both ends."""
    name = escape(f"{traj.system.name}, {traj.method}")
    table = Table(name, "start", f"t = {float(traj.t[-1]):g} s")
    values, names = coordinates(traj)
    add_ends(table, names, values[0])
    return table


def add_ends(table: Table, names: Iterable[str], values: Any) -> None:
    """A line for each component of `values`, shape (times, components)."""
    for name, first, last in zip(names, values[0], values[-1], strict=True):
        table.add_row(escape(name), f"{first:.9g}", f"{last:.9g}")


def describe(traj: "Trajectory", seconds: float) -> None:
    """What a person wants to know first of a run."""
    table = ends_of(traj)
    for name in ("S", "T", "energy"):
        if name in traj.labels:
            names = traj.labels[name].components or (name,)
            add_ends(table, names, by_run(traj, traj.value(name))[0])
    console.print(table)
    say(
        f"{int(traj.steps_completed)} steps of {lengths(traj.h)} s; at most"
        f" {int(traj.iterations.max())} Newton iterations; {seconds:.2f} s with compilation."
    )


def describe_control(solution: "Solution", seconds: float) -> None:
    """What a person wants to know first of an optimal control."""
    table = ends_of(solution.trajectory)
    add_ends(table, solution.problem.controls, solution.u)
    console.print(table)
    if len(solution.optima) > 1:
        costs = ", ".join(f"{s.cost:.6g}" for s in solution.optima)
        say(f"costs of the local optima: {costs}")
    say(
        f"cost {solution.cost:.9g} on {solution.steps} steps; {solution.message} in"
        f" {solution.iterations} iterations of {solution.solver}; {solution.checked()};"
        f" {seconds:.2f} s with compilation."
    )


def write(found: Any, out: Path, name: str) -> None:
    """The store and the figure of what was found, in the folder `out`."""
    found.save(out / f"{name}.zarr")
    save_figure(found.plot(), out / f"{name}.png")
