"""Campaigns: what is kept of each run, and members that fail."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.campaign.runs import QUIET, RUN

campaign = ac.campaign


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


ENDS = "Newton's method did not converge in 40 iterations, or the motion's solution ends before h"


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
        (slope, "params.a", 100.0, 2, ENDS),
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
