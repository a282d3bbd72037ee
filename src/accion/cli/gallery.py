"""Commands on one system of the gallery."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from accion.cli.base import app, console, errors_told, new_folder, say, whole_number
from accion.cli.words import describe, describe_control, parse_settings, write, written
from accion.methods import registry

LONGEST = 600  # seconds of a moving picture


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
            escape(entry.name),
            escape(entry.title),
            escape(entry.source),
            f"{type(entry.method).__name__}, {entry.h:g}, {entry.steps}",
            escape(params),
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
    steps: Annotated[int | None, typer.Option(help="How many steps.", parser=whole_number)] = None,
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
    from accion.gallery import find
    from accion.gallery.base import run as run_entry

    with errors_told():
        entry = find(name)
        scheme = registry.parse(method) if method else entry.method
        params = parse_settings(entry.system.params, settings or [])
        if animate is not None and (out is None or not 0 < animate <= LONGEST):
            raise ValueError(
                "--animate needs --out, the folder that it is written to, and a number of seconds"
                f" above zero, at most {LONGEST}."
            )
        with nullcontext() if out is None else new_folder(out) as folder:
            began = time.perf_counter()
            found: Any = run_entry(entry, scheme, h=h, steps=steps, params=params)
            seconds = time.perf_counter() - began
            if entry.problem is None:
                describe(found, seconds)
            else:
                describe_control(found, seconds)
            name = "trajectory" if entry.problem is None else "control"
            if folder is not None:
                write(found, folder, name)
            if folder is not None and animate is not None:
                found.animate(entry.positions, folder / "motion.gif", fps=15, seconds=animate)
        if out is not None:
            say(f"written: {out}/{name}.zarr, {out}/{name}.png")


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

    with errors_told():
        eqs = symbolic(equations_of(find(name)))
        sheets = [eqs, *([eqs.discrete(registry.parse(method))] if method else [])]
    for sheet in sheets:
        typer.echo(sheet.latex() if latex else sheet.text())
