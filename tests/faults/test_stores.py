"""A part of the accidents that `python -m tests.faults` makes."""

import pytest

from tests.faults.damage import damaged
from tests.faults.kills import all_kills
from tests.faults.kinds import KINDS
from tests.faults.writers import campaigns, savers

REPLACED = {"old", "new", "a part of the new"}


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_refused_by_its_name(name, tmp_path):
    seen = damaged(name, 12, tmp_path, seed=3)
    # Without the manifest of a complete campaign nothing is missing from it.
    assert set(seen) <= {"refused, named", "refused"} | (
        {"right"} if name == "a campaign" else set()
    )
    assert seen["refused, named"] >= 10


def test_a_damaged_campaign_is_computed_again(tmp_path):
    seen = damaged("a campaign", 16, tmp_path, seed=3, again=True)
    assert set(seen) == {"computed again"}


@pytest.mark.parametrize("full", [False, True], ids=["killed", "disk full"])
@pytest.mark.parametrize("name", ["a trajectory", "a campaign"])
def test_a_writer_that_ends_anywhere_loses_nothing(name, full, tmp_path):
    seen = all_kills(name, tmp_path / "stores", every=29, full=full)
    assert seen.total() >= 4
    assert set(seen) <= REPLACED


def test_threads_that_save_and_load_one_store(tmp_path):
    seen = savers(4, tmp_path)
    assert seen["whole"] > 0
    assert seen.total() == seen["whole"]


@pytest.mark.slow
def test_processes_that_run_campaigns_in_one_store(tmp_path):
    assert set(campaigns(1, tmp_path)) == {
        "the same twice: both succeed",
        "two: one whole",
    }
