"""Commands that run many simulations."""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from accion.cli.base import app, console, fail

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
    """Run many simulations, as a file says.

    Interrupted, it goes on where it was when it is run again.
    """
    from accion.campaign import file as files, summary
    from accion.gallery import find

    try:
        console.print(summary(files.run(file, find, scheduler, overwrite)), highlight=False)
    except (ValueError, OSError, ImportError) as error:
        fail(error)


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
    steps: Annotated[int, typer.Option(help="How many steps.")] = 357,
    finer: Annotated[
        int, typer.Option(help="How often the grid is refined near the boundaries.")
    ] = 0,
) -> None:
    """Place one agent of a planar shape over a grid and see where the formation goes: a map of the
    region of attraction (Colombo-Gamonal, section 6.4).
    """
    from accion import formation
    from accion.plot import save_figure
    from accion.results.folders import replacing

    try:
        if out.exists():
            raise FileExistsError(f"{out} exists; choose a new folder.")
        edges, positions = planar(shape, scale, agent, size, width)
        team = formation.Formation.from_shape(edges, positions, damping, name=shape)
        grid = [np.linspace(c - width, c + width, size) for c in positions[agent - 1]]
        began = time.perf_counter()
        ds = formation.attraction(team, agent - 1, grid, h=h, steps=steps, progress=True)
        for _ in range(finer):
            ds = formation.refine(ds, team, progress=True)
        seconds = time.perf_counter() - began
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as new:
            new.mkdir()
            formation.save_attraction(ds, new / "attraction.zarr")
            save_figure(formation.plot_attraction(ds), new / "attraction.png")
    except (ValueError, OSError) as error:
        fail(error)
    outcome = ds["outcome"].values
    for i, words in enumerate(formation.OUTCOMES):
        console.print(f"{words}: {np.mean(outcome == i):.1%}", highlight=False)
    runs = int(ds["computed"].sum())
    console.print(
        f"{runs} runs of {steps} steps in the last grid; {seconds:.1f} s in all, with compilation."
        f" written: {out}",
        highlight=False,
    )


def planar(
    shape: str, scale: float, agent: int, size: int, width: float
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """(edges, positions) of a shape, where one of its agents is to be moved over a grid."""
    from accion.formation import shapes

    if shape not in SHAPES:
        raise ValueError(f"there is no planar shape {shape!r}. Try one of: {', '.join(SHAPES)}.")
    if size < 2 or not width > 0 or not scale > 0:
        raise ValueError(
            f"size must be at least 2, width and scale positive; got {size}, {width} and {scale}."
        )
    edges, positions = getattr(shapes, shape)(scale)
    if not 1 <= agent <= len(positions):
        raise ValueError(f"agent must be a number from 1 to {len(positions)}; got {agent}.")
    return edges, positions
