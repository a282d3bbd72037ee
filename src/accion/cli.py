"""The command line: `accion list`, `accion run NAME`, `accion equations NAME`, `accion reproduce
[NAME ...]`, `accion campaign FILE`, `accion attraction SHAPE`.
"""

import time
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from accion.progress import progress_bar

app = typer.Typer(
    help="Lagrangian mechanics in continuous and in discrete time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
METHODS = ("LeftRectangle", "RightRectangle", "Midpoint", "Trapezoid", "Alpha")
SHAPES = ("square", "hexagon")  # planar ones, functions of accion.formation.shapes
CHOICE = (
    f"{', '.join(METHODS)}; Alpha as Alpha:0.3, and for a thermal system EnergyConsistent:Midpoint"
)


def fail(message) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    Console(stderr=True).print(f"[red]error:[/red] {escape(str(message))}", highlight=False)
    raise typer.Exit(1)


@app.callback(invoke_without_command=True)
def main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
):
    if show_version:
        from importlib.metadata import version

        console.print(f"accion {version('accion')}", highlight=False)
        raise typer.Exit


@app.command("list")
def list_systems():
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
    method: Annotated[str | None, typer.Option(help=f"One of {CHOICE}.")] = None,
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
):
    """Simulate one system of the gallery, or find its optimal control where it has a control
    problem.
    """
    from accion.errors import OptimizeFailed, StepFailed
    from accion.gallery import find
    from accion.gallery.base import run as run_entry

    try:
        entry = find(name)
        scheme = parse_method(method) if method else entry.method
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
        found = run_entry(entry, scheme, h=h, steps=steps, params=params)
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
            help=f"Also the discrete equations of one of {', '.join(METHODS)}; Alpha as Alpha:0.3."
        ),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX.")] = False,
):
    """The equations of one system of the gallery: Lagrangian, motion, momenta, energy, what is
    conserved.
    """
    from accion.gallery import find
    from accion.gallery.base import equations_of
    from accion.symbols import symbolic

    try:
        eqs = symbolic(equations_of(find(name)))
        sheets = [eqs, *([eqs.discrete(parse_method(method))] if method else [])]
    except ValueError as error:
        fail(error)
    for sheet in sheets:
        typer.echo(sheet.latex() if latex else sheet.text())


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
):
    """Simulate the gallery, compare every number with its reference, and write report/index.html.

    Exit code 1 if any differs.
    """
    from accion import gallery, report

    try:
        if quick and names:
            raise ValueError(
                "--quick chooses the systems by itself; name them or pass --quick, not both."
            )
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs must be a number of processes, at least 1; got {jobs}.")
        chosen = list(dict.fromkeys(names or (gallery.QUICK if quick else gallery.NAMES)))
        for name in chosen:
            gallery.check_name(name)
    except ValueError as error:
        fail(error)
    begin, lines = time.perf_counter(), Lines(len(chosen))
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
        Console(stderr=True).print(f"interrupted; {done}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
    good, used = (
        sum(result.passed for result in results),
        sum(result.processor for result in results),
    )
    console.print(
        f"{good} of {len(results)} systems PASS; {time.perf_counter() - begin:.0f} s,"
        f" {used:.0f} s of the processor, processes of at most"
        f" {max(result.memory for result in results) / 2**20:.0f} MiB."
        f" written: {out / 'index.html'}",
        highlight=False,
        soft_wrap=True,
    )
    if good < len(results):
        raise typer.Exit(1)


class Lines:
    """A line for each system as it ends, and on a terminal a bar under them that shows what
    runs.
    """

    def __init__(self, total):
        self.running, self.ended = [], 0
        self.bar = (
            progress_bar("gallery", total)
            if console.is_terminal
            else nullcontext(lambda amount, now: None)
        )

    def __enter__(self):
        self.advance = self.bar.__enter__()
        return self

    def __exit__(self, *error):
        return self.bar.__exit__(*error)

    def tell(self, name, result=None):
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
                f"{name:<22} {word} {result.seconds:6.1f} s  {escape(said)}",
                highlight=False,
                soft_wrap=True,
            )
        self.advance(result is not None, ", ".join(self.running))


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
):
    """Run many simulations, as a file says.

    Interrupted, it goes on where it was when it is run again.
    """
    from accion.campaign import file as files, summary
    from accion.gallery import find

    try:
        console.print(
            summary(files.run(file, find, parse_method, scheduler, overwrite)), highlight=False
        )
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
):
    """Place one agent of a planar shape over a grid and see where the formation goes: a map of the
    region of attraction (002 section 6.4).
    """
    from accion import formation
    from accion.plot import save_figure
    from accion.results.folders import replacing

    try:
        if shape not in SHAPES:
            raise ValueError(
                f"there is no planar shape {shape!r}. Try one of: {', '.join(SHAPES)}."
            )
        if out.exists():
            raise FileExistsError(f"{out} exists; choose a new folder.")
        if size < 2 or not width > 0 or not scale > 0:
            raise ValueError(
                f"size must be at least 2, width and scale positive; got {size}, {width} and"
                f" {scale}."
            )
        edges, positions = getattr(formation.shapes, shape)(scale)
        if not 1 <= agent <= len(positions):
            raise ValueError(f"agent must be a number from 1 to {len(positions)}; got {agent}.")
        team = formation.Formation.from_shape(edges, positions, damping, name=shape)
        grid = [np.linspace(c - width, c + width, size) for c in positions[agent - 1]]
        begin = time.perf_counter()
        ds = formation.attraction(team, agent - 1, grid, h=h, steps=steps, progress=True)
        for _ in range(finer):
            ds = formation.refine(ds, team, progress=True)
        seconds = time.perf_counter() - begin
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as new:
            new.mkdir()
            ds.to_zarr(new / "attraction.zarr", zarr_format=2)
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


