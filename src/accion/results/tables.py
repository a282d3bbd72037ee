"""A run as a table: a column for each number of each saved time, by the names of its channels."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from accion.arguments import door, path as path_of, shown, switch, wrong
from accion.results import storage
from accion.results.folders import ENDING, replacing
from accion.results.lock import cannot_write, real
from accion.systems.base import unit_of, word_of

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = ".zarr (or no ending), .csv, .nc"


class Column(NamedTuple):
    """One number of each saved time: shape (times,), of an ensemble (runs, times)."""

    values: np.ndarray
    unit: str


class Tabular:
    """What a trajectory has of a table; abstract."""

    @property
    def columns(self: Any) -> dict[str, Column]:
        """The columns by name: "theta", "theta'", "p_theta", "energy", ...

        Components have the names that `coordinates` gives them, without units; others are numbered,
        "q_12" being the first row and second column of a matrix. A name that occurs twice, or that
        a whole channel has, has the name of its channel in front.
        """
        found = list(components(self))
        count = Counter(word for _, word, _ in found)
        return {
            word if count[word] == 1 and (word not in self.labels or word == name) else
            f"{name}_{word}": column
            for name, word, column in found
        }  # fmt: skip

    def to_dataframe(self: Any) -> "pd.DataFrame":
        """A pandas.DataFrame with the `columns`, and a row for each saved time: its index is t, of
        an ensemble (run, t). `attrs["units"]` are the units of the columns.
        """
        import pandas as pd

        columns, t = self.columns, np.asarray(self.t)
        flat = {name: np.ravel(column.values) for name, column in columns.items()}
        index: Any = pd.Index(t, name="t")
        if self.is_ensemble:
            runs = len(self.success)
            index = pd.MultiIndex.from_arrays(
                [np.repeat(np.arange(runs), len(t)), np.tile(t, runs)], names=["run", "t"]
            )
        table = pd.DataFrame(flat, index=index)
        table.attrs["units"] = {"t": "s"} | {name: column.unit for name, column in columns.items()}
        return table

    def __getitem__(self: Any, key: Any) -> Any:
        """A channel or a column by its name, shape (times, ...), of an ensemble (runs, times, ...);
        of an ensemble also the run of a number, as a `Trajectory`.
        """
        if isinstance(key, str):
            if key in self.labels:
                return self.value(key)
            columns = self.columns
            if key in columns:
                return columns[key].values
            known = ", ".join(dict.fromkeys([*self.labels, *columns]))
            raise ValueError(
                f"key: there is no channel or column {shown(key)}. Try one of: {known}."
            )
        if not self.is_ensemble:
            words = 'a name such as "energy" (rows are those of its arrays, traj.q[3])'
            wrong("key", words, key)
        runs = len(self.success)
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or not (
            -runs <= key < runs
        ):  # fmt: skip
            raise IndexError(
                f"this ensemble has {runs} runs, from 0 to {runs - 1}; got {shown(key)}."
            )
        return member(self, int(key))

    def __iter__(self: Any) -> Iterator[Any]:
        """The runs of an ensemble."""
        if not self.is_ensemble:
            raise TypeError("one run is no sequence; its arrays are: traj.t, traj.q, traj.v.")
        return (self[i] for i in range(len(self.success)))

    @door(path=path_of, overwrite=switch)
    def save(self: Any, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run, whole or not at all, in the form that the ending of `path` says: ".zarr"
        or no ending, a Zarr store, which `accion.load` reads; ".csv", the table of `to_dataframe`;
        ".nc", the Dataset of `to_xarray` as NetCDF. The last two are for other programs.

        An existing path is an error unless `overwrite`.
        """
        write(self, path, overwrite)


def components(trajectory: Any) -> Iterator[tuple[str, str, Column]]:
    """(channel, name within it, column) of every number of a saved time."""
    system, q = trajectory.system, trajectory.labels.get("q")
    known = system.names if system else q.components if q else ()
    names = tuple(map(word_of, known))
    for name, channel in trajectory.channels().items():
        if "time" not in channel.dims:
            continue
        values = np.asarray(channel.values)
        shape = values.shape[channel.dims.index("time") + 1 :]
        if not shape:
            yield name, name, Column(values, channel.unit)
            continue
        words, units = words_of(name, channel, shape, names)
        flat = values.reshape(*values.shape[: values.ndim - len(shape)], -1)
        for i, (word, unit) in enumerate(zip(words, units, strict=True)):
            yield name, word, Column(flat[..., i], unit)


def words_of(
    name: str, channel: Any, shape: tuple[int, ...], names: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """The names and the units of the components of a channel."""
    units = [unit.strip() for unit in channel.unit.split(",")]
    if len(channel.components) == np.prod(shape):
        words = [word_of(each) for each in channel.components]
        if name not in ("q", "v") and not name.startswith("q_"):
            words = [each if each.startswith(name) else f"{name}_{each}" for each in words]
        units = [unit_of(each) for each in channel.components]
    elif shape == (len(names),) and channel.dims[-1] == "coordinate":
        words = [f"{each}'" if name == "v" else f"{name}_{each}" for each in names]
    else:
        words = [name + "_" + "".join(str(i + 1) for i in at) for at in np.ndindex(*shape)]
    return words, units if len(units) == len(words) else [channel.unit] * len(words)


def member(ensemble: Any, i: int) -> Any:
    """One run of an ensemble: what `simulate` gives, to the bit."""
    one = jax.tree.map(lambda a: a[i], replace(ensemble, t=None, h=None))
    return replace(one, t=ensemble.t, h=ensemble.h)


# ---------------------------------------------------------------- files


def write(trajectory: Any, path: str | Path, overwrite: bool) -> None:
    """The file of a trajectory, by the ending of its path."""
    ending = Path(path).suffix
    if ending == ".csv":
        replace_file(path, overwrite, lambda new: write_csv(trajectory, new))
    elif ending == ".nc":
        replace_file(path, overwrite, lambda new: write_netcdf(trajectory, new))
    elif ending == ".zarr" or not ENDING.fullmatch(ending):
        storage.write(storage.to_file(trajectory), path, overwrite)
    else:
        raise ValueError(f"a run is written as {SUFFIXES}; got {str(path)!r}.")


def write_csv(trajectory: Any, path: Path) -> None:
    """The table, with units in its head: "theta [rad]"."""
    table = trajectory.to_dataframe()
    units = table.attrs["units"]
    heads = {name: f"{name} [{units[name]}]" if units[name] else name for name in table.columns}
    index = [f"{name} [s]" if name == "t" else name for name in table.index.names]
    table.rename(columns=heads).to_csv(path, index_label=index)


def write_netcdf(trajectory: Any, path: Path) -> None:
    """The Dataset, in the form of NetCDF that SciPy writes."""
    trajectory.to_xarray().to_netcdf(path, engine="scipy", format="NETCDF3_64BIT")


def replace_file(path: str | Path, overwrite: bool, write: Any) -> None:
    """A file that is there whole or not at all; what is there stays, unless `overwrite`."""
    path = real(path)
    if path.is_dir() or (path.exists() and not overwrite):
        raise FileExistsError(
            f"{path} exists; choose another path"
            + (", it is a folder." if path.is_dir() else ", or pass overwrite=True to replace it.")
        )
    try:
        with replacing(path) as new:
            write(new)
    except OSError as error:
        raise cannot_write(path, error) from error
