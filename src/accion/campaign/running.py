"""A campaign: many runs of a system, in chunks, on this machine or on a cluster."""

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager

import numpy as np

from accion.campaign.cluster import on_cluster
from accion.campaign.program import FAILURES, NOT_RUN, Program, cores, job_of
from accion.campaign.reductions import check_reductions, final
from accion.campaign.store import Store, in_memory
from accion.errors import StepFailed
from accion.progress import progress_bar
from accion.results.folders import recover


def run(
    system,
    method,
    plan,
    *,
    h,
    steps,
    t0=0.0,
    store=None,
    reductions=None,
    chunk=None,
    progress=True,
    client=None,
    overwrite=False,
    throw=False,
):
    """Run every member of `plan`: `steps` steps of length `h` from time `t0`, as `simulate` makes
    them. Returns an xarray.Dataset.

    `plan` is `table(...)`, `grid(...)` or `sample(...)`: initial data and params of the members.
    `reductions` say what is kept of each run, `final()` if nothing is said; see also `extrema`,
    `event`, `mean` and `Reduction`. They are folded into the loop, so memory does not grow with
    `steps`; with a `store`, a path for a Zarr store, it does not grow with the members either.

    Members are run and stored `chunk` at a time, by threads; with `client`, a
    dask.distributed.Client, each chunk is a task of the cluster (`pip install accion[cluster]`),
    and workers that see the store write to it themselves. A campaign that was interrupted, in
    whatever way, goes on where it was when it is run again with the same store, and gives the same
    bits. Another campaign in the same store is an error.

    A member that cannot start or whose step is not solved never stops the others: `success` is
    False for it, `failure` a code, `reason` says why, `steps_completed` how far it got, and its
    results are NaN (-1 for whole numbers); see `failures`. With `throw` it raises at the end.
    """
    reductions = check_reductions((final(),) if reductions is None else reductions)
    program = Program(job_of(system, method, plan, h, steps, t0, reductions, chunk))
    kept = None if store is None else Store(store)
    left = list(range(program.job.chunks)) if kept is None else kept.prepare(program, overwrite)
    parts = {}
    with bar(program.job, left, progress) as advance:
        for c, part in (
            on_threads(program, left, kept)
            if client is None
            else on_cluster(client, program, left, kept)
        ):
            if kept is None:
                parts[c] = part
            advance(c)
    dataset = (
        kept.dataset()
        if kept is not None
        else in_memory(program, [parts[c] for c in sorted(parts)])
    )
    if throw:
        raise_first(program.job, dataset)
    return dataset


def on_threads(program, left, store):
    """Chunks as they finish. JAX lets other threads run while it computes."""

    def work(c):
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
def bar(job, left, progress):
    """A progress bar that counts members, those of earlier runs included; yields the function
    (chunk) that says that one is done.
    """

    def length(c):
        first, last = job.span(c)
        return last - first

    if not progress:
        yield lambda c: None
        return
    with progress_bar("campaign", job.size) as advance:
        advance(job.size - sum(map(length, left)))
        yield lambda c: advance(length(c))


def failures(dataset):
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


def summary(dataset):
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


def raise_first(job, dataset):
    """Raise StepFailed where a member failed."""
    bad = failures(dataset)
    if bad:
        member, step, reason = bad[0]
        message = (
            f"member {member} ({len(bad)} of {job.size} failed): {reason}."
            " campaign.failures(dataset) lists them all."
        )
        raise StepFailed(message, step=step, t=float(job.t0 + step * job.h), residual=float("nan"))


def unfold(dataset):
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


def load(path):
    """The Dataset of the campaign stored at `path`, as far as it is done: NaN (-1 for whole
    numbers), and success False, where it is not.
    """
    recover(path)
    store = Store(path)
    if store.attributes is None:
        raise ValueError(f"{path} is not a campaign.")
    return store.dataset()
