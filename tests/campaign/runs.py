"""What the tests of campaigns share."""

RUN = {"h": 0.05, "steps": 60}
QUIET = RUN | {"progress": False}


def same(one, other):
    """Bit for bit: every variable, coordinates too."""
    assert set(one.variables) == set(other.variables)
    for name in one.variables:
        a, b = one[name].values, other[name].values
        assert a.dtype.kind == b.dtype.kind, name
        assert (a.tolist() if a.dtype.kind in "OU" else a.tobytes()) == (
            b.tolist() if b.dtype.kind in "OU" else b.tobytes()
        ), name


def files(store):
    """All files of a store with their bytes."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }
