"""Trajectories as xarray datasets and Zarr stores."""

import ast
import json
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from accion import methods
from accion.results.folders import check_ending, recover, replacing
from accion.stepping.laws import Laws
from accion.stepping.nodal import Nodal
from accion.systems.base import unit_of, word_of
from accion.systems.tree import is_number

FORMAT = 1  # of the stored file, raised when an older accion could not read it


def to_dataset(trajectory):
    """An xarray.Dataset: dimensions run (of an ensemble), time, coordinate; q of a curved or
    product space has its own.
    """
    import xarray as xr

    system = trajectory.system
    if system is None:
        raise ValueError(
            "this trajectory was loaded without its system; pass it: accion.load(path, system=...)."
        )
    dims = ("run", "time") if trajectory.is_ensemble else ("time",)
    per_run = dims[:-1]
    units = np.array(system.units)
    fields = {
        "p": (
            (
                (*dims, "coordinate")
                if trajectory.jets is None
                else (*dims, "derivative", "coordinate")
            ),
            trajectory.p,
            "momentum",
            joined([f"J s/{u}" if u else "" for u in units]),
        ),
        "iterations": (dims, trajectory.iterations, "iterations of Newton's method", "1"),
        "success": (per_run, trajectory.success, "whether every step was solved", "1"),
        "steps_completed": (per_run, trajectory.steps_completed, "steps that were solved", "1"),
    }
    if not system.discrete_time:
        fields["v"] = (
            (*dims, "coordinate"),
            trajectory.v,
            "velocity",
            joined([f"{u}/s" if u else "" for u in units]),
        )
        fields["energy"] = (
            dims,
            trajectory.energy(),
            "energy",
            "J" if all(units) or trajectory.S is not None else "",
        )
    if trajectory.jets is not None:
        fields |= higher_fields(trajectory, dims)
    if trajectory.lam is not None:
        fields["lam"] = (
            (*dims, "multiplier"),
            trajectory.lam,
            "multiplier, the constraint force",
            "",
        )
    if trajectory.S is not None:
        fields |= thermal_fields(trajectory, dims)
    parts = trajectory.q if isinstance(trajectory.q, tuple) else (trajectory.q,)
    for i, part in enumerate(parts):
        name = f"q_{i}" if isinstance(trajectory.q, tuple) else "q"
        own = tuple(f"{name}_axis{k}" for k in range(part.ndim - len(dims)))
        flat = name == "q" and part.ndim == len(dims) + 1
        fields[name] = (
            (*dims, "coordinate") if flat else (*dims, *own),
            part,
            "configuration",
            joined(units) if flat else "",
        )
    if trajectory.is_ensemble:
        fields |= system_fields(system)
    variables = {}
    for name, (axes, values, words, unit) in fields.items():
        variables[name] = (
            axes,
            np.asarray(values),
            {"long_name": words, **({"units": unit} if unit else {})},
        )
    coords = {
        "time": ("time", np.asarray(trajectory.t), {"long_name": "time", "units": "s"}),
        "coordinate": ("coordinate", np.array(system.names), {"long_name": "degree of freedom"}),
        "unit": ("coordinate", units, {"long_name": "unit of the degree of freedom"}),
    }
    return xr.Dataset(variables, coords, attributes(trajectory))


def higher_fields(trajectory, dims):
    """What a system of higher order adds: derivatives, and the momenta of nodes with the
    differences of increments between them.
    """
    fields = {
        "jets": (
            (*dims, "derivative", "coordinate"),
            trajectory.jets,
            "q', q'', ..., of the order of the system",
            "",
        )
    }
    if trajectory.nodal is not None:
        P, d, ahead = trajectory.nodal
        fields["node_P"] = (
            (*dims, "node", "coordinate"),
            P,
            "momenta of the nodes that begin here, components of Theta^+",
            "",
        )
        fields["node_d"] = (
            (*dims, "difference", "coordinate"),
            d,
            "differences of the increments between them",
            "",
        )
        fields["node_ahead"] = (dims, ahead, "steps from the first of them to here", "1")
    return fields


def system_fields(system):
    """The numbers of an ensemble's system, of each run: with them the system of one run becomes
    that of all again.
    """
    fields = {}
    for i, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(system)[0]):
        name = f"{NUMBER}{i}"
        words = f"number of the system{jax.tree_util.keystr(path)}"
        fields[name] = (
            ("run", *(f"{name}_axis{k}" for k in range(np.ndim(leaf) - 1))),
            leaf,
            words,
            "",
        )
    return fields


