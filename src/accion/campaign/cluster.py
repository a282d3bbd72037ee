"""The chunks of a campaign as tasks of a Dask cluster."""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from accion.arguments import wrong
from accion.campaign.identity import definition, differences, identity_of
from accion.campaign.makers import made_by, other_maker
from accion.campaign.program import Program
from accion.campaign.store import Store

LOCK = threading.Lock()
# of this process, by the identity of their campaign: a worker traces and compiles once
PROGRAMS: dict[str, Program] = {}
LOOK = 1.0  # seconds without news, after which one looks whether the cluster is there
PATIENCE = 60.0  # seconds that a cluster may be without workers, or without its scheduler
KEPT = "Finished chunks are kept where there is a store: run it again to go on"


class Terms(NamedTuple):
    """What a worker must agree with, as text and numbers."""

    identity: str
    definition: dict[str, Any]
    made_by: dict[str, str]


def terms_of(program: Program) -> Terms:
    """Those of a campaign, as this process understands it."""
    return Terms(identity_of(program), definition(program), made_by(program.engine))


def work(
    pickled: bytes, terms: Terms, path: str | None, c: int
) -> tuple[int, dict[str, np.ndarray] | None]:
    """Chunk `c`: written where this worker sees the store, else returned."""
    program = program_of(pickled, terms)
    arrays = program.run(c)
    store = None if path is None else Store(path, terms.identity)
    # Another machine may have another folder of that name.
    if store is None or (store.attributes or {}).get("identity") != terms.identity:
        return c, arrays
    store.write(program.job, c, arrays)
    return c, None


def program_of(pickled: bytes, terms: Terms) -> Program:
    """The program of a campaign, made once in a process.

    Raises:
        ValueError: where it is another one here, or would give other digits.
    """
    import cloudpickle

    with LOCK:
        if terms.identity not in PROGRAMS:
            try:
                found = Program(cloudpickle.loads(pickled))
            except Exception as error:
                raise refusal(f"{type(error).__name__}: {error}") from error
            own = terms_of(found)
            if own.identity != terms.identity:
                words = differences(terms.definition, own.definition)
                words += other_maker(terms.made_by, own.made_by)
                raise refusal("; ".join(words) or "its definition is another one")
            PROGRAMS.clear()
            PROGRAMS[terms.identity] = found
        return PROGRAMS[terms.identity]


def refusal(words: str) -> ValueError:
    """The error of a worker that does not compute."""
    return ValueError(
        f"the worker {place()} cannot run this campaign to the same digits ({words}; there is where"
        " it was started, here is the worker). Give all workers the same code, versions and kind of"
        f" processor. {KEPT}."
    )


def place() -> str:
    """Which worker this is."""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # no worker, this process itself
        return "here"


# ---------------------------------------------------------------- the side that asks


def a_client(value: Any, name: str) -> Any:
    """A client of Dask: the check of a `door`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a campaign on a cluster needs dask: pip install 'accion[cluster]'."
        ) from error
    if isinstance(value, Client):
        return value
    wrong(name, "a dask.distributed.Client", value)
    return None


def on_cluster(
    client: Any, program: Program, left: Sequence[int], store: Store | None
) -> Iterator[tuple[int, dict[str, np.ndarray] | None]]:
    """Chunks as they finish.

    A worker that is lost is replaced by Dask: its chunks are run by others.

    Raises:
        ConnectionError: where the scheduler, the cluster or all workers are lost.
        ValueError: where a worker would give other digits.
    """
    with loss_in_words():
        yield from tasks(client, program, left, store)


def tasks(
    client: Any, program: Program, left: Sequence[int], store: Store | None
) -> Iterator[tuple[int, dict[str, np.ndarray] | None]]:
    """Chunks as they finish, unless the cluster is lost."""
    import cloudpickle
    from distributed.comm.core import CommClosedError

    watch = Watch(client)
    watch.check_running()
    terms, path = terms_of(program), None if store is None else str(store.path)
    # By value, functions too: workers need not have the user's files. A task of its own, so that it
    # is made again where a worker is lost with it.
    pickled = client.submit(bytes, cloudpickle.dumps(program.job), pure=False)
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    futures = [client.submit(work, pickled, terms, path, c, pure=False) for c in left]
    try:
        for future in futures:
            future.add_done_callback(done.put)
        for _ in left:
            future = watch.next_of(done)
            c, part = result_of(future, watch)
            if part is not None and store is not None:
                store.write(program.job, c, part)
                part = None
            yield c, part
            future.release()
    finally:
        # A scheduler that is lost takes its tasks with it.
        with suppress(CommClosedError):
            if client.status == "running":
                client.cancel([future for future in futures if not future.done()])


def result_of(future: Any, watch: "Watch") -> tuple[int, dict[str, np.ndarray] | None]:
    """What a task gave.

    Raises:
        ConnectionError: where it was lost with its workers.
    """
    from distributed import KilledWorker

    try:
        return watch.result_of(future)
    except KilledWorker as error:
        raise ConnectionError(
            f"a chunk was given up by the cluster, because the workers that ran it died ({error})."
            f" They may need more memory, or a smaller chunk=. {KEPT}."
        ) from error
    except ImportError as error:
        raise ValueError(
            f"a worker cannot import what a campaign needs ({error}): install accion on every"
            f" worker, in the same version. {KEPT}."
        ) from error


@contextmanager
def loss_in_words() -> Iterator[None]:
    """Say that a cluster was lost, whatever was asked of it when that was noticed.

    Raises:
        ConnectionError: instead of Dask's own.
    """
    from concurrent.futures import CancelledError as OfFutures

    from distributed import CancelledError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (CancelledError, OfFutures, CommClosedError) as error:
        raise ConnectionError(
            "the cluster was closed, or lost its scheduler, before the campaign was done. Start it"
            f" again. {KEPT}."
        ) from error


class Watch:
    """Looks whether a cluster is still there."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.well = time.monotonic()  # when it was last known to have workers

    def next_of(self, done: "queue.SimpleQueue[Any]") -> Any:
        """The next task that ended.

        Raises:
            ConnectionError: where none can end any more.
        """
        while True:
            try:
                return done.get(timeout=LOOK)
            except queue.Empty:
                self.look()

    def result_of(self, future: Any) -> Any:
        """What a task that ended gave: it lies on a worker, and may be lost with it and be computed
        again where there are others.

        Raises:
            ConnectionError: where there are none.
        """
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                if future.status == "error":  # the task's own
                    raise
                self.look()

    def look(self) -> None:
        """Raise ConnectionError where the cluster was closed, or has been without workers or a
        scheduler for too long.
        """
        self.check_running()
        if self.client.status == "running" and self.workers():
            self.well = time.monotonic()
        without = time.monotonic() - self.well
        if without > PATIENCE:
            what = "workers" if self.client.status == "running" else "a scheduler"
            raise ConnectionError(
                f"the cluster has been without {what} for {without:.0f} s. Start some, and wait for"
                f" them with client.wait_for_workers(1) where that takes long. {KEPT}."
            )

    def check_running(self) -> None:
        if self.client.status in ("closed", "closing"):
            raise ConnectionError(
                f"the client of the cluster is closed. Make a new one: Client(address). {KEPT}."
            )

    def workers(self) -> int:
        """How many there are; 0 where the scheduler does not answer."""
        try:
            return len(self.client.scheduler_info(n_workers=-1)["workers"])
        except OSError:
            return 0
