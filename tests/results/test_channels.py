"""Channels: one name, unit and description for a quantity, wherever it is shown."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import campaign
from accion.campaign.quantities import NAMES
from accion.results.channels import LONG_NAMES, labels

RUN = {"h": 0.05, "steps": 6}
MID = ac.Midpoint()


def bead():
    """One constraint, and a weight."""
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 9.81 * q[1],
        ac.Euclidean(2),
        weight=lambda t, params: jnp.exp(0.5 * t),
        holonomic=lambda t, q, params: jnp.array([q @ q - 1.0]),
        coordinates=("x [m]", "y [m]"),
    )
    return system, MID, {"q0": [0.6, -0.8], "v0": [0.0, 0.0]}


def pair():
    """A product of a flat space and a group."""
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 0.5 * q[0] @ q[0],
        ac.Product(ac.Euclidean(1), ac.SO2()),
        coordinates=("x [m]", "angle [rad]"),
    )
    return system, MID, {"q0": ([0.5], np.eye(2)), "v0": [0.0, 0.3]}


def top():
    """A group."""
    system = ac.System(lambda t, q, v, I: 0.5 * v @ (I * v), ac.SO3(), jnp.array([1.0, 2.0, 3.0]))
    return system, MID, {"q0": np.eye(3), "v0": [0.3, 0.1, 0.2]}


def warm():
    """Two entropies; several bodies, an energy from outside."""
    system = ac.ThermalSystem(
        lambda t, q, v, S, params: 0.5 * v[0] ** 2 - jnp.sum(jnp.exp(S)),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, params: -jnp.stack([v, 0 * v]),
        external=lambda t, q, v, S, params: jnp.array([jnp.cos(t)]),
        entropies=("S_gas [J/K]", "S_wall [J/K]"),
        coordinates=("x [m]",),
    )
    return system, MID, {"q0": [0.0], "v0": [1.0], "S0": [0.0, 0.1]}


def contact():
    """An action."""
    system = ac.ContactSystem(
        lambda t, q, v, z, params: 0.5 * v @ v - 0.5 * q @ q - 0.3 * z,
        ac.Euclidean(1),
        coordinates=("x [m]",),
    )
    return system, MID, {"q0": [1.0], "v0": [0.3], "z0": 0.2}


def bent():
    """Order two, with a multiplier."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * a @ a - 0.5 * q @ q,
        ac.Euclidean(2),
        vakonomic=lambda t, q, v, a, params: jnp.array([a[1] - q[0]]),
        coordinates=("x [m]", "y [m]"),
    )
    start = {"q0": [0.3, 0.1], "v0": [[0.1, 0.2], [0.2, 0.3], [0.0, 0.1]]}
    return system, MID, start | {"lam0": [[0.1], [0.0]]}


def given():
    """In discrete time: no velocities."""
    system = ac.DiscreteThermalSystem(
        lambda t, h, q0, q1, S0, S1, params: h * (0.5 * ((q1[0] - q0[0]) / h) ** 2 - jnp.exp(S0)),
        ac.Euclidean(1),
        kinematic=lambda t, h, q0, q1, S0, S1, params: (
            -jnp.exp(S0) * (S1 - S0) / h + ((q1[0] - q0[0]) / h) ** 2
        ),
    )
    return system, None, {"q0": [0.0], "q1": [0.05], "S0": 0.0}


def spline():
    """In discrete time, of order two, with a multiplier."""
    system = ac.DiscreteSystem(
        lambda t, h, q0, q1, q2, params: (
            0.5 * jnp.sum((q2 - 2 * q1 + q0) ** 2) / h**3 - 0.5 * h * q1 @ q1
        ),
        ac.Euclidean(2),
        order=2,
        constraint=lambda t, h, q0, q1, q2, params: jnp.array(
            [(q2[1] - 2 * q1[1] + q0[1]) / h**2 - q1[0]]
        ),
        coordinates=("x [m]", "y [m]"),
    )
    q = [[0.3 + 0.1 * k, 0.1 + 0.05 * k] for k in range(4)]
    return system, None, {"q0": q[0], "q1": q[1:], "lam0": [[0.0], [0.0]]}


KINDS = (bead, pair, top, warm, contact, bent, given, spline)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def run(request):
    system, method, start = request.param()
    return ac.simulate(system, method, **start, **RUN), start


def test_a_dataset_and_a_file_show_the_channels(run, tmp_path):
    traj, _ = run
    channels, data = traj.channels(), traj.to_xarray()
    assert set(channels) == set(data.data_vars)
    traj.save(tmp_path / "run.zarr")
    stored, alone = (
        ac.load(tmp_path / "run.zarr", traj.system),
        ac.load(tmp_path / "run.zarr"),
    )
    assert stored.to_xarray().drop_attrs(deep=False).identical(data.drop_attrs(deep=False))
    assert set(alone.channels()) == set(channels)
    for name, channel in channels.items():
        attrs = {"long_name": channel.long_name} | ({"units": channel.unit} if channel.unit else {})
        assert data[name].dims == channel.dims
        assert data[name].attrs == attrs
        np.testing.assert_array_equal(data[name], channel.values)
        there = alone.channels()[name]
        assert (there.dims, there.unit, there.long_name) == (
            channel.dims,
            channel.unit,
            channel.long_name,
        )
        np.testing.assert_array_equal(there.values, channel.values)


