"""Campaigns: many runs, in chunks that survive anything."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import cloudpickle
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc
from typer.testing import CliRunner

import accion as ac
from accion.campaign.lines import line_of
from accion.cli import app
from tests.conftest import pendulum_lagrangian

campaign = ac.campaign
RUN = {"h": 0.05, "steps": 60}
QUIET = RUN | {"progress": False}
ROOT = Path(__file__).parents[1]


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


# ---------------------------------------------------------------- plans


def test_a_table_sets_whole_parts_components_and_params(pendulum):
    rng = np.random.default_rng(1)
    q0, v0, l = rng.uniform(-2, 2, (5, 1)), rng.uniform(-1, 1, 5), rng.uniform(0.5, 1, 5)
    found = campaign.run(
        pendulum,
        ac.Midpoint(),
        campaign.table({"q0": q0, "v0[0]": v0, "params": {"l": l}}),
        **QUIET,
    )
    assert dict(found.sizes) == {"member": 5, "coordinate": 1}
    np.testing.assert_array_equal(found["params.l"], l)
    many = ac.ensemble(
        pendulum, ac.Midpoint(), q0=q0, v0=v0[:, None], params=pendulum.params | {"l": l}, **RUN
    )
    np.testing.assert_allclose(found["q"], many.q[:, -1], atol=1e-12)
    np.testing.assert_allclose(found["p"], many.p[:, -1], atol=1e-12)
    assert found["success"].values.all()
    assert campaign.failures(found) == []


def test_a_grid_is_every_combination(pendulum):
    angles, lengths = np.linspace(-1, 1, 3), np.array([0.5, 0.9])
    plan = campaign.grid({"q0[0]": angles, "params.l": lengths}, v0=[0.3])
    assert plan.size == 6
    np.testing.assert_array_equal(plan.rows(2, 5)["q0[0]"], angles[[1, 1, 2]])
    np.testing.assert_array_equal(plan.rows(2, 5)["params.l"], lengths[[0, 1, 0]])
    found = campaign.unfold(campaign.run(pendulum, ac.Midpoint(), plan, chunk=4, **QUIET))
    assert found["q"].dims == ("q0[0]", "params.l", "coordinate")
    one = ac.simulate(
        pendulum,
        ac.Midpoint(),
        q0=[angles[2]],
        v0=[0.3],
        params=pendulum.params | {"l": lengths[1]},
        **RUN,
    )
    at = found["q"].sel({"q0[0]": 1.0, "params.l": 0.9})
    np.testing.assert_allclose(at, one.q[-1], atol=1e-12)


@pytest.mark.parametrize("how", ["uniform", "sobol", "latin"])
def test_samples_do_not_depend_on_how_they_are_cut(how):
    plan = campaign.sample(
        64,
        {
            "q0[0]": (-1, 3),
            "v0[0]": (0, 1),
            "params.l": (1, 2),
            "params.m": (2, 4),
            "params.gravity": (9, 10),
        },
        how=how,
        seed=7,
    )
    whole = plan.rows(0, 64)
    for first, last in ((0, 1), (1, 64), (10, 33), (63, 64)):
        for name, part in plan.rows(first, last).items():
            np.testing.assert_array_equal(part, whole[name][first:last])
    for name, (low, high) in plan.ranges.items():
        assert low <= whole[name].min() < low + 0.3 * (high - low)
        assert high - 0.3 * (high - low) < whole[name].max() <= high
    unit = np.stack(
        [(whole[name] - low) / (high - low) for name, (low, high) in plan.ranges.items()], axis=1
    )
    if how == "latin":  # one point in each of the 64 slices of every axis
        np.testing.assert_array_equal(
            np.sort(np.floor(64 * unit), axis=0), np.arange(64)[:, None] * np.ones(5)
        )
    if how == "sobol":  # a net: one in each slice too, and far more even than chance
        np.testing.assert_array_equal(
            np.sort(np.floor(64 * unit), axis=0), np.arange(64)[:, None] * np.ones(5)
        )
        assert qmc.discrepancy(unit) < 0.5 * qmc.discrepancy(
            np.random.default_rng(0).random((64, 5))
        )
    other = campaign.sample(64, plan.ranges, how=how, seed=8).rows(0, 64)
    assert not np.array_equal(other["q0[0]"], whole["q0[0]"])


def test_uniform_samples_are_uniform_and_independent():
    u = np.stack(
        list(
            campaign.sample(20000, {"q0[0]": (0, 1), "v0[0]": (0, 1)}, seed=3)
            .rows(0, 20000)
            .values()
        )
    )
    np.testing.assert_allclose(u.mean(axis=1), 0.5, atol=4 * np.sqrt(1 / 12 / 20000))
    assert abs(np.mean((u[0] - 0.5) * (u[1] - 0.5)) * 12) < 4 / np.sqrt(20000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: campaign.table({"q0": np.zeros((3, 1)), "v0": np.zeros((2, 1))}), "one length"),
        (lambda: campaign.table({"x0": [1.0]}), "'x0' sets nothing"),
        (lambda: campaign.table({"q0": 1.0}), "single number"),
        (lambda: campaign.grid({}), "at least one axis"),
        (lambda: campaign.grid({"q0[0]": []}), "has none"),
        (lambda: campaign.grid({"q0[0]": [1.0]}, w0=3), "'w0' is no part of a start"),
        (lambda: campaign.sample(0, {"q0[0]": (0, 1)}, seed=1), "whole number >= 1"),
        (lambda: campaign.sample(3, {"q0[0]": (1, 0)}, seed=1), "low < high"),
        (
            lambda: campaign.sample(3, {"q0[0]": (0, 1)}, how="best", seed=1),
            "Try one of: uniform, sobol, latin",
        ),
        (lambda: campaign.sample(3, {"q0[0]": (0, 1)}, seed=-1), "seed"),
    ],
)
def test_bad_plans(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            campaign.grid({"params.k": [1.0]}, q0=[0.0], v0=[0.0]),
            "'params.k' sets nothing of this system. There is: params.gravity",
        ),
        (campaign.grid({"q0[1]": [1.0]}, v0=[0.0]), "beyond"),
        (campaign.grid({"v0[0]": [1.0]}), "q0, the configuration"),
        (campaign.grid({"q0[0]": [1.0]}), "give one of v0"),
        (campaign.grid({"q0": [1.0]}, v0=[0.0]), r"entries of shape \(1,\); got shape \(\)"),
        (campaign.grid({"q0[0]": [1.0]}, v0=[0.0, 1.0]), r"v0 must have shape \(1,\)"),
    ],
)
def test_plans_that_do_not_fit(pendulum, plan, words):
    with pytest.raises(ValueError, match=words):
        campaign.run(pendulum, ac.Midpoint(), plan, **QUIET)


def test_parts_of_a_product_may_be_lists_or_tuples():
    space = ac.Product(ac.Euclidean(2), ac.Torus(1))
    system = ac.mechanical(1.0, lambda t, q, params: 0.5 * q[0] @ q[0] - jnp.cos(q[1][0]), space)
    plans = [
        campaign.grid({"q0[0][1]": [0.2, 0.3]}, q0=q0, v0=[0.0, 0.1, 0.2])
        for q0 in (([0.1, 0.0], [0.5]), [[0.1, 0.0], [0.5]])
    ]
    plans.append(
        campaign.table(
            {"q0": (np.array([[0.1, 0.2], [0.1, 0.3]]), np.array([[0.5], [0.5]]))},
            v0=[0.0, 0.1, 0.2],
        )
    )
    found = [
        campaign.run(system, ac.Trapezoid(), plan, h=0.1, steps=3, progress=False) for plan in plans
    ]
    one = ac.simulate(
        system, ac.Trapezoid(), q0=([0.1, 0.3], [0.5]), v0=[0.0, 0.1, 0.2], h=0.1, steps=3
    )
    for each in found:
        np.testing.assert_allclose(each["q_0"][1], one.q[0][-1], atol=1e-13)
        np.testing.assert_allclose(each["q_1"][1], one.q[1][-1], atol=1e-13)


def test_a_component_that_nothing_sets():
    system = ac.mechanical(1.0, None, 2)
    with pytest.raises(ValueError, match=r"q0\[1\] is set by no column"):
        campaign.run(
            system, ac.Trapezoid(), campaign.grid({"q0[0]": [1.0]}, v0=[0.0, 0.0]), **QUIET
        )


# ---------------------------------------------------------------- reductions


def test_reductions_are_those_of_the_whole_trajectory(pendulum):
    starts = {
        "q0": np.array([[0.5], [-1.2], [2.0], [0.0]]),
        "v0": np.array([[0.0], [1.0], [-0.4], [9.0]]),
    }
    steps = campaign.Reduction(
        lambda now: now.q[0],
        lambda total, now: total + now.q[0],
        lambda total, last: total / (1 + last.t),
        "total",
    )
    asked = [
        campaign.final("q", "v", "p", "energy"),
        campaign.extrema("energy", "E"),
        campaign.extrema(lambda t, q, v: jnp.stack([v[0], t * q[0]]), "w"),
        campaign.event(lambda t, q, v, params: params["l"] * jnp.sin(q[0]), "down"),
        campaign.event("v[0]", "turn", level=0.7),
        campaign.mean(lambda t, q, v: v[0] ** 2, "v2"),
        steps,
    ]
    found = campaign.run(pendulum, ac.Midpoint(), campaign.table(starts), reductions=asked, **QUIET)
    for i in range(4):
        traj = ac.simulate(pendulum, ac.Midpoint(), q0=starts["q0"][i], v0=starts["v0"][i], **RUN)
        t, q, v, E = (np.asarray(a) for a in (traj.t, traj.q[:, 0], traj.v[:, 0], traj.energy()))
        one = found.isel(member=i)
        for name, value in (
            ("q", q[-1]),
            ("v", v[-1]),
            ("p", traj.p[-1]),
            ("energy", E[-1]),
            ("E_min", E.min()),
            ("E_max", E.max()),
        ):
            np.testing.assert_allclose(one[name], np.squeeze(value), atol=1e-11)
        for k, w in enumerate((v, t * q)):
            np.testing.assert_allclose(
                [one["w_min"][k], one["w_max"][k]], [w.min(), w.max()], atol=1e-11
            )
            assert [one["w_t_min"][k], one["w_t_max"][k]] == [t[w.argmin()], t[w.argmax()]]
        for name, f in (("down", np.sin(q)), ("turn", v - 0.7)):
            at = np.flatnonzero(f[:-1] * f[1:] < 0)
            assert one[f"{name}_count"] == len(at)
            first = (
                np.nan if not len(at) else t[at[0]] + 0.05 * f[at[0]] / (f[at[0]] - f[at[0] + 1])
            )
            np.testing.assert_allclose(one[f"{name}_t"], first, atol=1e-11)
        np.testing.assert_allclose(one["v2_mean"], np.trapezoid(v**2, t) / t[-1], atol=1e-11)
        np.testing.assert_allclose(one["total"], q.sum() / (1 + t[-1]), atol=1e-10)
    assert found["down_count"].values.max() > 1


def test_an_event_that_only_touches_zero_is_none():
    free = ac.mechanical(1.0, None, 1)
    plan = campaign.table({"q0[0]": [-1.0, 0.0, -1.0]}, v0=[1.0])
    asked = [
        campaign.event(lambda t, q, v: jnp.round(4 * q[0]) ** 2, "touch"),
        campaign.event(lambda t, q, v: jnp.round(4 * q[0]), "through"),
    ]
    found = campaign.run(
        free, ac.Trapezoid(), plan, h=0.25, steps=8, reductions=asked, progress=False
    )
    assert found["touch_count"].values.tolist() == [0, 0, 0]
    assert found["through_count"].values.tolist() == [1, 0, 1]
    np.testing.assert_allclose(found["through_t"], [1.0, np.nan, 1.0], atol=1e-14)


def test_time_goes_on_as_in_simulate():
    """A Lagrangian and a reduction that depend on time, from another time than zero."""
    driven = ac.System(
        lambda t, q, v, p: (
            jnp.exp(0.3 * t) * (0.5 * v[0] ** 2 - 0.5 * p["k"] * q[0] ** 2) + q[0] * jnp.cos(2 * t)
        ),
        ac.Euclidean(1),
        {"k": 1.0},
    )
    asked = [campaign.final(), campaign.mean(lambda t, q, v: t * q[0], "m")]
    found = campaign.run(
        driven,
        ac.Trapezoid(),
        campaign.grid({"params.k": [1.0, 2.0]}, q0=[1.0], v0=[0.0]),
        t0=0.7,
        reductions=asked,
        **QUIET,
    )
    traj = ac.simulate(driven, ac.Trapezoid(), q0=[1.0], v0=[0.0], t0=0.7, params={"k": 2.0}, **RUN)
    np.testing.assert_allclose(found["q"][1], traj.q[-1], rtol=1e-12)
    mean = np.trapezoid(traj.t * traj.q[:, 0], traj.t) / (RUN["h"] * RUN["steps"])
    np.testing.assert_allclose(found["m_mean"][1], mean, rtol=1e-11)


def test_constrained_systems():
    bead = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 9.81 * q[1],
        ac.Euclidean(2),
        holonomic=lambda t, q, params: jnp.array([q @ q - 1.0]),
        name="bead",
    )
    q0 = [[np.sin(0.3), -np.cos(0.3)], [np.sin(1.0), -np.cos(1.0)], [1.1, 0.0]]
    found = campaign.run(
        bead,
        ac.Midpoint(),
        campaign.table({"q0": q0}, v0=[0.0, 0.0]),
        reductions=[campaign.final("q", "v", "p", "lam")],
        **QUIET,
    )
    one = ac.simulate(bead, ac.Midpoint(), q0=q0[1], v0=[0.0, 0.0], **RUN)
    for name, value in (("q", one.q), ("v", one.v), ("p", one.p), ("lam", one.lam)):
        np.testing.assert_allclose(found[name][1], value[-1], atol=1e-9)
    assert found["failure"].values.tolist() == [0, 0, 1]
    assert "q0 is off the constraint of bead (by 0.21)" in found["reason"].values[2]


def test_thermal_systems():
    """A particle slowed down by friction, which warms a body with U = exp(S), so T = U."""
    system = ac.ThermalSystem(
        lambda t, q, v, S, params: 0.5 * v[0] ** 2 - jnp.exp(S),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, params: -v,
    )
    plan = campaign.table({"v0[0]": [1.0, 2.0], "S0": [0.0, 0.1]}, q0=[0.0])
    asked = [
        campaign.final(),
        campaign.extrema("T", "T"),
        campaign.mean(lambda t, q, v, S, params: S, "S"),
    ]
    found = campaign.run(system, ac.Midpoint(), plan, reductions=asked, **QUIET)
    one = ac.simulate(system, ac.Midpoint(), q0=[0.0], v0=[2.0], S0=0.1, **RUN)
    np.testing.assert_allclose(found["S"][1], one.S[-1], atol=1e-12)
    np.testing.assert_allclose(
        [found["T_min"][1], found["T_max"][1]], np.exp([one.S[0], one.S[-1]]), atol=1e-12
    )
    np.testing.assert_allclose(
        found["S_mean"][1], np.trapezoid(one.S, one.t) / one.t[-1], atol=1e-12
    )


def test_bad_reductions(pendulum):
    plan = campaign.grid({"q0[0]": [1.0]}, v0=[0.0])
    for asked, words in (
        ([campaign.final(), campaign.final()], "two reductions"),
        ([campaign.mean("q[3]", "a")], "beyond"),
        ([campaign.final("S")], "has no S"),
        ([3], "Reduction; got 3"),
        (
            [campaign.Reduction(lambda now: 0.0, lambda c, now: c, name="success")],
            "must not be called 'success'",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            campaign.run(pendulum, ac.Midpoint(), plan, reductions=asked, **QUIET)
    with pytest.raises(ValueError, match="no quantity 'w'"):
        campaign.extrema("w", "a")
    with pytest.raises(ValueError, match="Try one of: q, p"):
        campaign.final("x")


# ---------------------------------------------------------------- members that fail


def test_failed_members_say_why_and_stop_nobody(pendulum):
    """One of each kind among good ones: params that are not finite, no inertia, numbers that
    overflow, a bad angle.
    """
    size = 12
    columns = {
        "q0[0]": np.linspace(0.5, 1.5, size),
        "params.m": np.ones(size),
        "params.gravity": np.full(size, 9.81),
    }
    columns["params.gravity"][2] = np.nan
    columns["params.m"][4] = 0.0
    columns["params.m"][6], columns["params.gravity"][6] = 1e9, 1e300
    columns["q0[0]"][8] = np.inf
    plan = campaign.table(columns, v0=[0.0])
    found = campaign.run(
        pendulum,
        ac.Midpoint(),
        plan,
        chunk=5,
        reductions=[campaign.final(), campaign.event("q[0]", "down")],
        **QUIET,
    )
    assert np.flatnonzero(~found["success"]).tolist() == [2, 4, 6, 8]
    assert found["failure"].values[[2, 4, 6, 8]].tolist() == [1, 1, 3, 1]
    reasons = {member: reason for member, _, reason in campaign.failures(found)}
    assert "bad start" in reasons[2]
    assert "must be finite" in reasons[2]
    assert "singular" in reasons[4]
    assert "not finite at step 0" in reasons[6]
    assert "q0 must be finite" in reasons[8]
    assert "8 of 12 went well" in campaign.summary(found)
    assert np.all(np.isnan(found["q"][[2, 4, 6, 8]]))
    assert found["down_count"].values[[2, 4, 6, 8]].tolist() == [-1] * 4
    good = np.flatnonzero(found["success"])
    alone = campaign.run(
        pendulum,
        ac.Midpoint(),
        campaign.table({k: a[good] for k, a in columns.items()}, v0=[0.0]),
        **QUIET,
    )
    np.testing.assert_array_equal(found["q"][good], alone["q"])
    with pytest.raises(ac.StepFailed, match=r"member 2 \(4 of 12 failed\): bad start"):
        campaign.run(pendulum, ac.Midpoint(), plan, chunk=5, throw=True, **QUIET)


def test_a_step_without_solution_is_told_from_one_that_is_not_finite():
    """x/h = p + (h/2) a exp(q + x/2) has no real root x for large a; beyond a wall L is not
    defined. `simulate` names the same steps.
    """
    slope = ac.System(
        lambda t, q, v, params: 0.5 * v[0] ** 2 + params["a"] * jnp.exp(q[0]),
        ac.Euclidean(1),
        {"a": 1.0},
        name="slope",
    )
    wall = ac.System(
        lambda t, q, v, params: 0.5 * v[0] ** 2 + jnp.log(1 - q[0]), ac.Euclidean(1), name="wall"
    )
    for system, column, value, code, words in (
        (slope, "params.a", 100.0, 2, "Newton's method did not converge in 40 iterations"),
        (wall, "v0[0]", 3.0, 3, "not finite"),
    ):
        plan = campaign.table({column: [0.01, value, 0.02]}, q0=[0.0], v0=[0.0])
        found = campaign.run(system, ac.Midpoint(), plan, h=0.4, steps=5, progress=False)
        assert found["failure"].values.tolist() == [0, code, 0]
        more = {"params": {"a": value}, "v0": [0.0]} if system is slope else {"v0": [value]}
        step = int(
            ac.simulate(
                system, ac.Midpoint(), q0=[0.0], h=0.4, steps=5, throw=False, **more
            ).steps_completed
        )
        assert int(found["steps_completed"][1]) == step
        assert found["reason"].values[1] == f"{words} at step {step} (t = {0.4 * step:.6g})"


def test_starts_off_the_group():
    wheel = ac.System(lambda t, q, v, params: 0.5 * v @ v, ac.SO2(), name="wheel")
    plan = campaign.table(
        {"q0": np.stack([np.eye(2), 2 * np.eye(2), np.eye(2)]), "v0": [[1.0], [1.0], [1e4]]}
    )
    found = campaign.run(wheel, ac.Midpoint(), plan, h=0.01, steps=3, progress=False)
    assert found["failure"].values.tolist() == [0, 1, 1]
    assert "is not in SO2" in found["reason"].values[1]
    assert "one step turns by 100 rad" in found["reason"].values[2]
    np.testing.assert_allclose(found["q"][0, 0], [np.cos(0.03), -np.sin(0.03)], atol=1e-14)


# ---------------------------------------------------------------- the store


def test_a_store_goes_on_where_it_was(pendulum, tmp_path, monkeypatch):
    plan = campaign.sample(23, {"q0[0]": (-2, 2)}, how="sobol", seed=1, v0=[0.0])
    run = QUIET | {"chunk": 5, "reductions": [campaign.final(), campaign.event("q[0]", "down")]}
    whole = campaign.run(pendulum, ac.Midpoint(), plan, store=tmp_path / "whole", **run)
    same(whole, campaign.run(pendulum, ac.Midpoint(), plan, store=tmp_path / "whole", **run))
    in_memory = campaign.run(pendulum, ac.Midpoint(), plan, **run)
    same(whole, in_memory)
    same(in_memory, campaign.run(pendulum, ac.Midpoint(), plan, **(run | {"chunk": 23})))

    from accion.campaign.store import Store

    write, written = Store.write, []

    def failing(self, job, c, arrays):
        if len(written) == 2:
            self.open("r+")["q"][c * 5 : (c + 1) * 5] = 7.0  # half of it is there
            raise OSError("no space left")
        written.append(c)
        write(self, job, c, arrays)

    monkeypatch.setattr(Store, "write", failing)
    with pytest.raises(OSError, match="no space left"):
        campaign.run(pendulum, ac.Midpoint(), plan, store=tmp_path / "part", **run)
    monkeypatch.undo()
    part = campaign.load(tmp_path / "part")
    ran = np.isin(np.arange(23) // 5, written)
    assert 5 <= ran.sum() <= 10
    assert campaign.summary(part).startswith(
        f"23 runs of {pendulum.name} by Midpoint(): {ran.sum()} of 23 went well, {23 - ran.sum()}"
        " did not run"
    )
    for name, nothing in (
        ("success", False),
        ("failure", -1),
        ("steps_completed", -1),
        ("down_count", -1),
        ("reason", "not run"),
    ):
        np.testing.assert_array_equal(part[name], np.where(ran, whole[name], nothing))
    assert campaign.failures(part) == []
    monkeypatch.setattr(
        Store,
        "write",
        lambda self, job, c, arrays: (written.append(c), write(self, job, c, arrays)),
    )
    same(whole, campaign.run(pendulum, ac.Midpoint(), plan, store=tmp_path / "part", **run))
    assert sorted(written) == [0, 1, 2, 3, 4]  # none twice
    assert files(tmp_path / "part") == files(tmp_path / "whole")


def test_another_campaign_in_the_same_store_is_an_error_that_says_what_differs(pendulum, tmp_path):
    plan = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
    run = QUIET | {"store": tmp_path / "store"}
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    factor = jnp.array([1.0, 2.0])
    other = ac.System(
        lambda t, q, v, params: factor[1] * pendulum.lagrangian(t, q, v, params),
        ac.Torus(1),
        pendulum.params,
        coordinates=("theta [rad]",),
        name="pendulum",
    )
    for arguments, words in (
        (
            (pendulum, ac.Midpoint(), campaign.grid({"q0[0]": [0.1, 0.3]}, v0=[0.0])),
            r"plan.axes: \[\['q0\[0\]', \[0.1, 0.2\]\]\] there",
        ),
        (
            (pendulum, ac.Midpoint(), campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.5])),
            r"plan.rest: \{'v0': \[0.0\]\} there, \{'v0': \[0.5\]\} here",
        ),
        ((pendulum, ac.Trapezoid(), plan), r"method: 'Midpoint\(\)' there, 'Trapezoid\(\)' here"),
        ((pendulum.with_params(pendulum.params | {"l": 0.8}), ac.Midpoint(), plan), "params: "),
        ((other, ac.Midpoint(), plan), "the functions of the system"),
    ):
        with pytest.raises(ValueError, match=rf"holds another campaign: {words}"):
            campaign.run(*arguments, **run)
    with pytest.raises(ValueError, match=r"h: 0\.05 there, 0\.1 here"):
        campaign.run(pendulum, ac.Midpoint(), plan, **(run | {"h": 0.1}))
    twice = campaign.Reduction(
        lambda now: (),
        lambda carry, now: (),
        lambda carry, last: {"q": 2 * last.q, "p": last.p},
        "final",
    )
    with pytest.raises(ValueError, match="the functions of the system or of the reductions"):
        campaign.run(pendulum, ac.Midpoint(), plan, **run, reductions=[twice])
    found = campaign.run(pendulum, ac.Midpoint(), plan, **(run | {"h": 0.1}), overwrite=True)
    assert json.loads(found.attrs["definition"])["h"] == 0.1
    (tmp_path / "mine").mkdir()
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="not a campaign"):
            campaign.run(
                pendulum, ac.Midpoint(), plan, store=tmp_path / "mine", overwrite=overwrite, **QUIET
            )
    with pytest.raises(FileNotFoundError, match="create it first"):
        campaign.run(pendulum, ac.Midpoint(), plan, store=tmp_path / "no" / "store", **QUIET)


def test_other_versions_do_not_go_on(pendulum, tmp_path):
    """A complete store is read; one that is not is not mixed."""
    plan = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
    run = QUIET | {"store": tmp_path / "store", "chunk": 1}
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    attributes = tmp_path / "store" / ".zattrs"
    attributes.write_text(
        attributes.read_text().replace(f'\\"jax\\": \\"{version("jax")}', '\\"jax\\": \\"0.1')
    )
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    (tmp_path / "store" / "done" / "1").unlink()
    with pytest.raises(ValueError, match=r"begun with other versions.*jax 0.1 there"):
        campaign.run(pendulum, ac.Midpoint(), plan, **run)


# ---------------------------------------------------------------- killed on the way

SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
import jax.numpy as jnp
import accion as ac

def run(store, client=None):
    L = lambda t, q, v, params: 0.5 * v[0] ** 2 + params["k"] * jnp.cos(q[0])
    system = ac.System(L, ac.Torus(1), {"k": 9.81})
    ranges = {"q0[0]": (-3, 3), "params.k": (5, 10)}
    plan = ac.campaign.sample(1500, ranges, how="sobol", seed=5, v0=[0.0])
    asked = [ac.campaign.final(), ac.campaign.event("q[0]", "down")]
    ac.campaign.run(
        system, ac.Midpoint(), plan, h=0.01, steps=2000, chunk=50, reductions=asked,
        store=store, progress=False, client=client,
    )

def kill_one(client, store):
    victim = sorted(client.run(os.getpid).values())[0]
    def watch():
        while sum(path.name.isdigit() for path in Path(store, "done").glob("*")) < 4:
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)
        print("killed", flush=True)
    threading.Thread(target=watch, daemon=True).start()

if __name__ == "__main__":
    if len(sys.argv) == 2:
        run(sys.argv[1])
    else:
        from distributed import Client, LocalCluster
        two = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        with LocalCluster(**two) as cluster, Client(cluster) as client:
            kill_one(client, sys.argv[1])
            run(sys.argv[1], client)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The script and the store of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("campaign")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, script, folder / "whole"], check=True, timeout=300)
    return script, folder / "whole"


def data(store):
    """The bytes of all arrays; a file that was being written when its process died is not one of
    them.
    """
    return {name: value for name, value in files(store).items() if not name.endswith(".partial")}


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_and_gives_the_same_bits(whole, tmp_path):
    script, reference = whole
    rng = np.random.default_rng()
    store, done = tmp_path / "store", [0]
    for _ in range(2):
        process = subprocess.Popen([sys.executable, script, store])
        goal = done[-1] + int(rng.integers(1, 10))
        while process.poll() is None and count(store) < goal:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0, 0.02)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done.append(count(store))
    assert 0 < done[1] < done[2] < 30
    untouched = {
        path: path.stat().st_mtime_ns for path in (store / "done").iterdir() if path.name.isdigit()
    }
    subprocess.run([sys.executable, script, store], check=True, timeout=300)
    assert data(store) == data(reference)
    # what was done was not done again
    assert all(path.stat().st_mtime_ns == time for path, time in untouched.items())


def count(store):
    return sum(path.name.isdigit() for path in (store / "done").glob("*"))


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bits(whole, tmp_path):
    script, reference = whole
    store = tmp_path / "store"
    result = subprocess.run(
        [sys.executable, script, store, "cluster"],
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert "killed" in result.stdout
    assert data(store) == data(reference)


def test_a_task_belongs_to_its_own_campaign(pendulum):
    """Two campaigns with the same program but other members, one after the other on one worker, and
    the first again.
    """
    from accion.campaign import cluster, program, store

    jobs = []
    # pickled by value: another function each time
    pendulum = replace(pendulum, lagrangian=lambda *point: pendulum_lagrangian(*point))
    for angles in ([0.1, 0.2], [0.3, 0.4]):
        plan = campaign.table({"q0[0]": angles}, v0=[0.0])
        jobs.append(
            program.job_of(pendulum, ac.Midpoint(), plan, 0.05, 60, 0.0, (campaign.final(),), None)
        )
    for job in (*jobs, jobs[0]):
        identity = store.identity_of(store.definition(program.Program(job)))
        c, part = cluster.work(cloudpickle.dumps(job), identity, None, 0)
        assert c == 0
        assert part is not None
        np.testing.assert_array_equal(part["q0[0]"], job.plan.columns["q0[0]"])
        np.testing.assert_array_equal(
            part["q"], campaign.run(pendulum, ac.Midpoint(), job.plan, **QUIET)["q"]
        )


# ---------------------------------------------------------------- files

FILE = """
system = "models:hanging"
method = "Midpoint"
h = 0.05
steps = 60
store = "runs.zarr"

