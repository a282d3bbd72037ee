"""Campaigns: which members there are."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

import accion as ac
from accion.campaign.members import Remembered
from accion.campaign.program import chunk_of
from tests.campaign.runs import QUIET, RUN

campaign = ac.campaign


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


def test_chunks_of_short_runs_hold_more_members():
    assert chunk_of(100_000, 200) == 5242
    assert chunk_of(100_000, 10_000) == 1563
    assert chunk_of(10**7, 1) == 8192
    assert chunk_of(100, 1) == 100
    assert chunk_of(1000, 10**9) == 256


def test_systems_of_members_with_the_same_params_are_made_once(pendulum):
    made, method = Remembered(), ac.Midpoint()
    one, same, other = (
        made(pendulum, method, pendulum.params | {"l": l}, None) for l in (0.5, np.array(0.5), 0.6)
    )
    assert one is same
    assert float(other.params["l"]) == 0.6
    for _ in range(2):
        with pytest.raises(ValueError, match="must be finite"):
            made(pendulum, method, pendulum.params | {"l": np.nan}, None)
