"""Trajectories as xarray datasets and Zarr stores."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.methods import Method, registry
from accion.results import continuation, store
from accion.results.channels import LAWS, LONG_NAMES, Label
from accion.results.same_system import NUMBER, functions_of, own_system, params_text
from accion.stepping.laws import Laws
from accion.stepping.nodal import Nodal
from accion.stepping.weighted import Reduced
from accion.systems.whole import Frame
from accion.types import Array

if TYPE_CHECKING:
    import xarray as xr

    from accion.results.trajectory import Trajectory

TRAJECTORY = store.Format(
    "a saved trajectory",
    "accion_format",
    1,
    "For a table use to_xarray().to_dataframe().to_csv(path), for NetCDF"
    " to_xarray().to_netcdf(path).",
)
PACKAGES = ("accion", "jax", "jaxlib", "numpy")
ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")  # of a function, in its repr
LENGTHS = "step_length"  # of each step, where they are not all the same
COMPUTED = ("v", "energy", "T")  # from the others by the system, and stored for those without it


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Stored:
    """What the file of a trajectory says: velocities, energy and temperatures, which are computed
    by its system elsewhere, and what its channels are.
    """

    v: Array | None
    energy: Array | None
    T: Array | None
    method: str = field(metadata={"static": True})  # in words
    labels: tuple[tuple[str, Label], ...] = field(metadata={"static": True})


# ---------------------------------------------------------------- a trajectory as a Dataset


def to_dataset(trajectory: "Trajectory") -> "xr.Dataset":
    """The channels of a trajectory: dimensions run (of an ensemble), time, coordinate and others.

    The q of a curved or product space has dimensions of its own.
    """
    import xarray as xr

    trajectory.check_system()
    system = trajectory.system
    variables: dict[str, Any] = {
        name: channel.variable for name, channel in trajectory.channels().items()
    }
    if trajectory.is_ensemble:
        variables |= numbers_of(system)
    degree = {"long_name": "degree of freedom"}
    unit = {"long_name": "unit of the degree of freedom"}
    coords = {
        "time": ("time", np.asarray(trajectory.t), {"long_name": "time", "units": "s"}),
        "coordinate": ("coordinate", np.array(system.names), degree),
        "unit": ("coordinate", np.array(system.units), unit),
    }
    if np.ndim(trajectory.h):
        words = {"long_name": "length of each step", "units": "s"}
        coords[LENGTHS] = ("step", np.asarray(trajectory.h), words)
    return xr.Dataset(variables, coords, attributes(trajectory))


def numbers_of(system: Any) -> dict[str, Any]:
    """The numbers of an ensemble's system, of each run: with them the system of one run becomes
    that of all again.
    """
    variables = {}
    for i, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(system)[0]):
        name = f"{NUMBER}{i}"
        dims = ("run", *(f"{name}_axis{k}" for k in range(np.ndim(leaf) - 1)))
        words = f"number of the system{jax.tree_util.keystr(path)}"
        variables[name] = (dims, np.asarray(leaf), {"long_name": words})
    return variables


def attributes(trajectory: "Trajectory") -> dict[str, Any]:
    """What was run, by what, and when."""
    system, q = trajectory.system, trajectory.q
    thermal = {} if trajectory.S is None else {"entropies": json.dumps(trajectory.entropies)}
    return thermal | {
        "title": system.name,
        "method": method_text(trajectory.method, trajectory.stored),
        "space": repr(system.space),
        "h": float(np.max(trajectory.h)),
        "engine": trajectory.engine or "",
        "params": params_text(system),
        "functions": json.dumps(functions_of(system)),
        "created": store.now(),
        "versions": store.versions(PACKAGES),
        TRAJECTORY.key: TRAJECTORY.number,
        "factors": len(q) if isinstance(q, tuple) else 0,
    }


def method_text(method: Method | None, stored: Stored | None = None) -> str:
    """A method in words; of a trajectory that was loaded without its own, those of the file."""
    if method is None and stored is not None:
        return stored.method
    return ADDRESS.sub("", repr(method))


def to_file(trajectory: "Trajectory") -> "xr.Dataset":
    """The Dataset of a trajectory, with what its run is gone on with."""
    return to_dataset(trajectory).assign(continuation.variables_of(trajectory))


def write(dataset: "xr.Dataset", path: str | Path, overwrite: bool = False) -> None:
    """Write the Dataset of a trajectory, or of what has more than that, as a Zarr store."""
    store.write(dataset, path, TRAJECTORY, overwrite)


# ---------------------------------------------------------------- and back


def read(path: str | Path) -> "xr.Dataset":
    """The Dataset of the trajectory stored at `path`, in memory."""
    if Path(path).suffix in (".csv", ".nc"):
        raise ValueError(
            f"{path} is for other programs; a run is loaded from the Zarr store that"
            ' trajectory.save("run.zarr") writes.'
        )
    return store.read(path, TRAJECTORY)


def fields_of(
    dataset: "xr.Dataset", path: str | Path, system: Any, method: Method | None
) -> dict[str, Any]:
    """The fields of the trajectory that was stored, with its system and its method where they are
    given.
    """
    arrays = {str(name): jnp.asarray(values) for name, values in numeric(dataset).items()}
    factors = dataset.attrs["factors"]
    fields: dict[str, Any] = {
        "t": jnp.asarray(dataset["time"].values),
        "q": tuple(arrays[f"q_{i}"] for i in range(factors)) if factors else arrays["q"],
        "h": jnp.asarray(dataset[LENGTHS].values if LENGTHS in dataset else dataset.attrs["h"]),
        "engine": dataset.attrs.get("engine") or None,
        "controlled": "control_cost" in dataset.attrs,
        "carried": continuation.loaded(dataset),
        "method": own_method(dataset.attrs["method"], method, path),
        "system": None if system is None else own_system(dataset, system, path),
        "stored": Stored(
            *(arrays.get(name) for name in COMPUTED),
            method=dataset.attrs["method"],
            labels=stored_labels(dataset),
        ),
    }
    for name in ("p", "iterations", "success", "steps_completed"):
        fields[name] = arrays[name]
    for name in ("lam", "jets", "S", "z", "supplied"):
        fields[name] = arrays.get(name)
    if "node_P" in arrays:
        fields["nodal"] = Nodal(*(arrays[f"node_{name}"] for name in Nodal._fields))
    if "reduced_p" in arrays:
        own = (arrays["reduced_p"], arrays["log_weight"], arrays.get("reduced_lam"))
        fields["reduced"] = Reduced(*own)
    if "supplied" in arrays:
        extremes = {name: arrays[f"laws_{name}"] for name in LAWS}
        fields["laws"] = Laws(supplied=arrays["supplied"][..., -1], **extremes)
    return fields


def own_method(text: str, given: Method | None, path: str | Path) -> Method | None:
    """The method that was stored, in words; `given`, where it holds a function of the user's own.

    Raises:
        ValueError: where another one is given.
    """
    if given is not None and method_text(given) != ADDRESS.sub("", text):
        raise ValueError(f"{path} was made by {text}, the given method is {given!r}.")
    return registry.stored(text) if given is None else given


def numeric(dataset: "xr.Dataset") -> Mapping[Any, np.ndarray]:
    return {
        name: variable.values
        for name, variable in dataset.data_vars.items()
        if variable.dtype.kind in "biuf"
    }


def stored_labels(dataset: "xr.Dataset") -> tuple[tuple[str, Label], ...]:
    """What the channels of a stored trajectory are, for one that is loaded without its system."""
    words = zip(dataset["coordinate"].values, dataset["unit"].values, strict=True)
    names = tuple(f"{word} [{unit}]" if unit else str(word) for word, unit in words)
    components = {"q": names} | names_of_factors(dataset, names)
    if "S" in dataset:
        entropies = tuple(json.loads(dataset.attrs["entropies"]))
        components |= {"S": entropies, "T": Frame(None, entropies).temperatures}
    if "z" in dataset:
        unit = dataset["z"].attrs.get("units", "")
        components |= {"z": (f"z [{unit}]" if unit else "z",)}
    found = []
    for name, variable in dataset.data_vars.items():
        if str(name).startswith((NUMBER, continuation.START, continuation.STATE)):
            continue
        dims = tuple(str(dim) for dim in variable.dims if dim not in ("run", "time"))
        unit, words = variable.attrs.get("units", ""), variable.attrs.get("long_name", "")
        per_run = "time" not in variable.dims
        # The configuration of a group has the axes of a matrix, not of coordinates.
        own = () if name == "q" and dims != ("coordinate",) else components.get(str(name), ())
        found.append((str(name), Label(dims, unit, words, own, per_run)))
    return tuple(sorted(found, key=lambda each: place(each[0])))


def names_of_factors(dataset: "xr.Dataset", names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The coordinates q_0, q_1, ... of a product of flat spaces."""
    parts = [name for name in map(str, dataset) if re.fullmatch(r"q_\d+", name)]
    parts.sort(key=lambda name: int(name.removeprefix("q_")))
    sizes = [dataset[part].shape[-1] for part in parts]
    flat = all(f"{part}_axis1" not in dataset[part].dims for part in parts)
    if not flat or sum(sizes) != len(names):
        return {}
    ends = np.cumsum(sizes).tolist()
    return {part: names[b - n : b] for part, n, b in zip(parts, sizes, ends, strict=True)}


def place(name: str) -> int:
    """Where a channel stands among all: files have them in another order."""
    order = list(LONG_NAMES)
    word = "q" if name.startswith("q_") else name
    return order.index(word) if word in order else len(order)