def thermal_fields(trajectory, dims):
    """What a thermal system adds: entropies, the energy from outside, and the extremes of all
    steps.
    """
    names = trajectory.system.frame.names
    shape = dims if trajectory.system.entropies is None else (*dims, "body")
    fields = {
        "S": (
            shape,
            trajectory.S,
            f"entropy, {', '.join(map(word_of, names))}",
            joined([unit_of(name) for name in names]),
        ),
        "supplied": (dims, trajectory.supplied, "energy from outside since the start", "J"),
    }
    if not trajectory.system.discrete_time:
        fields["T"] = (
            shape,
            trajectory.temperature(),
            "temperature",
            "K" if all(unit_of(name) == "J/K" for name in names) else "",
        )
    return fields | {
        f"laws_{name}": (dims[:-1], value, LAWS[name], "")
        for name, value in trajectory.laws._asdict().items()
        if name in LAWS
    }


NUMBER = "system_"  # variables that hold the numbers of an ensemble's system, counted

LAWS = {
    "energy": "energy at the start",
    "least": "least change of the total entropy in a step that was not cooled",
    "least_step": "the step of that change",
    "push": "largest energy that friction gave in a step",
    "push_step": "the step of that energy",
    "friction": "largest energy that friction gave or took in a step",
}


def joined(units):
    """One unit for all components, or a list of them."""
    return units[0] if len(set(units)) == 1 else ", ".join(unit or "1" for unit in units)


def attributes(trajectory):
    system = trajectory.system
    return (
        {} if trajectory.S is None else {"entropies": json.dumps(list(trajectory.entropies))}
    ) | {
        "title": system.name,
        "method": repr(trajectory.method),
        "space": repr(system.space),
        "h": float(trajectory.h),
        "params": params_text(system),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(
            {"python": platform.python_version()}
            | {name: version(name) for name in ("accion", "jax", "jaxlib", "numpy")}
        ),
        "accion_format": FORMAT,
        "factors": len(trajectory.q) if isinstance(trajectory.q, tuple) else 0,
    }


def params_text(system):
    """The params as text; functions by their names."""

    def plain(leaf):
        if is_number(leaf):
            return np.asarray(leaf).tolist()
        return getattr(leaf, "__name__", leaf)

    return repr(jax.tree.map(plain, system.params))


def write(dataset, path, overwrite):
    """Write `dataset` beside `path` and move it there: the path holds all of it or is left as it
    was.
    """
    path = Path(path)
    check_ending(
        path,
        "For a table use to_xarray().to_dataframe().to_csv(path), for NetCDF"
        " to_xarray().to_netcdf(path).",
    )
    recover(path)
    if path.exists():
        attributes = path / ".zattrs"
        if not attributes.is_file() or "accion_format" not in attributes.read_text():
            raise FileExistsError(
                f"{path} exists and is not a saved trajectory; it is not replaced. Choose another"
                " path."
            )
        if not overwrite:
            raise FileExistsError(
                f"{path} exists; choose another path, or pass overwrite=True to replace it."
            )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")
    # Text as objects: fixed-width text has no settled form in Zarr.
    text = {name: dataset[name].astype(object) for name in ("coordinate", "unit")}
    try:
        with replacing(path) as new:
            dataset.assign_coords(text).to_zarr(new, mode="w", zarr_format=2, consolidated=True)
    except OSError as error:
        raise OSError(
            f"cannot write to {path} ({error}); choose a folder that you may write to."
        ) from error


