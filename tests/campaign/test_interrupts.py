"""Ctrl-C stops a campaign within a second; what was finished is kept."""

import threading

import numpy as np
import pytest

import accion as ac
from accion.campaign import by_native, by_xla
from accion.campaign.store import Store
from tests.campaign.runs import QUIET, same
from tests.helpers import PENDULUM
from tests.interrupts import interrupted

campaign = ac.campaign


def run(steps, members=6, **more):
    plan = campaign.sample(members, {"q0[0]": (-2, 2)}, seed=3, v0=[0.0])
    asked = {"h": 0.01, "steps": steps, "progress": False, "chunk": 2} | more
    return campaign.run(PENDULUM, ac.Midpoint(), plan, **asked)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_campaign_stops_within_a_second(engine):
    """Its members alone would take hours."""
    run(10, engine=engine)  # compiled
    interrupted(lambda: run(10**10, engine=engine))


def test_finished_chunks_are_kept(tmp_path, monkeypatch):
    many, path = {"steps": 30_000, "members": 60}, tmp_path / "store"
    write, some, count = Store.write, threading.Event(), []

    def counted(self, job, c, arrays):
        write(self, job, c, arrays)
        count.append(c)
        if len(count) == 3:
            some.set()

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", counted)
        interrupted(lambda: run(**many, store=path), when=some)
    part, whole = campaign.load(path), run(**many)
    ran = part["failure"].values == 0
    assert 6 <= ran.sum() < 60
    np.testing.assert_array_equal(part["q"][ran], whole["q"][ran])
    same(whole, run(**many, store=path))


@pytest.mark.parametrize(("engine", "module"), [("native", by_native), ("xla", by_xla)])
def test_the_digits_do_not_depend_on_where_a_chunk_returns(pendulum, monkeypatch, engine, module):
    plan = campaign.table({"q0[0]": [0.1, np.nan, 2.0, 1.0, -2.5]}, v0=[0.0])
    kept = [campaign.final(), campaign.extrema("energy", "E"), campaign.event("q[0]", "down")]
    asked = QUIET | {"reductions": kept, "engine": engine}
    whole = campaign.run(pendulum, ac.Midpoint(), plan, **asked)
    sizes = []
    monkeypatch.setattr(module, "FIRST", 1)
    monkeypatch.setattr(module, "fitting", lambda amount, seconds: sizes.append(amount) or 7)
    same(whole, campaign.run(pendulum, ac.Midpoint(), plan, **asked))
    assert len(sizes) > 5 * 60 // 7
