"""Commands that make pages for a browser."""

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from accion.cli.base import app, errors_told, say
from accion.cli.gallery import NAME
from accion.methods import registry


@app.command()
def export(
    name: Annotated[str, typer.Argument(help=NAME)],
    out: Annotated[
        Path | None, typer.Option(help="The file to write; NAME.html where it is not said.")
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="A page, which is what there is and need not be said.")
    ] = True,
    method: Annotated[str | None, typer.Option(help=f"One of {registry.choices()}.")] = None,
    compare: Annotated[
        str | None, typer.Option(help="Another method, whose motion is drawn beside.")
    ] = None,
    h: Annotated[float | None, typer.Option(help="The time step [s].")] = None,
    copies: Annotated[int, typer.Option(help="How many start side by side.")] = 1,
    spread: Annotated[
        float, typer.Option(help="How far their first coordinates are apart in all.")
    ] = 1e-3,
) -> None:
    """Write a system as a page that moves in any browser, without Python."""
    from accion.gallery import find_or_read
    from accion.gallery.exported import page_of
    from accion.pages.page import save_page
    from accion.results.paged import new_page

    with errors_told():
        entry = find_or_read(name)
        path = new_page(Path(f"{entry.name}.html") if out is None else out, "--out")
        chosen, other = (registry.parse(text) if text else None for text in (method, compare))
        text = page_of(entry, chosen, compare=other, h=h, copies=copies, spread=spread)
        save_page(text, path)
    say(f"written: {path}, {len(text.encode()) / 1000:.0f} kB")


@app.command()
def lab(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files of your own, beside the systems of the gallery; they are run."),
    ] = None,
    port: Annotated[int, typer.Option(help="Of this machine; 0 takes one that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Whether the page is opened by itself.")] = True,
) -> None:
    """Open a laboratory in the browser: systems that move, with sliders, two methods side by side.

    Only this machine can reach it, and only who knows the address that it prints. Ctrl-C ends it.
    """
    from accion.lab import serve
    from accion.lab.server import doorway

    with errors_told("the laboratory is closed"):
        open_lab = serve(files or [], port)
        say(f"The laboratory is open: {open_lab.address}  (Ctrl-C closes it)")
        try:
            with doorway(open_lab.address) as path:
                if browser:
                    webbrowser.open(path.as_uri())
                while True:
                    time.sleep(3600)
        finally:
            open_lab.close()