def written(value):
    """A parameter as a person writes it: a number, (a, b, c), or IdealGas(NR=1, ...)."""
    if is_dataclass(value):
        parts = (f"{f.name}={written(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    return f"{value:g}" if np.ndim(value) == 0 else "(" + ", ".join(written(v) for v in value) + ")"


def parse_method(text):
    from accion import methods

    name, _, argument = text.partition(":")
    if name == "EnergyConsistent":
        return methods.EnergyConsistent(parse_method(argument))
    if name not in METHODS:
        raise ValueError(f"there is no method {text!r} to choose here. Try one of: {CHOICE}.")
    if (name == "Alpha") != bool(argument):
        raise ValueError(
            f"{name} takes {'a number, as in Alpha:0.3' if name == 'Alpha' else 'no argument'}; got"
            f" {text!r}."
        )
    return getattr(methods, name)(*([parse_number(argument)] if argument else []))


def parse_settings(params, settings):
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


def parse_number(text):
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"expected a number, got {text!r}.") from error


def ends_of(traj):
    """A table of the coordinates at both ends."""
    from accion.plot.figures import shown

    table = Table(f"{traj.system.name}, {traj.method}", "start", f"t = {float(traj.t[-1]):g} s")
    values, names = shown(traj, len(traj), 1)
    for name, first, last in zip(names, values[0, 0], values[0, -1], strict=True):
        table.add_row(escape(name), f"{first:.9g}", f"{last:.9g}")
    return table


def describe(traj, seconds):
    """What a person wants to know first of a run."""
    E, table = traj.energy(), ends_of(traj)
    if traj.S is not None:
        frame = traj.system.frame
        thermal = zip(
            frame.names,
            frame.temperatures,
            np.atleast_2d(traj.S.T),
            np.atleast_2d(traj.temperature().T),
            strict=True,
        )
        for name, hot, S, T in thermal:
            table.add_row(escape(name), f"{S[0]:.9g}", f"{S[-1]:.9g}")
            table.add_row(escape(hot), f"{T[0]:.9g}", f"{T[-1]:.9g}")
    table.add_row("energy", f"{float(E[0]):.9g}", f"{float(E[-1]):.9g}")
    console.print(table)
    console.print(
        f"{int(traj.steps_completed)} steps of {float(traj.h):g} s; at most"
        f" {int(traj.iterations.max())} Newton iterations; {seconds:.2f} s with compilation.",
        highlight=False,
    )


def describe_control(solution, seconds):
    """What a person wants to know first of an optimal control."""
    table = ends_of(solution.trajectory)
    for name, first, last in zip(
        solution.problem.controls, solution.u[0], solution.u[-1], strict=True
    ):
        table.add_row(escape(name), f"{first:.9g}", f"{last:.9g}")
    console.print(table)
    if len(solution.optima) > 1:
        console.print(
            f"costs of the local optima: {', '.join(f'{s.cost:.6g}' for s in solution.optima)}",
            highlight=False,
        )
    console.print(
        f"cost {solution.cost:.9g} on {solution.steps} steps; {solution.message} in"
        f" {solution.iterations} iterations of {solution.solver}; {solution.checked()};"
        f" {seconds:.2f} s with compilation.",
        highlight=False,
    )


def write(found, out, name):
    from accion.plot import save_figure

    found.save(out / f"{name}.zarr")
    save_figure(found.plot(), out / f"{name}.png")
    console.print(f"written: {out}/{name}.zarr, {out}/{name}.png", highlight=False)
