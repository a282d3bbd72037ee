"""Maps of regions of attraction as Zarr stores."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accion.arguments import door, path as path_of, switch, wrong
from accion.results import store

if TYPE_CHECKING:
    import xarray as xr

ATTRACTION = store.Format(
    "a map of a region of attraction",
    "accion_attraction",
    1,
    "For NetCDF use its to_netcdf(path).",
    before="edges",
)
PACKAGES = ("accion", "jax", "jaxlib", "numpy")


def a_map(value: Any, name: str) -> Any:
    """What `attraction` returns: the check of a `door`."""
    import xarray as xr

    if isinstance(value, xr.Dataset) and "outcome" in value and "edges" in value.attrs:
        return value
    wrong(name, "a dataset that attraction(...) or refine(...) returned", value)
    return None


@door(dataset=a_map, path=path_of, overwrite=switch)
def save_attraction(dataset: "xr.Dataset", path: str | Path, *, overwrite: bool = False) -> None:
    """Write what `attraction` or `refine` returned as a Zarr store, whole or not at all.

    Arguments:
        dataset: the map.
        path: a folder that does not exist yet, without an ending or with .zarr.
        overwrite: whether a map that is there is replaced.

    Raises:
        ValueError: where `dataset` is no such map.
        FileExistsError, FileNotFoundError, OSError: where it cannot be written.
    """
    made = {"created": store.now(), "versions": store.versions(PACKAGES)}
    store.write(dataset.assign_attrs(made), path, ATTRACTION, overwrite)


@door(path=path_of)
def load_attraction(path: str | Path) -> "xr.Dataset":
    """The map that `save_attraction` or `accion attraction` wrote.

    Raises:
        FileNotFoundError: where nothing is at `path`.
        ValueError: where what is there is no such map.
    """
    return store.read(path, ATTRACTION)
