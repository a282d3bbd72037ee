"""Campaigns: chunks that survive anything."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import version

import cloudpickle
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.campaign.runs import QUIET, files, same
from tests.helpers import pendulum_lagrangian

campaign = ac.campaign


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
    not_run = [(int(i), -1, "not run") for i in np.flatnonzero(~ran)]
    assert campaign.failures(part) == not_run
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


def test_other_versions_do_not_go_on(pendulum, tmp_path, monkeypatch):
    """A complete store is read; one that is not is not mixed."""
    from accion.results import store as stores

    plan = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
    run = QUIET | {"store": tmp_path / "store", "chunk": 1}
    versions, own = stores.versions, f'"jax": "{version("jax")}"'
    with monkeypatch.context() as patch:
        patch.setattr(stores, "versions", lambda n: versions(n).replace(own, '"jax": "0.1"'))
        campaign.run(pendulum, ac.Midpoint(), plan, **run)
    campaign.run(pendulum, ac.Midpoint(), plan, **run)
    (tmp_path / "store" / ".accion" / "1").unlink()
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
        while sum(path.name.isdigit() for path in Path(store, ".accion").glob("*")) < 4:
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
        path: path.stat().st_mtime_ns
        for path in (store / ".accion").iterdir()
        if path.name.isdigit()
    }
    subprocess.run([sys.executable, script, store], check=True, timeout=300)
    assert data(store) == data(reference)
    # what was done was not done again
    assert all(path.stat().st_mtime_ns == time for path, time in untouched.items())


def count(store):
    return sum(path.name.isdigit() for path in (store / ".accion").glob("*"))


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
    from accion.campaign import cluster, program

    jobs = []
    # pickled by value: another function each time
    pendulum = replace(pendulum, lagrangian=lambda *point: pendulum_lagrangian(*point))
    for angles in ([0.1, 0.2], [0.3, 0.4]):
        plan = campaign.table({"q0[0]": angles}, v0=[0.0])
        jobs.append(
            program.job_of(pendulum, ac.Midpoint(), plan, 0.05, 60, 0.0, (campaign.final(),), None)
        )
    for job in (*jobs, jobs[0]):
        terms = cluster.terms_of(program.Program(job))
        c, part = cluster.work(cloudpickle.dumps(job), terms, None, 0)
        assert c == 0
        assert part is not None
        np.testing.assert_array_equal(part["q0[0]"], job.plan.columns["q0[0]"])
        np.testing.assert_array_equal(
            part["q"], campaign.run(pendulum, ac.Midpoint(), job.plan, **QUIET)["q"]
        )
