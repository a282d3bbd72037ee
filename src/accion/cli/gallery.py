"""Commands on one system of the gallery."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from accion.cli.base import app, console, fail
from accion.cli.words import describe, describe_control, parse_settings, write, written
from accion.methods import registry


@app.command("list")
def list_systems() -> None:
    """The systems of the gallery, with their parameters."""
    from accion.gallery import ENTRIES

    table = Table(
        Column("name", no_wrap=True), "system", "source", "method, h, steps", "parameters"
    )
    for entry in ENTRIES.values():
        params = ", ".join(
            f"{key}={written(value)}" for key, value in (entry.system.params or {}).items()
        )
        table.add_row(
            entry.name,
            entry.title,
            entry.source,
            f"{type(entry.method).__name__}, {entry.h:g}, {entry.steps}",
            params,
        )
    console.print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A system of the gallery; see `accion list`.")],
    method: Annotated[str | None, typer.Option(help=f"One of {registry.choices()}.")] = None,
    h: Annotated[
        float | None,
        typer.Option(
            help="The time step [s]; not where the duration is given by a control problem."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="param=value; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for the trajectory, or the optimal control, (Zarr) and its figure."
        ),
    ] = None,
    animate: Annotated[
        float | None,
        typer.Option(
            help="Also a moving picture (GIF) of so many seconds, in the folder of --out."
        ),
    ] = None,
) -> None:
    """Simulate one system of the gallery, or find its optimal control where it has a control
    problem.
    """
    from accion.errors import OptimizeFailed, StepFailed
    from accion.gallery import find
    from accion.gallery.base import run as run_entry

    try:
        entry = find(name)
        scheme = registry.parse(method) if method else entry.method
        params = parse_settings(entry.system.params, settings or [])
        if out is not None and out.exists():
            raise FileExistsError(f"{out} exists; choose a new folder.")
        if animate is not None and (out is None or not animate > 0):
            raise ValueError(
                "--animate needs --out, the folder that it is written to, and a number of seconds"
                " above zero."
            )
        if out is not None:
            out.mkdir(parents=True)
        begin = time.perf_counter()
        found: Any = run_entry(entry, scheme, h=h, steps=steps, params=params)
        seconds = time.perf_counter() - begin
        if entry.problem is None:
            describe(found, seconds)
        else:
            describe_control(found, seconds)
        if out is not None:
            write(found, out, "trajectory" if entry.problem is None else "control")
        if out is not None and animate is not None:
            found.animate(entry.positions, out / "motion.gif", fps=15, seconds=animate)
    except (ValueError, OSError, StepFailed, OptimizeFailed) as error:
        fail(error)


@app.command()
def equations(
    name: Annotated[str, typer.Argument(help="A system of the gallery; see `accion list`.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="Also the discrete equations of a method, such as Midpoint or Alpha:0.3."
        ),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX.")] = False,
) -> None:
    """The equations of one system of the gallery: Lagrangian, motion, momenta, energy, what is
    conserved.
    """
    from accion.gallery import find
    from accion.gallery.base import equations_of
    from accion.symbols import symbolic

    try:
        eqs = symbolic(equations_of(find(name)))
        sheets = [eqs, *([eqs.discrete(registry.parse(method))] if method else [])]
    except ValueError as error:
        fail(error)
    for sheet in sheets:
        typer.echo(sheet.latex() if latex else sheet.text())