def test_a_campaign_keeps_every_channel_under_its_own_name(run, tmp_path):
    """At the end of a run: the same values, axes, units and words as in the trajectory's Dataset,
    in memory and in a store.
    """
    traj, start = run
    data, channels = traj.to_xarray(), traj.channels()
    always = {"success", "steps_completed"}  # of every member
    wanted = {"q", *(name for name in channels if not name.startswith("q_"))} - always
    column = {"v0": [start["v0"]]} if "v0" in start else {"q1": [start["q1"]]}
    rest = {name: value for name, value in start.items() if name not in column}
    plan = campaign.table({name: np.asarray(value) for name, value in column.items()}, **rest)
    asked = {"reductions": campaign.final(*wanted), "progress": False}
    found = campaign.run(traj.system, traj.method, plan, **RUN, **asked)
    stored = campaign.run(
        traj.system, traj.method, plan, **RUN, **asked, store=tmp_path / "runs.zarr"
    )
    assert stored.drop_attrs(deep=False).identical(found.drop_attrs(deep=False))
    assert found["success"].values.all()
    assert set(channels) <= set(found.variables)
    for name, channel in channels.items():
        last = channel.values if "time" not in channel.dims else channel.values[-1]
        # by two engines
        np.testing.assert_allclose(found[name][0], last, rtol=1e-9, atol=1e-12, err_msg=name)
        assert found[name].dims == ("member", *(d for d in data[name].dims if d != "time"))
        assert found[name].attrs == data[name].attrs


@pytest.mark.parametrize(
    ("kind", "units"),
    [
        (bead, {"q": "m", "v": "m/s", "p": "J s/m", "energy": "J", "lam": ""}),
        (pair, {"q_0": "m", "q_1": "", "v": "m/s, rad/s", "p": "J s/m, J s/rad"}),
        (top, {"q": "", "v": "rad/s", "p": "J s/rad", "energy": "J"}),
        (warm, {"S": "J/K", "T": "K", "supplied": "J", "energy": "J"}),
        (bent, {"p": "J s/m; J s^2/m", "jets": "m/s; m/s^2", "v": "m/s"}),
        (given, {"S": "J/K", "p": ""}),
        (spline, {"q": "m", "p": "J s/m"}),
    ],
)
def test_units(kind, units):
    found = labels(kind()[0])
    assert {name: found[name].unit for name in units} == units
    assert set(found) <= set(LONG_NAMES) | {"q_0", "q_1"}


def test_components_have_names():
    found = labels(warm()[0])
    assert found["S"].components == ("S_gas [J/K]", "S_wall [J/K]")
    assert found["T"].components == ("T_gas [K]", "T_wall [K]")
    assert found["q"].components == ("x [m]",)
    assert found["v"].components == ("x' [m/s]",)
    assert "v" not in labels(given()[0])


def test_reductions_have_units_and_words():
    system, method, start = pair()
    plan = campaign.table({"q0[0][0]": [0.5, 0.6], "v0[1]": [0.3, 0.4]}, **start)
    asked = [
        campaign.extrema("energy", "E"),
        campaign.extrema("q[0][0]", "x"),
        campaign.mean("v[1]", "turning"),
        campaign.event("v[0]", "stop", level=-0.1),
        campaign.extrema(lambda t, q, v: v, "own"),
        campaign.extrema("iterations", "newton"),
    ]
    found = campaign.run(system, method, plan, **RUN, reductions=asked, progress=False)
    for name, unit, words in (
        ("E_min", None, "least value of energy"),
        ("x_max", "m", "largest value of q[0][0]"),
        ("x_t_max", "s", "when q[0][0] is largest"),
        ("turning_mean", "rad/s", "mean over time of v[1]"),
        ("stop_t", "s", "first time at which v[0] passes through -0.1"),
        ("stop_count", "1", "how often v[0] passes through -0.1"),
        ("own_min", None, "least value of own"),
        ("newton_max", "1", "largest value of iterations"),
        ("q0[0][0]", "m", "set by the plan"),
        ("v0[1]", "rad/s", "set by the plan"),
    ):
        unit = "J" if name == "E_min" else unit
        assert found[name].attrs == {"long_name": words} | ({"units": unit} if unit else {})
    assert found["own_min"].dims == ("member", "own_min_axis0")
    one = ac.simulate(system, method, **start, **RUN, engine="xla")
    assert found["newton_max"][0] == np.max(one.iterations)


def test_every_name_can_be_asked_for():
    for name in NAMES:
        campaign.final(name)
        campaign.extrema(f"{name}[0]", "x")
    with pytest.raises(ValueError, match=r"no 'success'. Try one of: q, p, v, energy"):
        campaign.final("success")
    system, method, start = top()
    with pytest.raises(ValueError, match="has no supplied to keep"):
        campaign.run(
            system,
            method,
            campaign.table({"v0": [start["v0"]]}, q0=start["q0"]),
            **RUN,
            reductions=campaign.final("supplied"),
            progress=False,
        )
