"""The command that simulates the gallery and writes the report."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.markup import escape

from accion.cli.base import INTERRUPTED, app, console, fail, say
from accion.progress import progress_bar


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Systems of the gallery; all of them where none is named."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The folder of the report; files of yours in it are left alone.")
    ] = Path("report"),
    jobs: Annotated[
        int | None,
        typer.Option(
            help="How many systems run at once; the cores, at most 3, where it is not said."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three systems, for a first look.")
    ] = False,
) -> None:
    """Simulate the gallery, compare every number with its reference, and write report/index.html.

    Exit code 1 if any differs.
    """
    from accion import gallery, report

    try:
        chosen = systems_of(names, quick, jobs)
    except ValueError as error:
        fail(error)
    began, lines = time.perf_counter(), Lines(len(chosen))
    try:
        with lines:
            results = report.reproduce(
                chosen, out, jobs=jobs or report.default_jobs(), find=gallery.find, tell=lines.tell
            )
    except OSError as error:
        fail(error)
    except KeyboardInterrupt:
        done = (
            f"what was done is in {out / 'index.html'}"
            if lines.ended
            else "no system had ended, nothing was written"
        )
        Console(stderr=True, soft_wrap=True).print(f"interrupted; {done}", markup=False)
        raise typer.Exit(INTERRUPTED) from None
    good, used = (
        sum(result.passed for result in results),
        sum(result.processor for result in results),
    )
    most = max(result.memory for result in results) / 2**20
    say(
        f"{good} of {len(results)} systems PASS; {time.perf_counter() - began:.0f} s, {used:.0f} s"
        f" of the processor, processes of at most {most:.0f} MiB. written: {out / 'index.html'}"
    )
    if good < len(results):
        raise typer.Exit(1)


def systems_of(names: list[str] | None, quick: bool, jobs: int | None) -> list[str]:
    """The systems to simulate; ValueError where what is asked for contradicts itself."""
    from accion import gallery

    if quick and names:
        raise ValueError(
            "--quick chooses the systems by itself; name them or pass --quick, not both."
        )
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be a number of processes, at least 1; got {jobs}.")
    chosen = list(dict.fromkeys(names or (gallery.QUICK if quick else gallery.NAMES)))
    for name in chosen:
        gallery.check_name(name)
    return chosen


class Lines:
    """A line for each system as it ends, and on a terminal a bar under them that shows what
    runs.
    """

    def __init__(self, total: int):
        self.running: list[str] = []
        self.ended = 0
        self.bar: Any = (
            progress_bar("gallery", total)
            if console.is_terminal
            else nullcontext(lambda amount, now: None)
        )

    def __enter__(self) -> Self:
        self.advance = self.bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self.bar.__exit__(*error)

    def tell(self, name: str, result: Any = None) -> None:
        """That a system begins, or how it ended."""
        if result is None:
            self.running.append(name)
        else:
            self.running.remove(name)
            self.ended += 1
            word, said = (
                ("[green]PASS[/green]", f"{result.agreeing} numbers agree")
                if result.passed
                else ("[red]FAIL[/red]", result.reason)
            )
            console.print(
                f"{escape(name):<22} {word} {result.seconds:6.1f} s  {escape(said)}",
                highlight=False,
                soft_wrap=True,
            )
        self.advance(result is not None, ", ".join(self.running))