def stored_method(text):
    """The method whose repr was stored, None if it holds a function of the user's own."""
    try:
        return built(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def built(node):
    """A method from its repr, Name(field=value, ...), where values are plain or methods again;
    ValueError where they are not.
    """
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    kind = getattr(methods, node.func.id, None) if isinstance(node.func, ast.Name) else None
    if not (isinstance(kind, type) and issubclass(kind, methods.Method)):
        raise ValueError(f"{ast.unparse(node)} is no method of accion.")
    return kind(**{str(word.arg): built(word.value) for word in node.keywords})


def own_system(dataset, system, path):
    """The system of what was stored, from the one that a user has: with its entropies, and for an
    ensemble with the numbers of each run.
    """
    if system.entropic and "S" in dataset and "body" in dataset["S"].dims:
        system = system.with_entropies(np.empty(dataset.sizes["body"]))
    if "run" in dataset.dims and (f"{NUMBER}0" in dataset or not jax.tree.leaves(system)):
        system = of_all_runs(dataset, system, path)
    check_same(dataset, system, path)
    return system


def of_all_runs(dataset, system, path):
    """The system of an ensemble from that of one run: numbers that differ between runs are those
    that were stored.

    Numbers that all runs have in common must be those of `system`. The ensemble's own system is
    returned as it is.
    """
    leaves, treedef = jax.tree.flatten(system)
    stored = [
        dataset[f"{NUMBER}{i}"].values
        for i in range(sum(str(name).startswith(NUMBER) for name in dataset))
    ]
    given = [np.shape(leaf) for leaf in leaves]
    if given == [a.shape for a in stored] and all(map(np.array_equal, stored, leaves)):
        return system
    if given != [a.shape[1:] for a in stored]:
        words = (
            f"the numbers of each run have the shapes {[a.shape[1:] for a in stored]}, those of the"
            f" given one {given}"
        )
        raise ValueError(
            f"{path} was made with another system: {words}. Pass the one that ensemble took, with"
            " params built like its."
        )
    for every, own in zip(stored, leaves, strict=True):
        if len(every) > 1 and np.all(every == every[:1]) and not np.array_equal(every[0], own):
            words = (
                f"each of its runs has {every[0].tolist()} where the given one has"
                f" {np.asarray(own).tolist()}"
            )
            raise ValueError(
                f"{path} was made with another system: {words}. Give it those params:"
                " system.with_params(...)."
            )
    return jax.tree.unflatten(treedef, [jnp.asarray(a) for a in stored])


def check_same(dataset, system, path):
    """Raise ValueError unless `system` is like the one that was run."""
    for name, now in (("space", repr(system.space)), ("params", params_text(system))):
        if dataset.attrs[name] != now:
            raise ValueError(
                f"{path} was made with another system: its {name} is {dataset.attrs[name]}, that of"
                f" the given one is {now}."
            )
    if ("S" in dataset) != system.entropic:
        raise ValueError(
            f"{path} was made with another system:"
            f" {'a thermal one' if 'S' in dataset else 'one without entropies'}."
        )
    if (
        "S" in dataset
        and system.entropies is not None
        and list(system.entropies) != json.loads(dataset.attrs["entropies"])
    ):
        raise ValueError(
            f"{path} was made with other entropies: {dataset.attrs['entropies']}, those of the"
            f" given system are {list(system.entropies)}."
        )


def read(path, system):
    """The fields of the trajectory stored at `path`, with its system where one is given."""
    import xarray as xr

    path = Path(path)
    recover(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        dataset = xr.open_zarr(path).load()
    except Exception as error:
        raise ValueError(f"{path} is not a trajectory saved by accion.") from error
    if dataset.attrs.get("accion_format") != FORMAT:
        found = dataset.attrs.get("accion_format")
        raise ValueError(
            f"{path} is not a trajectory that this accion can read (format {found}, expected"
            f" {FORMAT})."
        )
    if system is not None:
        system = own_system(dataset, system, path)
    factors = dataset.attrs["factors"]
    q = (
        tuple(jnp.asarray(dataset[f"q_{i}"].values) for i in range(factors))
        if factors
        else jnp.asarray(dataset["q"].values)
    )
    names = [
        name
        for name in ("p", "v", "energy", "T", "iterations", "success", "steps_completed")
        if name in dataset
    ]
    first = {
        "t": jnp.asarray(dataset["time"].values),
        "q": q,
        "h": jnp.asarray(dataset.attrs["h"]),
        "method": stored_method(dataset.attrs["method"]),
        "system": system,
    }
    for name in ("lam", "jets", "S", "supplied"):
        if name in dataset:
            first[name] = jnp.asarray(dataset[name].values)
    if "node_P" in dataset:
        first["nodal"] = Nodal(
            *(jnp.asarray(dataset[f"node_{name}"].values) for name in Nodal._fields)
        )
    if "S" in dataset:
        first["laws"] = Laws(
            supplied=first["supplied"][..., -1],
            **{name: jnp.asarray(dataset[f"laws_{name}"].values) for name in LAWS},
        )
        first["entropies"] = json.loads(dataset.attrs["entropies"])
    return first | {name: jnp.asarray(dataset[name].values) for name in names}
