"""A run as a table, by names, as files of other programs; and the runs of an ensemble."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import accion as ac


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v[0] ** 2 + jnp.cos(q[0])


PENDULUM = ac.System(lagrangian, ac.Torus(1), {"m": 1.0}, coordinates=("theta [rad]",))
RUN = {"v0": [0.0], "h": 0.1, "steps": 6}
ONE = ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], **RUN, params={"m": 1.5})
MASSES = np.array([1.0, 1.5, 2.0])
MANY = ac.ensemble(PENDULUM, ac.Midpoint(), q0=np.ones((3, 1)), **RUN, params={"m": MASSES})


def test_columns_have_names_and_units():
    table = ONE.to_dataframe()
    assert list(table.columns) == ["theta", "p_theta", "theta'", "energy", "iterations"]
    assert table.index.name == "t"
    np.testing.assert_array_equal(table.index, ONE.t)
    np.testing.assert_array_equal(table["p_theta"], ONE.p[:, 0])
    np.testing.assert_array_equal(table["theta'"], ONE.v[:, 0])
    np.testing.assert_array_equal(table["energy"], ONE.energy())
    units = table.attrs["units"]
    assert (units["t"], units["theta"], units["theta'"]) == ("s", "rad", "rad/s")


def test_numbers_by_name():
    np.testing.assert_array_equal(ONE["theta"], ONE.q[:, 0])
    np.testing.assert_array_equal(ONE["q"], ONE.q)
    assert MANY["theta"].shape == (3, 7)
    np.testing.assert_array_equal(MANY["p_theta"], MANY.p[:, :, 0])
    with pytest.raises(ValueError, match=r"no channel or column 'thta'. Try one of: q, p, .*theta"):
        ONE["thta"]
    with pytest.raises(ValueError, match=r"rows are those of its arrays, traj.q\[3\]\); got 3"):
        ONE[3]
    with pytest.raises(TypeError, match="one run is no sequence"):
        list(ONE)


def test_a_run_of_an_ensemble_is_that_of_simulate_to_the_bit():
    one = MANY[1]
    assert not one.is_ensemble
    assert float(one.system.params["m"]) == 1.5
    for name in ("q", "p", "v", "energy", "iterations"):
        np.testing.assert_array_equal(one[name], ONE[name])
    np.testing.assert_array_equal(one.extend(4).q, ONE.extend(4).q)
    np.testing.assert_array_equal(one.at(0.25).q, ONE.at(0.25).q)
    assert [float(run.system.params["m"]) for run in MANY] == list(MASSES)
    np.testing.assert_array_equal(MANY[-1].q, MANY.q[2])
    for wrong in (3, -4, 1.0, True, slice(0, 2)):
        with pytest.raises(IndexError, match="this ensemble has 3 runs, from 0 to 2"):
            MANY[wrong]


def test_a_table_of_an_ensemble():
    table = MANY.to_dataframe()
    assert table.index.names == ["run", "t"]
    np.testing.assert_array_equal(table.loc[2]["theta"], MANY.q[2, :, 0])


def test_products_groups_heat_and_constraints():
    space = ac.Product(ac.Torus(1), ac.SO2(), ac.Euclidean(2))
    names = ("a [rad]", "b [rad]", "x [m]", "v [m]")
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v,
        space,
        coordinates=names,
        holonomic=lambda t, q, params: q[2][:1] - q[0],
    )
    q0 = (np.zeros(1), np.eye(2), np.zeros(2))
    traj = ac.simulate(system, ac.Midpoint(), q0=q0, v0=[1.0, 2.0, 1.0, 3.0], h=0.1, steps=2)
    table = traj.to_dataframe()
    np.testing.assert_array_equal(table["x"], traj.q[2][:, 0])
    # A channel is called v, and so the coordinate of that name is not.
    np.testing.assert_array_equal(table["q_2_v"], traj.q[2][:, 1])
    np.testing.assert_array_equal(table["q_1_21"], traj.q[1][:, 1, 0])
    np.testing.assert_array_equal(table["p_b"], traj.p[:, 1])
    np.testing.assert_array_equal(table["lam_1"], traj.lam[:, 0])
    assert table.attrs["units"]["x'"] == "m/s"
    heated = ac.ThermalSystem(
        lambda t, q, v, S, params: 0.5 * v @ v - jnp.exp(S[0]) - jnp.exp(S[1]),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, params: -jnp.stack([v, v]),
        entropies=("gas", "wall"),
    )
    traj = ac.simulate(heated, ac.Midpoint(), q0=[0.0], v0=[1.0], S0=[0.0, 0.1], h=0.1, steps=2)
    np.testing.assert_array_equal(traj["S_wall"], traj.S[:, 1])
    np.testing.assert_array_equal(traj["T_gas"], traj.temperature()[:, 0])


def test_files_by_their_ending(tmp_path):
    ONE.save(tmp_path / "run.csv")
    table = pd.read_csv(tmp_path / "run.csv")
    assert list(table.columns)[:2] == ["t [s]", "theta [rad]"]
    np.testing.assert_array_equal(table["theta [rad]"], ONE.q[:, 0])
    MANY.save(tmp_path / "runs.csv")
    assert list(pd.read_csv(tmp_path / "runs.csv").columns)[:2] == ["run", "t [s]"]
    ONE.save(tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc", engine="scipy") as found:
        np.testing.assert_array_equal(found["q"], ONE.q)
        assert found.attrs["method"] == "Midpoint()"
    ONE.save(tmp_path / "run.zarr")
    np.testing.assert_array_equal(ac.load(tmp_path / "run.zarr")["theta"], ONE["theta"])
    assert set(ac.load(tmp_path / "run.zarr").columns) == set(ONE.columns)
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        ONE.save(tmp_path / "run.csv")
    ONE.save(tmp_path / "run.csv", overwrite=True)
    with pytest.raises(ValueError, match=r"a run is written as .zarr \(or no ending\), .csv, .nc"):
        ONE.save(tmp_path / "run.xlsx")
    with pytest.raises(ValueError, match=r"run.csv is for other programs"):
        ac.load(tmp_path / "run.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileExistsError, match="it is a folder"):
        ONE.save(tmp_path / "folder.csv", overwrite=True)
    with pytest.raises(OSError, match="cannot write to"):
        ONE.save(tmp_path / "missing" / "run.csv")
    kept = {"run.csv", "runs.csv", "run.nc", "run.zarr", "folder.csv"}
    assert {each.name for each in tmp_path.iterdir() if not each.name.startswith(".")} == kept
