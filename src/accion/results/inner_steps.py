"""Steps of a run that were not saved, made again from the saved times before them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from accion.numerics.arrays import module_of
from accion.stepping.rows import Advanced, Opened, Row

if TYPE_CHECKING:
    from accion.results.trajectory import Trajectory


def rows_of(trajectory: "Trajectory") -> Row:
    """What a trajectory has at its saved times; of a system with a weight, over the weight."""
    nodal = trajectory.nodal
    P, d = (None, None) if nodal is None else (nodal.P, nodal.d)
    own = (trajectory.v, trajectory.reduced_p, trajectory.reduced_lam, trajectory.jets)
    return Row(trajectory.points, *own, P, d, trajectory.supplied)


def taken(trajectory: "Trajectory", rows: Any, which: np.ndarray) -> Any:
    """The rows of these numbers, of every run."""
    axis, own = int(trajectory.is_ensemble), module_of(rows)
    return jax.tree.map(lambda a: own.take(own.asarray(a), which, axis=axis), rows)


def spread(trajectory: "Trajectory", values: Any) -> Any:
    """Values at times, the same for every run of an ensemble."""
    if not trajectory.is_ensemble:
        return values
    runs = len(trajectory.success)
    return jax.tree.map(lambda a: np.broadcast_to(a, (runs, *np.shape(a))), values)


def mapped(trajectory: "Trajectory", f: Callable[..., Any], t: Any, *arrays: Any) -> Any:
    """`f(system, t, *arrays)` at other times than the saved ones."""
    return replace(trajectory, t=t).each(f, *arrays)


def walk(trajectory: "Trajectory", every: int, starts: np.ndarray) -> Iterator[Any]:
    """(which of the nodes, their times, the states there) for the nodes of these numbers, which
    grow: made again from the saved times before them, of all saved times at once.
    """
    method, h = trajectory.method, float(trajectory.h)
    saved, group = np.unique(starts // every, return_inverse=True)
    rank = np.arange(len(starts)) - np.searchsorted(group, group)
    times = np.asarray(trajectory.t)[saved]
    rows = taken(trajectory, rows_of(trajectory), saved)
    steps = spread(trajectory, np.full(len(saved), h))
    states = mapped(trajectory, Opened(method), times, steps, rows)
    groups, done = np.arange(len(saved)), np.zeros(len(saved), dtype=int)
    for r in range(int(np.max(rank)) + 1):
        which = np.flatnonzero(rank == r)
        own = np.searchsorted(groups, group[which])
        groups, states, before = group[which], taken(trajectory, states, own), done[own]
        done = starts[which] % every
        states = advanced(trajectory, times[groups] + before * h, states, done - before)
        yield which, times[groups] + done * h, states


def advanced(trajectory: "Trajectory", t: np.ndarray, states: Any, counts: Any) -> Any:
    """The states some steps later."""
    h = spread(trajectory, np.full(len(t), float(trajectory.h)))
    return mapped(trajectory, Advanced(trajectory.method), t, h, states, spread(trajectory, counts))


def joined(trajectory: "Trajectory", found: list[Any]) -> tuple[Any, Any]:
    """(times, what belongs to them) of parts (which, times, what), put in order."""
    axis, order = int(trajectory.is_ensemble), np.argsort(np.concatenate([w for w, *_ in found]))
    own = module_of(found)
    together = jax.tree.map(lambda *a: own.concatenate(a, axis=axis), *(a for *_, a in found))
    return np.concatenate([t for _, t, _ in found])[order], taken(trajectory, together, order)
