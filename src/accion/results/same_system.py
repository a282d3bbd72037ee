"""Whether a system is the one that a stored trajectory was made with, and how it becomes that."""

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.results import store
from accion.systems.traced import TracedFunction
from accion.systems.tree import is_number

if TYPE_CHECKING:
    import xarray as xr

WRITERS = ("accion", "jax")  # whose versions decide how operations are written
NUMBER = "system_"  # variables that hold the numbers of an ensemble's system, counted


def own_system(dataset: "xr.Dataset", system: Any, path: str | Path) -> Any:
    """The system of what was stored, from the one that a user has: with its entropies, and for an
    ensemble with the numbers of each run.

    Raises:
        ValueError: where it is another system.
    """
    if system.entropic and "S" in dataset and "body" in dataset["S"].dims:
        system = system.with_entropies(np.empty(dataset.sizes["body"]))
    if "run" in dataset.dims and (f"{NUMBER}0" in dataset or not jax.tree.leaves(system)):
        system = of_all_runs(dataset, system, path)
    check_same(dataset, system, path)
    return system


def of_all_runs(dataset: "xr.Dataset", system: Any, path: str | Path) -> Any:
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


def check_same(dataset: "xr.Dataset", system: Any, path: str | Path) -> None:
    """Raise ValueError unless `system` is like the one that was run."""
    for name, now in (("space", repr(system.space)), ("params", params_text(system))):
        if dataset.attrs[name] != now:
            raise ValueError(
                f"{path} was made with another system: its {name} is {dataset.attrs[name]}, that of"
                f" the given one is {now}."
            )
    for name, words, now in (
        ("coordinate", "coordinates", system.names),
        ("unit", "units of its coordinates", system.units),
    ):
        there = [str(word) for word in dataset[name].values]
        if there != list(now):
            raise ValueError(
                f"{path} was made with another system: the {words} are {there}, those of the given"
                f" one are {list(now)}. Give it the same: System(..., coordinates=...)."
            )
    if "reduced_p" in dataset and system.conformal is None:
        raise ValueError(
            f"{path} was made with another system: one with a weight. Give it the same:"
            " System(..., weight=...)."
        )
    there = "S" if "S" in dataset else "z" if "z" in dataset else ""
    if there != system.beside:
        neither = "one without entropies" if system.entropic else "one without an action z"
        words = {"S": "a thermal one", "z": "a contact one"}.get(there, neither)
        raise ValueError(f"{path} was made with another system: {words}.")
    if (
        "S" in dataset
        and system.entropies is not None
        and list(system.entropies) != json.loads(dataset.attrs["entropies"])
    ):
        raise ValueError(
            f"{path} was made with other entropies: {dataset.attrs['entropies']}, those of the"
            f" given system are {list(system.entropies)}."
        )
    check_functions(dataset, system, path)


def check_functions(dataset: "xr.Dataset", system: Any, path: str | Path) -> None:
    """Raise ValueError where a function of the system does other operations than the one that was
    run; other versions of accion and JAX may write the same ones in another way.
    """
    stored, here = json.loads(dataset.attrs.get("functions", "{}")), functions_of(system)
    there = json.loads(dataset.attrs.get("versions", "{}"))
    now = json.loads(store.versions(WRITERS))
    if not stored or any(there.get(name) != now[name] for name in WRITERS):
        return
    other = [name for name in {**stored, **here} if stored.get(name) != here.get(name)]
    if other:
        raise ValueError(
            f"{path} was made with another system: its {' and its '.join(other)} did other"
            " operations than that of the given one. Give it the system as it was, or load it"
            " without: what was saved can be read all the same."
        )


def functions_of(system: Any) -> dict[str, str]:
    """The functions of a system by their names: digests of what they do, without their numbers."""
    found = {}
    for part in fields(system):
        functions = jax.tree.leaves(getattr(system, part.name), is_leaf=is_function)
        traces = [f.trace for f in functions if is_function(f)]
        found |= {part.name: "".join(trace.content.digest for trace in traces)} if traces else {}
    return found


def is_function(value: Any) -> bool:
    return isinstance(value, TracedFunction)


def params_text(system: Any) -> str:
    """The params as text; functions by their names."""

    def plain(leaf: Any) -> Any:
        if is_number(leaf):
            return np.asarray(leaf).tolist()
        return getattr(leaf, "__name__", leaf)

    return repr(jax.tree.map(plain, system.params))
