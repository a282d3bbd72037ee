"""What all commands share: the application, its console, and how an error is told."""

from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

app = typer.Typer(
    help="Lagrangian mechanics in continuous and in discrete time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()


def fail(message: object) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    Console(stderr=True).print(f"[red]error:[/red] {escape(str(message))}", highlight=False)
    raise typer.Exit(1)


@app.callback(invoke_without_command=True)
def main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show_version:
        from importlib.metadata import version

        console.print(f"accion {version('accion')}", highlight=False)
        raise typer.Exit
