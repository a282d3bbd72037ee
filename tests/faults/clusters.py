"""Campaigns on a cluster that goes away while they run: workers, scheduler or client are lost.

As a program, `python -m tests.faults.clusters HOW AFTER STORE` runs one of them, which loses
something after so many chunks, and prints how it ended.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import jax.numpy as jnp
import numpy as np

import accion as ac
from accion.campaign import cluster as clusters
from accion.campaign.makers import lanes
from tests.faults.kinds import picture

MEMBERS = 40  # each a chunk
AFTER = 4  # chunks, after which something happens
FAILURES = 2  # workers that a chunk may lose
SHORT = 3.0  # seconds without workers, where none will come
LOST = "ConnectionError: the cluster was closed, or lost its scheduler"
NONE = "ConnectionError: the cluster has been without workers for"
# What happens, and the words with which the campaign then ends.
HOW = {
    "one worker is killed": ("all is done",),
    "all workers are killed": ("all is done",),
    # between two kills the last chunks may be done
    "workers are killed again and again": (
        "ConnectionError: a chunk was given up",
        NONE,
        "all is done",
    ),
    "no workers are left": (NONE,),
    "the scheduler is killed": (LOST,),
    "the client is closed": (LOST,),
    "the cluster is closed": ("ConnectionError: the cluster",),
    "a worker has other code": (
        f"cannot run this campaign to the same digits (lanes {lanes('native')} there, 3 here",
    ),
}
SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""


def run(store: Path, client: Any = None) -> Any:
    """The campaign."""
    system = ac.System(
        lambda t, q, v, params: 0.5 * v[0] ** 2 + params["k"] * jnp.cos(q[0]),
        ac.Torus(1),
        {"k": 9.81},
    )
    plan = ac.campaign.sample(MEMBERS, {"q0[0]": (-3, 3)}, seed=5, v0=[0.0])
    size = {"h": 0.01, "steps": 20000, "chunk": 1}
    return ac.campaign.run(
        system, ac.Midpoint(), plan, **size, store=store, progress=False, client=client
    )


# ---------------------------------------------------------------- one that loses its cluster


def disturbed(
    store: Path,
    client: Any,
    accident: Callable[[], Any],
    after: int,
    patience: float = clusters.PATIENCE,
) -> None:
    """Run it on a cluster, with an accident after so many chunks; print how it ended."""
    one, count = clusters.result_of, []

    def counted(future: Any, watch: Any) -> Any:
        found = one(future, watch)
        count.append(found[0])
        if len(count) == after:
            accident()
        return found

    with mock.patch.multiple(clusters, result_of=counted, PATIENCE=patience, LOOK=0.2):
        try:
            run(store, client)
            words = "all is done"
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
    print(json.dumps(words), flush=True)
    # A cluster that was broken on purpose does not always close.
    end = threading.Timer(30, os._exit, (0,))
    end.daemon = True
    end.start()


def kill(client: Any, most: int) -> None:
    """The workers, or one of them."""
    for process in sorted(client.run(os.getpid).values())[:most]:
        os.kill(process, signal.SIGKILL)


def kill_again(client: Any) -> None:
    """All workers, and then those that come in their place, more often than the cluster takes."""

    def work() -> None:
        for _ in range(FAILURES + 1):
            client.wait_for_workers(1)
            kill(client, 2)
            time.sleep(1.0)  # until it is known that they are gone

    threading.Thread(target=work, daemon=True).start()


def other_lanes() -> None:
    from accion.campaign import makers

    makers.lanes = lambda engine: 3


def without_scheduler(store: Path, after: int) -> None:
    from distributed import Client

    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True
    )
    assert scheduler.stdout is not None
    address = scheduler.stdout.readline().strip()
    options = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    )
    try:
        with Client(address) as client:
            disturbed(store, client, scheduler.kill, after)
            client.close(timeout=1)
    finally:
        for each in (scheduler, worker):
            each.kill()
            each.wait()


def main(how: str, after: int, store: Path) -> None:
    from dask import config
    from distributed import Client, LocalCluster

    if how == "the scheduler is killed":
        without_scheduler(store, after)
        return
    two = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        config.set({"distributed.scheduler.allowed-failures": FAILURES}),
        LocalCluster(**two) as cluster,
        Client(cluster) as client,
    ):
        accidents = {
            "one worker is killed": lambda: kill(client, 1),
            "all workers are killed": lambda: kill(client, 2),
            "workers are killed again and again": lambda: kill_again(client),
            "no workers are left": lambda: cluster.scale(0),  # pyright: ignore
            "the client is closed": client.close,
            "the cluster is closed": lambda: cluster.close(timeout=5),
            "a worker has other code": lambda: None,
        }
        if how == "a worker has other code":
            client.run(other_lanes)
        soon = {"patience": SHORT} if how == "no workers are left" else {}
        disturbed(store, client, accidents[how], after, **soon)


# ---------------------------------------------------------------- and what is left then


@cache
def whole(folder: Path) -> dict[str, Any]:
    """The campaign, undisturbed."""
    return picture(run(folder / "whole"))


def lost(how: str, folder: Path, after: int = AFTER) -> str:
    """What a campaign that loses its cluster leaves behind: it ends in the right words, what was
    done is kept, and run again it is what it would have been.
    """
    store = folder / "store"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.clusters", how, str(after), store],
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in ended.stdout.splitlines() if line.startswith('"')]
    if not said:
        return f"no words: {ended.stderr[-2000:]}"
    words = json.loads(said[-1])
    if not any(each in words for each in HOW[how]):
        return f"other words: {words}"
    if words != "all is done" and "Finished chunks are kept" not in words:
        return f"does not say what is kept: {words}"
    least = 0 if how == "a worker has other code" else MEMBERS if words == "all is done" else after
    ran = int(np.sum(ac.campaign.load(store)["failure"].values == 0))
    if ran < least:
        return f"{ran} members are kept, of {least} that were done"
    right = whole(folder)
    run(store)
    if picture(ac.campaign.load(store)) != right:
        return "other digits"
    return "done by others" if words == "all is done" else "says so, goes on when run again"


def all_lost(how: str, folder: Path, times: tuple[int, ...] = (1, 20)) -> Counter[str]:
    """The same, after some numbers of chunks."""
    seen: Counter[str] = Counter()
    for after in times:
        own = folder / str(after)
        own.mkdir()
        seen[lost(how, own, after)] += 1
    return seen


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
