"""Commands that run many simulations."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from accion.cli.base import app, errors_told, fail, new_folder, say, whole_number

if TYPE_CHECKING:
    from xarray import Dataset

LARGEST, FINEST = 10_000, 10  # points on an axis of a grid, refinements of it
SHAPES = ("square", "hexagon")  # planar ones, functions of accion.formation.shapes


@app.command()
def campaign(
    file: Annotated[
        Path,
        typer.Argument(
            help="A TOML file: system, method, plan, reductions, store; see `accion.campaign.file`."
        ),
    ],
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler; without it, this machine.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin again where another campaign is stored.")
    ] = False,
) -> None:
    """Run many simulations, as a file says. The file is code: it names Python files beside it,
    which are run.

    Interrupted, it goes on where it was when it is run again. Exit code 1 if a member failed.
    """
    from accion.campaign import failures, file as files, summary
    from accion.gallery import find

    with errors_told("finished chunks are in the store; run it again to go on"):
        found = files.run(file, find, scheduler, overwrite)
        say(summary(found))
        bad = len(failures(found))
    if bad:
        fail(f"{bad} of {found.sizes['member']} members did not go well.")


@app.command()
def attraction(
    shape: Annotated[str, typer.Argument(help=f"One of {', '.join(SHAPES)}.")],
    out: Annotated[Path, typer.Option(help="A new folder for the result (Zarr) and its map.")],
    agent: Annotated[int, typer.Option(help="The agent that is moved, from 1.")] = 1,
    size: Annotated[int, typer.Option(help="Points of the grid on each axis.")] = 60,
    scale: Annotated[
        float,
        typer.Option(
            help="The size of the shape: the side of the square, the radius of the hexagon [m]."
        ),
    ] = 5.0,
    width: Annotated[
        float, typer.Option(help="How far from its own place the agent is moved [m].")
    ] = 15.0,
    damping: Annotated[float, typer.Option(help="kappa [1/s].")] = 13.0,
    h: Annotated[float, typer.Option(help="The time step [s].")] = 0.014,
    steps: Annotated[int, typer.Option(help="How many steps.", parser=whole_number)] = 357,
    finer: Annotated[
        int, typer.Option(help="How often the grid is refined near the boundaries.")
    ] = 0,
) -> None:
    """Place one agent of a planar shape over a grid and see where the formation goes: a map of the
    region of attraction (Colombo-Gamonal, section 6.4).
    """
    from accion import formation

    began = time.perf_counter()
    with errors_told():
        edges, positions = planar(shape, scale, agent, size, width, finer)
        team = formation.Formation.from_shape(edges, positions, damping, name=shape)
        grid = [np.linspace(c - width, c + width, size) for c in positions[agent - 1]]
        with new_folder(out) as new:
            ds = formation.attraction(team, agent - 1, grid, h=h, steps=steps, progress=True)
            write_map(ds, new)
    # What is there stays there, whatever comes of a finer grid.
    for i in range(finer):
        with errors_told(f"the map after {i} of {finer} refinements is in {out}"):
            ds = formation.refine(ds, team, progress=True)
            write_map(ds, out)
    seconds = time.perf_counter() - began
    outcome = ds["outcome"].values
    for i, words in enumerate(formation.OUTCOMES):
        say(f"{words}: {np.mean(outcome == i):.1%}")
    runs = int(ds["computed"].sum())
    say(
        f"{runs} runs of {steps} steps in the last grid; {seconds:.1f} s in all, with compilation."
        f" written: {out}"
    )


def write_map(ds: "Dataset", folder: Path) -> None:
    """The map and its picture, in place of those that are there."""
    from accion import formation
    from accion.plot import save_figure

    formation.save_attraction(ds, folder / "attraction.zarr", overwrite=True)
    save_figure(formation.plot_attraction(ds), folder / "attraction.png")


def planar(
    shape: str, scale: float, agent: int, size: int, width: float, finer: int
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """(edges, positions) of a shape, where one of its agents is to be moved over a grid."""
    from accion.formation import shapes

    if shape not in SHAPES:
        raise ValueError(f"there is no planar shape {shape!r}. Try one of: {', '.join(SHAPES)}.")
    if not (2 <= size <= LARGEST and 0 < width < np.inf and 0 < scale < np.inf):
        raise ValueError(
            f"size must be at least 2 and at most {LARGEST}, width and scale positive numbers; got"
            f" {size}, {width} and {scale}."
        )
    if not 0 <= finer <= FINEST:
        raise ValueError(f"finer must be between 0 and {FINEST}; got {finer}.")
    edges, positions = getattr(shapes, shape)(scale)
    if not 1 <= agent <= len(positions):
        raise ValueError(f"agent must be a number from 1 to {len(positions)}; got {agent}.")
    return edges, positions
