"""Stores: what an earlier accion wrote is read, and errors are the same for all kinds of them."""

import tarfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import campaign, control, formation, methods

RUN = {"h": 0.05, "steps": 4}


def held(t, q, m):
    return jnp.array([q @ q - 1.0])


BEAD = ac.System(
    lambda t, q, v, m: 0.5 * m * v @ v - 9.81 * q[1],
    ac.Euclidean(2),
    2.0,
    holonomic=held,
    coordinates=("x [m]", "y [m]"),
    name="bead",
)
WARM = ac.ThermalSystem(
    lambda t, q, v, S, c: 0.5 * v[0] ** 2 - jnp.sum(jnp.exp(S / c)),
    ac.Euclidean(1),
    2.0,
    friction=lambda t, q, v, S, c: -jnp.stack([v, 0 * v]),
    entropies=("S_gas [J/K]", "S_wall [J/K]"),
    coordinates=("x [m]",),
    name="warm",
)
BENT = ac.HigherOrderSystem(
    lambda t, q, v, a, k: 0.5 * a @ a - 0.5 * k * q @ q, ac.Euclidean(1), 2.0, name="bent"
)
PAIR = ac.System(
    lambda t, q, v, params: 0.5 * v @ v - 0.5 * q[0] @ q[0] + jnp.cos(q[1][0]),
    ac.Product(ac.Euclidean(2), ac.Torus(1)),
)
START = {"q0": [0.6, -0.8], "v0": [0.0, 0.0]}
JETS = [[0.1], [0.2], [0.0]]
SAVED = {
    "bead": (BEAD, ac.Alpha(0.3), START),
    "alpha": (BEAD, methods.GeneralizedAlpha(0.6), START),
    "warm": (WARM, ac.Midpoint(), {"q0": [0.0], "v0": [1.0], "S0": [0.0, 0.1]}),
    "bent": (BENT, ac.Midpoint(), {"q0": [0.3], "v0": JETS}),
    "pair": (PAIR, ac.Midpoint(), {"q0": ([0.1, 0.2], [0.3]), "v0": [0.0, 0.0, 0.5]}),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Stores that accion wrote before it had one writer for all of them."""
    folder = tmp_path_factory.mktemp("stores")
    with tarfile.open(Path(__file__).parents[1] / "data" / "stores.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


# Only the stores that are read here have none: what is written now has checksums.
of_before = pytest.mark.filterwarnings("ignore::accion.errors.NoChecksums")


@of_before
@pytest.mark.parametrize("name", SAVED)
def test_trajectories_of_before_are_read(name, stores):
    system, method, start = SAVED[name]
    there, now = (
        ac.load(stores / f"{name}.zarr", system),
        ac.simulate(system, method, **start, **RUN),
    )
    assert there.method == method
    assert set(there.channels()) == set(now.channels())
    for key, channel in now.channels().items():
        if key != "iterations":
            np.testing.assert_allclose(
                there.channels()[key].values, channel.values, rtol=1e-9, atol=1e-9, err_msg=key
            )
    assert there.plot() is not None
    alone = ac.load(stores / f"{name}.zarr")
    assert set(alone.channels()) == set(now.channels())
    assert len(alone.plot().axes) == len(now.plot().axes)


@of_before
def test_an_ensemble_of_before_is_read(stores):
    masses = jnp.array([1.0, 2.0])
    now = ac.ensemble(BEAD, ac.Midpoint(), **START, params=masses, **RUN)
    there = ac.load(stores / "many.zarr", BEAD)
    np.testing.assert_array_equal(there.system.params, masses)
    np.testing.assert_allclose(there.q, now.q, atol=1e-12)
    np.testing.assert_allclose(there.energy(), now.energy(), atol=1e-12)


@of_before
def test_a_campaign_of_before_is_read(stores):
    there = campaign.load(stores / "campaign.zarr")
    assert there["success"].values.tolist() == [True, False]
    assert "q0 is off the constraint of bead" in there["reason"].values[1]
    one = ac.simulate(BEAD, ac.Midpoint(), **START, **RUN)
    for name, value in (("q", one.q), ("v", one.v), ("p", one.p), ("lam", one.lam)):
        np.testing.assert_allclose(there[name][0], value[-1], atol=1e-9)
    np.testing.assert_allclose(there["E_max"][0], np.max(one.energy()), atol=1e-9)
    assert campaign.summary(there).startswith("2 runs of bead by Midpoint(): 1 of 2 went well")


@of_before
def test_a_map_of_before_is_read(stores):
    there = formation.load_attraction(stores / "attraction.zarr")
    assert there["outcome"].shape == (3, 3)
    assert there["outcome"].attrs["outcomes"] == list(formation.OUTCOMES)
    assert formation.plot_attraction(there) is not None


@of_before
def test_a_control_of_before_is_read(stores):
    block = ac.System(
        lambda t, q, v, m: 0.5 * m * v @ v,
        ac.Euclidean(1),
        1.0,
        coordinates=("x [m]",),
        name="block",
    )
    problem = ac.ControlProblem(
        block,
        lambda t, q, v, u, params: u @ u,
        actuated=["x"],
        start=([0.0], [0.0]),
        end=([1.0], [0.0]),
        duration=1.0,
    )
    there = control.load(stores / "control.zarr", problem)
    assert there.success
    assert there.method == ac.Midpoint()
    np.testing.assert_allclose(there.q[-1], [1.0], atol=1e-9)
    np.testing.assert_allclose(there.cost, 12.8, rtol=1e-9)  # 12 / (1 - 1/16) for four steps


# ---------------------------------------------------------------- one set of errors


def readers():
    return {
        "a saved trajectory": ac.load,
        "a campaign": campaign.load,
        "a map of a region of attraction": formation.load_attraction,
    }


@pytest.mark.parametrize("what", readers())
def test_what_cannot_be_read_is_named(what, stores, tmp_path):
    read = readers()[what]
    with pytest.raises(FileNotFoundError, match=r"nothing\.zarr does not exist"):
        read(tmp_path / "nothing.zarr")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("text")
    other = {"a campaign": "bead", "a saved trajectory": "attraction"}.get(what, "campaign")
    for path in (tmp_path / "empty", tmp_path / "text", stores / f"{other}.zarr"):
        with pytest.raises(ValueError, match=f"{path.name} is not {what}"):
            read(path)


@of_before
def test_another_format_is_named(stores, tmp_path):
    import json
    import shutil

    for name, key, number, read in (
        ("bead", "accion_format", 1, ac.load),
        ("campaign", "accion_campaign", 2, campaign.load),
    ):
        path = tmp_path / name
        shutil.copytree(stores / f"{name}.zarr", path)
        attributes = json.loads((path / ".zattrs").read_text())
        (path / ".zattrs").write_text(json.dumps(attributes | {key: 99}))
        with pytest.raises(
            ValueError, match=rf"that this accion can read \(format 99, expected {number}\)"
        ):
            read(path)


@of_before
def test_a_map_is_saved_and_loaded(stores, tmp_path):
    region = formation.load_attraction(stores / "attraction.zarr")
    path = tmp_path / "map.zarr"
    formation.save_attraction(region, path)
    again = formation.load_attraction(path)
    assert again.drop_attrs(deep=False).identical(region.drop_attrs(deep=False))
    assert again.attrs["accion_attraction"] == 1
    with pytest.raises(FileExistsError, match="overwrite=True"):
        formation.save_attraction(region, path)
    formation.save_attraction(region, path, overwrite=True)
    ac.simulate(BEAD, ac.Midpoint(), **START, **RUN).save(tmp_path / "run.zarr")
    with pytest.raises(FileExistsError, match="is not a map of a region of attraction"):
        formation.save_attraction(region, tmp_path / "run.zarr", overwrite=True)
    with pytest.raises(FileExistsError, match="is not a saved trajectory"):
        ac.load(tmp_path / "run.zarr", BEAD).save(path, overwrite=True)
    with pytest.raises(ValueError, match=r"a Zarr store, a folder.*to_netcdf"):
        formation.save_attraction(region, tmp_path / "map.nc")
    with pytest.raises(ValueError, match="dataset must be a dataset that attraction"):
        formation.save_attraction(region[["time"]].drop_attrs(), tmp_path / "other")
