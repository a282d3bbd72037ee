"""Regions of attraction: where one agent may start so that the formation closes (002 section
6.4).
"""

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.checks import check_times
from accion.engines.xla import kept_jit
from accion.formation.endings import number_shapes
from accion.formation.potentials import quartic
from accion.methods import Trapezoid
from accion.progress import progress_bar
from accion.spaces import Euclidean
from accion.stepping import scheme_of

CONGRUENT, ANOTHER, NOT_CONVERGED, DIVERGED = range(4)
OUTCOMES = ("congruent", "another shape", "not converged", "diverged")
# runs that are stepped together; with 1000 their arrays leave the processor's nearest cache, at
# half the speed
CHUNK = 256


class Rule(NamedTuple):
    """When a run counts as converged: distances within `tolerance` of their own and all speeds
    below `speed` (002: 1 % and 0.1 m/s).

    Below the speed `rest` it is at rest, wherever it is. This is looked at after every `every`
    steps, which is how well the time is known.
    """

    tolerance: float = 0.01
    speed: float = 0.1
    rest: float = 0.01
    every: int = 10


class Ends(NamedTuple):
    """What is left of the runs of a chunk: class, time from which the rule held, whether the shape
    is the mirror image, last positions.
    """

    outcome: jax.Array
    time: jax.Array
    mirrored: jax.Array
    q: jax.Array


@partial(kept_jit, static_argnums=(1, 2))
def settle(system, method, graph, shape, q, h, steps, rule):
    """Step every row of `q`, shape (members, n d), from rest.

    Only the state and a time are carried: memory does not grow with `steps`.
    """
    scheme = scheme_of(system, method)
    step = scheme.step
    n, d = shape.shape
    wanted = system.params["d"]
    low, high = ((1 - rule.tolerance) * wanted) ** 2, ((1 + rule.tolerance) * wanted) ** 2

    def formed(q):
        x = jnp.split(q, n)
        squared = jnp.stack([jnp.sum((x[i] - x[j]) ** 2) for i, j in graph.edges.tolist()])
        return jnp.all((squared >= low) & (squared <= high))

    def slow(x, limit):
        return jnp.all(jnp.sum(x.reshape(n, d) ** 2, axis=1) < (limit * h) ** 2)

    def advance(j, carry):
        state, since = carry
        first, last = j * rule.every, jnp.minimum((j + 1) * rule.every, steps)
        state = jax.lax.fori_loop(first, last, lambda k, state: step(state, k * h, h)[0], state)
        return state, jnp.where(formed(state.q) & slow(state.x, rule.speed), since, last * h)

    def one(q):
        zero = jnp.zeros(n * d)
        start = scheme.start(0.0, h, q, zero, zero, jnp.zeros(0))
        state, since = jax.lax.fori_loop(
            0, (steps + rule.every - 1) // rule.every, advance, (start, jnp.zeros(()))
        )
        points = state.q.reshape(n, d)
        i, j = np.triu_indices(n, 1)
        pairs, own = (
            jnp.linalg.norm(points[i] - points[j], axis=1),
            jnp.linalg.norm(shape[i] - shape[j], axis=1),
        )
        calm = formed(state.q) & slow(state.x, rule.speed)
        same = calm & jnp.all(jnp.abs(pairs - own) <= rule.tolerance * own)
        # The best motion reflects where the determinant of the correlation is negative (Kabsch
        # 1976).
        mirrored = jnp.linalg.det((points - points.mean(0)).T @ (shape - shape.mean(0))) < 0
        outcome = jnp.where(
            same, CONGRUENT, jnp.where(calm | slow(state.x, rule.rest), ANOTHER, NOT_CONVERGED)
        )
        outcome = jnp.where(state.completed == steps, outcome, DIVERGED)
        return Ends(
            outcome, jnp.where(outcome == CONGRUENT, since, jnp.nan), same & mirrored, state.q
        )

    return jax.vmap(one)(q)


def run_all(formation, shape, starts, method, h, steps, rule, workers, progress, space=None):
    """`settle` for all rows of `starts`, in chunks on threads: outcome, time and mirrored of each,
    and (numbers, positions) of those elsewhere.
    """
    # an outcome within 1 % needs no digits that rounding took
    space = space or Euclidean(shape.size, compensated=False)
    system, shape = replace(formation.system(), space=space), jnp.asarray(shape)
    total, workers = len(starts), workers or os.cpu_count() or 1
    # Powers of two, so that grids of other sizes need no compilation.
    size = min(CHUNK, 2 ** math.ceil(math.log2(max(1, total / workers))))
    outcome, time, mirrored = (
        np.zeros(total, dtype=np.int8),
        np.zeros(total),
        np.zeros(total, dtype=bool),
    )
    elsewhere = []  # (numbers, positions)

    def work(first):
        rows = starts[first : first + size]
        short = size - len(rows)
        # The last chunk is filled up, so that one compiled program serves all.
        full = np.concatenate([rows, np.repeat(rows[-1:], short, axis=0)]) if short else rows
        ends = jax.tree.map(
            np.asarray, settle(system, method, formation.graph, shape, full, h, steps, rule)
        )
        return first, jax.tree.map(lambda a: a[: len(rows)], ends)

    with (
        ThreadPoolExecutor(workers) as pool,
        progress_bar("runs", total) if progress else quiet() as advance,
    ):
        work(0)  # compiled once, before the threads start
        for job in as_completed([pool.submit(work, first) for first in range(0, total, size)]):
            first, ends = job.result()
            here = slice(first, first + len(ends.outcome))
            outcome[here], time[here], mirrored[here] = ends.outcome, ends.time, ends.mirrored
            other = np.flatnonzero(ends.outcome == ANOTHER)
            elsewhere.append((first + other, ends.q[other]))
            advance(len(ends.outcome))
    return outcome, time, mirrored, join(elsewhere)


