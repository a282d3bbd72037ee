"""What a run is gone on with: where it started, and all that its last step left.

`solve` registers how; a trajectory only carries it, in memory and in its file.
"""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from accion.systems.start import Start

if TYPE_CHECKING:
    import xarray as xr

    from accion.results.trajectory import Trajectory

# What a trajectory has at each saved time.
AT_TIMES = (
    "t",
    "q",
    "p",
    "iterations",
    "lam",
    "S",
    "z",
    "supplied",
    "jets",
    "nodal",
    "reduced",
    "guess",
)
START, STATE = "start_", "state_"  # how variables of a file begin that hold it


class Carried(NamedTuple):
    """Where a run started, and its last `State`."""

    start: Start
    last: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Loaded:
    """The same from a file: the start by the names of its parts, the numbers of the state in their
    order, and what each of them is.
    """

    start: dict[str, Any]
    numbers: list[Any]
    names: tuple[str, ...] = field(metadata={"static": True})


@singledispatch
def gone_on(
    carried: Any, trajectory: "Trajectory", steps: int, throw: bool, progress: bool
) -> "Trajectory":
    """The trajectory with so many steps more."""
    raise ValueError(
        "this trajectory has no last step to go on from: only a run of simulate or ensemble has,"
        " outside of jax.jit, grad and vmap, and a file that holds its state."
    )


# ---------------------------------------------------------------- in a file


def variables_of(trajectory: "Trajectory") -> dict[str, Any]:
    """What a file holds of it: variables of a Dataset."""
    carried = trajectory.carried
    if carried is None:
        return {}
    found: dict[str, Any] = {}
    runs = ("run",) * trajectory.is_ensemble

    def put(name: str, value: Any, words: str) -> None:
        dims = (*runs, *(f"{name}_axis{k}" for k in range(np.ndim(value) - len(runs))))
        found[name] = (dims, np.asarray(value), {"long_name": words})

    start, numbers, names = parts_of(carried)
    for name, value in start.items():
        put(START + name, value, f"{name.split('_')[0]} of the start")
    for i, (name, value) in enumerate(zip(names, numbers, strict=True)):
        put(f"{STATE}{i}", value, name)
    return found


def parts_of(carried: Any) -> tuple[dict[str, Any], list[Any], tuple[str, ...]]:
    """(parts of the start by name, numbers of the state, their names)."""
    if isinstance(carried, Loaded):
        return carried.start, carried.numbers, carried.names
    start: dict[str, Any] = {}
    for name, value in carried.start._asdict().items():
        if isinstance(value, tuple):
            start |= {f"{name}_{i}": part for i, part in enumerate(value)}
        elif value is not None:
            start[name] = value
    paths, _ = jax.tree_util.tree_flatten_with_path(carried.last)
    names = tuple(f"last state{jax.tree_util.keystr(path)}" for path, _ in paths)
    return start, [value for _, value in paths], names


def loaded(dataset: "xr.Dataset") -> Loaded | None:
    """What a file holds of it; None where it was written without."""
    count = sum(str(name).startswith(STATE) for name in dataset.data_vars)
    if not count:
        return None
    start = {
        str(name).removeprefix(START): variable.values
        for name, variable in dataset.data_vars.items()
        if str(name).startswith(START)
    }
    state = [dataset[f"{STATE}{i}"] for i in range(count)]
    names = tuple(each.attrs["long_name"] for each in state)
    return Loaded(start, [each.values for each in state], names)


def start_of(parts: dict[str, Any]) -> Start:
    """The start whose parts these are."""
    found: dict[str, Any] = {}
    for name, value in parts.items():
        word, _, part = name.partition("_")
        found[word] = (*found.get(word, ()), value) if part else value
    return Start(**found)
