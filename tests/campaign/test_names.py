"""Campaigns: nothing that is asked for is lost because of its name."""

import numpy as np
import pytest

import accion as ac
from accion.campaign.file import csv
from tests.campaign.runs import QUIET, same

campaign = ac.campaign
PLAN = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])


def first(name):
    """A reduction that keeps the first angle under this name."""
    return campaign.Reduction(lambda now: now.q[0], lambda carry, now: carry, name=name)


@pytest.mark.parametrize(
    "name",
    [
        *("a/b", "a\\b", "", " ", ".", ".zattrs", "a\n", "x" * 300, "done", "member", "chunk"),
        *("coordinate", "success", "q0[0]", "pair_axis0"),
    ],
)
def test_a_reduction_that_could_not_be_stored_is_refused(pendulum, tmp_path, name):
    pair = campaign.Reduction(
        lambda now: np.zeros(2), lambda carry, now: carry, lambda carry, last: {"pair": carry}
    )
    for store in (None, tmp_path / "store"):
        with pytest.raises(ValueError, match="a reduction must not be called"):
            campaign.run(
                pendulum, ac.Midpoint(), PLAN, store=store, reductions=[first(name), pair], **QUIET
            )
    assert list(tmp_path.iterdir()) == []


def test_other_names_are_stored(pendulum, tmp_path):
    kept = [first(name) for name in ("theta [rad]", "größte", "__x", "a.b", "p-q")]
    found = campaign.run(
        pendulum, ac.Midpoint(), PLAN, store=tmp_path / "store", reductions=kept, **QUIET
    )
    for each in kept:
        np.testing.assert_array_equal(found[each.name], [0.1, 0.2])


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"q0": [[1.0]], "q0[0]": [0.1, 0.2]}, r"'q0' and 'q0\[0\]' of the plan set the same"),
        ({"q0[0]": [1.0], "q0[ 0]": [0.1]}, r"of the plan set the same; leave one"),
        ({"params.l": [1.0], "params.a/b": [0.1]}, "column of a plan must not be called"),
        ({"params.a.b": [1.0]}, "may mean several of the params"),
    ],
)
def test_an_axis_that_would_be_lost_is_refused(axes, words):
    params = {"l": 1.0, "a/b": 1.0, "a.b": 1.0, "a": {"b": 2.0}}
    system = ac.System(lambda t, q, v, params: 0.5 * v @ v, ac.Euclidean(1), params)
    plan = campaign.grid(axes, q0=[0.0], v0=[0.0])
    with pytest.raises(ValueError, match=words):
        campaign.run(system, ac.Midpoint(), plan, **QUIET)


def test_two_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"two columns called 'params\.k'"):
        campaign.table({"params": {"k": [1.0]}, "params.k": [2.0]})
    (tmp_path / "starts.csv").write_text("q0[0],q0[0]\n1.0,2.0\n")
    with pytest.raises(ValueError, match=r"starts.csv has two columns called 'q0\[0\]'"):
        csv(tmp_path / "starts.csv")


def test_an_axis_of_whole_configurations_keeps_its_values_when_unfolded(pendulum):
    angles = np.array([[0.1], [0.3]])
    plan = campaign.grid({"q0": angles, "v0[0]": [0.0, 1.0, 2.0]})
    found = campaign.unfold(campaign.run(pendulum, ac.Midpoint(), plan, **QUIET))
    assert found["q"].shape == (2, 3, 1)
    np.testing.assert_array_equal(found["q0"], angles)
    np.testing.assert_array_equal(found["v0[0]"], [0.0, 1.0, 2.0])


def test_columns_that_a_program_does_not_use_are_columns_still():
    """Two programs with the same code, of which one is given a number more."""
    params = {"k": 1.0, "unused": 0.0}
    system = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - 0.5 * p["k"] * q @ q, ac.Euclidean(1), params
    )
    base = {"q0": np.array([[0.1], [0.2]]), "v0": np.zeros((2, 1))}
    one = campaign.run(system, ac.Midpoint(), campaign.table(base), **QUIET)
    more = campaign.table(base | {"params.unused": np.array([3.0, 4.0])})
    other = campaign.run(system, ac.Midpoint(), more, **QUIET)
    same(one, other.drop_vars("params.unused"))
