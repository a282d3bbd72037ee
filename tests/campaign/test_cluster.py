"""Campaigns on a cluster that goes away, or whose workers are others."""

from dataclasses import replace

import numpy as np
import pytest

import accion as ac
from accion.campaign import cluster, identity, makers
from accion.campaign.program import Program, job_of
from tests.campaign.runs import QUIET
from tests.faults.clusters import HOW, lost

campaign = ac.campaign
PLAN = campaign.table({"q0[0]": [0.1, np.nan]}, v0=[0.0])


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_a_cluster_that_is_lost_says_so_and_keeps_what_was_done(tmp_path, how):
    assert lost(how, tmp_path) in ("done by others", "says so, goes on when run again")


def job(*kept, plan=PLAN):
    return job_of(ac.mechanical(1.0, None, 1), ac.Trapezoid(), plan, 0.1, 3, 0.0, kept, None)


def test_a_worker_compares_what_it_was_sent_with_what_it_has(monkeypatch):
    """A function of a module is the worker's own, which may have been edited."""
    import cloudpickle

    kept = campaign.final()
    sent = cloudpickle.dumps(job(kept))
    terms = cluster.terms_of(Program(job(kept)))
    monkeypatch.setattr(cluster, "PROGRAMS", {})
    assert cluster.work(sent, terms, None, 0)[0] == 0  # what is not a number differs from nothing
    for edited, words in (
        (job(campaign.final("q")), "results: "),
        (job(kept, campaign.mean("q", "q")), "reductions: "),
        (job(kept, plan=campaign.table({"q0[0]": [0.1, 0.3]}, v0=[0.0])), "plan.columns: "),
        (job(campaign.Reduction(*kept_twice(), "final")), "the functions of the system or of the"),
    ):
        monkeypatch.setattr(cluster, "PROGRAMS", {})
        with pytest.raises(ValueError, match=f"cannot run this campaign.*{words}"):
            cluster.work(cloudpickle.dumps(edited), terms, None, 0)
    monkeypatch.setattr(makers, "processor_words", lambda: {"processor": "another"})
    monkeypatch.setattr(cluster, "PROGRAMS", {})
    with pytest.raises(ValueError, match=r"processor .* there, another here"):
        cluster.work(sent, terms, None, 0)


def kept_twice():
    return (
        lambda now: (),
        lambda carry, now: (),
        lambda carry, last: {"q": 2 * last.q, "p": last.p},
    )


def test_another_processor_does_not_go_on(pendulum, tmp_path, monkeypatch):
    """A complete store is read; one that is not is not mixed."""
    plan = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
    run = QUIET | {"store": tmp_path / "store", "chunk": 1}
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    other = {"processor": "another", "processor features": "none"}
    monkeypatch.setattr(makers, "processor_words", lambda: other)
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    lose_chunk(tmp_path / "store", 1)
    with pytest.raises(ValueError, match=r"another processor.*processor .* there, another here"):
        campaign.run(pendulum, ac.Midpoint(), plan, **run)


def lose_chunk(path, c):
    (path / ".accion" / str(c)).unlink()


def test_a_store_with_what_is_no_number_goes_on(pendulum, tmp_path):
    run = QUIET | {"store": tmp_path / "store"}
    for _ in range(2):
        found = campaign.run(pendulum, ac.Midpoint(), PLAN, **run)
        assert found["success"].values.tolist() == [True, False]


def test_a_client_is_one():
    with pytest.raises(ValueError, match=r"client must be a dask\.distributed\.Client; got 3"):
        campaign.run(ac.mechanical(1.0, None, 1), ac.Trapezoid(), PLAN, client=3, **QUIET)


@pytest.mark.parametrize("moment", ["submit", "cancel"])
def test_a_scheduler_may_be_lost_whatever_it_is_asked(moment):
    from distributed.comm.core import CommClosedError

    def closed(*_):
        raise CommClosedError("gone")

    class Future:
        def add_done_callback(self, work):
            work(self)

        def done(self):
            return False

        def result(self, timeout):
            raise KeyboardInterrupt

    class Lost:
        status = "running"

        def submit(self, *_, **__):
            return closed() if moment == "submit" else Future()

        cancel = closed

    ends = {
        "submit": (ConnectionError, "lost its scheduler, .* Finished chunks are kept"),
        "cancel": (KeyboardInterrupt, None),  # what there was to cancel is lost with it
    }
    error, words = ends[moment]
    with pytest.raises(error, match=words):
        list(cluster.on_cluster(Lost(), Program(job(campaign.final())), [0], None))


@pytest.mark.parametrize("status", ["finished", "error"])
def test_a_result_may_be_lost_with_its_worker(status, monkeypatch):
    """A task that ended is asked for what it gave, which lay on a worker that is gone."""
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)

    class Future:
        def __init__(self, status):
            self.status = status

        def result(self, timeout):
            raise TimeoutError("its own")

    class Client:
        status = "running"

        def scheduler_info(self, n_workers):
            return {"workers": {}}

    ends = {
        "finished": (ConnectionError, "without workers for .* Finished chunks are kept"),
        "error": (TimeoutError, "its own"),
    }
    error, words = ends[status]
    with pytest.raises(error, match=words):
        cluster.result_of(Future(status), cluster.Watch(Client()))


def test_the_identity_is_that_of_definition_and_maker(monkeypatch):
    program = Program(job(campaign.final()))
    before = identity.identity_of(program)
    other = Program(replace(program.job, steps=4))
    assert identity.identity_of(other) != before
    monkeypatch.setattr(makers, "lanes", lambda engine: 3)
    assert identity.identity_of(program) != before
