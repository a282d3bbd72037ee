"""The chunks of a campaign as tasks of a Dask cluster."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from accion.campaign.program import Program
from accion.campaign.store import Store, definition, identity_of

LOCK = threading.Lock()
# of this process, by the identity of their campaign: a worker traces and compiles once
PROGRAMS: dict[str, Program] = {}


def work(
    pickled: bytes, identity: str, path: str | None, c: int
) -> tuple[int, dict[str, np.ndarray] | None]:
    """Chunk `c`: written where this worker sees the store, else returned."""
    program = program_of(pickled, identity)
    arrays = program.run(c)
    store = None if path is None else Store(path)
    # Another machine may have another folder of that name.
    if store is None or (store.attributes or {}).get("identity") != identity:
        return c, arrays
    store.write(program.job, c, arrays)
    return c, None


def program_of(pickled: bytes, identity: str) -> Program:
    """The program of the campaign of this identity, made once in a process."""
    import cloudpickle

    with LOCK:
        if identity not in PROGRAMS:
            PROGRAMS.clear()
            PROGRAMS[identity] = Program(cloudpickle.loads(pickled))
        return PROGRAMS[identity]


def on_cluster(
    client: Any, program: Program, left: Sequence[int], store: Store | None
) -> Iterator[tuple[int, dict[str, np.ndarray] | None]]:
    """Chunks as they finish.

    A worker that is lost is replaced by Dask: its chunks are run by others.
    """
    try:
        import cloudpickle
        from distributed import as_completed
    except ImportError as error:
        raise ImportError(
            "a campaign on a cluster needs dask: pip install 'accion[cluster]'."
        ) from error
    # By value, functions too: workers need not have the user's files. A task of its own, so that it
    # is made again where a worker is lost with it.
    pickled = client.submit(bytes, cloudpickle.dumps(program.job), pure=False)
    identity, path = identity_of(definition(program)), None if store is None else str(store.path)
    futures = [client.submit(work, pickled, identity, path, c, pure=False) for c in left]
    try:
        for future, (c, part) in as_completed(futures, with_results=True):
            if part is not None and store is not None:
                store.write(program.job, c, part)
                part = None
            yield c, part
            future.release()
    finally:
        client.cancel([future for future in futures if not future.done()])
