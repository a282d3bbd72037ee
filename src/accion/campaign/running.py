"""A campaign: many runs of a system, in chunks, on this machine or on a cluster."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.arguments import count, door, path as path_of, switch, wrong
from accion.campaign.cluster import a_client, on_cluster
from accion.campaign.identity import identity_of
from accion.campaign.plans import Plan
from accion.campaign.program import FAILURES, NOT_RUN, Job, Program, job_of
from accion.campaign.reductions import Reduction, check_reductions, final
from accion.campaign.store import Store, in_memory, variables
from accion.engines.auto import check_engine
from accion.errors import StepFailed
from accion.methods import Method
from accion.progress import cores, progress_bar, threads
from accion.types import Scalar

if TYPE_CHECKING:
    import xarray as xr

WAITING = 2  # threads for each core: one computes while another one waits for the disk


def a_dataset(value: Any, name: str) -> Any:
    """What `run` returns: the check of a `door`."""
    import xarray as xr

    if isinstance(value, xr.Dataset) and "failure" in value:
        return value
    wrong(name, "a dataset that campaign.run(...) or campaign.load(...) returned", value)
    return None


@door(
    store=path_of,
    progress=switch,
    overwrite=switch,
    throw=switch,
    client=a_client,
    chunk=count,
    engine=check_engine,
)
def run(
    system: Any,
    method: Method | None,
    plan: Plan,
    *,
    h: Scalar,
    steps: int,
    t0: Scalar = 0.0,
    store: str | Path | None = None,
    reductions: Reduction | Iterable[Reduction] | None = None,
    chunk: int | None = None,
    progress: bool = True,
    client: Any = None,
    overwrite: bool = False,
    throw: bool = False,
    engine: str = "auto",
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
            the cluster, and workers that see the store write to it themselves. A worker whose code,
            versions, engine or processor differ refuses to compute.
        overwrite: whether another campaign in the store is replaced.
        throw: whether to raise at the end where a member failed.
        engine: "native", "xla" or "auto", as for `simulate`; their last digits differ, so a
            campaign goes on with the engine that it was begun with.

    Returns:
        An xarray.Dataset with an axis `member`; channels have the names, units and words that they
        have in a trajectory.

    Raises:
        ValueError: where the store holds another campaign, or one of another engine.
        OSError: where it cannot be written, or another campaign is being written there.
        ConnectionError: where the cluster is lost, or without workers for a minute.
        StepFailed: where a member failed, with `throw`.
    """
    reductions = check_reductions((final(),) if reductions is None else reductions)
    if store is not None and not overwrite:
        engine = check_engine(Store(store).engine_for(engine))
    program = Program(job_of(system, method, plan, h, steps, t0, reductions, chunk, engine))
    variables(program)  # raises where something could not be stored, before the work
    if store is None:
        every = range(program.job.chunks)
        dataset = in_memory(program, computed(program, every, None, client, progress))
    else:
        disk = Store(store, identity_of(program))
        with disk.locked(overwrite):
            left = disk.prepare(program, overwrite)
            computed(program, left, disk, client, progress)
            disk.finish(program.job)
            dataset = disk.dataset(check=False)  # what was there was compared, the rest is new
    if throw:
        raise_first(program.job, dataset)
    return dataset


def computed(
    program: Program, left: Sequence[int], disk: Store | None, client: Any, progress: bool
) -> list[dict[str, np.ndarray]]:
    """Run the chunks that are `left`; those that are not written to disk, in their order."""
    chunks = {}
    with bar(program.job, left, progress) as advance:
        for c, arrays in (
            on_threads(program, left, disk)
            if client is None
            else on_cluster(client, program, left, disk)
        ):
            if arrays is not None:
                chunks[c] = arrays
            advance(c)
    return [chunks[c] for c in sorted(chunks)]


def on_threads(
    program: Program, left: Sequence[int], store: Store | None
) -> Iterator[tuple[int, dict[str, np.ndarray] | None]]:
    """Chunks as they finish. Compiled code lets other threads run while it computes.

    As many as there are cores compute, while others wait for the disk. Where the block around it
    ends early, by an interrupt too, so do the threads.
    """
    computing = Semaphore(cores())

    def work(c: int) -> tuple[int, dict[str, np.ndarray] | None]:
        with computing:
            arrays = program.run(c, go_on)
        if store is None:
            return c, arrays
        store.write(program.job, c, arrays)
        return c, None

    with threads(WAITING * cores()) as (pool, go_on):
        for future in as_completed([pool.submit(work, c) for c in left]):
            yield future.result()


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


@door(dataset=a_dataset)
def failures(dataset: "xr.Dataset") -> list[tuple[int, int, str]]:
    """The members that did not go well: a list of (member, step, reason).

    Of a campaign that was interrupted, also those that did not run yet: their step is -1, their
    reason "not run".
    """
    bad = np.flatnonzero(dataset["failure"].values != 0)
    part = dataset.isel(member=bad)
    return list(
        zip(
            bad.tolist(),
            part["steps_completed"].values.tolist(),
            part["reason"].values.tolist(),
            strict=True,
        )
    )


@door(dataset=a_dataset)
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


@door(dataset=a_dataset)
def unfold(dataset: "xr.Dataset") -> "xr.Dataset":
    """The result of a campaign over a `grid` with one dimension for each axis in place of `member`,
    named as the axis.
    """
    import xarray as xr

    if "definition" not in dataset.attrs:
        wrong("dataset", "one of a campaign", dataset)
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
        axes[name] = ((name, *dataset[name].dims[1:]), along, dataset[name].attrs)
    return xr.Dataset(variables, axes, dataset.attrs)


@door(path=path_of)
def load(path: str | Path) -> "xr.Dataset":
    """The Dataset of the campaign stored at `path`, as far as it is done: NaN (-1 for whole
    numbers), and success False, where it is not.

    Raises:
        FileNotFoundError: where nothing is at `path`.
        ValueError: where what is there is not a campaign, or damaged: it names the file.
    """
    return Store(path).dataset()