def join(parts):
    """One (numbers, positions) of several, in the order of the numbers."""
    numbers, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(numbers)
    return numbers[order], positions[order]


class quiet:
    """No progress bar."""

    def __enter__(self):
        return lambda amount: None

    def __exit__(self, *_):
        pass


def attraction(
    formation,
    agent,
    grid,
    *,
    h,
    steps,
    shape=None,
    method=None,
    rule=None,
    workers=None,
    progress=False,
):
    """Place one agent on every point of a grid, all others at the desired shape, at rest, and see
    where the formation goes: an xarray.Dataset.

    `agent`: its number; `grid`: d increasing vectors, the coordinates of the grid; `shape`:
    positions (n, d), by default those of `Formation.from_shape`; `rule`: a `Rule`. Runs go in
    chunks on `workers` threads (by default one for each core); `progress` shows how far they are
    and the time that remains.

    On the grid: `outcome` (its attribute `outcomes` has the words), `time` from which the rule
    held, `mirrored`, and `shape`, the number of the shape where it ended: 0 the desired one, 1, 2,
    ... others, the most frequent first, -1 none. `other` has the positions of those shapes,
    `stable` whether they are minima of V, `potential` their V.
    """
    shape = check_shape(formation, shape)
    grid = check_grid(formation, agent, grid)
    axes = np.meshgrid(*grid, indexing="ij")
    starts = np.repeat(shape.reshape(1, -1), axes[0].size, axis=0)
    d = formation.dimension
    starts[:, agent * d : (agent + 1) * d] = np.stack([a.ravel() for a in axes], axis=1)
    return compute(
        formation,
        shape,
        agent,
        grid,
        starts,
        np.arange(len(starts)),
        None,
        h,
        steps,
        method,
        rule or Rule(),
        workers,
        progress,
    )


def compute(
    formation, shape, agent, grid, starts, which, known, h, steps, method, rule, workers, progress
):
    """The Dataset of a grid, of which the points `which` are run from `starts` and the rest
    `known`: (outcome, time, mirrored, positions).
    """
    import xarray

    check_times(0.0, h, steps, 1)
    sizes = tuple(map(len, grid))
    outcome, time, mirrored, ended = known or (
        np.zeros(math.prod(sizes), dtype=np.int8),
        np.zeros(math.prod(sizes)),
        np.zeros(math.prod(sizes), dtype=bool),
        (np.zeros(0, dtype=int), np.zeros((0, shape.size))),
    )
    ran = run_all(
        formation,
        shape,
        starts,
        method or Trapezoid(),
        float(h),
        int(steps),
        rule,
        workers,
        progress,
    )
    outcome[which], time[which], mirrored[which] = ran[:3]
    ended = join([ended, (which[ran[3][0]], ran[3][1])])
    outcome, number, shapes = number_shapes(
        formation, shape, outcome, ended, CONGRUENT, NOT_CONVERGED
    )
    names = ("x", "y", "z")[: formation.dimension]
    computed = np.zeros(outcome.size, dtype=bool)
    computed[which] = True
    flat = {
        "outcome": outcome,
        "time": time,
        "mirrored": mirrored,
        "shape": number,
        "computed": computed,
    }
    other = np.array([s.q for s in shapes]).reshape(-1, formation.n, formation.dimension)
    ds = xarray.Dataset(
        {name: (names, values.reshape(sizes)) for name, values in flat.items()}
        | {
            "other": (("number", "member", "axis"), other),
            "stable": ("number", np.array([s.stable for s in shapes], dtype=bool)),
            "potential": ("number", np.array([s.potential for s in shapes], dtype=float)),
            "desired": (("member", "axis"), shape),
        },
        coords=dict(zip(names, grid, strict=True)) | {"number": np.arange(1, len(shapes) + 1)},
    )
    for name in names:
        ds[name].attrs["units"] = "m"
    ds["time"].attrs["units"] = "s"
    ds["outcome"].attrs["outcomes"] = list(OUTCOMES)
    edges, distances, gains = (
        json.dumps(a.tolist())
        for a in (formation.graph.edges, formation.distances, formation.gains)
    )
    own = {
        "edges": edges,
        "distances": distances,
        "gains": gains,
        "potential": "quartic" if formation.potential is quartic else "own",
    }
    ds.attrs = own | {
        "agent": int(agent),
        "h": float(h),
        "steps": int(steps),
        "rule": json.dumps(rule._asdict()),
        "method": str(method or Trapezoid()),
    }
    return ds


def check_shape(formation, shape):
    shape = formation.shape if shape is None else formation.points(shape)
    if shape is None:
        raise ValueError(
            "attraction needs the desired shape: make the formation with Formation.from_shape, or"
            " pass shape=positions."
        )
    if np.any(np.abs(formation.errors(shape.ravel())) > 1e-6 * formation.distances):
        raise ValueError("the desired shape does not have the distances of the formation.")
    return shape


def check_grid(formation, agent, grid):
    if (
        isinstance(agent, bool)
        or not isinstance(agent, int | np.integer)
        or not 0 <= agent < formation.n
    ):
        raise ValueError(f"agent must be a number from 0 to {formation.n - 1}; got {agent!r}.")
    grid = [np.atleast_1d(np.asarray(axis, dtype=float)) for axis in grid]
    if len(grid) != formation.dimension or any(
        axis.ndim != 1 or np.any(np.diff(axis) <= 0) or not np.all(np.isfinite(axis))
        for axis in grid
    ):
        raise ValueError(
            f"grid must be {formation.dimension} vectors of increasing coordinates, such as"
            f" [np.linspace(-2, 2, 50)] * {formation.dimension}."
        )
    return grid
