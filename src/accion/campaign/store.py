"""A campaign on disk: a Zarr store, one file of each array for each chunk of members."""

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accion.campaign.plans import digest
from accion.campaign.program import FAILURES, NOT_RUN, blanked
from accion.results.folders import check_ending, recover, replacing
from accion.results.storage import params_text

FORMAT = 1  # of the store, raised when an older accion could not go on with it
PACKAGES = ("accion", "jax", "jaxlib", "numpy", "scipy")


class Variable(NamedTuple):
    """One array of the store: its axes after that of the members, its shape there, its type and
    what it is.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: Any
    attrs: dict[str, Any]


def variables(program):
    """What is stored of every member, by name."""
    job = program.job
    found = {}
    for name, column in program.rows(0).items():
        found[name] = variable(job.system, name, column.shape[1:], column.dtype, "set by the plan")
    for name, info in program.shapes().items():
        if name in found or name in OWN:
            raise ValueError(
                f"a reduction must not be called {name!r}: that is the name of something else that"
                " is stored. Choose another."
            )
        found[name] = variable(job.system, name, info.shape, info.dtype, LONG.get(name, ""))
    return found | OWN


OWN = {
    "success": Variable((), (), np.dtype(bool), {"long_name": "whether every step was solved"}),
    "steps_completed": Variable(
        (), (), np.dtype(np.int64), {"long_name": "steps that were solved"}
    ),
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
LONG = {
    "q": "configuration at the end",
    "p": "momenta at the end",
    "v": "velocity at the end",
    "S": "entropy at the end",
}


def variable(system, name, shape, dtype, words):
    flat = name in ("q", "p", "v", "q0", "v0", "p0", "q1") and shape == (system.space.dim,)
    dims = ("coordinate",) if flat else tuple(f"{name}_axis{k}" for k in range(len(shape)))
    return Variable(dims, tuple(shape), np.dtype(dtype), {"long_name": words} if words else {})


# ---------------------------------------------------------------- what a campaign is


def definition(program):
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


def identity_of(here):
    """A short name for a definition: the plan's members and the program's code and numbers are in
    it.
    """
    return digest(json.dumps(here).encode())


def versions():
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def differences(there, here):
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

    def __init__(self, path):
        self.path = Path(path).absolute()

    @property
    def attributes(self):
        """Those of a campaign; None where there is none."""
        file = self.path / ".zattrs"
        found = json.loads(file.read_text()) if file.is_file() else {}
        return found if "accion_campaign" in found else None

    def prepare(self, program, overwrite):
        """Make the store, or see that the one that is there is of the same campaign.

        Returns the chunks that are left to do.
        """
        here = json.loads(json.dumps(definition(program)))
        recover(self.path)
        if overwrite and self.path.exists() and self.attributes is None:
            raise FileExistsError(
                f"{self.path} exists and is not a campaign; it is not replaced. Choose another"
                " path."
            )
        if overwrite or not self.path.exists():
            self.create(program, here)
        found = self.attributes
        if found is None:
            raise FileExistsError(f"{self.path} exists and is not a campaign; choose another path.")
        if found["accion_campaign"] != FORMAT:
            raise ValueError(
                f"{self.path} is not a campaign that this accion can go on with (format"
                f" {found['accion_campaign']}, expected {FORMAT})."
            )
        words = differences(json.loads(found["definition"]), here)
        if words:
            raise ValueError(
                f"{self.path} holds another campaign: {'; '.join(words)}. Choose another path, or"
                " pass overwrite=True to replace it."
            )
        left = np.flatnonzero(self.open("r")["done"][:] == 0)
        now, then = versions(), json.loads(found["versions"])
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

    def create(self, program, here):
        """An empty store, made beside its path and moved there whole, in the place of one that is
        there.
        """
        check_ending(self.path, "Its Dataset can be written otherwise afterwards.")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder {self.path.parent} does not exist; create it first."
            )
        with replacing(self.path) as new:
            self.lay_out(new, program, here)

    def lay_out(self, path, program, here):
        """The attributes and the empty arrays of a campaign, at `path`."""
        import zarr

        job = program.job
        attrs = {
            "accion_campaign": FORMAT,
            "title": f"{job.size} runs of {job.system.name} by {here['method']}",
            "definition": json.dumps(here),
            "identity": identity_of(here),
            "versions": json.dumps(versions()),
        }
        group: Any = zarr.create_group(path, zarr_format=2, attributes=attrs)
        for name, (dims, shape, dtype, more) in variables(program).items():
            # No fill value for whole numbers, or xarray would take them for real ones.
            fill = (
                np.nan
                if np.issubdtype(dtype, np.floating)
                else "not run"
                if dtype.hasobject
                else None
            )
            self.array(
                group,
                name,
                (job.size, *shape),
                (job.chunk, *shape),
                dtype,
                fill,
                ("member", *dims),
                more,
            )
        names = np.array(job.system.names)
        self.array(
            group,
            "coordinate",
            names.shape,
            names.shape,
            names.dtype,
            None,
            ("coordinate",),
            {"long_name": "degree of freedom"},
        )
        group["coordinate"][:] = names
        # Last of a chunk, one file for each: what it says is there is there whole.
        self.array(
            group,
            "done",
            (job.chunks,),
            (1,),
            np.int8,
            None,
            ("chunk",),
            {"long_name": "whether a chunk of members is complete"},
        )
        zarr.consolidate_metadata(path)

    def array(self, group, name, shape, chunks, dtype, fill, dims, attrs):
        attrs = {"_ARRAY_DIMENSIONS": list(dims)} | attrs
        kind = str if np.dtype(dtype).hasobject else dtype
        group.create_array(
            name,
            shape=shape,
            chunks=tuple(max(1, n) for n in chunks),
            dtype=kind,
            fill_value=fill,
            attributes=attrs,
        )

    def open(self, mode) -> Any:
        import zarr

        return zarr.open_group(self.path, mode=mode, use_consolidated=True)

    def write(self, job, c, arrays):
        """Chunk `c`, then that it is there."""
        group = self.open("r+")
        first, last = job.span(c)
        for name, values in arrays.items():
            group[name][first:last] = values
        group["done"][c] = 1

    def dataset(self):
        """All of it as an xarray.Dataset that reads what is asked for."""
        import xarray as xr

        dataset = xr.open_dataset(self.path, engine="zarr", chunks=None, consolidated=True)
        here = json.loads(dataset.attrs["definition"])
        ran = np.repeat(dataset["done"].values > 0, here["chunk"])[: dataset.sizes["member"]]
        dataset = dataset.drop_vars("done")
        return finished(dataset if ran.all() else marked(dataset, ran), here)


def marked(dataset, ran):
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


def in_memory(program, parts):
    """The Dataset of the chunks `parts`, in their order."""
    import xarray as xr

    here = definition(program)
    data = {}
    for name, (dims, _, _, attrs) in variables(program).items():
        data[name] = (("member", *dims), np.concatenate([part[name] for part in parts]), attrs)
    attrs = {
        "title": f"{program.job.size} runs of {program.job.system.name}",
        "definition": json.dumps(here),
        "versions": json.dumps(versions()),
    }
    return finished(xr.Dataset(data, {"coordinate": list(program.job.system.names)}, attrs), here)


def finished(dataset, here):
    """What the plan set are coordinates."""
    plan = here["plan"]
    names = (
        plan["columns"]
        if plan["kind"] == "table"
        else [row[0] for row in plan["axes" if plan["kind"] == "grid" else "ranges"]]
    )
    return dataset.set_coords(list(names))
