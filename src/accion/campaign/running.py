"""A campaign: many runs of a system, in chunks, on this machine or on a cluster."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.campaign.cluster import on_cluster
from accion.campaign.plans import Plan
from accion.campaign.program import FAILURES, NOT_RUN, Job, Program, cores, job_of
from accion.campaign.reductions import Reduction, check_reductions, final
from accion.campaign.store import Store, in_memory
from accion.errors import StepFailed
from accion.methods import Method
from accion.progress import progress_bar
from accion.types import ArrayLike

if TYPE_CHECKING:
    import xarray as xr


def run(
    system: Any,
    method: Method | None,
    plan: Plan,
    *,
    h: ArrayLike,
    steps: int,
    t0: ArrayLike = 0.0,
    store: str | Path | None = None,
    reductions: Reduction | Iterable[Reduction] | None = None,
    chunk: int | None = None,
    progress: bool = True,
    client: Any = None,
    overwrite: bool = False,
    throw: bool = False,
) -> "xr.Dataset":
    """Run every member of `plan`: `steps` steps of length `h` from time `t0`, as `simulate` makes
    them.

    Members are run and stored `chunk` at a time, by threads or by a cluster. A campaign that was
    interrupted, in whatever way, goes on where it was when it is run again with the same store, and
    gives the same bits.

    A member that cannot start or whose step is not solved never stops the others: `success` is
    False for it, `failure` a code, `reason` says why, `steps_completed` how far it got, and its
    results are NaN (-1 for whole numbers); see `failures`.

    Arguments:
        system, method: as for `simulate`.
        plan: `table(...)`, `grid(...)` or `sample(...)`, initial data and params of the members.
        store: a path for a Zarr store; with it, memory does not grow with the members.
        reductions: what is kept of each run, `final()` if nothing is said; see also `extrema`,
            `event`, `mean` and `Reduction`. They are folded into the loop, so memory does not grow
            with `steps`.
        chunk: how many members are run and stored at once.
        client: a dask.distributed.Client (`pip install accion[cluster]`): each chunk is a task of
            the cluster, and workers that see the store write to it themselves.
        overwrite: whether another campaign in the store is replaced.
        throw: whether to raise at the end where a member failed.

    Returns:
        An xarray.Dataset with an axis `member`; channels have the names, units and words that they
        have in a trajectory.

    Raises:
        ValueError: where the store holds another campaign.
        StepFailed: where a member failed, with `throw`.
    """
    reductions = check_reductions((final(),) if reductions is None else reductions)
    program = Program(job_of(system, method, plan, h, steps, t0, reductions, chunk))
    disk = None if store is None else Store(store)
    left = list(range(program.job.chunks)) if disk is None else disk.prepare(program, overwrite)
    chunks = {}
    with bar(program.job, left, progress) as advance:
        for c, arrays in (
            on_threads(program, left, disk)
            if client is None
            else on_cluster(client, program, left, disk)
        ):
            if disk is None:
                chunks[c] = arrays
            advance(c)
    dataset = (
        disk.dataset()
        if disk is not None
        else in_memory(program, [chunks[c] for c in sorted(chunks)])
    )
    if throw:
        raise_first(program.job, dataset)
    return dataset


def on_threads(
    program: Program, left: Sequence[int], store: Store | None
) -> Iterator[tuple[int, dict[str, np.ndarray] | None]]:
    """Chunks as they finish. JAX lets other threads run while it computes."""

    def work(c: int) -> tuple[int, dict[str, np.ndarray] | None]:
        arrays = program.run(c)
        if store is None:
            return c, arrays
        store.write(program.job, c, arrays)
        return c, None

    pool = ThreadPoolExecutor(cores())
    try:
        for future in as_completed([pool.submit(work, c) for c in left]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def bar(job: Job, left: Sequence[int], progress: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar that counts members, those of earlier runs included; yields the function
    (chunk) that says that one is done.
    """

    def length(c: int) -> int:
        first, last = job.span(c)
        return last - first

    if not progress:
        yield lambda c: None
        return
    with progress_bar("campaign", job.size) as advance:
        advance(job.size - sum(map(length, left)))
        yield lambda c: advance(length(c))


def failures(dataset: "xr.Dataset") -> list[tuple[int, int, str]]:
    """The members that failed: a list of (member, step, reason)."""
    bad = np.flatnonzero(dataset["failure"].values > 0)
    part = dataset.isel(member=bad)
    return list(
        zip(
            bad.tolist(),
            part["steps_completed"].values.tolist(),
            part["reason"].values.tolist(),
            strict=True,
        )
    )


def summary(dataset: "xr.Dataset") -> str:
    """How a campaign went, in words: how many members went well, how many did not run yet, how many
    failed and why.
    """
    failed = dataset["failure"].values
    lines = [f"{dataset.attrs['title']}: {int(np.sum(failed == 0))} of {len(failed)} went well"]
    left = int(np.sum(failed == NOT_RUN))
    if left:
        lines[0] += (
            f", {left} did not run yet: it was interrupted; run it again with the same store to"
            " go on"
        )
    for code, name in enumerate(FAILURES[1:], 1):
        which = np.flatnonzero(failed == code)
        if len(which):
            lines.append(
                f"{len(which)} failed ({name}), such as member {which[0]}:"
                f" {dataset['reason'].values[which[0]]}"
            )
    return "\n".join(lines)


def raise_first(job: Job, dataset: "xr.Dataset") -> None:
    """Raise StepFailed where a member failed."""
    bad = failures(dataset)
    if bad:
        member, step, reason = bad[0]
        message = (
            f"member {member} ({len(bad)} of {job.size} failed): {reason}."
            " campaign.failures(dataset) lists them all."
        )
        raise StepFailed(message, step=step, t=float(job.t0 + step * job.h), residual=float("nan"))


def unfold(dataset: "xr.Dataset") -> "xr.Dataset":
    """The result of a campaign over a `grid` with one dimension for each axis in place of `member`,
    named as the axis.
    """
    import xarray as xr

    plan = json.loads(dataset.attrs["definition"])["plan"]
    if plan["kind"] != "grid":
        raise ValueError(f"only a grid has axes to unfold; this campaign was a {plan['kind']}.")
    names, shape = [name for name, _ in plan["axes"]], plan["shape"]
    variables = {}
    for name, values in dataset.drop_vars(names).variables.items():
        if "member" in values.dims:
            values = xr.Variable(
                (*names, *values.dims[1:]),
                values.values.reshape(*shape, *values.shape[1:]),
                values.attrs,
            )
        variables[name] = values
    axes = {}
    for i, name in enumerate(names):
        values = dataset[name].values.reshape(*shape, *dataset[name].shape[1:])
        along = values[tuple(slice(None) if j == i else 0 for j in range(len(shape)))]
        if along.ndim == 1:  # an axis of whole configurations is counted
            axes[name] = (name, along, dataset[name].attrs)
    return xr.Dataset(variables, axes, dataset.attrs)


def load(path: str | Path) -> "xr.Dataset":
    """The Dataset of the campaign stored at `path`, as far as it is done: NaN (-1 for whole
    numbers), and success False, where it is not.

    Raises:
        FileNotFoundError: where nothing is at `path`.
        ValueError: where what is there is not a campaign.
    """
    return Store(path).dataset()
