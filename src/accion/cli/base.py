"""What all commands share: the application, its console, the folder that they write to, and how an
error is told.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from accion.errors import OptimizeFailed, StepFailed
from accion.results.folders import replacing

app = typer.Typer(
    help="Lagrangian mechanics in continuous and in discrete time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
# What a command may end with for a reason that the user can do something about.
TOLD = (
    ValueError,
    TypeError,
    OSError,
    ImportError,
    MemoryError,
    OverflowError,
    StepFailed,
    OptimizeFailed,
)
INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


def say(message: object) -> None:
    """A line as it is: names and paths may have brackets, which are no markup."""
    console.print(str(message), markup=False, highlight=False, soft_wrap=True)


def told(message: object) -> str:
    """What an error says, with advice in the flags of the command line."""
    if not isinstance(message, StepFailed):
        return str(message)
    advice = "" if message.smaller is None else f" Try --h {message.smaller:.3g}."
    return message.happened + advice


def fail(message: object) -> NoReturn:
    """Say what is wrong, in one line, and end with exit code 1."""
    words = " ".join(told(message).split()) or type(message).__name__
    stderr = Console(stderr=True, soft_wrap=True)
    stderr.print(f"[red]error:[/red] {escape(words)}", highlight=False)
    raise typer.Exit(1)


@contextmanager
def errors_told(kept: str = "nothing was written") -> Iterator[None]:
    """Errors inside the block are told in a line, and end the program with exit code 1; Ctrl-C
    with 130, and what was `kept` is said.
    """
    try:
        yield
    except TOLD as error:
        fail(error)
    except KeyboardInterrupt:
        Console(stderr=True, soft_wrap=True).print(f"interrupted; {kept}", markup=False)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder that becomes `out` at the end of the block; an error inside leaves nothing behind.

    Raises:
        FileExistsError: where something is there.
        OSError: where it cannot be made, before any work is done.
    """
    out = Path(os.path.abspath(out))
    if os.path.lexists(out):
        raise FileExistsError(f"{out} exists; choose a new folder.")
    new_parents = [parent for parent in out.parents if not parent.exists()]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as new:
            new.mkdir()
            yield new
    except BaseException:
        for parent in new_parents:  # the innermost first
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        raise


def whole_number(text: str) -> int:
    """The whole number that a text is, 1e6 too."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number.")


@app.callback(invoke_without_command=True)
def main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    for stream in (sys.stdout, sys.stderr):
        # Not every terminal knows every letter: others are written as \u0105, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if show_version:
        from importlib.metadata import version

        say(f"accion {version('accion')}")
        raise typer.Exit
