"""Campaigns by both engines."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.campaign.identity import identity_of
from accion.campaign.makers import made_by
from accion.campaign.program import Program, job_of
from accion.engines import auto
from tests.campaign.runs import QUIET, same

campaign = ac.campaign


def forced():
    return ac.mechanical(
        1.0,
        lambda t, q, params: 0.25 * params["k"] * jnp.sum(q**4),
        2,
        params={"k": 2.0},
        force=lambda t, q, v, params: jnp.stack([-0.2 * v[0], jnp.sin(t)]),
    )


def constrained():
    return ac.System(
        lambda t, q, v, params: 0.5 * v @ v - params["gravity"] * q[1],
        ac.Euclidean(2),
        {"gravity": 9.81},
        holonomic=lambda t, q, params: jnp.array([q @ q - 1.0]),
    )


def thermal():
    return ac.ThermalSystem(
        lambda t, q, v, S, params: 0.5 * v @ v - 0.5 * q @ q - jnp.exp(S),
        ac.Euclidean(1),
        {"c": 0.3},
        friction=lambda t, q, v, S, params: -params["c"] * v,
    )


ANGLE = np.array([0.3, 1.0, -0.8])
CASES = {
    "free": (
        lambda: ac.System(
            lambda t, q, v, params: 0.5 * v @ v + params["k"] * jnp.cos(q[0]),
            ac.Torus(1),
            {"k": 9.81},
        ),
        {"q0[0]": [0.1, 2.0, -2.5], "params.k": [9.0, 9.5, 10.0]},
        {"v0": [0.0]},
    ),
    "forced": (forced, {"q0[0]": [0.5, 1.0], "params.k": [1.0, 3.0]}, {"q0": [0, 1], "v0": [1, 0]}),
    "constrained": (
        constrained,
        {"q0": np.stack([np.sin(ANGLE), -np.cos(ANGLE)], axis=1)},
        {"v0": [0.0, 0.0]},
    ),
    "thermal": (thermal, {"v0[0]": [0.5, 1.0]}, {"q0": [1.0], "S0": 0.0}),
}


def case(name):
    make, columns, rest = CASES[name]
    return make(), ac.Midpoint(), campaign.table(columns, **rest)


def kept():
    return [
        campaign.final(),
        campaign.extrema("energy", "E"),
        campaign.mean("q", "middle"),
        campaign.event("q[0]", "down"),
    ]


@pytest.mark.parametrize("name", CASES)
def test_engines_agree_to_rounding(name):
    native, by_xla = (
        campaign.run(*case(name), **QUIET, reductions=kept(), engine=engine)
        for engine in ("native", "xla")
    )
    assert json.loads(native.attrs["versions"])["engine"] == "native"
    assert json.loads(by_xla.attrs["versions"])["engine"] == "xla"
    assert native["success"].values.all()
    for variable in map(str, native.variables):
        a, b = native[variable], by_xla[variable]
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind == "f" and not variable.startswith("E_t"):  # when, among equal values
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=variable)
        elif a.dtype.kind != "f":
            assert a.values.tolist() == b.values.tolist()


def test_members_are_those_of_simulate():
    system, method, plan = case("free")
    found = campaign.run(system, method, plan, **QUIET, engine="native")
    for i, row in enumerate(found["q0[0]"].values):
        alone = ac.simulate(
            system, method, q0=[row], v0=[0.0], h=0.05, steps=60, engine="native",
            params={"k": float(found["params.k"][i])},
        )  # fmt: skip
        np.testing.assert_array_equal(found["q"][i], alone.q[-1])


def test_failures_are_the_same():
    """No mass, what is no number, what overflows, and a step without solution."""
    slope = ac.System(
        lambda t, q, v, params: 0.5 * params["m"] * v[0] ** 2 + params["a"] * jnp.exp(q[0]),
        ac.Euclidean(1),
        {"m": 1.0, "a": 1.0},
    )
    columns = {
        "params.m": [1.0, 0.0, 1.0, 1e200, 1.0, 1.0],
        "params.a": [0.1, 0.1, np.nan, 1e200, 100.0, 3.0],
    }
    plan = campaign.table(columns, q0=[0.0], v0=[0.0])
    native, by_xla = (
        campaign.run(slope, ac.Midpoint(), plan, h=0.4, steps=5, progress=False, engine=engine)
        for engine in ("native", "xla")
    )
    assert native["failure"].values.tolist()[:2] == [0, 1]
    assert set(native["failure"].values.tolist()) >= {0, 1, 2}
    assert campaign.failures(native) == campaign.failures(by_xla)
    np.testing.assert_allclose(native["q"], by_xla["q"], rtol=1e-12)


# ---------------------------------------------------------------- which one


def engine_of(dataset):
    return json.loads(dataset.attrs["versions"])["engine"]


def test_auto_is_native_where_it_serves(pendulum):
    plan = campaign.table({"q0[0]": [0.1, 0.2]}, v0=[0.0])
    assert engine_of(campaign.run(pendulum, ac.Midpoint(), plan, **QUIET)) == "native"
    called = campaign.Reduction(
        lambda now: (),
        lambda carry, now: (),
        lambda _, last: jax.pure_callback(
            lambda q: 2 * np.asarray(q), jax.ShapeDtypeStruct((1,), float), last.q
        ),
    )
    asked = QUIET | {"steps": 2, "reductions": [called]}
    assert engine_of(campaign.run(pendulum, ac.Midpoint(), plan, **asked)) == "xla"
    with pytest.raises(ValueError, match="engine='native' does not know the primitive pure_call"):
        campaign.run(pendulum, ac.Midpoint(), plan, **asked, engine="native")
    with pytest.raises(ValueError, match="engine must be"):
        campaign.run(pendulum, ac.Midpoint(), plan, **asked, engine="fast")


def test_equal_campaigns_share_their_programs():
    def run():  # all functions are new
        system, method, plan = case("free")
        return campaign.run(system, method, plan, **QUIET, reductions=kept())

    first, count = run(), len(auto.programs)
    same(first, run())
    assert len(auto.programs) == count


def test_a_campaign_goes_on_with_the_engine_that_it_was_begun_with(pendulum, tmp_path):
    plan = campaign.table({"q0[0]": [0.1, 0.2, 2.5]}, v0=[0.0])
    asked = QUIET | {"chunk": 1}
    for begun, other in (("xla", "native"), ("native", "xla")):
        path = tmp_path / begun
        whole = campaign.run(pendulum, ac.Midpoint(), plan, **asked, store=path, engine=begun)
        whole.load()
        (path / ".accion" / "1").unlink()
        with pytest.raises(ValueError, match=f"was begun with engine='{begun}'"):
            campaign.run(pendulum, ac.Midpoint(), plan, **asked, store=path, engine=other)
        again = campaign.run(pendulum, ac.Midpoint(), plan, **asked, store=path)
        assert engine_of(again) == begun
        same(whole, again)
    again = campaign.run(
        pendulum, ac.Midpoint(), plan, **asked, store=path, engine="xla", overwrite=True
    )
    assert engine_of(again) == "xla"


def test_stores_that_do_not_say_go_on_with_xla(pendulum, tmp_path):
    from accion.campaign.store import Store

    plan, path = campaign.table({"q0[0]": [0.1, 0.2]}, v0=[0.0]), tmp_path / "store"
    campaign.run(pendulum, ac.Midpoint(), plan, **QUIET, store=path, engine="xla")
    attributes = path / ".zattrs"
    text = json.loads(attributes.read_text())
    versions = json.loads(text["versions"])
    del versions["engine"], versions["lanes"]
    attributes.write_text(json.dumps(text | {"versions": json.dumps(versions)}))
    assert Store(path).engine_for("auto") == "xla"
    with pytest.raises(ValueError, match="begun with engine='xla'"):
        Store(path).engine_for("native")


def test_the_engine_is_part_of_the_identity():
    def program(engine, system=None):
        own, method, plan = case("free")
        job = job_of(system or own, method, plan, 0.05, 60, 0.0, (campaign.final(),), 2, engine)
        return Program(job)

    native, by_xla = program("native"), program("xla")
    assert (native.job.engine, by_xla.job.engine) == ("native", "xla")
    assert identity_of(native) == identity_of(program("auto"))
    assert identity_of(native) != identity_of(by_xla)
    other = ac.System(
        lambda t, q, v, params: 0.5 * v @ v + params["k"] * jnp.cos(q[0] + 1e-3),
        ac.Torus(1),
        {"k": 9.81},
    )
    assert native.digest != program("native", other).digest
    assert "llvmlite" in made_by("native")
    assert "llvmlite" not in made_by("xla")  # as before
