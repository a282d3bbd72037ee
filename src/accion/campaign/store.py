"""A campaign on disk: a Zarr store, one file of each array for each chunk of members."""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accion.arguments import path as path_of
from accion.campaign.identity import definition, differences
from accion.campaign.makers import BEFORE, made_by, other_maker
from accion.campaign.names import check_axes, check_columns, check_results
from accion.campaign.program import FAILURES, NOT_RUN, Job, Program, blanked
from accion.campaign.quantities import component_label
from accion.results import chunk_files, lock, store as stores
from accion.results.channels import OF_STEPS, Label, labels
from accion.results.folders import is_cut_off, recover
from accion.results.lock import HELD
from accion.results.manifest import (
    COMPLETE,
    FOLDER,
    Damaged,
    Files,
    all_files,
    identities,
    seal,
    seal_known,
)
from accion.results.store import Blank

if TYPE_CHECKING:
    import xarray as xr

CAMPAIGN = stores.Format(
    "a campaign",
    "accion_campaign",
    2,
    "Its Dataset can be written otherwise afterwards.",
    repair="Run it again with the same store: what is damaged is written again. Where"
    " that is refused, overwrite=True begins anew.",
)
DEGREE = {"long_name": "degree of freedom"}


class Variable(NamedTuple):
    """One array of the store: its axes after that of the members, its shape there, its type and
    what it is.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    attrs: dict[str, Any]


def variables(program: Program) -> dict[str, Variable]:
    """What is stored of every member, by name."""
    job, known = program.job, labels(program.system)
    found = {}
    for name, column in program.rows(0).items():
        label = column_label(name, known)
        found[name] = variable(name, column.shape[1:], column.dtype, label)
    of_results: dict[str, Label] = {}
    for each in job.reductions:
        of_results |= each.labels(known)
    results = program.shapes()
    check_columns(found)
    check_results(results, (*found, *OF_MEMBERS))
    for name, info in results.items():
        label = of_results.get(name, Label((), "", ""))
        found[name] = variable(name, info.shape, info.dtype, label)
    check_axes(found)
    return found | OF_MEMBERS


def column_label(name: str, known: Mapping[str, Label]) -> Label:
    """What a column of the plan is: that of the channel which it starts, "q0[1]" of q."""
    if "jets" in known and name.startswith("v0"):
        return Label((), "", "set by the plan")  # derivatives of several orders
    part, *rest = re.split(r"[01](?=\[|$)", name, maxsplit=1)
    at = tuple(int(i) for text in rest for i in re.findall(r"\d+", text))
    found = component_label(known, part, at) if rest else None
    return (found or Label((), "", ""))._replace(long_name="set by the plan")


def variable(name: str, shape: Iterable[int], dtype: Any, label: Label) -> Variable:
    """The array `name`; its axes are those of its label where there are as many."""
    shape = tuple(shape)
    own = tuple(f"{name}_axis{k}" for k in range(len(shape)))
    attrs = label.attrs if label.long_name else {}
    return Variable(
        label.dims if len(label.dims) == len(shape) else own, shape, np.dtype(dtype), attrs
    )


OF_MEMBERS = {
    "success": Variable((), (), np.dtype(bool), OF_STEPS["success"].attrs),
    "steps_completed": Variable((), (), np.dtype(np.int64), OF_STEPS["steps_completed"].attrs),
    "failure": Variable(
        (),
        (),
        np.dtype(np.int8),
        {
            "long_name": "why a member failed, 0 if it did not",
            "flag_values": [NOT_RUN, *range(len(FAILURES))],
            "flag_meanings": " ".join(w.replace(" ", "_") for w in ("not run", *FAILURES)),
        },
    ),
    "reason": Variable((), (), np.dtype(object), {"long_name": "why it failed, in words"}),
}


# ---------------------------------------------------------------- the store


class Store:
    """The store at `path`, of the campaign of this identity where one is to be written.

    Chunks may be written in any order, by any process, and again: the same bytes. That one is
    there is said by its manifest, last.
    """

    def __init__(self, path: str | Path, identity: str = ""):
        self.path, self.identity = path_of(path, "store").absolute(), identity

    @contextmanager
    def locked(self, overwrite: bool) -> Iterator[None]:
        """No other campaign is written there meanwhile; the same one in another process is waited
        for, so that it goes on with what is left.
        """
        stores.check_place(self.path, CAMPAIGN)
        with lock.locked(self.path, CAMPAIGN.what, self.identity, alone=overwrite):
            yield

    @property
    def attributes(self) -> dict[str, Any] | None:
        """Those of a campaign; None where there is none."""
        return stores.attributes(self.path, CAMPAIGN)

    def engine_for(self, engine: str) -> str:
        """The engine of a campaign that is to be written here: "auto" is the one that the campaign
        which is there was begun with.

        Raises:
            ValueError: where that was another one.
        """
        if is_cut_off(self.path):
            with lock.locked(self.path, CAMPAIGN.what):
                recover(self.path)
        there = self.engine
        if there is None or engine in ("auto", there):
            return there or engine
        raise ValueError(
            f"{self.path} was begun with engine={there!r}, whose last digits are not those of"
            f" engine={engine!r}. Go on with engine={there!r}, choose another path, or pass"
            " overwrite=True to replace it."
        )

    @property
    def engine(self) -> str | None:
        """The engine that the campaign here was begun with; None where there is none, or it cannot
        be read.
        """
        try:
            found = json.loads((self.attributes or {}).get("versions", ""))
        except ValueError:
            return None  # no campaign, or a damaged one, which is looked at later
        return (BEFORE | found)["engine"] if isinstance(found, dict) else None

    def prepare(self, program: Program, overwrite: bool) -> list[int]:
        """Make the store, or see that the one that is there is of the same campaign.

        Returns the chunks that are left to do.
        """
        here = json.loads(json.dumps(definition(program)))
        recover(self.path)
        if overwrite or not self.path.exists():
            self.create(program, here, overwrite)
        if (self.path / FOLDER).is_dir():
            self.mend(program, here)  # before what it says is believed
        found = stores.attributes_or_raise(self.path, CAMPAIGN)
        CAMPAIGN.check(found, self.path)
        words = differences(json.loads(found["definition"]), here)
        if words:
            raise ValueError(
                f"{self.path} holds another campaign: {'; '.join(words)}. Choose another path, or"
                " pass overwrite=True to replace it."
            )
        left = self.left(program.job)
        now = made_by(program.engine)
        then = BEFORE | json.loads(found["versions"])
        if len(left) and now != then:
            words = "; ".join(other_maker(then, now))
            raise ValueError(
                f"{self.path} was begun with other versions or on another processor, so the same"
                f" digits cannot be promised: {words}. Use those, or pass overwrite=True."
            )
        return left

    def mend(self, program: Program, here: dict[str, Any]) -> None:
        """See that what was written when the store was made is as it was. It follows from the
        definition: where all else is of this campaign, it is written again.
        """
        try:
            files = Files(self.path, CAMPAIGN.repair)
            if files.is_old:
                raise files.damaged(HELD, "is missing")
            files.check()
        except Damaged:
            if identities(self.path) != {self.identity}:
                raise
            with tempfile.TemporaryDirectory(
                prefix=f"{lock.aside(self.path)}-", dir=self.path.parent
            ) as folder:
                fresh = Store(Path(folder) / "fresh", self.identity)
                fresh.create(program, here, overwrite=False)
                for name in (*all_files(fresh.path), HELD):
                    (self.path / name).parent.mkdir(exist_ok=True)
                    os.replace(fresh.path / name, self.path / name)

    def left(self, job: Job) -> list[int]:
        """The chunks that are not there, or damaged; files that were being written are removed."""
        files = stores.files_of(self.path, CAMPAIGN)
        if files.is_old:
            left = np.flatnonzero(self.open("r")["done"][:] == 0).tolist()
            if left:
                raise ValueError(
                    f"{self.path} was begun by an older accion, without checksums, and cannot be"
                    " gone on with. Choose another path, or pass overwrite=True to replace it."
                )
            return left
        left = [c for c in range(job.chunks) if not files.has_whole(str(c))]
        if left or not files.has_whole(COMPLETE):
            (self.path / FOLDER / COMPLETE).unlink(missing_ok=True)
        for each in self.path.rglob("*.partial"):
            each.unlink(missing_ok=True)
        return left

    def create(self, program: Program, here: dict[str, Any], overwrite: bool) -> None:
        """An empty store, in the place of one that is there."""
        job = program.job
        attrs = {
            CAMPAIGN.key: CAMPAIGN.number,
            "title": f"{job.size} runs of {job.system.name} by {here['method']}",
            "definition": json.dumps(here),
            "identity": self.identity,
            "versions": json.dumps(made_by(program.engine)),
        }
        blanks = {
            name: Blank(
                ("member", *each.dims),
                (job.size, *each.shape),
                (job.chunk, *each.shape),
                each.dtype,
                fill_value(each.dtype),
                each.attrs,
            )
            for name, each in variables(program).items()
        }
        coordinate = {"coordinate": (job.system.names, DEGREE)}
        stores.lay_out(self.path, CAMPAIGN, blanks, coordinate, attrs, overwrite)

    def open(self, mode: str) -> Any:
        """The Zarr group."""
        return stores.opened(self.path, mode)

    @cached_property
    def arrays(self) -> dict[str, Any]:
        """The arrays of Zarr by name, looked at once: what chunks are written like."""
        return dict(self.open("r").arrays())

    def write(self, job: Job, c: int, arrays: dict[str, np.ndarray]) -> None:
        """Chunk `c`, then its manifest, which says that it is there."""
        with self.explained():
            there = self.arrays
            own = {
                file: chunk_files.write(self.path / file, there[name], values)
                for name, values in arrays.items()
                for file in [chunk_file(name, c, values.ndim)]
            }
            sums = {file: found for file, found in own.items() if found is not None}
            seal_known(self.path, str(c), sums, self.identity)

    def finish(self, job: Job) -> None:
        """Say that all chunks are there: from then on one that is missing is damage."""
        if not (self.path / FOLDER / COMPLETE).exists():
            chunks = [f"{FOLDER}/{c}" for c in range(job.chunks)]
            with self.explained():
                seal(self.path, COMPLETE, chunks, self.identity)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """An error of the operating system says what to do about it."""
        try:
            yield
        except OSError as error:
            words = lock.cannot_write(self.path, error)
            raise OSError(f"{words} Finished chunks are kept: run it again to go on.") from error

    def dataset(self, check: bool = True) -> "xr.Dataset":
        """All of it as an xarray.Dataset that reads what is asked for.

        Arguments:
            check: whether all files are compared with their checksums at once; each is when it is
                read.
        """
        files = stores.files_of(self.path, CAMPAIGN)
        files.add_parts()
        if check:
            files.check()
        dataset = stores.dataset_of(files, CAMPAIGN)
        here = json.loads(dataset.attrs["definition"])
        size = dataset.sizes["member"]
        if files.is_old:
            done = dataset["done"].values > 0
            dataset = dataset.drop_vars("done")
        else:
            done = np.array([str(c) in files.parts for c in range(-(-size // here["chunk"]))])
        ran = np.repeat(done, here["chunk"])[:size]
        return with_plan(dataset if ran.all() else marked(dataset, ran), here)


def chunk_file(name: str, c: int, axes: int) -> str:
    """The file of chunk `c` of an array of so many axes, cut along the first one only."""
    return f"{name}/{'.'.join([str(c), *['0'] * (axes - 1)])}"


def fill_value(dtype: np.dtype) -> Any:
    """What reads where a member did not run: none for whole numbers, or xarray would take them for
    real ones.
    """
    if np.issubdtype(dtype, np.floating):
        return np.nan
    return "not run" if dtype.hasobject else None


def marked(dataset: "xr.Dataset", ran: np.ndarray) -> "xr.Dataset":
    """The Dataset where members that did not run yet are told from others: failure -1, success
    False, reason "not run".

    Whole numbers have no fill value and would read as zero. Real numbers are NaN already, and are
    read only where they are asked for.
    """
    for name, values in dataset.data_vars.items():
        if "member" not in values.dims or np.issubdtype(values.dtype, np.inexact):
            continue
        own = values.values
        text = own.dtype.kind not in "biu"
        dataset[name] = values.copy(
            data=np.where(ran, own, "not run") if text else blanked(own, ~ran)
        )
    return dataset


def in_memory(program: Program, chunks: list[dict[str, np.ndarray]]) -> "xr.Dataset":
    """The Dataset of all chunks, in their order."""
    import xarray as xr

    here = definition(program)
    data = {}
    for name, each in variables(program).items():
        values = np.concatenate([chunk[name] for chunk in chunks])
        data[name] = (("member", *each.dims), values, each.attrs)
    attrs = {
        "title": f"{program.job.size} runs of {program.job.system.name}",
        "definition": json.dumps(here),
        "versions": json.dumps(made_by(program.engine)),
    }
    names = ("coordinate", np.array(program.job.system.names), DEGREE)
    return with_plan(xr.Dataset(data, {"coordinate": names}, attrs), here)


def with_plan(dataset: "xr.Dataset", here: dict[str, Any]) -> "xr.Dataset":
    """What the plan set are coordinates."""
    plan = here["plan"]
    names = (
        plan["columns"]
        if plan["kind"] == "table"
        else [row[0] for row in plan["axes" if plan["kind"] == "grid" else "ranges"]]
    )
    return dataset.set_coords(list(names))
