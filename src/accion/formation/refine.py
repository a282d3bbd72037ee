"""A region of attraction on a finer grid, run again only near its boundaries."""

import json

import numpy as np

from accion.checks import whole
from accion.formation.attraction import ANOTHER, Rule, compute
from accion.formation.formation import Formation
from accion.methods import registry


def refine(ds, formation=None, *, factor=2, method=None, workers=None, progress=False):
    """The same region on a grid `factor` times finer, where only points near a boundary are run
    again: those in cells whose corners differ.

    The rest takes the outcome of its cell; `computed` is False there. A formation with a potential
    of its own, and a method that holds a function, must be passed again.
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
    names = ("x", "y", "z")[: formation.dimension]
    old = [ds[name].values for name in names]
    if any(len(axis) < 2 for axis in old):
        raise ValueError("each axis of the grid needs at least two points to be refined.")
    grid = [
        np.interp(np.arange((len(a) - 1) * factor + 1) / factor, np.arange(len(a)), a) for a in old
    ]
    label = (
        10 * ds["outcome"].values
        + np.where(ds["outcome"].values == ANOTHER, ds["shape"].values, 0)
        + 5 * ds["mirrored"].values
    )
    fine, nearest = boundary_points(label, factor)
    values = [ds[name].values[nearest].ravel().copy() for name in ("outcome", "time", "mirrored")]
    which = np.flatnonzero(fine.ravel())
    if len(which) == 0:
        raise ValueError(
            "there is no boundary to refine: all points of the grid have the same outcome."
        )
    numbers = ds["shape"].values[nearest].ravel()
    quiet_others = np.flatnonzero((values[0] == ANOTHER) & ~fine.ravel() & (numbers > 0))
    ended = (
        quiet_others,
        ds["other"].values[numbers[quiet_others] - 1].reshape(len(quiet_others), shape.size),
    )
    axes = np.meshgrid(*grid, indexing="ij")
    starts = np.repeat(shape.reshape(1, -1), len(which), axis=0)
    d, agent = formation.dimension, int(ds.attrs["agent"])
    starts[:, agent * d : (agent + 1) * d] = np.stack([a.ravel()[which] for a in axes], axis=1)
    rule = Rule(**json.loads(ds.attrs["rule"]))
    known = (*values, ended)
    return compute(
        formation,
        shape,
        agent,
        grid,
        starts,
        which,
        known,
        ds.attrs["h"],
        ds.attrs["steps"],
        method,
        rule,
        workers,
        progress,
    )


def boundary_points(label, factor):
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


def rebuild(ds):
    """The formation that a Dataset was made with."""
    if ds.attrs["potential"] != "quartic":
        raise ValueError(
            "this region was made with a potential of its own; pass the formation: refine(ds,"
            " formation)."
        )
    edges, distances, gains = (
        json.loads(ds.attrs[name]) for name in ("edges", "distances", "gains")
    )
    n, d = ds["desired"].shape
    return Formation(edges, distances, d, gains, agents=n, shape=ds["desired"].values)
