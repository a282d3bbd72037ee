"""Commands on one system, of the gallery or of a file of one's own."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accion.cli.base import app, errors_told, new_folder, say, whole_number
from accion.cli.words import (
    describe,
    describe_control,
    parse_settings,
    parse_start,
    shortened,
    write,
    written,
)
from accion.methods import registry

if TYPE_CHECKING:
    from accion.gallery.base import Entry

LONGEST = 600  # seconds of a moving picture
NAME = "A system of the gallery (see `accion list`), or a file of your own such as swing.py."


@app.command("list")
def list_systems(
    name: Annotated[
        str | None, typer.Argument(help="One system: its source, numbers and text.")
    ] = None,
) -> None:
    """The systems of the gallery, a line each; or one of them in full."""
    from accion.gallery import ENTRIES, find_or_read

    if name is not None:
        with errors_told():
            entry = find_or_read(name)
        for line in details(entry):
            say(line)
        return
    width = max(map(len, ENTRIES))
    for entry in ENTRIES.values():
        say(shortened(f"{entry.name:<{width}}  {entry.title}"))


def details(entry: "Entry") -> list[str]:
    """What is known of a system, in lines."""
    params = (f"{key} = {written(value)}" for key, value in (entry.system.params or {}).items())
    start = (f"{key} = {written(value)}" for key, value in entry.start.items())
    rows = {
        "source": entry.source,
        "kind": type(entry.system).__name__,
        "space": str(entry.system.space),
        "method": "" if entry.method is None else registry.written(entry.method),
        "h": "" if entry.problem or entry.h is None else f"{entry.h:g}",
        "steps": str(entry.steps),
        "start": "" if entry.problem else ", ".join(start),
        "params": ", ".join(params),
    }
    width = max(map(len, rows))
    lines = [f"{entry.name}: {entry.title}"]
    lines += [f"  {key:<{width}}  {value}" for key, value in rows.items() if value]
    return [*lines, *([entry.text] if entry.text else [])]


@app.command()
def run(
    name: Annotated[str, typer.Argument(help=NAME)],
    method: Annotated[str | None, typer.Option(help=f"One of {registry.choices()}.")] = None,
    h: Annotated[
        float | None,
        typer.Option(
            help="The time step [s]; not where the duration is given by a control problem."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps.", parser=whole_number)] = None,
    q0: Annotated[
        str | None, typer.Option(help="Where it starts, numbers with commas: --q0 1,0.5")
    ] = None,
    v0: Annotated[
        str | None, typer.Option(help="The velocity that it starts with: --v0=-1,0")
    ] = None,
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
    """Simulate one system, or find its optimal control where it has a control problem."""
    from accion.gallery import find_or_read
    from accion.gallery.base import run as run_entry

    with errors_told():
        entry = find_or_read(name)
        scheme = registry.parse(method) if method else entry.method
        params = parse_settings(entry.system.params or {}, settings) if settings else None
        start = parse_start(entry.system, q0=q0, v0=v0)
        if animate is not None and (out is None or not 0 < animate <= LONGEST):
            raise ValueError(
                "--animate needs --out, the folder that it is written to, and a number of seconds"
                f" above zero, at most {LONGEST}."
            )
        with nullcontext() if out is None else new_folder(out) as folder:
            began = time.perf_counter()
            found: Any = run_entry(entry, scheme, h=h, steps=steps, params=params, start=start)
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
            names = [f"{name}.zarr", f"{name}.png", *(["motion.gif"] if animate else [])]
            say(f"written: {', '.join(f'{out}/{each}' for each in names)}")


@app.command()
def equations(
    name: Annotated[str, typer.Argument(help=NAME)],
    method: Annotated[
        str | None,
        typer.Option(
            help="Also the discrete equations of a method, such as Midpoint or Alpha:0.3."
        ),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX.")] = False,
) -> None:
    """The equations of one system: Lagrangian, motion, momenta, energy, what is conserved."""
    from accion.gallery import find_or_read
    from accion.gallery.base import equations_of
    from accion.symbols import symbolic

    with errors_told():
        eqs = symbolic(equations_of(find_or_read(name)))
        sheets = [eqs, *([eqs.discrete(registry.parse(method))] if method else [])]
    for sheet in sheets:
        typer.echo(sheet.latex() if latex else sheet.text())
