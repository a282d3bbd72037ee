"""A region of attraction on a finer grid, run again only near its boundaries."""

import json
import math
from typing import TYPE_CHECKING

import numpy as np

from accion.arguments import count, door, instance, shown, switch
from accion.checks import whole
from accion.engines.auto import check_engine
from accion.formation.attraction import Outcomes, Survey, compute
from accion.formation.formation import Formation
from accion.formation.places import check_shape, is_turned, own_names, placed
from accion.formation.rigid import RigidFormation
from accion.formation.settling import ANOTHER, Rule
from accion.formation.storage import a_map
from accion.formation.teams import Team, a_formation, rebuilt, team_of
from accion.memory import check_room
from accion.methods import Method, registry

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset


@door(
    ds=a_map,
    formation=a_formation,
    method=instance(Method, "a method, such as Trapezoid()"),
    workers=count,
    progress=switch,
    engine=check_engine,
)
def refine(
    ds: "Dataset",
    formation: Formation | RigidFormation | None = None,
    *,
    factor: int = 2,
    method: Method | None = None,
    workers: int | None = None,
    progress: bool = False,
    engine: str = "auto",
) -> "Dataset":
    """The same region on a grid `factor` times finer, where only points near a boundary are run
    again: those in cells whose corners differ.

    The rest takes the outcome of its cell; `computed` is False there. A formation with a potential
    of its own, and a method that holds a function, must be passed again.

    Arguments: `ds`, what `attraction` or `refine` returned; the others as of `attraction`.
    Raises: ValueError where nothing is to be refined, or something must be passed again.
    """
    factor = whole(factor, "factor", 2)
    method = method or registry.stored(ds.attrs["method"])
    if method is None:
        raise ValueError(
            f"the map was made by {ds.attrs['method']}, which holds a function; pass it again:"
            " refine(ds, method=...)."
        )
    shape = ds["desired"].values
    formation = formation or rebuild(ds)
    check_shape(formation, shape)
    agents, names = placed(ds), own_names(ds)
    if tuple(ds["outcome"].dims) != names:
        raise ValueError(
            f"a map has the axes {', '.join(names)}; this one has"
            f" {', '.join(map(str, ds['outcome'].dims))}. Refine the whole map, then choose a"
            " slice."
        )
    points = math.prod(len(ds[name]) * factor for name in names)
    check_room(64 * points, f"factor = {shown(factor)}", "Refine less.")
    grid = [finer(ds[name].values, factor) for name in names]
    label = (
        10 * ds["outcome"].values
        + np.where(ds["outcome"].values == ANOTHER, ds["shape"].values, 0)
        + 5 * ds["mirrored"].values
    )
    fine, nearest = boundary_points(label, factor)
    outcome, time, mirrored = (
        ds[name].values[nearest].ravel().copy() for name in ("outcome", "time", "mirrored")
    )
    which = np.flatnonzero(fine.ravel())
    if len(which) == 0:
        raise ValueError(
            "there is no boundary to refine: all points of the grid have the same outcome."
        )
    numbers = ds["shape"].values[nearest].ravel()
    left = np.flatnonzero((outcome == ANOTHER) & ~fine.ravel() & (numbers > 0))
    ended = (left, others(ds, team_of(formation))[numbers[left] - 1])
    survey = Survey(
        formation,
        shape,
        agents,
        grid,
        float(ds.attrs["h"]),
        int(ds.attrs["steps"]),
        method,
        Rule(**json.loads(ds.attrs["rule"])),
        workers,
        progress,
        engine,
        array(ds, "v0"),
        array(ds, "attitudes"),
        is_turned(ds),
    )
    return compute(survey, which, Outcomes(outcome, time, mirrored, ended))


def finer(axis: np.ndarray, factor: int) -> np.ndarray:
    """An axis of a grid with `factor` times as many intervals.

    Raises: ValueError where it has none.
    """
    if len(axis) < 2:
        raise ValueError("each axis of the grid needs at least two points to be refined.")
    number = np.arange(len(axis))
    return np.interp(np.arange((len(axis) - 1) * factor + 1) / factor, number, axis)


def boundary_points(label: np.ndarray, factor: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """(mask, nearest) of the finer grid: points of cells whose corners differ, and the indices of
    the nearest old point.
    """
    cells = np.zeros(tuple(s - 1 for s in label.shape), dtype=bool)
    inner = tuple(slice(0, s - 1) for s in label.shape)
    for corner in np.ndindex(*(2,) * label.ndim):
        moved = tuple(slice(c, s - 1 + c) for c, s in zip(corner, label.shape, strict=True))
        cells |= label[moved] != label[inner]
    index = [np.arange((s - 1) * factor + 1) for s in label.shape]
    mask = np.zeros(tuple(map(len, index)), dtype=bool)
    for corner in np.ndindex(*(2,) * label.ndim):  # a point on the border of a cell belongs to both
        cell = [
            np.clip(np.where(c, (i - 1) // factor, i // factor), 0, s - 2)
            for i, c, s in zip(index, corner, label.shape, strict=True)
        ]
        mask |= cells[np.ix_(*cell)]
    return mask, np.ix_(
        *[
            np.minimum((i + factor // 2) // factor, s - 1)
            for i, s in zip(index, label.shape, strict=True)
        ]
    )


def array(ds: "Dataset", name: str) -> np.ndarray | None:
    """An array that a map says its runs were made with, where there is one."""
    return np.array(json.loads(ds.attrs[name])) if name in ds.attrs else None


def others(ds: "Dataset", team: Team) -> np.ndarray:
    """The other shapes of a map, as rows."""
    turned = ds["other_attitudes"].values if "other_attitudes" in ds else None
    return team.in_rows(team.placed(ds["other"].values, turned))


def rebuild(ds: "Dataset") -> Formation | RigidFormation:
    """The formation that a Dataset was made with.

    Raises: ValueError where its potential is not known.
    """
    if ds.attrs["potential"] != "quartic":
        raise ValueError(
            "this region was made with a potential of its own; pass the formation: refine(ds,"
            " formation)."
        )
    names = ("edges", "distances", "gains", "mass", "inertia", "alignment", "retraction")
    known = {name: json.loads(ds.attrs[name]) for name in names if name in ds.attrs}
    return rebuilt(known, known.pop("edges"), known.pop("distances"), ds["desired"].values)
