"""Chunks of Zarr arrays that are written without Zarr."""

import numpy as np
import pytest
import zarr

from accion.results import chunk_files
from accion.results.manifest import checksum
from accion.results.store import Blank, create_array, opened

CASES = {
    "real numbers": (np.linspace(0.0, 1.0, 14).reshape(7, 2), np.nan),
    "no number": (np.full((7, 2), np.nan), np.nan),
    "whole numbers": (np.arange(7), None),
    "small ones": (np.arange(7, dtype=np.int8), None),
    "zeros": (np.zeros(7, dtype=np.int64), None),
    "switches": (np.arange(7) % 2 == 0, None),
    "words": (np.array(["", "a", "bad start", "é", "", "", "x"], dtype=object), "not run"),
    "no words": (np.full(7, "not run", dtype=object), "not run"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_of_zarr(name, tmp_path):
    values, fill = CASES[name]
    dims = ("member", "axis")[: values.ndim]
    form = Blank(dims, values.shape, (4, *values.shape[1:]), values.dtype, fill, {})
    for folder in ("zarr", "own"):
        group = zarr.create_group(tmp_path / folder, zarr_format=2)
        create_array(group, "a", form)
        zarr.consolidate_metadata(tmp_path / folder)
    opened(tmp_path / "zarr", "r+")["a"][:] = values
    array = opened(tmp_path / "own", "r")["a"]
    for c, part in enumerate((values[:4], values[4:])):  # the last one is not full
        file = tmp_path / "own" / "a" / ".".join([str(c), *["0"] * (values.ndim - 1)])
        there = chunk_files.write(file, array, part)
        assert there == (checksum(file.read_bytes()) if file.exists() else None)
    found = [
        {path.name: path.read_bytes() for path in (tmp_path / folder / "a").iterdir()}
        for folder in ("zarr", "own")
    ]
    assert found[0] == found[1]
    whole = opened(tmp_path / "own", "r")["a"][:]
    assert np.array_equal(whole, values, equal_nan=values.dtype.kind == "f")


def test_what_was_there_is_replaced(tmp_path):
    group = zarr.create_group(tmp_path / "store", zarr_format=2)
    create_array(group, "a", Blank(("member",), (4,), (4,), np.dtype(float), np.nan, {}))
    file, array = tmp_path / "store" / "a" / "0", group["a"]
    assert chunk_files.write(file, array, np.ones(4))
    assert chunk_files.write(file, array, np.arange(4.0))
    np.testing.assert_array_equal(group["a"][:], np.arange(4.0))
    assert not chunk_files.write(file, array, np.full(4, np.nan))
    assert not file.exists()
    assert not list(file.parent.glob("*.partial"))
