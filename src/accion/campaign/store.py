"""A campaign on disk: a Zarr store, one file of each array for each chunk of members."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accion.campaign.plans import digest
from accion.campaign.program import FAILURES, NOT_RUN, Job, Program, blanked
from accion.campaign.quantities import component_label
from accion.results import store as stores
from accion.results.channels import OF_STEPS, Label, labels
from accion.results.folders import recover
from accion.results.same_system import params_text
from accion.results.store import Blank

if TYPE_CHECKING:
    import xarray as xr

CAMPAIGN = stores.Format(
    "a campaign", "accion_campaign", 1, "Its Dataset can be written otherwise afterwards."
)
PACKAGES = ("accion", "jax", "jaxlib", "numpy", "scipy")
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
    for name, info in program.shapes().items():
        if name in found or name in OF_MEMBERS:
            raise ValueError(
                f"a reduction must not be called {name!r}: that is the name of something else that"
                " is stored. Choose another."
            )
        label = of_results.get(name, Label((), "", ""))
        found[name] = variable(name, info.shape, info.dtype, label)
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


# ---------------------------------------------------------------- what a campaign is


def definition(program: Program) -> dict[str, Any]:
    """What must be the same for a store to be gone on with, as text and numbers."""
    job = program.job
    return {
        "system": job.system.name,
        "space": repr(job.system.space),
        "params": params_text(job.system)[:2000],
        "method": repr(job.method).split(" at 0x")[0],
        "t0": float(job.t0),
        "h": float(job.h),
        "steps": job.steps,
        "plan": job.plan.definition(),
        "reductions": [each.name for each in job.reductions],
        "results": {name: list(info.shape) for name, info in program.shapes().items()},
        "chunk": job.chunk,
        "functions": program.digest,
    }


def identity_of(here: dict[str, Any]) -> str:
    """A short name for a definition: the plan's members and the program's code and numbers are in
    it.
    """
    return digest(json.dumps(here).encode())


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """In words, what differs between two definitions."""
    words = []
    for key in here:
        a, b = there.get(key), here[key]
        if key == "plan" and a != b and isinstance(a, dict):
            words += [
                f"plan.{k}: {a.get(k)!r} there, {b.get(k)!r} here"
                for k in dict.fromkeys([*a, *b])
                if a.get(k) != b.get(k)
            ]
        elif a != b and key != "functions":
            words.append(f"{key}: {a!r} there, {b!r} here")
    if not words and there.get("functions") != here["functions"]:
        words.append("the functions of the system or of the reductions, or numbers in them")
    return [word if len(word) < 400 else f"{word[:400]}..." for word in words]


# ---------------------------------------------------------------- the store


class Store:
    """The store at `path`.

    Chunks may be written in any order, by any process, and again: the same bytes.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path).absolute()

    @property
    def attributes(self) -> dict[str, Any] | None:
        """Those of a campaign; None where there is none."""
        return stores.attributes(self.path, CAMPAIGN)

    def prepare(self, program: Program, overwrite: bool) -> list[int]:
        """Make the store, or see that the one that is there is of the same campaign.

        Returns the chunks that are left to do.
        """
        here = json.loads(json.dumps(definition(program)))
        recover(self.path)
        if overwrite or not self.path.exists():
            self.create(program, here, overwrite)
        found = stores.attributes_or_raise(self.path, CAMPAIGN)
        CAMPAIGN.check(found, self.path)
        words = differences(json.loads(found["definition"]), here)
        if words:
            raise ValueError(
                f"{self.path} holds another campaign: {'; '.join(words)}. Choose another path, or"
                " pass overwrite=True to replace it."
            )
        left = np.flatnonzero(self.open("r")["done"][:] == 0)
        now, then = json.loads(stores.versions(PACKAGES)), json.loads(found["versions"])
        if len(left) and now != then:
            words = "; ".join(
                f"{name} {then.get(name)} there, {now[name]} here"
                for name in now
                if now[name] != then.get(name)
            )
            raise ValueError(
                f"{self.path} was begun with other versions, so the same digits cannot be promised:"
                f" {words}. Use those, or pass overwrite=True."
            )
        return left.tolist()

    def create(self, program: Program, here: dict[str, Any], overwrite: bool) -> None:
        """An empty store, in the place of one that is there."""
        job = program.job
        attrs = {
            CAMPAIGN.key: CAMPAIGN.number,
            "title": f"{job.size} runs of {job.system.name} by {here['method']}",
            "definition": json.dumps(here),
            "identity": identity_of(here),
            "versions": stores.versions(PACKAGES),
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
        # Last of a chunk, one file for each: what it says is there is there whole.
        words = {"long_name": "whether a chunk of members is complete"}
        done = Blank(("chunk",), (job.chunks,), (1,), np.dtype(np.int8), None, words)
        coordinate = {"coordinate": (job.system.names, DEGREE)}
        stores.lay_out(self.path, CAMPAIGN, blanks | {"done": done}, coordinate, attrs, overwrite)

    def open(self, mode: str) -> Any:
        """The Zarr group."""
        return stores.opened(self.path, mode)

    def write(self, job: Job, c: int, arrays: dict[str, np.ndarray]) -> None:
        """Chunk `c`, then that it is there."""
        group = self.open("r+")
        first, last = job.span(c)
        for name, values in arrays.items():
            group[name][first:last] = values
        group["done"][c] = 1

    def dataset(self) -> "xr.Dataset":
        """All of it as an xarray.Dataset that reads what is asked for."""
        dataset = stores.read(self.path, CAMPAIGN)
        here = json.loads(dataset.attrs["definition"])
        ran = np.repeat(dataset["done"].values > 0, here["chunk"])[: dataset.sizes["member"]]
        dataset = dataset.drop_vars("done")
        return with_plan(dataset if ran.all() else marked(dataset, ran), here)


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
        "versions": stores.versions(PACKAGES),
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