[start]
v0 = [0.0]

[plan]
kind = "grid"

[plan.axes]
"q0[0]" = { from = -1.0, to = 1.0, count = 5 }
"params.l" = [0.5, 0.9]

[[reductions]]
kind = "final"

[[reductions]]
kind = "event"
of = "q[0]"
name = "down"
level = 0.1

[[reductions]]
kind = "models:longest"
"""
MODELS = """
import accion as ac
from tests.conftest import PENDULUM as hanging
longest = ac.campaign.extrema("q[0]", "theta")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "starts.csv").write_text('"q0[0]",params.l\n0.1,0.5\n0.2,0.9\n')
    yield tmp_path
    sys.modules.pop("models", None)


def invoke(folder, text):
    file = folder / "campaign.toml"
    file.write_text(text)
    result = CliRunner().invoke(app, ["campaign", str(file)])
    return result.exit_code, " ".join(result.output.split())


def test_a_campaign_file(folder, pendulum):
    code, output = invoke(folder, FILE)
    assert code == 0
    assert "10 of 10 went well" in output
    found = campaign.load(folder / "runs.zarr")
    asked = [
        campaign.final(),
        campaign.event("q[0]", "down", level=0.1),
        campaign.extrema("q[0]", "theta"),
    ]
    plan = campaign.grid({"q0[0]": np.linspace(-1, 1, 5), "params.l": [0.5, 0.9]}, v0=[0.0])
    same(found, campaign.run(pendulum, ac.Midpoint(), plan, reductions=asked, **QUIET))
    head = FILE.split("[plan]")[0].replace("runs", "more")
    code, output = invoke(folder, head + '[plan]\nkind = "table"\nfile = "starts.csv"\n')
    assert code == 0
    assert campaign.load(folder / "more.zarr")["params.l"].values.tolist() == [0.5, 0.9]
    sampled = (
        '[plan]\nkind = "sample"\nsize = 4\nhow = "sobol"\nseed = 1\n[plan.ranges]\n"q0[0]" = [-1,'
        " 1]\n"
    )
    code, output = invoke(
        folder, head.replace("more", "third").replace("models:hanging", "pendulum") + sampled
    )
    assert code == 0
    assert "4 of 4 went well" in output


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"models:hanging"', '"swing"', 2, "key system: there is no gallery system 'swing'"),
        (
            '"models:hanging"',
            '"models:nothing"',
            2,
            "key system: 'models:nothing' cannot be imported",
        ),
        ('"Midpoint"', '"Middle"', 3, "key method: there is no method 'Middle'"),
        ("h = 0.05", "h = 0.0", 4, "key h: h, the step, must be positive"),
        ("h = 0.05\n", "", 1, "key h: it is missing"),
        ("steps = 60", "steps = 6.5", 5, "key steps: expected a whole number; got 6.5"),
        (
            'store = "runs.zarr"',
            'stored = "runs.zarr"',
            6,
            "key stored: there is no such key here. Try one of: system",
        ),
        ("v0 = [0.0]", "w0 = [0.0]", 9, "key start.w0: there is no such key"),
        ("v0 = [0.0]", "", 8, "key start: give one of v0"),
        (
            'kind = "grid"',
            'kind = "net"',
            12,
            "key plan.kind: there is no plan 'net'. Try one of: grid, sample, table",
        ),
        ("to = 1.0", 'to = "1"', 15, 'key plan.axes."q0[0]".to: expected a number'),
        ("count = 5", "count = 0", 15, 'key plan.axes."q0[0]": a grid needs'),
        (
            "params.l",
            "params.length",
            16,
            "key plan.axes.\"params.length\": 'params.length' sets nothing of this system",
        ),
        ("[0.5, 0.9]", "0.5", 16, 'key plan.axes."params.l": expected a list'),
        (
            'kind = "event"',
            'kind = "evnt"',
            22,
            "key reductions[1].kind: there is no reduction 'evnt'",
        ),
        ('of = "q[0]"', 'of = "x[0]"', 23, "key reductions[1].of: there is no quantity 'x[0]'"),
        (
            "level = 0.1",
            "levels = 0.1",
            25,
            (
                "key reductions[1].levels: there is no such key here. Try one of: kind, of, name,"
                " level"
            ),
        ),
        ("[plan]", "[plan", 11, "is not TOML"),
    ],
)
def test_errors_of_a_file_name_the_line_and_the_key(folder, old, new, line, words):
    assert old in FILE
    code, output = invoke(folder, FILE.replace(old, new, 1))
    assert code == 1
    assert f"line {line}" in output
    assert words in output


def test_lines_of_keys():
    text = 'a = 1\n[b.c]\n"x y" = 2\nd.e = 3\n[[f]]\ng = """\nh = 1\n"""\n[[f]]\ng = 4\n'
    places = {
        ("a",): 1,
        ("b", "c"): 2,
        ("b", "c", "x y"): 3,
        ("b", "c", "d", "e"): 4,
        ("f", 0, "g"): 6,
        ("f", 1, "g"): 10,
        ("z",): 1,
    }
    assert {path: line_of(text, path) for path in places} == places
